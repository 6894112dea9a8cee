#!/usr/bin/python3
"""sluice.compile: models through the programs, progress, errors with code, node and hint, and
nothing left behind.

usage: python_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np
from onnx import helper

import models
from models import value
from programs import STAGES, ProgramCase, import_sluice, need

PROFILE = "cpu-generic"


def model_of(nodes, inputs, outputs, opset=17, **constants):
    return models.model_of(nodes, inputs, outputs, constants, opset=opset).SerializeToString()


WEIGHT = np.arange(1200, dtype=np.float32).reshape(4, 300) / 1000


def product(batch="N"):
    return model_of(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "product")],
        [value("x", [batch, 4])],
        [value("y", [batch, 300])],
        w=WEIGHT,
    )


def chain(length):
    """A model that takes a while."""
    nodes = [
        helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"], f"n{i}") for i in range(length)
    ]
    return model_of(
        nodes, [value("v0", [4, 4])], [value(f"v{length}", [4, 4])], w=np.eye(4, dtype=np.float32)
    )


def children():
    """Numbers of processes that this one, or a process below it, has started."""
    with open(f"/proc/self/task/{threading.get_native_id()}/children", encoding="ascii") as file:
        return file.read().split()


class ScratchCase(ProgramCase):
    """Temporary files go to a folder of the test, in which none may be left."""

    def setUp(self):
        super().setUp()
        self.scratch = self.path("scratch")
        os.mkdir(self.scratch)
        saved = tempfile.tempdir
        tempfile.tempdir = self.scratch
        os.environ["TMPDIR"] = self.scratch
        self.addCleanup(os.environ.pop, "TMPDIR")
        self.addCleanup(setattr, tempfile, "tempdir", saved)

    def tearDown(self):
        self.assertEqual(os.listdir(self.scratch), [])

    def save(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)


class Compile(ScratchCase):
    def tearDown(self):
        super().tearDown()
        self.assertEqual(children(), [])

    def failure(self, *arguments, **options):
        with self.assertRaises(sluice.CompileError) as caught:
            sluice.compile(*arguments, **options)
        self.assertIsInstance(caught.exception, sluice.Error)
        return caught.exception

    def test_path_and_bytes(self):
        x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
        path = self.save("model.onnx", product())
        for given in (
            path,
            os.path.relpath(path),
            __import__("pathlib").Path(path),
            product(),
            bytearray(product()),
            memoryview(product()),
        ):
            with sluice.compile(given, profile=PROFILE) as model:
                self.assertEqual(os.listdir(self.scratch), [])
                np.testing.assert_allclose(model.run({"x": x})["y"], x @ WEIGHT, rtol=1e-5)
        graph = self.path("1.sg")
        self.program(0, "sluice-preprocess", path, "-o", graph)
        with sluice.compile(graph, profile=PROFILE) as model:
            np.testing.assert_allclose(model.run()(x=x)["y"], x @ WEIGHT, rtol=1e-5)

    def test_run_takes_dicts_and_words(self):
        nodes = [helper.make_node("Sub", ["self", "/b:0"], ["y"], "sub")]
        with sluice.compile(
            model_of(nodes, [value("self", [2]), value("/b:0", [2])], [value("y", [2])]),
            profile=PROFILE,
        ) as model:
            a, b = np.float32([5, 7]), np.float32([1, 2])
            for outputs in (
                model.run({"self": a, "/b:0": b}),
                model.run({"self": a, "/b:0": b}, threads=2),
                model.run()({"self": a, "/b:0": b}),
                model.run()({"self": a}, **{"/b:0": b}),
                model.run(threads=1)(**{"self": a, "/b:0": b}),
            ):
                self.assertEqual(
                    {name: array.tolist() for name, array in outputs.items()}, {"y": [4, 5]}
                )
            with self.assertRaises(sluice.Error) as caught:
                model.run({})
            self.assertEqual(
                (caught.exception.code, str(caught.exception)),
                (7004, "no value for input 'self', '/b:0'"),
            )
            with self.assertRaises(TypeError):
                model.run(4)

    def test_dict_runs_begin_their_states_anew(self):
        nodes = [helper.make_node("Add", ["x", "sum"], ["next"], "add")]
        content = model_of(nodes, [value("x", [2]), value("sum", [2])], [value("next", [2])])
        with sluice.compile(content, profile=PROFILE, options={"state": "next=sum"}) as model:
            one, run = np.float32([1, 2]), model.run()
            for _ in range(2):
                run({"x": one})
                model.run({"x": one})
            self.assertEqual(run.output("next").tolist(), [2, 4])

    def test_output_is_kept(self):
        path = self.path("kept.om")
        sluice.compile(product(), profile=PROFILE, output=path).close()
        with sluice.Model(path) as model:
            self.assertEqual(model.inputs[0].dims, (-1, 4))
        self.program(
            0,
            "sluice-compile",
            "-q",
            "--profile=" + PROFILE,
            self.save("model.onnx", product()),
            "-o",
            self.path("by-program.om"),
        )
        with open(path, "rb") as kept, open(self.path("by-program.om"), "rb") as other:
            self.assertEqual(kept.read(), other.read())

    def test_dims(self):
        with sluice.compile(product(), dims={"N": 4}, profile=PROFILE) as model:
            self.assertEqual(model.inputs[0].dims, (4, 4))
        with sluice.compile(product(), dims={"N": np.int64(2)}, profile=PROFILE) as model:
            self.assertEqual(model.inputs[0].dims, (2, 4))
        with sluice.compile(product(), dims={"N": (1, 8)}, profile=PROFILE) as model:
            self.assertEqual(model.run({"x": np.ones((8, 4), np.float32)})["y"].shape, (8, 300))
            with self.assertRaises(sluice.Error):
                model.run({"x": np.ones((9, 4), np.float32)})
        for wrong in ("4", 4.0, (1, 2, 3), None):
            with self.assertRaises(TypeError):
                sluice.compile(product(), dims={"N": wrong})
        error = self.failure(product(), dims={"M": 4})
        self.assertEqual(error.code, 1006)
        self.assertIn("'M'", error.message)

    def test_profile_and_options(self):
        summary = {}
        for profile in ("cpu-generic", "cpu-avx2"):
            sluice.compile(
                product(),
                profile=profile,
                output=self.path("m.om"),
                options={"threads": 1, "opt_level": None},
            ).close()
            summary[profile] = self.program(0, "sluice-show", "--summary", self.path("m.om"))
            self.assertIn(f"profile {profile}", summary[profile])
        self.assertEqual(self.failure(product(), profile="cpu-of-tomorrow").code, 1006)
        self.assertEqual(
            self.failure(product(), options={"strict": True, "denormals": "sometimes"}).code, 1006
        )
        error = self.failure(product(), options={"no-such-option": 1})
        self.assertEqual(error.code, 1001)
        with self.assertRaises(ValueError):
            sluice.compile(product(), options={"stop_after": "optimize"})

    def test_progress(self):
        seen = []
        sluice.compile(product(), profile=PROFILE, progress=seen.append).close()
        self.assertEqual(
            [(each.stage, each.number, each.of) for each in seen],
            [(name, i + 1, 5) for i, name in enumerate(STAGES)],
        )
        self.assertTrue(all(each.seconds >= 0 and each.bytes > 0 for each in seen), seen)
        self.program(
            0, "sluice-preprocess", self.save("model.onnx", product()), "-o", self.path("1.sg")
        )
        del seen[:]
        sluice.compile(self.path("1.sg"), profile=PROFILE, progress=seen.append).close()
        self.assertEqual(
            [(each.stage, each.number, each.of) for each in seen],
            [(name, i + 1, 4) for i, name in enumerate(STAGES[1:])],
        )

    def test_one_error(self):
        wrong = model_of(
            [
                helper.make_node("Relu", ["x"], ["r"], "fine"),
                helper.make_node("MatMul", ["r", "w"], ["y"], "mul'ti' ply"),
            ],
            [value("x", [2, 3])],
            [value("y", None)],
            w=WEIGHT,
        )
        path = self.save("wrong.onnx", wrong)
        error = self.failure(path)
        self.assertEqual((error.code, error.node, error.file), (2003, "mul'ti' ply", path))
        self.assertTrue(str(error).startswith("SL2003: ") and f"[{path}]" in str(error), error)
        self.assertEqual([one["nodes"] for one in error.errors], [["mul'ti' ply"]])
        self.assertEqual(self.failure(wrong).file, "")

    def test_all_unsupported_operators(self):
        nodes = [
            helper.make_node("Frobnicate", ["x"], ["a"], "first"),
            helper.make_node("Frobnicate", ["a"], ["b"], "second"),
            helper.make_node("Twist", ["b"], ["y"], "third", domain="my.ops"),
        ]
        error = self.failure(model_of(nodes, [value("x", [2])], [value("y", [2])]))
        self.assertEqual((error.code, error.node, len(error.errors)), (3002, "first", 2))
        self.assertEqual([one["nodes"] for one in error.errors], [["first", "second"], ["third"]])
        self.assertIn("docs/onnx-support.md", error.hint)
        self.assertIn("\nhint: ", str(error))

    def test_nodes_that_no_engine_supports(self):
        rules = self.save("rules.json", b'[{"node": "*", "set": {"engine": "dvpp"}}]')
        nodes = [
            helper.make_node("Cosh", ["x"], ["a"], "one"),
            helper.make_node("Sinh", ["a"], ["y"], "two"),
        ]
        error = self.failure(
            model_of(nodes, [value("x", [2])], [value("y", [2])]),
            profile=PROFILE,
            options={"annotate": rules},
        )
        self.assertEqual((error.code, error.node), (4001, "one"))
        self.assertEqual([one["nodes"] for one in error.errors], [["one"], ["two"]])

    def test_no_model(self):
        self.assertEqual(self.failure(self.path("none.onnx")).code, 1004)
        self.assertIn(self.failure(b"no model").code, (1003, 3001))
        self.assertIn(self.failure(b"").code, (1003, 3001))
        error = self.failure(product(), output=self.path("no-folder/m.om"))
        self.assertIn(error.code, (1004, 1007))
        with self.assertRaises(TypeError):
            sluice.compile(None)

    def test_warnings(self):
        content = model_of(
            [helper.make_node("Relu", ["x"], ["y"], "act", nonsense=1)],
            [value("x", [2])],
            [value("y", [2])],
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sluice.compile(content, profile=PROFILE).close()
        self.assertEqual([each.category for each in caught], [sluice.CompileWarning])
        self.assertEqual(caught[0].filename, __file__)
        self.assertIn("'nonsense' is not known", str(caught[0].message))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(sluice.CompileWarning):
                sluice.compile(content, profile=PROFILE)

    def test_callback_that_raises(self):
        def stop(report):
            raise KeyError(report.stage)

        for output in (None, self.path("never.om")):
            with self.assertRaises(KeyError) as caught:
                sluice.compile(chain(3000), profile=PROFILE, progress=stop, output=output)
            self.assertEqual(caught.exception.args, ("preprocess",))
        self.assertEqual(sorted(os.listdir(self.folder)), ["scratch"])

    def test_interrupt(self):
        script = (
            "import os, sys, sluice\n"
            "sluice.compile(sys.argv[1], profile='cpu-generic', output=sys.argv[2],\n"
            "               progress=lambda report: print(report.stage, os.getpid(), flush=True))\n"
        )
        model = self.save("chain.onnx", chain(20000))
        paths = os.environ | {
            "PYTHONPATH": os.path.dirname(os.path.dirname(sluice.__file__)),
            "TMPDIR": self.scratch,
        }
        with subprocess.Popen(
            [sys.executable, "-c", script, model, self.path("never.om")],
            env=paths,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as python:
            self.assertTrue(python.stdout.readline().startswith(b"preprocess"))
            os.kill(python.pid, signal.SIGINT)  # to Python alone, as a notebook does it
            self.assertIn(b"KeyboardInterrupt", python.stderr.read())
            python.wait()
        self.assertNotEqual(python.returncode, 0)
        for _ in range(100):  # nobody of its session is left
            left = subprocess.run(
                ["ps", "-s", str(python.pid), "-o", "pid="],
                capture_output=True,
                text=True,
                check=False,
            ).stdout.split()
            if not left:
                break
            time.sleep(0.05)
        self.assertEqual(left, [])
        self.assertEqual(sorted(os.listdir(self.folder)), ["chain.onnx", "scratch"])

    def test_two_at_once(self):
        x, results, failures = np.ones((2, 4), np.float32), {}, []

        def work(batch):
            try:
                for _ in range(3):
                    with sluice.compile(product(), dims={"N": batch}, profile=PROFILE) as model:
                        results[batch] = model.run({"x": np.repeat(x[:1], batch, axis=0)})["y"]
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(batch,)) for batch in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failures, sorted(results)), ([], [1, 2, 3]))
        for batch, result in results.items():
            np.testing.assert_allclose(result, np.repeat(x[:1] @ WEIGHT, batch, axis=0), rtol=1e-5)

    def test_programs_that_are_missing(self):
        os.environ["SLUICE_PROGRAMS"] = self.folder
        self.addCleanup(os.environ.pop, "SLUICE_PROGRAMS", None)
        error = self.failure(product())
        self.assertEqual(error.code, 8002)
        self.assertIn(f"'{self.folder}', which SLUICE_PROGRAMS names", error.message)
        self.assertIn("sluice-compiler", error.hint)
        os.environ["SLUICE_PROGRAMS"] = self.programs
        sluice.compile(product(), profile=PROFILE).close()

    def test_programs_beside_the_library_or_in_path(self):
        package = os.path.dirname(sluice.__file__)
        alone = self.path("alone")
        shutil.copytree(package, os.path.join(alone, "sluice"))
        shutil.copy(os.path.join(package, "../libsluice.so"), alone)
        script = (
            "import sys, sluice\n"
            "assert sluice.__file__.startswith(sys.argv[2]), sluice.__file__\n"
            "try:\n    print(sluice.compile(sys.argv[1]).inputs[0].name)\n"
            "except sluice.CompileError as error:\n    print(error.code)\n"
        )
        model = self.save("model.onnx", product(4))
        for path, expected in (("/usr/bin", "8002"), (self.programs, "x")):
            done = subprocess.run(
                [sys.executable, "-c", script, model, alone],
                env={"PYTHONPATH": alone, "PATH": path, "TMPDIR": self.scratch},
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.stdout.strip(), expected, done.stderr)

    def test_installed_tree(self):
        package = os.path.dirname(sluice.__file__)
        module = self.path("prefix/lib/python3/dist-packages")
        shutil.copytree(package, os.path.join(module, "sluice"))
        os.symlink(self.programs, self.path("prefix/bin"))
        shutil.copy(os.path.join(package, "../libsluice.so"),
                    self.path("prefix/lib/libsluice.so.0"))
        script = "import sys, sluice\nprint(sluice._find_compiler())\nsluice.compile(sys.argv[1])"
        done = subprocess.run(
            [sys.executable, "-c", script, self.save("model.onnx", product(4))],
            env={"PYTHONPATH": module, "PATH": "/usr/bin", "TMPDIR": self.scratch},
            capture_output=True,
            text=True,
            check=False,
        )
        found = self.path("prefix/bin/sluice-compile")
        self.assertEqual((done.stdout.strip(), done.stderr), (found, ""))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "preprocess", "show", *STAGES])
    sluice = import_sluice(ProgramCase.programs)
    unittest.main(verbosity=2)
