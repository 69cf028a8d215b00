// The types Set, Bitmap and Cascade: their tables of verbs, and how their objects come and go.
#include <cstddef>

#include <bloomery/kinds.hpp>

#include "sets/set_docs.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

// After Python.h, on which it relies.
#include <structmember.h>

namespace bloomery::python {

PyTypeObject* set_type = nullptr;
PyTypeObject* bitmap_type = nullptr;
PyTypeObject* cascade_type = nullptr;

namespace {

void free_set(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  SetObject* set = as_set(self);
  if (set->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  delete set->held;  // of a live set: closes; an Error is lost
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  // A subclass made in Python gives up its type itself.
  Py_DECREF(type);
}

PyCFunction with_names(PyObject* (*verb)(PyObject*, PyObject*, PyObject*)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(verb));
}

constexpr int named = METH_VARARGS | METH_KEYWORDS;

PyMethodDef set_methods[] = {
    {"add", set_add, METH_O, docs::add},
    {"remove", set_remove, METH_O, docs::remove},
    {"discard", set_discard, METH_O, docs::discard},
    {"count", set_count, METH_O, docs::count},
    {"update", with_names(set_update), named, docs::update},
    {"add_all", with_names(set_add_all), named, docs::add_all},
    {"contains_all", with_names(set_contains_all), named, docs::contains_all},
    {"count_contained", with_names(set_count_contained), named, docs::count_contained},
    {"remove_all", with_names(set_remove_all), named, docs::remove_all},
    {"counts", with_names(set_counts), named, docs::counts},
    {"copy", set_copy, METH_NOARGS, docs::copy},
    {"__copy__", set_copy, METH_NOARGS, docs::copy},
    {"__deepcopy__", set_deepcopy, METH_O, docs::copy},
    {"clear", set_clear, METH_NOARGS, docs::clear},
    {"advance_to", with_names(set_advance_to), named, docs::advance_to},
    {"cap_memory", set_cap_memory, METH_O, docs::cap_memory},
    {"open", with_names(set_open), named | METH_CLASS, docs::open},
    {"from_bytes", with_names(set_from_bytes), named | METH_CLASS, docs::from_bytes},
    {"save", with_names(set_save), named, docs::save},
    {"to_bytes", set_to_bytes, METH_NOARGS, docs::to_bytes},
    {"__reduce__", set_reduce, METH_NOARGS, docs::reduce},
    {"sync", set_sync, METH_NOARGS, docs::sync},
    {"checkpoint", set_checkpoint, METH_NOARGS, docs::checkpoint},
    {"seal", set_seal, METH_NOARGS, docs::seal},
    {"close", set_close, METH_NOARGS, docs::close},
    {"__enter__", set_enter, METH_NOARGS, docs::enter},
    {"__exit__", set_exit, METH_VARARGS, docs::close},
    {"estimate", set_estimate, METH_NOARGS, docs::estimate},
    {"rate_now", set_rate_now, METH_NOARGS, docs::rate_now},
    {"fill_ratio", set_fill_ratio, METH_NOARGS, docs::fill_ratio},
    {"__sizeof__", set_sizeof, METH_NOARGS, docs::size_of},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef bitmap_methods[] = {
    {"to_numpy", with_names(bitmap_to_numpy), named, docs::to_numpy},
    {"rank", bitmap_rank, METH_O, docs::rank},
    {"select", bitmap_select, METH_O, docs::select},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef set_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(SetObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}
void* text(const char* doc) { return const_cast<char*>(doc); }

constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;

PyTypeObject* new_type(PyObject* module, PyType_Spec& spec, PyTypeObject* base) {
  const Ref type = need(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base)));
  auto* made = reinterpret_cast<PyTypeObject*>(type.get());
  need(PyModule_AddType(module, made));
  Py_INCREF(type.get());  // for the variable that holds it as long as the process lives
  return made;
}

}  // namespace

int add_set_types(PyObject* module) {
  static PyType_Slot set_slots[] = {
      {Py_tp_doc, text(docs::set)},
      {Py_tp_new, slot(set_new)},
      {Py_tp_dealloc, slot(free_set)},
      {Py_tp_methods, set_methods},
      {Py_tp_getset, set_facts},
      {Py_tp_members, set_members},
      {Py_tp_repr, slot(set_repr)},
      {Py_tp_richcompare, slot(set_compare)},
      {Py_tp_hash, slot(PyObject_HashNotImplemented)},
      {Py_sq_contains, slot(set_has)},
      {Py_sq_length, slot(set_length)},
      {Py_nb_bool, slot(set_is_true)},
      {Py_nb_or, slot(set_or)},
      {Py_nb_and, slot(set_and)},
      {Py_nb_subtract, slot(set_subtract)},
      {Py_nb_xor, slot(set_xor)},
      {Py_nb_inplace_or, slot(set_inplace_or)},
      {Py_nb_inplace_and, slot(set_inplace_and)},
      {Py_nb_inplace_subtract, slot(set_inplace_subtract)},
      {Py_nb_inplace_xor, slot(set_inplace_xor)},
      {0, nullptr},
  };
  static PyType_Slot bitmap_slots[] = {
      {Py_tp_doc, text(docs::bitmap)},
      {Py_tp_new, slot(bitmap_new)},
      {Py_tp_methods, bitmap_methods},
      {Py_tp_iter, slot(bitmap_iterate)},
      {0, nullptr},
  };
  static PyType_Slot cascade_slots[] = {
      {Py_tp_doc, text(docs::cascade)},
      {Py_tp_new, slot(cascade_new)},
      {0, nullptr},
  };
  static PyType_Spec set_spec = {"bloomery.Set", sizeof(SetObject), 0, flags, set_slots};
  static PyType_Spec bitmap_spec = {"bloomery.Bitmap", sizeof(SetObject), 0, flags, bitmap_slots};
  static PyType_Spec cascade_spec = {"bloomery.Cascade", sizeof(SetObject), 0, flags,
                                     cascade_slots};
  return guarded_int([&] {
    set_type = new_type(module, set_spec, nullptr);
    bitmap_type = new_type(module, bitmap_spec, set_type);
    cascade_type = new_type(module, cascade_spec, set_type);
    return 0;
  });
}

Ref object_of(PyTypeObject* type, std::unique_ptr<Held> held) {
  if (type == set_type && held->row().id.number == Bitmap::id.number) type = bitmap_type;
  if (type == set_type && held->row().two_lists) type = cascade_type;
  Ref object = need(PyType_GenericAlloc(type, 0));
  SetObject* set = as_set(object.get());
  set->blocked = held->blocked();
  set->held = held.release();
  return object;
}

}  // namespace bloomery::python
