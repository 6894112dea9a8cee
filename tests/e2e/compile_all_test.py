#!/usr/bin/python3
"""sluice compile-all and sluice job: what a manifest lists is compiled to the bytes of sluice
compile, equal compiles once, whatever fails or is killed on the way.

usage: compile_all_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import collections
import contextlib
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import ProgramCase, bytes_of, need
from store_test import make_model


class ManifestCase(ProgramCase):
    def setUp(self):
        super().setUp()
        self.store, self.out = self.path("store"), self.path("out")
        make_model(self.path("a.onnx"))
        make_model(self.path("b.onnx"), axis=0)

    def manifest(self, content, name="manifest.json"):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def start(self, content, *options):
        return subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile-all"), "--store", self.store, "-o",
             self.out, "--result", self.path("result.json"), *options, self.manifest(content)],
            stderr=subprocess.PIPE, text=True)

    def compile_all(self, content, *options, code=0):
        process = self.start(content, *options)
        errors = process.communicate(timeout=300)[1]
        self.assertEqual(process.returncode, code, errors)
        self.result = None
        if os.path.exists(self.path("result.json")):
            with open(self.path("result.json"), encoding="utf-8") as file:
                self.result = json.load(file)["compiles"]
            os.unlink(self.path("result.json"))
        return errors

    def statuses(self):
        return collections.Counter(row["status"] for row in self.result)

    def assert_output(self, name, model, *options):
        """An output is what sluice compile makes."""
        plain = self.path("plain.om")
        self.program(0, "sluice-compile", self.path(model), "-o", plain, "-q", *options)
        self.assertTrue(bytes_of(os.path.join(self.out, name)) == bytes_of(plain), name)


MATRIX = {"options": {"profile": "cpu-generic"},
          "compiles": [{"model": "a.onnx"}, {"model": "a.onnx", "output": "sub/again.om"}],
          "matrix": {"models": ["a.onnx", "b.onnx"], "dims": [["N=1"], ["N=1..4"]],
                     "options": [{}, {"denormals": "ieee"}],
                     "output": "{model}-{dims}-{options}.om"}}


class CompileAllTest(ManifestCase):
    def test_same_bytes_as_single_compiles(self):
        self.compile_all(MATRIX)
        self.assertEqual(self.statuses(), {"made": 10})
        self.assert_output("a.om", "a.onnx", "--profile=cpu-generic")
        self.assert_output("sub/again.om", "a.onnx", "--profile=cpu-generic")
        for model in "ab":
            for dims in ["N=1", "N=1..4"]:
                for i, more in enumerate([[], ["--denormals=ieee"]]):
                    self.assert_output(f"{model}-{dims}-{i}.om", model + ".onnx",
                                       "--profile=cpu-generic", "--dim=" + dims, *more)
        self.compile_all(MATRIX)
        self.assertEqual(self.statuses(), {"found": 10})

    def test_equal_compiles_are_one_job(self):
        self.compile_all(MATRIX)
        self.assertEqual(self.result[0]["key"], self.result[1]["key"])
        self.assertEqual(len(self.jobs()), 9)

    def jobs(self):
        return [name for _, _, names in os.walk(os.path.join(self.store, "jobs")) for name in names]

    def test_options_of_every_kind(self):
        with open(self.path("list.json"), "w", encoding="utf-8") as file:
            json.dump({"black-list": {"to-add": ["MatMul"]}}, file)
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        own = shutil.copy(os.path.join(root, "common/target/profiles/cpu-generic.json"),
                          self.path("own.json"))
        options = {"precision-mode": "allow_mix_precision",
                   "modify-mixlist": self.path("list.json"),
                   "static-model-ops-lower-limit": 2, "strict": True, "profile": own,
                   "dim": ["N=3"], "skip": ["optimize:fold-constants", "build:order-tasks"]}
        self.compile_all({"compiles": [{"model": "a.onnx", "options": options}]})
        arguments = []
        for name, value in options.items():
            for each in value if isinstance(value, list) else [value]:
                arguments.append("--" + name if each is True else "--%s=%s" % (name, each))
        self.assert_output("a.om", "a.onnx", *arguments)

    def test_one_fails(self):
        content = {"compiles": [{"model": name + ".onnx"} for name in ("missing", "a", "b")]}
        errors = self.compile_all(content, "--jobs=1", code=3)
        self.assertIn("error SL1004", errors)
        self.assertEqual(self.statuses(), {"failed": 1, "open": 2})
        self.compile_all(content, "--keep-going", code=3)
        self.assertEqual(self.statuses(), {"failed": 1, "made": 2})
        self.assertEqual(self.result[0]["code"], 3)
        self.assertFalse(os.path.exists(os.path.join(self.out, "missing.om")))

    def test_an_output_that_cannot_be_written(self):
        os.makedirs(os.path.join(self.out, "a.om"))
        errors = self.compile_all({"compiles": [{"model": "a.onnx"}]}, code=3)
        self.assertIn("error SL1004: cannot write", errors)
        self.assertEqual(os.listdir(self.out), ["a.om"])

    def test_a_stage_fails(self):
        content = {"compiles": [{"model": "a.onnx", "options": {"skip": "partition:place-engines"}},
                                {"model": "b.onnx"}]}
        for _ in range(2):
            self.compile_all(content, "--keep-going", code=3)
            self.assertIn("error SL", self.result[0]["error"])
            self.assertEqual(self.result[0]["error"].count("error SL"), 1)
        self.assertEqual(self.result[1]["status"], "found")

    def test_manifests_that_cannot_be(self):
        for content, part in [
                ("{", "SL1011"), ([], "this is no object"), ({}, "it has no compiles"),
                ({"models": []}, "unknown member 'models'"),
                ({"compiles": {}}, "compiles: this is no list"),
                ({"compiles": [{"output": "x"}]}, "compiles[0]: 'model' must be a text"),
                ({"compiles": [{"model": "a.onnx", "options": {"threads": 1}}]},
                 "'threads' is no option of a compile in a manifest"),
                ({"compiles": [{"model": "a.onnx", "options": {"opt-level": "O7"}}]}, "'O7'"),
                ({"compiles": [{"model": "a.onnx"}, {"model": "x/a.onnx"}]},
                 "compiles[0] and compiles[1] have one output"),
                ({"compiles": [{"model": "a.onnx"}, {"model": "a.onnx", "output": "./a.om"}]},
                 "compiles[0] and compiles[1] have one output"),
                ({"compiles": [{"model": "a.onnx", "output": "../a.onnx"}]},
                 "the output of compiles[0] would replace"),
                ({"matrix": {"models": ["a.onnx"], "output": "{model}-{foo}.om"}},
                 "expected no braces but"),
                ({"matrix": {"models": ["a.onnx"], "dims": [["N=1"], ["N=2"]], "output": "x.om"}},
                 "have one output"),
                ({"matrix": {"models": [], "output": "x.om"}}, "'models' must be a list")]:
            with self.subTest(part):
                errors = self.compile_all(content, code=3)
                self.assertIn(part, errors)
                self.assertIn("manifest.json", errors)
                self.assertIsNone(self.result)

    def test_stopped_and_run_again(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]:
            with self.subTest(number):
                shutil.rmtree(self.store, ignore_errors=True)
                process = self.start(MATRIX, "--jobs=2")
                self.wait_for_a_job()
                process.send_signal(number)
                errors = process.communicate(timeout=60)[1]
                self.assertEqual(process.returncode, -number, errors)
                time.sleep(0.1)  # jobs of a killed parent end with it
                for folder, _, names in os.walk(self.out):
                    self.assertFalse([name for name in names if ".tmp" in name])
                self.compile_all(MATRIX)
                self.assertEqual(sum(self.statuses().values()), 10)
                self.assertFalse(self.statuses()["failed"])
        self.assert_output("b-N=1-1.om", "b.onnx", "--profile=cpu-generic", "--dim=N=1",
                           "--denormals=ieee")

    def wait_for_a_job(self):
        end = time.time() + 30
        while time.time() < end and not os.path.isdir(os.path.join(self.store, "records")):
            time.sleep(0.005)

    def test_killed_jobs_are_reported_and_made_by_the_next_run(self):
        random.seed(5)
        process = self.start(MATRIX, "--keep-going", "--jobs=2")
        while process.poll() is None:
            victims = subprocess.run(["pgrep", "-P", str(process.pid), "sluice-job"],
                                     capture_output=True, text=True).stdout.split()
            if victims:
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(int(random.choice(victims)), signal.SIGKILL)
            time.sleep(0.05)
        self.assertIn("the job was lost", process.communicate()[1])
        self.compile_all(MATRIX)
        self.assertFalse(self.statuses()["failed"])
        self.assert_output("a.om", "a.onnx", "--profile=cpu-generic")

    def test_a_table_on_a_terminal(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile-all"), "--store", self.store, "-o",
             self.out, self.manifest(MATRIX)], stderr=theirs)
        os.close(theirs)
        reported = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 1 << 16):
                reported += part
        os.close(ours)
        self.assertEqual(process.wait(60), 0)
        self.assertIn(b"0 of 10 ended: 0 found, 0 failed; 1 begun", reported)
        self.assertIn(b" s  ", reported)
        self.assertEqual(reported.count(b" made "), 10)
        self.assertTrue(reported.endswith(b"\x1b[J"), "the table is gone at the end")

    def test_two_runs_at_once(self):
        other = self.start(MATRIX)
        self.compile_all(MATRIX)
        errors = other.communicate(timeout=300)[1]
        self.assertEqual(other.returncode, 0, errors)
        self.assert_output("a.om", "a.onnx", "--profile=cpu-generic")

    def test_a_store_that_cannot_be_written(self):
        with open(self.store, "w", encoding="utf-8") as file:
            file.write("no folder")
        errors = self.compile_all(MATRIX, "--keep-going", code=5)
        self.assertIn("cannot be written", errors)


class JobTest(ManifestCase):
    def test_no_such_job(self):
        for keys, code, part in [(["0" * 64], 3, "has no job"), (["xyz"], 2, "is no key"),
                                 ([], 2, "there is no key"),
                                 (["--keys=" + self.path("none")], 3, "cannot open")]:
            self.assertIn(part, self.program(code, "sluice-job", "--store", self.store, *keys))

    def test_in_a_sandbox_it_makes_the_same(self):
        self.compile_all(MATRIX)
        key = self.result[0]["key"]
        record = os.path.join(self.store, "records", key[:2], key)
        expected = bytes_of(record)
        for options in (["--sandbox"], ["--sandbox-memory=1000000000"]):
            shutil.rmtree(os.path.join(self.store, "records"))
            said = self.program(0, "sluice-job", "--store", self.store, *options, key)
            self.assertIn("sluice-job: sandbox rlimits", said)
            self.assertIn("made", said)
            self.assertEqual(bytes_of(record), expected)

    def test_a_job_of_another_build_is_refused(self):
        self.compile_all({"compiles": [{"model": "a.onnx"}]})
        key = self.result[0]["key"]
        copies = self.path("programs")
        shutil.copytree(self.programs, copies)
        shutil.rmtree(os.path.join(self.store, "records"))
        path = os.path.join(copies, "sluice-build")
        data = bytes_of(path)
        at = data.index(b"GNU\0", data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0")) + 4
        with open(path, "wb") as file:
            file.write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        said = subprocess.run([os.path.join(copies, "sluice-job"), "--store", self.store, key],
                              capture_output=True, text=True)
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertIn("needs program.build", said.stderr)

    def test_an_input_that_the_store_lost(self):
        self.compile_all({"compiles": [{"model": "a.onnx"}]})
        key = self.result[0]["key"]
        for folder, _, names in os.walk(self.store):
            for name in names:
                if "/jobs/" not in folder:
                    os.unlink(os.path.join(folder, name))
        said = self.program(3, "sluice-job", "--store", self.store, key)
        self.assertIn("lost", said)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile-all", "job", "compile"])
    unittest.main()
