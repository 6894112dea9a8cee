#!/usr/bin/python3
"""What the package sluice says to arguments that it cannot take and to programs that are broken;
what it does without numpy; and what is left where a compile is interrupted.

usage: python_errors_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np
from onnx import TensorProto, helper

from models import value
from programs import STAGES, ProgramCase, import_sluice, need
from python_test import PROFILE, WEIGHT, ScratchCase, chain, model_of, product

BEFORE = b"what was there before"


class Case(ScratchCase):
    def argument_error(self, call, code, *words):
        """Its text, which has all the words."""
        with self.assertRaises(sluice.ArgumentError) as caught:
            call()
        error = caught.exception
        self.assertIsInstance(error, sluice.Error)
        self.assertIsInstance(error, TypeError)
        self.assertIsInstance(error, ValueError)
        self.assertEqual(error.code, code, error)
        for word in words:
            self.assertIn(word, str(error))

    def python(self, script, *arguments, **environment):
        """What a script prints that imports sluice."""
        lib = os.path.dirname(os.path.dirname(sluice.__file__))
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env={**os.environ, "PYTHONPATH": lib, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()


class Arguments(Case):
    def test_of_compile(self):
        for given, *words in (
            ({"model": None}, "model takes a path, or the bytes of a model", "NoneType"),
            ({"model": ""}, "model takes", "''"),
            ({"model": "a\0b"}, "model takes", "a\\x00b"),
            ({"model": "\ud800.onnx"}, "model takes"),
            ({"dims": [("N", 4)]}, "dims takes a dict", "list"),
            ({"dims": {1: 4}}, "dims takes names of dimensions", "int 1"),
            ({"dims": {"": 4}}, "dims takes names of dimensions", "''"),
            ({"dims": {"N": True}}, "dims['N'] takes a whole number or (low, high)", "bool True"),
            ({"dims": {"N": (1, False)}}, "dims['N'] takes"),
            ({"dims": {"N": "4"}}, "dims['N'] takes", "str '4'"),
            ({"dims": {"N": 4.0}}, "dims['N'] takes"),
            ({"dims": {"N": (1, 2, 3)}}, "dims['N'] takes"),
            ({"dims": {"N": [1, 2]}}, "dims['N'] takes", "list [1, 2]"),
            ({"profile": ""}, "profile takes the name of a profile", "str ''"),
            ({"profile": b"cpu-generic"}, "profile takes", "bytes b'cpu-generic'"),
            ({"profile": 7}, "profile takes", "int 7"),
            ({"options": "strict"}, "options takes a dict", "'strict'"),
            ({"options": {3: 1}}, "options takes names of options", "int 3"),
            ({"options": {"": 1}}, "options takes names of options"),
            ({"options": {"dump-dir=x": 1}}, "options takes names of options"),
            ({"options": {"threads": b"2"}}, "options['threads'] takes", "bytes b'2'"),
            ({"options": {"threads": {}}}, "options['threads'] takes", "dict {}"),
            ({"options": {"dump_dir": ["a", "b\0"]}}, "options['dump-dir'] takes"),
            ({"options": {"dump_dir": ""}}, "options['dump-dir'] takes", "''"),
            ({"progress": "text"}, "progress takes a function", "'text'"),
            ({"output": 5}, "output takes the path of a file", "int 5"),
            ({"output": ""}, "output takes"),
            ({"output": self.folder}, "output takes", f"'{self.folder}' is a folder"),
        ):
            with self.subTest(given=given):
                call = {"model": product(), **given}
                self.argument_error(lambda: sluice.compile(**call), 1006, *words)

    def test_own_options_also_abbreviated(self):
        path = self.path("never.om")
        for name in ("dim", "di", "o", "profile", "prof", "pro", "progress", "stop_after", "stop",
                     "error_format", "e", "quiet", "q", "--quie", "help", "h", "version", "vers"):
            with self.subTest(name=name):
                call = lambda: sluice.compile(product(), options={name: path}, output=path)
                self.argument_error(call, 1006, "options takes", f"'{name}'")
        self.assertEqual(os.listdir(self.folder), ["scratch"])

    def test_what_is_accepted(self):
        class Path(os.PathLike):
            def __init__(self, path):
                self.path = path

            def __fspath__(self):
                return self.path

        model = self.save("model.onnx", product())
        stats = pathlib.Path(self.path("stats.json"))
        spread = (each for byte in product() for each in (byte, 0))
        for given, output in (
            (Path(model.encode()), Path(self.path("1.om"))),
            (model, self.path("2.om").encode()),
            (memoryview(bytes(spread))[::2], pathlib.Path(self.path("3.om"))),
        ):
            sluice.compile(
                given,
                dims={"N": np.int64(3)},
                options={"threads": np.int32(1), "stats": stats, "verify": "end", "strict": False},
                profile=PROFILE,
                output=output,
            ).close()
            with sluice.Model(output) as opened:
                self.assertEqual(opened.inputs[0].dims, (3, 4))
        self.assertTrue(stats.exists())

    def test_of_models_and_runs(self):
        for wrong in (None, 5, "", "a\0b", [b"m.om"]):
            self.argument_error(lambda: sluice.Model(wrong), 1006, "path takes the path of a")
        with sluice.compile(product(), profile=PROFILE) as model:
            x = np.ones((2, 4), np.float32)
            for wrong in ("2", 1.0, True, -1, 1025, 2**32 + 1):
                self.argument_error(
                    lambda: model.run({"x": x}, threads=wrong),
                    1006,
                    "threads takes a whole number from 0 to 1024",
                    repr(wrong),
                )
            for wrong in ("2", -1, 2**64):
                self.argument_error(lambda: model.limit_bound_parts(wrong), 1006, "size takes")
            self.argument_error(lambda: model.run([x]), 1006, "inputs takes a dict")
            run = model.run()
            for wrong in ({1: x}, {"x": x, 1: x, "z": x}, {None: x}):
                self.argument_error(lambda: run(wrong), 7004, "no input called", "inputs are 'x'")
            self.argument_error(lambda: run.output(3), 7004, "no output called 3", "are 'y'")
            for wrong, got in (
                (x.astype(np.float64), "float64"),
                ([[1, 2], [3]], ""),
                ("text", "str"),
                ({"a": 1}, "object"),
                (x.tobytes(), "whose dims bytes do not give"),
            ):
                self.argument_error(lambda: run(x=wrong), 7004, "input 'x' takes", got)
            for wrong in (None, x[:, :3], []):
                with self.assertRaises(sluice.Error) as caught:
                    run(x=wrong)
                self.assertEqual(caught.exception.code, 7004)
            np.testing.assert_allclose(run(x=x)["y"], x @ WEIGHT, rtol=1e-5)
        self.argument_error(model.run, 1006, "the model is closed")

    def test_arrays_after_a_call(self):
        """The caller's arrays are not written, results are the caller's."""
        nodes = [helper.make_node("Identity", ["x"], ["y"], "same")]
        content = model_of(nodes, [value("x", ["N"])], [value("y", ["N"])])
        with sluice.compile(content, profile=PROFILE) as model:
            run, x = model.run(), np.arange(16, dtype=np.float32)
            x.flags.writeable = False
            first = run(x=x)["y"]
            first[:] = 7
            self.assertEqual(run(x=x + 1)["y"].tolist(), list(range(1, 17)))
            self.assertEqual((first.tolist(), x.tolist()), ([7] * 16, list(range(16))))

    def test_help_is_complete(self):
        for thing, words in (
            (sluice.Run.__call__, ("dtype", "dims", "Returns", "copies", "Raises", "ArgumentError",
                                   "state", "numpy", "strings", "optional", "sequence", "map")),
            (sluice.Model.run, ("threads", "Run", "inputs", "states")),
            (sluice.compile, ("dims", "(low, high)", "ArgumentError", "output", "Ctrl-C")),
            (sluice.Binding, ("dtype", "dims", "bytes", "kind", "key_dtype")),
        ):
            for word in words:
                self.assertIn(word, thing.__doc__)


class WithoutNumpy(Case):
    SCRIPT = """
