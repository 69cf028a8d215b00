// Answers of a verb for many keys: an array of bool, or of counts.
//
//    out= given       one-dimensional, contiguous, writable, as long as the keys: filled, returned
//    not given        a numpy array, or a memoryview where there is no numpy
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "keys/key_column.hpp"
#include "object.hpp"

namespace bloomery::python {

template <class T>
struct AnswerItem;
template <>
struct AnswerItem<bool> {
  static constexpr const char* numpy = "?";
  static constexpr const char* letters = "?Bb";
  static constexpr const char* name = "bool";
};
template <>
struct AnswerItem<std::uint64_t> {
  static constexpr const char* numpy = "Q";
  static constexpr const char* letters = "QLN";
  static constexpr const char* name = "uint64";
};

template <class T>
class Answers {
 public:
  // `out` may be None. Raised: it has no room for these keys, or is where they are read.
  Answers(PyObject* out, const KeyColumn& column);
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  ~Answers();

  // Room for the answers to n more keys. Raised: there is no such room in `out`.
  std::span<T> next(std::size_t n);
  // True: next() needs no GIL, since there is room for all.
  bool has_room() const { return has_room_; }
  // The array, once all keys were asked. Raised: `out` is longer than the keys.
  Ref finish();

 private:
  void make(std::size_t size);
  void lend(PyObject* array);

  Ref array_;
  Py_buffer view_{};
  bool has_room_ = false;
  bool given_ = false;
  std::size_t size_ = 0;
  std::size_t done_ = 0;
  std::vector<unsigned char> grown_;  // where the number of keys is not known
};

extern template class Answers<bool>;
extern template class Answers<std::uint64_t>;

// An uninitialised array of n integers with this code of numpy ("Q", "I"), or a memoryview of
// zeros.
Ref new_array(std::size_t n, const char* code, std::size_t item_bytes);

}  // namespace bloomery::python
