#!/usr/bin/python3
"""Inputs whose sizes do not fit an open model: refused with the node and both sizes, at O0 and O3;
those that fit run, a legal broadcast among them.

usage: misfits_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import constant, save, value
from programs import ProgramCase, need

INT64 = TensorProto.INT64


def zeros(*dims, dtype=np.float32):
    return np.zeros(dims, dtype)


def node(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), "n", **attributes)


class Misfits(ProgramCase):
    def check(self, nodes, inputs, fits, misfits, constants=(), outputs="y", opset=17,
              domains=()):
        """`misfits`: arrays, and what the message must say."""
        path = save(self.path("m.onnx"), nodes, inputs, [value(name) for name in outputs.split()],
                    constants, opset=opset, domains=domains)
        for level in ("O0", "O3"):
            self.done(0, "sluice-compile", "-q", "--opt-level", level, path, "-o",
                      self.path("m.om"))
            self.run_model(0, inputs, fits)
            for arrays, words in misfits:
                self.assertIn(words, self.run_model(3, inputs, arrays).stderr)

    def run_model(self, code, inputs, arrays):
        bound = []
        for given, array in zip(inputs, arrays):
            np.save(self.path(given.name + ".npy"), array)
            bound.append(f"--input={given.name}={self.path(given.name + '.npy')}")
        return self.done(code, "sluice-loader", self.path("m.om"), "-q", *bound)

    def test_split_by_given_sizes(self):
        self.check([node("Split", "x s", "y z")], [value("x", ["N", 2])], [zeros(6, 2)],
                   [([zeros(5, 2)], "node 'n' (Split): the sum of the pieces and the dim to split "
                                    "differ: 6 and 5"),
                    ([zeros(300_000, 2)], "differ: 6 and 300000")],
                   [constant("s", np.int64([2, 4]))], "y z")

    def test_split_in_equal_pieces(self):
        self.check([node("Split", "x", "y z")], [value("x", ["N"])], [zeros(6)],
                   [([zeros(5)], "elements to split in equal pieces")], outputs="y z", opset=13)

    def test_channels_of_a_normalisation(self):
        self.check([node("BatchNormalization", "x c c c c")],
                   [value("x", ["N", "C", 4]), value("c", ["D"])], [zeros(1, 3, 4), zeros(3)],
                   [([zeros(1, 4, 4), zeros(3)], "channels of input 'x' and input 'c' differ"),
                    ([zeros(1, 3, 4), zeros(2)], "differ: 3 and 2")])

    def test_blocks_of_pixels(self):
        self.check([node("SpaceToDepth", "x", blocksize=2)], [value("x", [1, 1, "H", "W"])],
                   [zeros(1, 1, 4, 2)],
                   [([zeros(1, 1, 5, 2)], "node 'n' (SpaceToDepth): rows"),
                    ([zeros(1, 1, 4, 3)], "columns")])

    def test_a_node_that_becomes_several(self):
        """The message names the model's node, which has a MatMul in it."""
        self.check([node("FusedMatMul", "x w", domain="com.microsoft", alpha=2.0)],
                   [value("x", ["M", "K"]), value("w", ["L", 4])], [zeros(2, 3), zeros(3, 4)],
                   [([zeros(2, 2), zeros(3, 4)], "node 'n' (its MatMul): ")],
                   domains={"com.microsoft": 1})

    def test_positions(self):
        self.check([node("GatherElements", "x i", axis=0)],
                   [value("x", [4, "C"]), value("i", [1, "D"], INT64)],
                   [zeros(4, 2), zeros(1, 2, dtype=np.int64)],
                   [([zeros(4, 2), zeros(1, 3, dtype=np.int64)],
                     "dims 1 of indices and data differ: 3 and 2")])

    def test_a_target_that_is_data(self):
        self.check([node("Expand", "x s")], [value("x", [2, 3]), value("s", [2], INT64)],
                   [zeros(2, 3), np.int64([1, 3])],
                   [([zeros(2, 3), np.int64([3, 3])], "(Expand)")])

    def test_a_target_that_follows_from_shapes(self):
        nodes = [node("Shape", "z", "s"), helper.make_node("Expand", ["x", "s"], ["y"], "n")]
        self.check(nodes, [value("x", ["N", 3]), value("z", ["M", 3])], [zeros(2, 3), zeros(2, 3)],
                   [([zeros(2, 3), zeros(4, 3)],
                     "dims 2 from the end of the input and of the target differ")])

    def test_a_size_that_a_node_makes(self):
        """The number of elements that are not 0 is known after NonZero only."""
        nodes = [helper.make_node("NonZero", ["x"], ["p"], "find"),
                 helper.make_node("Cast", ["p"], ["f"], "cast", to=TensorProto.FLOAT),
                 helper.make_node("Split", ["f", "s"], ["y", "z"], "n", axis=1)]
        self.check(nodes, [value("x", ["N"])], [np.float32([1, 0, 1, 1])],
                   [([np.float32([1, 0, 1, 0])], "Split")], [constant("s", np.int64([1, 2]))],
                   "y z")

    def test_different_names_of_one_size(self):
        self.check([node("Add", "a b")], [value("a", ["N", "M"]), value("b", ["K", "M"])],
                   [zeros(2, 3), zeros(1, 3)],
                   [([zeros(2, 3), zeros(4, 3)],
                     "node 'n' (Add): inputs of shapes 2x3 and 4x3 cannot be broadcast")])


if __name__ == "__main__":
    Misfits.programs = need(sys.argv.pop(1), ["compile", "loader"])
    unittest.main()
