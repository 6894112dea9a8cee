"""Small models of single com.microsoft nodes, and what they compute by numpy."""
import math

import numpy as np
from onnx import TensorProto, helper

from models import model_of, value

OPSETS = {"opset": 17, "domains": {"com.microsoft": 1}}
RANDOM = np.random.default_rng(7)
DTYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
          np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64,
          np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8,
          np.dtype(bool): TensorProto.BOOL}


def normal(*dims):
    return RANDOM.standard_normal(dims).astype(np.float32)


class Case:
    """inputs: by name, in the node's order, None for absent ones. constants: which of them are
    initializers. wanted: by output; NaN is not compared. steps: how far quantized results may be
    off; tolerance: how far others, for the largest."""

    def __init__(self, name, op, inputs, wanted, constants=(), tolerance=2e-5,
                 domain="com.microsoft", steps=0, **attributes):
        self.name, self.op, self.inputs, self.wanted = name, op, inputs, wanted
        self.constants, self.tolerance, self.domain, self.steps = (constants, tolerance, domain,
                                                                   steps)
        self.attributes = attributes

    def fed(self):
        return {name: value for name, value in self.inputs.items() if value is not None and
                name not in self.constants}

    def model(self, free_dims):
        named = lambda arrays: [name if array is not None else "" for name, array in arrays.items()]
        node = helper.make_node(self.op, named(self.inputs), named(self.wanted), "the_node",
                                domain=self.domain, **self.attributes)

        def dims(name, array):
            return [f"{name}_{axis}" for axis in range(array.ndim)] if free_dims else array.shape

        inputs = [value(name, dims(name, array), DTYPES[array.dtype])
                  for name, array in self.fed().items()]
        outputs = [value(name, None, DTYPES[np.asarray(array).dtype])
                   for name, array in self.wanted.items() if array is not None]
        return model_of([node], inputs, outputs,
                        {name: self.inputs[name] for name in self.constants}, **OPSETS)


def erf(x):
    return np.vectorize(math.erf)(x.astype(np.float64))


def gelu(x):
    return (0.5 * x * (1 + erf(x / np.sqrt(2)))).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x, gamma, beta=0.0, epsilon=1e-12):
    x = x.astype(np.float64)
    mean, deviation = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + epsilon)
    return ((x - mean) / deviation * gamma + beta).astype(np.float32)


def rms_norm(x, gamma, epsilon):
    x = x.astype(np.float64)
    return (x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gamma).astype(np.float32)


def normalizations():
    x, skip, gamma, beta, bias = normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8)
    yield Case("rms", "SimplifiedLayerNormalization", {"x": x, "g": gamma},
               {"y": rms_norm(x, gamma, 1e-5)}, domain="")
    inverse = (1 / np.sqrt((x.astype(np.float64)**2).mean(-1, keepdims=True) +
                           0.1)).astype(np.float32)
    yield Case("rms_inverse", "SimplifiedLayerNormalization", {"x": x, "g": gamma},
               {"y": rms_norm(x, gamma, 0.1), "i": inverse}, domain="", epsilon=0.1, axis=2)
    total = x + skip + bias
    for name, broadcast in (("full", skip), ("one_batch", skip[:1]), ("no_batch", skip[0])):
        y = layer_norm(x + broadcast, gamma, beta)
        yield Case(f"skip_{name}", "SkipLayerNormalization",
                   {"x": x, "s": broadcast, "g": gamma, "b": beta}, {"y": y})
    yield Case(
        "skip_sum", "SkipLayerNormalization", {"x": x, "s": skip, "g": gamma, "b": None, "c": bias},
        {"y": layer_norm(total, gamma, 0, 0.01), "m": None, "v": None, "sum": total}, epsilon=0.01)
    yield Case(
        "skip_rms", "SkipSimplifiedLayerNormalization", {"x": x, "s": skip, "g": gamma, "c": bias},
        {"y": rms_norm(total, gamma, 1e-6), "m": None, "v": None, "sum": total}, epsilon=1e-6)
    exact = total.astype(np.float64)
    yield Case("skip_rms_statistics", "SkipSimplifiedLayerNormalization",
               {"x": x, "s": skip, "g": gamma, "c": bias},
               {"y": rms_norm(total, gamma, 0.1),
                "m": exact.mean(-1, keepdims=True).astype(np.float32), "v":
                (1 / np.sqrt((exact * exact).mean(-1, keepdims=True) + 0.1)).astype(np.float32),
                "sum": total}, epsilon=0.1)
    total = x + skip[0]
    yield Case("skip_rms_mean",
               "SkipSimplifiedLayerNormalization", {"x": x, "s": skip[0], "g": gamma},
               {"y": rms_norm(total, gamma, 1e-12), "m": total.mean(-1, keepdims=True)})
    ids, segments = (RANDOM.integers(0, 9, (2, 3)).astype(np.int32),
                     RANDOM.integers(0, 2, (2, 3)).astype(np.int32))
    words, places, kinds = normal(9, 8), normal(5, 8), normal(2, 8)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    total = words[ids] + places[:3] + kinds[segments]
    yield Case("embed", "EmbedLayerNormalization",
               {"ids": ids, "seg": segments, "w": words, "p": places, "k": kinds, "g": gamma,
                "b": beta, "mask": mask}, {"y": layer_norm(total, gamma, beta),
                                           "count": np.array([2, 3], np.int32), "sum": total},
               ("w", "p", "k", "g", "b"))
    order = np.array([[2, 1, 4], [0, 3, 3]], np.int32)
    yield Case("embed_positions", "EmbedLayerNormalization",
               {"ids": ids, "seg": None, "w": words, "p": places, "k": None, "g": gamma, "b": beta,
                "mask": None, "order": order},
               {"y": layer_norm(words[ids] + places[order], gamma, beta, 0.1),
                "count": np.zeros(2, np.int32)}, ("w", "p", "g", "b"), epsilon=0.1)


