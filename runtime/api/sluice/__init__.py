"""The Python interface to sluice.h, by ctypes; the contracts are written there.

    import sluice
    with sluice.Model("model.om") as model:
        outputs = model.run({"x": array})  # {name: numpy array}, or {name: bytes} without numpy
        run = model.run(threads=2)         # to be called often: it keeps its memory and states
        outputs = run(x=array)             # or run({"x": array})
    with sluice.compile("model.onnx", dims={"N": 4}) as model:
        ...

help(Run.__call__) says what inputs may be and what is returned. All errors are of kind Error; that
an argument cannot be taken is an ArgumentError.

libsluice.so is $SLUICE_LIBRARY, or the first that is there: beside this package, in ../lib, in the
lib folder of the prefix that it is installed in, where the system looks for libraries.
compile() runs sluice-compile, which is looked for in $SLUICE_PROGRAMS, else in the bin folder of
the prefix that the library or this file is installed in, then in $PATH.
"""

import collections
import collections.abc
import contextlib
import ctypes
import functools
import glob
import itertools
import json
import numbers
import operator
import os
import re
import reprlib
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import threading
import warnings


@functools.lru_cache(maxsize=None)
def _numpy():
    """Imported for the first array; None: lists and buffers are taken, bytes are returned."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


# Of ONNX's numbers of dtypes: numpy's name, and the format of the modules struct and memoryview.
_Dtype = collections.namedtuple("_Dtype", "name format")
_DTYPES = {
    1: _Dtype("float32", "f"),
    2: _Dtype("uint8", "B"),
    3: _Dtype("int8", "b"),
    4: _Dtype("uint16", "H"),
    5: _Dtype("int16", "h"),
    6: _Dtype("int32", "i"),
    7: _Dtype("int64", "q"),
    9: _Dtype("bool", "?"),
    10: _Dtype("float16", "e"),
    11: _Dtype("float64", "d"),
    12: _Dtype("uint32", "I"),
    13: _Dtype("uint64", "Q"),
    14: _Dtype("complex64", None),
    15: _Dtype("complex128", None),
}
_BITS = {16: _Dtype("uint16", "H")}  # bfloat16, not in numpy; of other such dtypes the bytes
_BYTES_OF_ELEMENTS = _Dtype("uint8", "B")
_LONG_FORMATS = {"l": "q", "L": "Q"}  # two names of one format on 64-bit Linux
_COUNT_INPUTS, _COUNT_OUTPUTS = 0, 1
_BOUND_PARTS = {
    "hits": 11,
    "binds": 12,
    "evictions": 13,
    "parts": 14,
    "bytes": 15,
    "limit_bytes": 16,
}
_TENSOR, _SEQUENCE, _OPTIONAL, _MAP = 0, 1, 2, 3
_STRING = 8
_TEXT = ("utf-8", "surrogateescape")  # how strings are encoded


class Error(Exception):
    """A failed call; code is the number of the error (7001 is SL7001)."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class ArgumentError(Error, TypeError, ValueError):
    """An argument of a kind or value that cannot be taken. code: 7004 for inputs and outputs of a
    run, else 1006.
    """


class CompileError(Error):
    """A failed compile.

    code, hint; message: without code, file and hint; file: what was read
    node: the first ONNX node that the message names, or None
    errors: dicts with "message" and "nodes"; several when everything that is wrong is listed
    """

    def __init__(self, code, message, hint="", file="", node=None, errors=None):
        place = f" [{file}]" if file else ""
        super().__init__(code, f"SL{code:04}: {message}{place}{_hint(hint)}")
        self.message, self.hint, self.file, self.node = message, hint, file, node
        self.errors = errors or [{"message": message, "nodes": [node] if node else []}]


def _hint(text):
    return f"\nhint: {text}" if text else ""


def _wrong_argument(name, expected, value):
    got = f"{type(value).__name__} {reprlib.repr(value)}"
    return ArgumentError(1006, f"{name} takes {expected}, got {got}")


class CompileWarning(UserWarning):
    """What a stage of a compile warns of."""


# The end of a stage: its name, its number from 1 on, of how many, how long it took, the bytes that
# it wrote.
Progress = collections.namedtuple("Progress", "stage number of seconds bytes")


class _Binding(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("dtype_name", ctypes.c_char_p),
        ("rank", ctypes.c_size_t),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("bytes", ctypes.c_uint64),
        ("kind", ctypes.c_int32),
        ("type", ctypes.c_char_p),
        ("is_state", ctypes.c_int32),
        ("key_dtype", ctypes.c_int32),
    ]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_size_t),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
    ]


