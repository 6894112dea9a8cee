"""Random ONNX graphs with an input for each, and what numpy makes of it. Everything follows from a
seed.

A graph is grown by operators whose samples stay finite and of moderate size; numpy computes the
samples as it grows, and again for every turn of a loop. What jumps (casts to integers, comparisons,
indices) is only applied to values that every correct program computes alike, so that outputs can be
compared with a tolerance.
"""
import math
import random

import numpy as np
from onnx import TensorProto, helper, mapping, numpy_helper

OPSET, IR = 17, 8
FLOATS = (np.float32, np.float64, np.float16)
MAX_ELEMENTS, MAX = 2000, 100.0
_ERF = np.vectorize(math.erf, otypes=[np.float64])


def onnx_type(array):
    return mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype]


class Value:
    """A sample. exact: computed without rounding, by whatever program."""

    def __init__(self, name, array, exact):
        self.name, self.array, self.exact = name, array, exact

    @property
    def dtype(self):
        return self.array.dtype.type

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim

    @property
    def is_float(self):
        return self.dtype in FLOATS


class Grown:
    """A graph, or the body of one, as it grows."""

    def __init__(self, rng, prefix, outer=None):
        self.rng, self.prefix, self.outer = rng, prefix, outer
        self.values, self.nodes, self.initializers, self.inputs, self.count = [], [], [], [], 0
        self.data = np.random.default_rng(rng.randrange(2**32))
        self.tape, self.env = [], outer.env if outer else {}  # names are unique, so bodies share it

    def name(self):
        self.count += 1
        return f"{self.prefix}v{self.count}"

    def random_array(self, shape, dtype):
        if dtype == np.bool_:
            return self.data.random(shape) < 0.5
        if np.issubdtype(dtype, np.integer):
            return self.data.integers(0 if dtype == np.uint8 else -4, 5, shape).astype(dtype)
        return np.asarray(self.data.normal(size=shape) * 0.8).astype(dtype)

    def constant(self, array):
        array = np.asarray(array)
        made = Value(self.name(), array, True)
        self.env[made.name] = array
        if self.rng.random() < 0.3:
            self.nodes.append(helper.make_node("Constant", [], [made.name],
                                               value=numpy_helper.from_array(array, made.name)))
        else:
            self.initializers.append(numpy_helper.from_array(array, made.name))
        return made

    def weight(self, shape, dtype=np.float32):
        return self.constant(self.random_array(shape, dtype))

    def all_values(self):
        return self.values + (self.outer.all_values() if self.outer else [])

    def pick(self, wanted=lambda value: True):
        """A value that fits, rather a young one; None."""
        fitting = [value for value in self.all_values() if wanted(value)]
        return fitting[min(len(fitting) - 1,
                           int(self.rng.random() ** 0.7 * len(fitting)))] if fitting else None

    def emit(self, op, inputs, apply, exact=False, **attributes):
        """Adds a node that computes apply(arrays of inputs), an array or a list of them; unless the
        samples are no good. Its first result."""
        read = [value.name for value in inputs]
        results = listed(apply(*[value.array for value in inputs]))
        names = [self.name() for _ in results]

        def again(env):
            env.update(zip(names, listed(apply(*[env[name] for name in read]))))

        return self.add(helper.make_node(op, read, names, **attributes), names, results,
                        exact and all(value.exact for value in inputs), again)

    def add(self, node, names, arrays, exact, again):
        """again: computes the results anew in an environment {name: array}."""
        arrays = [np.asarray(array) for array in arrays]
        if not all(is_moderate(array) for array in arrays):
            return None
        self.nodes.append(node)
        self.tape.append(again)
        self.env.update(zip(names, arrays))
        made = [Value(name, array, exact) for name, array in zip(names, arrays)]
        self.values += made
        return made[0]


def listed(results):
    return [np.asarray(array) for array in (results if isinstance(results, list) else [results])]


