// Many keys: the GIL is free while the engine works on them.
//
//    column (key_column.hpp) --spans--> Held --> answers (answers.hpp)
//
// Between portions the GIL is taken back and signals are looked at, so that Ctrl-C ends a long
// call; the keys before it are in the set.
#include <limits>

#include "keys/answers.hpp"
#include "keys/key_column.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

// Keys between two looks at signals: about a quarter of a second in a set larger than the caches.
constexpr std::size_t portion = std::size_t{1} << 22;

struct Nothing {
  std::span<bool> next(std::size_t) { return {}; }
  bool has_room() const { return true; }
};

// Calls use(keys, room for their answers) for all keys of the column. Use touches nothing of
// Python. `run` is asking() or changing().
template <class Answers, class Run, class Use>
void for_all(KeyColumn& column, Answers& answers, Run&& run, Use&& use) {
  for (bool more = true; more;) {
    if (column.is_plain() && answers.has_room()) {
      told(run([&](auto& held) -> Result<void> {
        for (std::size_t done = 0; done < portion;) {
          const KeySpan keys = column.next(portion - done);
          const std::size_t n = size_of(keys);
          more = n != 0;
          if (!more) break;
          if (auto used = use(held, keys, answers.next(n)); !used) return used.error();
          done += n;
        }
        return {};
      }));
    } else {
      const KeySpan keys = column.next(portion);
      const std::size_t n = size_of(keys);
      more = n != 0;
      if (!more) break;
      const auto room = answers.next(n);
      told(run([&](auto& held) -> Result<void> {
        if (auto used = use(held, keys, room); !used) return used.error();
        return {};
      }));
    }
    need(PyErr_CheckSignals());
  }
}

auto by_asking(PyObject* self) {
  return [self](auto&& work) { return asking(self, work); };
}
auto by_changing(PyObject* self) {
  return [self](auto&& work) { return changing(self, work); };
}

Threads threads_of(long count) {
  if (count < 0 || count > 256)
    raise(PyExc_ValueError, "threads is from 1 to 256, or 0 for as many as there are cores");
  return {static_cast<unsigned>(count)};
}

// (keys, out=None)
struct KeysAndOut {
  PyObject* keys = nullptr;
  PyObject* out = Py_None;
  long threads = 1;

  KeysAndOut(PyObject* args, PyObject* named, const char* format, bool has_threads = false) {
    static const char* both[] = {"keys", "out", nullptr};
    static const char* all[] = {"keys", "out", "threads", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, named, format,
                                    const_cast<char**>(has_threads ? all : both), &keys, &out,
                                    &threads) == 0)
      throw Raised{};
  }
};

}  // namespace

std::size_t update_from(PyObject* self, PyObject* keys, Threads threads) {
  held_of(self);
  const auto column = column_of(keys);
  std::size_t fresh = 0;
  Nothing nothing;
  for_all(*column, nothing, by_changing(self),
          [&](Held& held, const KeySpan& span, std::span<bool>) -> Result<void> {
            const auto added = held.add_all(span, {}, threads);
            if (!added) return added.error();
            fresh += *added;
            return {};
          });
  keep_promise(self);
  return fresh;
}

PyObject* set_update(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"keys", "threads", nullptr};
  PyObject* keys = nullptr;
  long count = 1;
  if (PyArg_ParseTupleAndKeywords(args, named, "O|$l:update", const_cast<char**>(names), &keys,
                                  &count) == 0)
    return nullptr;
  return guarded([&] { return PyLong_FromSize_t(update_from(self, keys, threads_of(count))); });
}

PyObject* set_add_all(PyObject* self, PyObject* args, PyObject* named) {
  return guarded([&] {
    const KeysAndOut given(args, named, "O|O:add_all");
    held_of(self);
    const auto column = column_of(given.keys);
    Answers<bool> fresh(given.out, *column);
    for_all(*column, fresh, by_changing(self),
            [&](Held& held, const KeySpan& span, std::span<bool> room) -> Result<void> {
              const auto added = held.add_all(span, room, {1});
              if (!added) return added.error();
              return {};
            });
    keep_promise(self);
    return fresh.finish().release();
  });
}

PyObject* set_contains_all(PyObject* self, PyObject* args, PyObject* named) {
  return guarded([&] {
    const KeysAndOut given(args, named, "O|O$l:contains_all", true);
    const Threads threads = threads_of(given.threads);
    held_of(self);
    const auto column = column_of(given.keys);
    Answers<bool> answers(given.out, *column);
    for_all(*column, answers, by_asking(self),
            [&](const Held& held, const KeySpan& span, std::span<bool> room) -> Result<void> {
              const auto asked = held.ask_all(span, room, threads);
              if (!asked) return asked.error();
              return {};
            });
    return answers.finish().release();
  });
}

PyObject* set_count_contained(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"keys", "threads", nullptr};
  PyObject* keys = nullptr;
  long count = 1;
  if (PyArg_ParseTupleAndKeywords(args, named, "O|$l:count_contained", const_cast<char**>(names),
                                  &keys, &count) == 0)
    return nullptr;
  return guarded([&] {
    const Threads threads = threads_of(count);
    held_of(self);
    const auto column = column_of(keys);
    std::size_t there = 0;
    Nothing nothing;
    for_all(*column, nothing, by_asking(self),
            [&](const Held& held, const KeySpan& span, std::span<bool>) -> Result<void> {
              const auto asked = held.ask_all(span, {}, threads);
              if (!asked) return asked.error();
              there += *asked;
              return {};
            });
    return PyLong_FromSize_t(there);
  });
}

PyObject* set_remove_all(PyObject* self, PyObject* args, PyObject* named) {
  return guarded([&] {
    const KeysAndOut given(args, named, "O|O:remove_all");
    held_of(self);
    const auto column = column_of(given.keys);
    Answers<bool> removed(given.out, *column);
    for_all(*column, removed, by_changing(self),
            [&](Held& held, const KeySpan& span, std::span<bool> room) -> Result<void> {
              const auto gone = held.remove_all(span, room);
              if (!gone) return gone.error();
              return {};
            });
    keep_promise(self);
    return removed.finish().release();
  });
}

PyObject* set_counts(PyObject* self, PyObject* args, PyObject* named) {
  return guarded([&] {
    const KeysAndOut given(args, named, "O|O:counts");
    held_of(self);
    const auto column = column_of(given.keys);
    Answers<std::uint64_t> counts(given.out, *column);
    for_all(*column, counts, by_asking(self),
            [&](const Held& held, const KeySpan& span, std::span<std::uint64_t> room) {
              return held.counts(span, room);
            });
    return counts.finish().release();
  });
}

}  // namespace bloomery::python
