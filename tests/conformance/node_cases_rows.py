"""Draws nodes that read many elements for one: reductions, rows, windows, quantization and
resizing."""
import numpy as np

from node_cases import DTYPES, EPSILON, FLOATS, NUMBERS, Case, Constant, draws

REDUCE = {"ReduceSum": 16, "ReduceMean": 16, "ReduceProd": 32, "ReduceL1": 16, "ReduceL2": 16,
          "ReduceSumSquare": 16, "ReduceLogSum": 32, "ReduceLogSumExp": 32}


def count_of(shape, axes):
    return float(np.prod([shape[axis] for axis in axes] or [1]))


def some_axes(g, rank):
    return sorted(int(axis) for axis in g.random.permutation(rank)[:g.between(1, max(1, rank))])


def reduced(g, op, dtype, x, ulps, scale):
    axes = some_axes(g, x.ndim) if x.ndim else []
    signed = [axis - x.ndim if g.chance(0.4) else axis for axis in axes]
    inputs = [x, Constant(signed)] if axes and g.chance(0.85) else [x]
    return Case(op, inputs, dtype, ulps, scale=scale, keepdims=g.between(0, 1))


@draws(*REDUCE)
def reduce(g, op):
    dtype = g.pick(FLOATS + (["i32", "i64"] if op in ("ReduceSum", "ReduceMean", "ReduceProd",
                                                      "ReduceL1", "ReduceSumSquare") else []))
    if op in ("ReduceLogSum", "ReduceProd") and dtype in EPSILON:
        x = g.array(g.shape(0, 4, empty=False), dtype, 0.5, 1.1)
    else:
        x = g.array(g.shape(0, 4, empty=False), dtype, special=g.special())
    finite = x[np.isfinite(x)] if dtype in EPSILON else x
    largest = float(np.max(np.abs(finite.astype(np.float64)), initial=1))
    scale = largest ** (2 if op in ("ReduceSumSquare", "ReduceL2") else 1) * (
        np.sqrt(x.size) if op not in ("ReduceMean", "ReduceProd") else 1)
    return reduced(g, op, dtype, x, REDUCE[op], float(scale))


@draws("ReduceMax", "ReduceMin")
def extreme(g, op):
    dtype = g.pick(NUMBERS + ["bool"])
    return reduced(g, op, dtype, g.array(g.shape(0, 4, empty=False), dtype), 0, 0)


@draws("ArgMax", "ArgMin")
def position(g, op):
    dtype = g.pick(NUMBERS)
    x = g.array(g.shape(1, 4, empty=False), dtype)
    return Case(op, [x], dtype, axis=g.axis(x.ndim), keepdims=g.between(0, 1),
                select_last_index=g.between(0, 1))


@draws("CumSum", "CumProd")
def cumulative(g, op):
    dtype = g.pick(["f32", "f32", "f64", "i32", "i64", "f16"])
    ends = (0.5, 1.1) if op == "CumProd" and dtype in EPSILON else (None, None)
    x = g.array(g.shape(1, 4, 1000), dtype, *ends)
    axis = Constant(np.array(g.axis(x.ndim), np.int64))
    return Case(op, [x, axis], dtype, 16, opset=26 if op == "CumProd" else 23,
                scale=float(4 * np.sqrt(max(x.size, 1))), exclusive=g.between(0, 1),
                reverse=g.between(0, 1))


@draws("Softmax", "LogSoftmax", "Hardmax")
def softmax(g, op):
    dtype = g.pick(FLOATS)
    x = g.array(g.shape(1, 4), dtype)
    return Case(op, [x], dtype, 0 if op == "Hardmax" else 32, axis=g.axis(x.ndim),
                scale=8.0 if op == "LogSoftmax" else 0.0)


# ---- normalisations

def channels(g, c, dtype, low=0.5, high=1.5):
    return g.given(g.array([c], dtype, low, high))


@draws("LayerNormalization", "RMSNormalization")
def layer_normalization(g, op):
    dtype = g.pick(FLOATS)
    x = g.array(g.shape(1, 4, empty=False), dtype)
    axis = g.between(0, x.ndim - 1)
    scale = g.array(x.shape[axis:], dtype, 0.5, 1.5)
    more = [g.array(x.shape[axis:], dtype)] if op[0] == "L" and g.chance(0.7) else []
    return Case(op, [x, scale, *more], dtype, 128, axis=axis - x.ndim if g.chance(0.5) else axis,
                epsilon=g.pick([1e-5, 1e-2]), scale=8)