import array, sys
sys.modules["numpy"] = None
import sluice
assert sluice._numpy() is None
"""

    def run_script(self, script, model, **options):
        path = self.path("m.om")
        sluice.compile(model, profile=PROFILE, output=path, options=options).close()
        return self.python(self.SCRIPT + script, path)

    def test_lists_and_buffers(self):
        script = """
data = array.array("f", [1, 2, 3, 4, 5, 6, 7, 8])
view = memoryview(data.tobytes()).cast("f", (2, 4))
with sluice.Model(sys.argv[1]) as model:
    for x in ([[1, 2, 3, 4], [5, 6, 7, 8]], ((1, 2.0, 3, 4), [5, 6, 7, 8]), view):
        y = model.run({"x": x})["y"]
        print(memoryview(y).cast("f", (2, 300)).tolist() == model.run()(x=x) or y[:40].hex())
"""
        for batch in ("N", 2):
            x = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
            lines = self.run_script(script, product(batch))
            expected = sluice.Model(self.path("m.om")).run({"x": x})["y"].tobytes()[:40].hex()
            self.assertEqual(lines, [expected] * 3)

    def test_kinds_and_ranges(self):
        kinds = {"b": TensorProto.BOOL, "i": TensorProto.INT64, "h": TensorProto.FLOAT16,
                 "u": TensorProto.UINT8, "s": TensorProto.STRING}
        nodes = [helper.make_node("Identity", [name], ["o" + name], name) for name in kinds]
        content = model_of(nodes, [value(name, ["N"], kind) for name, kind in kinds.items()],
                           [value("o" + name, ["N"], kind) for name, kind in kinds.items()])
        script = """