def activations():
    x, bias = normal(2, 3, 8), normal(8)
    yield Case("gelu", "Gelu", {"x": x}, {"y": gelu(x)})
    yield Case("bias_gelu", "BiasGelu", {"x": x, "b": bias}, {"y": gelu(x + bias)})
    for name, given in (("fast_gelu", None), ("fast_gelu_bias", bias)):
        z = (x if given is None else x + given).astype(np.float64)
        y = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
        yield Case(name, "FastGelu", {"x": x, "b": given} if given is not None else {"x": x},
                   {"y": y.astype(np.float32)}, tolerance=1e-4)
    yield Case("quick_gelu", "QuickGelu", {"x": x},
               {"y": (x * sigmoid(1.702 * x)).astype(np.float32)})
    yield Case("quick_gelu_alpha", "QuickGelu", {"x": x},
               {"y": (x * sigmoid(0.5 * x)).astype(np.float32)}, alpha=0.5)


def products():
    a, b = normal(2, 3, 5, 4), normal(2, 3, 4, 6)
    yield Case("matmul_alpha", "FusedMatMul", {"a": a, "b": b}, {"y": 0.5 * (a @ b)}, alpha=0.5)
    yield Case("matmul_trans", "FusedMatMul",
               {"a": a.swapaxes(2, 3).copy(), "b": b.swapaxes(2, 3).copy()}, {"y": a @ b}, transA=1,
               transB=1)
    yield Case("matmul_batch", "FusedMatMul",
               {"a": a.transpose(2, 0, 1, 3).copy(), "b": b.transpose(2, 0, 1, 3).copy()},
               {"y": a @ b}, transBatchA=1, transBatchB=1)
    yield Case("matmul_both", "FusedMatMul", {"a": a.transpose(3, 0, 1, 2).copy(), "b": b},
               {"y": a @ b}, transBatchA=1, transA=1)
    x, w, c = normal(5, 4), normal(6, 4), normal(6)
    product = 0.5 * x @ w.T + 2 * c
    yield Case("gemm_relu", "FusedGemm", {"a": x, "b": w, "c": c}, {"y": np.maximum(product, 0)},
               ("b", "c"), alpha=0.5, beta=2.0, transB=1, activation="Relu")
    yield Case("gemm_leaky", "FusedGemm", {"a": x, "b": w, "c": c},
               {"y": np.where(product < 0, 0.3 * product, product).astype(np.float32)}, ("b", "c"),
               alpha=0.5, beta=2.0, transB=1, activation="LeakyRelu", activation_alpha=0.3)
    image, kernel, bias = normal(2, 4, 5, 6), normal(3, 4, 1, 1), normal(3)
    conv = np.einsum("nchw,mc->nmhw", image, kernel[:, :, 0, 0]) + bias[:, None, None]
    addend = normal(*conv.shape)
    for name, parameters, y in (("Relu", None, np.maximum(conv, 0)),
                                ("LeakyRelu", [0.2], np.where(conv < 0, 0.2 * conv, conv)),
                                ("Clip", [-0.5, 0.75], np.clip(conv, -0.5, 0.75)),
                                ("HardSigmoid", [0.3, 0.4], np.clip(0.3 * conv + 0.4, 0, 1)),
                                ("Tanh", None, np.tanh(conv)), ("Sigmoid", None, sigmoid(conv))):
        given = {"activation_params": parameters} if parameters else {}
        yield Case(f"conv_{name}", "FusedConv", {"x": image, "w": kernel, "b": bias},
                   {"y": y.astype(np.float32)}, ("w", "b"), activation=name, **given)
    yield Case("conv_sum", "FusedConv", {"x": image, "w": kernel, "b": bias, "z": addend},
               {"y": np.maximum(conv + addend, 0)}, ("w", "b"), activation="Relu")


def pack(values, bits):
    """[rows, n] small integers as bytes, the first in the low bits."""
    per = 8 // bits
    padded = np.pad(values, ((0, 0), (0, -values.shape[1] % per)))
    parts = padded.reshape(values.shape[0], -1, per).astype(np.uint32)
    return (parts << (np.arange(per) * bits)).sum(-1).astype(np.uint8)


