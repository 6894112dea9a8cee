#!/usr/bin/python3
"""sluice-conformance with a compiler and a loader made of Python: which cases it finds, what it
asks of them, what it concludes.

usage: conformance_test.py FOLDER_OF_PROGRAMS [unittest arguments]

A case's file `behave` says what the fake programs do with it: "compile exit 4", "loader signal 11",
"loader sleep 30", "loader wrong", "loader random", "loader nothing".
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import helper, numpy_helper

import models
from models import floats, write

FAKE = r'''#!/usr/bin/python3
import glob, os, shutil, signal, struct, sys, time
program = os.path.basename(sys.argv[0])[len("sluice-"):]
options = dict(a.split("=", 1) for a in sys.argv[1:] if a.startswith("--") and "=" in a)
if program == "compile":
    folder, out = os.path.dirname(sys.argv[1]), sys.argv[sys.argv.index("-o") + 1]
else:
    model = next(a for a in sys.argv[1:] if a.endswith(".om"))
    folder = open(model, "rb").read().split(b"FOLDER:")[1].decode()
open(os.path.join(folder, "log"), "a").write(program + " " + " ".join(sys.argv[1:]) + "\n")
behave = os.path.join(folder, "behave")
words = open(behave).read().split() if os.path.exists(behave) else []
who, what, value = (words + ["", "", ""])[:3]
if who == program:
    if what == "exit":
        sys.stderr.write("sluice-%s: error SL3002: this and\n  that\nhint: none\n" % program)
        sys.exit(int(value))
    if what == "signal": os.kill(os.getpid(), int(value))
    if what == "sleep": time.sleep(float(value))
if program == "compile":
    def text(field, value):
        key = field << 3 | 2
        tag = bytes([key]) if key < 128 else bytes([key & 127 | 128, key >> 7])
        return tag + bytes([len(value)]) + value
    names = text(1, b"fused") + text(1, b"tail")
    names += text(2, text(1, b"conv1") + text(1, b"relu1")) + text(2, b"")
    second = b"RandomUniform" if what == "random" else b"Add"
    model = text(21, names) + text(15, b"Fused(Conv)") + text(15, second)
    model += text(16, b"aicore") + text(16, b"vector" if what == "generated" else b"host_cpu")
    model += text(18, bytes([0, 1])) + text(19, bytes([0, 1]))
    head = b"SLUICEOM" + struct.pack("<IIQQQ", 1, 512, 0, 512, len(model))
    open(out, "wb").write(head + bytes(512 - len(head)) + model + b"FOLDER:" + folder.encode())
elif program == "loader" and "--output-dir" in options:
    os.makedirs(options["--output-dir"], exist_ok=True)
    if who == program and what == "nothing": sys.exit(0)
    first = next(a for a in sys.argv if a.startswith("--input=")).split("=", 2)[2]
    for k, path in enumerate(sorted(glob.glob(os.path.dirname(first) + "/output_*.pb"))):
        if who == program and what in ("wrong", "random"): path = first
        shutil.copy(path, "%s/out_%d.pb" % (options["--output-dir"], k))
'''
PROGRAMS = None


class Conformance(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.bin, self.cases, self.tmp = (os.path.join(self.folder, d)
                                          for d in ("bin", "cases", "tmp"))
        for folder in (self.bin, self.cases, self.tmp):
            os.mkdir(folder)
        shutil.copy(os.path.join(PROGRAMS, "sluice-conformance"), self.bin)
        for stage in ("compile", "loader", "verify", "preprocess", "optimize", "partition",
                      "subgraph-optimize", "build"):
            path = os.path.join(self.bin, "sluice-" + stage)
            with open(path, "w") as file:
                file.write(FAKE)
            os.chmod(path, 0o755)

    def case(self, name, behave="", dims=(2,), shapes=((2,),), initializer=False, output=None,
             data_json=None):
        """A model x + w -> out/0, with one data set for each of `shapes`."""
        folder = os.path.join(self.cases, name)
        os.makedirs(folder)
        models.save(folder + "/model.onnx", [helper.make_node("Add", ["x", "w"], ["out/0"])],
                    [floats("w", [2]), floats("x", dims)], [floats("out/0", dims)],
                    {"w": np.ones(2, np.float32)} if initializer else ())
        for k, shape in enumerate(shapes):
            data = folder + "/test_data_set_%d" % k
            os.mkdir(data)
            values = [np.full(shape, k + 2, np.float32)]
            if not initializer:
                values.insert(0, np.ones(2, np.float32))
            for i, value in enumerate(values):
                write(data + "/input_%d.pb" % i, numpy_helper.from_array(value))
            write(data + "/output_0.pb",
                  numpy_helper.from_array(output if output is not None else values[-1] + 1))
        if behave:
            with open(folder + "/behave", "w") as file:
                file.write(behave)
        if data_json is not None:
            with open(folder + "/data.json", "w") as file:
                json.dump(data_json, file)
        return folder

    def run_conformance(self, *arguments):
        report = os.path.join(self.folder, "report.json")
        result = subprocess.run([os.path.join(self.bin, "sluice-conformance"), self.cases,
                                 "--report", report, *arguments], capture_output=True, text=True,
                                timeout=120, env={"PATH": "/usr/bin:/bin", "TMPDIR": self.tmp})
        self.assertEqual(os.listdir(self.tmp), [])
        if not os.path.exists(report):
            return result, None
        with open(report) as file:
            return result, json.load(file)

    def verdict_of(self, **options):
        self.case("one", **options)
        _, report = self.run_conformance("--timeout=%d" % (3 if "sleep" in options.get("behave", "")
                                                           else 60))
        shutil.rmtree(os.path.join(self.cases, "one"))
        return report["cases"][0]["verdict"], report["cases"][0]["reason"]

    def log_of(self, folder):
        with open(folder + "/log") as file:
            return file.read().splitlines()

    def test_all_pass(self):
        for name in ("b", "a/deep/er", "c"):
            self.case(name)
        os.mkdir(os.path.join(self.cases, "no_case"))
        result, report = self.run_conformance("-j", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(report["summary"],
                         {"pass": 3, "fail": 0, "unsupported": 0, "crash": 0, "total": 3,
                          "float": 3, "generated": 0})
        self.assertEqual([case["name"] for case in report["cases"]], ["a/deep/er", "b", "c"])
        case = report["cases"][0]
        self.assertEqual((case["verdict"], case["reason"], case["max_error"]), ("pass", "", 0))
        self.assertEqual(case["engines"],
                         {"conv1": "aicore", "relu1": "aicore", "tail": "host_cpu"})
        self.assertEqual(case["ops"]["conv1"], "Fused(Conv)")
        self.assertGreater(case["ms"], 0)
        self.assertTrue(result.stdout.endswith(
            "3 cases: 3 pass, 0 fail, 0 unsupported, 0 crash\n"
            "of 3 cases of floats 0 (0.0 %) run nothing but generated code\n"))

    def test_cases_on_generated_code_alone_are_counted(self):
        self.case("mixed")
        self.case("generated", behave="compile generated")
        self.case("wrong", behave="loader wrong")
        result, report = self.run_conformance()
        self.assertEqual((report["summary"]["float"], report["summary"]["generated"]), (2, 1))
        self.assertIn("of 2 cases of floats 1 (50.0 %) run", result.stdout)

    def test_the_level_is_passed_on(self):
        folder = self.case("one")
        self.run_conformance("--opt-level=O0")
        self.assertIn("--opt-level=O0", self.log_of(folder)[0])

    def test_verdicts(self):
        for behave, verdict, words in (
                ("compile exit 4", "unsupported", "SL3002: this and; that"),
                ("loader exit 4", "unsupported", "SL3002"), ("verify exit 7", "fail", "SL3002"),
                ("verify signal 6", "crash", "signal 6"), ("compile exit 3", "fail", "SL3002"),
                ("loader exit 5", "fail", "SL3002"), ("compile exit 6", "crash", "exit code 6"),
                ("loader exit 1", "crash", "exit code 1"),
                ("loader exit 255", "crash", "exit code 255"),
                ("loader signal 11", "crash", "signal 11"),
                ("loader sleep 30", "crash", "had not ended after 3 s"),
                ("compile sleep 30", "crash", "sluice-compile"),
                ("loader nothing", "fail", "wrote no output 'out/0'"),
                ("loader wrong", "fail", "output 'out/0': element [0] is 1, expected 3"),
                ("loader random", "fail", "the numbers of RandomUniform are random and ONNX does "
                 "not say which: output 'out/0': element [0] is 1, expected 3")):
            with self.subTest(behave):
                said, reason = self.verdict_of(behave=behave)
                self.assertEqual(said, verdict)
                self.assertIn(words, reason)

    def test_random_numbers_have_no_error(self):
        for behave, error in (("loader wrong", 2.0), ("loader random", None)):
            folder = self.case("one", behave=behave)
            case = self.run_conformance()[1]["cases"][0]
            self.assertEqual(case["max_error"], error)
            self.assertEqual(case["max_ulp"] is None, error is None)
            shutil.rmtree(folder)

    def test_any_failure_is_exit_7_and_no_case_is_exit_3(self):
        result, _ = self.run_conformance()
        self.assertEqual(result.returncode, 3)
        self.assertIn("SL8003", result.stderr)
        self.case("good")
        self.case("poor", behave="compile exit 4")
        result, report = self.run_conformance()
        self.assertEqual(result.returncode, 7)
        self.assertEqual(report["summary"],
                         {"pass": 1, "fail": 0, "unsupported": 1, "crash": 0, "total": 2,
                          "float": 1, "generated": 0})
        self.assertIn("unsupported  poor: ", result.stdout)

    def test_open_dims_are_fixed_from_each_data_set(self):
        folder = self.case("open", dims=("N",), shapes=((3,), (3,), (5,)))
        result, _ = self.run_conformance()
        self.assertEqual(result.returncode, 0, result.stdout)
        compiles = [line for line in self.log_of(folder) if line.startswith("compile")]
        self.assertEqual(["--input-shape=x:3" in line for line in compiles], [True, False])
        self.assertIn("--input-shape=x:5", compiles[1])
        self.assertEqual([line.split()[0] for line in self.log_of(folder)],
                         ["compile", "verify", "loader", "loader", "compile", "verify", "loader"])

    def test_inputs_with_initializer_take_no_data(self):
        folder = self.case("constant", initializer=True)
        result, _ = self.run_conformance()
        self.assertEqual(result.returncode, 0, result.stdout)
        loader = self.log_of(folder)[2]
        self.assertIn("--input=x=", loader)
        self.assertNotIn("--input=w=", loader)
        self.assertNotIn("--input-shape", self.log_of(folder)[0])

    def test_without_data_it_must_compile_and_run(self):
        folder = self.case("bare", shapes=())
        result, report = self.run_conformance()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("--random", self.log_of(folder)[2])
        self.assertIsNone(report["cases"][0]["max_error"])
        shutil.rmtree(folder)
        self.assertEqual(self.verdict_of(shapes=(), behave="loader exit 3")[0], "fail")

    def test_tolerances(self):
        right = np.full(2, 3, np.float32)
        for error, data_json, verdict in ((0.0029, None, "pass"), (0.0031, None, "fail"),
                                          (0.09, {"rtol": 0, "atol": [0.1]}, "pass"),
                                          (0.11, {"rtol": 0, "atol": [0.1]}, "fail"),
                                          (0.0, {"atol": [1, 2]}, "fail")):
            with self.subTest(error=error, data_json=data_json):
                folder = self.case("one", output=right, data_json=data_json, behave="loader wrong")
                write(folder + "/test_data_set_0/input_0.pb",
                      numpy_helper.from_array(right + np.float32(error)))
                _, report = self.run_conformance()
                shutil.rmtree(folder)
                self.assertEqual(report["cases"][0]["verdict"], verdict,
                                 report["cases"][0]["reason"])

    def test_damaged_cases_are_told(self):
        folder = self.case("model")
        with open(folder + "/model.onnx", "wb") as file:
            file.write(b"\x3a\xff\xff\x01")
        folder = self.case("data")
        with open(folder + "/test_data_set_0/output_0.pb", "wb") as file:
            file.write(b"\x0a")
        folder = self.case("missing")
        os.remove(folder + "/test_data_set_0/input_1.pb")
        _, report = self.run_conformance()
        self.assertEqual(report["summary"]["fail"], 3)
        self.assertEqual([bool(case["reason"]) for case in report["cases"]], [True] * 3)

    def test_missing_program_is_named(self):
        self.case("a")
        for name in ("sluice-loader", "sluice-verify"):
            os.remove(os.path.join(self.bin, name))
            result, _ = self.run_conformance()
            self.assertEqual(result.returncode, 3)
            self.assertIn("'%s'" % name, result.stderr)


if __name__ == "__main__":
    PROGRAMS = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