good = {"b": [True, False], "i": [-1, 2**62], "h": [1.5, 2], "u": [0, 255], "s": ["a", "bc"]}
with sluice.Model(sys.argv[1]) as model:
    outputs = model.run({**good, "i": array.array("l", good["i"])})
    print({name: list(memoryview(outputs["o" + name]).cast(format))
           for name, format in (("b", "?"), ("i", "q"), ("u", "B"))}, outputs["oh"].hex())
    print(outputs["os"])
    for name, wrong in (("b", [1, 0]), ("i", [1.0]), ("i", [2**63]), ("h", ["1"]), ("h", [1e9]),
                        ("u", [256]), ("u", [-1]), ("s", [1]), ("i", [1, [2]]),
                        ("i", [[1], [2, 3]]), ("i", array.array("i", [1])), ("i", b"12345678")):
        try:
            model.run({**good, name: wrong})
            print("was accepted:", name, wrong)
        except sluice.ArgumentError as error:
            assert error.code == 7004 and f"input '{name}' takes " in str(error), error
            assert "sluice_" not in str(error), error
"""
        strings = np.cumsum([0, 1, 2], dtype="u8").tobytes() + b"abc"
        self.assertEqual(
            self.run_script(script, content),
            [
                str({"b": [True, False], "i": [-1, 2**62], "u": [0, 255]})
                + " " + np.float16([1.5, 2]).tobytes().hex(),
                repr(strings),
            ],
        )

    def test_hint_for_other_kinds(self):
        script = """
with sluice.Model(sys.argv[1]) as model:
    for wrong in (b"1234", array.array("d", [1]), ["1"], object()):
        try:
            model.run({"x": wrong})
        except sluice.Error as error:
            assert error.code == 7004, error
            print("memoryview(data).cast(" in str(error), "sluice_" in str(error))
