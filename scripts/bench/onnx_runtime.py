"""ONNX Runtime through its C library, with values of every kind: tensors, strings, sequences, maps.

scripts/bench/ort fetches the library. It publishes one struct of function pointers that only ever
grows at its end, so a function is found by its position in the published order.
"""
import ctypes
import os

import numpy as np
from onnx import numpy_helper

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LIBRARY = os.path.join(ROOT, "out", "ort", "libonnxruntime.so.1")

POSITIONS = {
    "GetErrorMessage": 2, "CreateEnv": 3, "CreateSession": 7, "Run": 9,
    "CreateSessionOptions": 10, "SetSessionGraphOptimizationLevel": 23,
    "SetIntraOpNumThreads": 24, "SessionGetInputCount": 30, "SessionGetOutputCount": 31,
    "SessionGetInputName": 36, "SessionGetOutputName": 37, "CreateTensorAsOrtValue": 48,
    "CreateTensorWithDataAsOrtValue": 49, "GetTensorMutableData": 51, "FillStringTensor": 52,
    "GetStringTensorDataLength": 53, "GetStringTensorContent": 54, "GetTensorElementType": 60,
    "GetDimensionsCount": 61, "GetDimensions": 62, "GetTensorTypeAndShape": 65,
    "GetValueType": 67, "CreateCpuMemoryInfo": 69, "GetAllocatorWithDefaultOptions": 78,
    "GetValue": 80, "GetValueCount": 81, "CreateValue": 82, "ReleaseStatus": 93,
}
API_VERSION = 1
ERRORS_ONLY = 3  # OrtLoggingLevel
TENSOR, SEQUENCE, MAP = 1, 2, 3  # ONNXType
STRING = 8

# The dtypes of elements by ONNX's numbers. Those that numpy has not are read as integers.
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32,
          7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
          14: np.complex64, 15: np.complex128, 16: np.uint16, 17: np.uint8, 18: np.uint8,
          19: np.uint8, 20: np.uint8}
PACKED = {21, 22}  # two elements in a byte


class OrtError(Exception):
    """What ONNX Runtime says when it cannot do something."""


class Tensor:
    """A tensor with its dtype by ONNX's number; its array has the elements, as DTYPES says."""

    def __init__(self, dtype, array):
        self.dtype, self.array = dtype, array

    @staticmethod
    def of(array):
        if array.dtype.kind in "OUS":
            return Tensor(STRING, array.astype(object))
        number = next(n for n, dtype in DTYPES.items() if np.dtype(dtype) == array.dtype)
        return Tensor(number, array)

    @staticmethod
    def of_proto(proto):
        if proto.data_type in PACKED or proto.data_type not in (*DTYPES, STRING):
            raise OrtError(f"elements of dtype {proto.data_type} are not read here")
        if proto.data_type in (16, 17, 18, 19, 20):
            raw = proto.raw_data or np.array(
                proto.int32_data, DTYPES[proto.data_type]).tobytes()
            array = np.frombuffer(raw, DTYPES[proto.data_type]).reshape(list(proto.dims))
            return Tensor(proto.data_type, array)
        return Tensor(proto.data_type, numpy_helper.to_array(proto))


class Runtime:
    """The library, opened."""

    def __init__(self, library=LIBRARY):
        library = ctypes.CDLL(library)
        library.OrtGetApiBase.restype = ctypes.POINTER(ctypes.c_void_p)
        base = library.OrtGetApiBase()
        get_api = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32)(base[0])
        self.version = ctypes.CFUNCTYPE(ctypes.c_char_p)(base[1])().decode()
        self.functions = get_api(API_VERSION)
        self.environment = ctypes.c_void_p()
        self.call("CreateEnv", ERRORS_ONLY, b"onnx_runtime", ctypes.byref(self.environment))
        self.memory, self.allocator = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("CreateCpuMemoryInfo", 0, 0, ctypes.byref(self.memory))
        self.call("GetAllocatorWithDefaultOptions", ctypes.byref(self.allocator))

    def call(self, name, *arguments):
        """Calls a function that returns a status; pointers and sizes are given as ctypes have
        them, ints are 32-bit."""
        function = ctypes.CFUNCTYPE(ctypes.c_void_p)(self.functions[POSITIONS[name]])
        function.argtypes = None
        status = function(*arguments)
        if not status:
            return
        message = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(
            self.functions[POSITIONS["GetErrorMessage"]])(status).decode(errors="replace")
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.functions[POSITIONS["ReleaseStatus"]])(status)
        raise OrtError(message)

    def size(self, name, *arguments):
        result = ctypes.c_size_t()
        self.call(name, *arguments, ctypes.byref(result))
        return result.value