# From the folder that contains the package: a build tree or any folder with both, then
# PREFIX/lib/python3/dist-packages, where the library may be in a folder of lib for one
# architecture.
_LIBRARY_PLACES = (
    "libsluice.so.0",
    "libsluice.so",
    "../lib/libsluice.so.0",
    "../../libsluice.so.0",
    "../../*-linux-gnu*/libsluice.so.0",
)


_HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def _load():
    named = os.environ.get("SLUICE_LIBRARY")
    here = glob.escape(_HERE)
    found = [path for place in _LIBRARY_PLACES for path in glob.glob(os.path.join(here, place))]
    if named and os.path.exists(named):
        found.insert(0, named)
    try:
        return ctypes.CDLL(os.path.realpath(found[0]) if found else "libsluice.so.0")
    except OSError as problem:
        hint = "install sluice-runtime, or name libsluice.so in SLUICE_LIBRARY"
        raise Error(1004, f"libsluice.so cannot be opened: {problem}; {hint}") from None


_library = _load()
_pointer, _size, _u64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
for _name, _result, _arguments in (
    ("sluice_last_error", ctypes.c_char_p, []),
    (
        "sluice_model_open_weights",
        ctypes.c_int,
        [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(_pointer)],
    ),
    ("sluice_model_close", None, [_pointer]),
    ("sluice_model_count", _u64, [_pointer, ctypes.c_int]),
    ("sluice_model_limit_bound_parts", ctypes.c_int, [_pointer, _u64]),
    ("sluice_model_input", ctypes.c_int, [_pointer, _size, ctypes.POINTER(_Binding)]),
    ("sluice_model_output", ctypes.c_int, [_pointer, _size, ctypes.POINTER(_Binding)]),
    ("sluice_run_create", ctypes.c_int, [_pointer, ctypes.c_int, ctypes.POINTER(_pointer)]),
    ("sluice_run_bind_input", ctypes.c_int, [_pointer, _size, _pointer, _u64]),
    (
        "sluice_run_bind_input_tensors",
        ctypes.c_int,
        [_pointer, _size, ctypes.POINTER(_Tensor), _size],
    ),
    ("sluice_reset_state", ctypes.c_int, [_pointer]),
    ("sluice_run_execute", ctypes.c_int, [_pointer]),
    ("sluice_run_output_count", _size, [_pointer, _size]),
    ("sluice_run_output_is_present", ctypes.c_int, [_pointer, _size]),
    ("sluice_run_output_tensor", ctypes.c_int, [_pointer, _size, _size, ctypes.POINTER(_Tensor)]),
    ("sluice_run_destroy", None, [_pointer]),
):
    getattr(_library, _name).restype = _result
    getattr(_library, _name).argtypes = _arguments


def _check(code):
    if code != 0:
        raise Error(code, _library.sluice_last_error().decode())


def _wrong_input(binding, expected, got, hint=""):
    return ArgumentError(7004, f"input '{binding.name}' takes {expected}, got {got}{_hint(hint)}")


def _dtype_of(binding):
    return _DTYPES.get(binding.dtype) or _BITS.get(binding.dtype, _BYTES_OF_ELEMENTS)


def _as_array(binding, expected, data, dtype=None):
    numpy = _numpy()
    try:
        return numpy.asarray(data, dtype=dtype)
    except Exception as problem:  # of the object's own, too
        raise _wrong_input(binding, expected, f"{type(data).__name__}: {problem}") from None


def _to_array(binding, data):
    """As an array of the input's dtype, if it is one or made of plain numbers that fit it."""
    numpy = _numpy()
    wanted = numpy.dtype(_dtype_of(binding).name)
    array = _as_array(binding, wanted.name, data)
    is_typed = hasattr(data, "dtype")  # arrays and scalars of numpy
    kind, wanted_kind = (
        "bifc".find("i" if one.kind == "u" else one.kind) for one in (array.dtype, wanted)
    )
    is_number = binding.dtype in _DTYPES and 0 <= kind <= wanted_kind
    if array.dtype.newbyteorder("=") != wanted and (is_typed or not (is_number or array.size == 0)):
        raise _wrong_input(binding, wanted.name, array.dtype.name)
    converted = numpy.ascontiguousarray(array, dtype=wanted).reshape(array.shape)
    if kind == wanted_kind == 1 and not numpy.array_equal(converted, array):
        raise _wrong_input(binding, wanted.name, "numbers that it cannot hold")
    return converted


_WITHOUT_NUMPY = (
    "without numpy give numbers, lists of them, or a buffer with dims such as"
    " memoryview(data).cast(format, dims); or install numpy"
)


