"""The Python face of sluice.h, by ctypes; the contracts are written there.

    import sluice
    with sluice.Model("model.om") as model:
        run = model.run(threads=2)
        outputs = run(x=array)              # {name: numpy array}, or {name: bytes} without numpy

libsluice.so is looked for in $SLUICE_LIBRARY, then beside this file and in ../lib.
"""

import ctypes
import os

try:
    import numpy
except ImportError:  # arrays become bytes
    numpy = None

_NUMPY_TYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8", 14: "c8", 15: "c16"}
_COUNT_INPUTS, _COUNT_OUTPUTS = 0, 1


class Error(Exception):
    """A failed call; code is the number of the error (7001 is SL7001)."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class _Binding(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("dtype_name", ctypes.c_char_p),
        ("rank", ctypes.c_size_t),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("bytes", ctypes.c_uint64),
    ]


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.environ.get("SLUICE_LIBRARY"), os.path.join(here, "libsluice.so"), os.path.join(here, "..", "lib", "libsluice.so")):
        if path and os.path.exists(path):
            return ctypes.CDLL(path)
    raise Error(1004, "libsluice.so is not there; name it in SLUICE_LIBRARY")


_library = _load()
_pointer, _size, _u64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
for _name, _result, _arguments in (
    ("sluice_last_error", ctypes.c_char_p, []),
    ("sluice_model_open", ctypes.c_int, [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(_pointer)]),
    ("sluice_model_close", None, [_pointer]),
    ("sluice_model_count", _u64, [_pointer, ctypes.c_int]),
    ("sluice_model_input", ctypes.c_int, [_pointer, _size, ctypes.POINTER(_Binding)]),
    ("sluice_model_output", ctypes.c_int, [_pointer, _size, ctypes.POINTER(_Binding)]),
    ("sluice_run_create", ctypes.c_int, [_pointer, ctypes.c_int, ctypes.POINTER(_pointer)]),
    ("sluice_run_bind_input", ctypes.c_int, [_pointer, _size, _pointer, _u64]),
    ("sluice_run_execute", ctypes.c_int, [_pointer]),
    ("sluice_run_output", _pointer, [_pointer, _size, ctypes.POINTER(_u64)]),
    ("sluice_run_destroy", None, [_pointer]),
):
    getattr(_library, _name).restype = _result
    getattr(_library, _name).argtypes = _arguments


def _check(code):
    if code != 0:
        raise Error(code, _library.sluice_last_error().decode())


class Binding:
    """An input or output: name, dtype (ONNX's number), dims, bytes."""

    def __init__(self, c):
        self.name = c.name.decode()
        self.dtype = c.dtype
        self.dims = tuple(c.dims[i] for i in range(c.rank))
        self.bytes = c.bytes


class Model:
    def __init__(self, path, verify_weights=False):
        self._model = _pointer()
        _check(_library.sluice_model_open(os.fsencode(path), int(verify_weights), ctypes.byref(self._model)))
        self.inputs = self._bindings(_COUNT_INPUTS, _library.sluice_model_input)
        self.outputs = self._bindings(_COUNT_OUTPUTS, _library.sluice_model_output)

    def _bindings(self, what, describe):
        found = []
        for index in range(_library.sluice_model_count(self._model, what)):
            binding = _Binding()
            _check(describe(self._model, index, ctypes.byref(binding)))
            found.append(Binding(binding))
        return found

    def run(self, threads=0):
        return Run(self, threads)

    def close(self):
        _library.sluice_model_close(self._model)
        self._model = _pointer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Run:
    def __init__(self, model, threads=0):
        self.inputs, self.outputs = model.inputs, model.outputs
        self._run = _pointer()
        _check(_library.sluice_run_create(model._model, threads, ctypes.byref(self._run)))

    def __call__(self, **inputs):
        """Runs once. Each input is a numpy array of its type, or bytes."""
        kept = [self._bind(index, binding, inputs.pop(binding.name)) for index, binding in enumerate(self.inputs)]
        if inputs:
            raise Error(7004, "no input called " + ", ".join(sorted(inputs)))
        _check(_library.sluice_run_execute(self._run))
        del kept
        return {binding.name: self._output(index, binding) for index, binding in enumerate(self.outputs)}

    def _bind(self, index, binding, data):
        if numpy is not None and not isinstance(data, (bytes, bytearray)):
            array = numpy.ascontiguousarray(data, dtype=_NUMPY_TYPES.get(binding.dtype, "u1"))
            if array.shape != binding.dims and binding.dtype in _NUMPY_TYPES:
                raise Error(7004, f"input '{binding.name}' has dims {binding.dims}, got {array.shape}")
            _check(_library.sluice_run_bind_input(self._run, index, array.ctypes.data, array.nbytes))
            return array
        buffer = (ctypes.c_char * len(data)).from_buffer_copy(data)
        _check(_library.sluice_run_bind_input(self._run, index, ctypes.addressof(buffer), len(data)))
        return buffer

    def _output(self, index, binding):
        size = _u64()
        address = _library.sluice_run_output(self._run, index, ctypes.byref(size))
        data = ctypes.string_at(address, size.value)
        if numpy is None or binding.dtype not in _NUMPY_TYPES:
            return data
        return numpy.frombuffer(data, dtype=_NUMPY_TYPES[binding.dtype]).reshape(binding.dims).copy()

    def __del__(self):
        if getattr(self, "_run", None):
            _library.sluice_run_destroy(self._run)
