"""The Python interface to sluice.h, by ctypes; the contracts are written there.

    import sluice
    with sluice.Model("model.om") as model:
        outputs = model.run({"x": array})  # {name: numpy array}, or {name: bytes} without numpy
        run = model.run(threads=2)         # to be called often: it keeps its memory and states
        outputs = run(x=array)             # or run({"x": array})
    with sluice.compile("model.onnx", dims={"N": 4}) as model:
        ...

A sequence is a list of arrays, an empty optional None, a tensor of strings an array of str, a map
a dict, a sequence of maps a list of dicts. An array must have the input's dtype; Python numbers,
also in lists, are converted where their kind (integers before floats) and range allow it.

libsluice.so is $SLUICE_LIBRARY, or the first that is there: beside this file, in ../lib, in the lib
folder of the prefix that this file is installed in, where the system looks for libraries.
compile() runs sluice-compile, which is looked for in $SLUICE_PROGRAMS, else in the bin folder of
the prefix that the library or this file is installed in, then in $PATH.
"""

import collections
import contextlib
import ctypes
import glob
import json
import operator
import os
import shutil
import subprocess
import tempfile
import warnings

try:
    import numpy
except ImportError:  # arrays become bytes
    numpy = None

_NUMPY_TYPES = {
    1: "f4",
    2: "u1",
    3: "i1",
    4: "u2",
    5: "i2",
    6: "i4",
    7: "i8",
    9: "?",
    10: "f2",
    11: "f8",
    12: "u4",
    13: "u8",
    14: "c8",
    15: "c16",
}
_BFLOAT16 = 16  # its bits, as those of other dtypes that numpy lacks
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


class Error(Exception):
    """A failed call; code is the number of the error (7001 is SL7001)."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class CompileError(Error):
    """A failed compile.

    code, hint; message: without code, file and hint; file: what was read
    node: the first ONNX node that the message names, or None
    errors: dicts with "message" and "nodes"; several when everything that is wrong is listed
    """

    def __init__(self, code, message, hint="", file="", node=None, errors=None):
        place = f" [{file}]" if file else ""
        advice = f"\nhint: {hint}" if hint else ""
        super().__init__(code, f"SL{code:04}: {message}{place}{advice}")
        self.message, self.hint, self.file, self.node = message, hint, file, node
        self.errors = errors or [{"message": message, "nodes": [node] if node else []}]


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


# From this file's folder: a build tree or any folder with both files, then
# PREFIX/lib/python3/dist-packages, where the library may be in a folder of lib for one
# architecture.
_LIBRARY_PLACES = (
    "libsluice.so.0",
    "libsluice.so",
    "../lib/libsluice.so.0",
    "../../libsluice.so.0",
    "../../*-linux-gnu*/libsluice.so.0",
)


def _load():
    named = os.environ.get("SLUICE_LIBRARY")
    here = glob.escape(os.path.dirname(os.path.realpath(__file__)))
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
    ("sluice_model_open", ctypes.c_int, [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(_pointer)]),
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


def _to_array(binding, data):
    """As an array of the input's dtype, if it is one or made of plain numbers that fit it."""
    wanted = numpy.dtype(
        _NUMPY_TYPES.get(binding.dtype, "u2" if binding.dtype == _BFLOAT16 else "u1")
    )
    array = numpy.asarray(data)
    is_typed = hasattr(data, "dtype")  # arrays and scalars of numpy
    kind, wanted_kind = (
        "bifc".find("i" if one.kind == "u" else one.kind) for one in (array.dtype, wanted)
    )
    is_number = binding.dtype in _NUMPY_TYPES and 0 <= kind <= wanted_kind
    if array.dtype.newbyteorder("=") != wanted and (is_typed or not (is_number or array.size == 0)):
        raise TypeError(f"input '{binding.name}' takes {wanted.name}, got {array.dtype.name}")
    converted = numpy.ascontiguousarray(array, dtype=wanted).reshape(array.shape)
    if kind == wanted_kind == 1 and not numpy.array_equal(converted, array):
        raise OverflowError(
            f"input '{binding.name}' takes {wanted.name}, which cannot hold all of the numbers"
            " given"
        )
    return converted


