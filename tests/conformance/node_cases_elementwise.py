"""Draws nodes whose results are computed element by element."""
import numpy as np
from onnx import TensorProto

from node_cases import (ANY, DTYPES, EPSILON, FLOATS, INTEGERS, NUMBERS, SIGNED, Case, Constant,
                        draws)

# By operator: the range of its argument, and the error allowed.
FUNCTIONS = {"Exp": (-20, 10, 4), "Log": (1e-3, 50, 4), "Erf": (-4, 4, 4), "Sin": (-60, 60, 4),
             "Cos": (-60, 60, 4), "Tan": (-1.4, 1.4, 8), "Asin": (-1, 1, 4), "Acos": (-1, 1, 4),
             "Atan": (-9, 9, 4), "Sinh": (-8, 8, 4), "Cosh": (-8, 8, 4), "Tanh": (-9, 9, 4),
             "Asinh": (-9, 9, 4), "Acosh": (1, 40, 4), "Atanh": (-0.99, 0.99, 4),
             "Sigmoid": (-20, 20, 4), "Softplus": (-20, 20, 8), "Softsign": (-9, 9, 4),
             "Mish": (-9, 9, 16), "HardSwish": (-5, 5, 4), "Sqrt": (0, 90, 1),
             "Reciprocal": (0.1, 9, 1), "Floor": (-9, 9, 0), "Ceil": (-9, 9, 0),
             "Round": (-9, 9, 0)}
EXACT = ("Abs", "Neg", "Sign", "Relu", "Identity")
COMPARISONS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")


@draws(*FUNCTIONS)
def function(g, op):
    low, high, ulps = FUNCTIONS[op]
    dtype = g.pick(FLOATS)
    x = g.array(g.shape(), dtype, low, high, g.special())
    return Case(op, [x], dtype, ulps)


@draws(*EXACT)
def exact(g, op):
    dtype = g.pick({"Neg": FLOATS + SIGNED, "Relu": FLOATS + SIGNED,
                    "Identity": ANY}.get(op, NUMBERS))
    return Case(op, [g.array(g.shape(), dtype, special=g.special())], dtype)


# By operator: its attributes that are floats, with ranges.
ACTIVATIONS = {"HardSigmoid": {"alpha": (0.1, 0.5), "beta": (0.2, 0.6)}, "Elu": {"alpha": (0.2, 2)},
               "Selu": {"alpha": (1, 2), "gamma": (0.5, 2)}, "Celu": {"alpha": (0.5, 2)},
               "LeakyRelu": {"alpha": (0.01, 0.9)}, "ThresholdedRelu": {"alpha": (0.1, 2)},
               "Swish": {"alpha": (0.3, 2)}}


@draws(*ACTIVATIONS)
def activation(g, op):
    dtype = "f32" if op == "Celu" else g.pick(FLOATS)
    attributes = {name: float(np.float32(g.random.uniform(*ends)))
                  for name, ends in ACTIVATIONS[op].items() if g.chance(0.7)}
    return Case(op, [g.array(g.shape(), dtype, special=g.special())], dtype, 8,
                opset=24 if op == "Swish" else 23, **attributes)


@draws("Gelu")
def gelu(g, op):
    dtype = g.pick(FLOATS)
    x, approximate = g.array(g.shape(), dtype), g.pick(["none", "tanh"])
    # ONNX Runtime's constants of this form are f32.
    return Case(op, [x], dtype, 8, approximate=approximate,
                against_ort=(dtype, approximate) != ("f64", "tanh"))


@draws("Shrink")
def shrink(g, op):
    dtype = g.pick(NUMBERS)
    return Case(op, [g.array(g.shape(), dtype)], dtype, 1, against_ort=dtype != "f64",
                lambd=g.pick([0.5, 1.5, 3.0]),
                bias=g.pick([0.0, 1.0, 2.0]))


@draws("Dropout")
def dropout(g, op):
    dtype = g.pick(FLOATS)
    return Case(op, [g.array(g.shape(), dtype), Constant(0.4, np.float32)], dtype,
                outputs=g.pick([1, 2]))


@draws("IsNaN", "IsInf")
def classes(g, op):
    dtype = g.pick(FLOATS)
    attributes = {} if op == "IsNaN" else {"detect_negative": g.between(0, 1),
                                           "detect_positive": g.between(0, 1)}
    return Case(op, [g.array(g.shape(), dtype, special=True)], dtype, **attributes)


@draws("Clip")
def clip(g, op):
    dtype = g.pick(NUMBERS)
    low, high = (-1.5, 2) if dtype in EPSILON else (3, 8)
    ends = [g.given(g.rounded(np.array(end), dtype)) if g.chance(0.8) else None
            for end in (low, high)]
    return Case(op, [g.array(g.shape(), dtype, special=g.special()), *ends], dtype)


@draws("Not")
def negation(g, op):
    return Case(op, [g.array(g.shape(), "bool")], "bool")


@draws("BitwiseNot")
def bitwise_not(g, op):
    dtype = g.pick(INTEGERS)
    return Case(op, [g.array(g.shape(), dtype)], dtype)


