#!/usr/bin/python3
"""What --dump-values writes, and says of values that exist only inside kernels; the annotation keep
brings those back.

usage: dump_values_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import sys
import unittest

import numpy as np
from onnx import helper

from models import floats, save
from programs import STAGES, ProgramCase, need

PROFILE = "--profile=cpu-generic"  # runs everywhere
KEEP_ALL = [{"node": "*", "set": {"keep": True}}]


def weights(*dims):
    return np.linspace(-1, 1, int(np.prod(dims)), dtype=np.float32).reshape(dims)


NODES = [
    helper.make_node("Conv", ["x", "w"], ["conv"], "convolution", pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["conv"], ["active"], "activation"),
    helper.make_node("Mul", ["active", "scale"], ["scaled"], "scaling"),
    helper.make_node("Tanh", ["scaled"], ["bent"], "bending"),
    helper.make_node("Softmax", ["bent"], ["y"], "rows", axis=-1),
]
MADE = [node.output[0] for node in NODES]


class DumpValues(ProgramCase):
    def compiled(self, batch, rules=()):
        save(self.path("m.onnx"), NODES, [floats("x", [batch, 3, 8, 40])],
             [floats("y", [batch, 4, 8, 40])],
             {"w": weights(4, 3, 3, 3), "scale": weights(40)})
        self.dims = ["--dim=N=2"] if batch == "N" else []
        with open(self.path("rules.json"), "w") as file:
            json.dump(list(rules), file)
        self.program(0, "sluice-compile", "-q", self.path("m.onnx"), "-o", self.path("m.om"),
                     PROFILE, "--annotate=" + self.path("rules.json"),
                     "--dump-dir=" + self.path("look"))

    def dumped(self, code=0, glob=""):
        return self.program(code, "sluice-loader", self.path("m.om"), "--random", *self.dims,
                            "--dump-values=" + self.path("values") + glob)

    def listed(self):
        """The lines of values.txt by value: what stands before and after its name."""
        with open(self.path("values/values.txt")) as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        return {row[1]: (row[0], *row[2:]) for row in rows}

    def test_fused_values_are_listed_with_the_node_that_has_them(self):
        for batch in (2, "N"):  # one fixed part; a symbolic part under a root
            self.compiled(batch)
            self.dumped()
            values = self.listed()
            self.assertEqual(values["x"], ("x.npy",))
            self.assertEqual(values["y"], ("y.npy",))
            self.assertEqual(values["conv"], ("-", "fused into node 'convolution' (Fused(Conv))"))
            self.assertEqual(values["bent"], ("-", "fused into node 'rows' (Fused)"))
            shown = self.program(0, "sluice-show", self.path("look/4-subgraph-optimize.sg"))
            for name in ("convolution", "rows"):
                self.assertRegex(shown, rf'= Fused\(.*name "{name}"')
            self.assertIn("2 values compared, 0 differ", self.program(
                0, "sluice-diff", "--values", self.path("values"),
                self.path("look/1-preprocess.sg")))

    def test_a_pattern_that_fits_fused_values_alone_is_an_error_that_names_them(self):
        for batch in (2, "N"):
            self.compiled(batch)
            said = self.dumped(3, ":ben*")
            self.assertIn("'bent' is fused into node 'rows' (Fused)", said)
            self.assertIn("annotation 'keep'", said)
            said = self.dumped(3, ":nobody")
            self.assertIn("no value fits 'nobody'", said)
            self.assertNotIn("keep", said)

    def test_a_value_that_is_kept_is_dumped(self):
        self.compiled(2, [{"node": "bending", "set": {"keep": True}}])
        self.dumped()
        values = self.listed()
        self.assertEqual(values["bent"], ("bent.npy",))
        self.assertEqual(values["conv"][0], "-")
        bent, y = (np.load(self.path(f"values/{name}.npy")) for name in ("bent", "y"))
        e = np.exp(bent - bent.max(-1, keepdims=True))
        np.testing.assert_allclose(y, e / e.sum(-1, keepdims=True), rtol=1e-5)

    def test_every_value_can_be_kept(self):
        for batch in (2, "N"):
            self.compiled(batch, KEEP_ALL)
            self.dumped()
            self.assertEqual([self.listed()[name] for name in MADE],
                             [(name + ".npy",) for name in MADE])
            self.program(0, "sluice-diff", "--values", self.path("values"),
                         self.path("look/1-preprocess.sg"))

    def test_a_value_stored_in_blocks_is_dumped_in_the_order_of_its_axes(self):
        for batch, head in (("2", ""), ("N", "symbol N = dim(@main, %x, 0) in [1, 64]\n")):
            tensor = f"f32[{batch}, 20, 3, 5]"
            with open(self.path("blocks.txt"), "w") as file:
                file.write(f"sluice 1 typed\n{head}graph @main(%x: {tensor}) -> (%y) {{\n"
                           f"  %a: {tensor} storage [0, 1 by 16, 2, 3, 1 mod 16] "
                           f"[{batch}, 2, 3, 5, 16] bytes 1920*{batch} = Relu(%x)\n"
                           f"  %y: {tensor} = Tanh(%a)\n}}\n".replace("1920*2", "3840"))
            path = self.path("blocks.txt")
            for step, (name, *options) in enumerate([
                    ("sluice-as",), ("sluice-partition", PROFILE), ("sluice-subgraph-optimize",),
                    ("sluice-build",)]):
                path, last = self.path(f"{step}"), path
                self.program(0, name, *options, last, "-o", path)
            self.dims = ["--dim=N=2"] if head else []
            self.program(0, "sluice-loader", path, "--random", *self.dims,
                         "--dump-values=" + self.path("values"))
            x, a, y = (np.load(self.path(f"values/{name}.npy")) for name in "xay")
            np.testing.assert_array_equal(a, np.maximum(x, 0))
            np.testing.assert_allclose(y, np.tanh(a), rtol=1e-5)


if __name__ == "__main__":
    DumpValues.programs = need(sys.argv.pop(1),
                               ["as", "compile", "diff", "loader", "show", *STAGES])
    unittest.main(verbosity=2)