def _to_tensor(binding, data):
    """The C struct of an array, and what keeps its memory."""
    if binding.dtype == _STRING:
        array, texts = numpy.asarray(data, dtype=object), []
        for text in array.reshape(-1):
            if not isinstance(text, (bytes, str)):
                raise TypeError(f"input '{binding.name}' takes str, got {type(text).__name__}")
            texts.append(
                text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape")
            )
        ends = numpy.cumsum([0] + [len(text) for text in texts], dtype="u8")
        buffer = ends.tobytes() + b"".join(texts)
        keep = (ctypes.c_char * len(buffer)).from_buffer_copy(buffer)
        address, size = ctypes.addressof(keep), len(buffer)
    else:
        array = keep = _to_array(binding, data)
        address, size = array.ctypes.data, array.nbytes
    dims = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = _Tensor(
        binding.dtype, array.ndim, ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64)), address, size
    )
    return tensor, (keep, dims)


def _bytes_of(tensor):
    return (
        bytes(memoryview((ctypes.c_char * tensor.bytes).from_address(tensor.data)))
        if tensor.bytes
        else b""
    )  # of any size


def _from_tensor(tensor):
    """A copy: an array, or bytes without numpy and for dtypes that numpy lacks."""
    data = _bytes_of(tensor)
    dims = tuple(tensor.dims[i] for i in range(tensor.rank))
    if numpy is not None and tensor.dtype == _STRING:
        count = int(numpy.prod(dims, dtype="i8"))
        ends = numpy.frombuffer(data, dtype="u8", count=count + 1).tolist()
        text = data[8 * (count + 1) :]
        strings = [
            text[begin:end].decode("utf-8", "surrogateescape") for begin, end in zip(ends, ends[1:])
        ]
        return numpy.array(strings, dtype=object).reshape(dims)
    if numpy is None or tensor.dtype not in _NUMPY_TYPES:
        return data
    return numpy.frombuffer(data, dtype=_NUMPY_TYPES[tensor.dtype]).reshape(dims).copy()


class _Typed:
    """What _to_tensor asks of a binding."""

    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype


def _from_dicts(binding, dicts):
    """Keys and values of each dict, as C structs."""
    kept = []
    for one in dicts:
        if not isinstance(one, dict):
            raise TypeError(
                f"input '{binding.name}' takes {binding.type}, got {type(one).__name__}"
            )
        kept.append(_to_tensor(_Typed(binding.name, binding.key_dtype), list(one.keys())))
        kept.append(_to_tensor(_Typed(binding.name, binding.dtype), list(one.values())))
    return kept


_ELEMENT_FORMATS = {
    1: "f",
    2: "B",
    3: "b",
    4: "H",
    5: "h",
    6: "i",
    7: "q",
    11: "d",
    12: "I",
    13: "Q",
}


def _to_list(tensor):
    """The elements of keys or values, with and without numpy."""
    data = _bytes_of(tensor)
    count = tensor.dims[0]
    if tensor.dtype == _STRING:
        ends = memoryview(data[: 8 * (count + 1)]).cast("Q").tolist()
        text = data[8 * (count + 1) :]
        return [
            text[begin:end].decode("utf-8", "surrogateescape") for begin, end in zip(ends, ends[1:])
        ]
    if tensor.dtype not in _ELEMENT_FORMATS:
        raise TypeError(f"no Python numbers for maps of dtype {tensor.dtype}")
    return memoryview(data).cast(_ELEMENT_FORMATS[tensor.dtype]).tolist() if data else []


def _to_dicts(tensors):
    dicts, last, labels = [], None, []
    for keys, values in zip(tensors[::2], tensors[1::2]):
        if keys.data is None or keys.data != last:  # maps of one ZipMap share their keys
            last, labels = keys.data, _to_list(keys)
        dicts.append(dict(zip(labels, _to_list(values))))
    return dicts