"""
        self.assertEqual(self.run_script(script, product()), ["True False"] * 4)


class Output(Case):
    def raised_at_the_end(self, output):
        def stop(report):
            if report.number == report.of:
                time.sleep(0.3)  # the program has written its product by then
                raise KeyError(report.stage)

        with self.assertRaises(KeyError):
            sluice.compile(product(), profile=PROFILE, progress=stop, output=output)

    def test_callback_that_raises_in_the_last_stage(self):
        self.raised_at_the_end(self.path("never.om"))
        self.assertEqual(os.listdir(self.folder), ["scratch"])
        kept = self.save("kept.om", BEFORE)
        self.raised_at_the_end(kept)
        with open(kept, "rb") as file:
            self.assertEqual(file.read(), BEFORE)
        self.assertEqual(sorted(os.listdir(self.folder)), ["kept.om", "scratch"])

    def test_warnings_that_are_errors(self):
        content = model_of([helper.make_node("Relu", ["x"], ["y"], "act", nonsense=1)],
                           [value("x", [2])], [value("y", [2])])
        kept = self.save("kept.om", BEFORE)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for output in (kept, self.path("never.om"), None):
                with self.assertRaises(sluice.CompileWarning):
                    sluice.compile(content, profile=PROFILE, output=output)
        with open(kept, "rb") as file:
            self.assertEqual(file.read(), BEFORE)
        self.assertEqual(sorted(os.listdir(self.folder)), ["kept.om", "scratch"])

    def test_replaced_behind_a_link(self):
        kept, link = self.save("kept.om", BEFORE), self.path("link.om")
        os.symlink("kept.om", link)
        sluice.compile(product(), profile=PROFILE, output=link).close()
        self.assertTrue(os.path.islink(link))
        sluice.Model(kept).close()
        self.assertEqual(os.stat(kept).st_mode & 0o777, 0o666 & ~self.umask())
        self.assertEqual(sorted(os.listdir(self.folder)), ["kept.om", "link.om", "scratch"])

    @staticmethod
    def umask():
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_devices_and_pipes_are_written_into(self):
        x = np.ones((2, 4), np.float32)
        null = self.path("null")
        os.symlink("/dev/null", null)
        for output in ("/dev/null", null):
            with sluice.compile(product(), profile=PROFILE, output=output) as model:
                np.testing.assert_allclose(model.run({"x": x})["y"], x @ WEIGHT, rtol=1e-5)
        self.assertFalse(os.path.isfile("/dev/null"))
        pipe, received = self.path("pipe"), []
        os.mkfifo(pipe)

        def read():
            with open(pipe, "rb") as file:
                received.append(file.read())

        reader = threading.Thread(target=read)
        reader.start()
        sluice.compile(product(), profile=PROFILE, output=pipe).close()
        reader.join()
        with sluice.Model(self.save("received.om", received[0])) as model:
            np.testing.assert_allclose(model.run({"x": x})["y"], x @ WEIGHT, rtol=1e-5)

    def test_a_model_for_another_device_is_kept(self):
        def cannot_open(path):
            raise sluice.Error(7002, f"needs another device [{path}]")

        opened, sluice.Model = sluice.Model, cannot_open
        self.addCleanup(setattr, sluice, "Model", opened)
        with self.assertRaises(sluice.Error) as caught:
            sluice.compile(product(), profile=PROFILE, output=self.path("other.om"))
        self.assertIn(self.path("other.om"), str(caught.exception))
        opened(self.path("other.om")).close()

    def test_output_that_cannot_be_written(self):
        output = self.path("none/m.om")
        with self.assertRaises(sluice.CompileError) as caught:
            sluice.compile(product(), profile=PROFILE, output=output)
        self.assertIn(f"'{output}'", str(caught.exception))
        self.assertEqual(caught.exception.errors[0]["message"], caught.exception.message)
        tempfile.tempdir = self.path("no-folder")
        with self.assertRaises(sluice.CompileError) as caught:
            sluice.compile(product(), profile=PROFILE)
        self.assertEqual(caught.exception.code, 1007)

    def test_interrupted_again_and_again(self):
        """Ctrl-C of the first stage, and then without end while files are removed."""
        script = """
import os, shutil, signal, sys, tempfile, sluice
def again(function):
    def wrapper(*arguments, **words):
        os.kill(os.getpid(), signal.SIGINT)
        result = function(*arguments, **words)
        os.kill(os.getpid(), signal.SIGINT)
        return result
    return wrapper
sluice._stop, shutil.rmtree, os.remove = again(sluice._stop), again(shutil.rmtree), again(os.remove)
with open(sys.argv[1], "rb") as file:
    model = file.read()
try:
    sluice.compile(model, profile="cpu-generic", output=sys.argv[2],
                   progress=lambda report: os.kill(os.getpid(), signal.SIGINT))