def _to_memory(binding, data):
    """What _to_array does, without numpy: bytes and dims."""
    wanted = _dtype_of(binding)
    try:
        view = memoryview(data)
    except TypeError:
        elements, dims = _flattened(binding, data)
        return _packed(binding, wanted, elements), dims
    format = view.format.lstrip("@=<")
    if _LONG_FORMATS.get(format, format) != wanted.format:
        got = f"{type(data).__name__} of format '{view.format}'"
        raise _wrong_input(binding, wanted.name, got, _WITHOUT_NUMPY)
    return view.tobytes(), view.shape


def _flattened(binding, data):
    """The elements of lists in lists, and the dims that these have."""
    elements, dims = [data], []
    while elements and all(isinstance(each, (list, tuple)) for each in elements):
        lengths = {len(each) for each in elements}
        if len(lengths) > 1:
            raise _wrong_input(binding, "lists of one length", f"lengths {sorted(lengths)}")
        dims += lengths
        elements = list(itertools.chain.from_iterable(elements))
    return elements, dims


def _packed(binding, wanted, elements):
    try:
        is_number = binding.dtype in _DTYPES and wanted.format
        if not is_number or wanted.format == "?" and {*map(type, elements)} - {bool}:
            raise TypeError("other kinds of elements")
        return struct.pack(f"={len(elements)}{wanted.format}", *elements)
    except (struct.error, OverflowError, TypeError):
        kinds = ", ".join(sorted({type(each).__name__ for each in elements}))
        got = f"elements of kind {kinds}, or out of its range"
        raise _wrong_input(binding, wanted.name, got, _WITHOUT_NUMPY) from None


def _to_strings(binding, data):
    """The memory of a tensor of strings, and its dims."""
    numpy = _numpy()
    if numpy is None:
        elements, dims = _flattened(binding, data)
    else:
        array = _as_array(binding, "str", data, object)
        elements, dims = array.reshape(-1), array.shape
    texts = []
    for text in elements:
        if not isinstance(text, (bytes, str)):
            raise _wrong_input(binding, "str", type(text).__name__)
        texts.append(text if isinstance(text, bytes) else str(text).encode(*_TEXT))
    ends = itertools.accumulate((len(text) for text in texts), initial=0)
    return struct.pack(f"={len(texts) + 1}Q", *ends) + b"".join(texts), dims


def _to_tensor(binding, data):
    """The C struct of an array, and what keeps its memory."""
    numpy = _numpy()
    if numpy is not None and binding.dtype != _STRING:
        keep = _to_array(binding, data)
        address, size, shape = keep.ctypes.data, keep.nbytes, keep.shape
    else:
        content, shape = (_to_strings if binding.dtype == _STRING else _to_memory)(binding, data)
        keep, size = ctypes.create_string_buffer(content, max(len(content), 1)), len(content)
        address = ctypes.addressof(keep)
    dims = (ctypes.c_int64 * len(shape))(*shape)
    pointer = ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
    return _Tensor(binding.dtype, len(shape), pointer, address, size), (keep, dims)


def _bytes_of(tensor):
    return (
        bytes(memoryview((ctypes.c_char * tensor.bytes).from_address(tensor.data)))
        if tensor.bytes
        else b""
    )  # of any size


def _texts_of(data, count):
    ends = struct.unpack_from(f"={count + 1}Q", data)
    text = data[8 * (count + 1) :]
    return [text[begin:end].decode(*_TEXT) for begin, end in zip(ends, ends[1:])]


def _from_tensor(tensor):
    """A copy: an array, or bytes without numpy and for dtypes that numpy does not have."""
    numpy = _numpy()
    data = _bytes_of(tensor)
    dims = tuple(tensor.dims[i] for i in range(tensor.rank))
    if numpy is not None and tensor.dtype == _STRING:
        strings = _texts_of(data, int(numpy.prod(dims, dtype="i8")))
        return numpy.array(strings, dtype=object).reshape(dims)
    if numpy is None or tensor.dtype not in _DTYPES:
        return data
    return numpy.frombuffer(data, dtype=_DTYPES[tensor.dtype].name).reshape(dims).copy()


class _Typed:
    """What _to_tensor asks of a binding."""

    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype


def _from_dicts(binding, dicts):
    """Keys and values of each dict, as C structs."""
    kept = []
    for one in dicts if isinstance(dicts, (list, tuple)) else [dicts]:
        if not isinstance(one, dict):
            raise _wrong_input(binding, binding.type, type(one).__name__)
        kept.append(_to_tensor(_Typed(binding.name, binding.key_dtype), list(one.keys())))
        kept.append(_to_tensor(_Typed(binding.name, binding.dtype), list(one.values())))
    return kept


