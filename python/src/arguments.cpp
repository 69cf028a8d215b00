#include "arguments.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bloomery::python {
namespace {

std::string_view bytes_in(PyObject* object) {
  char* at = nullptr;
  Py_ssize_t length = 0;
  need(PyBytes_AsStringAndSize(object, &at, &length));
  return {at, static_cast<std::size_t>(length)};
}

std::optional<SecretKey> from_digits(std::string_view digits) {
  std::array<unsigned char, 16> bytes{};
  if (digits.size() != 32) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* at = digits.data() + 2 * i;
    const auto read = std::from_chars(at, at + 2, bytes[i], 16);
    if (read.ec != std::errc{} || read.ptr != at + 2) return std::nullopt;
  }
  SecretKey key;
  std::memcpy(&key, bytes.data(), sizeof key);
  return key;
}

}  // namespace

std::filesystem::path path_of(PyObject* object) {
  PyObject* made = nullptr;
  if (PyUnicode_FSConverter(object, &made) == 0) throw Raised{};
  const Ref bytes(made);
  return std::filesystem::path(std::string(bytes_in(bytes.get())));
}

Ref text_of(const std::string& bytes) {
  return need(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
}

std::optional<SecretKey> secret_of(PyObject* secret) {
  if (secret == nullptr || secret == Py_None) return std::nullopt;
  if (PyBytes_Check(secret)) {
    const std::string_view bytes = bytes_in(secret);
    if (bytes.size() == 16) {
      SecretKey key;
      std::memcpy(&key, bytes.data(), sizeof key);
      return key;
    }
  } else if (PyUnicode_Check(secret)) {
    Py_ssize_t length = 0;
    const char* digits = PyUnicode_AsUTF8AndSize(secret, &length);
    if (digits == nullptr) throw Raised{};
    if (auto key = from_digits({digits, static_cast<std::size_t>(length)})) return key;
  }
  raise(PyExc_ValueError,
        "secret is not a key: give 16 bytes, such as secrets.token_bytes(16), or 32 hexadecimal "
        "digits");
}

Hasher hasher_of(PyObject* seed, PyObject* secret) {
  if (const auto key = secret_of(secret)) {
    if (seed != nullptr && seed != Py_None)
      raise(PyExc_ValueError, "seed and secret exclude each other: a secret is the seed");
    return Hasher::hardened(*key);
  }
  if (seed == nullptr || seed == Py_None) return Hasher();
  const unsigned long long number = PyLong_AsUnsignedLongLong(seed);
  if (PyErr_Occurred() != nullptr) throw Raised{};
  return Hasher(number);
}

}  // namespace bloomery::python
