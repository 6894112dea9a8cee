#!/usr/bin/python3
"""Kernels as text: what `sluice show --loops` prints of a node is all that its kernel depends on,
so --kernel makes the same object of it, under the same name. And --math, which is part of that
text: every choice gives other kernels, whose results are within the errors that are promised.

usage: kernels_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import hashlib
import math
import random
import re
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import floats, save, value
from programs import ProgramCase, need

PROFILE = "cpu-generic"  # runs everywhere
# By --math: the largest relative error of exp and erf (docs/kernels.md); a unit in the last place
# is at most 2^-23.
ERRORS = {"default": 4 * 2.0 ** -23, "high_precision": 2.0 ** -23, "high_performance": 1e-6}
ROUNDING = 2.0 ** -24  # of one operation
ROW = 96


def make_model(path):
    """Functions alone, rows, and a chain with a broadcast constant; open and fixed sizes."""
    scale = np.linspace(-2, 2, ROW).astype(np.float32)
    nodes = [helper.make_node("Exp", ["x"], ["e"], "exp"),
             helper.make_node("Gelu", ["x"], ["g"], "gelu"),
             helper.make_node("Softmax", ["x"], ["s"], "softmax", axis=-1),
             helper.make_node("Mul", ["z", "scale"], ["m"], "scaled"),
             helper.make_node("HardSwish", ["m"], ["h"], "chain"),
             helper.make_node("CumSum", ["z", "one"], ["c"], "sums"),
             helper.make_node("ArgMax", ["z"], ["a"], "largest", axis=0)]
    save(path, nodes, [floats("x", ["N", ROW]), floats("z", [5, ROW])],
         [*(floats(name, ["N", ROW]) for name in "egs"), *(floats(name, [5, ROW]) for name in "hc"),
          value("a", [1, ROW], TensorProto.INT64)],
         {"scale": scale, "one": 1}, opset=20, ir_version=9)


def specifications(text):
    """By label: the entry that the comment says, or nothing, and the text that follows it."""
    found = {}
    for piece in text.split("\n\n"):
        comment, specification = piece.rstrip("\n").split("\n", 1)
        label, _, entry = comment[2:].partition(", kernel ")
        found[label] = (entry, specification + "\n")
    return found


class KernelsCase(ProgramCase):
    def setUp(self):
        super().setUp()
        make_model(self.path("m.onnx"))

    def compiled(self, *options):
        """The folder with the graph of each stage, and m.om beside it."""
        folder = self.path("look" + "".join(options))
        self.program(0, "sluice-compile", "-q", "--profile=" + PROFILE, self.path("m.onnx"), "-o",
                     self.path("m.om"), "--dump-dir", folder, *options)
        return folder

    def loops(self, graph, *options):
        return self.done(0, "sluice-show", "--loops", graph, *options).stdout


class Specifications(KernelsCase):
    def digests(self, graph):
        """By entry: the digest of the kernel's object in a lowered graph."""
        text = self.program(0, "sluice-show", graph)
        digests = dict(re.findall(r"^kernel (k_\w+) = u8\[\d+\] sha256:(\w+)", text, re.M))
        for entry, numbers in re.findall(r"^kernel (k_\w+) = u8\[\d+\] \[([^]]*)\]", text, re.M):
            digests[entry] = hashlib.sha256(bytes(map(int, numbers.split(",")))).hexdigest()
        return digests

    def test_one_kernel_alone_is_the_one_in_the_graph(self):
        graph = self.compiled() + "/4-subgraph-optimize.sg"
        digests, found = self.digests(graph), specifications(self.loops(graph))
        self.assertGreaterEqual(len(found), 6, found.keys())
        self.assertTrue(any("size n0" in text for _, text in found.values()))
        for label, (entry, text) in found.items():
            with open(self.path("k.txt"), "w", encoding="utf-8") as file:
                file.write(text)
            said = self.program(0, "sluice-subgraph-optimize", "--kernel", self.path("k.txt"), "-o",
                                self.path("k.o"))
            self.assertRegex(said, rf"^sluice-subgraph-optimize: kernel {entry}, (at most )?\d+ "
                                   r"blocks?, \d+ bytes of scratch\n$")
            with open(self.path("k.o"), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digests[entry], label)
            self.assertEqual("k_" + hashlib.sha256(text.encode()).hexdigest()[:16], entry)

    def test_blanks_and_comments_do_not_matter(self):
        text = self.loops(self.compiled() + "/4-subgraph-optimize.sg", "--node=softmax")
        kernel = lambda words: self.done(0, "sluice-subgraph-optimize", "--kernel=-",
                                         input=words.encode(), text=False).stdout
        plain = kernel(text)
        self.assertEqual(plain[:4], b"\x7fELF")
        spaced = text.replace("\n", "  \n# nothing\n").replace(" = ", "  =  ")
        self.assertEqual(kernel(spaced), plain)

    def test_a_partitioned_graph_shows_the_same(self):
        folder = self.compiled()
        lowered = specifications(self.loops(folder + "/4-subgraph-optimize.sg"))
        partitioned = specifications(self.loops(folder + "/3-partition.sg"))
        self.assertEqual({entry for entry, _ in partitioned.values()}, {""})
        self.assertEqual(sorted(text for _, text in partitioned.values()),
                         sorted(text for _, text in lowered.values()))

    def test_refusals(self):
        folder = self.compiled()
        graph = folder + "/4-subgraph-optimize.sg"
        for code, options in ((3, ["--node=nothing"]), (2, ["--summary"]), (2, ["--header"]),
                              (2, ["--format=json"]), (2, ["--check"])):
            self.program(code, "sluice-show", "--loops", graph, *options)
        self.assertIn("needs level 'partitioned' or 'lowered', got 'typed'",
                      self.program(3, "sluice-show", "--loops", folder + "/2-optimize.sg"))
        self.program(3, "sluice-show", "--loops", self.path("m.om"))
        self.program(2, "sluice-show", graph, "--node=softmax")
        self.program(2, "sluice-subgraph-optimize", "--kernel=k.txt", graph, "-o", self.path("k.o"))
        self.program(3, "sluice-subgraph-optimize", "--kernel=" + self.path("absent"),
                     "-o", self.path("k.o"))

    def test_damaged_specifications_end_with_an_error(self):
        """One word is changed to another that stands in such texts."""
        text = self.loops(self.compiled() + "/4-subgraph-optimize.sg", "--node=softmax")
        words = re.split(r"(\s+)", text[text.index("\n") + 1:])
        numbers = random.Random(5)
        codes = set()
        for _ in range(60):
            changed = list(words)
            at = numbers.randrange(0, len(words), 2)
            changed[at] = numbers.choice(words[::2] + ["0", "-1", "9223372036854775807", "%99"])
            done = self.run_program("sluice-subgraph-optimize", "-q", "--kernel=-",
                                    input="".join(changed).encode(), text=False)
            self.assertIn(done.returncode, (0, 3, 4), (words[at], changed[at], done.stderr))
            codes.add(done.returncode)
        self.assertIn(3, codes)


