#!/usr/bin/python3
"""-q, --quiet: every program takes it, prints no warnings with it, and still prints errors and
gives the same results.

usage: quiet_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

import models
from models import floats, value
from programs import STAGES, ProgramCase, need

PROFILE = "--profile=cpu-generic"


class Quiet(ProgramCase):
    def setUp(self):
        super().setUp()
        # an attribute that Relu does not have
        relu = helper.make_node("Relu", ["x"], ["r"], "act", nonsense=1)
        self.model = self.save("model.onnx",
                               [relu, helper.make_node("NonZero", ["r"], ["y"], "nz")],
                               [floats("x", ["N", 3])],
                               [value("y", [2, None], TensorProto.INT64)])

    def save(self, name, *parts):
        return models.save(self.path(name), *parts)

    def two_streams(self, name, *arguments, code=0):
        done = self.done(code, name, *arguments, text=False)
        return done.stdout, done.stderr.decode()

    def silenced(self, word, name, *arguments):
        """The program says `word` on standard error, with -q nothing; what it prints is the
        same."""
        printed, said = self.two_streams(name, *arguments)
        self.assertIn(word, said)
        for option in ("-q", "--quiet"):
            again, left = self.two_streams(name, option, *arguments)
            self.assertEqual((again, left), (printed, ""), (name, option))

    def test_every_program_has_it(self):
        names = sorted(name for name in os.listdir(self.programs) if name.startswith("sluice-"))
        self.assertGreaterEqual(len(names), 15)
        for name in names:
            if name == "sluice-pass-host":
                continue  # a stage starts it; it has no warnings
            self.assertRegex(self.two_streams(name, "--help")[0].decode(), r"(?m)^  -q, --quiet  ",
                             name)

    def test_stages(self):
        graph = self.path("0.sg")
        self.silenced("'nonsense' is not known", "sluice-preprocess", self.model, "-o", graph)
        for i, stage in enumerate(STAGES[1:4]):
            _, said = self.two_streams("sluice-" + stage, "-q", graph, "-o",
                                       self.path(f"{i + 1}.sg"))
            self.assertEqual(said, "")
            graph = self.path(f"{i + 1}.sg")
        self.silenced("nodes that run one by one", "sluice-build", graph, "-o",
                      self.path("model.om"))
        state = self.save(
            "state.onnx", [helper.make_node("Concat", ["p", "x"], ["k"], "cat", axis=1)],
            [floats("p", [1, "P", 8]), floats("x", [1, "S", 8])], [floats("k", [1, None, 8])])
        for program, source, result in (("preprocess", state, "a.sg"), ("optimize", "a.sg", "b.sg"),
                                        ("partition", "b.sg", "c.sg")):
            options = ["--state=k=p", PROFILE] if program == "preprocess" else []
            self.two_streams("sluice-" + program, *options, self.path(source), "-o",
                             self.path(result))
        self.silenced("nothing bounds them", "sluice-subgraph-optimize", self.path("c.sg"), "-o",
                      self.path("d.sg"))

    def test_compile_and_check(self):
        for transport in ("pipe", "files", "zmq"):
            self.silenced("'nonsense' is not known", "sluice-compile", self.model, "-o",
                          self.path("model.om"), PROFILE, "--transport=" + transport)
        self.silenced("'nonsense' is not known", "sluice-check", self.model, PROFILE)
        self.assertEqual(self.two_streams("sluice", "check", "-q", self.model, PROFILE)[1], "")

    def test_loader_verify_and_the_tools(self):
        sized = self.save("sized.onnx", [helper.make_node("Reshape", ["x", "s"], ["y"], "r")],
                          [floats("x", ["N"])], [floats("y", [None, 97])],
                          {"s": [-1, 97]})
        om, graph, text = self.path("sized.om"), self.path("sized.sg"), self.path("big.txt")
        self.two_streams("sluice-compile", "-q", sized, "-o", om, PROFILE)
        self.silenced("was not checked", "sluice-verify", om)
        self.silenced("wrote", "sluice-loader", om, "--random", "--dim=N=194",
                      "--output-dir=" + self.path("outputs"))
        self.two_streams("sluice-preprocess", sized, "-o", graph)
        for name, arguments in (("show", [graph]), ("eval", [graph, "--random", "--dim=N=97"]),
                                ("diff", [graph, graph])):
            self.assertEqual(self.two_streams("sluice-" + name, "-q", *arguments),
                             self.two_streams("sluice-" + name, *arguments))
        big = self.save("big.onnx", [helper.make_node("Add", ["x", "w"], ["y"], "add")],
                        [floats("x", [1000])], [floats("y", [1000])],
                        {"w": np.arange(1000, dtype=np.float32)})
        self.two_streams("sluice-preprocess", big, "-o", graph)
        self.two_streams("sluice-show", graph, "-o", text)
        self.silenced("only a digest", "sluice-as", text, "-o", self.path("again.sg"))
        reduce = ["sluice-reduce", big, "-o", self.path("small.onnx"), "--exit-code=1"]
        loud, said = self.two_streams(*reduce, "--", "false", "%")
        quiet, left = self.two_streams(*reduce, "-q", "--", "false", "%")
        self.assertEqual((said, left), ("", ""))
        self.assertEqual(quiet.splitlines(), loud.splitlines()[-2:])

    def test_conformance(self):
        os.makedirs(self.path("cases/one"))
        os.rename(self.model, self.path("cases/one/model.onnx"))
        printed, said = self.two_streams("sluice-conformance", "-q", self.path("cases"), PROFILE)
        self.assertEqual((len(printed.splitlines()), said), (2, ""))

    def test_errors_are_told_without_warnings(self):
        nodes = [helper.make_node("Relu", ["x"], ["r"], "act", nonsense=1),
                 helper.make_node("Reshape", ["r", "s"], ["y"], "no")]
        bad = self.save("bad.onnx", nodes, [floats("x", [2])], [floats("y", [7])],
                        {"s": [7]})
        for name in ("sluice-preprocess", "sluice-compile", "sluice-check"):
            options = ["-o", self.path("out")] if name != "sluice-check" else []
            self.assertIn("warning", self.two_streams(name, bad, *options, code=3)[1])
            said = self.two_streams(name, "-q", bad, *options, code=3)[1]
            self.assertRegex(said, "^sluice-preprocess: error SL2003")
            self.assertNotIn("warning", said)
        for name in ("sluice-show", "sluice-loader", "sluice-verify"):
            self.assertIn("error SL1004",
                          self.two_streams(name, "-q", self.path("absent"), code=3)[1])


if __name__ == "__main__":
    Quiet.programs = need(sys.argv.pop(1), ["as", "check", "compile", "conformance", "diff", "eval",
                                            "loader", "reduce", "show", "verify", *STAGES])
    unittest.main(verbosity=2)
