"""Draws nodes that move elements: views, slices, gathers, scatters; and those that make them."""
import numpy as np
from onnx import numpy_helper

from node_cases import ANY, DTYPES, FLOATS, NUMBERS, Case, Constant, draws
from node_cases_elementwise import number_of

PLAIN = [dtype for dtype in ANY if dtype != "bf16"]


def moved(g, low=1, high=4, limit=3000, empty=True):
    """Something to be moved: dtype, array."""
    dtype = g.pick(ANY)
    return dtype, g.array(g.shape(low, high, limit, empty), dtype)


@draws("Transpose")
def transpose(g, op):
    dtype, x = moved(g, 0, 5)
    attributes = {"perm": [int(axis) for axis in g.random.permutation(x.ndim)]}
    return Case(op, [x], dtype, **(attributes if g.chance(0.8) and x.ndim else {}))


@draws("Reshape")
def reshape(g, op):
    dtype, x = moved(g, 1, 4, empty=False)
    kind = g.between(0, 2)
    sizes = [-1, x.shape[-1]] if kind == 0 else [0, -1] if kind == 1 and x.ndim > 1 else [-1]
    return Case(op, [x, Constant(sizes)], dtype)


@draws("Flatten")
def flatten(g, op):
    dtype, x = moved(g, 1, 4)
    return Case(op, [x], dtype, axis=g.between(0, x.ndim))


@draws("Squeeze", "Unsqueeze")
def squeeze(g, op):
    dtype, x = moved(g, 1, 3)
    axis = g.between(0, x.ndim)
    if op == "Squeeze":
        x = np.expand_dims(x, axis)
    return Case(op, [x, Constant([axis])], dtype)


@draws("Expand")
def expand(g, op):
    dtype = g.pick(ANY)
    shape = g.shape(1, 4)
    small = g.broadcast(shape)
    return Case(op, [g.array(small, dtype), Constant(shape)], dtype, fixed=(0,))


@draws("Slice")
def take_slice(g, op):
    dtype, x = moved(g, 1, 4)
    axes = [axis for axis in range(x.ndim) if g.chance(0.6)] or [0]
    starts, ends, steps = [], [], []
    for axis in axes:
        step = g.pick([1, 1, 1, 2, 3, -1, -2])
        low, high = sorted(g.between(-x.shape[axis] - 1, x.shape[axis] + 1) for _ in range(2))
        starts.append(low if step > 0 else high)
        ends.append(high if step > 0 else low)
        if g.chance(0.4):
            ends[-1] = (1 << 62) if step > 0 else -(1 << 62)
        steps.append(step)
    return Case(op, [x, *map(Constant, (starts, ends, axes, steps))], dtype)


@draws("Split")
def split(g, op):
    dtype, x = moved(g, 1, 4, empty=False)
    axis, count = g.between(0, x.ndim - 1), g.between(1, 4)
    x = np.concatenate([x] * count, axis) if x.shape[axis] < count else x
    cuts = sorted(g.between(0, x.shape[axis]) for _ in range(count - 1))
    sizes = np.diff([0, *cuts, x.shape[axis]])
    return Case(op, [x, Constant(sizes)], dtype, outputs=count, axis=axis)


@draws("Concat")
def concat(g, op):
    dtype = g.pick(ANY)
    shape = g.shape(1, 4, 1000)
    axis = g.between(0, len(shape) - 1)
    arrays = []
    for _ in range(g.between(1, 4)):
        own = list(shape)
        own[axis] = g.between(0, 9) if g.chance(0.5) else shape[axis]
        arrays.append(g.array(own, dtype))
    return Case(op, arrays, dtype, axis=axis if g.chance(0.5) else axis - len(shape))


@draws("Tile")
def tile(g, op):
    dtype, x = moved(g, 1, 4, 500)
    return Case(op, [x, Constant([g.between(1, 3) for _ in x.shape])], dtype)


@draws("Trilu")
def trilu(g, op):
    dtype, x = moved(g, 2, 4)
    more = [Constant(g.between(-4, 4), np.int64)] if g.chance(0.7) else []
    return Case(op, [x, *more], dtype, upper=g.between(0, 1))


@draws("ReverseSequence")
def reverse_sequence(g, op):
    dtype, x = moved(g, 2, 4, empty=False)
    time = g.between(0, 1)
    lengths = g.array([x.shape[1 - time]], "i64", 0 if x.shape[time] == 0 else 1, x.shape[time])
    return Case(op, [x, lengths], dtype, time_axis=time, batch_axis=1 - time)


