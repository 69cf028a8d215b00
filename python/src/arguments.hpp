// Arguments that several verbs take.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <bloomery/hash.hpp>

#include "object.hpp"

namespace bloomery::python {

// A str, bytes or os.PathLike as a path.
std::filesystem::path path_of(PyObject* object);
// A path as str, for sentences and attributes.
Ref text_of(const std::string& bytes);

// secret=: 16 bytes, or 32 hexadecimal digits, as --key-file of the command; None: nothing.
std::optional<SecretKey> secret_of(PyObject* secret);
// seed= and secret= of a set that is made.
Hasher hasher_of(PyObject* seed, PyObject* secret);

}  // namespace bloomery::python