def n_bits_case(name, bits, k, n, block, zeros, constants, groups=None, bias=None):
    blocks = -(-k // block)
    q = RANDOM.integers(0, 2**bits, (n, blocks * block))
    scales = (0.1 * (1 + RANDOM.random((n, blocks)))).astype(np.float32)
    a = normal(2, 3, k)
    points, given = np.full((n, blocks), 2.0**(bits - 1)), None
    if zeros == "packed":
        whole = RANDOM.integers(0, 2**bits, (n, blocks))
        points, given = whole, pack(whole, bits)
    if zeros == "float":
        given = (2.0**(bits - 1) + normal(n, blocks)).astype(np.float32)
        points = given
    place = (np.arange(blocks * block) // block if groups is None
             else np.pad(groups, (0, blocks * block - k)))
    weights = ((q - points[:, place]) * scales[:, place])[:, :k]
    y = a.astype(np.float64) @ weights.T + (0 if bias is None else bias)
    inputs = {"a": a, "b": pack(q, bits).reshape(n, blocks, -1), "s": scales, "z": given,
              "g": groups, "c": bias}
    while list(inputs.values())[-1] is None:
        inputs.popitem()
    return Case(name, "MatMulNBits", inputs, {"y": y.astype(np.float32)},
                tuple(c for c in constants if inputs.get(c) is not None), tolerance=1e-4, K=k, N=n,
                bits=bits, block_size=block)


def quantized_products():
    weights = ("b", "s", "z", "g", "c")
    for bits in (2, 4, 8):
        for zeros in ("none", "packed", "float"):
            yield n_bits_case(f"bits_{bits}_{zeros}", bits, 64, 5, 32, zeros, weights)
        yield n_bits_case(f"bits_{bits}_odd", bits, 40, 3, 16, "packed", weights)
    yield n_bits_case("bits_fed", 4, 40, 3, 16, "packed", ())
    yield n_bits_case("bits_bias", 4, 64, 5, 32, "packed", weights, bias=normal(5))
    yield n_bits_case("bits_groups", 4, 64, 5, 32, "packed", weights,
                      groups=RANDOM.integers(0, 2, 64).astype(np.int32))
    a, b = normal(2, 3, 8), RANDOM.integers(-128, 128, (8, 5)).astype(np.int8)
    low, high = min(a.min(), 0), max(a.max(), 0)
    step = np.float32((high - low) / 255)
    zero = np.clip(np.rint(-low / step), 0, 255)
    quantized = np.clip(np.rint(a / step) + zero, 0, 255)
    for name, scale, point, bias in (("one", np.float32([0.02]), None, None),
                                     ("columns", normal(5)**2, np.int8([1, -2, 3, 0, 5]),
                                      normal(5))):
        sums = (quantized - zero) @ (b.astype(np.float64) - (0 if point is None else point))
        y = sums * step * scale + (0 if bias is None else bias)
        inputs = {"a": a, "b": b, "s": scale, "z": point, "c": bias}
        yield Case(f"dynamic_{name}", "DynamicQuantizeMatMul", inputs, {"y": y.astype(np.float32)},
                   tuple(c for c in ("b", "s", "z", "c") if inputs[c] is not None))


def lstm(x, w, r, b):
    """ONNX's LSTM in one direction, in double precision: all states h, and the last c."""
    split = lambda sums: np.split(sums, 4)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    hidden = r.shape[1]
    h, c = np.zeros(hidden), np.zeros(hidden)
    rows = []
    for step in x:
        i, o, f, g = split(w @ step + r @ h + b[:4 * hidden] + b[4 * hidden:])
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        rows.append(h)
    return np.stack(rows), c


def quantized_cells():
    steps, size, hidden = 3, 4, 5
    for name, spread in (("direction", ()), ("columns", (4 * hidden,))):
        x, b = normal(steps, 1, size), normal(1, 8 * hidden)
        w, r = (RANDOM.integers(-128, 128, (1, rows, 4 * hidden)).astype(np.int8)
                for rows in (size, hidden))
        scales = [np.full((1, *spread), 0.01, np.float32) + normal(1, *spread)**2 * 0.002
                  for _ in range(2)]
        points = [RANDOM.integers(-9, 9, (1, *spread)).astype(np.int8) for _ in range(2)]
        real = [((q[0].astype(np.float64) - z[0]) * s[0]).T
                for q, s, z in zip((w, r), scales, points)]
        y, c = lstm(x[:, 0].astype(np.float64), *real, b[0].astype(np.float64))
        inputs = {"x": x, "w": w, "r": r, "b": b, "l": None, "h": None, "c": None, "p": None,
                  "ws": scales[0], "wz": points[0], "rs": scales[1], "rz": points[1]}
        yield Case(f"lstm_{name}", "DynamicQuantizeLSTM", inputs,
                   {"y": y[:, None, None].astype(np.float32),
                    "yh": y[None, -1:].astype(np.float32), "yc": c[None, None].astype(np.float32)},
                   ("w", "r", "b", "ws", "wz", "rs", "rz"), hidden_size=hidden)


def quantize(x, scale, zero):
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + float(zero), limits.min, limits.max).astype(zero.dtype)


def dequantize(q, scale, zero):
    return (q.astype(np.float32) - np.float32(zero)) * scale


def quantized_elementwise():
    scale, other, out = np.float32(0.05), np.float32(0.03), np.float32(0.07)
    for kind in (np.uint8, np.int8):
        limits = np.iinfo(kind)
        a, b = (RANDOM.integers(limits.min, limits.max + 1, (2, 4, 6, 8)).astype(kind)
                for _ in range(2))
        za, zb, zc = (np.asarray(v, kind) for v in (3, 7, 5))
        real, second, name = dequantize(a, scale, za), dequantize(b, other, zb), np.dtype(kind).name
        pair = {"a": a, "sa": scale, "za": za, "b": b, "sb": other, "zb": zb, "sc": out, "zc": zc}
        quantities = ("sa", "za", "sb", "zb", "sc", "zc")
        yield Case(f"add_{name}", "QLinearAdd", pair, {"y": quantize(real + second, out, zc)},
                   quantities, steps=1)
        yield Case(f"mul_{name}", "QLinearMul", pair, {"y": quantize(real * second, out, zc)},
                   quantities, steps=1)
        one = {"x": a, "sx": scale, "zx": za, "sy": out, "zy": zc}
        given = ("sx", "zx", "sy", "zy")
        fine = {**one, "sy": np.float32(1 / 256), "zy": np.asarray(limits.min, kind)}
        yield Case(f"sigmoid_{name}", "QLinearSigmoid", fine,
                   {"y": quantize(sigmoid(real), 1 / 256, fine["zy"])}, given, steps=1)
        yield Case(f"leaky_{name}", "QLinearLeakyRelu", one,
                   {"y": quantize(np.where(real < 0, 0.2 * real, real), out, zc)}, given, steps=1,
                   alpha=0.2)
        yield Case(f"softmax_{name}", "QLinearSoftmax", fine,
                   {"y": quantize(softmax(real, 1), 1 / 256, fine["zy"])}, given, steps=1, axis=1,
                   opset=13)
        flat = softmax(real.reshape(8, -1)).reshape(real.shape)
        yield Case(f"softmax_old_{name}", "QLinearSoftmax", fine,
                   {"y": quantize(flat, 1 / 256, fine["zy"])}, given, steps=1, axis=2, opset=11)
        yield Case(f"global_{name}", "QLinearGlobalAveragePool", one,
                   {"y": quantize(real.mean((2, 3), keepdims=True), out, zc)}, given, steps=1,
                   channels_last=0)
        last = quantize(real.mean((1, 2), keepdims=True), out, zc)
        yield Case(f"global_last_{name}", "QLinearGlobalAveragePool", one, {"y": last}, given,
                   steps=1, channels_last=1)
        pooled = real.reshape(2, 4, 3, 2, 4, 2).mean((3, 5))
        yield Case(f"pool_{name}", "QLinearAveragePool", one, {"y": quantize(pooled, out, zc)},
                   given, steps=1, kernel_shape=[2, 2], strides=[2, 2])
        parts = {"so": out, "zo": zc, "a": a, "sa": scale, "za": za, "b": b, "sb": other, "zb": zb}
        joint = quantize(np.concatenate([real, second], 1), out, zc)
        yield Case(f"concat_{name}", "QLinearConcat", parts, {"y": joint},
                   ("so", "zo", "sa", "za", "sb", "zb"), steps=1, axis=1)
    x = normal(3, 4)
    per, points = np.float32([0.1, 0.2, 0.3, 0.4]), np.uint8([1, 2, 3, 4])
    q = np.clip(np.rint(x / per) + points, 0, 255).astype(np.uint8)
    yield Case("quantize", "QuantizeLinear", {"x": x, "s": per, "z": points}, {"y": q}, ("s", "z"),
               axis=1)
    yield Case("dequantize", "DequantizeLinear", {"x": q, "s": per, "z": points},
               {"y": dequantize_columns(q, per, points)}, ("s", "z"), axis=1)


