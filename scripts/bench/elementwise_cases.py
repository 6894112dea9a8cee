"""The models of scripts/bench/elementwise: chains and fused groups, and single operators.

A case is a name and a function that builds its model. Sizes are drawn around named ones, so that no
kernel is good at exactly the numbers that are written here: each dim of at least 8 varies by an
eighth, and half of the time it is a multiple of 8. The same seed draws the same sizes, whichever
cases are chosen.
"""
import functools
import os
import sys
import zlib

import numpy as np
from onnx import helper, mapping

import harness

sys.path.append(os.path.join(harness.ROOT, "scripts/models"))
from builder import Net  # pylint: disable=wrong-import-position

COUNTS = {"100k": 98304, "1m": 1 << 20, "4m": 1 << 22}
INT_MAX = np.iinfo(np.int64).max


class Case(Net):
    """A model under construction: float32 unless said otherwise."""

    def __init__(self, name, seed):
        super().__init__(name, 17, seed, False)
        self.sizes = np.random.default_rng([seed, zlib.crc32(name.encode())])

    def around(self, size):
        if size < 8:
            return size
        drawn = int(self.sizes.integers(size - size // 8, size + size // 8 + 1))
        return (drawn + 4) // 8 * 8 if self.sizes.integers(2) else drawn

    def shape(self, *named, count=0):
        """Dims around the named ones; a named 0 becomes what brings the elements to `count`."""
        dims = [self.around(size) for size in named]
        other = int(np.prod([size for size in dims if size > 0]))
        return [size or max(1, round(count / other)) for size in dims]

    def value(self, dims, dtype=np.float32, make=None):
        """An input of normal floats, or of what `make` draws: a function of a random generator and
        the dims."""
        make = make or (lambda random, dims: random.standard_normal(dims, dtype=np.float32))
        return self.input(f"x{len(self.inputs)}", dims, type_of(dtype),
                          lambda random: np.asarray(make(random, dims)).astype(dtype))

    def result(self, *values, dtype=np.float32):
        for index, value in enumerate(values):
            name = f"y{index}"
            super().output(value, name, None)
            self.outputs[-1] = helper.make_tensor_value_info(name, type_of(dtype), None)

    def longs(self, *numbers):
        return self.constant(list(numbers), np.int64)

    def bytes(self):
        """Unchecked: the library of Debian 12 knows opsets to 17 alone."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs,
                                  self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  producer_name="sluice", ir_version=8)
        return model.SerializeToString(deterministic=True)


def type_of(dtype):
    return mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype(dtype)]


def build(name, make, seed):
    case = Case(name, seed)
    make(case)
    return case


# ---- chains --------------------------------------------------------------------------------------

CHEAP = ["Add", "Sub", "Mul", "Relu", "Neg", "Abs", "Min", "Max", "Clip", "LeakyRelu"]
MIXED = ["Add", "Mul", "Tanh", "Sigmoid", "Exp", "Sqrt", "Div", "Erf", "Sub", "Neg"]
LAYERS = 6


def apply(net, op, x, operand):
    """One operator of a chain, some with a guard: results stay within a few units, whatever came
    before. Add reads the chain's input once more, so that the result depends on it."""
    if op == "Add":
        return net.node("Add", [x, net.inputs[0].name])
    if op == "Max":
        return net.node("Max", [x, net.node("Neg", [operand])])
    if op in ("Sub", "Mul", "Min"):
        return net.node(op, [x, operand])
    if op == "Div":
        return net.node("Div", [x, net.node("Add", [net.node("Abs", [x]), net.constant(1.0)])])
    if op == "Sqrt":
        return net.node("Sqrt", [net.node("Abs", [x])])
    if op == "Exp":
        return net.node("Exp", [net.node("Clip", [x, net.constant(-2.0), net.constant(1.0)])])
    if op == "Clip":
        return net.node("Clip", [x, net.constant(-3.0), net.constant(3.0)])
    return net.node(op, [x], **({"alpha": 0.1} if op == "LeakyRelu" else {}))


def chain(net, ops, dims, count, operand):
    """Six layers of the ten operators, in another order each, which the seed draws. `operand` makes
    what operators of two inputs read beside the chain."""
    dims = net.shape(*dims, count=count)
    x, other = net.value(dims), functools.partial(operand, net, dims)
    for _ in range(LAYERS):
        for op in net.sizes.permutation(ops):
            x = apply(net, str(op), x, other() if op in ("Sub", "Mul", "Min", "Max") else "")
    net.result(x)


def scalar(net, _):
    return net.constant(float(net.sizes.uniform(0.5, 1.0)))


def broadcast(net, dims):
    """A row, a column or a scalar of weights, in turn as drawn."""
    shapes = [[1] * (len(dims) - 1) + dims[-1:], dims[:-1] + [1], [1]]
    return net.positive(f"w{len(net.initializers)}", shapes[net.sizes.integers(3)], 0.5, 1.0)


def channel(net, dims):
    return net.positive(f"w{len(net.initializers)}", [dims[1]] + [1] * (len(dims) - 2), 0.5, 1.0)


def full(net, dims):
    """One other input of the same dims, which all operators share."""
    return net.inputs[1].name if len(net.inputs) > 1 else net.value(
        dims, make=lambda random, dims: random.uniform(0.5, 1.0, dims))


CHAINS = [("cheap", CHEAP, (0, 1024), scalar), ("mixed", MIXED, (0, 1024), scalar),
          ("cheap-broadcast", CHEAP, (0, 1024), broadcast),
          ("mixed-broadcast", MIXED, (0, 1024), broadcast),
          ("mixed-channels", MIXED, (1, 0, 112, 112), channel),
          ("mixed-two-inputs", MIXED, (0, 1024), full)]

# ---- fused groups: each takes the dims of its first input ----------------------------------------


def gelu_erf(net, dims):
    x = net.value(dims)
    erf = net.node("Erf", [net.node("Div", [x, net.constant(np.sqrt(2.0))])])
    product = net.node("Mul", [x, net.node("Add", [erf, net.constant(1.0)])])
    net.result(net.node("Mul", [product, net.constant(0.5)]))


def gelu_tanh(net, dims):
    x = net.value(dims)
    cube = net.node("Mul", [net.node("Pow", [x, net.constant(3.0)]), net.constant(0.044715)])
    inner = net.node("Mul", [net.node("Add", [x, cube]), net.constant(np.sqrt(2.0 / np.pi))])
    one_more = net.node("Add", [net.node("Tanh", [inner]), net.constant(1.0)])
    net.result(net.node("Mul", [net.node("Mul", [x, net.constant(0.5)]), one_more]))


def silu(net, dims):
    x = net.value(dims)
    net.result(net.node("Mul", [x, net.node("Sigmoid", [x])]))


def hardswish_clip(net, dims):
    x = net.value(dims)
    clipped = net.node("Clip", [net.node("Add", [x, net.constant(3.0)]), net.constant(0.0),
                                net.constant(6.0)])
    net.result(net.node("Div", [net.node("Mul", [x, clipped]), net.constant(6.0)]))


def hardswish_sigmoid(net, dims):
    x = net.value(dims)
    net.result(net.node("Mul", [x, net.node("HardSigmoid", [x], alpha=1 / 6, beta=0.5)]))


def hardswish_op(net, dims):
    net.result(net.node("HardSwish", [net.value(dims)]))


def mean_of(net, x, axis=-1):
    return net.node("ReduceMean", [x], axes=[axis])


def square(net, x):
    return net.node("Pow", [x, net.constant(2.0)])


def scale_and_shift(net, size):
    return net.positive("weight", (size,), 0.8, 1.2), net.weight("bias", (size,), 0.1)


def layer_norm(net, x, size):
    centred = net.node("Sub", [x, mean_of(net, x)])
    variance = net.node("Add", [mean_of(net, square(net, centred)), net.constant(1e-5)])
    x = net.node("Div", [centred, net.node("Sqrt", [variance])])
    weight, bias = scale_and_shift(net, size)
    return net.node("Add", [net.node("Mul", [x, weight]), bias])


def rms_norm(net, x, size):
    root = net.node("Sqrt", [net.node("Add", [mean_of(net, square(net, x)), net.constant(1e-5)])])
    x = net.node("Mul", [x, net.node("Div", [net.constant(1.0), root])])
    return net.node("Mul", [scale_and_shift(net, size)[0], x])


def layernorm_exported(net, dims):
    net.result(layer_norm(net, net.value(dims), dims[-1]))


def layernorm_op(net, dims):
    net.result(net.node("LayerNormalization", [net.value(dims), *scale_and_shift(net, dims[-1])],
                        axis=-1, epsilon=1e-5))


def rmsnorm(net, dims):
    net.result(rms_norm(net, net.value(dims), dims[-1]))


def residual_layernorm(net, dims):
    net.result(layer_norm(net, net.node("Add", [net.value(dims), net.value(dims)]), dims[-1]))


def residual_rmsnorm(net, dims):
    """The sum is an output too, as the next residual needs it."""
    total = net.node("Add", [net.value(dims), net.value(dims)])
    net.result(rms_norm(net, total, dims[-1]), total)


def softmax(axis):
    return lambda net, dims: net.result(net.node("Softmax", [net.value(dims)], axis=axis))


def masked_softmax(net, dims):
    scores = net.node("Div", [net.value(dims), net.constant(8.0)])
    scores = net.node("Add", [scores, net.value([1, 1, dims[-1]])])
    net.result(net.node("Softmax", [scores], axis=-1))


def transpose_add(perm):
    return lambda net, dims: net.result(
        net.node("Add", [net.node("Transpose", [net.value(dims)], perm=perm),
                         net.value([dims[axis] for axis in perm])]))


def concat_relu(net, dims):
    halves = [dims[:1] + [size] + dims[2:] for size in (dims[1] // 2, dims[1] - dims[1] // 2)]
    net.result(net.node("Relu", [net.node("Concat", [net.value(half) for half in halves],
                                          axis=1)]))


def bias_relu(net, dims):
    net.result(net.node("Relu", [net.node("Add", [net.value(dims), channel(net, dims)])]))


def excite(net, dims):
    x = net.value(dims)
    net.result(net.node("Mul", [x, net.node("Sigmoid", [net.value([dims[0], dims[1], 1, 1])])]))


def swiglu(net, dims):
    gate = net.value(dims)
    gate = net.node("Mul", [gate, net.node("Sigmoid", [gate])])
    net.result(net.node("Mul", [gate, net.value(dims)]))


def rotary(net, dims):
    dims[-1] += dims[-1] % 2
    x, half = net.value(dims), dims[-1] // 2
    cut = lambda start, end: net.node("Slice", [x, net.longs(start), net.longs(end), net.longs(3),
                                                net.longs(1)])
    turned = net.node("Concat", [net.node("Neg", [cut(half, INT_MAX)]), cut(0, half)], axis=-1)
    angles = [1, 1] + dims[2:]
    net.result(net.node("Add", [net.node("Mul", [x, net.value(angles)]),
                                net.node("Mul", [turned, net.value(angles)])]))


def l2_normalize(net, dims):
    x = net.value(dims)
    norm = net.node("ReduceL2", [x], axes=[-1])
    net.result(net.node("Div", [x, net.node("Max", [norm, net.constant(1e-12)])]))


def squared_error(net, dims):
    net.result(mean_of(net, square(net, net.node("Sub", [net.value(dims), net.value(dims)]))))


IMAGE = (1, 0, 56, 56)
GROUPS = [
    ("gelu-erf", gelu_erf, (0, 3072)),
    ("gelu-tanh", gelu_tanh, (0, 3072)),
    ("silu", silu, IMAGE),
    ("hardswish-clip", hardswish_clip, IMAGE),
    ("hardswish-sigmoid", hardswish_sigmoid, IMAGE),
    ("hardswish-op", hardswish_op, IMAGE),
    ("layernorm-exported", layernorm_exported, (0, 768)),
    ("layernorm-op", layernorm_op, (0, 768)),
    ("rmsnorm", rmsnorm, (0, 1024)),
    ("residual-layernorm", residual_layernorm, (0, 768)),
    ("residual-rmsnorm", residual_rmsnorm, (0, 1024)),
    ("softmax-first", softmax(0), (64, 0, 64)),
    ("softmax-middle", softmax(1), (0, 64, 64)),
    ("softmax-last", softmax(2), (12, 0, 128)),
    ("softmax-masked", masked_softmax, (12, 0, 128)),
    ("transpose-add-10", transpose_add([1, 0]), (0, 512)),
    ("transpose-add-0213", transpose_add([0, 2, 1, 3]), (1, 0, 12, 64)),
    ("concat-relu", concat_relu, IMAGE),
    ("bias-relu", bias_relu, IMAGE),
    ("excite", excite, IMAGE),
    ("swiglu", swiglu, (0, 2816)),
    ("rotary", rotary, (1, 16, 0, 64)),
    ("l2-normalize", l2_normalize, (0, 256)),
    ("squared-error", squared_error, (0, 768)),
]


def chains():
    """name -> function that builds the case."""
    cases = {}
    for label in ("1m", "4m"):
        for name, ops, dims, operand in CHAINS:
            cases[f"chain-{name}-{label}"] = functools.partial(
                chain, ops=ops, dims=dims, count=COUNTS[label], operand=operand)
    for name, group, dims in GROUPS:
        for label, count in COUNTS.items():
            cases[f"{name}-{label}"] = functools.partial(draw_group, group=group, dims=dims,
                                                         count=count)
    return cases


def draw_group(net, group, dims, count):
    group(net, net.shape(*dims, count=count))


# ---- single operators ----------------------------------------------------------------------------


def operator(op, *named, **attributes):
    """One operator of one input."""
    return lambda net: net.result(net.node(op, [net.value(net.shape(*named))], **attributes))


def positive(op, *named):
    make = lambda random, dims: random.uniform(0.1, 4.0, dims)
    return lambda net: net.result(net.node(op, [net.value(net.shape(*named), make=make)]))


def reduce_sum(axes, *named):
    return lambda net: net.result(net.node("ReduceSum", [net.value(net.shape(*named)),
                                                         net.longs(*axes)]))


def arg_max(axis, *named):
    return lambda net: net.result(net.node("ArgMax", [net.value(net.shape(*named))], axis=axis),
                                  dtype=np.int64)


def added(*named):
    """x + y, where x has the drawn dims and y those that `named` marks: 1 is kept as 1. Each entry
    is a pair: the size of x, and whether y has it; a third entry False says that x has size 1."""

    def make(net):
        dims = net.shape(*(entry[0] for entry in named))
        x = [1 if len(entry) > 2 else size for size, entry in zip(dims, named)]
        y = [size if entry[1] else 1 for size, entry in zip(dims, named)]
        net.result(net.node("Add", [net.value(x), net.value(y)]))

    return make


def resize(factor, *named, **attributes):
    return lambda net: net.result(net.node("Resize", [
        net.value(net.shape(*named)), "", net.constant([1, 1, factor, factor])], **attributes))


def pad(mode):
    return lambda net: net.result(net.node("Pad", [net.value(net.shape(1, 32, 112, 112)),
                                                   net.longs(0, 0, 1, 2, 0, 0, 3, 1)], mode=mode))


def gather(axis, count, *named):

    def make(net):
        dims = net.shape(*named)
        indices = net.value([net.around(count)], np.int64,
                            lambda random, shape: random.integers(0, dims[axis], shape))
        net.result(net.node("Gather", [net.value(dims), indices], axis=axis))

    return make


def numbers(random, dims):
    return random.integers(0, 100, dims)


def cast(source, target, *named):
    make = None if np.issubdtype(source, np.floating) else numbers
    return lambda net: net.result(net.node("Cast", [net.value(net.shape(*named), source, make)],
                                           to=type_of(target)), dtype=target)


def quantization(net, dtype, per_axis, dims):
    """Scale and zero point: one of each, or one for each entry of axis 1."""
    count = (dims[1],) if per_axis else ()
    scale = net.positive("scale", count, 0.02, 0.03) if np.iinfo(dtype).bits == 8 else net.positive(
        "scale", count, 8e-5, 1e-4)
    middle = 0 if np.iinfo(dtype).min < 0 else np.iinfo(dtype).max // 2
    return [scale, net.initializer("zero_point", np.full(count, middle, dtype=dtype))]


def quantize(dtype, per_axis=False):

    def make(net):
        net.opset = 21 if dtype == np.uint16 else 17  # the first one with 16 bits
        dims = net.shape(1, 64, 112, 112)
        x = net.value(dims)
        net.result(net.node("QuantizeLinear", [x, *quantization(net, dtype, per_axis, dims)],
                            axis=1), dtype=dtype)

    return make


def dequantize(dtype, per_axis=False):

    def make(net):
        net.opset = 21 if dtype == np.uint16 else 17
        dims = net.shape(1, 64, 112, 112)
        x = net.value(dims, dtype, lambda random, dims: random.integers(
            np.iinfo(dtype).min, np.iinfo(dtype).max, dims))
        net.result(net.node("DequantizeLinear", [x, *quantization(net, dtype, per_axis, dims)],
                            axis=1))

    return make


def cut(start, end, axis, step, *named):
    """`start` and `end` are shares of the axis, or None for its last entry and before its first."""

    def make(net):
        dims = net.shape(*named)
        place = lambda share, default: default if share is None else int(share * dims[axis])
        words = [net.longs(place(start, INT_MAX)), net.longs(place(end, -INT_MAX)),
                 net.longs(axis), net.longs(step)]
        net.result(net.node("Slice", [net.value(dims), *words]))

    return make


def concat(axis, *named):

    def make(net):
        dims = net.shape(*named)
        shapes = [dims[:axis] + [net.around(dims[axis])] + dims[axis + 1:] for _ in range(3)]
        net.result(net.node("Concat", [net.value(shape) for shape in shapes], axis=axis))

    return make


def split(axis, *named):

    def make(net):
        dims = net.shape(*named)
        sizes = [dims[axis] // 3, dims[axis] // 3, dims[axis] - 2 * (dims[axis] // 3)]
        results = [f"part{index}" for index in range(3)]
        net.nodes.append(helper.make_node("Split", [net.value(dims), net.longs(*sizes)], results,
                                          name="split", axis=axis))
        net.result(*results)

    return make


def tile(*repeats):
    return lambda net: net.result(net.node("Tile", [net.value(net.shape(256, 256)),
                                                    net.longs(*repeats)]))


def expand(first, *named):
    """Copies along axis 0, or along the last one."""

    def make(net):
        dims = net.shape(*named)
        given = [1] + dims[1:] if first else dims[:-1] + [1]
        net.result(net.node("Expand", [net.value(given), net.longs(*dims)]))

    return make


def where(of_rows, *named):

    def make(net):
        dims = net.shape(*named)
        choice = net.value(dims[:1] + [1] if of_rows else dims, np.bool_,
                           lambda random, shape: random.integers(0, 2, shape))
        net.result(net.node("Where", [choice, net.value(dims), net.value(dims)]))

    return make


def pool(op, kernel, stride, pads, **attributes):
    return operator(op, 1, 64, 112, 112, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                    pads=[pads] * 4, **attributes)


def reductions():
    box, cases = (64, 128, 256), {}
    for axis in range(3):
        cases[f"reduce-sum-axis{axis}"] = reduce_sum([axis], *box)
        for op in ("Mean", "Max", "L2"):
            cases[f"reduce-{op.lower()}-axis{axis}"] = operator(f"Reduce{op}", *box, axes=[axis])
        cases[f"argmax-axis{axis}"] = arg_max(axis, *box)
    cases["reduce-sum-all"] = reduce_sum([0, 1, 2], *box)
    cases["reduce-mean-axes23"] = operator("ReduceMean", 1, 256, 56, 56, axes=[2, 3], keepdims=0)
    return cases


def broadcasts():
    yes, no = True, False
    return {
        "add-same": added((1024, yes), (1024, yes)),
        "add-scalar": added((1024, no), (1024, no)),
        "add-row": added((1024, no), (1024, yes)),
        "add-column": added((1024, yes), (1024, no)),
        "add-outer": added((1024, no), (1024, yes, no)),
        "add-channel": added((1, no), (64, yes), (112, no), (112, no)),
        "add-map": added((1, no), (64, no), (112, yes), (112, yes)),
        "add-middle": added((8, no), (128, yes, no), (12, no), (64, yes)),
    }


def windows():
    image = (1, 32, 80, 80)
    linear = functools.partial(resize, 2.0, *image, mode="linear")
    return {
        "maxpool-2x2-s2": pool("MaxPool", 2, 2, 0),
        "maxpool-3x3-s2": pool("MaxPool", 3, 2, 1),
        "maxpool-5x5-s1": pool("MaxPool", 5, 1, 2),
        "averagepool-2x2-s2": pool("AveragePool", 2, 2, 0),
        "averagepool-3x3-s1": pool("AveragePool", 3, 1, 1, count_include_pad=1),
        "globalaveragepool": operator("GlobalAveragePool", 1, 256, 56, 56),
        "globalaveragepool-7x7": operator("GlobalAveragePool", 1, 1280, 7, 7),
        "resize-nearest-2x": resize(2.0, *image, mode="nearest", nearest_mode="floor",
                                    coordinate_transformation_mode="asymmetric"),
        "resize-nearest-half": resize(0.5, 1, 32, 160, 160, mode="nearest", nearest_mode="floor",
                                      coordinate_transformation_mode="asymmetric"),
        "resize-linear-2x": linear(coordinate_transformation_mode="half_pixel"),
        "resize-linear-corners": linear(coordinate_transformation_mode="align_corners"),
        "pad-constant": pad("constant"), "pad-reflect": pad("reflect"), "pad-edge": pad("edge"),
    }


def movements():
    shapes = {"10": (1024, 1024), "021": (16, 256, 256), "102": (64, 128, 128),
              "210": (64, 128, 128), "0213": (8, 128, 12, 64), "0312": (1, 112, 112, 64),
              "0231": (1, 64, 112, 112)}
    cases = {f"transpose-{perm}": operator("Transpose", *named, perm=[int(axis) for axis in perm])
             for perm, named in shapes.items()}
    return cases | {
        "gather-rows": gather(0, 512, 8192, 768),
        "gather-columns": gather(1, 256, 1024, 1024),
        "slice-rows": cut(0.25, 0.75, 0, 1, 1024, 1024),
        "slice-columns": cut(0.25, 0.75, 1, 1, 1024, 1024),
        "slice-step2": cut(0.0, 1.0, 1, 2, 1024, 1024),
        "slice-reverse": cut(None, None, 1, -1, 1024, 1024),
        "concat-axis0": concat(0, 256, 1024),
        "concat-axis1": concat(1, 1024, 256),
        "concat-channels": concat(1, 1, 64, 56, 56),
        "split-axis0": split(0, 1024, 1024),
        "split-axis1": split(1, 1024, 1024),
        "tile-rows": tile(8, 1), "tile-columns": tile(1, 8),
        "expand-rows": expand(True, 1024, 1024), "expand-columns": expand(False, 1024, 1024),
        "where-same": where(False, 1024, 1024), "where-rows": where(True, 1024, 1024),
    }


def conversions():
    named = (1024, 1024)
    cases = {
        "cast-f32-f16": cast(np.float32, np.float16, *named),
        "cast-f16-f32": cast(np.float16, np.float32, *named),
        "cast-i32-f32": cast(np.int32, np.float32, *named),
        "cast-u8-f32": cast(np.uint8, np.float32, *named),
    }
    for dtype in (np.int8, np.uint8, np.uint16):
        cases[f"quantize-{np.dtype(dtype)}"] = quantize(dtype)
        cases[f"dequantize-{np.dtype(dtype)}"] = dequantize(dtype)
    return cases | {"quantize-int8-channels": quantize(np.int8, True),
                    "dequantize-int8-channels": dequantize(np.int8, True)}


def functions():
    named = (1024, 1024)
    return {"relu": operator("Relu", *named), "exp": operator("Exp", *named),
            "tanh": operator("Tanh", *named), "sigmoid": operator("Sigmoid", *named),
            "erf": operator("Erf", *named), "sin": operator("Sin", *named),
            "log": positive("Log", *named), "sqrt": positive("Sqrt", *named)}


def small_ones():
    """A few hundred elements: the cost of a run, not of its arithmetic."""
    yes, no = True, False
    cases = {
        "add": added((16, yes), (24, yes)), "add-row": added((16, no), (24, yes)),
        "relu": operator("Relu", 16, 24), "tanh": operator("Tanh", 16, 24),
        "softmax": operator("Softmax", 16, 24, axis=-1),
        "softmax-first": operator("Softmax", 16, 24, axis=0),
        "reduce-mean-last": operator("ReduceMean", 16, 24, axes=[1]),
        "reduce-max-first": operator("ReduceMax", 16, 24, axes=[0]),
        "argmax": arg_max(1, 16, 24), "transpose": operator("Transpose", 16, 24, perm=[1, 0]),
        "concat": concat(1, 8, 12), "split": split(1, 16, 24),
        "slice": cut(0.25, 0.75, 1, 1, 16, 24), "gather": gather(0, 12, 32, 24),
        "where": where(no, 16, 24), "expand": expand(yes, 16, 24),
        "cast-i32-f32": cast(np.int32, np.float32, 16, 24),
        "globalaveragepool": operator("GlobalAveragePool", 1, 8, 7, 7),
        "layernorm-op": lambda net: layernorm_op(net, net.shape(16, 24)),
        "gelu-erf": lambda net: gelu_erf(net, net.shape(16, 24)),
    }
    return {f"small-{name}": make for name, make in cases.items()}


def single_operators():
    """name -> function that builds the case."""
    return (reductions() | broadcasts() | windows() | movements() | conversions() | functions() |
            small_ones())
