#!/usr/bin/python3
"""The experimental operators of ONNX's first releases compute what numpy does, with fixed and with
free dims, evaluated and compiled.

usage: experimental_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import model_of, value, write
from programs import STAGES, ProgramCase, need

RANDOM = np.random.default_rng(17)
IMAGE = RANDOM.standard_normal((2, 3, 9, 8)).astype(np.float32)
DTYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
          np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.int32): TensorProto.INT32,
          np.dtype(np.int64): TensorProto.INT64, np.dtype(np.bool_): TensorProto.BOOL}


class Case:
    def __init__(self, name, op, inputs, wanted, tolerance=1e-5, **attributes):
        self.name, self.op, self.inputs, self.wanted = name, op, inputs, wanted
        self.tolerance, self.attributes = tolerance, attributes

    def model(self, free_dims, ir_version=3):
        names = [f"x{i}" for i in range(len(self.inputs))]
        node = helper.make_node(self.op, names, ["y"], "the_node", **self.attributes)
        if ir_version < 2:  # no attribute says its type there
            for attribute in node.attribute:
                attribute.ClearField("type")

        def dims(name, array):
            return [f"{name}_{axis}" for axis in range(array.ndim)] if free_dims else array.shape

        inputs = [value(name, dims(name, array), DTYPES[array.dtype])
                  for name, array in zip(names, self.inputs)]
        model = model_of([node], inputs, [value("y", None, DTYPES[self.wanted.dtype])], opset=7,
                         ir_version=ir_version)
        if ir_version < 3:
            del model.opset_import[:]
        return model


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def elementwise():
    x = IMAGE
    yield Case("affine", "Affine", [x], (np.float32(1.5) * x - np.float32(0.25)), alpha=1.5,
               beta=-0.25)
    yield Case("affine_defaults", "Affine", [x], x)
    yield Case("affine_double", "Affine", [x.astype(np.float64)],
               np.float32(0.1) * x.astype(np.float64) + 2, alpha=0.1, beta=2.0)
    yield Case("affine_half", "Affine", [x.astype(np.float16)],
               np.float16(2) * x.astype(np.float16) + np.float16(1), alpha=2.0, beta=1.0)
    wide = 40 * x  # where exp overflows f32
    softplus = 0.5 * np.logaddexp(0, 3 * wide.astype(np.float64))
    yield Case("softplus", "ParametricSoftplus", [wide], softplus.astype(np.float32), alpha=0.5,
               beta=3.0)
    yield Case("softplus_negative", "ParametricSoftplus", [x],
               (2 * np.logaddexp(0, -1.5 * x.astype(np.float64))).astype(np.float32), alpha=2.0,
               beta=-1.5)
    yield Case("scaled_tanh", "ScaledTanh", [x], (1.7159 * np.tanh(0.6667 * x.astype(np.float64)))
               .astype(np.float32), alpha=1.7159, beta=0.6667)
    yield Case("scale", "Scale", [x], np.float32(0.3) * x, scale=0.3)
    yield Case("scale_default", "Scale", [x], x)
    bias = np.float32([0.5, -1, 2])
    yield Case("image_scaler", "ImageScaler", [x], np.float32(0.25) * x + bias.reshape(1, 3, 1, 1),
               scale=0.25, bias=[0.5, -1.0, 2.0])
    yield Case("image_scaler_one", "ImageScaler", [x[:, :1]], x[:, :1] + np.float32(0.5),
               bias=[0.5])


def crops():
    x = IMAGE
    yield Case("crop", "Crop", [x], x[:, :, 2:-1, 1:-3], border=[1, 2, 3, 1])
    yield Case("crop_nothing", "Crop", [x], x, border=[0, 0, 0, 0])
    yield Case("crop_all", "Crop", [x], x[:, :, 9:, :], border=[0, 4, 0, 5])
    yield Case("crop_scale", "Crop", [x], x[:, :, 2:6, 1:6], border=[1, 2, 0, 0], scale=[4, 5])
    yield Case("crop_scale_to_the_end", "Crop", [x], x[:, :, 5:, 3:], border=[3, 5, 0, 0],
               scale=[4, 5])
    starts, ends, axes = np.int64([1, -5]), np.int64([1000, -1]), np.int64([1, 2])
    yield Case("slice_axes", "DynamicSlice", [x, starts, ends, axes], x[:, 1:, -5:-1])
    yield Case("slice", "DynamicSlice", [x, np.int32([0, 1]), np.int32([-1, 1000])], x[:-1, 1:])
    yield Case("slice_integers", "DynamicSlice", [np.arange(8, dtype=np.int32).reshape(2, 4),
                                                  np.int64([1]), np.int64([3]), np.int64([-1])],
               np.int32([[1, 2], [5, 6]]))


def fills():
    yield Case("fill", "ConstantFill", [], np.full((2, 3), 1.5, np.float32), shape=[2, 3],
               value=1.5)
    yield Case("fill_default", "ConstantFill", [], np.float32(0), tolerance=0)
    yield Case("fill_i64", "ConstantFill", [], np.full((2, 3), 7, np.int64), shape=[2, 3],
               value=7.0, dtype=TensorProto.INT64)
    yield Case("fill_bool", "ConstantFill", [IMAGE], np.ones(IMAGE.shape, bool), value=1.0,
               dtype=TensorProto.BOOL)
    yield Case("fill_like", "ConstantFill", [IMAGE], np.full(IMAGE.shape + (2, 1), -2, np.float32),
               value=-2.0, extra_shape=[2, 1])
    yield Case("fill_as_shape", "ConstantFill", [np.int64([3, 2])], np.full((3, 2, 4), 5, np.int32),
               value=5.0, dtype=TensorProto.INT32, input_as_shape=1, extra_shape=[4])
    yield Case("fill_as_i32", "ConstantFill", [np.int32([2])], np.full(2, 1, np.float32), value=1.0,
               input_as_shape=1)
    values = [0.5, -1.0, 2.0, 3.0, 4.0, 5.0]
    given = np.float32(values)
    yield Case("given", "GivenTensorFill", [], given.reshape(2, 3), shape=[2, 3], values=values)
    yield Case("given_like", "GivenTensorFill", [np.zeros((3, 1), np.float64)],
               given.astype(np.float64).reshape(3, 1, 2), values=values, extra_shape=[2])
    yield Case("given_as_shape", "GivenTensorFill", [np.float32([3, 2])], given.reshape(3, 2),
               values=values, input_as_shape=1)
    yield Case("given_nothing", "GivenTensorFill", [], np.zeros((0, 2), np.float32), shape=[0, 2])


def gru_units():
    hidden, gates = RANDOM.standard_normal((1, 4, 5)), RANDOM.standard_normal((1, 4, 15))
    hidden, gates = hidden.astype(np.float32), gates.astype(np.float32)
    lengths = np.int32([1, 4, 3, 9])
    update, candidate = sigmoid(gates[..., 5:10]), np.tanh(gates[..., 10:].astype(np.float64))
    stepped = hidden * update + candidate * (1 - update)
    for step in (0, 3, 9):
        valid = (step < lengths).reshape(1, 4, 1)
        for kind in (np.int32, np.float32):
            inputs = [hidden, gates, lengths.astype(kind), np.array([step], kind)]
            name = f"gru_{step}_{np.dtype(kind).name}"
            yield Case(name, "GRUUnit", inputs, np.where(valid, stepped, hidden).astype(np.float32))
            yield Case(name + "_drop", "GRUUnit", inputs,
                       np.where(valid, stepped, 0).astype(np.float32), drop_states=1)


def cases():
    for family in (elementwise, crops, fills, gru_units):
        yield from family()


# One of each: compiling takes longer than evaluating.
COMPILED = {"affine", "softplus", "scaled_tanh", "scale", "image_scaler", "crop", "crop_scale",
            "slice_axes", "fill_like", "given_like", "gru_3_float32"}


class ExperimentalCase(ProgramCase):
    def compile(self, case, free_dims):
        self.program(0, "sluice", "compile", write(self.path("m.onnx"), case.model(free_dims)),
                     "-o", self.path("m.om"), "--profile=cpu-generic")

    def fed(self, case):
        return self.bindings({f"x{i}": array for i, array in enumerate(case.inputs)})


class Semantics(ExperimentalCase):
    def check(self, case, got):
        self.assertEqual((got.dtype, got.shape), (case.wanted.dtype, case.wanted.shape))
        np.testing.assert_allclose(got, case.wanted, rtol=case.tolerance, atol=case.tolerance)

    def evaluate(self, model, case):
        path, graph = write(self.path("m.onnx"), model), self.path("m.sg")
        self.program(0, "sluice-preprocess", path, "-o", graph)
        self.check(case, self.outputs_of("sluice-eval", graph, *self.fed(case))["y"])

    def test_evaluated(self):
        for case in cases():
            for free in (False, True):
                with self.subTest(case.name, free=free):
                    self.evaluate(case.model(free), case)

    def test_models_of_the_first_ir(self):
        for case in cases():
            if case.attributes and case.name in COMPILED:
                with self.subTest(case.name):
                    self.evaluate(case.model(False, ir_version=1), case)

    def test_compiled(self):
        for case in cases():
            for free in (False, True):
                if case.name not in COMPILED:
                    continue
                with self.subTest(case.name, free=free):
                    self.compile(case, free)
                    self.check(case, self.outputs_of("sluice", "run", self.path("m.om"),
                                                     *self.fed(case))["y"])

    def test_an_image_that_is_too_small_is_refused_when_it_comes(self):
        for attributes in (dict(border=[1, 2, 3, 8]), dict(border=[1, 2, 0, 0], scale=[8, 2])):
            case = Case("small", "Crop", [IMAGE], IMAGE, **attributes)
            with self.subTest(**attributes):
                self.compile(case, True)
                self.failed("sluice", "run", self.path("m.om"), *self.fed(case), "--output-dir",
                            self.path("out"))


class Refused(ProgramCase):
    def test_each_error_names_node_and_form(self):
        x, wanted = IMAGE, IMAGE
        hidden, gates = np.zeros((1, 4, 5), np.float32), np.zeros((1, 4, 16), np.float32)
        for case, part in (
                (Case("", "ScaledTanh", [x], wanted, alpha=1.0), "attribute 'beta' is absent"),
                (Case("", "ParametricSoftplus", [x], wanted, beta=1.0),
                 "attribute 'alpha' is absent"),
                (Case("", "Affine", [x], wanted, alpha=1), "attribute 'alpha' is of "
                 "type INT, expected FLOAT"), (Case("", "ImageScaler", [x], wanted, bias=[1.0]),
                                               "1 elements, expected one for each of 3 channels"),
                (Case("", "ImageScaler", [x[0]], wanted), "rank 3, expected 4"),
                (Case("", "Crop", [x], wanted), "attribute 'border' is absent"),
                (Case("", "Crop", [x], wanted, border=[1, 2, 3]),
                 "attribute 'border' must hold 4 numbers"),
                (Case("", "Crop", [x], wanted, border=[1, -2, 3, 1]), "attribute 'border' "
                 "must hold 4 numbers from 0"), (Case("", "Crop", [x], wanted, border=[0, 5, 0, 5]),
                                                 "height is 9, expected at least the 10"),
                (Case("", "Crop", [x], wanted, border=[5, 0, 0, 0], scale=[2, 4]), "width is "
                 "8, expected at least the 9"), (Case("", "ConstantFill", [x], wanted, shape=[2]),
                                                 "attribute 'shape' stands beside an input"),
                (Case("", "ConstantFill", [], wanted, extra_shape=[2]), "attribute "
                 "'extra_shape' needs an input"), (Case("", "ConstantFill", [], wanted, shape=[-2]),
                                                   "attribute 'shape' has the element -2"),
                (Case("", "ConstantFill", [], wanted, dtype=8), "attribute 'dtype' is 8"),
                (Case("", "GivenTensorFill", [], wanted, shape=[3], values=[1.0, 2.0]), "the_node"),
                (Case("", "GRUUnit", [hidden, gates, np.zeros(4, np.float32),
                                      np.zeros(1, np.float32)], wanted), "the_node")):
            with self.subTest(part):
                text = self.failed("sluice-preprocess", "-o", self.path("m.sg"),
                                   write(self.path("m.onnx"), case.model(False)))
                self.assertIn(part, text)
                self.assertIn("the_node", text)

    def test_aten_is_not_known(self):
        path = write(self.path("m.onnx"), Case("", "ATen", [IMAGE], IMAGE).model(False))
        text = self.program(4, "sluice-preprocess", path, "-o", self.path("m.sg"))
        self.assertIn("1 unsupported operator: ATen (1 node: 'the_node')", text)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), [*STAGES, "eval", "loader"])
    unittest.main()