except KeyboardInterrupt:
    print("interrupted")
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("as before")
"""
        model = self.save("chain.onnx", chain(3000))
        lines = self.python(script, model, self.path("never.om"))
        self.assertEqual(lines, ["interrupted", "as before"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["chain.onnx", "scratch"])

    def test_held_interrupts_are_told_at_the_end(self):
        script = """
import os, signal, sys, sluice
keep = sluice._Files.keep
def interrupted(self):
    os.kill(os.getpid(), signal.SIGINT)
    return keep(self)
sluice._Files.keep = interrupted
try:
    sluice.compile(sys.argv[1], profile="cpu-generic", output=sys.argv[2])
except KeyboardInterrupt:
    print("interrupted")
signal.signal(signal.SIGINT, lambda *arguments: print("own"))
sluice.compile(sys.argv[1], profile="cpu-generic",
               progress=lambda report: report.number == 5 and os.kill(os.getpid(), signal.SIGINT))
"""
        model, output = self.save("m.onnx", product()), self.path("whole.om")
        self.assertEqual(self.python(script, model, output), ["interrupted", "own", "own"])
        sluice.Model(output).close()


class BrokenPrograms(Case):
    def compile_with(self, content, mode=0o755, progress=None):
        folder = self.path("broken")
        os.makedirs(folder, exist_ok=True)
        program = os.path.join(folder, "sluice-compile")
        with open(program, "wb") as file:
            file.write(content)
        os.chmod(program, mode)
        os.environ["SLUICE_PROGRAMS"] = folder
        self.addCleanup(os.environ.pop, "SLUICE_PROGRAMS", None)
        output = self.path("never.om")
        with self.assertRaises(sluice.CompileError) as caught:
            sluice.compile(product(), output=output, progress=progress)
        self.assertEqual(sorted(os.listdir(self.folder)), ["broken", "scratch"])
        return caught.exception

    def test_cannot_be_started(self):
        for content, mode, word in (
            (b"\x7fELF no program", 0o755, "Exec format error"),
            (b"#!/no/such/interpreter\n", 0o755, "No such file"),
            (b"#!/bin/sh\n", 0o644, "may not be executed"),
        ):
            error = self.compile_with(content, mode)
            self.assertEqual(error.code, 8002, error)
            self.assertIn(word, str(error))
            self.assertIn("SLUICE_PROGRAMS", error.hint)

    def test_says_something_else(self):
        for script, code, words in (
            ("kill -9 $$", 8004, "was ended by signal 9"),
            ("exit 3", 8004, "ended with 3"),
            ("exit 0", 8001, "ended without a compiled model"),
            ("head -c 5000 /dev/urandom >&2; exit 3", 8004, ""),
            ("echo '{\"stage\": 5}' >&2; exit 3", 8004, '{"stage": 5}'),
            ("echo '{\"code\": 5}' >&2; exit 3", 8004, '{"code": 5}'),
            ("echo '{\"code\": \"SL1006\"}' >&2; exit 3", 8004, "SL1006"),
            ("printf '{' >&2; exit 3", 8004, "{"),
        ):
            with self.subTest(script=script):
                error = self.compile_with(f"#!/bin/sh\n{script}\n".encode(), progress=print)
                self.assertEqual(error.code, code, error)
                self.assertIn(words, str(error))

    def test_ends_though_it_ignores_the_wish(self):
        saved, sluice._KILL_SECONDS = sluice._KILL_SECONDS, 0.2
        self.addCleanup(setattr, sluice, "_KILL_SECONDS", saved)

        def stop(_):
            raise sluice.CompileError(8004, "stopped")

        line = '{"stage": "build", "number": 5, "of": 5, "seconds": 0, "bytes": 1}'
        waits = "while :; do read -t 1 <> <(:); done"
        script = f"#!/bin/bash\ntrap '' TERM\necho '{line}' >&2\n{waits}\n"
        self.assertEqual(self.compile_with(script.encode(), progress=stop).message, "stopped")


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "preprocess", "show", *STAGES])
    sluice = import_sluice(ProgramCase.programs)
    unittest.main(verbosity=2)
