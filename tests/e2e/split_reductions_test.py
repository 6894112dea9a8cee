#!/usr/bin/python3
"""Reductions of few rows become two kernels, and dynamic quantizations of many elements three: the
results have the same bits for any number of threads, and are those of the reference evaluator, for
fixed and open sizes.

usage: split_reductions_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import sys
import unittest

import numpy as np
from onnx import helper, mapping

from models import save, value
from programs import ProgramCase, need

OPTIONS = ["--profile=cpu-generic",  # runs everywhere
           "--denormals=ieee"]  # as the evaluator
SUMS = ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum"]


def values(dtype, dims, seed=0):
    random = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        return random.integers(-100, 100, dims).astype(dtype)
    return random.uniform(0.5, 1.5, dims).astype(dtype)


class SplitReductions(ProgramCase):
    def make(self, nodes, inputs, outputs, constants, kernel=":parts"):
        """inputs, outputs: name -> (dtype, dims), a dim is a number or a name. kernel: the end of a
        name that is new."""
        describe = lambda entries: [value(name, dims,
                                          mapping.NP_TYPE_TO_TENSOR_TYPE[np.dtype(dtype)])
                                    for name, (dtype, dims) in entries.items()]
        save(self.path("model.onnx"), nodes, describe(inputs), describe(outputs), constants)
        self.program(0, "sluice-compile", "-q", *OPTIONS, self.path("model.onnx"), "-o",
                     self.path("model.om"), "--dump-dir", self.path("dump"))
        lowered = self.program(0, "sluice-show", self.path("dump/4-subgraph-optimize.sg"))
        self.assertIn(kernel, lowered)

    def compare(self, inputs, tolerance):
        files = self.bindings(inputs)
        expected = self.outputs_of("sluice-eval", self.path("dump/1-preprocess.sg"), *files)
        runs = [self.outputs_of("sluice-loader", self.path("model.om"), *files,
                                f"--threads={threads}") for threads in (1, 2, 7)]
        for name, array in expected.items():
            self.assertEqual(runs[0][name].shape, array.shape)
            np.testing.assert_allclose(runs[0][name].astype(np.float64), array.astype(np.float64),
                                       rtol=tolerance)
            for run in runs[1:]:
                self.assertEqual(run[name].tobytes(), runs[0][name].tobytes())

    def reduce(self, op, dtype, dims, axes, keepdims=1, tolerance=1e-5, arrays=(), result=None):
        """One reduction, of dims that may be names, over arrays of sizes for them."""
        axes = list(range(len(dims))) if axes is None else axes
        kept = [1 if i in axes else dim for i, dim in enumerate(dims) if keepdims or i not in axes]
        if op.startswith("Arg"):
            node = helper.make_node(op, ["x"], ["y"], axis=axes[0], keepdims=keepdims)
            constants = {}
        elif op == "ReduceSum":
            node = helper.make_node(op, ["x", "axes"], ["y"], keepdims=keepdims)
            constants = {"axes": np.array(axes, np.int64)}
        else:
            node, constants = helper.make_node(op, ["x"], ["y"], axes=axes, keepdims=keepdims), {}
        self.make([node], {"x": (dtype, dims)}, {"y": (result or dtype, kept)}, constants)
        for array in arrays or [values(dtype, dims)]:
            self.compare({"x": array}, tolerance)

    def test_sums(self):
        for op in SUMS:
            with self.subTest(op):
                self.reduce(op, np.float32, [300007], [0])
        self.reduce("ReduceSum", np.float32, [2, 3, 100000], [1, 2], 0)
        self.reduce("ReduceMean", np.float32, [3, 100, 4, 300], [1, 3])
        self.reduce("ReduceMean", np.float16, [1, 300, 1000], None, 0, 1e-3)
        self.reduce("ReduceSum", np.float64, [4, 100000], [1], 1, 1e-12)
        self.reduce("ReduceSum", np.int32, [5, 70001], [1], 1, 0)
        self.reduce("ReduceProd", np.int64, [1, 300000], [1], 0, 0)

    def test_columns(self):
        """Few vectors of neighbouring rows."""
        self.reduce("ReduceSum", np.float32, [5000, 70], [0])
        self.reduce("ReduceMax", np.float32, [5000, 70], [0], 0)

    def test_extremes(self):
        x = values(np.float32, [4, 100003])
        with_nan = x.copy()
        with_nan[1, 70000] = with_nan[2, 0] = np.nan
        with_nan[3] = -np.inf
        for op in ("ReduceMax", "ReduceMin"):
            with self.subTest(op):
                self.reduce(op, np.float32, [4, 100003], [1], 0, 0, [x, with_nan])
        self.reduce("ReduceMin", np.uint8, [300000], [0], 1, 0,
                    [np.full(300000, 255, np.uint8), np.arange(300000).astype(np.uint8)])

    def test_places(self):
        x = np.round(values(np.float32, [4, 100003]) * 1000)  # with equal ones
        with_nan = x.copy()
        with_nan[0, 0] = with_nan[1, 7] = np.nan
        with_nan[2, 5000:50000] = np.nan
        with_nan[3] = -np.inf
        with_nan[3, ::2] = np.nan
        for op in ("ArgMax", "ArgMin"):
            for keepdims in (0, 1):
                with self.subTest(f"{op} {keepdims}"):
                    self.reduce(op, np.float32, [4, 100003], [1], keepdims, 0, [x, with_nan],
                                np.int64)
        self.reduce("ArgMax", np.float32, [100000, 3], [0], 1, 0, result=np.int64)
        self.reduce("ArgMin", np.int8, [1, 300000, 1], [1], 0, 0, result=np.int64)
        self.reduce("ArgMax", np.float16, [300000], [0], 0, 0, result=np.int64)

    def test_open_sizes(self):
        sizes = lambda last, *counts: [values(np.float32, [count, *last], count)
                                       for count in counts]
        for op in ("ReduceSum", "ReduceMean", "ReduceMax"):
            with self.subTest(op):
                self.reduce(op, np.float32, ["N", 256, 1024], None, 1, 1e-5,
                            sizes([256, 1024], 1, 3, 5))
        rows = [values(np.float32, [2, count, 2048], count) for count in (1, 7, 64, 100)]
        for op in ("ReduceMean", "ReduceL2"):
            with self.subTest(op):
                self.reduce(op, np.float32, [2, "M", 2048], [1, 2], 0, 1e-5, rows)
        self.reduce("ArgMax", np.float32, ["N", 100000], [1], 0, 0, sizes([100000], 1, 3, 40),
                    np.int64)

    def quantize(self, dims, arrays):
        """One dynamic quantization; the results have the evaluator's bits."""
        node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
        outputs = {"y": (np.uint8, dims), "scale": (np.float32, []), "zero": (np.uint8, [])}
        self.make([node], {"x": (np.float32, dims)}, outputs, {}, ":low")
        for array in arrays:
            self.compare({"x": array.astype(np.float32)}, 0)

    def test_dynamic_quantization(self):
        normal = np.random.default_rng(1).normal(size=100003)
        tiny = np.finfo(np.float32).smallest_subnormal
        special = {"mixed": normal, "positive": normal + 10, "negative": normal - 10,
                   "zeros": normal * 0, "equal": normal * 0 + 3, "equal, negative": normal * 0 - 3,
                   "huge": normal * 4e37, "tiny": np.round(normal * 20) * tiny,
                   "tiny, positive": np.abs(np.round(normal * 20)) * tiny}
        for value in (np.nan, np.inf, -np.inf):
            special[str(value)] = np.where(normal > 2, value, normal)
            special[f"only {value}"] = np.full_like(normal, value)
        special["infinities"] = np.where(np.abs(normal) > 2, normal * np.inf, normal)
        self.quantize([100003], special.values())
        self.quantize([3, 64, 512], [array[:3 * 64 * 512].reshape(3, 64, 512)
                                     for array in special.values()])
        self.quantize(["N", "M", 768], [np.resize(normal, dims) for dims in
                                        ((1, 1, 768), (3, 50, 768), (2, 131, 768), (5, 2, 768))])

    def test_fused(self):
        """Nodes before and after a reduction, and a result that does not come from it."""
        nodes = [helper.make_node("Sub", ["a", "b"], ["d"]),
                 helper.make_node("Mul", ["d", "d"], ["square"]),
                 helper.make_node("ReduceMean", ["square"], ["mean"], axes=[1], keepdims=1),
                 helper.make_node("Sqrt", ["mean"], ["root"]),
                 helper.make_node("Add", ["root", "c"], ["y"])]
        dims = (np.float32, [3, 150000])
        self.make(nodes, {"a": dims, "b": dims, "c": (np.float32, [3, 1])},
                  {"y": (np.float32, [3, 1])}, {})
        self.compare({"a": values(*dims, 1), "b": values(*dims, 2),
                      "c": values(np.float32, [3, 1])}, 1e-5)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "eval", "loader", "show"])
    unittest.main(verbosity=2)
