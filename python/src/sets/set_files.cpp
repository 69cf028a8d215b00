// Sets as files and as bytes.
#include <cstring>
#include <utility>

#include "arguments.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

// Until the library has live sets: the one place where live=True arrives.
void refuse_live(int live) {
  if (live != 0)
    told(Result<void>(Error{Code::unsupported,
                            "this build has no live sets: open without live=True, and save() to "
                            "keep what was added"}));
}

Verify verify_of(int verify) { return verify != 0 ? Verify::checksums : Verify::header; }

// The file as a set of this type; Mismatch where it holds another.
Ref opened(PyObject* type, Result<std::unique_ptr<Held>> held, const std::string& name) {
  auto* wanted = reinterpret_cast<PyTypeObject*>(type);
  std::unique_ptr<Held> set = told(std::move(held));
  const KindRow& row = set->row();
  const bool is_bitmap = set->bitmap() != nullptr;
  if ((PyType_IsSubtype(wanted, bitmap_type) != 0 && !is_bitmap) ||
      (PyType_IsSubtype(wanted, cascade_type) != 0 && !row.two_lists))
    told(Result<void>(Error{Code::mismatch, name + " holds a set of kind " +
                                                std::string(row.id.name) +
                                                ": open it with bloomery.Set.open"}));
  return object_of(wanted, std::move(set));
}

}  // namespace

PyObject* set_open(PyObject* type, PyObject* args, PyObject* named) {
  static const char* names[] = {"path", "live", "verify", "secret", nullptr};
  PyObject* path = nullptr;
  PyObject* secret = Py_None;
  int live = 0;
  int verify = 1;
  if (PyArg_ParseTupleAndKeywords(args, named, "O|$ppO:open", const_cast<char**>(names), &path,
                                  &live, &verify, &secret) == 0)
    return nullptr;
  return guarded([&] {
    refuse_live(live);
    const std::filesystem::path file = path_of(path);
    const OpenOptions options{.verify = verify_of(verify), .key = secret_of(secret)};
    Result<std::unique_ptr<Held>> held = std::unique_ptr<Held>();
    {
      const NoGil others_run;
      held = open_held(file, options);
    }
    if (!held && held.error().code == Code::io) {
      std::error_code unknown;
      if (!std::filesystem::exists(file, unknown)) {
        raised_not_found(held.error());
        throw Raised{};
      }
    }
    return opened(type, std::move(held), file.string()).release();
  });
}

PyObject* set_from_bytes(PyObject* type, PyObject* args, PyObject* named) {
  static const char* names[] = {"data", "secret", nullptr};
  Py_buffer data{};
  PyObject* secret = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, named, "y*|$O:from_bytes", const_cast<char**>(names), &data,
                                  &secret) == 0)
    return nullptr;
  PyObject* made = guarded([&] {
    const OpenOptions options{.key = secret_of(secret)};
    Result<std::unique_ptr<Held>> held = std::unique_ptr<Held>();
    {
      const NoGil others_run;
      held = read_held(
          {static_cast<const std::byte*>(data.buf), static_cast<std::size_t>(data.len)}, options);
    }
    return opened(type, std::move(held), "the image").release();
  });
  PyBuffer_Release(&data);
  return made;
}

PyObject* set_save(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"path", "overwrite", nullptr};
  PyObject* path = nullptr;
  int overwrite = 1;
  if (PyArg_ParseTupleAndKeywords(args, named, "O|$p:save", const_cast<char**>(names), &path,
                                  &overwrite) == 0)
    return nullptr;
  return guarded([&] {
    const std::filesystem::path file = path_of(path);
    told(asking(self, [&](const Held& held) {
      return held.save(file, overwrite != 0 ? Overwrite::replace : Overwrite::refuse);
    }));
    return Py_NewRef(Py_None);
  });
}

PyObject* set_to_bytes(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto bytes = told(asking(self, [](const Held& held) { return held.to_bytes(); }));
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                     static_cast<Py_ssize_t>(bytes.size()));
  });
}

PyObject* set_reduce(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Ref bytes = need(set_to_bytes(self, nullptr));
    const Ref from =
        need(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "from_bytes"));
    return Py_BuildValue("O(O)", from.get(), bytes.get());
  });
}

PyObject* set_close(PyObject* self, PyObject*) {
  return guarded([&] {
    SetObject* set = as_set(self);
    const Changing mark(set->uses);
    set->blocked = nullptr;
    const std::unique_ptr<Held> gone(std::exchange(set->held, nullptr));
    return Py_NewRef(Py_None);
  });
}

PyObject* set_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    held_of(self);
    return Py_NewRef(self);
  });
}
PyObject* set_exit(PyObject* self, PyObject*) { return set_close(self, nullptr); }

}  // namespace bloomery::python