class Binding:
    """An input or output: name, kind (0 tensor, 1 sequence, 2 optional, 3 map), dtype (ONNX's
    number), dims (-1: any), bytes (0: not fixed), type in words, is_state: an input that runs keep
    from one call to the next, and key_dtype: of maps, else 0.
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


class Model:
    def __init__(self, path, verify_weights=False):
        self._model = _pointer()
        _check(
            _library.sluice_model_open(
                os.fsencode(path), int(verify_weights), ctypes.byref(self._model)
            )
        )
        self.inputs = self._bindings(_COUNT_INPUTS, _library.sluice_model_input)
        self.outputs = self._bindings(_COUNT_OUTPUTS, _library.sluice_model_output)

    def _opened(self):
        if not self._model:
            raise ValueError("the model is closed")
        return self._model

    def _bindings(self, what, describe):
        found = []
        for index in range(_library.sluice_model_count(self._opened(), what)):
            binding = _Binding()
            _check(describe(self._opened(), index, ctypes.byref(binding)))
            found.append(Binding(binding))
        return found

    def limit_bound_parts(self, size):
        """Parts of open sizes that are kept, bound to sizes, hold at most that many bytes."""
        _check(_library.sluice_model_limit_bound_parts(self._opened(), size))

    def bound_parts(self):
        """Counters of these, by the names of `sluice bench --json`."""
        return {
            name: _library.sluice_model_count(self._opened(), what)
            for name, what in _BOUND_PARTS.items()
        }

    def run(self, inputs=None, *, threads=0):
        """Without inputs a Run, to be called often. With a dict of inputs a dict of outputs, of a
        Run of its own: states begin empty or with zeros.
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
    def __init__(self, model, threads=0):
        self.inputs, self.outputs = model.inputs, model.outputs
        self._run = _pointer()
        _check(_library.sluice_run_create(model._opened(), threads, ctypes.byref(self._run)))

    def __call__(self, inputs=None, /, **named):
        """Runs once, on inputs by name: a dict, words, or both. Each input is a numpy array of its
        type, or bytes when its size is fixed; a list of arrays for a sequence; a dict for a map, a
        list of dicts for a sequence of maps; None or one of these, or no word of it, for an
        optional. States go on from the last call when they are not given; their outputs are not
        among the results, but output() reads them.
        """
        if not isinstance(inputs, (dict, type(None))):
            raise TypeError(f"inputs are a dict, got {type(inputs).__name__}")
        inputs = {**(inputs or {}), **named}
        needed = [
            binding for binding in self.inputs if binding.kind != _OPTIONAL and not binding.is_state
        ]
        missing = [binding.name for binding in needed if binding.name not in inputs]
        if missing:
            raise Error(7004, "no value for input " + ", ".join(missing))
        unknown = inputs.keys() - {binding.name for binding in self.inputs}
        if unknown:
            raise Error(7004, "no input called " + ", ".join(sorted(unknown)))
        # A state without a word of it is bound to nothing: a call that failed may have bound it.
        self._kept = [
            self._bind(index, binding, inputs.get(binding.name))
            for index, binding in enumerate(self.inputs)
        ]
        _check(_library.sluice_run_execute(self._run))
        return {
            binding.name: self._output(index, binding)
            for index, binding in enumerate(self.outputs)
            if not binding.is_state
        }

    def output(self, name):
        """An output of the last call, also one that is a state."""
        for index, binding in enumerate(self.outputs):
            if binding.name == name:
                return self._output(index, binding)
        raise Error(7004, "no output called " + name)

    def reset_state(self):
        """Forgets the states: the next call begins with zeros, empty where they grow."""
        _check(_library.sluice_reset_state(self._run))

    def _bind(self, index, binding, data):
        if isinstance(data, (bytes, bytearray)):
            buffer = (ctypes.c_char * len(data)).from_buffer_copy(data)
            _check(
                _library.sluice_run_bind_input(
                    self._run, index, ctypes.addressof(buffer), len(data)
                )
            )
            return buffer
        if binding.key_dtype:
            data = _from_dicts(binding, [data] if binding.kind == _MAP else data)
        is_list = isinstance(data, (list, tuple)) and binding.kind != _TENSOR
        kept = [
            one if binding.key_dtype else _to_tensor(binding, one)
            for one in ([] if data is None else data if is_list else [data])
        ]
        tensors = None if data is None else (_Tensor * len(kept))(*[tensor for tensor, _ in kept])
        _check(_library.sluice_run_bind_input_tensors(self._run, index, tensors, len(kept)))
        return kept

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
_OWN_OPTIONS = (
    "o",
    "dim",
    "profile",
    "error-format",
    "progress",
    "stop-after",
    "quiet",
    "q",
    "help",
    "version",
)
_KILL_SECONDS = 10  # from the wish that it ends