def is_moderate(array):
    if array.size > MAX_ELEMENTS or array.ndim > 5:
        return False
    if not array.size or array.dtype.kind not in "fiu":
        return True
    return bool(np.all(np.isfinite(array))) and np.max(np.abs(array.astype(np.float64))) <= MAX


def replay(tape, env):
    for again in tape:
        again(env)


def names_read(node):
    names = set(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                names |= names_read(inner)
            names |= {output.name for output in attribute.g.output}
    return names - {""}


# ---- operators: each takes the graph and its random numbers, and may find nothing to do ----------

UNARY = {"Relu": lambda x: np.maximum(x, 0), "Neg": np.negative, "Abs": np.abs, "Tanh": np.tanh,
         "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Exp": np.exp, "Sin": np.sin, "Cos": np.cos,
         "Softplus": lambda x: np.log1p(np.exp(x)), "Erf": lambda x: _ERF(x),
         "Identity": lambda x: x, "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
         "Softsign": lambda x: x / (1 + np.abs(x))}
BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum,
          "Min": np.minimum, "Div": np.divide}
REDUCE = {"ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod,
          "ReduceL1": lambda x, **k: np.sum(np.abs(x), **k), "ReduceL2": lambda x, **k:
          np.sqrt(np.sum(x * x, **k)), "ReduceSumSquare": lambda x, **k: np.sum(x * x, **k)}


def floats(value):
    return value.is_float and value.array.size > 0


def wide(array):
    """Samples of half precision in more, as every implementation may have them."""
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def unary(g, rng):
    x = g.pick(floats)
    if x is None:
        return None
    op = rng.choice(list(UNARY))
    exact = op in ("Relu", "Neg", "Abs", "Identity")
    if x.dtype == np.float64 and op in ("Erf", "Softsign", "HardSwish", "Softplus"):
        op = "Tanh"
    return g.emit(op, [x], lambda a: UNARY[op](wide(a)).astype(a.dtype), exact)


def guarded(g, rng):
    x = g.pick(lambda v: floats(v) and v.dtype != np.float16)
    if x is None:
        return None
    op, apply = rng.choice([("Sqrt", np.sqrt), ("Log", np.log), ("Reciprocal", np.reciprocal)])
    square = g.emit("Mul", [x, x], np.multiply)
    moved = square and g.emit("Add", [square, g.constant(x.dtype(0.5))], np.add)
    return moved and g.emit(op, [moved], apply)


def may_broadcast(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b)))


def binary(g, rng):
    a = g.pick(lambda v: v.dtype in (*FLOATS, np.int64, np.int32) and v.array.size)
    if a is None:
        return None
    b = g.pick(lambda v: v.dtype == a.dtype and v.array.size and
               may_broadcast(a.shape, v.shape)) if rng.random() < 0.7 else None
    if b is None:
        shape = tuple(rng.choice([1, n]) for n in a.shape)[rng.randrange(a.rank + 1):]
        b = g.weight(shape, a.dtype)
    op = rng.choice(list(BINARY))
    if op == "Div" and (not a.is_float or np.min(np.abs(b.array), initial=1) < 0.25):
        op = "Sub"
    if not a.is_float and op in ("Mul", "Div"):
        op = "Add"
    if rng.random() < 0.5 and op != "Div":
        a, b = b, a
    exact = op in ("Max", "Min") or not a.is_float
    return g.emit(op, [a, b], lambda m, n: BINARY[op](wide(m), wide(n)).astype(m.dtype), exact)


def matmul(g, rng):
    a = g.pick(lambda v: v.dtype in (np.float32, np.float64) and v.rank >= 1 and v.array.size)
    if a is None:
        return None
    b = g.pick(lambda v: v.dtype == a.dtype and v.rank >= 2 and v.array.size and
               v.shape[-2] == a.shape[-1] and may_broadcast(v.shape[:-2], a.shape[:-2]))
    if b is None or rng.random() < 0.5:
        b = g.weight((a.shape[-1], rng.choice([1, 3, 5, 8])), a.dtype)
    a, b = transposed_twice(g, rng, a), transposed_twice(g, rng, b)
    return g.emit("MatMul", [a, b], np.matmul)


