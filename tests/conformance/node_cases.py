"""Random nodes of single operators, with inputs: what node_sweep tries. Each follows from a seed.

DRAWERS has, by operator, the function that draws its attributes, sizes and inputs.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

DTYPES = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i8": np.int8, "i16": np.int16,
          "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
          "u64": np.uint64, "bool": np.bool_}
FLOATS = ["f32", "f32", "f32", "f16", "f64", "bf16"]
SIGNED = ["i8", "i16", "i32", "i64"]
INTEGERS = SIGNED + ["u8", "u16", "u32", "u64"]
NUMBERS = FLOATS + INTEGERS
ANY = NUMBERS + ["bool"]
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129]
EPSILON = {"f32": 2.0**-23, "f64": 2.0**-52, "f16": 2.0**-10, "bf16": 2.0**-7}
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0]
OPSET, IR = 23, 10
DRAWERS = {}


def draws(*ops):
    """Registers the function as what draws these operators: it is called with a Draw and the
    name, and returns a Case."""
    def register(function):
        DRAWERS.update({op: function for op in ops})
        return function
    return register


class Constant:
    """An input whose value the model holds."""

    def __init__(self, values, dtype=np.int64):
        self.array = np.asarray(values, dtype)


class Case:
    """A node. inputs: arrays, Constants and None for absent ones. kind: the dtype of the results
    that are
    floats, for the tolerance; "bf16" stands for floats that the model casts to it and back. ulps:
    how far such a result may be off, in units of the dtype's epsilon, relative to 1, the largest
    result or `scale`; 0: not at all. fixed: inputs, by number, whose dims are never left open."""

    def __init__(self, op, inputs, kind, ulps=0, outputs=1, opset=OPSET, scale=0.0, fixed=(),
                 against_ort=True, **attributes):
        self.op, self.kind, self.ulps = op, kind, ulps
        self.inputs = [np.asarray(value) if isinstance(value, np.generic) else value
                       for value in inputs]
        self.outputs, self.opset, self.scale, self.fixed = outputs, opset, scale, fixed
        self.against_ort, self.attributes = against_ort and kind != "bf16", attributes
        self.index, self.open_sizes = 0, set()

    @property
    def prefix(self):
        return f"c{self.index}"

    def feeds(self):
        return {f"{self.prefix}_x{k}": value for k, value in enumerate(self.inputs)
                if isinstance(value, np.ndarray)}

    def output_names(self):
        return [f"{self.prefix}_y{k}" for k in range(self.outputs)]

    def text(self):
        shapes = [("-" if value is None else
                   f"{'constant ' if isinstance(value, Constant) else ''}{arr.dtype}"
                   f"{list(arr.shape)}") for value in self.inputs
                  for arr in [getattr(value, "array", value)]]
        how = f", open: {sorted(self.open_sizes)}" if self.open_sizes else ""
        return f"{self.op}({', '.join(shapes)}) {self.kind} {self.attributes}{how}"

    def parts(self):
        """Nodes, inputs, outputs and initializers of the case."""
        nodes, constants, names, results = [], [], [], []
        for k, value in enumerate(self.inputs):
            name = f"{self.prefix}_x{k}" if value is not None else ""
            array = getattr(value, "array", value)
            if isinstance(value, Constant):
                constants.append(numpy_helper.from_array(array, name))
            if self.kind == "bf16" and array is not None and array.dtype == np.float32:
                nodes.append(helper.make_node("Cast", [name], [name + "b"], name + "_cast",
                                              to=TensorProto.BFLOAT16))
                name += "b"
            names.append(name)
        inner = [name + "b" if self.kind == "bf16" else name for name in self.output_names()]
        nodes.append(helper.make_node(self.op, names, inner, self.prefix, **self.attributes))
        for name, own in zip(self.output_names(), inner):
            if own != name:
                nodes.append(helper.make_node("Cast", [own], [name], name + "_cast",
                                              to=TensorProto.FLOAT))
            info = onnx_value(name)
            results.append(info)
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype)
                                                if hasattr(helper, "np_dtype_to_tensor_dtype")
                                                else onnx_number(array.dtype),
                                                self.dims_of(int(name.rsplit("_x")[1]), array))
                  for name, array in self.feeds().items()]
        return nodes, inputs, results, constants

    def dims_of(self, k, array):
        return [f"{self.prefix}_n{size}" if size in self.open_sizes and k not in self.fixed else
                size for size in array.shape]


def onnx_number(dtype):
    from onnx import mapping  # pylint: disable=import-outside-toplevel
    return mapping.NP_TYPE_TO_TENSOR_TYPE[dtype]


def onnx_value(name):
    """An output whose type is inferred."""
    info = helper.ValueInfoProto()
    info.name = name
    return info


def model_of(cases):
    """One model of all cases, which are of one opset."""
    nodes, inputs, outputs, constants = [], [], [], []
    for case in cases:
        for whole, own in zip((nodes, inputs, outputs, constants), case.parts()):
            whole += own
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", cases[0].opset)])
    model.ir_version = IR
    return model


class Draw:
    """Random numbers for one case."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def pick(self, choices):
        return choices[int(self.random.integers(len(choices)))]

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    def chance(self, probability):
        return bool(self.random.random() < probability)

    def shape(self, low=0, high=4, limit=3000, empty=True):
        """Sizes of at most `limit` elements; sometimes of ten times as many, which several threads
        share; rarely of none."""
        limit = limit * 10 if self.chance(0.15) else limit
        sizes = []
        for _ in range(self.between(low, high)):
            size = self.pick(SIZES)
            while np.prod(sizes + [size]) > limit:
                size = max(1, size // 3)
            sizes.append(size)
        if sizes and empty and self.chance(0.02):
            sizes[self.between(0, len(sizes) - 1)] = 0
        return sizes

    def broadcast(self, shape):
        """A shape that broadcasts to this one."""
        drop = self.between(0, len(shape)) if self.chance(0.4) else 0
        return [1 if self.chance(0.3) else size for size in shape[drop:]]

    def array(self, shape, dtype, low=None, high=None, special=False):
        """Floats of a range, [-4, 4] at first, with NaN, infinities and zeros of both signs among
        them where `special`; integers of a range, [-9, 9] or [0, 18]."""
        if dtype == "bool":
            return np.asarray(self.random.random(shape) < 0.5)
        if dtype in EPSILON:
            values = self.random.uniform(-4.0 if low is None else low, 4.0 if high is None else
                                         high, shape)
            if special:
                values = np.where(self.random.random(shape) < 0.1,
                                  self.random.choice(SPECIAL, shape), values)
            return self.rounded(values, dtype)
        low = (0 if dtype[0] == "u" else -9) if low is None else low
        high = (18 if dtype[0] == "u" else 9) if high is None else high
        return np.asarray(self.random.integers(low, high + 1, shape)).astype(DTYPES[dtype])

    @staticmethod
    def rounded(values, dtype):
        """Values of bf16 as f32."""
        if dtype != "bf16":
            return np.asarray(values).astype(DTYPES[dtype])
        values = np.asarray(values, np.float32)
        bits = (np.ascontiguousarray(values).view(np.uint32) + 0x8000) & np.uint32(0xffff0000)
        near = bits.astype(np.uint32).view(np.float32).reshape(values.shape)
        return np.where(np.isfinite(values), near, values)

    def axis(self, rank):
        return self.between(-rank, rank - 1)

    def given(self, array):
        """The array, or a constant of it."""
        return Constant(array, array.dtype) if self.chance(0.5) else array

    def special(self):
        return self.chance(0.3)


def draw_case(op, index, seed):
    draw = Draw([seed, index])
    case = DRAWERS[op](draw, op)
    case.index = index
    if draw.chance(0.5):
        sizes = sorted({size for k, value in enumerate(case.inputs)
                        if isinstance(value, np.ndarray) and k not in case.fixed
                        for size in value.shape if size > 1})
        case.open_sizes = {size for size in sizes if draw.chance(0.7)}
    return case
