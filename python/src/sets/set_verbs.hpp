// The verbs of the Python types, as set_types.cpp puts them into their tables.
#pragma once

#include "object.hpp"

namespace bloomery::python {

// set_keys.cpp: one key
int set_has(PyObject* self, PyObject* key);
PyObject* set_add(PyObject* self, PyObject* key);
PyObject* set_remove(PyObject* self, PyObject* key);
PyObject* set_discard(PyObject* self, PyObject* key);
PyObject* set_count(PyObject* self, PyObject* key);

// set_bulk.cpp: many keys
PyObject* set_update(PyObject* self, PyObject* args, PyObject* named);
PyObject* set_add_all(PyObject* self, PyObject* args, PyObject* named);
PyObject* set_contains_all(PyObject* self, PyObject* args, PyObject* named);
PyObject* set_count_contained(PyObject* self, PyObject* args, PyObject* named);
PyObject* set_remove_all(PyObject* self, PyObject* args, PyObject* named);
PyObject* set_counts(PyObject* self, PyObject* args, PyObject* named);

// set_whole.cpp: whole sets
PyObject* set_or(PyObject* left, PyObject* right);
PyObject* set_and(PyObject* left, PyObject* right);
PyObject* set_subtract(PyObject* left, PyObject* right);
PyObject* set_xor(PyObject* left, PyObject* right);
PyObject* set_inplace_or(PyObject* self, PyObject* other);
PyObject* set_inplace_and(PyObject* self, PyObject* other);
PyObject* set_inplace_subtract(PyObject* self, PyObject* other);
PyObject* set_inplace_xor(PyObject* self, PyObject* other);
PyObject* set_compare(PyObject* self, PyObject* other, int how);
PyObject* set_copy(PyObject* self, PyObject*);
PyObject* set_deepcopy(PyObject* self, PyObject* memo);
PyObject* set_clear(PyObject* self, PyObject*);
PyObject* set_advance_to(PyObject* self, PyObject* args, PyObject* named);
PyObject* set_cap_memory(PyObject* self, PyObject* bytes);

// set_files.cpp: sets as files and bytes
PyObject* set_open(PyObject* type, PyObject* args, PyObject* named);
PyObject* set_from_bytes(PyObject* type, PyObject* args, PyObject* named);
PyObject* set_save(PyObject* self, PyObject* args, PyObject* named);
PyObject* set_to_bytes(PyObject* self, PyObject*);
PyObject* set_reduce(PyObject* self, PyObject*);
PyObject* set_sync(PyObject* self, PyObject*);
PyObject* set_checkpoint(PyObject* self, PyObject*);
PyObject* set_seal(PyObject* self, PyObject*);
PyObject* set_close(PyObject* self, PyObject*);
PyObject* set_enter(PyObject* self, PyObject*);
PyObject* set_exit(PyObject* self, PyObject* args);

// set_facts.cpp: what a set knows of itself
Py_ssize_t set_length(PyObject* self);
int set_is_true(PyObject* self);
PyObject* set_repr(PyObject* self);
PyObject* set_estimate(PyObject* self, PyObject*);
PyObject* set_rate_now(PyObject* self, PyObject*);
PyObject* set_fill_ratio(PyObject* self, PyObject*);
PyObject* set_sizeof(PyObject* self, PyObject*);
extern PyGetSetDef set_facts[];

// set_new.cpp: how sets are made
PyObject* set_new(PyTypeObject* type, PyObject* args, PyObject* named);
PyObject* bitmap_new(PyTypeObject* type, PyObject* args, PyObject* named);
PyObject* cascade_new(PyTypeObject* type, PyObject* args, PyObject* named);

// bitmap.cpp: what only a bitmap can
PyObject* bitmap_to_numpy(PyObject* self, PyObject* args, PyObject* named);
PyObject* bitmap_iterate(PyObject* self);
PyObject* bitmap_rank(PyObject* self, PyObject* number);
PyObject* bitmap_select(PyObject* self, PyObject* smaller);
int add_bitmap_iterator(PyObject* module);

// plan.cpp
PyObject* plan(PyObject* module, PyObject* args, PyObject* named);
PyObject* kinds(PyObject* module, PyObject*);

}  // namespace bloomery::python
