#!/usr/bin/python3
"""Kernels keep to a worker's scratch, whatever the sizes: what compiles opens, and runs at every
size that its dims allow.

usage: scratch_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import sys
import unittest

import numpy as np
from onnx import helper

from models import floats, model_of, write
from programs import STAGES, ProgramCase, import_sluice, need


def random(*dims, scale=1.0):
    return (np.random.default_rng(sum(dims)).standard_normal(dims) * scale).astype(np.float32)


def model(nodes, inputs, outputs, constants=()):
    declared = lambda values: [floats(*each) for each in values.items()]
    return model_of(nodes, declared(inputs), declared(outputs), constants, opset=17)


def convolution(x, channels, kernel, stride=1):
    """Padded on all sides by half of the kernel; x: dims of the input."""
    weight = random(channels, x[1], kernel, kernel, scale=(x[1] * kernel * kernel) ** -0.5)
    size = lambda name, dim: name if isinstance(dim, str) else (dim - 1) // stride + 1
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[kernel // 2] * 4,
                            strides=[stride] * 2)
    return model([node], {"x": x}, {"y": [x[0], channels, size("OH", x[2]), size("OW", x[3])]},
                 {"w": weight})


class Scratch(ProgramCase):
    def compiled(self, onnx_model, *options):
        self.program(0, "sluice-compile", write(self.path("m.onnx"), onnx_model), "-o",
                     self.path("m.om"), "--verify=each", *options)
        self.program(0, "sluice-verify", self.path("m.om"))
        return sluice.Model(self.path("m.om"))

    def run_once(self, compiled, **inputs):
        with compiled:
            return compiled.run(threads=2)(**inputs)["y"]

    def check_convolution(self, x, sizes, *attributes, options=()):
        """Open dims give what fixed ones give."""
        for dims in sizes:
            data = random(*dims)
            got = self.run_once(self.compiled(convolution(x, *attributes), *options), x=data)
            wanted = self.run_once(self.compiled(convolution(list(dims), *attributes)), x=data)
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)

    def test_open_batch(self):
        for channels, size, kernel in ((64, 192, 3), (128, 112, 3), (64, 112, 5), (64, 224, 3)):
            for options in ((), ("--dim", "N=1..8")):
                with self.subTest(channels=channels, size=size, kernel=kernel, options=options):
                    self.check_convolution(["N", channels, size, size], [(2, channels, size, size)],
                                           channels, kernel, options=options)

    def test_open_images(self):
        for channels, out, kernel, stride, sizes in (
                (64, 8, 3, 1, [(2, 64, 7, 4096), (1, 64, 5, 20011)]),
                (3, 16, 7, 2, [(1, 3, 9, 100003)]), (64, 3, 9, 1, [(1, 64, 40, 2048)])):
            with self.subTest(channels=channels, kernel=kernel):
                self.check_convolution(["N", channels, "H", "W"], sizes, out, kernel, stride)

    def test_long_reductions(self):
        attend = model([helper.make_node("Transpose", ["v"], ["t"], "turn", perm=[0, 2, 1, 3]),
                        helper.make_node("MatMul", ["p", "t"], ["y"], "attend")],
                       {"p": [1, 4, "M", "S"], "v": [1, "S", 4, 64]}, {"y": [1, 4, "M", 64]})
        for rows, length in ((3, 200), (40, 5000), (3, 50000)):
            p, v = random(1, 4, rows, length), random(1, length, 4, 64)
            got = self.run_once(self.compiled(attend), p=p, v=v)
            np.testing.assert_allclose(got, p.astype(np.float64) @ v.transpose(0, 2, 1, 3),
                                       rtol=1e-3, atol=2e-3)

    def test_long_reductions_of_transposed_operands(self):
        product = lambda k: model([helper.make_node("Gemm", ["a", "b"], ["y"], "gemm", transB=1)],
                                  {"a": [5, k], "b": [24, k]}, {"y": [5, 24]})
        for length in (100, 20000, 300000):
            a, b = random(5, length), random(24, length)
            wanted = a.astype(np.float64) @ b.T
            for dim in ("K", length):
                with self.subTest(length=length, dim=dim):
                    np.testing.assert_allclose(self.run_once(self.compiled(product(dim)), a=a, b=b),
                                               wanted, rtol=1e-3, atol=5e-3)

    def test_large_kernels(self):
        """300 x 300 positions leave room for one row of pointers; 400 x 400 for none, and the node
        goes to another engine."""
        for size, engine in ((300, "aicore"), (400, "host_cpu")):
            weight, x = random(2, 16, size, size, scale=0.01), random(1, 16, size + 1, size + 2)
            node = helper.make_node("Conv", ["x", "w"], ["y"], "conv")
            got = self.run_once(self.compiled(model([node], {"x": x.shape}, {"y": [1, 2, 2, 3]},
                                                    {"w": weight})), x=x)
            wanted = np.einsum("ncrshw,ochw->nors",
                               np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3)),
                               weight, optimize=True)
            np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-2)
            self.assertRegex(self.program(0, "sluice-show", "--summary", self.path("m.om")),
                             rf"\b{engine}\b")


if __name__ == "__main__":
    PROGRAMS = need(sys.argv.pop(1), [*STAGES, "compile", "verify", "show"])
    ProgramCase.programs = PROGRAMS
    sluice = import_sluice(PROGRAMS)
    unittest.main()