def quantized_matrices():
    a_scale, a_zero, out, out_zero = (np.float32(0.04), np.uint8(9), np.float32(0.3), np.uint8(100))
    a = RANDOM.integers(0, 256, (3, 8)).astype(np.uint8)
    b = RANDOM.integers(-128, 128, (8, 5)).astype(np.int8)
    bias = RANDOM.integers(-900, 900, 5).astype(np.int32)
    for name, b_scale, b_zero in (("one", np.float32(0.02), np.int8(3)),
                                  ("columns", (normal(5)**2 * 0.05 + 0.01).astype(np.float32),
                                   np.int8([1, -2, 3, 0, 5]))):
        real = dequantize(a, a_scale, a_zero) @ dequantize_columns(b, b_scale, b_zero)
        c = normal(5)
        yield Case(f"to_float_{name}", "MatMulIntegerToFloat",
                   {"a": a, "b": b, "as": a_scale, "bs": b_scale, "az": a_zero, "bz": b_zero,
                    "c": c}, {"y": (real + c).astype(np.float32)},
                   ("b", "as", "bs", "az", "bz", "c"))
        for turned in (0, 1):
            y = 0.5 * real + bias * (0.5 * a_scale * b_scale)
            given = {"a": a.T if turned else a, "as": a_scale, "az": a_zero,
                     "b": np.ascontiguousarray(b.T) if turned else b, "bs": b_scale, "bz": b_zero,
                     "c": bias}
            given["a"] = np.ascontiguousarray(given["a"])
            constants = tuple(key for key in given if key != "a")
            attributes = {"alpha": 0.5, "transA": turned, "transB": turned}
            yield Case(f"qgemm_{name}_{turned}", "QGemm", given, {"y": y.astype(np.float32)},
                       constants, **attributes)
            yield Case(f"qgemm_{name}_{turned}_quantized", "QGemm",
                       {**given, "ys": out, "yz": out_zero}, {"y": quantize(y, out, out_zero)},
                       (*constants, "ys", "yz"), steps=1, **attributes)


def forerunners():
    """Operators that ONNX has in this or another form."""
    x, y = normal(4, 6), normal(5, 6)
    squares = ((x[:, None] - y[None])**2).sum(2)
    yield Case("cdist", "CDist", {"x": x, "y": y}, {"z": squares})
    yield Case("cdist_euclidean", "CDist", {"x": x, "y": y}, {"z": np.sqrt(squares)},
               metric="euclidean")
    for axis in (0, -1):
        yield Case(f"expand_dims_{axis}", "ExpandDims", {"x": x, "axis": np.int32(axis)},
                   {"y": np.expand_dims(x, axis)}, ("axis",))
    yield Case("trilu", "Trilu", {"x": x, "k": None}, {"y": np.triu(x)})
    yield Case("trilu_lower", "Trilu", {"x": x, "k": np.int64(1)}, {"y": np.tril(x, 1)}, ("k",),
               upper=0)
    yield Case("unique", "Unique", {"x": np.float32([2, 1, 1, 3, 4, 3])},
               {"y": np.float32([2, 1, 3, 4]), "places": np.int64([0, 1, 1, 2, 3, 2]),
                "counts": np.int64([1, 2, 2, 1])})
    for size in (1, 3, 6):
        matrices = normal(2, 3, size, size) + 3 * np.eye(size, dtype=np.float32)
        for name, dtype in (("f32", np.float32), ("f16", np.float16)):
            given = matrices.astype(dtype)
            inverses = np.linalg.inv(given.astype(np.float64))
            yield Case(f"inverse_{size}_{name}", "Inverse", {"x": given},
                       {"y": inverses.astype(dtype)}, (), 2e-5 if dtype == np.float32 else 2e-3)
    grid = np.float32([[[[-1, -1], [1, 1]], [[0, 0], [-1, 1]]]])
    image = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    for mode in ("bilinear", "nearest", "bicubic"):
        yield Case(f"grid_{mode}", "GridSample", {"x": image, "grid": grid},
                   {"y": np.float32([[[[0, 8], [4, 6]]]])}, mode=mode, align_corners=1)
    pixels = RANDOM.integers(-128, 128, (2, 6, 8, 3)).astype(np.int8)
    yield Case("nhwc_max_pool", "NhwcMaxPool", {"x": pixels},
               {"y": pixels.reshape(2, 3, 2, 4, 2, 3).max((2, 4))}, kernel_shape=[2, 2],
               strides=[2, 2])
    keep = RANDOM.integers(0, 2, (3, 4)).astype(bool)
    one, other = (RANDOM.integers(0, 256, (3, 4)).astype(np.uint8) for _ in range(2))
    quantities = {"xs": np.float32(0.1), "xz": np.uint8(7), "ys": np.float32(0.2),
                  "yz": np.uint8(90), "zs": np.float32(0.15), "zz": np.uint8(50)}
    real = np.where(keep, dequantize(one, quantities["xs"], quantities["xz"]),
                    dequantize(other, quantities["ys"], quantities["yz"]))
    yield Case("where", "QLinearWhere",
               {"keep": keep, "x": one, "xs": quantities["xs"], "xz": quantities["xz"], "y": other,
                **{key: quantities[key] for key in ("ys", "yz", "zs", "zz")}},
               {"z": quantize(real, quantities["zs"], quantities["zz"])}, tuple(quantities),
               steps=1)


