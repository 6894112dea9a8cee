#!/usr/bin/python3
"""Models of ONNX's first opsets mean what they meant then: each old form, imported and evaluated,
against numpy.

usage: old_opsets_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import floats, model_of, write
from programs import ProgramCase, need

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((2, 3, 4, 4)).astype(np.float32)


def node(op, inputs=("x",), **attributes):
    return helper.make_node(op, list(inputs), ["y"], op.lower(), **attributes)


class OldOpsets(ProgramCase):
    def save(self, opset, nodes, constants, inputs, ir_version=3, outputs=("y",)):
        write(self.path("model.onnx"),
              model_of(nodes, [floats(name, array.shape) for name, array in inputs.items()],
                       [floats(name) for name in outputs], constants, opset=opset,
                       ir_version=ir_version))

    def evaluate(self, inputs, outputs=("y",)):
        graph = self.path("typed.sg")
        self.program(0, "sluice-preprocess", self.path("model.onnx"), "-o", graph)
        found = self.outputs_of("sluice-eval", graph, *self.bindings(inputs))
        return [found[name] for name in outputs]

    def expect(self, opset, made, expected, constants=None, inputs=None, **more):
        inputs = inputs or {"x": X}
        self.save(opset, made if isinstance(made, list) else [made], constants or {}, inputs,
                  **more)
        (actual,) = self.evaluate(inputs)
        self.assertEqual(actual.shape, expected.shape)
        self.assertEqual(actual.dtype, expected.dtype)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)

    def refuse(self, opset, made, code, *texts, constants=None):
        self.save(opset, [made], constants or {}, {"x": X})
        told = self.program(code, "sluice-preprocess", self.path("model.onnx"), "-o",
                            self.path("typed.sg"))
        for text in texts:
            self.assertIn(text, told)

    def test_consumed_inputs_say_nothing(self):
        for opset in (1, 5):
            self.expect(opset, node("Relu", consumed_inputs=[1]), np.maximum(X, 0))
        scale = np.float32([1, 2, 3])
        constants = {"scale": scale, "b": scale + 1, "m": scale / 2, "v": scale + 2}
        shaped = {name: array.reshape(1, 3, 1, 1) for name, array in constants.items()}
        expected = shaped["scale"] * (X - shaped["m"]) / np.sqrt(shaped["v"] +
                                                                 np.float32(1e-5)) + shaped["b"]
        self.expect(1, node("BatchNormalization", ["x", "scale", "b", "m", "v"],
                            consumed_inputs=[0, 0, 0, 1, 1], is_test=1), expected, constants)

    def test_a_model_that_says_no_opset(self):
        self.expect(None, node("Relu"), np.maximum(X, 0), ir_version=1)

    def test_cast_by_name(self):
        self.expect(1, node("Cast", to="INT64"), X.astype(np.int64))
        self.expect(5, node("Cast", to="DOUBLE"), X.astype(np.float64))
        self.refuse(1, node("Cast", to="FLAOT"), 3, "node 'cast' (Cast)", "'FLAOT'")
        self.expect(6, node("Cast", to=int(TensorProto.INT32)), X.astype(np.int32))

    def test_concat_axis(self):
        self.expect(1, node("Concat", ["x", "x"]), np.concatenate([X, X], 1))
        self.expect(3, node("Concat", ["x", "x"], axis=2), np.concatenate([X, X], 2))

    def test_float_powers(self):
        expected = (np.abs(X.astype(np.float64)) ** 3).sum((2, 3), keepdims=True) ** (1 / 3)
        self.expect(1, node("GlobalLpPool", p=3.0), expected.astype(np.float32))
        windows = X[:, :, [[0, 1], [2, 3]]][:, :, :, :, [[0, 1], [2, 3]]].transpose(0, 1, 2, 4, 3,
                                                                                    5)
        expected = np.sqrt((windows.astype(np.float64) ** 2).sum((4, 5)))
        self.expect(1, node("LpPool", p=2.0, kernel_shape=[2, 2], strides=[2, 2]),
                    expected.astype(np.float32))
        self.refuse(1, node("LpPool", p=2.5, kernel_shape=[2, 2]), 3, "node 'lppool' (LpPool)",
                    "'p'")

    def test_pad(self):
        paddings = [0, 0, 1, 2, 0, 0, 3, 0]
        expected = np.pad(X, [(0, 0), (0, 0), (1, 3), (2, 0)], constant_values=7)
        self.expect(1, node("Pad", paddings=paddings, value=7.0), expected)
        self.expect(2, node("Pad", pads=paddings, value=7.0), expected)

    def test_reshape(self):
        for opset in (1, 4):
            self.expect(opset, node("Reshape", shape=[0, -1, 2]), X.reshape(2, -1, 2))
        self.refuse(1, node("Reshape"), 3, "node 'reshape' (Reshape)", "'shape'")

    def test_selu(self):
        exact = X.astype(np.float64)
        expected = np.where(exact > 0, 1.0507 * exact,
                            1.0507 * 1.6732 * (np.exp(exact) - 1)).astype(np.float32)
        self.expect(1, node("Selu"), expected)

    def test_split(self):
        split = helper.make_node("Split", ["x", "split"], ["a", "y"], "split", axis=2)
        self.expect(1, [split], X[:, :, 1:], {"split": np.float32([1, 3])})
        split = helper.make_node("Split", ["x"], ["a", "y"], "split", axis=2, split=[3, 1])
        self.expect(1, [split], X[:, :, 3:])
        self.expect(1, [helper.make_node("Split", ["x"], ["y", "b"], "split", axis=3)],
                    X[:, :, :, :2])

    def test_layer_normalization(self):
        """That of runtimes, before ONNX had one: the result has the dtype of the scale."""
        half = X.astype(np.float16)
        scale = np.linspace(0.5, 2, X.shape[3]).astype(np.float32)
        wide = half.astype(np.float32)
        variance = wide.var(-1, keepdims=True)
        expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(variance + 1e-5) * scale
        nodes = [helper.make_node("Cast", ["x"], ["h"], "half", to=int(TensorProto.FLOAT16)),
                 node("LayerNormalization", ["h", "scale"], axis=-1)]
        self.expect(12, nodes, expected.astype(np.float32), {"scale": scale})

    def test_split_in_unequal_pieces(self):
        """Before opset 18 pieces without sizes are equal."""
        odd = helper.make_node("Split", ["x"], ["y", "b"], "split", axis=1)
        self.refuse(13, odd, 3, "node 'split' (Split): elements to split in equal pieces are 3")

    def test_tile(self):
        self.expect(1, node("Tile", ["x", "tiles", "axis"]), np.tile(X, (1, 1, 3, 1)),
                    {"tiles": np.float32(3), "axis": np.float32(2)})
        self.expect(1, node("Tile", ["x", "tiles", "axis"]), np.tile(X, (1, 1, 3, 1)),
                    {"axis": np.float32([2])}, {"x": X, "tiles": np.float32([3])})

    def test_tile_of_numbers_that_cannot_be(self):
        for tiles, axis, text in ((2, 4, "'axis' is 4"), (2, -1, "'axis' is -1"),
                                  (2, 1.5, "'axis' is 1.5"), (2, np.nan, "'axis' is nan"),
                                  (1.5, 1, "'tiles' is 1.5"), (-1, 1, "'tiles' is -1")):
            self.refuse(1, node("Tile", ["x", "tiles", "axis"]), 3, "node 'tile' (Tile)", text,
                        constants={"tiles": np.float32(tiles), "axis": np.float32(axis)})

    def test_attributes_of_another_kind(self):
        for made, name in ((node("Upsample", height_scale=2, width_scale=3.0), "height_scale"),
                           (node("Pad", paddings=[0] * 8, value=3), "value"),
                           (node("Slice", starts="a", ends=[1]), "starts"),
                           (node("ReduceSum", axes=[1.0]), "axes"),
                           (node("Softmax", axis=2.0), "axis"),
                           (node("Gemm", ["x", "x", "x"], broadcast="q"), "broadcast")):
            self.refuse(1, made, 3, "'%s'" % name, "kind")

    def test_upsample(self):
        self.expect(1, node("Upsample", height_scale=2.0, width_scale=3.0, mode="nearest"),
                    X.repeat(2, 2).repeat(3, 3))
        self.refuse(1, node("Upsample", height_scale=2.0), 3, "node 'upsample' (Upsample)",
                    "'width_scale'")

    def test_broadcasts(self):
        b = RANDOM.standard_normal((3, 4)).astype(np.float32)
        self.expect(1, node("Add", ["x", "b"], broadcast=1, axis=1, consumed_inputs=[0, 0]),
                    X + b.reshape(1, 3, 4, 1), {"b": b})
        self.expect(1, node("Less", ["x", "b"], broadcast=1, axis=1), X < b.reshape(1, 3, 4, 1),
                    {"b": b})

    def scan(self, lengths="", capture=False, **attributes):
        """Sums along the sequence, as state and as scan output; with `capture` the step adds a
        value of the outer graph."""
        steps = [helper.make_node("Add", ["sum", "element"], ["next" if not capture else "bare"])]
        if capture:
            steps.append(helper.make_node("Add", ["bare", "offset"], ["next"]))
        steps.append(helper.make_node("Identity", ["next"], ["running"]))
        body = helper.make_graph(steps, "step", [floats("sum"), floats("element")],
                                 [floats("next"), floats("running")])
        return helper.make_node("Scan", [lengths, "state", "x"], ["last", "y"], "scan", body=body,
                                num_scan_inputs=1, **attributes)

    def test_scan_over_batches(self):
        state = RANDOM.standard_normal((2, 4, 4)).astype(np.float32)
        running = state[:, None] + np.cumsum(X, 1)
        inputs = {"x": X, "state": state}
        self.save(8, [self.scan()], {}, inputs, outputs=("last", "y"))
        last, y = self.evaluate(inputs, ("last", "y"))
        np.testing.assert_allclose(y, running, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last, running[:, -1], rtol=1e-5, atol=1e-6)
        backwards = state[:, None] + np.cumsum(X[:, ::-1], 1)
        self.expect(8, [self.scan(directions=[1])], backwards, inputs={"x": X, "state": state})
        offset = np.float32([[1, 2, 3, 4]])
        expected = running + np.arange(1, 4, dtype=np.float32).reshape(1, 3, 1, 1) * (2 * offset)
        twice = helper.make_node("Add", ["half", "half"], ["offset"])
        self.expect(8, [twice, self.scan(capture=True)], expected,
                    inputs={"x": X, "state": state, "half": offset})

    def test_absent_inputs_of_scan(self):
        scan = self.scan()
        scan.input[2] = ""
        self.refuse(8, scan, 3, "node 'scan' (Scan)", "is absent",
                    constants={"state": np.zeros((2, 4, 4), np.float32)})

    def test_scan_of_different_lengths_is_refused(self):
        self.refuse(8, self.scan("lengths"), 4, "node 'scan' (Scan)", "sequence_lens", "hint:",
                    constants={"lengths": np.int64([1, 2]),
                               "state": np.zeros((2, 4, 4), np.float32)})


if __name__ == "__main__":
    OldOpsets.programs = need(sys.argv.pop(1), ["preprocess", "eval"])
    unittest.main(verbosity=2)
