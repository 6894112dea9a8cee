#!/usr/bin/python3
"""What holds for every program whatever it computes: odd standard streams, limits of the system,
outputs that are inputs or links, names that no terminal should see.

usage: program_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from programs import STAGES, need

PROGRAMS = None
PROFILE = "--profile=cpu-avx2"


def program(name):
    return os.path.join(PROGRAMS, name)


def floats(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def make_model(path, op="Relu", name="act"):
    weights = numpy_helper.from_array(np.ones((8, 800), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], "mul"),
             helper.make_node(op, ["a"], ["y"], name)]
    model = helper.make_model(helper.make_graph(nodes, "g", [floats("x", [2, 8])],
                                                [floats("y", [2, 800])], [weights]),
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = self.path("model.onnx")
        self.out = self.path("model.om")
        make_model(self.model)

    def path(self, name):
        return os.path.join(self.folder, name)

    def bytes_of(self, path):
        with open(path, "rb") as file:
            return file.read()

    def run_program(self, code, name, *arguments, **how):
        how = {"stdout": subprocess.PIPE, **how}
        result = subprocess.run([program(name), *arguments], stderr=subprocess.PIPE, timeout=60,
                                **how)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def compile(self, code, *arguments, **how):
        return self.run_program(code, "sluice", "compile", "-q", PROFILE, *arguments, **how)

    def limited(self, kind, soft):
        return {"preexec_fn": lambda: resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))}

    # Standard streams

    def test_closed_input_is_no_matter_when_it_is_not_read(self):
        self.compile(0, self.model, "-o", self.out, stdin=None, preexec_fn=lambda: os.close(0))
        whole = self.bytes_of(self.out)
        self.compile(0, self.model, "-o", self.out, preexec_fn=lambda: (os.close(0), os.close(1)))
        self.assertEqual(self.bytes_of(self.out), whole)
        self.run_program(5, "sluice-preprocess", "-o", self.out, preexec_fn=lambda: os.close(0))

    def test_closed_output_is_an_error(self):
        for command in (("sluice", "compile", "-q", self.model), ("sluice-preprocess", self.model),
                        ("sluice", "--version")):
            result = self.run_program(5, *command, preexec_fn=lambda: os.close(1))
            self.assertIn(b"error SL1007", result.stderr)

    def test_help_that_cannot_be_written_is_an_error(self):
        names = ["sluice", "sluice-compile", "sluice-show", "sluice-loader", "sluice-conformance",
                 *("sluice-" + stage for stage in STAGES)]
        for name in names:
            for option in ("--help", "--version"):
                with open("/dev/full", "w") as full:
                    self.assertIn(b"SL1007", self.run_program(5, name, option, stdout=full).stderr,
                                  (name, option))

    # Limits

    def test_limit_of_file_size(self):
        limit = self.limited(resource.RLIMIT_FSIZE, 1000)
        self.assertIn(b"SL1007", self.compile(5, self.model, "-o", self.out, **limit).stderr)
        self.assertIn(b"SL1007", self.run_program(5, "sluice-preprocess", "--segments=inline",
                                                  self.model, "-o", self.out, **limit).stderr)
        self.assertEqual(os.listdir(self.folder), ["model.onnx"])
        self.compile(0, self.model, "-o", self.out)
        outputs = self.path("outputs")
        self.assertIn(b"SL1007", self.run_program(5, "sluice-loader", self.out, "--random",
                                                  "--output-dir", outputs, **limit).stderr)
        self.assertEqual(os.listdir(outputs), [])

    def test_limit_of_stack(self):
        limits = [self.limited(resource.RLIMIT_STACK, bytes) for bytes in (1 << 20, 1 << 18)]
        self.compile(0, self.model, "-o", self.out, **limits[0])
        self.run_program(0, "sluice-loader", self.out, "--random", **limits[0])
        for name in ("sluice-preprocess", "sluice-loader", "sluice-show"):
            self.assertIn(b"SL1008", self.run_program(5, name, self.model, **limits[1]).stderr)

    # Outputs

    def test_output_that_is_the_input(self):
        before = self.bytes_of(self.model)
        os.link(self.model, self.path("hard"))
        os.symlink("model.onnx", self.path("soft"))
        for output in ("model.onnx", "hard", "soft"):
            self.assertIn(b"is the input",
                          self.compile(3, self.model, "-o", self.path(output)).stderr)
            self.assertIn(b"is the input", self.run_program(3, "sluice-preprocess", self.model,
                                                            "-o", self.path(output)).stderr)
        self.assertEqual(self.bytes_of(self.model), before)
        graph = self.path("graph.sg")
        self.run_program(0, "sluice-preprocess", self.model, "-o", graph)
        for name in ("sluice-optimize", "sluice-as", "sluice-show"):
            self.run_program(3, name, graph, "-o", graph)

    def test_output_behind_a_link(self):
        os.mkdir(self.path("deep"))
        for old in ("", "old"):
            if old:
                with open(self.path("deep/product"), "w") as file:
                    file.write(old)
            os.symlink("deep/product", self.out)
            self.compile(0, self.model, "-o", self.out)
            self.assertTrue(os.path.islink(self.out))
            self.run_program(0, "sluice-show", self.path("deep/product"), "-o", os.devnull)
            self.assertEqual(os.listdir(self.path("deep")), ["product"])
            os.remove(self.out)
            os.remove(self.path("deep/product"))

    def test_no_model_without_its_statistics(self):
        for stats in ("/dev/full", self.folder, self.path("absent/stats.json")):
            result = self.compile(5 if stats == "/dev/full" else 3, self.model, "-o", self.out,
                                  "--stats", stats)
            self.assertIn(b"error SL", result.stderr)
            self.assertFalse(os.path.exists(self.out), stats)

    def test_standard_error_that_cannot_be_written(self):
        for name in ("preprocess", "optimize", "show", "as", "verify", "loader", "compile"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([program("sluice-" + name), self.path("absent")],
                                      stdout=subprocess.DEVNULL, stderr=full, timeout=60)
            self.assertIn(done.returncode, (2, 3), name)

    # Values of options

    def test_values_that_say_nothing(self):
        options = ["--input-shape=", "--input-shape=;;;", "--dim=", "--out-nodes=", "--passes=",
                   "--model=", "--stats=", "--dump-dir=", "--skip=", "--profile=", "--threads="]
        for option in options:
            self.assertIn(b"SL1006", self.compile(3, option, self.model, "-o", self.out).stderr,
                          option)
        for option in options + ["--stop-after="]:
            self.assertIn(b"SL1006", self.run_program(3, "sluice-preprocess", option, self.model,
                                                      "-o", self.out).stderr, option)
        self.assertIn(b"SL1006",
                      self.run_program(3, "sluice-partition", "--split=", self.model).stderr)
        self.assertEqual(os.listdir(self.folder), ["model.onnx"])

    def test_values_that_tools_do_not_know(self):
        self.compile(0, self.model, "-o", self.out)
        self.run_program(0, "sluice-verify", self.out, "--segments")
        for arguments in (
                ["sluice-verify", "--level=foo", self.out], ["sluice-verify", "--level=", self.out],
                ["sluice-as", "--segments=foo", self.out], ["sluice-show", "--format=", self.out],
                ["sluice-loader", "--random=", self.out]):
            self.assertIn(b"SL1006", self.run_program(3, *arguments).stderr, arguments)

    # Names

    def test_names_in_errors(self):
        make_model(self.model, "Nonsense", "bad\nsluice: error \x1b[31m" + "x" * 100000)
        result = self.run_program(4, "sluice-preprocess", self.model, "-o", self.out)
        self.assertLess(len(result.stderr), 2000)
        self.assertEqual([line.split(b":")[0] for line in result.stderr.splitlines()],
                         [b"sluice-preprocess", b"hint"])
        self.assertNotIn(b"\x1b", result.stderr)
        result = self.run_program(4, "sluice-preprocess", "--error-format=json", self.model, "-o",
                                  self.out)
        self.assertIn("bad\nsluice: error \x1b[31mxxx", json.loads(result.stderr)["message"])

    # External data

    def test_external_data_is_a_file(self):
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[8, 800],
                             data_location=TensorProto.EXTERNAL)
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "../data/w"
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
        model = helper.make_model(helper.make_graph(nodes, "g", [floats("x", [2, 8])],
                                                    [floats("y", [2, 800])], [tensor]),
                                  opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        for folder in ("data", "model"):
            os.mkdir(self.path(folder))
        with open(self.path("data/w"), "wb") as file:
            file.write(np.ones((8, 800), np.float32).tobytes())
        with open(self.path("model/m.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        self.assertIn(b"--external-dir",
                      self.compile(3, self.path("model/m.onnx"), "-o", self.out).stderr)
        self.compile(0, "--external-dir", self.path("data"), self.path("model/m.onnx"), "-o",
                     self.out)
        os.mkfifo(self.path("model/pipe"))
        model.graph.initializer[0].external_data[0].value = "pipe"
        with open(self.path("model/m.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        self.assertIn(b"no regular file",
                      self.compile(3, self.path("model/m.onnx"), "-o", self.out).stderr)


if __name__ == "__main__":
    PROGRAMS = need(sys.argv.pop(1),
                    ["compile", "show", "as", "verify", "loader", "conformance", *STAGES])
    unittest.main(verbosity=2)