def operands(g, dtype, count=2, **how):
    """Arrays that broadcast to one shape; one of them has it."""
    shape = g.shape()
    arrays = [g.array(shape, dtype, **how)]
    arrays += [g.array(g.broadcast(shape), dtype, **how) for _ in range(count - 1)]
    g.random.shuffle(order := list(range(count)))
    return [g.given(arrays[i]) if n == 1 and arrays[i].size < 500 else arrays[i]
            for n, i in enumerate(order)]


@draws("Add", "Sub", "Mul")
def arithmetic(g, op):
    dtype = g.pick(NUMBERS)
    return Case(op, operands(g, dtype, special=g.special()), dtype, 1)


@draws("Max", "Min")
def extremes(g, op):
    dtype = g.pick(NUMBERS)
    return Case(op, operands(g, dtype, g.between(1, 3), special=g.special()), dtype)


@draws("Sum", "Mean")
def folds(g, op):
    dtype = g.pick(FLOATS)
    return Case(op, operands(g, dtype, g.between(1, 4)), dtype, 4)


@draws("Div", "Mod")
def division(g, op):
    dtype = g.pick(NUMBERS)
    shape = g.shape()
    is_float = dtype in EPSILON
    x = g.array(shape, dtype)
    y = g.array(g.broadcast(shape), dtype, 0.3 if is_float else 1, 5 if is_float else 9)
    if is_float or dtype[0] == "i":
        y = (y * g.pick([1, -1])).astype(y.dtype)
    if op == "Div":
        return Case(op, [x, g.given(y)], dtype, 1)
    return Case(op, [x, y], dtype, 1, fmod=1 if is_float else g.between(0, 1))


@draws("Pow")
def power(g, op):
    dtype = g.pick(FLOATS + ["i32", "i64"])
    shape = g.shape()
    is_float = dtype in EPSILON
    x = g.array(shape, dtype, 0.1 if is_float else 0, 4)
    kind = g.pick([dtype, dtype, "i32", "f32"] if dtype in ("f32", "f64") else [dtype])
    y = g.array(g.broadcast(shape), kind, *((-2, 3) if kind in EPSILON else (0, 3)))
    if g.chance(0.3):
        y = Constant(np.asarray(g.pick([2, 3, 1]), y.dtype), y.dtype)
    return Case(op, [x, y], dtype, 16, scale=64)


@draws("PRelu")
def prelu(g, op):
    dtype = g.pick(FLOATS)
    shape = g.shape()
    return Case(op, [g.array(shape, dtype), g.given(g.array(g.broadcast(shape), dtype))], dtype, 1)


@draws("SwiGLU")
def swiglu(g, op):
    dtype = g.pick(FLOATS)
    shape = g.shape()
    return Case(op, [g.array(shape, dtype), g.array(shape, dtype)], dtype, 16, opset=28)


@draws("And", "Or", "Xor")
def logic(g, op):
    return Case(op, operands(g, "bool"), "bool")


@draws("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bits(g, op):
    dtype = g.pick(INTEGERS)
    return Case(op, operands(g, dtype), dtype)


@draws("BitShift")
def shift(g, op):
    dtype = g.pick(["u8", "u16", "u32", "u64"])
    shape = g.shape()
    return Case(op, [g.array(shape, dtype), g.array(g.broadcast(shape), dtype, 0, 7)], dtype,
                direction=g.pick(["LEFT", "RIGHT"]))


@draws(*COMPARISONS)
def comparison(g, op):
    dtype = g.pick(ANY if op == "Equal" else NUMBERS)
    return Case(op, operands(g, dtype, special=g.special()), dtype)


@draws("Where")
def where(g, op):
    dtype = g.pick(ANY)
    shape = g.shape()
    arrays = [g.array(shape, "bool"), g.array(g.broadcast(shape), dtype, special=g.special()),
              g.array(g.broadcast(shape), dtype)]
    return Case(op, arrays, dtype)


def number_of(dtype):
    return {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16,
            "bf16": TensorProto.BFLOAT16, "i8": TensorProto.INT8, "i16": TensorProto.INT16,
            "i32": TensorProto.INT32, "i64": TensorProto.INT64, "u8": TensorProto.UINT8,
            "u16": TensorProto.UINT16, "u32": TensorProto.UINT32, "u64": TensorProto.UINT64,
            "bool": TensorProto.BOOL}[dtype]


@draws("Cast")
def cast(g, op):
    source, target = g.pick(ANY), g.pick([dtype for dtype in ANY if dtype != "bf16"])
    low = 0 if target[0] == "u" else None  # out of range there is no one answer
    x = g.array(g.shape(), source, low, special=target in EPSILON and g.special())
    return Case(op, [x], source if source == "bf16" else target, to=number_of(target))


@draws("CastLike")
def cast_like(g, op):
    source, target = g.pick([d for d in ANY if d != "bf16"]), g.pick(list(DTYPES))
    low = 0 if target[0] == "u" else None
    return Case(op, [g.array(g.shape(), source, low), g.array([2], target)], target)


@draws("BitCast")
def bit_cast(g, op):
    source, targets = g.pick([("f32", ["i32", "u32"]), ("i32", ["f32", "u32"]),
                              ("f64", ["i64", "u64"]), ("f16", ["i16", "u16"]), ("u8", ["i8"]),
                              ("i16", ["u16"]), ("i64", ["u64"])])
    target = g.pick(targets)
    return Case(op, [g.array(g.shape(), source)], target, opset=26, to=number_of(target))