class Math(KernelsCase):
    def run_model(self, inputs):
        return self.outputs_of("sluice-loader", self.path("m.om"), *self.bindings(inputs))

    def assert_near(self, actual, expected, allowed, what):
        worst = np.max(np.abs(actual.astype(np.float64) - expected) / allowed)
        self.assertLess(worst, 1, what)

    def test_results_are_as_exact_as_promised(self):
        x = np.random.default_rng(1).normal(0, 4, (301, ROW)).astype(np.float32)
        inputs = {"x": x, "z": x[:5]}
        x = x.astype(np.float64)
        erf = np.vectorize(math.erf)(x / np.sqrt(2))
        gelu, power = x / 2 * (1 + erf), np.exp(x)
        softmax = np.exp(x - x.max(axis=-1, keepdims=True))
        softmax /= softmax.sum(axis=-1, keepdims=True)
        # The difference from the largest element is rounded, before exp.
        shift = 1 + np.abs(x - x.max(axis=-1, keepdims=True)).max(axis=-1, keepdims=True)
        results = {}
        for choice, error in ERRORS.items():
            self.compiled("--math=" + choice)
            got = results[choice] = self.run_model(inputs)
            self.assert_near(got["e"], power, error * power, choice)
            # erf has this error at its argument, which is rounded; 1 + erf(x) loses what cancels.
            self.assert_near(got["g"], gelu, np.abs(x) * (error + 4 * ROUNDING) + 1e-37, choice)
            self.assert_near(got["s"], softmax,
                             softmax * (2 * error + (2 * shift + ROW + 4) * ROUNDING), choice)
        for one, other in (("default", "high_precision"), ("default", "high_performance")):
            self.assertTrue(any(not np.array_equal(results[one][name], results[other][name])
                                for name in "egs"), (one, other))

    def test_every_choice_has_kernels_of_its_own(self):
        entries = {}
        for choice in ERRORS:
            graph = self.compiled("--math=" + choice) + "/4-subgraph-optimize.sg"
            found = specifications(self.loops(graph))
            self.assertTrue(all(f"\nmath {choice}\n" in text for _, text in found.values()))
            entries[choice] = {entry for entry, _ in found.values()}
        self.assertEqual(len(set.union(*entries.values())),
                         sum(len(names) for names in entries.values()))
        self.assertEqual(entries["default"], {entry for entry, _ in specifications(
            self.loops(self.compiled() + "/4-subgraph-optimize.sg")).values()})

    def test_the_option_is_read_by_the_fourth_stage(self):
        folder = self.compiled()
        late = self.program(3, "sluice-compile", folder + "/4-subgraph-optimize.sg", "-o",
                            self.path("late.om"), "--math=high_precision")
        self.assertIn("--math is read by sluice-subgraph-optimize", late)
        self.program(0, "sluice-subgraph-optimize", "--math=high_precision",
                     folder + "/3-partition.sg", "-o", self.path("high.sg"))
        self.compiled("--math=high_precision")
        self.assertEqual(self.loops(self.path("high.sg")),
                         self.loops(self.path("look--math=high_precision") +
                                    "/4-subgraph-optimize.sg"))
        self.assertIn("expected default, high_precision or high_performance",
                      self.program(3, "sluice-compile", self.path("m.onnx"), "-o",
                                   self.path("bad.om"), "--math=exact"))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv[1], ["compile", "show", "loader", "subgraph-optimize"])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