def transposed_twice(g, rng, x):
    """Sometimes magnitudes instead, which lie otherwise in memory and are transposed back."""
    if x.rank < 2 or rng.random() < 0.6:
        return x
    order = list(range(x.rank))
    rng.shuffle(order)
    back = [order.index(axis) for axis in range(x.rank)]
    turned = g.emit("Transpose", [x], lambda v: np.transpose(v, order), True, perm=order)
    lying = turned and g.emit("Abs", [turned], np.abs, True)
    again = lying and g.emit("Transpose", [lying], lambda v: np.transpose(v, back), True, perm=back)
    return again or x  # none: the numbers are not moderate


def gemm(g, rng):
    a = g.pick(lambda v: v.dtype == np.float32 and v.rank == 2 and v.array.size)
    if a is None:
        return None
    ta, tb, width = rng.randrange(2), rng.randrange(2), rng.choice([1, 4, 7])
    left = a.array.T if ta else a.array
    b = g.weight((width, left.shape[1]) if tb else (left.shape[1], width))
    c = (g.weight(rng.choice([(width,), (1, width), (left.shape[0], 1), ()])) if rng.random() < 0.7
         else None)
    alpha, beta = rng.choice([1.0, 0.5]), rng.choice([1.0, 0.0, 2.0])

    def apply(m, n, k=np.float32(0)):
        return np.float32(alpha) * ((m.T if ta else m) @ (n.T if tb else n)) + np.float32(beta) * k

    return g.emit("Gemm", [a, b, *([c] if c else [])], apply, transA=ta, transB=tb, alpha=alpha,
                  beta=beta)


