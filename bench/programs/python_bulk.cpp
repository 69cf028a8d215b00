// The C++ bulk calls that bench/python_bench.py sets beside the Python package: a shared library
// that it loads with ctypes, so that both work on the same arrays in one process.
//
// Every function returns seconds; a set is planned for the keys at a rate of 1 %.
#include <bloomery/set.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace {

using Set = bloomery::Set<bloomery::BlockedBloom>;

template <class Work>
double seconds(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<std::string_view> texts_of(const std::int32_t* offsets, const char* bytes,
                                       std::size_t count) {
  std::vector<std::string_view> texts(count);
  for (std::size_t i = 0; i < count; ++i)
    texts[i] = {bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
  return texts;
}

}  // namespace

extern "C" {

void* bulk_make(std::uint64_t keys) { return new Set({.keys = keys, .rate = 0.01}); }
void bulk_free(void* set) { delete static_cast<Set*>(set); }

double bulk_add(void* set, const std::uint64_t* keys, std::size_t count, bool* fresh) {
  return seconds([&] { static_cast<Set*>(set)->add_all(std::span(keys, count), {fresh, count}); });
}
double bulk_ask(void* set, const std::uint64_t* keys, std::size_t count, bool* answers) {
  return seconds([&] {
    static_cast<Set*>(set)->may_contain_all(std::span(keys, count), {answers, count});
  });
}
// Texts as Arrow has them; the views are made before the clock starts.
double bulk_add_texts(void* set, const std::int32_t* offsets, const char* bytes, std::size_t count,
                      bool* fresh) {
  const auto texts = texts_of(offsets, bytes, count);
  return seconds([&] { static_cast<Set*>(set)->add_all(texts, {fresh, count}); });
}
double bulk_ask_texts(void* set, const std::int32_t* offsets, const char* bytes, std::size_t count,
                      bool* answers) {
  const auto texts = texts_of(offsets, bytes, count);
  return seconds([&] { static_cast<Set*>(set)->may_contain_all(texts, {answers, count}); });
}
}
