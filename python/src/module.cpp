// The module bloomery._bloomery. The package bloomery around it is written in Python.
#include "errors.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

int fill(PyObject* module) {
  // Types and classes are kept in variables, which a second interpreter would share.
  if (set_type != nullptr) {
    PyErr_SetString(PyExc_ImportError,
                    "bloomery can be imported into one interpreter of a process only");
    return -1;
  }
  if (add_exceptions(module) < 0) return -1;
  if (add_set_types(module) < 0) return -1;
  if (add_bitmap_iterator(module) < 0) return -1;
  return PyModule_AddStringConstant(module, "__version__", BLOOMERY_VERSION);
}

PyMethodDef functions[] = {
    {"plan", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(plan)),
     METH_VARARGS | METH_KEYWORDS,
     "plan(keys=0, rate=0.0, *, kind='blocked', memory=0, range=None)\n--\n\n"
     "What a set of this kind would be: its keys, rate and nbytes, without making it.\n\n"
     ">>> plan(10_000_000, 0.01)['nbytes']\n12433408\n"},
    {"kinds", kinds, METH_NOARGS,
     "kinds()\n--\n\nEvery kind of set, and what it can.\n\n"
     ">>> kinds()['counting']['removes']\nTrue\n"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill)}, {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "bloomery._bloomery",
                          "The engine of bloomery.",
                          0,
                          functions,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace bloomery::python

PyMODINIT_FUNC PyInit__bloomery() { return PyModuleDef_Init(&bloomery::python::definition); }