@draws("InstanceNormalization", "GroupNormalization")
def instance_normalization(g, op):
    dtype = g.pick(FLOATS)
    groups = g.between(1, 4)
    c = groups * g.between(1, 6)
    x = g.array([g.between(1, 3), c, *g.shape(1, 2, 600, False)], dtype)
    more = {"num_groups": groups} if op[0] == "G" else {}
    # ONNX Runtime computes groups in f32.
    return Case(op, [x, channels(g, c, dtype), channels(g, c, dtype, -1, 1)], dtype, 128,
                epsilon=g.pick([1e-5, 1e-2]), scale=8, against_ort=not more or dtype != "f64",
                **more)


@draws("BatchNormalization")
def batch_normalization(g, op):
    dtype = g.pick(FLOATS)
    c = g.between(1, 17)
    x = g.array([g.between(1, 3), c, *g.shape(0, 2, 600)], dtype)
    return Case(op, [x, *[channels(g, c, dtype, 0.5, 2) for _ in range(4)]], dtype, 16, scale=8,
                epsilon=g.pick([1e-5, 1e-2]))


@draws("LpNormalization")
def lp_normalization(g, op):
    dtype = g.pick(FLOATS)
    x = g.array(g.shape(1, 4, empty=False), dtype, 0.2, 4)
    return Case(op, [x], dtype, 64, axis=g.axis(x.ndim), p=g.between(1, 2))


@draws("MeanVarianceNormalization")
def mean_variance(g, op):
    dtype = g.pick(FLOATS)
    x = g.array(g.shape(4, 4, empty=False), dtype)
    axes = some_axes(g, 4)
    # ONNX Runtime divides by the deviation alone, 0 of one element.
    return Case(op, [x], dtype, 256, axes=axes, scale=8,
                against_ort=any(x.shape[axis] > 1 for axis in axes))


@draws("LRN")
def local_response(g, op):
    dtype = g.pick(FLOATS)
    x = g.array([g.between(1, 2), g.between(1, 17), *g.shape(1, 2, 300)], dtype)
    return Case(op, [x], dtype, 32, size=g.pick([1, 3, 5]), alpha=g.pick([1e-4, 0.1]),
                beta=g.pick([0.75, 0.5]), bias=g.pick([1.0, 2.0]))


# ---- windows

def window(g, spatial, sizes):
    kernel = [g.between(1, min(4, size)) for size in sizes]
    attributes = {"kernel_shape": kernel, "strides": [g.between(1, 3) for _ in sizes]}
    if g.chance(0.3):
        attributes["auto_pad"] = g.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif g.chance(0.6):
        attributes["pads"] = [g.between(0, k - 1) for k in kernel * 2]
    attributes["ceil_mode"] = g.between(0, 1)
    return attributes


def has_equal_pads(attributes):
    """Whether ONNX Runtime pads as we do: with SAME and strides that skip elements, it crops."""
    skips = any(stride > size for stride, size in zip(attributes["strides"],
                                                      attributes["kernel_shape"]))
    return not (skips and "SAME" in attributes.get("auto_pad", ""))


def image(g, dtype):
    spatial = g.pick([1, 2, 2, 3])
    sizes = [g.between(4, {1: 129, 2: 33, 3: 9}[spatial]) for _ in range(spatial)]
    return g.array([g.between(1, 2), g.between(1, 9), *sizes], dtype), sizes


@draws("MaxPool")
def max_pool(g, op):
    dtype = g.pick(["f32", "f32", "f16", "f64", "i8", "u8"])
    x, sizes = image(g, dtype)
    attributes = window(g, len(sizes), sizes)
    if g.chance(0.3) and "auto_pad" not in attributes:
        attributes["dilations"] = [2 if 2 * k - 1 <= size else 1 for k, size in
                                   zip(attributes["kernel_shape"], sizes)]
    outputs = g.pick([1, 1, 2])
    return Case(op, [x], dtype, outputs=outputs,
                storage_order=g.between(0, 1) if outputs == 2 else 0, **attributes)


@draws("AveragePool", "LpPool")
def average_pool(g, op):
    dtype = g.pick(["f32", "f32", "f16", "f64"])
    x, sizes = image(g, dtype)
    attributes = window(g, len(sizes), sizes)
    more = {"count_include_pad": g.between(0, 1)} if op[0] == "A" else {"p": g.between(1, 3)}
    return Case(op, [x], dtype, 16, scale=8, against_ort=has_equal_pads(attributes), **attributes,
                **more)