class Session:
    """A model that is ready to run, on one thread, as optimised as ONNX Runtime can."""

    def __init__(self, runtime, model):
        self.runtime, self.kept = runtime, []
        options, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        runtime.call("CreateSessionOptions", ctypes.byref(options))
        runtime.call("SetIntraOpNumThreads", options, 1)
        runtime.call("CreateSession", runtime.environment, os.fsencode(model), options,
                     ctypes.byref(self.session))
        self.inputs = self._names("Input")
        self.outputs = self._names("Output")

    def run(self, values):
        """The outputs in order, of inputs by name: Tensor, list of them, or dict."""
        made = [self._make(values[name]) for name in self.inputs]
        inputs = (ctypes.c_void_p * len(made))(*(value.value for value in made))
        outputs = (ctypes.c_void_p * len(self.outputs))()
        self.runtime.call("Run", self.session, None, self._words(self.inputs), inputs,
                          ctypes.c_size_t(len(made)), self._words(self.outputs),
                          ctypes.c_size_t(len(self.outputs)), outputs)
        return [self._read(ctypes.c_void_p(output)) for output in outputs]

    def _words(self, names):
        return (ctypes.c_char_p * len(names))(*(name.encode() for name in names))

    def _names(self, kind):
        names = []
        for i in range(self.runtime.size(f"SessionGet{kind}Count", self.session)):
            name = ctypes.c_char_p()
            self.runtime.call(f"SessionGet{kind}Name", self.session, ctypes.c_size_t(i),
                              self.runtime.allocator, ctypes.byref(name))
            names.append(name.value.decode())
        return names

    def _make(self, value):
        made = ctypes.c_void_p()
        if isinstance(value, list):
            elements = [self._make(element) for element in value]
            self.runtime.call("CreateValue", (ctypes.c_void_p * len(elements))(
                *(element.value for element in elements)), ctypes.c_size_t(len(elements)),
                SEQUENCE, ctypes.byref(made))
        elif isinstance(value, dict):
            parts = [self._make(Tensor.of(np.array(list(part)))) for part in
                     (value.keys(), value.values())]
            self.runtime.call("CreateValue", (ctypes.c_void_p * 2)(
                *(part.value for part in parts)), ctypes.c_size_t(2), MAP, ctypes.byref(made))
        else:
            self._make_tensor(value, made)
        return made

    def _make_tensor(self, value, made):
        dims = (ctypes.c_int64 * value.array.ndim)(*value.array.shape)
        rank = ctypes.c_size_t(value.array.ndim)
        if value.dtype == STRING:
            texts = [text if isinstance(text, bytes) else str(text).encode()
                     for text in value.array.flatten()]
            self.runtime.call("CreateTensorAsOrtValue", self.runtime.allocator, dims, rank, STRING,
                              ctypes.byref(made))
            self.runtime.call("FillStringTensor", made, (ctypes.c_char_p * len(texts))(*texts),
                              ctypes.c_size_t(len(texts)))
            return
        array = np.ascontiguousarray(value.array)
        self.kept.append(array)
        self.runtime.call("CreateTensorWithDataAsOrtValue", self.runtime.memory,
                          ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), dims,
                          rank, value.dtype, ctypes.byref(made))

    def _read(self, value):
        if not value:
            return None
        kind = ctypes.c_int()
        self.runtime.call("GetValueType", value, ctypes.byref(kind))
        if kind.value == TENSOR:
            return self._read_tensor(value)
        elements = []
        for i in range(self.runtime.size("GetValueCount", value)):
            element = ctypes.c_void_p()
            self.runtime.call("GetValue", value, i, self.runtime.allocator, ctypes.byref(element))
            elements.append(self._read(element))
        if kind.value == MAP:
            keys, values = (element.array.tolist() for element in elements)
            return dict(zip(keys, values))
        return elements

    def _read_tensor(self, value):
        info, dtype = ctypes.c_void_p(), ctypes.c_int()
        self.runtime.call("GetTensorTypeAndShape", value, ctypes.byref(info))
        self.runtime.call("GetTensorElementType", info, ctypes.byref(dtype))
        dims = (ctypes.c_int64 * self.runtime.size("GetDimensionsCount", info))()
        self.runtime.call("GetDimensions", info, dims, ctypes.c_size_t(len(dims)))
        count = int(np.prod(list(dims), dtype=np.int64))
        if dtype.value == STRING:
            return Tensor(STRING, self._texts(value, count).reshape(list(dims)))
        data = ctypes.c_void_p()
        self.runtime.call("GetTensorMutableData", value, ctypes.byref(data))
        if dtype.value in PACKED:
            content = ctypes.string_at(data, (count + 1) // 2) if count else b""
            return Tensor(dtype.value, np.frombuffer(content, np.uint8))
        if dtype.value not in DTYPES:
            raise OrtError(f"elements of dtype {dtype.value} are not read here")
        of_elements = np.dtype(DTYPES[dtype.value])
        content = ctypes.string_at(data, count * of_elements.itemsize) if count else b""
        return Tensor(dtype.value, np.frombuffer(content, of_elements).reshape(list(dims)))

    def _texts(self, value, count):
        length = self.runtime.size("GetStringTensorDataLength", value)
        content, starts = ctypes.create_string_buffer(length + 1), (ctypes.c_size_t * count)()
        self.runtime.call("GetStringTensorContent", value, content, ctypes.c_size_t(length), starts,
                          ctypes.c_size_t(count))
        ends = [*starts, length][1:]
        return np.array([content.raw[start:end] for start, end in zip(starts, ends)], dtype=object)