def _to_list(tensor):
    """The elements of keys or values, with and without numpy."""
    data = _bytes_of(tensor)
    count = tensor.dims[0]
    if tensor.dtype == _STRING:
        return _texts_of(data, count)
    format = _DTYPES[tensor.dtype].format if tensor.dtype in _DTYPES else None
    if format is None:
        raise Error(7003, f"no Python numbers for maps of dtype {tensor.dtype}")
    return list(struct.unpack(f"={count}{format}", data))


def _to_dicts(tensors):
    dicts, last, labels = [], None, []
    for keys, values in zip(tensors[::2], tensors[1::2]):
        if keys.data is None or keys.data != last:  # maps of one ZipMap share their keys
            last, labels = keys.data, _to_list(keys)
        dicts.append(dict(zip(labels, _to_list(values))))
    return dicts


class Binding:
    """An input or output of a model.

    name: its ONNX name
    type: in words: "f32 batchx3", "sequence of i64 ?"
    kind: 0 tensor, 1 sequence, 2 optional, 3 map
    dtype: ONNX's number of a dtype; of a sequence or optional its elements', of a map its values'
    dims: a tuple; -1: known only when the model runs
    bytes: its size; 0 where a dim is -1, for strings and for what is no tensor
    is_state: whether it is an input that runs keep from one call to the next, or such an output
    key_dtype: of the keys of a map, else 0
    """

    def __init__(self, c):
        self.name = c.name.decode()
        self.dtype = c.dtype
        self.dims = tuple(c.dims[i] for i in range(c.rank))
        self.bytes = c.bytes
        self.kind = c.kind
        self.type = c.type.decode()
        self.is_state = bool(c.is_state)
        self.key_dtype = c.key_dtype

    def __repr__(self):
        return f"<{self.name}: {self.type}>"

    def _has_fixed_size(self):
        return self.kind == _TENSOR and self.dtype != _STRING and -1 not in self.dims


_PATH = (str, bytes, os.PathLike)


def _text_of(name, expected, value):
    """A text or path as programs and C take it."""
    try:
        text = os.fsdecode(value)
        is_usable = text and b"\0" not in os.fsencode(text)
    except UnicodeError:
        is_usable = False
    if not is_usable:
        raise _wrong_argument(name, expected, value)
    return text


def _whole_number(name, value, high):
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= high:
        raise _wrong_argument(name, f"a whole number from 0 to {high}", value)
    return number


def _path_bytes(name, expected, path):
    if not isinstance(path, _PATH):
        raise _wrong_argument(name, expected, path)
    return os.fsencode(_text_of(name, expected, path))