def conv(g, rng):
    x = g.pick(lambda v: v.dtype == np.float32 and v.rank in (3, 4) and v.array.size and
               min(v.shape[2:]) >= 2)
    if x is None:
        return None
    spatial, group = x.rank - 2, rng.choice([1, 1, x.shape[1]])
    kernel = [rng.randint(1, min(3, n)) for n in x.shape[2:]]
    out = group * rng.choice([1, 2]) if group > 1 else rng.choice([1, 3, 4])
    w = g.weight((out, x.shape[1] // group, *kernel))
    inputs = [x, w] + ([g.weight((out,))] if rng.random() < 0.5 else [])
    pads, strides = ([rng.randrange(2) for _ in range(2 * spatial)],
                     [rng.choice([1, 1, 2])] * spatial)

    def apply(image, weights, bias=np.zeros(out, np.float32)):
        image = np.pad(image, [(0, 0), (0, 0), *zip(pads[:spatial], pads[spatial:])])
        columns = windows(image, kernel, strides)  # n, c, out..., kernel...
        each = weights.shape[0] // group
        parts = [np.tensordot(columns[:, i * weights.shape[1]:(i + 1) * weights.shape[1]],
                              weights[i * each:(i + 1) * each],
                              ([1, *range(2 + spatial, 2 + 2 * spatial)], range(1, 2 + spatial)))
                 for i in range(group)]
        return np.moveaxis(np.concatenate(parts, axis=-1), -1, 1) + bias.reshape(-1, *[1] * spatial)

    return g.emit("Conv", inputs, apply, group=group, pads=pads, strides=strides,
                  kernel_shape=kernel)


def windows(image, kernel, strides):
    spatial = len(kernel)
    view = np.lib.stride_tricks.sliding_window_view(image, kernel,
                                                    axis=tuple(range(2, 2 + spatial)))
    return view[(slice(None), slice(None), *[slice(None, None, step) for step in strides])]


def pool(g, rng):
    x = g.pick(lambda v: v.dtype == np.float32 and v.rank == 4 and v.array.size and
               min(v.shape[2:]) >= 2)
    if x is None:
        return None
    if rng.random() < 0.3:
        return g.emit("GlobalAveragePool", [x], lambda a: a.mean(axis=(2, 3), keepdims=True))
    op, strides = rng.choice(["MaxPool", "AveragePool"]), [rng.choice([1, 2])] * 2
    apply = np.max if op == "MaxPool" else np.mean
    return g.emit(op, [x], lambda a: apply(windows(a, [2, 2], strides), axis=(4, 5)),
                  op == "MaxPool", kernel_shape=[2, 2], strides=strides)


def reduction(g, rng):
    x = g.pick(lambda v: v.dtype in (np.float32, np.float64) and v.rank >= 1 and v.array.size)
    if x is None:
        return None
    axes, keep = sorted(rng.sample(range(x.rank), rng.randint(1, x.rank))), rng.randrange(2)
    if rng.random() < 0.3:
        return g.emit("ReduceSum", [x, g.constant(np.array(axes, np.int64))],
                      lambda a, _: np.sum(a, axis=tuple(axes), keepdims=bool(keep)), keepdims=keep)
    op = rng.choice(list(REDUCE))
    exact = op in ("ReduceMax", "ReduceMin")
    return g.emit(op, [x], lambda a: np.asarray(REDUCE[op](a, axis=tuple(axes),
                                                           keepdims=bool(keep))).astype(a.dtype),
                  exact, axes=axes, keepdims=keep)


def softmax(g, rng):
    x = g.pick(lambda v: v.dtype in (np.float32, np.float64) and v.rank >= 1 and v.array.size)
    if x is None:
        return None
    axis = rng.randrange(-x.rank, x.rank)

    def apply(a):
        power = np.exp(a - a.max(axis=axis, keepdims=True))
        return power / power.sum(axis=axis, keepdims=True)

    if rng.random() < 0.3 and np.min(apply(x.array)) > 1e-6:
        return g.emit("LogSoftmax", [x], lambda a: np.log(apply(a)), axis=axis)
    return g.emit("Softmax", [x], apply, axis=axis)


def normalisation(g, rng):
    x = g.pick(lambda v: v.dtype == np.float32 and v.rank >= 2 and v.array.size and
               np.min(v.array.std(axis=-1)) > 0.1)
    if x is None:
        return None
    if x.rank >= 3 and rng.random() < 0.5:
        scale, bias, mean, variance = (
            g.weight((x.shape[1],)), g.weight((x.shape[1],)), g.weight((x.shape[1],)),
            g.constant(g.data.random(x.shape[1]).astype(np.float32) + np.float32(0.5)))

        def apply_batch(a, *each):
            gain, shift, center, spread = [v.reshape((1, -1) + (1,) * (a.ndim - 2)) for v in each]
            return (a - center) / np.sqrt(spread + np.float32(1e-5)) * gain + shift

        return g.emit("BatchNormalization", [x, scale, bias, mean, variance], apply_batch)
    scale, bias = g.weight((x.shape[-1],)), g.weight((x.shape[-1],))

    def apply(a, gain, shift):
        return (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) +
                                                         np.float32(1e-5)) * gain + shift

    return g.emit("LayerNormalization", [x, scale, bias], apply, axis=-1)


def reshape(g, rng):
    x = g.pick(lambda v: v.array.size > 0)
    if x is None:
        return None
    left, dims = x.array.size, []
    while left > 1 and len(dims) < 3:
        dims.append(rng.choice([n for n in range(1, left + 1) if left % n == 0]))
        left //= dims[-1]
    dims = dims + [left] if left > 1 or not dims else dims
    sizes = list(dims)
    if rng.random() < 0.5:
        dims[rng.randrange(len(dims))] = -1
    return g.emit("Reshape", [x, g.constant(np.array(dims, np.int64))],
                  lambda a, _: a.reshape(sizes), True)


def move(g, rng):
    x = g.pick(lambda v: v.rank >= 1)
    if x is None:
        return None
    op, axis = rng.choice(["Transpose", "Unsqueeze", "Squeeze", "Flatten", "Tile", "Expand",
                           "Pad"]), rng.randrange(x.rank)
    if op == "Transpose":
        order = rng.sample(range(x.rank), x.rank)
        return g.emit(op, [x], lambda a: a.transpose(order), True, perm=order)
    if op == "Unsqueeze":
        return g.emit(op, [x, g.constant(np.array([axis], np.int64))],
                      lambda a, _: np.expand_dims(a, axis), True)
    if op == "Squeeze":
        return g.emit(op, [x, g.constant(np.array([axis], np.int64))],
                      lambda a, _: np.squeeze(a, axis), True) if x.shape[axis] == 1 else None
    if op == "Flatten":
        return g.emit(op, [x], lambda a: a.reshape(int(np.prod(a.shape[:axis])), -1), True,
                      axis=axis) if x.array.size else None
    if op == "Tile":
        times = [rng.choice([1, 1, 2]) for _ in x.shape]
        return g.emit(op, [x, g.constant(np.array(times, np.int64))],
                      lambda a, _: np.tile(a, times), True)
    if op == "Expand":
        shape = [rng.choice([2, 3]) if n == 1 else n for n in x.shape]
        return g.emit(op, [x, g.constant(np.array(shape, np.int64))],
                      lambda a, _: np.broadcast_to(a, shape).copy(), True)
    if x.dtype not in (np.float32, np.float64):
        return None
    pads = [rng.randrange(3) for _ in range(2 * x.rank)]
    return g.emit("Pad", [x, g.constant(np.array(pads, np.int64))],
                  lambda a, _: np.pad(a, list(zip(pads[:a.ndim], pads[a.ndim:]))), True)


def cut(g, rng):
    x = g.pick(lambda v: v.rank >= 1 and v.array.size)
    if x is None:
        return None
    axis = rng.randrange(x.rank)
    n, step = x.shape[axis], rng.choice([1, 1, 2, -1])
    begin, end = (rng.randrange(n), n) if step > 0 else (n - 1, -n - 1)
    key = [slice(None)] * x.rank
    key[axis] = slice(begin, end, step) if step > 0 else slice(None, None, -1)
    numbers = [g.constant(np.array([k], np.int64)) for k in (begin, end, axis, step)]
    return g.emit("Slice", [x, *numbers], lambda a, *_: a[tuple(key)], True)


def join(g, rng):
    a = g.pick(lambda v: v.rank >= 1)
    if a is None:
        return None
    axis = rng.randrange(a.rank)
    fits = lambda v: (v.dtype == a.dtype and v.rank == a.rank and
                      all(m == n for i, (m, n) in enumerate(zip(v.shape, a.shape)) if i != axis))
    parts = [a] + [g.pick(fits) for _ in range(rng.randint(1, 2))]
    return g.emit("Concat", parts, lambda *a: np.concatenate(a, axis=axis), True, axis=axis)


def gather(g, rng):
    x = g.pick(lambda v: v.rank >= 1 and v.array.size)
    if x is None:
        return None
    axis = rng.randrange(x.rank)
    indices = g.constant(g.data.integers(-x.shape[axis], x.shape[axis],
                                         rng.choice([(), (2,), (2, 2)])).astype(np.int64))
    return g.emit("Gather", [x, indices], lambda a, i: np.take(a, i, axis=axis), True, axis=axis)


def split(g, rng):
    x = g.pick(lambda v: v.rank >= 1 and max(v.shape) >= 2 and v.array.size)
    if x is None:
        return None
    axis = rng.choice([i for i, n in enumerate(x.shape) if n >= 2])
    first = rng.randrange(1, x.shape[axis])
    return g.emit("Split", [x, g.constant(np.array([first, x.shape[axis] - first], np.int64))],
                  lambda a, _: np.split(a, [first], axis=axis), True, axis=axis)


def cast(g, rng):
    x = g.pick(lambda v: v.array.size)
    if x is None:
        return None
    to = rng.choice([np.float32, np.float32, np.float64, np.float16, np.int64, np.int32, np.bool_])
    if x.is_float and to in (np.int64, np.int32, np.bool_) and not x.exact:
        to = np.float32
    exact = not (x.is_float and to == np.float16)
    return g.emit("Cast", [x], lambda a: a.astype(to), exact,
                  to=mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype(to)])