@draws("Pad")
def pad(g, op):
    dtype = g.pick(ANY)
    x = g.array(g.shape(1, 4, empty=False), dtype)
    mode = g.pick(["constant", "constant", "edge", "reflect", "wrap"])
    ends = [g.between(-1 if mode == "constant" and size > 2 else 0,
                      min(3, size - 1) if mode in ("reflect", "wrap") else 3)
            for size in x.shape * 2]
    more = [g.given(g.array([], dtype))] if mode == "constant" and g.chance(0.5) else []
    return Case(op, [x, Constant(ends), *more], dtype, mode=mode, against_ort=min(ends) >= 0)


@draws("CenterCropPad")
def center_crop_pad(g, op):
    dtype, x = moved(g, 1, 4, empty=False)
    axes = [axis for axis in range(x.ndim) if g.chance(0.6)] or [0]
    return Case(op, [x, Constant([g.between(1, 20) for _ in axes])], dtype, axes=axes)


@draws("DepthToSpace", "SpaceToDepth")
def blocks(g, op):
    block = g.pick([1, 2, 3])
    n, c, h, w = g.between(1, 3), g.between(1, 5), g.between(1, 17), g.between(1, 33)
    dtype = g.pick(FLOATS)
    to_space = op == "DepthToSpace"
    shape = [n, c * block * block, h, w] if to_space else [n, c, h * block, w * block]
    attributes = {"mode": g.pick(["DCR", "CRD"])} if to_space else {}
    return Case(op, [g.array(shape, dtype)], dtype, blocksize=block, **attributes)


@draws("Col2Im")
def col2im(g, op):
    kernel, strides, dilations, pads = ([g.between(1, 3) for _ in range(2)],
                                        [g.between(1, 2) for _ in range(2)],
                                        [g.between(1, 2) for _ in range(2)],
                                        [g.between(0, 1) for _ in range(4)])
    image = [g.between(6, 20) for _ in range(2)]
    points = np.prod([(image[a] + pads[a] + pads[a + 2] - dilations[a] * (kernel[a] - 1) - 1) //
                      strides[a] + 1 for a in (0, 1)])
    n, c = g.between(1, 3), g.between(1, 4)
    dtype = g.pick(FLOATS)
    return Case(op, [g.array([n, c * kernel[0] * kernel[1], int(points)], dtype), Constant(image),
                     Constant(kernel)], dtype, 16, dilations=dilations, pads=pads, strides=strides,
                scale=4)


# ---- by indices

def indices(g, shape, size):
    """Of an axis of this size, also from its end."""
    return g.array(shape, g.pick(["i64", "i64", "i32"]), -size, size - 1)


@draws("Gather")
def gather(g, op):
    dtype, x = moved(g, 1, 4, empty=False)
    axis = g.axis(x.ndim)
    return Case(op, [x, g.given(indices(g, g.shape(0, 2, 30), x.shape[axis]))], dtype, axis=axis)


@draws("GatherElements")
def gather_elements(g, op):
    dtype, x = moved(g, 1, 4, empty=False)
    axis = g.axis(x.ndim)
    shape = [g.between(1, size) for size in x.shape]
    shape[axis] = g.between(1, 20)
    return Case(op, [x, indices(g, shape, x.shape[axis])], dtype, axis=axis)


@draws("GatherND")
def gather_nd(g, op):
    dtype, x = moved(g, 1, 4, empty=False)
    batch = g.between(0, min(1, x.ndim - 1))
    depth = g.between(1, x.ndim - batch)
    points = list(x.shape[:batch]) + g.shape(0, 2, 60, False)
    columns = [g.array(points, "i64", -size, size - 1) for size in x.shape[batch:batch + depth]]
    return Case(op, [x, np.stack(columns, -1)], dtype, batch_dims=batch)


@draws("OneHot")
def one_hot(g, op):
    dtype = g.pick(["f32", "i64", "u8", "f64", "i32"])
    depth = g.between(1, 40)
    where = indices(g, g.shape(0, 3, 300), depth)
    return Case(op, [where, Constant([depth]), g.given(g.array([2], dtype))], dtype,
                axis=g.between(-where.ndim - 1, where.ndim))


@draws("ScatterElements", "Scatter")
def scatter_elements(g, op):
    dtype = g.pick(NUMBERS if op == "ScatterElements" else PLAIN)
    x = g.array(g.shape(1, 4, empty=False), dtype)
    axis = g.between(0, x.ndim - 1)
    shape = [g.between(1, size) for size in x.shape]
    reduction = g.pick(["none", "add", "mul", "max", "min"]) if op == "ScatterElements" else "none"
    if reduction == "none":  # each element once
        order = np.argsort(g.random.random(x.shape), axis)
        where = order[tuple(slice(0, size) for size in shape)].astype(np.int64)
    else:
        where = indices(g, shape, x.shape[axis])
    values = g.array(shape, dtype, -2 if dtype[0] != "u" else 0, 2)
    return Case(op, [x, where, values], dtype, 0 if reduction in ("none", "max", "min") else 64,
                opset=23 if op == "ScatterElements" else 9, axis=axis, scale=64,
                **({"reduction": reduction} if op == "ScatterElements" else {}))