@draws("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g, op):
    dtype = g.pick(["f32", "f32", "f16", "f64"])
    more = {"p": g.between(1, 3)} if "Lp" in op else {}
    return Case(op, [image(g, dtype)[0]], dtype, 0 if "Max" in op else 32, scale=64 if more else 4,
                **more)


@draws("MaxUnpool")
def max_unpool(g, op):
    dtype = g.pick(["f32", "f64", "f16"])
    n, c, h, w = g.between(1, 2), g.between(1, 4), g.between(1, 8), g.between(1, 17)
    # one place for each window of 2 x 2
    places = (np.arange(h)[:, None] * 4 * w + np.arange(w)[None] * 2 +
              g.array([n, c, h, w], "i64", 0, 1) + 2 * w * g.array([n, c, h, w], "i64", 0, 1))
    places = places + (np.arange(n * c) * 4 * h * w).reshape(n, c, 1, 1)
    return Case(op, [g.array([n, c, h, w], dtype), places.astype(np.int64)], dtype,
                kernel_shape=[2, 2], strides=[2, 2])


# ---- losses

def labels(g, c, shape):
    return g.array(shape, g.pick(["i64", "i32"]), 0, c - 1)


@draws("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(g, op):
    dtype = g.pick(["f32", "f32", "f64", "f16"])
    n, c, spatial = g.between(1, 9), g.between(1, 33), g.shape(0, 2, 30, False)
    x = g.array([n, c, *spatial], dtype, -4, 0)
    weights = [g.array([c], dtype, 0.5, 2)] if g.chance(0.5) else []
    more = {"ignore_index": g.between(0, c - 1)} if g.chance(0.3) and c > 1 else {}
    return Case(op, [x, labels(g, c, [n, *spatial]), *weights], dtype, 64, scale=64,
                outputs=g.pick([1, 2]) if op[0] == "S" else 1,
                reduction=g.pick(["none", "sum", "mean"]), **more)


# ---- quantization

def scales(g, dtype, shape):
    return g.given(g.array(shape, dtype, 0.05, 0.5))


@draws("QuantizeLinear", "DequantizeLinear")
def quantize(g, op):
    real, quantized = g.pick(["f32", "f32", "f16"]), g.pick(["u8", "i8", "u16", "i16"])
    shape = g.shape(1, 4)
    axis = g.between(0, len(shape) - 1)
    per_axis = g.chance(0.5)
    own = [shape[axis]] if per_axis else []
    ends = np.iinfo(DTYPES[quantized])
    zero = g.given(g.array(own, quantized, max(-20, ends.min), 20)) if g.chance(0.7) else None
    if op[0] == "Q":
        x = g.array(shape, real, -30, 30, special=False)
        zero = zero if zero is not None else Constant(np.zeros(own), DTYPES[quantized])
        return Case(op, [x, scales(g, real, own), zero], quantized, axis=axis)
    x = g.array(shape, quantized, ends.min, ends.max)
    return Case(op, [x, scales(g, real, own), *([zero] if zero is not None else [])], real, 1,
                axis=axis)


@draws("DynamicQuantizeLinear")
def dynamic_quantize(g, op):
    return Case(op, [g.array(g.shape(1, 4, empty=False), "f32")], "f32", 1, outputs=3)


# ---- sizes

@draws("Resize")
def resize(g, op):
    dtype = g.pick(["f32", "f32", "f64", "f16", "u8"])
    spatial = g.pick([1, 2, 2])
    x = g.array([g.between(1, 2), g.between(1, 4), *[g.between(2, 20) for _ in range(spatial)]],
                dtype)
    mode = "nearest" if dtype == "u8" else g.pick(["nearest", "linear", "cubic"])
    how = g.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                  "half_pixel_symmetric"])
    attributes = {"mode": mode, "coordinate_transformation_mode": how}
    if mode == "nearest":
        attributes["nearest_mode"] = g.pick(["floor", "ceil", "round_prefer_floor",
                                             "round_prefer_ceil"])
    if mode == "cubic":
        attributes.update(cubic_coeff_a=g.pick([-0.75, -0.5]), exclude_outside=g.between(0, 1))
    if g.chance(0.3) and mode != "nearest":
        attributes["antialias"] = 1
    if g.chance(0.5):
        factors = [1.0, 1.0, *[g.pick([0.5, 1.0, 1.5, 2.0, 3.0]) for _ in range(spatial)]]
        inputs = [x, None, Constant(factors, np.float32)]
    else:
        inputs = [x, None, None, Constant([*x.shape[:2], *[g.between(1, 40)
                                                           for _ in range(spatial)]])]
    return Case(op, inputs, dtype, 64, against_ort=mode == "linear" and "antialias" not in
                attributes, **attributes, fixed=(0,) if len(inputs) == 4 else ())