def compare(g, rng):
    x = g.pick(lambda v: v.exact and v.dtype in (np.float32, np.int64) and v.array.size)
    if x is None:
        return None
    op, apply = rng.choice([("Greater", np.greater), ("LessOrEqual", np.less_equal),
                            ("Equal", np.equal)])
    mask = g.emit(op, [x, g.constant(x.dtype(0))], apply, True)
    y = g.pick(lambda v: v.dtype in (np.float32, np.int64) and v.array.size and
               may_broadcast(v.shape, x.shape))
    if mask is None or y is None:
        return mask
    other = g.weight((), y.dtype)
    return g.emit("Where", [mask, y, other], np.where, True)


def top(g, rng):
    x = g.pick(lambda v: v.exact and v.dtype == np.float32 and v.rank >= 1 and v.shape[-1] >= 1 and
               v.array.size)
    if x is None:
        return None
    if rng.random() < 0.5:
        return g.emit("ArgMax", [x], lambda a: np.argmax(a, axis=-1), True, axis=-1, keepdims=0)
    k = rng.randint(1, x.shape[-1])

    def apply(a, _):
        order = np.argsort(-a, axis=-1, kind="stable")[..., :k]
        return [np.take_along_axis(a, order, -1), order.astype(np.int64)]

    return g.emit("TopK", [x, g.constant(np.array([k], np.int64))], apply, True, axis=-1)