@draws("ScatterND")
def scatter_nd(g, op):
    dtype = g.pick(NUMBERS)
    x = g.array(g.shape(1, 4, empty=False), dtype)
    depth = g.between(1, x.ndim)
    reduction = g.pick(["none", "add", "mul", "max", "min"])
    count = g.between(1, 9)
    if reduction == "none":
        count = min(count, int(np.prod(x.shape[:depth])))
        flat = g.random.permutation(int(np.prod(x.shape[:depth])))[:count]
        where = np.stack(np.unravel_index(flat, x.shape[:depth]), -1).astype(np.int64)
    else:
        where = np.stack([g.array([count], "i64", -size, size - 1) for size in x.shape[:depth]], -1)
    values = g.array([count, *x.shape[depth:]], dtype, -2 if dtype[0] != "u" else 0, 2)
    return Case(op, [x, where, values], dtype, 0 if reduction in ("none", "max", "min") else 64,
                scale=64, reduction=reduction)


@draws("TensorScatter")
def tensor_scatter(g, op):
    dtype = g.pick(FLOATS)
    n, length, rows, width = g.between(1, 3), g.between(4, 40), g.between(1, 4), g.between(1, 65)
    mode = g.pick(["linear", "circular"])
    where = g.array([n], "i64", 0, length - (rows if mode == "linear" else 1))
    return Case(op, [g.array([n, 2, length, width], dtype), g.array([n, 2, rows, width], dtype),
                     where], dtype, opset=24, axis=2, mode=mode)


# ---- made of sizes and numbers

@draws("EyeLike")
def eye_like(g, op):
    dtype = g.pick(["f32", "f64", "i32", "i64", "u8", "i8"])
    x = g.array(g.shape(2, 2), g.pick(["f32", "i32", "f64"]))
    return Case(op, [x], dtype, dtype=number_of(dtype), k=g.between(-5, 5))


@draws("Range")
def number_range(g, op):
    dtype = g.pick(["f32", "f64", "i64", "i32", "i16"])
    start, step, count = g.between(-9, 9), g.pick([1, 2, 3, -1, -2]), g.between(0, 200)
    ends = (start, start + step * count, step)
    return Case(op, [Constant(end, DTYPES[dtype]) for end in ends], dtype, 4)


@draws("ConstantOfShape")
def constant_of_shape(g, op):
    dtype = g.pick(["f32", "f64", "i64", "u8", "bool"])
    shape = g.array([g.between(1, 3)], "i64", 1, 20)
    return Case(op, [shape], dtype, value=numpy_helper.from_array(g.array([1], dtype), "v"))


@draws("Shape")
def shape_of(g, op):
    _, x = moved(g, 1, 5)
    start = g.between(0, x.ndim - 1)
    return Case(op, [x.astype(np.float32)], "i64", start=start, end=g.between(start + 1, x.ndim))


@draws("Size")
def size_of(g, op):
    _, x = moved(g, 0, 5)
    return Case(op, [x.astype(np.float32)], "i64")


@draws("GridSample")
def grid_sample(g, op):
    dtype = g.pick(["f32", "f32", "f64", "f16"])
    shape = [g.between(1, 2), g.between(1, 4), g.between(2, 17), g.between(2, 17)]
    grid = g.array([shape[0], g.between(1, 9), g.between(1, 33), 2], dtype, -1.2, 1.2)
    mode = g.pick(["linear", "nearest", "cubic"])
    return Case(op, [g.array(shape, dtype), grid], dtype, 4096 if dtype == "f32" else 64,
                against_ort=mode != "nearest", mode=mode, align_corners=g.between(0, 1),
                padding_mode=g.pick(["zeros", "border", "reflection"]))


@draws("AffineGrid")
def affine_grid(g, op):
    dtype = g.pick(["f32", "f64", "f16"])
    n, spatial = g.between(1, 3), g.pick([2, 3])
    theta = g.array([n, spatial, spatial + 1], dtype, -1, 1)
    sizes = [n, g.between(1, 3), *[g.between(2, 12) for _ in range(spatial)]]
    return Case(op, [theta, Constant(sizes)], dtype, 16, scale=4, align_corners=g.between(0, 1))


@draws("RotaryEmbedding")
def rotary_embedding(g, op):
    dtype = g.pick(FLOATS)
    n, heads, length, half = g.between(1, 2), g.between(1, 4), g.between(1, 9), g.between(1, 17)
    table = [g.array([n, length, half], dtype, -1, 1) for _ in range(2)]
    return Case(op, [g.array([n, heads, length, 2 * half], dtype), *table], dtype, 4, scale=4,
                interleaved=g.between(0, 1))