class Model:
    """A compiled model: Model(path, verify_weights=False, weights=None).

    verify_weights: whether the digests of the weights are checked, which reads all of them
    weights: the folder of the weights that are in files (external_weight of compile), or the file
        of combined weights; None: the folder `weight` beside the model

    inputs, outputs: a Binding for each, in the model's order

    close() or the end of a `with` closes it; its runs stay usable. Threads may share it.
    """

    def __init__(self, path, verify_weights=False, weights=None):
        self._model = _pointer()
        content = _path_bytes("path", "the path of a compiled model", path)
        expected = "the path of a folder or of a file of combined weights"
        folder = None if weights is None else _path_bytes("weights", expected, weights)
        flags = 1 if verify_weights else 0
        _check(
            _library.sluice_model_open_weights(content, folder, flags, ctypes.byref(self._model))
        )
        self.inputs = self._bindings(_COUNT_INPUTS, _library.sluice_model_input)
        self.outputs = self._bindings(_COUNT_OUTPUTS, _library.sluice_model_output)

    def _opened(self):
        if not self._model:
            raise ArgumentError(1006, "the model is closed")
        return self._model

    def _bindings(self, what, describe):
        found = []
        for index in range(_library.sluice_model_count(self._opened(), what)):
            binding = _Binding()
            _check(describe(self._opened(), index, ctypes.byref(binding)))
            found.append(Binding(binding))
        return found

    def limit_bound_parts(self, size):
        """Parts of open sizes that are kept, bound to sizes, hold at most `size` bytes."""
        number = _whole_number("size", size, 2**64 - 1)
        _check(_library.sluice_model_limit_bound_parts(self._opened(), number))

    def bound_parts(self):
        """Counters of these, by the names of `sluice bench --json`."""
        return {
            name: _library.sluice_model_count(self._opened(), what)
            for name, what in _BOUND_PARTS.items()
        }

    def run(self, inputs=None, *, threads=0):
        """Runs the model once, or makes a Run, which may be called often.

        inputs: {name: value}; help(Run.__call__) says what values may be, what is returned, which
            errors there are and who owns the memory. None: nothing is run, a Run is returned
        threads: how many work on a call, the calling one included; 0: one for each usable core

        Each call with inputs has a Run of its own: states begin with zeros, empty where they grow.
        """
        run = Run(self, threads)
        return run if inputs is None else run(inputs)

    def close(self):
        _library.sluice_model_close(self._model)
        self._model = _pointer()

    def __del__(self):
        if getattr(self, "_model", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Run:
    """Memory and states of a model that runs: Model.run() makes one. One thread at a time may call
    it; several runs of a model go on at once.

    inputs, outputs: those of the model
    """

    def __init__(self, model, threads=0):
        number = _whole_number("threads", threads, 1024)
        self.inputs, self.outputs = model.inputs, model.outputs
        self._run = _pointer()
        _check(_library.sluice_run_create(model._opened(), number, ctypes.byref(self._run)))

    def __call__(self, inputs=None, /, **named):
        """Runs the model once, on inputs by name: a dict, words, or both.

        An input, by the kind that its Binding in Model.inputs names, is
          tensor: a numpy array of the input's dtype and dims (-1: any), of any strides; or a
            number, or lists of numbers in lists, which are converted where their kind (bool, then
            integers, then floats) and range allow it; or, where no dim is -1, bytes or a bytearray
            with the elements in row-major order
          tensor of strings: an array or lists of str
          sequence: a list of tensors
          map: a dict; sequence of maps: a list of dicts
          optional: None, or no word of it, when it is empty; else what it holds
        A dtype not in numpy is given by its bits: bfloat16 as uint16, others as uint8. Without
        numpy, tensors are lists, or buffers of the input's dtype that have their dims, such as
        array.array or memoryview(data).cast("f", dims).
        A state goes on from the last call when it is not given.

        Returns {name: value} with all outputs but states, which output() reads. A tensor is a numpy
        array of the dims of this call, of dtype object with elements of str for strings; bytes
        where numpy is not there or does not have the dtype. Sequences, maps and optionals are as
        above.

        Inputs are only read, and not copied where that can be avoided; the Run keeps hold of them
        until the next call. Outputs are copies, which belong to the caller.

        Raises Error 7004 when inputs are missing, unknown or of other dims, as ArgumentError (also
        a TypeError and a ValueError) when they are of another dtype or kind; and what errors.md
        lists from 7001 on when the model itself fails. The Run can be called again after each.
        """
        given = self._named({} if inputs is None else inputs, named)
        # A state without a word of it is bound to nothing: a call that failed may have bound it.
        self._kept = [
            self._bind(index, binding, given.get(binding.name))
            for index, binding in enumerate(self.inputs)
        ]
        _check(_library.sluice_run_execute(self._run))
        return {
            binding.name: self._output(index, binding)
            for index, binding in enumerate(self.outputs)
            if not binding.is_state
        }

    def _named(self, inputs, named):
        """Both as one dict; all are of the model, none that must be there is missing."""
        if not isinstance(inputs, collections.abc.Mapping):
            raise _wrong_argument("inputs", "a dict {name: value}", inputs)
        given = {**inputs, **named}
        known = {binding.name for binding in self.inputs}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise self._unknown("input", unknown, self.inputs)
        missing = [
            f"'{binding.name}'"
            for binding in self.inputs
            if binding.kind != _OPTIONAL and not binding.is_state and binding.name not in given
        ]
        if missing:
            raise Error(7004, "no value for input " + ", ".join(missing))
        return given

    @staticmethod
    def _unknown(what, names, bindings):
        listed = ", ".join(f"'{binding.name}'" for binding in bindings)
        wrong = ", ".join(reprlib.repr(name) for name in names)
        return ArgumentError(7004, f"no {what} called {wrong}{_hint(f'the {what}s are {listed}')}")

    def output(self, name):
        """An output of the last call, also one that is a state, as a call returns it. None before
        the first call.
        """
        for index, binding in enumerate(self.outputs):
            if binding.name == name:
                return self._output(index, binding)
        raise self._unknown("output", [name], self.outputs)

    def reset_state(self):
        """Forgets the states: the next call begins with zeros, empty where they grow."""
        _check(_library.sluice_reset_state(self._run))

    def _bind(self, index, binding, data):
        if isinstance(data, (bytes, bytearray)):
            return self._bind_bytes(index, binding, data)
        if binding.key_dtype:
            data = data if data is None else _from_dicts(binding, data)
        is_list = isinstance(data, (list, tuple)) and binding.kind != _TENSOR
        kept = [
            one if binding.key_dtype else _to_tensor(binding, one)
            for one in ([] if data is None else data if is_list else [data])
        ]
        tensors = None if data is None else (_Tensor * len(kept))(*[tensor for tensor, _ in kept])
        _check(_library.sluice_run_bind_input_tensors(self._run, index, tensors, len(kept)))
        return kept

    def _bind_bytes(self, index, binding, data):
        if not binding._has_fixed_size():
            hint = "give an array; without numpy lists, or memoryview(data).cast(format, dims)"
            expected = f"{binding.type}, whose dims bytes do not give"
            raise _wrong_input(binding, expected, type(data).__name__, hint)
        buffer = (ctypes.c_char * len(data)).from_buffer_copy(data)
        address = ctypes.addressof(buffer)
        _check(_library.sluice_run_bind_input(self._run, index, address, len(data)))
        return buffer

    def _output(self, index, binding):
        if not _library.sluice_run_output_is_present(self._run, index):
            return None
        tensors = []
        for element in range(_library.sluice_run_output_count(self._run, index)):
            tensor = _Tensor()
            _check(
                _library.sluice_run_output_tensor(self._run, index, element, ctypes.byref(tensor))
            )
            tensors.append(tensor)
        if binding.key_dtype:
            dicts = _to_dicts(tensors)
            return dicts[0] if binding.kind == _MAP else dicts
        values = [_from_tensor(tensor) for tensor in tensors]
        if binding.type.startswith(("sequence of", "optional of sequence")):
            return values
        return values[0] if values else None

    def __del__(self):
        if getattr(self, "_run", None):
            _library.sluice_run_destroy(self._run)


_COMPILER = "sluice-compile"
_KILL_SECONDS = 10  # from the request that it ends
_REINSTALL = "install sluice-compiler anew, or name another folder in SLUICE_PROGRAMS"

_NONE = type(None)
_DIM = "a whole number or (low, high)"
_PROFILE = "the name of a profile or the path of a .json file"
_OUTPUT = "the path of a file"
_ARGUMENTS = {  # of compile(): the kinds that each may be of, and these in words
    "model": ((*_PATH, bytearray, memoryview), "a path, or the bytes of a model"),
    "dims": ((collections.abc.Mapping, _NONE), f"a dict {{name: {_DIM}}}"),
    "profile": ((str, os.PathLike, _NONE), _PROFILE),
    "options": ((collections.abc.Mapping, _NONE), "a dict {name: value}"),
    "progress": ((collections.abc.Callable, _NONE), "a function of one argument"),
    "output": ((*_PATH, _NONE), _OUTPUT),
}
_OPTION = "True, a text, a number or a path, or a list of these"
_OPTION_KINDS = (str, numbers.Real, os.PathLike)
_OPTION_NAME = re.compile("[a-z][a-z0-9-]*")
# What compile() sets, also by the beginning of its name, which the program would accept.
_OWN_OPTIONS = (
    "dim",
    "profile",
    "error-format",
    "progress",
    "stop-after",
    "quiet",
    "help",
    "version",
    "weights-beside",
)


def compile(model, dims=None, profile=None, options=None, progress=None, output=None):
    """Compiles a model and opens it.

    model: the path of an ONNX model or of a graph file (.sg), or the bytes of one
    dims: {name: size, or its bounds (low, high)} of open dimensions, by their name in the model, or
        INPUT_AXIS where they have none. A size is from 1 on, a low bound from 0 on
    profile: the device, as --profile of sluice-compile has it
    options: {name: value} of other options of sluice-compile, _ for -; True for those without
        value, a list for several, None or False for none
    progress: called with a Progress at the end of each stage, in the order of the stages
    output: where the compiled model is kept, also a device such as /dev/null or a pipe; else it
        lies in a temporary file that ends with the Model

    What stages warn of are Python warnings of kind CompileWarning. Raises ArgumentError for an
    argument that cannot be taken, else CompileError; and Error when a model that was compiled for
    another device, and is kept, cannot be opened here. Whatever is raised meanwhile, also by
    progress, by Ctrl-C or by warnings that are errors, ends the compile: nothing of it goes on or
    is left behind, and a file that was at output stays as it was.
    """
    _check_arguments(
        model=model, dims=dims, profile=profile, options=options, progress=progress, output=output
    )
    flags = ["--error-format=json", "--progress=json", *_compile_arguments(dims, profile, options)]
    output = _output_path(output)
    command = [_find_compiler(), *flags]
    with _Interrupts() as interrupts, contextlib.ExitStack() as stack:
        files = _Files(model, output, stack, interrupts)
        command += ["-o", files.product, *files.weights_arguments(), files.source]
        for warning in _run_compiler(command, progress, interrupts, files.names):
            warnings.warn(warning, CompileWarning, stacklevel=2)
        return Model(files.keep())  # which holds the file even where it has no name any more


def _check_arguments(**given):
    for name, value in given.items():
        kinds, expected = _ARGUMENTS[name]
        if not isinstance(value, kinds):
            raise _wrong_argument(name, expected, value)


def _compile_arguments(dims, profile, options):
    arguments = [f"--dim={_dim_text(name, value)}" for name, value in (dims or {}).items()]
    if profile is not None:
        arguments.append(f"--profile={_text_of('profile', _PROFILE, profile)}")
    for name, value in (options or {}).items():
        option = _option_name(name)
        for each in value if isinstance(value, (list, tuple)) else [value]:
            arguments += _option_arguments(option, each)
    return arguments


def _dim_text(name, value):
    if not isinstance(name, str):
        raise _wrong_argument("dims", "names of dimensions as keys", name)
    bounds = value if isinstance(value, tuple) and len(value) == 2 else (value,)
    try:
        if any(isinstance(bound, bool) for bound in bounds):
            raise TypeError("no number")
        size = "..".join(str(operator.index(bound)) for bound in bounds)
    except (TypeError, ValueError):  # the latter for more digits than Python writes
        raise _wrong_argument(f"dims[{name!r}]", _DIM, value) from None
    return f"{_text_of('dims', 'names of dimensions as keys', name)}={size}"


def _option_name(name):
    option = name.lstrip("-").replace("_", "-") if isinstance(name, str) else ""
    if not _OPTION_NAME.fullmatch(option):
        raise _wrong_argument("options", "names of options as keys", name)
    if option == "o" or any(own.startswith(option) for own in _OWN_OPTIONS):
        expected = "options that compile() neither sets nor has as a parameter"
        raise _wrong_argument("options", expected, name)
    return option


def _option_arguments(option, value):
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{option}"]
    name = f"options['{option}']"
    if not isinstance(value, _OPTION_KINDS):
        raise _wrong_argument(name, _OPTION, value)
    text = str(value) if isinstance(value, numbers.Real) else value
    return [f"--{option}={_text_of(name, _OPTION, text)}"]


def _output_path(output):
    if output is None:
        return None
    path = os.path.abspath(_text_of("output", _OUTPUT, output))
    if os.path.isdir(path):
        raise ArgumentError(1006, f"output takes {_OUTPUT}, '{path}' is a folder")
    return path


def _is_special(path):
    """Whether it is a device or a pipe, which is written into and not replaced."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def _writing(path):
    try:
        yield
    except OSError as problem:
        message = f"cannot be written: {problem.strerror or problem}"
        raise CompileError(1007, message, file=path) from None


class _Files:
    """What a compile reads and writes. Until keep() the product has another name, in the folder of
    `output` so that it can be renamed; what has no name to stay is removed with the stack.

    names: of paths that the caller does not know: what to say instead
    """

    def __init__(self, model, output, stack, interrupts):
        self._output, self._interrupts = output, interrupts
        self._is_renamed = output is not None and not _is_special(output)
        is_given = isinstance(model, (bytes, bytearray, memoryview))
        folder = None if self._is_renamed and not is_given else self._folder(stack)
        if self._is_renamed:
            self._target = os.path.realpath(output)
            name = f".sluice-{os.urandom(8).hex()}"
            self.product = os.path.join(os.path.dirname(self._target), name)
            stack.callback(_remove, self.product)
        else:
            self.product = os.path.join(folder, "model.om")
        self.names = {self.product: output or ""}
        self.source = os.path.join(folder, "model") if is_given else _model_path(model)
        if is_given:
            self.names[self.source] = ""
            self._write_source(model)

    def weights_arguments(self):
        """Files of weights are beside the product under its last name."""
        if self._output is None:
            return []
        return ["--weights-beside=" + (self._target if self._is_renamed else self._output)]

    @staticmethod
    def _folder(stack):
        with _writing(os.environ.get("TMPDIR", "/tmp")):
            return stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-"))

    def _write_source(self, model):
        content = memoryview(model)
        with _writing(os.path.dirname(self.source)), self._interrupts.allowed():
            with open(self.source, "wb") as file:
                file.write(content if content.c_contiguous else content.tobytes())

    def keep(self):
        """Gives the product its name. Returns a path to open it by."""
        if not os.path.isfile(self.product):
            raise CompileError(8001, f"{_COMPILER} ended without a compiled model")
        with _writing(self._output):
            if self._is_renamed:
                os.replace(self.product, self._target)
                return self._output
            if self._output is not None:
                with self._interrupts.allowed():
                    _copy_into(self.product, self._output)
        return self.product


def _model_path(model):
    return os.path.abspath(_text_of("model", _ARGUMENTS["model"][1], model))


def _remove(path):
    """Also what a program that was killed wrote on the way to it."""
    for each in glob.glob(glob.escape(path) + "*"):
        with contextlib.suppress(OSError):
            os.remove(each)


def _copy_into(path, special):
    with open(path, "rb") as source, open(special, "wb") as file:
        shutil.copyfileobj(source, file)


class _Interrupts:
    """Holds Ctrl-C while a compile makes and removes files and programs, so that none stays behind
    however often it comes. Within allowed() the handler that was there before is called at once,
    until it raises. Threads other than the main one get no Ctrl-C.
    """

    def __enter__(self):
        self._is_allowed, self._held = False, None
        self._before = signal.getsignal(signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        self._is_set = is_main and callable(self._before)
        if self._is_set:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, kind, *_):
        if self._is_set and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._before)
        if self._held and kind is not KeyboardInterrupt:
            self._before(*self._held)

    def _handle(self, *arguments):
        if not self._is_allowed:
            self._held = arguments
            return
        self._is_allowed = False  # also from now on, if this raises
        self._before(*arguments)
        self._is_allowed = True

    @contextlib.contextmanager
    def allowed(self):
        self._is_allowed = True
        try:
            if self._held:
                held, self._held = self._held, None
                self._handle(*held)
            yield
        finally:
            self._is_allowed = False


def _find_compiler():
    """In the folder that is named; else beside what is installed, then in $PATH."""
    named = os.environ.get("SLUICE_PROGRAMS")
    lib = os.path.dirname(os.path.realpath(_library._name)) if os.sep in _library._name else None
    places = [os.path.join(lib, "../bin"), os.path.join(lib, "../../bin")] if lib else []
    places.append(os.path.join(_HERE, "../bin"))
    for place in [named] if named else places:
        path = os.path.normpath(os.path.join(place, _COMPILER))
        if os.access(path, os.X_OK):
            return path
    found = None if named else shutil.which(_COMPILER)
    if found is None:
        where = "beside the library or in PATH"
        if named:
            where = f"in '{named}', which SLUICE_PROGRAMS names, or may not be executed"
        hint = "install sluice-compiler, or name the folder of its programs in SLUICE_PROGRAMS"
        raise CompileError(8002, f"the program '{_COMPILER}' is not {where}", hint)
    return found


def _run_compiler(command, progress, interrupts, names):
    """Warnings of a compile that succeeded. names: those of _Files."""
    printed = _Printed(progress)
    with _started(command) as process:
        try:
            with interrupts.allowed():
                for line in process.stderr:
                    printed.take(line)
                code = process.wait()
        except BaseException:
            _stop(process)
            raise
    if code != 0:
        raise _error_of(printed, code, names)
    return _joined(printed.texts)


def _started(command):
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=null, stdout=null, stderr=pipe)
    except OSError as problem:
        message = f"the program cannot be started: {problem.strerror or problem}"
        raise CompileError(8002, message, _REINSTALL, command[0]) from None


_ERROR_FIELDS = {"code", "message", "hint", "file", "node", "errors"}


class _Printed:
    """What the compiler prints, line by line: the end of a stage, an error, or text for people."""

    def __init__(self, progress):
        self._progress, self.error, self.texts = progress, None, []

    def take(self, line):
        fields = _json_object(line)
        if fields.keys() >= set(Progress._fields):
            if self._progress is not None:
                self._progress(Progress(*(fields[name] for name in Progress._fields)))
        elif fields.keys() >= _ERROR_FIELDS and re.fullmatch(r"SL\d{4}", str(fields["code"])):
            self.error = self.error or fields
        else:
            self.texts.append(line.decode(errors="replace").rstrip("\n"))


def _json_object(line):
    """Nothing when the line is a text for people."""
    try:
        return json.loads(line) if line.startswith(b"{") else {}
    except (ValueError, RecursionError):
        return {}


def _joined(lines):
    """Each warning with the lines that go on with it."""
    found = []
    for line in lines:
        if line.startswith("sluice-") or not found:
            found.append(line)
        else:
            found[-1] += "\n" + line
    return found


def _stop(process):
    process.terminate()  # it ends its stages
    try:
        process.wait(_KILL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _error_of(printed, code, names):
    """A command line that cannot be read is reported in words, and a program that was killed
    prints nothing."""
    if printed.error is None:
        ending = f"ended with {code}" if code > 0 else f"was ended by signal {-code}"
        message = "\n".join(printed.texts) or f"{_COMPILER} {ending}"
        return CompileError(1001 if code == 2 else 8004, message)
    error = printed.error
    errors = [{**one, "message": _shown(one["message"], names)} for one in error["errors"]]
    number, file = int(error["code"][2:]), names.get(error["file"], error["file"])
    message = _shown(error["message"], names)
    return CompileError(number, message, error["hint"], file, error["node"], errors)


def _shown(text, names):
    for path, name in names.items():
        text = text.replace(path, name) if name else text
    return text