def data_dependent(g, rng):
    """Sizes that only the elements say."""
    x = g.pick(lambda v: v.exact and v.dtype in (np.float32, np.int64, np.bool_) and v.rank >= 1 and
               v.array.size)
    if x is None:
        return None
    if rng.random() < 0.4:
        return g.emit("NonZero", [x],
                      lambda a: np.array(np.nonzero(a), np.int64).reshape(a.ndim, -1), True)
    mask = x if x.dtype == np.bool_ else g.emit("Greater", [x, g.constant(x.dtype(0))], np.greater,
                                                True)
    y = mask and g.pick(lambda v: v.rank >= 1 and v.shape[0] == mask.array.size)
    flat = y and g.emit("Reshape", [mask, g.constant(np.array([-1], np.int64))],
                        lambda a, _: a.reshape(-1), True)
    return flat and g.emit("Compress", [y, flat], lambda a, m: np.compress(m, a, axis=0), True,
                           axis=0)


def shape_of(g, rng):
    """A reshape by sizes that are computed."""
    x = g.pick(lambda v: v.rank >= 2 and v.array.size)
    if x is None:
        return None
    shape = g.emit("Shape", [x], lambda a: np.array(a.shape, np.int64), True)
    first = shape and g.emit("Gather", [shape, g.constant(np.array([0], np.int64))],
                             lambda a, _: a[:1], True)
    target = first and g.emit("Concat", [first, g.constant(np.array([-1], np.int64))],
                              lambda a, b: np.concatenate([a, b]), True, axis=0)
    return target and g.emit("Reshape", [x, target], lambda a, sizes: a.reshape(sizes), True)


def grown_body(g, rng, prefix, state=None):
    """A body that captures; its last value has the state's shape and type, when there is a
    state."""
    body = Grown(rng, prefix, g)
    if state is not None:
        body.values.append(Value(prefix + "s", state.array, False))
        body.env[prefix + "s"] = state.array
        body.env[prefix + "c"] = np.array(True)
    for _ in range(rng.randint(1, 4)):
        rng.choice([unary, binary, matmul, reduction, softmax, move, unary] +
                   ([branch] if state is not None else []))(body, rng)
    return body


def output_info(value):
    return helper.make_tensor_value_info(value.name, onnx_type(value.array), None)