def gathered_blocks():
    """Rows of a table of bytes, or of two elements in a byte, in blocks of 16 along axis 1."""
    at = np.int64([[5, 0], [3, 3]])
    scales = RANDOM.uniform(0.01, 0.2, (6, 2)).astype(np.float32)
    elements = RANDOM.integers(0, 256, (6, 32)).astype(np.uint8)
    for bits, zeros in ((8, RANDOM.integers(100, 150, (6, 2)).astype(np.uint8)), (8, None),
                        (4, None)):
        table = elements >> (8 - bits)
        offsets = np.full((6, 2), 1 << (bits - 1)) if zeros is None else zeros
        real = ((table.astype(np.float32) - np.repeat(offsets, 16, 1)) *
                np.repeat(scales, 16, 1)).astype(np.float32)
        data = table if bits == 8 else table[:, ::2] | table[:, 1::2] << 4
        yield Case(f"{bits}_bits_{zeros is None}", "GatherBlockQuantized",
                   {"data": data, "at": at, "scales": scales, "zeros": zeros}, {"y": real[at]},
                   ("data", "scales", *(["zeros"] if zeros is not None else [])),
                   block_size=16, bits=bits)


def dequantize_columns(q, scale, zero):
    return (q.astype(np.float32) - zero.astype(np.float32)) * scale


def rotate(x, cos, sin, positions, interleaved=False):
    """x [batch, heads, sequence, size]."""
    half = cos.shape[1]
    c, s = cos[positions][:, None], sin[positions][:, None]
    y = x.copy()
    first, second = ((x[..., 0:2 * half:2], x[..., 1:2 * half:2]) if interleaved
                     else (x[..., :half], x[..., half:2 * half]))
    a, b = c * first - s * second, s * first + c * second
    if interleaved:
        y[..., 0:2 * half:2], y[..., 1:2 * half:2] = a, b
    else:
        y[..., :half], y[..., half:2 * half] = a, b
    return y


def heads_of(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def joined(x):
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(x.shape[0], x.shape[2], -1)


def attend(q, k, v, added=0.0, scale=None, cap=0.0, sink=None):
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, 1).astype(np.float64), np.repeat(v, groups, 1).astype(np.float64)
    scores = (q.astype(np.float64) @ k.swapaxes(2, 3)) * (scale or 1 / np.sqrt(q.shape[-1]))
    if cap:
        scores = cap * np.tanh(scores / cap)
    scores = scores + added
    if sink is not None:
        column = np.broadcast_to(np.asarray(sink, np.float64).reshape(1, -1, 1, 1),
                                 scores.shape[:3] + (1,))
        return (softmax(np.concatenate([scores, column], -1))[..., :-1] @ v).astype(np.float32)
    return (softmax(scores) @ v).astype(np.float32)


def causal(queries, keys):
    past = keys - queries
    return np.where(np.arange(keys) <= np.arange(queries)[:, None] + past, 0, -np.inf)


def rotary():
    angles = RANDOM.random((10, 4)).astype(np.float32)
    cos, sin = np.cos(angles), np.sin(angles)
    x = normal(2, 3, 16)  # 2 heads of 8
    ids = np.array([[1, 2, 3], [4, 0, 9]], np.int64)
    offset = np.array([2], np.int64)
    tables = ("c", "s")
    for name, positions, flag in (("ids", ids, 0), ("offset", offset, 0), ("interleaved", ids, 1)):
        rows = positions if positions.ndim == 2 else np.tile(np.arange(3) + 2, (2, 1))
        y = rotate(heads_of(x, 2), cos, sin, rows, bool(flag))
        given = {"x": x, "p": positions, "c": cos, "s": sin}
        yield Case(f"rotary_{name}", "RotaryEmbedding", given, {"y": joined(y)}, tables,
                   interleaved=flag)
        yield Case(f"rotary_{name}_4d", "RotaryEmbedding", {**given, "x": heads_of(x, 2).copy()},
                   {"y": y}, tables, interleaved=flag)
    yield Case("rotary_part", "RotaryEmbedding",
               {"x": x, "p": ids, "c": cos[:, :2].copy(), "s": sin[:, :2].copy()},
               {"y": joined(rotate(heads_of(x, 2), cos[:, :2], sin[:, :2], ids))}, tables,
               num_heads=2, rotary_embedding_dim=4)


