#!/usr/bin/python3
"""What Einsum, products of integers with open scales and a recurrent cell become computes what
numpy does, and leaves nothing on host_cpu.

usage: decompositions_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import sys
import unittest

import numpy as np
from onnx import helper, mapping

from models import save, value
from programs import ProgramCase, need

PROFILE = "--profile=cpu-generic"  # runs everywhere


class Decompositions(ProgramCase):
    def run_node(self, node, inputs, open_axis=None):
        """The result of one node. open_axis: an axis of the first input whose size is open."""
        def describe(name, array):
            dims = list(array.shape)
            if open_axis is not None and name == node.input[0]:
                dims[open_axis] = "N"
            return value(name, dims, mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype])
        save(self.path("model.onnx"), [node], [describe(*item) for item in inputs.items()],
             [helper.ValueInfoProto(name="y")])
        self.program(0, "sluice-compile", "-q", PROFILE, self.path("model.onnx"), "-o",
                     self.path("model.om"))
        self.assertNotIn("host_cpu", self.program(0, "sluice-show", "--summary",
                                                  self.path("model.om")))
        return self.outputs_of("sluice-loader", "-q", self.path("model.om"),
                               *self.bindings(inputs))["y"]

    def einsum(self, equation, *shapes, open_axis=None):
        random = np.random.default_rng(len(equation))
        inputs = {f"x{i}": random.uniform(-1, 1, dims).astype(np.float32)
                  for i, dims in enumerate(shapes)}
        node = helper.make_node("Einsum", list(inputs), ["y"], equation=equation)
        wanted = np.einsum(equation, *(array.astype(np.float64) for array in inputs.values()))
        np.testing.assert_allclose(self.run_node(node, inputs, open_axis), wanted, rtol=1e-5,
                                   atol=1e-5)

    def test_cell_of_one_matrix(self):
        """Both products of the cell read the same weights, which each packs as it reads them."""
        random = np.random.default_rng(2)
        x, w = (random.uniform(-1, 1, dims).astype(np.float32) for dims in ((3, 2, 5), (1, 5, 5)))
        node = helper.make_node("RNN", ["x", "w", "w"], ["y"], hidden_size=5)
        state, wanted = np.zeros((2, 5)), []
        for row in x:
            state = np.tanh((row + state) @ w[0].T)
            wanted.append(state[np.newaxis])
        np.testing.assert_allclose(self.run_node(node, {"x": x, "w": w}), np.array(wanted),
                                   rtol=1e-5, atol=1e-5)

    def test_einsum(self):
        self.einsum("bik,bjk->bij", (3, 4, 6), (3, 5, 6), open_axis=1)
        self.einsum("abkl,lkc->cba", (2, 3, 4, 5), (5, 4, 7))
        self.einsum("bik,jk", (2, 3, 6), (5, 6), open_axis=0)
        self.einsum("...ij,j,ik->...k", (2, 3, 4), (4,), (3, 5))
        self.einsum("i,j->ji", (5,), (3,))
        self.einsum("abc->ca", (2, 3, 4))
        self.einsum("ab,ba->", (4, 3), (3, 4))
        self.einsum("ik,kj->ji", (4, 6), (6, 5), open_axis=0)
        self.einsum("bihd,bjhd->bhij", (2, 5, 3, 4), (2, 6, 3, 4), open_axis=1)
        self.einsum("btnh,nhd->btd", (2, 5, 3, 4), (3, 4, 6), open_axis=1)
        self.einsum("bhid,hde->bhie", (2, 3, 5, 4), (3, 4, 6), open_axis=0)
        self.einsum("ti,tj->ij", (7, 3), (7, 4))
        self.einsum("...ij,...jk", (5, 1, 2, 3), (4, 3, 6), open_axis=0)

    def quantized(self, random, dims, dtype):
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max + 1, dims).astype(dtype)

    def test_product_with_open_scales(self):
        for dtype in (np.uint8, np.int8):
            random = np.random.default_rng(3)
            a, b = self.quantized(random, (5, 40), dtype), self.quantized(random, (40, 7), dtype)
            zeros = [dtype(3), dtype(100), dtype(17)]
            scales = [np.float32(number) for number in (0.5, 0.25, 300.0)]
            inputs = {"a": a, "sa": scales[0], "za": zeros[0], "b": b, "sb": scales[1],
                      "zb": zeros[1], "sy": scales[2], "zy": zeros[2]}
            inputs = {name: np.asarray(array) for name, array in inputs.items()}
            node = helper.make_node("QLinearMatMul", list(inputs), ["y"])
            sums = (a.astype(np.int64) - zeros[0]) @ (b.astype(np.int64) - zeros[1])
            steps = np.rint(sums * (0.5 * 0.25) / 300.0) + zeros[2]
            limits = np.iinfo(dtype)
            wanted = np.clip(steps, limits.min, limits.max).astype(dtype)
            self.assertGreater(len(np.unique(wanted)), 10)
            np.testing.assert_array_equal(self.run_node(node, inputs, open_axis=0), wanted)

    def test_integers_of_weights_that_are_no_constant(self):
        random = np.random.default_rng(4)
        a = self.quantized(random, (6, 258), np.uint8)
        b = self.quantized(random, (258, 4), np.uint8)
        zero = np.asarray(np.uint8(200))
        node = helper.make_node("MatMulInteger", ["a", "b", "z"], ["y"])
        wanted = (a.astype(np.int64) - 200) @ b.astype(np.int64)
        result = self.run_node(node, {"a": a, "b": b, "z": zero})
        self.assertEqual(result.dtype, np.int32)
        np.testing.assert_array_equal(result, wanted)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "loader", "show"])
    unittest.main(verbosity=2)