def branch(g, rng):
    flag = g.pick(lambda v: v.dtype == np.bool_ and v.array.size == 1 and v.rank == 0)
    if flag is None:
        x = g.pick(lambda v: v.exact and v.dtype == np.float32 and v.array.size)
        if x is None:
            return None
        lowest = g.emit("ReduceMin", [x], np.min, True, keepdims=0)
        flag = lowest and g.emit("Less", [lowest, g.constant(np.float32(-1))], np.less, True)
    if not flag:
        return None
    bodies, prefix = [], g.name()
    for side in ("t", "e"):
        body = grown_body(g, rng, prefix + side)
        own = [value for value in body.values if value.dtype == np.float32]
        if not own:
            return None
        bodies.append((body, own[-1]))
    if bodies[0][1].rank != bodies[1][1].rank:
        flats = []
        for body, value in bodies:
            flat = body.emit("Reshape", [value, body.constant(np.array([-1], np.int64))],
                             lambda a, _: a.reshape(-1), True) if value.array.size else None
            if flat is None:
                return None
            flats.append((body, flat))
        bodies = flats
    graphs = [helper.make_graph(body.nodes, "branch", [], [output_info(value)], body.initializers)
              for body, value in bodies]
    name = g.name()
    node = helper.make_node("If", [flag.name], [name], then_branch=graphs[0], else_branch=graphs[1])

    def again(env):
        body, value = bodies[0 if bool(env[flag.name]) else 1]
        replay(body.tape, env)
        env[name] = env[value.name]

    return g.add(node, [name], [bodies[0 if bool(flag.array) else 1][1].array], False, again)


