// Sets as files and as bytes.
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <bloomery/kinds.hpp>

#include "arguments.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

// Programs that have a live file open would go on with one that has no name any more.
void expect_not_live(const std::filesystem::path& file) {
  if (told(is_live(file)))
    told(Result<void>(
        Error{Code::exists, file.string() +
                                " is a live set, which other programs may add to: seal() makes an "
                                "ordinary file of it; to begin again, remove it first"}));
}

// What open() was given beside the path.
struct OpenWish {
  int live = 0;
  int verify = 1;
  int read_only = 0;
  const char* durability = nullptr;
  PyObject* interval = Py_None;
  PyObject* secret = Py_None;
};

Durability durability_of(const char* name) {
  if (name == nullptr || std::string_view(name) == "interval") return Durability::interval;
  if (std::string_view(name) == "none") return Durability::none;
  if (std::string_view(name) == "every") return Durability::every;
  raise(PyExc_ValueError, "durability is 'none', 'interval' or 'every', not '%s'", name);
}

LiveOptions live_options(const OpenWish& wish) {
  LiveOptions options{.durability = durability_of(wish.durability),
                      .read_only = wish.read_only != 0,
                      .key = secret_of(wish.secret)};
  if (wish.interval == Py_None) return options;
  if (options.durability != Durability::interval)
    raise(PyExc_ValueError, "interval is for durability='interval'; leave it out");
  const double seconds = PyFloat_AsDouble(wish.interval);
  if (seconds == -1 && PyErr_Occurred() != nullptr) throw Raised{};
  constexpr double most_seconds = std::numeric_limits<std::uint32_t>::max() / 1000;
  if (!(seconds >= 0.001 && seconds <= most_seconds))
    raise(PyExc_ValueError, "interval is in seconds, from 0.001 to %ld",
          static_cast<long>(most_seconds));
  options.interval_ms = static_cast<std::uint32_t>(std::lround(seconds * 1000));
  return options;
}

Verify verify_of(int verify) { return verify != 0 ? Verify::checksums : Verify::header; }

// The file as a set of this type; Mismatch where it holds another.
Ref opened(PyObject* type, Result<std::unique_ptr<Held>> held, const std::string& name) {
  auto* wanted = reinterpret_cast<PyTypeObject*>(type);
  std::unique_ptr<Held> set = told(std::move(held));
  const KindRow& row = set->row();
  const bool is_bitmap = row.id.number == Bitmap::id.number;
  if ((PyType_IsSubtype(wanted, bitmap_type) != 0 && !is_bitmap) ||
      (PyType_IsSubtype(wanted, cascade_type) != 0 && !row.two_lists))
    told(Result<void>(Error{Code::mismatch, name + " holds a set of kind " +
                                                std::string(row.id.name) +
                                                ": open it with bloomery.Set.open"}));
  return object_of(wanted, std::move(set));
}

}  // namespace

PyObject* set_open(PyObject* type, PyObject* args, PyObject* named) {
  static const char* names[] = {"path",       "live",     "verify",    "secret",
                                "durability", "interval", "read_only", nullptr};
  PyObject* path = nullptr;
  OpenWish wish;
  if (PyArg_ParseTupleAndKeywords(args, named, "O|$ppOzOp:open", const_cast<char**>(names), &path,
                                  &wish.live, &wish.verify, &wish.secret, &wish.durability,
                                  &wish.interval, &wish.read_only) == 0)
    return nullptr;
  return guarded([&] {
    if (wish.live == 0 &&
        (wish.durability != nullptr || wish.interval != Py_None || wish.read_only != 0))
      raise(PyExc_ValueError,
            "durability, interval and read_only are for live sets: give live=True with them");
    const std::filesystem::path file = path_of(path);
    const LiveOptions shared = live_options(wish);
    const OpenOptions options{.verify = verify_of(wish.verify), .key = shared.key};
    Result<std::unique_ptr<Held>> held = std::unique_ptr<Held>();
    {
      const NoGil others_run;
      held = wish.live != 0 ? open_live(file, shared) : open_held(file, options);
    }
    if (!held && held.error().code == Code::io) {
      std::error_code unknown;
      // not_found is known; a folder that may not be searched is another status.
      if (std::filesystem::status(file, unknown).type() == std::filesystem::file_type::not_found) {
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
  static const char* names[] = {"path", "overwrite", "live", nullptr};
  PyObject* path = nullptr;
  PyObject* overwrite = Py_None;
  int live = 0;
  if (PyArg_ParseTupleAndKeywords(args, named, "O|$Op:save", const_cast<char**>(names), &path,
                                  &overwrite, &live) == 0)
    return nullptr;
  return guarded([&] {
    const std::filesystem::path file = path_of(path);
    // A live file is made once and added to by many: to begin it again must be meant.
    const int replace = overwrite == Py_None ? (live == 0 ? 1 : 0) : PyObject_IsTrue(overwrite);
    need(replace);
    expect_not_live(file);
    const Overwrite how = replace != 0 ? Overwrite::replace : Overwrite::refuse;
    told(asking(self, [&](const Held& held) {
      return live != 0 ? held.save_live(file, how) : held.save(file, how);
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
    if (live_of(self) != nullptr)
      raise(PyExc_TypeError,
            "a live set is not pickled: send the path and open it there with live=True, or pickle "
            "copy(), which is of this moment");
    const Ref bytes = need(set_to_bytes(self, nullptr));
    const Ref from =
        need(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "from_bytes"));
    return Py_BuildValue("O(O)", from.get(), bytes.get());
  });
}

namespace {

// Takes the set out of its object; a live one is closed with the GIL free.
void end(PyObject* self) {
  SetObject* set = as_set(self);
  const Changing mark(set->uses);
  set->blocked = nullptr;
  std::unique_ptr<Held> gone(std::exchange(set->held, nullptr));
  if (!gone) return;
  Result<void> ended;
  if (Live* const live = gone->live()) {
    const NoGil others_run;
    ended = live->close();
    gone.reset();
  }
  told(std::move(ended));
}

Live& expect_live(PyObject* self) {
  Live* const live = live_of(self);
  if (live == nullptr)
    told(Result<void>(Error{Code::unsupported,
                            "the set is not live: it is open in memory, and save() writes a file; "
                            "live sets come from Set.open(path, live=True)"}));
  return *live;
}

}  // namespace

PyObject* set_sync(PyObject* self, PyObject*) {
  return guarded([&] {
    expect_live(self);
    told(changing(self, [](Held& held) { return held.live()->sync(); }));
    return Py_NewRef(Py_None);
  });
}

PyObject* set_checkpoint(PyObject* self, PyObject*) {
  return guarded([&] {
    expect_live(self);
    told(changing(self, [](Held& held) { return held.live()->checkpoint(); }));
    return Py_NewRef(Py_None);
  });
}

PyObject* set_seal(PyObject* self, PyObject*) {
  return guarded([&] {
    expect_live(self);
    told(changing(self, [](Held& held) { return held.live()->seal(); }));
    end(self);
    return Py_NewRef(Py_None);
  });
}

PyObject* set_close(PyObject* self, PyObject*) {
  return guarded([&] {
    end(self);
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
