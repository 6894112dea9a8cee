#!/usr/bin/python3
"""Random convolutions and matrix products over integers of 8 bits: each runs on aicore in one
kernel, for every device profile that this CPU can run, and gives what sluice-eval gives: integers
exactly, quantized results within one step and 99 of 100 the same.

usage: quantised_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import model_of, value, write
from programs import STAGES, ProgramCase, need

PROFILES = {"cpu-avx512bf16": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
                               "avx512_bf16"},
            "cpu-avx512vnni": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"},
            "cpu-avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
            "cpu-avx2": {"avx2", "fma"}, "cpu-generic": set()}
TYPES = {np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8,
         np.dtype(np.int16): TensorProto.INT16, np.dtype(np.uint16): TensorProto.UINT16}


def cpu_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((set(line.split(":")[1].split()) for line in file if line.startswith("flags")),
                    set())


class Model:
    """Independent contractions, each with an input of its own, in one model."""

    def __init__(self, seed, is_open=False):
        self.is_open = is_open  # the first dim of each input is known only when the model runs
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.outputs = [], {}, [], []
        self.values, self.anchors = {}, []

    def draw(self, low, high):
        return int(self.random.integers(low, high + 1))

    def some(self):
        return self.draw(0, 1) == 1

    def constant(self, elements):
        name = f"c{len(self.constants)}"
        self.constants[name] = elements
        return name

    def node(self, op, inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def bytes(self, dtype, *shape):
        info = np.iinfo(dtype)
        return self.random.integers(info.min, info.max + 1, shape, dtype)

    def byte_type(self):
        return np.int8 if self.some() else np.uint8

    def input(self, dtype, *shape):
        name = f"x{len(self.inputs)}"
        dims = [f"N{len(self.inputs)}", *shape[1:]] if self.is_open and shape else shape
        self.inputs.append(value(name, dims, TYPES[np.dtype(dtype)]))
        self.values[name] = self.bytes(dtype, *shape)
        return name

    def output(self, name, dtype):
        self.outputs.append(value(name, None, dtype))

    def scales(self, columns, per_column):
        shape = columns if per_column else ()
        return self.random.uniform(0.005, 0.02, shape).astype(np.float32)

    def zero_points(self, dtype, columns, per_column):
        """Mostly the neutral ones, as exporters write them."""
        shape = (columns,) if per_column else ()
        neutral = np.full(shape, 128 if dtype == np.uint8 else 0, dtype)
        return self.bytes(dtype, *shape) if self.draw(0, 2) == 0 else neutral

    def step(self, reduction):
        """A scale of the result under which few elements saturate."""
        return np.float32(reduction ** 0.5 * 70 * 70 * 0.02 * 0.0125 / 40)

    def conv_case(self, kind):
        """x shape, weight shape and attributes of a convolution."""
        groups = {"depthwise": self.draw(2, 40), "grouped": self.draw(2, 4)}.get(kind, 1)
        per_group = 1 if kind == "depthwise" else self.draw(1, 24)
        kernel = [1, 1] if kind == "pointwise" else [self.draw(1, 5), self.draw(1, 5)]
        columns = groups * (1 if kind == "depthwise" else self.draw(1, 40))
        x = [self.draw(1, 2), groups * per_group, self.draw(5, 14), self.draw(5, 14)]
        attributes = dict(group=groups, kernel_shape=kernel,
                          strides=[self.draw(1, 2), self.draw(1, 2)])
        if kind != "pointwise":
            attributes["pads"] = [self.draw(0, size - 1) for size in kernel * 2]
            if kernel[0] < 3 and kernel[1] < 3:
                attributes["dilations"] = [self.draw(1, 2), self.draw(1, 2)]
        return x, [columns, per_group, *kernel], attributes

    def matrix_case(self):
        k, n = self.draw(1, 150), self.draw(1, 70)
        rows = [self.draw(1, 20)] if self.some() else [self.draw(1, 3), self.draw(1, 9)]
        return rows + [k], [k, n]

    def add_dequantized(self, kind):
        """DequantizeLinear -> anchor -> perhaps an activation -> perhaps QuantizeLinear."""
        attributes = {}
        if kind in ("MatMul", "Gemm"):
            x_shape, w_shape = self.matrix_case()
            reduction, columns, axis = w_shape[0], w_shape[1], 1
            if kind == "Gemm":
                x_shape = x_shape[-2:] if len(x_shape) > 1 else [1] + x_shape
                if self.some():
                    attributes, axis, w_shape = dict(transB=1), 0, w_shape[::-1]
        else:
            x_shape, w_shape, attributes = self.conv_case(kind)
            reduction, columns, axis = int(np.prod(w_shape[1:])), w_shape[0], 0
        x_type, w_type, per_column = self.byte_type(), self.byte_type(), self.some()
        x = self.input(x_type, *x_shape)
        x = self.node("DequantizeLinear",
                      [x, self.constant(np.float32(0.02)), self.constant(self.bytes(x_type))])
        scales = self.scales(columns, per_column)
        w = [self.constant(self.bytes(w_type, *w_shape)), self.constant(scales)]
        if self.some() or w_type == np.uint8:
            w.append(self.constant(self.zero_points(w_type, columns, per_column)))
        if kind == "MatMul" and self.some():  # stored the other way round
            stored = np.ascontiguousarray(self.constants[w[0]].T)
            w = self.node("DequantizeLinear", [self.constant(stored)] + w[1:], axis=0)
            w = self.node("Transpose", [w], perm=[1, 0])
        else:
            w = self.node("DequantizeLinear", w, axis=axis)
        operands = [x, w]
        if kind != "MatMul" and self.some():
            bias = self.random.integers(-3000, 3000, columns).astype(np.int32)
            operands.append(self.node(
                "DequantizeLinear", [self.constant(bias), self.constant(np.float32(0.02) * scales)],
                axis=0) if self.some() else self.constant((bias * 3e-4).astype(np.float32)))
        anchor = self.node({"MatMul": "MatMul", "Gemm": "Gemm"}.get(kind, "Conv"), operands,
                           **attributes)
        self.anchors.append(anchor)
        y = anchor
        if kind == "MatMul" and self.some():
            y = self.node(
                "Add", [y, self.constant(self.random.uniform(-1, 1, columns).astype(np.float32))])
        activation = self.draw(0, 3)
        if activation == 1:
            y = self.node("Relu", [y])
        if activation == 2:
            y = self.node("Clip", [y, self.constant(np.float32(0)), self.constant(np.float32(6))])
        if self.draw(0, 3) == 0:
            return self.output(y, TensorProto.FLOAT)
        y_type = self.byte_type()
        y = self.node("QuantizeLinear",
                      [y, self.constant(self.step(reduction)), self.constant(self.bytes(y_type))])
        self.output(y, TYPES[np.dtype(y_type)])

    def add_integer(self, op):
        """QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger."""
        attributes = {}
        if "MatMul" in op:
            x_shape, w_shape = self.matrix_case()
            reduction, columns = w_shape
            if len(x_shape) == 1:
                x_shape = [1] + x_shape
        else:
            x_shape, w_shape, attributes = self.conv_case(("dense", "depthwise", "grouped",
                                                           "pointwise")[self.draw(0, 3)])
            reduction, columns = int(np.prod(w_shape[1:])), w_shape[0]
        x_type, w_type = self.byte_type(), self.byte_type()
        x, w = self.input(x_type, *x_shape), self.constant(self.bytes(w_type, *w_shape))
        x_zero = self.constant(self.bytes(x_type))
        per_column = self.some()
        if op.startswith("QLinear"):
            y_type = self.byte_type()
            w_zero = self.constant(self.zero_points(w_type, columns, per_column))
            operands = [x, self.constant(np.float32(0.02)), x_zero, w,
                        self.constant(self.scales(columns, per_column)), w_zero,
                        self.constant(self.step(reduction)), self.constant(self.bytes(y_type))]
            if op == "QLinearConv" and self.some():
                operands.append(self.constant(self.random.integers(-3000, 3000,
                                                                   columns).astype(np.int32)))
            y = self.node(op, operands, **attributes)
            self.output(y, TYPES[np.dtype(y_type)])
        else:
            if self.some():  # known only when the model runs
                x_zero = self.input(x_type)
            w_zero = self.constant(self.zero_points(w_type, columns, op == "MatMulInteger" and
                                                    per_column))
            y = self.node(op, [x, w, x_zero, w_zero], **attributes)
            if op == "MatMulInteger" and self.some():
                self.anchors.append(y)
                y = self.node("Cast", [y], to=TensorProto.FLOAT)
                y = self.node("Mul", [y, self.constant(np.float32(1e-3))])
                return self.output(y, TensorProto.FLOAT)
            self.output(y, TensorProto.INT32)
        return self.anchors.append(y)

    def model(self):
        return model_of(self.nodes, self.inputs, self.outputs, self.constants, opset=21,
                        ir_version=10)


class Quantised(ProgramCase):
    def compare(self, name, found, wanted):
        self.assertEqual((found.dtype, found.shape), (wanted.dtype, wanted.shape), name)
        if wanted.dtype == np.int32:
            np.testing.assert_array_equal(found, wanted, name)
        elif wanted.dtype == np.float32:
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max(),
                                       err_msg=name)
        else:
            steps = np.abs(found.astype(int) - wanted.astype(int))
            self.assertLessEqual(steps.max(), 1, name)
            self.assertGreaterEqual(np.mean(steps == 0), 0.99 if steps.size > 100 else 0.9, name)

    def check(self, model):
        write(self.path("m.onnx"), model.model())
        inputs = self.bindings(model.values)
        self.program(0, "sluice-preprocess", self.path("m.onnx"), "-o", self.path("m.sg"))
        wanted = self.outputs_of("sluice-eval", self.path("m.sg"), *inputs)
        for profile, needed in PROFILES.items():
            if not needed <= cpu_flags():
                continue
            with self.subTest(profile):
                self.program(0, "sluice-compile", self.path("m.onnx"), "-q", "--profile", profile,
                             "-o", self.path("m.om"))
                found = self.outputs_of("sluice-loader", self.path("m.om"), *inputs)
                self.check_engines(model, self.done(0, "sluice-loader", self.path("m.om"), *inputs,
                                                    "--bench", "--json", "--runs", "1").stdout)
                for output in model.outputs:
                    self.compare(f"{output.name} of\n{model.nodes}", found[output.name],
                                 wanted[output.name])

    def check_engines(self, model, text):
        engines = {node["name"]: node["engine"] for node in json.loads(text)["nodes"]}
        self.assertEqual({engines.get(anchor) for anchor in model.anchors}, {"aicore"}, engines)

    def test_dequantized(self):
        model = Model(11)
        for kind in ("dense", "depthwise", "grouped", "pointwise", "MatMul", "Gemm") * 3:
            model.add_dequantized(kind)
        self.check(model)

    def test_open_batches(self):
        model = Model(13, is_open=True)
        for kind in ("dense", "depthwise", "grouped", "pointwise", "MatMul", "Gemm"):
            model.add_dequantized(kind)
        for op in ("QLinearConv", "QLinearMatMul", "MatMulInteger"):
            model.add_integer(op)
        self.check(model)

    def test_open_zero_points(self):
        """Those of weights that are constants."""
        model = Model(14)
        for weights, type in (([2, 3, 1, 1], np.uint8), ([32, 64, 3, 3], np.int8)):
            x = model.input(np.uint8, 1, weights[1], 8, 8)
            inputs = [x, model.constant(model.bytes(type, *weights)), model.constant(np.uint8(94)),
                      model.input(type)]
            model.anchors.append(model.node("ConvInteger", inputs))
            model.output(model.anchors[-1], TensorProto.INT32)
        self.check(model)

    def test_integers(self):
        model = Model(12)
        for op in ("QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger",
                   "QLinearConv") * 4:
            model.add_integer(op)
        self.check(model)


if __name__ == "__main__":
    Quantised.programs = need(sys.argv.pop(1), [*STAGES, "eval", "compile", "loader"])
    unittest.main()