def self_attention():
    x, w, b = normal(2, 3, 6), normal(6, 24), normal(24)
    q, k, v = (heads_of(part, 2) for part in np.split(x @ w + b, 3, -1))
    weights, base = ("w", "b"), {"x": x, "w": w, "b": b}
    yield Case("self", "Attention", base, {"y": joined(attend(q, k, v))}, weights, num_heads=2)
    yield Case("self_causal", "Attention", base, {"y": joined(attend(q, k, v, causal(3, 3), 0.4))},
               weights, num_heads=2, unidirectional=1, scale=0.4)
    rows = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    blocked = np.where(rows == 0, -10000.0, 0)[:, None, None]
    y = joined(attend(q, k, v, blocked))
    yield Case("self_rows", "Attention", {**base, "m": rows}, {"y": y}, weights, num_heads=2)
    yield Case("self_ends", "Attention", {**base, "m": np.int32([2, 3])}, {"y": y}, weights,
               num_heads=2)
    middle = np.where(np.array([[1, 1, 0], [0, 1, 1]]) == 0, -10000.0, 0)[:, None, None]
    yield Case("self_ends_starts", "Attention", {**base, "m": np.int32([2, 3, 0, 1])},
               {"y": joined(attend(q, k, v, middle))}, weights, num_heads=2)
    square = RANDOM.integers(0, 2, (2, 3, 3)).astype(np.int32)
    square[:, :, 0] = 1
    yield Case("self_square", "Attention", {**base, "m": square},
               {"y": joined(attend(q, k, v, np.where(square == 0, -10000.0, 0)[:, None]))},
               weights, num_heads=2)
    bias = normal(1, 2, 3, 3)
    yield Case("self_bias", "Attention", {**base, "m": None, "past": None, "e": bias},
               {"y": joined(attend(q, k, v, bias))}, weights, num_heads=2)
    past = normal(2, 2, 2, 4, 4)
    keys, values = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    yield Case("self_past", "Attention", {**base, "m": None, "past": past},
               {"y": joined(attend(q, keys, values, causal(3, 7))),
                "present": np.stack([keys, values])}, weights, num_heads=2, unidirectional=1)
    wide, shift = normal(6, 8 + 8 + 4), normal(20)
    q2, k2, v2 = (heads_of(part, 2) for part in np.split(x @ wide + shift, [8, 16], -1))
    yield Case("self_sizes", "Attention", {"x": x, "w": wide, "b": shift},
               {"y": joined(attend(q2, k2, v2))}, weights, num_heads=2, qkv_hidden_sizes=[8, 8, 4])
    xq, wq = (RANDOM.integers(0, 256, (2, 3, 6)).astype(np.uint8),
              RANDOM.integers(-100, 100, (6, 24)).astype(np.int8))
    scales, zero = (np.float32(0.01), np.float32(0.02)), np.uint8(120)
    real = (xq.astype(np.float64) - 120) @ wq * (0.01 * 0.02) + b
    q, k, v = (heads_of(part, 2) for part in np.split(real.astype(np.float32), 3, -1))
    yield Case("quantized_self", "QAttention", {"x": xq, "w": wq, "b": b, "sx": scales[0], "sw":
                                                scales[1], "m": rows, "zx": zero, "zw": np.int8(0)},
               {"y": joined(attend(q, k, v, blocked))}, ("w", "b", "sx", "sw", "zx", "zw"),
               num_heads=2)


def multi_head():
    q, k, v, bias = normal(2, 3, 8), normal(2, 5, 8), normal(2, 5, 4), normal(20)
    parts = (heads_of(x, 2) for x in (q, k, v))
    hq, hk, hv = parts
    yield Case("heads", "MultiHeadAttention", {"q": q, "k": k, "v": v},
               {"y": joined(attend(hq, hk, hv))}, num_heads=2)
    bq, bk, bv = heads_of(q + bias[:8], 2), heads_of(k + bias[8:16], 2), heads_of(v + bias[16:], 2)
    yield Case("heads_bias", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": bias},
               {"y": joined(attend(bq, bk, bv)), "pk": bk, "pv": bv}, ("b",), num_heads=2)
    rows = RANDOM.integers(0, 2, (2, 5)).astype(np.int32)
    rows[:, 1] = 1
    extra = normal(2, 1, 3, 5)
    added = np.where(rows == 0, -10000.0, 0)[:, None, None] + extra
    yield Case("heads_mask",
               "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": None, "m": rows, "e": extra},
               {"y": joined(attend(hq, hk, hv, added, 0.3))}, num_heads=2, scale=0.3)
    ends = np.where(np.arange(5) < np.array([[4], [2]]), 0, -10000.0)[:, None, None]
    yield Case("heads_ends",
               "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": None, "m": np.int32([4, 2])},
               {"y": joined(attend(hq, hk, hv, ends))}, num_heads=2)
    cached = normal(2, 2, 5, 4)
    for name, given, query in (("", {}, hq), ("_bias", {"b": np.pad(bias[:8], (0, 16))},
                                              heads_of(q + bias[:8], 2))):
        yield Case(f"heads_cached{name}", "MultiHeadAttention",
                   {"q": q, "k": hk.copy(), "v": cached, **given},
                   {"y": joined(attend(query, hk, cached))}, num_heads=2)
    x = normal(2, 3, 2, 3, 4)
    packed = [x[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3)]
    yield Case("heads_packed", "MultiHeadAttention", {"q": x}, {"y": joined(attend(*packed))},
               num_heads=2)
    kv = normal(2, 5, 2, 2, 4)
    pair = [kv[:, :, :, i].transpose(0, 2, 1, 3) for i in range(2)]
    yield Case("heads_packed_kv", "MultiHeadAttention", {"q": q, "k": kv},
               {"y": joined(attend(hq, *pair))}, num_heads=2)
    new_k, new_v, past_k, past_v = (normal(2, 3, 8), normal(2, 3, 8), normal(2, 2, 4, 4),
                                    normal(2, 2, 4, 4))
    keys = np.concatenate([past_k, heads_of(new_k, 2)], 2)
    values = np.concatenate([past_v, heads_of(new_v, 2)], 2)
    yield Case("heads_past", "MultiHeadAttention",
               {"q": q, "k": new_k, "v": new_v, "b": None, "m": None, "e": None, "past_k": past_k,
                "past_v": past_v}, {"y": joined(attend(hq, keys, values, causal(3, 7))), "pk": keys,
                                    "pv": values}, num_heads=2, unidirectional=1)


def filled(past, new, length):
    """The buffer of the past with the new rows behind its first `length` ones."""
    present = past.copy()
    present[:, :, length:length + new.shape[2]] = new
    return present