def loop(g, rng):
    state = g.pick(lambda v: v.dtype == np.float32 and v.array.size)
    if state is None:
        return None
    prefix, trips = g.name(), rng.randint(0, 3)
    body = grown_body(g, rng, prefix + "b", state)
    inner = body.values[0]
    same = [v for v in body.values[1:] if v.dtype == np.float32 and v.shape == state.shape]
    last = same[-1] if same else body.emit("Neg", [inner], np.negative)
    last = last and body.emit("Tanh", [last], np.tanh)
    if last is None:
        return None
    more = body.name()
    body.nodes.append(helper.make_node("Identity", [prefix + "bc"], [more]))
    row = rng.choice([value for value in body.values[1:] if value is not last] or [None])
    if row is None:
        return None
    graph = helper.make_graph(
        body.nodes, "body", [helper.make_tensor_value_info(prefix + "bi", TensorProto.INT64, []),
                             helper.make_tensor_value_info(prefix + "bc", TensorProto.BOOL, []),
                             helper.make_tensor_value_info(prefix + "bs", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info(more, TensorProto.BOOL, []), output_info(last),
         output_info(row)][:3 if trips else 2], body.initializers)
    count = g.constant(np.array(trips, np.int64))
    names = [g.name(), g.name()]
    # rows of none have no certain sizes
    node = helper.make_node("Loop", [count.name, "", state.name], names[:2 if trips else 1],
                            body=graph)

    def again(env):
        env[names[0]], made = env[state.name], []
        for _ in range(trips):
            env[inner.name] = env[names[0]]
            replay(body.tape, env)
            env[names[0]] = env[last.name]
            made.append(env[row.name])
        env[names[1]] = np.stack(made) if made else np.zeros((0,), np.float32)

    return finish_loop(g, node, names[:2 if trips else 1], again)


def finish_loop(g, node, names, again):
    try:
        again(g.env)
    except ValueError:  # rows of several sizes
        return None
    return g.add(node, names, [g.env[name] for name in names], False, again)


def scan(g, rng):
    rows = g.pick(lambda v: v.dtype == np.float32 and v.rank >= 1 and v.array.size)
    if rows is None:
        return None
    prefix = g.name()
    body = Grown(rng, prefix + "b", g)
    state = Value(prefix + "bs", rows.array[0] * 0, False)
    row = Value(prefix + "br", rows.array[0], False)
    body.values += [state, row]
    body.env.update({state.name: state.array, row.name: row.array})
    total = body.emit("Add", [state, row], np.add)
    last = total and body.emit("Tanh", [total], np.tanh)
    made = last and (unary(body, rng) or last)
    if not made or made.dtype != np.float32:
        return None
    if made.name not in {name for node in body.nodes for name in node.output}:
        made = last
    kind = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    graph = helper.make_graph(body.nodes, "body", [kind(state.name), kind(row.name)],
                              [kind(last.name), kind(made.name)], body.initializers)
    start = g.constant(np.zeros(row.shape, np.float32))
    names = [g.name(), g.name()]
    node = helper.make_node("Scan", [start.name, rows.name], names, body=graph, num_scan_inputs=1)
    if made is last:  # an output of a body may be named once
        return None

    def again(env):
        env[names[0]], stacked = env[start.name], []
        for i in range(len(env[rows.name])):
            env[state.name], env[row.name] = env[names[0]], env[rows.name][i]
            replay(body.tape, env)
            env[names[0]] = env[last.name]
            stacked.append(env[made.name])
        env[names[1]] = np.stack(stacked)

    return finish_loop(g, node, names, again)


OPERATORS = {unary: 8, guarded: 2, binary: 8, matmul: 4, gemm: 2, conv: 3, pool: 2, reduction: 4,
             softmax: 3, normalisation: 3, reshape: 3, move: 5, cut: 3, join: 3, gather: 3,
             split: 2, cast: 3, compare: 3, top: 2, data_dependent: 1, shape_of: 1, branch: 2,
             loop: 2, scan: 1}


class RandomGraph:
    """Graph number `index` of `seed`: its parts for a model, feeds {name: array} and wanted {name:
    array}."""

    def __init__(self, seed, index):
        self.index, self.prefix, self.outputs = index, f"g{index}_", []
        rng = random.Random(f"{seed}/{index}")
        while not self.outputs:
            self.grow(rng)

    def grow(self, rng):
        g = Grown(rng, self.prefix)
        self.inputs = []
        free = rng.random() < 0.35
        for i in range(rng.randint(1, 3)):
            shape = rng.choice([(4, 6), (2, 3, 4), (1, 3, 6, 5), (2, 4, 5, 5), (7,), (), (3, 1),
                                (5, 5), (2, 6, 4)])
            kind = rng.choice([np.float32] * 6 + [np.float64, np.int64, np.bool_, np.float16])
            value = Value(g.name(), g.random_array(shape, kind), True)
            g.values.append(value)
            g.env[value.name] = value.array
            dims = [f"{self.prefix}d{n}" if free and rng.random() < 0.4 else n for n in shape]
            self.inputs.append(helper.make_tensor_value_info(value.name, onnx_type(value.array),
                                                             dims))
        self.feeds = {value.name: value.array for value in g.values}
        for _ in range(rng.randint(3, 14)):
            with np.errstate(all="ignore"):
                rng.choices(list(OPERATORS), OPERATORS.values())[0](g, rng)
        read = set().union(*[names_read(node) for node in g.nodes]) if g.nodes else set()
        made = {name for node in g.nodes for name in node.output}
        ends = [v for v in g.values if v.name in made and
                (v.name not in read or rng.random() < 0.1)]
        self.nodes, self.initializers, self.grown = g.nodes, g.initializers, g
        self.outputs = [helper.make_tensor_value_info(v.name, onnx_type(v.array), [None] * v.rank)
                        for v in ends]
        self.wanted = {v.name: v.array for v in ends}
        self.exact = {v.name for v in ends if v.exact}
        self.has_half = any(v.dtype == np.float16 for v in g.values)


def model_of(graphs):
    """One model of several graphs side by side."""
    join_of = lambda name: [item for graph in graphs for item in getattr(graph, name)]
    graph = helper.make_graph(join_of("nodes"), "random", join_of("inputs"), join_of("outputs"),
                              join_of("initializers"))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
