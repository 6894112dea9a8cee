"""The models of scripts/bench/contractions: contractions one by one, and attention. Convolutions
are rows of convolution_cases.py.

A row is a name and a function that builds its model from an empty Case. Sizes are those of the
name.
"""
import numpy as np
from onnx import helper

import convolution_cases
from elementwise_cases import Case, type_of

MICROSOFT = "com.microsoft"


class Product(Case):
    """A model under construction whose results may be of any dtype."""

    def bytes(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs,
                                  self.initializers)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="sluice", ir_version=8)
        return model.SerializeToString(deterministic=True)

    def integers(self, dims, dtype=np.uint8, constant=False):
        """An input, or a constant, of integers over their whole range; signed ones have 7 bits,
        since ONNX Runtime's sums of others saturate on CPUs without dot products of bytes."""
        limits = np.iinfo(dtype)
        part = 2 if limits.min < 0 else 1
        draw = lambda random, dims: random.integers(limits.min // part, limits.max // part, dims,
                                                    dtype, endpoint=True)
        if not constant:
            return self.value(dims, dtype, draw)
        name = f"w{len(self.initializers)}"
        return self.initializer(name, draw(self.random(name), dims))


def build(name, make, seed):
    case = Product(name, seed)
    make(case)
    return case


def matmul_integer(a, b, constant, w=np.int8):
    def make(case):
        zeros = [case.constant(np.uint8(120), np.uint8), case.constant(w(3), w)]
        inputs = [case.integers(a), case.integers(b, w, constant), *zeros]
        case.result(case.node("MatMulInteger", inputs), dtype=np.int32)
    return make


def qattention(batch, length, hidden, heads):
    """Quantised projections of a BERT layer and their attention, com.microsoft's operator."""
    def make(case):
        inputs = [case.integers([batch, length, hidden]),
                  case.integers([hidden, 3 * hidden], np.int8, True),
                  case.weight("bias", [3 * hidden], 0.1), case.constant(0.01),
                  case.constant(0.002), "", case.constant(128, np.uint8),
                  case.constant(0, np.int8)]
        case.result(case.node("QAttention", inputs, domain=MICROSOFT, num_heads=heads))
    return make


def dynamic_attention(batch, length, hidden, heads):
    """Attention on projected values, both of whose products are quantised as the model runs."""
    size = hidden // heads
    def make(case):
        query, key, value = (case.value([batch, heads, *dims]) for dims in
                             ([length, size], [size, length], [length, size]))
        scores = dynamic_product(case, query, key)
        weights = case.node("Softmax", [case.node("Mul", [scores, case.constant(size**-0.5)])],
                            axis=-1)
        case.result(dynamic_product(case, weights, value))
    return make


def dynamic_product(case, a, b):
    """A MatMul as dynamic quantisation writes it."""
    (a, a_scale, a_zero), (b, b_scale, b_zero) = (quantized(case, value) for value in (a, b))
    product = case.node("MatMulInteger", [a, b, a_zero, b_zero])
    reals = case.node("Cast", [product], to=type_of(np.float32))
    return case.node("Mul", [reals, case.node("Mul", [a_scale, b_scale])])


def quantized(case, value):
    results = [f"{value}_{part}" for part in ("quantized", "scale", "zero_point")]
    case.nodes.append(helper.make_node("DynamicQuantizeLinear", [value], results))
    return results


def row_product(batch, rows, length, columns, dtype=np.float32):
    """A few rows times transposed columns, such as keys, both given as the model runs."""
    def make(case):
        front = [batch] if batch else []
        turned = [*range(len(front)), len(front) + 1, len(front)]
        b = case.node("Transpose", [case.value([*front, columns, length], dtype)], perm=turned)
        case.result(case.node("MatMul", [case.value([*front, rows, length], dtype), b]),
                    dtype=dtype)
    return make


def row_rows():
    sizes = [(0, 1, 64, 256), (0, 1, 64, 4096), (0, 1, 64, 32000), (0, 1, 128, 1024),
             (0, 1, 512, 2048), (0, 1, 768, 768), (0, 1, 768, 32000), (0, 1, 1024, 4096),
             (0, 1, 4096, 256), (0, 1, 4096, 4096), (12, 1, 64, 512), (0, 2, 768, 768),
             (0, 4, 64, 4096), (0, 4, 1024, 1024), (0, 8, 128, 1024), (0, 16, 768, 768)]
    rows = {"x".join(map(str, [*filter(None, size[:1]), *size[1:]])): row_product(*size)
            for size in sizes}
    rows["1x768x768-f16"] = row_product(0, 1, 768, 768, np.float16)
    return {"rowproduct-" + name: make for name, make in rows.items()}


def integer_rows():
    return {
        "matmulinteger-128x768x768-constant": matmul_integer([128, 768], [768, 768], True),
        "matmulinteger-128x768x768": matmul_integer([128, 768], [768, 768], False),
        "matmulinteger-128x768x768-u8": matmul_integer([128, 768], [768, 768], False, np.uint8),
        "matmulinteger-128x768x3072-constant": matmul_integer([128, 768], [768, 3072], True),
        "matmulinteger-128x768x3072": matmul_integer([128, 768], [768, 3072], False),
        "matmulinteger-1x768x768-constant": matmul_integer([1, 768], [768, 768], True),
        "matmulinteger-1x768x3072-constant": matmul_integer([1, 768], [768, 3072], True),
        "matmulinteger-1x768x3072": matmul_integer([1, 768], [768, 3072], False),
        "matmulinteger-16x768x768-constant": matmul_integer([16, 768], [768, 768], True),
        "matmulinteger-16x768x768": matmul_integer([16, 768], [768, 768], False),
        "matmulinteger-12x128x64x128": matmul_integer([12, 128, 64], [12, 64, 128], False),
        "matmulinteger-12x128x128x64": matmul_integer([12, 128, 128], [12, 128, 64], False),
        "qattention-1x128x768x12": qattention(1, 128, 768, 12),
        "qattention-8x128x768x12": qattention(8, 128, 768, 12),
        "dynamicattention-1x128x768x12": dynamic_attention(1, 128, 768, 12),
    }


def rows():
    return row_rows() | integer_rows() | convolution_cases.rows()