def shared_buffers():
    """Past and present in one buffer of 9 rows, 4 of them valid. The rows behind hold what must not
    be seen."""
    q, k, v, bias = normal(2, 3, 8), normal(2, 3, 8), normal(2, 3, 4), normal(20)
    past_k, past_v = normal(2, 2, 9, 4), normal(2, 2, 9, 2)
    past_k[:, :, 4:], past_v[:, :, 4:] = 100, 1e6
    length, pair = np.int32([4]), ("pk", "pv")
    for name, used, flag in (("", np.zeros(20, np.float32), 0), ("_bias", bias, 0),
                             ("_causal", bias, 1)):
        hq, hk, hv = (heads_of(x + b, 2) for x, b in zip((q, k, v), np.split(used, [8, 16])))
        present = filled(past_k, hk, 4), filled(past_v, hv, 4)
        keys, values = (x[:, :, :7] for x in present)
        given = {"q": q, "k": k, "v": v, "b": used if name else None, "m": None, "e": None,
                 "past_k": past_k, "past_v": past_v, "n": length}
        y = joined(attend(hq, keys, values, causal(3, 7) if flag else 0))
        yield Case(f"shared{name}", "MultiHeadAttention", given,
                   {"y": y, **dict(zip(pair, present))}, num_heads=2, unidirectional=flag)
    rows, extra = RANDOM.integers(0, 2, (2, 7)).astype(np.int32), normal(1, 2, 3, 7)
    rows[:, 1] = 1
    added = np.where(rows == 0, -10000.0, 0)[:, None, None] + extra
    given = {**given, "b": None, "m": rows, "e": extra}
    hq, hk, hv = (heads_of(x, 2) for x in (q, k, v))
    present = filled(past_k, hk, 4), filled(past_v, hv, 4)
    keys, values = (x[:, :, :7] for x in present)
    wanted = {"y": joined(attend(hq, keys, values, added)), **dict(zip(pair, present))}
    yield Case("shared_mask", "MultiHeadAttention", given, wanted, num_heads=2)
    whole = np.concatenate([rows, np.ones((2, 2), np.int32)], 1)  # of the buffer's length
    yield Case("shared_whole_mask", "MultiHeadAttention", {**given, "m": whole}, wanted,
               num_heads=2)
    yield Case("shared_constant", "MultiHeadAttention", given, wanted, ("n",), num_heads=2)
    yield Case("shared_output_alone", "MultiHeadAttention", given, {"y": wanted["y"]}, num_heads=2)
    start = {**given, "m": None, "e": None, "n": np.array(0, np.int32)}
    present = filled(past_k, hk, 0), filled(past_v, hv, 0)
    yield Case("shared_prompt", "MultiHeadAttention", start,
               {"y": joined(attend(hq, hk, hv, causal(3, 3))), **dict(zip(pair, present))},
               num_heads=2, unidirectional=1)


def of_beams(buffer, beams, length):
    """The rows of each beam: the first `length` of them lie in the beams of its batch that `beams`
    [batch, beams, rows] names."""
    result = buffer.copy()
    for batch in range(beams.shape[0]):
        for beam in range(beams.shape[1]):
            for row in range(length):
                result[batch * beams.shape[1] + beam, :,
                       row] = buffer[batch * beams.shape[1] + beams[batch, beam, row], :, row]
    return result


def decoder_masked():
    q, bias = normal(4, 1, 8), normal(24)
    cross_k, cross_v = normal(4, 2, 5, 4), normal(4, 2, 5, 4)
    rows = RANDOM.integers(0, 2, (4, 5)).astype(np.int32)
    rows[:, 1] = 1
    y = joined(attend(heads_of(q + bias[:8], 2), cross_k, cross_v,
                      np.where(rows == 0, -10000.0, 0)[:, None, None], 0.3))
    absent = {"e": None, "past_k": None, "past_v": None, "n": None, "w": None, "i": None}
    yield Case("decoder_across", "DecoderMaskedMultiHeadAttention",
               {"q": q, "k": cross_k, "v": cross_v, "m": rows, **absent, "b": bias}, {"y": y},
               num_heads=2, scale=0.3)
    k, v, past_k, past_v = normal(4, 1, 8), normal(4, 1, 8), normal(4, 2, 9, 4), normal(4, 2, 9, 4)
    past_k[:, :, 5:], past_v[:, :, 5:] = 100, 1e6
    beams = RANDOM.integers(0, 2, (2, 2, 9)).astype(np.int32)
    rows, extra = RANDOM.integers(0, 2, (4, 6)).astype(np.int32), normal(1, 2, 1, 6)
    rows[:, 2] = 1
    blocked = np.where(rows == 0, -10000.0, 0)[:, None, None]
    hq, hk, hv = (heads_of(x, 2) for x in (q, k, v))
    bq, bk, bv = (heads_of(x + b, 2) for x, b in zip((q, k, v), np.split(bias, 3)))
    base = {"q": q, "k": k, "v": v, "m": None, "e": None, "past_k": past_k, "past_v": past_v,
            "n": np.int32([5])}
    beam = {"w": np.int32([2]), "i": beams}
    packed = {"q": np.concatenate([q, k, v], -1), "k": None, "v": None}
    for name, given, (a, b, c), added in (
            ("", {}, (hq, hk, hv), 0),
            ("_masked", {"m": rows, "e": extra}, (hq, hk, hv), blocked + extra),
            ("_bias", {"w": None, "i": None, "b": bias}, (bq, bk, bv), 0),
            ("_packed", packed, (hq, hk, hv), 0), ("_beams", beam, (hq, hk, hv), 0),
            ("_beams_all", {"m": rows, **beam, "b": bias}, (bq, bk, bv), blocked)):
        present = filled(past_k, b, 5), filled(past_v, c, 5)
        keys, values = present if "i" not in given or given["i"] is None else (of_beams(x, beams, 5)
                                                                               for x in present)
        yield Case(f"decoder{name}", "DecoderMaskedMultiHeadAttention", {**base, **given},
                   {"y": joined(attend(a, keys[:, :, :6], values[:, :, :6], added)),
                    "pk": present[0], "pv": present[1]}, num_heads=2, past_present_share_buffer=1)


