#!/usr/bin/python3
"""--external-weight: weights in files beside the compiled model. The three kinds compute the same;
models share files; whatever is wrong with a file is said before anything runs.

usage: external_weight_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
import unittest

import numpy as np
from onnx import helper, numpy_helper

import models
from models import constant, floats
from programs import ProgramCase, bytes_of, import_sluice, need

PROFILE = "--profile=cpu-avx2"
SIZE = 64  # of matrices: 64 * 64 * 4 bytes are four pages
SHARED, COMBINED = "--external-weight=1", "--external-weight=2"


def matrix(name, seed, rows=SIZE):
    values = np.random.default_rng(seed).standard_normal((rows, SIZE)).astype(np.float32)
    return constant(name, values / 8)


def save(path, nodes, weights, batch=2):
    return models.save(path, nodes, [floats("x", [batch, SIZE])], [floats("y")], weights,
                       opset=16)


def layers(seeds, batch=2):
    """A chain of matrix products; equal seeds are equal weights."""
    def make(path):
        nodes, weights, before = [], [], "x"
        for index, seed in enumerate(seeds):
            after = "y" if index + 1 == len(seeds) else f"v{index}"
            weights += [matrix(f"w{seed}", seed)] if seeds.index(seed) == index else []
            nodes.append(helper.make_node("MatMul", [before, f"w{seed}"], [f"m{index}"]))
            nodes.append(helper.make_node("Tanh", [f"m{index}"], [after]))
            before = after
        return save(path, nodes, weights, batch)
    return make


def walked(path):
    """A root graph that reads one constant of several pages, one of less than a page that is no
    small one of the graph file, and calls a part with a constant of its own."""
    few = constant("few", np.linspace(0, 1, 500, dtype=np.float32))
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a1"]),
             helper.make_node("Tanh", ["a1"], ["a2"]),
             *(helper.make_node("MatMul", [f"a{i}", "w1"], [f"a{i + 1}"]) for i in range(2, 6)),
             helper.make_node("Sin", ["a6"], ["b"]), helper.make_node("NonZero", ["b"], ["at"]),
             helper.make_node("Split", ["at"], ["rows", "columns"], axis=0),
             helper.make_node("Gather", ["w2", "columns"], ["c"]),
             helper.make_node("ReduceSum", ["c"], ["d"], keepdims=0),
             helper.make_node("Gather", ["few", "columns"], ["e"]),
             helper.make_node("ReduceSum", ["e"], ["f"], keepdims=0),
             helper.make_node("Add", ["d", "f"], ["g"]),
             helper.make_node("Add", ["b", "g"], ["y"])]
    return save(path, nodes, [matrix("w1", 1), matrix("w2", 2), few])


MODELS = {"fixed": layers([1, 2]), "symbolic": layers([1, 2], "N"), "walked": walked}


class Case(ProgramCase):
    def compile(self, source, name, *options, code=0):
        out = self.path(name)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        return self.program(code, "sluice-compile", "-q", PROFILE, *options, source, "-o", out)

    def model(self, make, *options, name="m.om"):
        """A compiled model."""
        self.compile(make(self.path("m.onnx")), name, *options)
        return self.path(name)

    def outputs(self, model, *options):
        """The bytes of the outputs of a run with random inputs."""
        folder = self.path("outputs")
        self.program(0, "sluice-loader", "-q", "--random=3", "--output-dir", folder, *options,
                     model)
        read = {name: self.read("outputs", name) for name in sorted(os.listdir(folder))}
        shutil.rmtree(folder)
        return read

    def read(self, *name):
        return bytes_of(self.path(os.path.join(*name)))

    def write(self, path, data):
        with open(path, "wb") as file:
            file.write(data)

    def weights(self, folder=""):
        """{name: bytes} of the files in the folder of weights."""
        folder = self.path(os.path.join(folder, "weight"))
        return {name: self.read(folder, name) for name in sorted(os.listdir(folder))}

    def refused(self, code, model, *texts, how=()):
        """Neither opened nor verified."""
        for name, options in (("sluice-loader", ["--random", *how]), ("sluice-verify", how)):
            said = self.program(code, name, *options, model)
            self.assertEqual(said.count(": error SL"), 1, said)
            for text in texts:
                self.assertIn(text, said)


class Kinds(Case):
    def test_compute_the_same(self):
        for name, make in MODELS.items():
            make(self.path("m.onnx"))
            for kind in "012":
                self.compile(self.path("m.onnx"), f"{name}{kind}/m.om", "--external-weight=" + kind)
            expected = self.outputs(self.path(f"{name}0/m.om"))
            numbers = np.frombuffer(expected["y.npy"][128:], np.float32)
            self.assertGreaterEqual(len(set(numbers.tolist())), SIZE)
            for kind in "12":
                model = self.path(f"{name}{kind}/m.om")
                self.assertEqual(self.outputs(model), expected, model)
                self.assertEqual(self.outputs(model, "--verify", "--threads=1"), expected, model)
                self.program(0, "sluice-verify", "--segments", model)
                # without what the compiled model itself has to have
                inside, outside = os.path.getsize(self.path(f"{name}0/m.om")), 2 * 4 * SIZE * SIZE
                self.assertLess(os.path.getsize(model), inside - outside + 8192)
            self.assertFalse(os.path.exists(self.path(f"{name}0/weight")))

    def test_files_are_named_by_their_digests(self):
        self.model(walked, SHARED)
        files = self.weights()
        self.assertEqual(len(files), 2)
        for name, data in files.items():
            self.assertEqual(name, "weight_" + hashlib.sha256(data).hexdigest())
            self.assertEqual(len(data), 4 * SIZE * SIZE)

    def test_the_index_tells_where_constants_are(self):
        self.model(walked, COMBINED)
        self.assertEqual(set(self.weights()), {"m_weight_combined", "m_weight.json"})
        weights = json.loads(self.read("weight", "m_weight.json"))["weights"]
        self.assertEqual(len(weights), 2)
        names = set()
        for digest, entry in weights.items():
            self.assertEqual(entry["file"], "m_weight_combined")
            self.assertEqual(entry["offset"] % 4096, 0)
            data = self.read("weight", entry["file"])[entry["offset"]:][:entry["bytes"]]
            self.assertEqual(hashlib.sha256(data).hexdigest(), digest)
            names.add(entry["name"].split(":")[0])
        self.assertEqual(names, {"w1", "w2"})

    def test_equal_constants_are_one_file(self):
        turned = constant("turned", numpy_helper.to_array(matrix("w", 1)).T.copy())
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]),
                 helper.make_node("Tanh", ["a"], ["b"]),
                 helper.make_node("Gemm", ["b", "turned"], ["y"], transB=1)]  # packed alike
        save(self.path("m.onnx"), nodes, [matrix("w", 1), turned])
        outputs = []
        for option in ("--external-weight=0", SHARED, COMBINED):
            self.compile(self.path("m.onnx"), "m.om", option)
            outputs.append(self.outputs(self.path("m.om")))
            if option == SHARED:
                self.assertEqual(len(self.weights()), 1)
                self.assertIn(f"{4 * SIZE * SIZE} bytes in 1 file weight_SHA256",
                              self.program(0, "sluice-show", "--summary", self.path("m.om")))
        self.assertEqual(len(json.loads(self.read("weight", "m_weight.json"))["weights"]), 1)
        self.assertEqual(outputs, outputs[:1] * 3)

    def test_small_models_have_no_files(self):
        nodes = [helper.make_node("Add", ["x", "few"], ["y"])]
        few = constant("few", np.arange(SIZE, dtype=np.float32))
        save(self.path("m.onnx"), nodes, [few])
        for option in (SHARED, COMBINED):
            self.compile(self.path("m.onnx"), "m.om", option)
            self.assertFalse(os.path.exists(self.path("weight")))
            self.outputs(self.path("m.om"))

    def test_views_tell_where_weights_are(self):
        layers([1, 2])(self.path("m.onnx"))
        bytes_outside = 2 * 4 * SIZE * SIZE
        for option, text in ((SHARED, "2 files weight_SHA256"), (COMBINED, "1 file NAME_weight")):
            self.compile(self.path("m.onnx"), "m.om", option)
            self.assertIn(f"weights: 0 bytes here, {bytes_outside} bytes in {text}",
                          self.program(0, "sluice-show", "--summary", self.path("m.om")))
            shown = json.loads(self.program(0, "sluice-show", "--format=json", self.path("m.om")))
            self.assertEqual([row["offset"] for row in shown["external_weights"]],
                             [0, 4 * SIZE * SIZE])
            self.assertEqual(shown["combined_weights"], option == COMBINED)
            self.program(0, "sluice-show", self.path("m.om"), "-o", self.path("m.txt"))
            self.program(0, "sluice-as", self.path("m.txt"), "--with", self.path("m.om"), "-o",
                         self.path("back.om"))
            self.assertEqual(self.read("back.om"), self.read("m.om"))


class SameBytes(Case):
    def test_whatever_the_name_the_threads_and_the_transport(self):
        MODELS["walked"](self.path("m.onnx"))
        for option in (SHARED, COMBINED):
            self.compile(self.path("m.onnx"), "first/m.om", option)
            expected = self.read("first/m.om"), self.weights("first")
            for other in ("--threads=1", "--threads=4", "--transport=files", "--transport=zmq"):
                self.compile(self.path("m.onnx"), "again/m.om", option, other)
                self.assertEqual((self.read("again/m.om"), self.weights("again")), expected, other)
                shutil.rmtree(self.path("again"))
            self.compile(self.path("m.onnx"), "other/name.om", option)
            self.assertEqual(self.read("other/name.om"), expected[0])
            shutil.rmtree(self.path("first"))
            shutil.rmtree(self.path("other"))

    def test_by_the_stages_themselves(self):
        self.model(layers([1, 2]), COMBINED)
        expected = self.read("m.om"), self.weights()
        before = self.path("m.onnx")
        for stage in ("preprocess", "optimize", "partition", "subgraph-optimize"):
            options = [COMBINED, PROFILE] if stage == "preprocess" else []
            self.program(0, "sluice-" + stage, *options, before, "-o", self.path(stage + ".sg"))
            before = self.path(stage + ".sg")
        os.makedirs(self.path("by"))
        self.program(0, "sluice-build", before, "-o", self.path("by/m.om"))
        self.assertEqual((self.read("by/m.om"), self.weights("by")), expected)
        self.program(0, "sluice-build", "--stop-after=plan-memory", before, "-o",
                     self.path("scheduled.sg"))
        shutil.rmtree(self.path("by"))
        os.makedirs(self.path("by"))
        self.program(0, "sluice-compile", "-q", self.path("scheduled.sg"), "-o",
                     self.path("by/m.om"))
        self.assertEqual((self.read("by/m.om"), self.weights("by")), expected)


class Sharing(Case):
    def states(self):
        return {name: os.stat(self.path(os.path.join("weight", name))).st_ino
                for name in os.listdir(self.path("weight"))}

    def test_models_share_equal_weights(self):
        self.model(layers([1, 2]), SHARED, name="a.om")
        first = self.states()
        self.model(layers([2, 3]), SHARED, name="b.om")
        both = self.states()
        self.assertEqual((len(first), len(both)), (2, 3))
        self.assertEqual({name: both[name] for name in first}, first)  # not written again
        self.assertNotEqual(self.outputs(self.path("a.om")), self.outputs(self.path("b.om")))

    def test_damaged_and_short_files_are_replaced(self):
        model = self.model(layers([1, 2]), SHARED)
        expected, files = self.outputs(model), self.weights()
        for damage in (lambda data: data[:-1], lambda data: data[:99] + b"!" + data[100:]):
            name, data = next(iter(files.items()))
            self.write(self.path("weight/" + name), damage(data))
            before = self.states()
            self.model(layers([1, 2]), SHARED)
            self.assertEqual(self.weights(), files)
            after = self.states()
            self.assertEqual({each for each in before if before[each] != after[each]}, {name})
            self.assertEqual(self.outputs(model), expected)

    def test_a_build_that_fails_removes_what_it_made(self):
        lowered = self.path("lowered.sg")
        os.makedirs(self.path("fits"))
        layers([1])(self.path("m.onnx"))
        self.compile(self.path("m.onnx"), "a.om", SHARED)
        before = self.weights()
        layers([1] * 200 + [2])(self.path("m.onnx"))
        self.program(0, "sluice-compile", "-q", PROFILE, self.path("m.onnx"), "-o", lowered,
                     "--stop-after=subgraph-optimize")
        limit = 4 * SIZE * SIZE  # a file of weights fits, the compiled model does not
        self.program(0, "sluice-build", SHARED, lowered, "-o", self.path("fits/m.om"))
        self.assertGreater(os.path.getsize(self.path("fits/m.om")), limit)
        for option in (SHARED, COMBINED):
            done = subprocess.run([os.path.join(self.programs, "sluice-build"), option, lowered,
                                   "-o", self.path("m.om")], capture_output=True, text=True,
                                  check=False, preexec_fn=lambda: resource.setrlimit(
                                      resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertEqual(self.weights(), before)
            self.assertFalse(os.path.exists(self.path("m.om")))

    def test_a_killed_build_leaves_no_model_without_its_weights(self):
        layers([*range(1, 60)])(self.path("m.onnx"))
        self.program(0, "sluice-compile", "-q", PROFILE, self.path("m.onnx"), "-o",
                     self.path("lowered.sg"), "--stop-after=subgraph-optimize")
        killed = 0
        for option in (SHARED, COMBINED):
            command = [os.path.join(self.programs, "sluice-build"), option, self.path("lowered.sg"),
                       "-o", self.path("k/m.om")]
            begin = time.time()
            os.makedirs(self.path("k"))
            subprocess.run(command, check=True)
            whole = time.time() - begin
            expected = self.outputs(self.path("k/m.om"))
            for attempt in range(12):
                shutil.rmtree(self.path("k"))
                os.makedirs(self.path("k"))
                build = subprocess.Popen(command)
                time.sleep(whole * random.Random(attempt).random())
                build.kill()
                killed += build.wait() != 0
                if os.path.exists(self.path("k/m.om")):
                    self.assertEqual(self.outputs(self.path("k/m.om")), expected)
            shutil.rmtree(self.path("k"))
        self.assertGreater(killed, 0)


class WrongFiles(Case):
    def one(self, option):
        """A compiled model, and one of its files."""
        model = self.model(layers([1, 2]), option)
        name = next(name for name in self.weights() if not name.endswith(".json"))
        return model, self.path("weight/" + name)

    def constant(self, path):
        """What messages call the constant that is in the file, or the first of them."""
        name = os.path.basename(path)
        return (f"(sha256:{name.removeprefix('weight_')[:16]})" if name.startswith("weight_")
                else ") and 1 more")

    def test_missing(self):
        for option in (SHARED, COMBINED):
            model, path = self.one(option)
            os.remove(path)
            self.refused(3, model, "SL1009", "constant 'w", self.constant(path), path,
                         "No such file", "--weights DIR")

    def test_short_or_long(self):
        for option in (SHARED, COMBINED):
            model, path = self.one(option)
            size = os.path.getsize(path)
            for wrong in (size - 1, size + 1, 0):
                os.truncate(path, wrong)
                self.refused(3, model, "SL7001", "constant 'w", self.constant(path), path,
                             f"has {wrong} bytes, expected {size}")

    def test_no_regular_file(self):
        for option in (SHARED, COMBINED):
            model, path = self.one(option)
            for make in (os.mkdir, os.mkfifo):
                os.rename(path, path + ".away")
                make(path)
                self.refused(3, model, "SL7001", "constant 'w", path, "is no regular file")
                (os.rmdir if make == os.mkdir else os.remove)(path)
                os.rename(path + ".away", path)
            self.outputs(model)

    def test_a_flipped_byte_is_found_by_digest(self):
        for option in (SHARED, COMBINED):
            model, path = self.one(option)
            expected = self.outputs(model)
            with open(path, "r+b") as file:
                file.seek(4096 + 4 * SIZE * SIZE - 2 if option == COMBINED else 4 * SIZE * SIZE - 2)
                file.write(b"\x41")
            self.assertNotEqual(self.outputs(model), expected)  # it is opened, as a .om would be
            self.program(0, "sluice-verify", model)
            for name, how in (("sluice-loader", ["--random", "--verify"]),
                              ("sluice-verify", ["--segments"])):
                said = self.program(3, name, *how, model)
                for text in ("SL7001", "constant 'w", "(sha256:", path, "other bytes"):
                    self.assertIn(text, said)

    def test_the_combined_file_of_another_model(self):
        model, path = self.one(COMBINED)
        self.model(layers([3, 4]), COMBINED, name="other/m.om")
        shutil.copy(self.path("other/weight/m_weight_combined"), path)
        self.refused(3, model, "SL7001", path, "another model")

    def test_a_file_cut_short_ends_the_run_as_that_of_a_model_does(self):
        sluice = import_sluice(self.programs)
        for option in ("--external-weight=0", SHARED, COMBINED):
            model = self.model(layers([1, 2]), option)
            path = model if option.endswith("0") else self.one(option)[1]
            code = ("import os, sys, sluice; model = sluice.Model(sys.argv[1]); "
                    "os.truncate(sys.argv[2], 0); model.run({'x': [[1.0] * 64] * 2})")
            lib = os.path.dirname(os.path.dirname(sluice.__file__))
            environment = {**os.environ, "PYTHONPATH": lib}
            done = subprocess.run([sys.executable, "-c", code, model, path], check=False,
                                  capture_output=True, env=environment)
            self.assertEqual(done.returncode, -7, done.stderr)  # SIGBUS


class Places(Case):
    def test_a_folder_that_is_given(self):
        for option in (SHARED, COMBINED):
            model = self.model(layers([1, 2]), option)
            expected = self.outputs(model)
            os.rename(self.path("weight"), self.path("elsewhere"))
            self.refused(3, model, "SL1009")
            where = "--weights=" + self.path("elsewhere")
            self.assertEqual(self.outputs(model, where), expected)
            self.program(0, "sluice-verify", "--segments", where, model)
            self.refused(3, model, "SL1009", self.path("nowhere"),
                         how=["--weights=" + self.path("nowhere")])
            shutil.rmtree(self.path("elsewhere"))

    def test_models_that_moved(self):
        for option in (SHARED, COMBINED):
            model = self.model(layers([1, 2]), option)
            expected = self.outputs(model)
            os.makedirs(self.path("to"))
            os.rename(model, self.path("to/m.om"))
            os.rename(self.path("weight"), self.path("to/weight"))
            self.assertEqual(self.outputs(self.path("to/m.om")), expected)
            os.symlink("to/m.om", self.path("link.om"))
            self.assertEqual(self.outputs(self.path("link.om")), expected)
            os.remove(self.path("link.om"))
            shutil.rmtree(self.path("to"))

    def test_links_of_a_folder_to_content_elsewhere(self):
        model = self.model(layers([1, 2]), COMBINED)
        expected = self.outputs(model)
        os.makedirs(self.path("links/weight"))
        for name in ("m.om", "weight/m_weight_combined"):
            away = self.path(hashlib.sha256(name.encode()).hexdigest())
            os.rename(self.path(name), away)
            os.symlink(away, self.path("links/" + name))
        self.assertEqual(self.outputs(self.path("links/m.om")), expected)

    def test_a_name_that_changed(self):
        model = self.model(layers([1, 2]), SHARED)
        expected = self.outputs(model)
        os.rename(model, self.path("new.om"))
        self.assertEqual(self.outputs(self.path("new.om")), expected)
        model = self.model(layers([1, 2]), COMBINED)
        os.rename(model, self.path("new.om"))
        self.refused(3, self.path("new.om"), "SL1009", "weight/new_weight_combined")
        where = "--weights=" + self.path("weight/m_weight_combined")
        self.assertEqual(self.outputs(self.path("new.om"), where), expected)
        self.assertEqual(self.outputs(self.path("new.om"), where, "--verify"), expected)

    def loaded_from_standard_input(self, model, *options):
        with open(model, "rb") as file:
            return subprocess.run([os.path.join(self.programs, "sluice-loader"), "--random=3",
                                   *options, "-"], stdin=file, capture_output=True, text=True,
                                  check=False)

    def test_standard_input_has_no_folder(self):
        for option in (SHARED, COMBINED):
            model = self.model(walked, option)
            expected = self.program(0, "sluice-loader", "--random=3", model)
            done = self.loaded_from_standard_input(model)
            self.assertEqual(done.returncode, 3)
            for text in ("SL1009", "standard input has no folder", "--weights DIR"):
                self.assertIn(text, done.stderr)
            where = self.path("weight")
            if option == COMBINED:
                done = self.loaded_from_standard_input(model, "--weights", where)
                self.assertEqual(done.returncode, 3)
                self.assertIn("standard input has no name", done.stderr)
                where += "/m_weight_combined"
            done = self.loaded_from_standard_input(model, "--weights", where)
            self.assertEqual((done.returncode, done.stdout), (0, expected))

    def test_python(self):
        sluice = import_sluice(self.programs)
        inputs = {"x": np.random.default_rng(1).random((2, SIZE), dtype=np.float32)}
        source = layers([1, 2])(self.path("m.onnx"))
        expected = sluice.compile(source).run(inputs)["y"]
        for kind in (1, 2):
            with sluice.compile(source, options={"external_weight": kind}) as model:
                np.testing.assert_array_equal(model.run(inputs)["y"], expected)
            path = self.path("kept.om")
            with sluice.compile(source, options={"external_weight": kind}, output=path) as model:
                np.testing.assert_array_equal(model.run(inputs)["y"], expected)
            self.assertEqual("kept_weight_combined" in self.weights(), kind == 2)
            os.rename(self.path("weight"), self.path("away"))
            with self.assertRaises(sluice.Error):
                sluice.Model(path)
            for verify in (False, True):
                model = sluice.Model(path, verify_weights=verify, weights=self.path("away"))
                np.testing.assert_array_equal(model.run(inputs)["y"], expected)
            shutil.rmtree(self.path("away"))
        with self.assertRaises(sluice.ArgumentError):
            sluice.Model(path, weights=3)
        with self.assertRaises(sluice.CompileError) as caught:
            sluice.compile(source, options={"external_weight": 1}, output="/dev/null")
        self.assertIn("'/dev/null' has no folder", str(caught.exception))


class Services(Case):
    def service(self, *options):
        """The option of a compile that uses a service of sluice-build, which is started here."""
        endpoint = "ipc://" + self.path("build.socket")
        service = subprocess.Popen([os.path.join(self.programs, "sluice-build"),
                                    "--serve=" + endpoint, *options], stderr=subprocess.PIPE)
        service.stderr.readline()  # that it serves

        def end():
            service.terminate()
            service.wait()
            service.stderr.close()
        self.addCleanup(end)
        return ["--transport=zmq", "--service=build=" + endpoint]

    def test_write_beside_the_model(self):
        os.makedirs(self.path("served"))
        source = layers([1, 2])(self.path("served/m.onnx"))
        self.compile(source, "local/m.om", SHARED)
        self.compile(source, "served/m.om", SHARED, *self.service())
        self.assertEqual((self.read("served/m.om"), self.weights("served")),
                         (self.read("local/m.om"), self.weights("local")))
        self.assertEqual(sorted(os.listdir(self.path("served"))), ["m.om", "m.onnx", "weight"])

    def test_that_write_nothing_build_models_without_files(self):
        source = layers([1, 2])(self.path("m.onnx"))
        lowered = self.path("lowered.sg")
        self.program(0, "sluice-compile", "-q", PROFILE, source, "-o", lowered,
                     "--stop-after=subgraph-optimize", "--segments=inline")
        self.program(0, "sluice-compile", "-q", *self.service(), lowered, "-o", self.path("m.om"))
        self.outputs(self.path("m.om"))


class NoFolder(Case):
    def assert_refused(self, command, output, text):
        done = subprocess.run([os.path.join(self.programs, command[0]), *command[1:], "-o", output],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              cwd=self.folder)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 2, said)
        for part in ("SL1001", text, "has no folder", "--weights-beside"):
            self.assertIn(part, said)
        self.assertFalse(os.path.exists(self.path("weight")))

    def test_standard_output_and_devices(self):
        source = layers([1, 2])(self.path("m.onnx"))
        lowered = self.path("lowered.sg")
        self.program(0, "sluice-compile", "-q", PROFILE, SHARED, source, "-o", lowered,
                     "--stop-after=subgraph-optimize")
        for output, text in (("-", "standard output"), ("/dev/null", "'/dev/null'")):
            for option in (SHARED, COMBINED):
                self.assert_refused(["sluice-compile", "-q", option, source], output, text)
                self.assert_refused(["sluice-build", option, lowered], output, text)
            for transport in ("pipe", "files", "zmq"):  # the option is in the graph
                self.assert_refused(["sluice-compile", "-q", "--transport=" + transport, lowered],
                                    output, text)

    def test_the_name_that_the_model_gets_later(self):
        source = layers([1, 2])(self.path("m.onnx"))
        for option in (SHARED, COMBINED):
            self.model(layers([1, 2]), option)
            expected = self.read("m.om"), self.weights()
            os.makedirs(self.path("later"))
            for transport in ("pipe", "files", "zmq"):
                done = subprocess.run(
                    [os.path.join(self.programs, "sluice-compile"), "-q", PROFILE, option, source,
                     "--transport=" + transport, "--weights-beside=later/m.om"],
                    stdout=subprocess.PIPE, check=True, cwd=self.folder)
                self.assertEqual((done.stdout, self.weights("later")), expected)
            shutil.rmtree(self.path("later"))
            shutil.rmtree(self.path("weight"))

    def test_graphs_need_none(self):
        source = layers([1, 2])(self.path("m.onnx"))
        with open(self.path("m.sg"), "wb") as file:
            subprocess.run([os.path.join(self.programs, "sluice-compile"), "-q", SHARED, source,
                            "--stop-after=build:plan-memory"], stdout=file, check=True)
        self.assertIn("offset 16384",
                      self.program(0, "sluice-show", self.path("m.sg")))

    def test_values(self):
        said = self.program(3, "sluice-compile", "--external-weight=3", self.path("m.onnx"), "-o",
                            self.path("m.om"))
        self.assertIn("--external-weight is '3', expected 0, 1 or 2", said)


if __name__ == "__main__":
    Case.programs = need(sys.argv[1], ["compile", "preprocess", "optimize", "partition",
                                       "subgraph-optimize", "build", "loader", "verify", "show",
                                       "as"])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
