"""Arrow arrays made by hand through the C structs, as a library would export them."""
import ctypes

import numpy


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
ReleaseStream = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
GetError = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))

Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ReleaseSchema),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ReleaseArray),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", GetSchema),
    ("get_next", GetNext),
    ("get_last_error", GetError),
    ("release", ReleaseStream),
    ("private_data", ctypes.c_void_p),
]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Exported:
    """One array; counts what was released. Buffers: numpy arrays, or None."""

    def __init__(self, format, length, buffers, *, nulls=0, offset=0, dictionary=None, child=None):
        self.released = 0
        self.kept = [buffers, dictionary, child]
        self.dictionary = dictionary
        self.format = format.encode()
        places = [None if b is None else b.ctypes.data for b in buffers]
        self.places = (ctypes.c_void_p * max(1, len(places)))(*places)
        self._release_schema = ReleaseSchema(self._schema_gone)
        self._release_array = ReleaseArray(self._array_gone)
        self.schema = Schema()
        self.array = Array()
        self.refill(length, nulls, offset, len(buffers))
        if child is not None:
            self.schemas = (ctypes.POINTER(Schema) * 1)(ctypes.pointer(child.schema))
            self.arrays = (ctypes.POINTER(Array) * 1)(ctypes.pointer(child.array))
            self.schema.n_children = self.array.n_children = 1
            self.schema.children = self.schemas
            self.array.children = self.arrays

    def refill(self, length, nulls, offset, buffers):
        self.schema.format = self.format
        self.schema.release = self._release_schema
        self.array.length = length
        self.array.null_count = nulls
        self.array.offset = offset
        self.array.n_buffers = buffers
        self.array.buffers = self.places
        self.array.release = self._release_array
        if self.dictionary is not None:
            self.schema.dictionary = ctypes.pointer(self.dictionary.schema)
            self.array.dictionary = ctypes.pointer(self.dictionary.array)

    def _schema_gone(self, schema):
        schema.contents.release = ReleaseSchema()
        self.released += 1

    def _array_gone(self, array):
        array.contents.release = ReleaseArray()
        self.released += 1

    def __arrow_c_array__(self, requested_schema=None):
        return (
            new_capsule(ctypes.addressof(self.schema), b"arrow_schema", None),
            new_capsule(ctypes.addressof(self.array), b"arrow_array", None),
        )


class Chunked:
    """A stream of arrays; `error` is what it says after them instead of ending."""

    def __init__(self, *arrays, error=None):
        self.arrays = list(arrays)
        self.error = error
        self.released = 0
        self.calls = (GetSchema(self._schema), GetNext(self._next), GetError(self._error),
                      ReleaseStream(self._gone))
        self.stream = Stream(*self.calls, None)

    def _schema(self, stream, out):
        ctypes.memmove(out, ctypes.byref(self.arrays[0].schema), ctypes.sizeof(Schema))
        return 0

    def _next(self, stream, out):
        if self.arrays:
            self.last = self.arrays.pop(0)
            ctypes.memmove(out, ctypes.byref(self.last.array), ctypes.sizeof(Array))
            return 0
        if self.error:
            return 5
        out.contents.release = ReleaseArray()
        return 0

    def _error(self, stream):
        return self.error

    def _gone(self, stream):
        stream.contents.release = ReleaseStream()
        self.released += 1

    def __arrow_c_stream__(self, requested_schema=None):
        return new_capsule(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def text_array(texts, *, large=False, offset=0, format=None):
    """Texts (bytes) by offsets."""
    ends = numpy.zeros(len(texts) + 1, "i8" if large else "i4")
    numpy.cumsum([len(text) for text in texts], out=ends[1:])
    data = numpy.frombuffer(b"".join(texts) or b"\0", "u1").copy()
    return Exported(format or ("U" if large else "u"), len(texts) - offset, [None, ends, data],
                    offset=offset)


def view_array(texts):
    """Texts (bytes) by views of 16 bytes, long ones in two buffers in turns."""
    views = numpy.zeros((len(texts), 16), "u1")
    heaps = [bytearray(b"?"), bytearray()]
    for i, text in enumerate(texts):
        views[i, :4] = numpy.frombuffer(numpy.int32(len(text)).tobytes(), "u1")
        if len(text) <= 12:
            views[i, 4 : 4 + len(text)] = numpy.frombuffer(text, "u1")
        else:
            heap = heaps[i % 2]
            views[i, 4:8] = numpy.frombuffer(text[:4], "u1")
            place = numpy.array([i % 2, len(heap)], "i4").tobytes()
            views[i, 8:16] = numpy.frombuffer(place, "u1")
            heap += text
    filled = [numpy.frombuffer(bytes(heap) or b"?", "u1").copy() for heap in heaps]
    sizes = numpy.array([len(heap) for heap in filled], "i8")
    return Exported("vu", len(texts), [None, views.ravel(), *filled, sizes])


def integer_array(numbers, *, offset=0, nulls=None):
    """A numpy array of integers; nulls: a list of bool, True where the key is missing."""
    format = {"i1": "c", "u1": "C", "i2": "s", "u2": "S", "i4": "i", "u4": "I", "i8": "l",
              "u8": "L"}[numbers.dtype.str[1:]]
    valid = None
    if nulls is not None:
        valid = numpy.packbits(~numpy.array(nulls), bitorder="little")
    return Exported(format, len(numbers) - offset, [valid, numbers], offset=offset,
                    nulls=-1 if nulls else 0)
