#!/usr/bin/python3
"""What holds for every program whatever it computes: odd standard streams, limits of the system,
outputs that are inputs or links, names that no terminal should see.

usage: program_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import resource
import sys
import unittest

import numpy as np
from onnx import helper

from models import external, floats, save
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "--profile=cpu-avx2"


def make_model(path, op="Relu", name="act"):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "mul"),
             helper.make_node(op, ["a"], ["y"], name)]
    save(path, nodes, [floats("x", [2, 8])], [floats("y", [2, 800])],
         {"w": np.ones((8, 800), np.float32)})


class Program(ProgramCase):
    def setUp(self):
        super().setUp()
        self.model = self.path("model.onnx")
        self.out = self.path("model.om")
        make_model(self.model)

    def compile(self, code, *arguments, **how):
        return self.done(code, "sluice", "compile", "-q", PROFILE, *arguments, **how)

    def limited(self, kind, soft):
        return {"preexec_fn": lambda: resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))}

    # Standard streams

    def test_closed_input_is_no_matter_when_it_is_not_read(self):
        self.compile(0, self.model, "-o", self.out, stdin=None, preexec_fn=lambda: os.close(0))
        whole = bytes_of(self.out)
        self.compile(0, self.model, "-o", self.out, preexec_fn=lambda: (os.close(0), os.close(1)))
        self.assertEqual(bytes_of(self.out), whole)
        self.done(5, "sluice-preprocess", "-o", self.out, preexec_fn=lambda: os.close(0))

    def test_closed_output_is_an_error(self):
        for command in (("sluice", "compile", "-q", self.model), ("sluice-preprocess", self.model),
                        ("sluice", "--version")):
            result = self.done(5, *command, preexec_fn=lambda: os.close(1))
            self.assertIn("error SL1007", result.stderr)

    def test_help_that_cannot_be_written_is_an_error(self):
        names = ["sluice", "sluice-compile", "sluice-show", "sluice-loader", "sluice-conformance",
                 *("sluice-" + stage for stage in STAGES)]
        for name in names:
            for option in ("--help", "--version"):
                with open("/dev/full", "w") as full:
                    self.assertIn("SL1007", self.done(5, name, option, stdout=full).stderr,
                                  (name, option))

    # Limits

    def test_limit_of_file_size(self):
        limit = self.limited(resource.RLIMIT_FSIZE, 1000)
        self.assertIn("SL1007", self.compile(5, self.model, "-o", self.out, **limit).stderr)
        self.assertIn("SL1007", self.done(5, "sluice-preprocess", "--segments=inline",
                                          self.model, "-o", self.out, **limit).stderr)
        self.assertEqual(os.listdir(self.folder), ["model.onnx"])
        self.compile(0, self.model, "-o", self.out)
        outputs = self.path("outputs")
        self.assertIn("SL1007", self.done(5, "sluice-loader", self.out, "--random",
                                          "--output-dir", outputs, **limit).stderr)
        self.assertEqual(os.listdir(outputs), [])

    def test_limit_of_stack(self):
        limits = [self.limited(resource.RLIMIT_STACK, bytes) for bytes in (1 << 20, 1 << 18)]
        self.compile(0, self.model, "-o", self.out, **limits[0])
        self.done(0, "sluice-loader", self.out, "--random", **limits[0])
        for name in ("sluice-preprocess", "sluice-loader", "sluice-show"):
            self.assertIn("SL1008", self.done(5, name, self.model, **limits[1]).stderr)

    # Outputs

    def test_output_that_is_the_input(self):
        before = bytes_of(self.model)
        os.link(self.model, self.path("hard"))
        os.symlink("model.onnx", self.path("soft"))
        for output in ("model.onnx", "hard", "soft"):
            self.assertIn("is the input",
                         self.compile(3, self.model, "-o", self.path(output)).stderr)
            self.assertIn("is the input", self.done(3, "sluice-preprocess", self.model,
                                                    "-o", self.path(output)).stderr)
        self.assertEqual(bytes_of(self.model), before)
        graph = self.path("graph.sg")
        self.done(0, "sluice-preprocess", self.model, "-o", graph)
        for name in ("sluice-optimize", "sluice-as", "sluice-show"):
            self.done(3, name, graph, "-o", graph)

    def test_output_behind_a_link(self):
        os.mkdir(self.path("deep"))
        for old in ("", "old"):
            if old:
                with open(self.path("deep/product"), "w") as file:
                    file.write(old)
            os.symlink("deep/product", self.out)
            self.compile(0, self.model, "-o", self.out)
            self.assertTrue(os.path.islink(self.out))
            self.done(0, "sluice-show", self.path("deep/product"), "-o", os.devnull)
            self.assertEqual(os.listdir(self.path("deep")), ["product"])
            os.remove(self.out)
            os.remove(self.path("deep/product"))

    def test_no_model_without_its_statistics(self):
        for stats in ("/dev/full", self.folder, self.path("absent/stats.json")):
            result = self.compile(5 if stats == "/dev/full" else 3, self.model, "-o", self.out,
                                  "--stats", stats)
            self.assertIn("error SL", result.stderr)
            self.assertFalse(os.path.exists(self.out), stats)

    def test_standard_error_that_cannot_be_written(self):
        for name in ("preprocess", "optimize", "show", "as", "verify", "loader", "compile"):
            with open("/dev/full", "w") as full:
                done = self.run_program("sluice-" + name, self.path("absent"), stderr=full)
            self.assertIn(done.returncode, (2, 3), name)

    # Values of options

    def test_values_that_say_nothing(self):
        options = ["--input-shape=", "--input-shape=;;;", "--dim=", "--out-nodes=", "--passes=",
                   "--model=", "--stats=", "--dump-dir=", "--skip=", "--profile=", "--threads="]
        for option in options:
            self.assertIn("SL1006", self.compile(3, option, self.model, "-o", self.out).stderr,
                         option)
        for option in options + ["--stop-after="]:
            self.assertIn("SL1006", self.done(3, "sluice-preprocess", option, self.model,
                                              "-o", self.out).stderr, option)
        self.assertIn("SL1006",
                     self.done(3, "sluice-partition", "--split=", self.model).stderr)
        self.assertEqual(os.listdir(self.folder), ["model.onnx"])

    def test_values_that_tools_do_not_know(self):
        self.compile(0, self.model, "-o", self.out)
        self.done(0, "sluice-verify", self.out, "--segments")
        for arguments in (
                ["sluice-verify", "--level=foo", self.out], ["sluice-verify", "--level=", self.out],
                ["sluice-as", "--segments=foo", self.out], ["sluice-show", "--format=", self.out],
                ["sluice-loader", "--random=", self.out]):
            self.assertIn("SL1006", self.done(3, *arguments).stderr, arguments)

    # Names

    def test_names_in_errors(self):
        make_model(self.model, "Nonsense", "bad\nsluice: error \x1b[31m" + "x" * 100000)
        result = self.done(4, "sluice-preprocess", self.model, "-o", self.out)
        self.assertLess(len(result.stderr), 2000)
        self.assertEqual([line.split(":")[0] for line in result.stderr.splitlines()],
                         ["sluice-preprocess", "hint"])
        self.assertNotIn("\x1b", result.stderr)
        result = self.done(4, "sluice-preprocess", "--error-format=json", self.model, "-o",
                           self.out)
        self.assertIn("bad\nsluice: error \x1b[31mxxx", json.loads(result.stderr)["message"])

    # External data

    def test_external_data_is_a_file(self):
        def save_with_data_in(location):
            save(self.path("model/m.onnx"), [helper.make_node("MatMul", ["x", "w"], ["y"])],
                 [floats("x", [2, 8])], [floats("y", [2, 800])],
                 [external("w", [8, 800], location)])

        for folder in ("data", "model"):
            os.mkdir(self.path(folder))
        with open(self.path("data/w"), "wb") as file:
            file.write(np.ones((8, 800), np.float32).tobytes())
        save_with_data_in("../data/w")
        self.assertIn("--external-dir",
                     self.compile(3, self.path("model/m.onnx"), "-o", self.out).stderr)
        self.compile(0, "--external-dir", self.path("data"), self.path("model/m.onnx"), "-o",
                     self.out)
        os.mkfifo(self.path("model/pipe"))
        save_with_data_in("pipe")
        self.assertIn("no regular file",
                     self.compile(3, self.path("model/m.onnx"), "-o", self.out).stderr)


if __name__ == "__main__":
    Program.programs = need(sys.argv.pop(1),
                            ["compile", "show", "as", "verify", "loader", "conformance", *STAGES])
    unittest.main(verbosity=2)