def compile(model, dims=None, profile=None, options=None, progress=None, output=None):
    """Compiles a model and opens it.

    model: the path of an ONNX model or of a graph file (.sg), or the bytes of one
    dims: {name: number, or (low, high) of an open dimension}
    profile: the device, as --profile of sluice-compile has it
    options: {name: value} of other options of sluice-compile; True for those without value, a list
        for several
    progress: called with a Progress at the end of each stage, in the order of the stages
    output: where the compiled model is kept; else it lies in a temporary file that ends with the
        Model

    What stages warn of are Python warnings of kind CompileWarning. Raises CompileError. Whatever
    else is raised meanwhile, also by progress, ends the compile: nothing of it goes on or is left
    behind.
    """
    arguments = [
        _find_compiler(),
        "--error-format=json",
        "--progress=json",
        *_compile_arguments(dims, profile, options),
    ]
    given = isinstance(model, (bytes, bytearray, memoryview))
    path = None if given else os.path.abspath(os.fspath(model))
    product = None if output is None else os.path.abspath(os.fspath(output))
    with contextlib.ExitStack() as stack:
        if given or output is None:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-"))
        unnamed = os.path.join(scratch, "model") if given else None
        if given:
            with open(unnamed, "wb") as file:
                file.write(model)
        product = product or os.path.join(scratch, "model.om")
        command = [*arguments, "-o", product, path or unnamed]
        for warning in _run_compiler(command, progress, unnamed):
            warnings.warn(warning, CompileWarning, stacklevel=2)
        return Model(product)  # which holds the file even where it has no name any more


def _compile_arguments(dims, profile, options):
    arguments = [f"--dim={name}={_dim_text(name, value)}" for name, value in (dims or {}).items()]
    if profile is not None:
        arguments.append(f"--profile={os.fspath(profile)}")
    for name, value in (options or {}).items():
        name = name.lstrip("-").replace("_", "-")
        if name in _OWN_OPTIONS:
            raise ValueError(f"'{name}' is no option of compile(), or is a parameter of it")
        for each in value if isinstance(value, (list, tuple)) else [value]:
            arguments += _option_arguments(name, each)
    return arguments


def _option_arguments(name, value):
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    return [f"--{name}={os.fspath(value) if hasattr(value, '__fspath__') else value}"]


def _dim_text(name, value):
    try:
        if isinstance(value, tuple):
            low, high = (operator.index(bound) for bound in value)
            return f"{low}..{high}"
        values = value if isinstance(value, list) else [value]
        return ",".join(str(operator.index(each)) for each in values)
    except (TypeError, ValueError):
        raise TypeError(f"dim '{name}' takes a number or (low, high), got {value!r}") from None


def _find_compiler():
    """In the folder that is named; else beside what is installed, then in $PATH."""
    named = os.environ.get("SLUICE_PROGRAMS")
    lib = os.path.dirname(os.path.realpath(_library._name)) if os.sep in _library._name else None
    here = os.path.dirname(os.path.realpath(__file__))
    places = [os.path.join(lib, "../bin"), os.path.join(lib, "../../bin")] if lib else []
    places.append(os.path.join(here, "../bin"))
    for place in [named] if named else places:
        path = os.path.normpath(os.path.join(place, _COMPILER))
        if os.access(path, os.X_OK):
            return path
    found = None if named else shutil.which(_COMPILER)
    if found is None:
        where = "beside the library or in PATH"
        if named:
            where = f"in '{named}', which SLUICE_PROGRAMS names"
        hint = "install sluice-compiler, or name the folder of its programs in SLUICE_PROGRAMS"
        raise CompileError(8002, f"the program '{_COMPILER}' is not {where}", hint)
    return found


def _run_compiler(command, progress, unnamed):
    """Warnings of a compile that succeeded. unnamed: a path that the caller does not know."""
    error, texts = None, []
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, stdin=null, stdout=null, stderr=pipe) as process:
        try:
            for line in process.stderr:
                told = _json_object(line)
                if "stage" in told and progress is not None:
                    progress(Progress(*(told[field] for field in Progress._fields)))
                elif "code" in told:
                    error = error or told
                elif not told:
                    texts.append(line.decode(errors="replace").rstrip("\n"))
            code = process.wait()
        except BaseException:
            _stop(process)
            raise
    if code != 0:
        raise _error_of(error, texts, code, unnamed)
    return _joined(texts)


def _json_object(line):
    """Nothing when the line is a text for people."""
    try:
        return json.loads(line) if line.startswith(b"{") else {}
    except ValueError:
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
    except BaseException:  # interrupted once more
        process.kill()
        raise


def _error_of(error, texts, code, unnamed):
    """error: what was told as JSON. A command line that cannot be read is told in words, and a
    program that was killed says nothing."""
    if error is None:
        message = "\n".join(texts) or f"{_COMPILER} ended with {code}"
        return CompileError(1001 if code == 2 else 8004, message)
    number, file = int(error["code"][2:]), error["file"]
    told = (error["message"], error["hint"], "" if file == unnamed else file)
    return CompileError(number, *told, error["node"], error["errors"])