def group_case(name, batch, sequence, past, lengths=None, rotates=False, packed=False, window=-1,
               bias=None, sink=None, smooth=0, cap=0.0, interleaved=0, positions=None, norms=False,
               capacity=None, known=False):
    """4 query heads, 2 key heads of size 16. lengths: keys of each row, all of them unless given.
    room: the rows of a buffer that past and present share; known: total_sequence_length is an
    initializer."""
    q, k, v = normal(batch, sequence, 64), normal(batch, sequence, 32), normal(batch, sequence, 32)
    past_k, past_v = normal(batch, 2, capacity or past, 16), normal(batch, 2, capacity or past, 16)
    angles = RANDOM.random((16, 8)).astype(np.float32)
    cos, sin = np.cos(angles), np.sin(angles)
    lengths = np.full(batch, past + sequence) if lengths is None else np.asarray(lengths)
    start = np.maximum(lengths - sequence, 0)
    hq, hk, hv = heads_of(q, 4), heads_of(k, 2), heads_of(v, 2)
    weights = (normal(16), normal(16)) if norms else (None, None)
    if norms:
        hq, hk = rms_norm(hq, weights[0], 1e-6), rms_norm(hk, weights[1], 1e-6)
    if rotates:
        rows = start[:, None] + np.arange(sequence) if positions is None else positions
        hq, hk = rotate(hq, cos, sin, rows, bool(interleaved)), rotate(hk, cos, sin, rows,
                                                                       bool(interleaved))
    keys, values = (past_k.copy(), past_v.copy()) if capacity else (np.concatenate([past_k, hk], 2),
                                                                    np.concatenate([past_v, hv], 2))
    for b in range(batch):
        keys[b, :, start[b]:start[b] + sequence], values[b, :, start[b]:start[b] +
                                                         sequence] = (hk[b], hv[b])
    last = start[:, None, None] + np.arange(sequence)[:, None]
    places = np.arange(keys.shape[2])
    keep = places <= last
    if window >= 0:
        keep &= places > last - window
    added = np.where(keep, 0, -np.inf)[:, None]
    if bias is not None:
        added = added + np.pad(bias, ((0, 0), (0, 0), (0, 0), (0, keys.shape[2] - bias.shape[3])))
    y = joined(attend(hq, keys, values, added, None, cap, np.zeros(4) if smooth else sink))
    for b in range(batch):  # what lies behind a row's keys is not specified
        keys[b, :, lengths[b]:] = values[b, :, lengths[b]:] = np.nan
    inputs = {"q": np.concatenate([q, k, v], -1) if packed else q, "k": None if packed else k,
              "v": None if packed else v, "past_k": past_k if past or capacity else None, "past_v":
              past_v if past or capacity else None, "lengths": (lengths - 1).astype(np.int32),
              "total": np.int32(lengths.max()), "c": cos if rotates else None, "s": sin if rotates
              else None, "positions": positions, "bias": bias, "sink": sink, "k_scale": None,
              "v_scale": None, "qn": weights[0], "kn": weights[1]}
    while list(inputs.values())[-1] is None:
        inputs.popitem()
    options = {"softcap": cap} if cap else {}
    case = Case(f"group_{name}", "GroupQueryAttention", inputs, {"y": y, "pk": keys, "pv": values},
                tuple(c for c in ("c", "s", "qn", "kn") + (("total",) if known else ())
                      if inputs.get(c) is not None),
                num_heads=4, kv_num_heads=2, do_rotary=int(rotates), rotary_interleaved=interleaved,
                local_window_size=window, **options)
    if smooth:
        case.attributes["smooth_softmax"] = 1
    return case


def group_buffers():
    for known in (False, True):
        name = "buffer_known" if known else "buffer"
        yield group_case(f"{name}_prompt", 1, 3, 0, rotates=True, capacity=12, known=known)
        yield group_case(f"{name}_next", 1, 1, 4, rotates=True, capacity=12, known=known)
        yield group_case(f"{name}_ragged", 2, 1, 4, lengths=[5, 3], rotates=True, capacity=12,
                         known=known)
        yield group_case(f"{name}_ragged_prompt", 2, 4, 0, lengths=[4, 2], rotates=True,
                         capacity=12, known=known)
        yield group_case(f"{name}_last", 1, 1, 11, capacity=12, known=known)
        yield group_case(f"{name}_window", 1, 4, 3, window=2, capacity=12, known=known)
        yield group_case(f"{name}_biased", 1, 3, 2, bias=normal(1, 4, 3, 5), capacity=12,
                         known=known)
        yield group_case(f"{name}_smooth", 2, 1, 4, smooth=1, capacity=12, known=known)
    yield group_case("known_next", 1, 1, 4, rotates=True, known=True)
    yield group_case("known_ragged", 2, 1, 4, lengths=[5, 3], known=True)


def group_query():
    yield from group_buffers()
    yield group_case("prompt", 2, 3, 0)
    yield group_case("prompt_rotated", 1, 3, 0, rotates=True)
    yield group_case("next", 1, 1, 4, rotates=True)
    yield group_case("next_batch", 2, 1, 4, rotates=True, interleaved=1)
    yield group_case("ragged", 2, 1, 4, lengths=[5, 3], rotates=True)
    yield group_case("packed", 2, 1, 4, rotates=True, packed=True)
    yield group_case("window", 1, 4, 0, window=2)
    yield group_case("capped", 2, 3, 0, cap=1.5)
    yield group_case("biased", 1, 3, 0, bias=normal(1, 4, 3, 3))
    yield group_case("smooth", 2, 3, 0, smooth=1)
    yield group_case("sink", 2, 1, 4, sink=normal(4))
    yield group_case("positions", 2, 1, 4, rotates=True, positions=np.array([[4], [4]], np.int64))
    yield group_case("normalized", 1, 1, 4, rotates=True, norms=True)


def cases():
    for make in (normalizations, activations, products, quantized_products, quantized_cells,
                 quantized_elementwise, quantized_matrices, gathered_blocks, forerunners,
                 rotary, self_attention, multi_head, shared_buffers, decoder_masked, group_query):
        yield from make()
