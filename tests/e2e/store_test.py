#!/usr/bin/python3
"""sluice compile --store: a product is found exactly when nothing that it depends on has changed,
its bytes are those of a compile without a store, and a store that is full, read-only, damaged or
shared costs time and no result.

usage: store_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import random
import shutil
import subprocess
import sys
import unittest

import numpy as np
from onnx import helper

from models import floats, save
from programs import ProgramCase, bytes_of, need

STAGES = ["optimize", "partition", "subgraph-optimize", "build"]  # preprocess always runs


def random_array(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def make_model(path, weight=1, bias=2, axis=1, name="sum", width=24):
    """Two products, with a bias, an Add of a node name and a Softmax along an axis."""
    arrays = {"w": random_array((16, width), weight), "b": random_array((width,), bias),
              "v": random_array((width, 40), 3)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="first"),
             helper.make_node("Add", ["p", "b"], ["s"], name=name),
             helper.make_node("Relu", ["s"], ["r"], name="relu"),
             helper.make_node("MatMul", ["r", "v"], ["q"], name="second"),
             helper.make_node("Softmax", ["q"], ["y"], name="soft", axis=axis)]
    return save(path, nodes, [floats("x", ["N", 16])], [floats("y", ["N", 40])], arrays,
                opset=18)


class StoreCase(ProgramCase):
    profile = "--profile=cpu-generic"
    plain = {}  # products of compiles without a store: options and the model's bytes -> bytes

    def setUp(self):
        super().setUp()
        self.store = self.path("store")
        self.model = make_model(self.path("model.onnx"))

    def run_compile(self, model, out, *options):
        return self.run_program("sluice-compile", model, "-o", out, *options)

    def compiled(self, *options, model=None):
        """The bytes of a compile without a store, made once for all tests."""
        model, options = model or self.model, [option for option in options if option != "-q"]
        key = (bytes_of(model), self.profile, *options)
        if key not in StoreCase.plain or self.profile != StoreCase.profile:  # a file, edited
            out = self.path("plain.om")
            done = self.run_compile(model, out, self.profile, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            StoreCase.plain[key] = bytes_of(out)
        return StoreCase.plain[key]

    def found(self, *options, model=None, expected=None, warns=False):
        """The stages whose products were found by a compile with the store, whose bytes are those
        of one without."""
        out = self.path("stored.om")
        done = self.run_compile(model or self.model, out, self.profile, "--store", self.store,
                                "--progress=json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.splitlines()
        self.warnings = [line for line in lines if not line.startswith("{")]
        if not warns:
            self.assertFalse([line for line in self.warnings if "store" in line])
        self.assertTrue(bytes_of(out) == (expected or self.compiled(*options, model=model)))
        self.last = [json.loads(line) for line in lines if line.startswith("{")]
        return [row["stage"] for row in self.last if row.get("found")]

    def files(self, start=""):
        return sorted(os.path.join(folder, name)
                      for folder, _, names in os.walk(os.path.join(self.store, start))
                      for name in names)

    def artifacts(self):
        return [path for path in self.files() if "/records/" not in path]

    def damage(self, path, how):
        os.chmod(path, 0o644)
        data = bytearray(bytes_of(path))
        os.unlink(path)  # not the file that may be linked to it
        if how == "flipped":
            data[len(data) // 2] ^= 16
        with open(path, "wb") as file:
            file.write(data[:len(data) // 2] if how == "cut" else data if how == "flipped" else b"")


class EditsTest(StoreCase):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found(), STAGES)

    def kernels_of(self, *options, model=None):
        """How many kernels a compile generates, and how many it finds, when all its stages run."""
        stats = self.path("stats.json")
        done = self.run_compile(model or self.model, self.path("k.om"), self.profile, "-q",
                                "--store", self.store, "--stats", stats,
                                "--dump-dir", self.path("dump"), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(stats, encoding="utf-8") as file:
            work = {}
            for stage in json.load(file)["stages"]:
                for row in stage["passes"]:
                    for key, count in row["work"].items():
                        work[key] = work.get(key, 0) + count
        return work.get("kernels_generated", 0), work.get("kernels_found", 0)

    def test_a_moved_model(self):
        os.mkdir(self.path("elsewhere"))
        moved = shutil.move(self.model, self.path("elsewhere/other.onnx"))
        self.assertEqual(self.found(model=moved), STAGES)
        # what is made from found graphs reads the model where it is now
        self.assertEqual(self.found("--denormals=ieee", model=moved), STAGES[:3])

    def test_a_touched_model(self):
        os.utime(self.model, (1, 1))
        self.assertEqual(self.found("--denormals=ieee"), STAGES[:3])

    def test_one_weight(self):
        edited = make_model(self.path("edited.onnx"), weight=7)
        self.assertEqual(self.found(model=edited), [])
        self.assertEqual(self.kernels_of(model=edited)[0], 0, "no kernel depends on a weight")

    def test_a_small_constant(self):
        edited = make_model(self.path("edited.onnx"), bias=7)
        self.assertEqual(self.found(model=edited), [])
        self.assertEqual(self.kernels_of(model=edited)[0], 0)

    def test_a_renamed_node(self):
        edited = make_model(self.path("edited.onnx"), name="total")
        self.assertEqual(self.found(model=edited), [], "the names are in every product")
        self.assertEqual(self.kernels_of(model=edited)[0], 0, "and in no kernel")

    def test_one_attribute(self):
        edited = make_model(self.path("edited.onnx"), axis=0)
        stored = len(self.files("records"))
        self.assertEqual(self.found(model=edited), [])
        generated, found = self.kernels_of(model=edited)
        self.assertEqual(generated, 0, "the compile before generated it")
        self.assertGreater(found, 1)
        self.assertGreater(len(self.files("records")), stored + len(STAGES))

    def plan(self, *options):
        """The jobs of --plan by their names, kernels as a list."""
        before = {path: os.stat(path).st_mtime_ns for path in self.files("records")}
        done = self.run_compile(self.model, self.path("no.om"), self.profile, "--plan",
                                "--progress=json", "--store", self.store, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse(os.path.exists(self.path("no.om")))
        self.assertEqual(len(before), len(self.files("records")), "nothing was kept")
        jobs = json.loads(done.stdout)["jobs"]
        self.kernels = [job for job in jobs if job["job"] == "kernel"]
        return {job["job"]: job for job in jobs if job["job"] != "kernel"}

    def test_the_plan_says_what_will_be_found(self):
        for options in ([], ["--denormals=ieee"], ["--math=high_precision"], ["--opt-level=O0"]):
            planned = self.plan(*options)
            kernels = {job["key"] for job in self.kernels}
            keys = {name: job["key"] for name, job in planned.items() if "key" in job}
            self.assertEqual(
                self.found(*options),
                [name for name, job in planned.items() if job["state"] == "found"], options)
            made = {row["stage"]: row.get("key") for row in self.last}
            self.assertEqual({name: made[name] for name in keys}, keys)
            self.assertEqual(bool(kernels), options == ["--math=high_precision"], options)
            for key in kernels:
                self.assertIn(os.path.join(self.store, "records", key[:2], key), self.files())

    def test_an_option_of_each_stage(self):
        for option, stage in [("--overridable-inputs=on", 0), ("--precision-mode=force_fp16", 0),
                              ("--skip=optimize:fuse-elementwise", 0), ("--stable-order=on", 1),
                              ("--symbolic=off", 1), ("--math=high_precision", 2),
                              ("--denormals=ieee", 3), ("--disable-reuse-memory=*", 3),
                              ("--sync=notify", 3), ("--enable-single-stream", 3),
                              ("--multi-stream-parallel-mode=cv", 3),
                              ("--skip=build:order-tasks", 3), ("--dim=N=3", 0)]:
            with self.subTest(option):
                self.assertEqual(self.found(option), STAGES[:stage])
                self.assertEqual(self.found(option), STAGES)

    def test_options_that_change_no_product(self):
        for option in ["--threads=1", "--max-constant-bytes=1000000", "--transport=files"]:
            with self.subTest(option):
                self.assertEqual(self.found(option), STAGES)

    def test_another_profile(self):
        done = self.run_compile(self.model, self.path("avx2.om"), "--profile=cpu-avx2", "--store",
                                self.store, "--progress=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn('"found":true', done.stderr)

    def test_the_content_of_a_profile_counts(self):
        profile = self.path("own.json")
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        shutil.copy(os.path.join(root, "common/target/profiles/cpu-generic.json"), profile)
        self.profile = "--profile=" + profile
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found(), STAGES)
        with open(profile, encoding="utf-8") as file:
            text = json.load(file)
        text["l2_bytes"] *= 2
        with open(profile, "w", encoding="utf-8") as file:
            json.dump(text, file)
        self.assertEqual(self.found(), [])

    def test_another_build_of_a_stage(self):
        copies = self.path("programs")
        shutil.copytree(self.programs, copies)
        whole, self.programs = self.programs, copies
        try:
            self.assertEqual(self.found(), STAGES, "the same builds, elsewhere")
            path = os.path.join(copies, "sluice-partition")
            data = bytes_of(path)
            at = data.index(b"GNU\0", data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0")) + 4
            with open(path, "wb") as file:
                file.write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
            # what the other build makes is the same graph, which the later stages know
            self.assertEqual(self.found(), [stage for stage in STAGES if stage != "partition"])
        finally:
            self.programs = whole


class DamageTest(StoreCase):
    """Whatever happens to a store, the compile succeeds with the right bytes."""

    def setUp(self):
        super().setUp()
        self.expected = self.compiled()
        self.found(expected=self.expected)

    def test_every_damaged_file(self):
        for how in ["flipped", "cut", "empty"]:
            for path in self.files():
                with self.subTest(how, path=path):
                    self.damage(path, how)
                    self.found(expected=self.expected, warns=True)
        self.assertEqual(self.found(expected=self.expected), STAGES, "all is mended")

    def test_every_missing_file(self):
        for path in self.files():
            with self.subTest(path=path):
                os.unlink(path)
                self.found(expected=self.expected)
        self.assertEqual(self.found(expected=self.expected), STAGES)

    def test_all_artifacts_missing_when_only_the_last_stage_is_to_run(self):
        for path in self.artifacts():
            os.unlink(path)
        self.found("--denormals=ieee")

    def test_stages_that_run_again_are_counted_once(self):
        for path in self.artifacts():
            os.unlink(path)
        for path in self.files("records"):
            if b"\nbuild\n" in bytes_of(path):
                os.unlink(path)
        stats = self.path("stats.json")
        self.found("--stats", stats, warns=True)
        with open(stats, encoding="utf-8") as file:
            names = [stage["stage"] for stage in json.load(file)["stages"]]
        self.assertEqual(names, ["preprocess", "optimize", "partition", "subgraph-optimize",
                                 "build"])

    def test_one_warning_about_damage(self):
        for path in self.files("records"):
            self.damage(path, "flipped")
        self.found(expected=self.expected, warns=True)
        self.assertEqual(len(self.warnings), 1, self.warnings)
        self.assertIn("damaged", self.warnings[0])

    def test_entries_that_are_pipes(self):
        for path in self.files():
            os.unlink(path)
            os.mkfifo(path)
        self.found(expected=self.expected, warns=True)

    def test_entries_that_are_no_files(self):
        for path in self.files():
            os.unlink(path)
            os.mkdir(path)
        self.found(expected=self.expected, warns=True)

    def test_the_file_of_a_user_who_writes_into_it(self):
        out = self.path("stored.om")
        self.assertFalse(os.access(out, os.W_OK) and os.geteuid() != 0)
        os.chmod(out, 0o644)
        with open(out, "r+b") as file:
            file.write(b"edited")
        os.rename(out, self.path("mine.om"))
        found = self.found(expected=self.expected, warns=True)
        self.assertEqual(found, STAGES[:3])
        with open(self.path("mine.om"), "rb") as file:
            self.assertEqual(file.read(6), b"edited")


class UnusableTest(StoreCase):
    def test_a_store_that_is_a_file(self):
        with open(self.store, "w", encoding="utf-8") as file:
            file.write("no folder")
        self.assertEqual(self.found(warns=True), [])
        self.assertEqual(len(self.warnings), 1, self.warnings)
        self.assertIn("cannot be written", self.warnings[-1])

    def test_a_full_disk(self):
        """The disk fills at any point: a limit of file sizes stands for it."""
        expected = self.compiled()
        for kilobytes in [0, 1, 4, 8, 16]:
            with self.subTest(kilobytes=kilobytes):
                self.store = self.mount(kilobytes) if kilobytes else "/dev/full/store"
                self.found(expected=expected, warns=True)

    def mount(self, kilobytes):
        folder = self.path("small-%d" % kilobytes)
        os.mkdir(folder)
        size = "size=%dk" % kilobytes
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", folder],
                              capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest("no file system can be mounted here: " + done.stderr.strip())
        self.addCleanup(subprocess.run, ["umount", folder], check=True)
        return os.path.join(folder, "store")


class SharedTest(StoreCase):
    def test_equal_compiles_at_once_run_each_stage_once(self):
        expected = self.compiled()
        processes = [subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile"), self.model, "-o",
             self.path("%d.om" % i), self.profile, "--store", self.store, "--progress=json"],
            stderr=subprocess.PIPE, text=True) for i in range(6)]
        made = []
        for process in processes:
            errors = process.communicate(timeout=300)[1]
            self.assertEqual(process.returncode, 0, errors)
            made += [row["stage"] for row in map(json.loads, errors.splitlines())
                     if not row.get("found", True)]
        self.assertEqual(sorted(made), sorted(STAGES))
        for i in range(6):
            self.assertTrue(bytes_of(self.path("%d.om" % i)) == expected)
        self.assertEqual(os.listdir(os.path.join(self.store, "locks")), [])

    def test_a_killed_compile_hinders_nobody(self):
        expected = self.compiled()
        random.seed(1)
        for _ in range(8):
            process = subprocess.Popen(
                [os.path.join(self.programs, "sluice-compile"), self.model, "-o",
                 self.path("killed.om"), self.profile, "--store", self.store, "-q"])
            try:
                process.wait(random.uniform(0.005, 0.08))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.found(expected=expected)

    def test_output_on_a_pipe(self):
        self.found()
        done = subprocess.run([os.path.join(self.programs, "sluice-compile"), self.model, "-q",
                               self.profile, "--store", self.store], stdout=subprocess.PIPE,
                              timeout=300)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout == self.compiled())

    def test_warnings_of_found_products_are_told_again(self):
        self.found("--symbolic=off")
        reported = self.warnings
        self.assertIn("sluice-build: warning nodes that run one by one", reported[0])
        self.assertEqual(self.found("--symbolic=off"), STAGES)
        self.assertEqual(self.warnings, reported)
        shutil.rmtree(self.store)
        self.found("--symbolic=off", "-q")
        self.assertEqual(self.warnings, [])
        self.assertEqual(self.found("--symbolic=off"), STAGES)
        self.assertEqual(self.warnings, reported, "those of a quiet compile, too")

    def test_an_error_is_told_once_and_not_kept(self):
        for _ in range(2):
            done = self.run_compile(self.model, self.path("x.om"), self.profile, "--store",
                                    self.store, "--skip=partition:place-engines", "-q")
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stderr.count("error SL"), 1, done.stderr)
            self.assertFalse(os.path.exists(self.path("x.om")))


class ModelCacheTest(StoreCase):
    """Scenarios 70 to 72 of model caches: a folder and a name. Here the key of what is found holds
    the graph, so that a name that is used again finds no other graph's model."""

    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")
        os.mkdir(self.cache)

    def cached(self, *options, key="net", folder=None, model=None, code=0):
        """The stages that were found, and what was reported."""
        options = ["--graph-key=" + key] * bool(key) + list(options)
        if folder != "":
            options.append("--graph-compiler-cache-dir=" + (folder or self.cache))
        out = self.path("cached.om")
        if os.path.exists(out):
            os.unlink(out)
        done = self.run_compile(model or self.model, out, self.profile, "--progress=json", *options)
        self.assertEqual(done.returncode, code, done.stderr)
        lines = done.stderr.splitlines()
        reported = [line for line in lines if not line.startswith("{")]
        if code:
            self.assertFalse(os.path.exists(out))
            return reported
        with open(out, "rb") as file:
            self.assertTrue(file.read() == self.compiled(
                *[option for option in options if "graph" not in option], model=model))
        return [json.loads(line)["stage"] for line in lines if '"found":true' in line], reported

    def index(self, key="net"):
        with open(os.path.join(self.cache, key + ".idx"), encoding="utf-8") as file:
            return json.load(file)

    def settings(self, **members):
        with open(os.path.join(self.cache, "cache.conf"), "w", encoding="utf-8") as file:
            json.dump(members, file)

    def test_scenario_70_only_a_folder_or_only_a_key(self):
        self.assertEqual(self.cached(key=""), ([], []))
        self.assertEqual(self.cached(folder=""), ([], []))
        self.assertEqual(os.listdir(self.cache), [], "no file is written")

    def test_scenario_70_keys_that_are_no_names(self):
        for key in ["can/not/be/file/name", "a" * 129, "a b", "ä"]:
            with self.subTest(key):
                reported = self.cached(key=key, code=3)
                self.assertIn("error SL1006: --graph-key is", reported[0])
        self.assertEqual(os.listdir(self.cache), [])
        self.assertEqual(self.cached(key="aZ0_-" + "b" * 123), ([], []))

    def test_scenario_70_a_folder_that_is_missing(self):
        reported = self.cached(folder=self.path("missing"), code=3)
        self.assertIn("is no folder", reported[0])

    def test_scenario_70_a_lock_that_cannot_be_had(self):
        os.mkdir(os.path.join(self.cache, "net.lock"))
        self.assertIn("cannot open", self.cached(code=5)[0])

    def test_scenario_71_the_second_build_is_loaded(self):
        self.assertEqual(self.cached(), ([], []))
        self.assertEqual(self.cached(), (STAGES, []))
        entry, = self.index()
        self.assertEqual(entry["graph_key"], "net")
        with open(os.path.join(self.cache, entry["cache_file_name"]), "rb") as file:
            self.assertTrue(file.read() == self.compiled())

    def test_scenario_71_a_lost_model_is_compiled_again(self):
        self.cached()
        os.unlink(os.path.join(self.cache, self.index()[0]["cache_file_name"]))
        self.assertEqual(self.cached(), (STAGES[:3], []))

    def test_scenario_71_a_manual_check(self):
        self.cached()
        first = self.index()
        self.settings(cache_manual_check=True)
        other = make_model(self.path("other.onnx"), axis=0)
        _, reported = self.cached(model=other)
        self.assertIn("cache_manual_check", reported[0])
        self.assertEqual(self.index(), first)
        os.unlink(os.path.join(self.cache, "net.idx"))
        self.assertEqual(self.cached(model=other), (STAGES, []))
        self.assertNotEqual(self.index(), first)

    def test_scenario_71_debug_mode_and_wrong_settings(self):
        self.cached()
        self.settings(cache_debug_mode=True)
        self.assertIn("stood for this model", self.cached()[1][0])
        self.settings(cache_debug_mode="yes")
        self.assertIn("'cache_debug_mode' is not true or false", self.cached(code=3)[0])
        with open(os.path.join(self.cache, "cache.conf"), "w", encoding="utf-8") as file:
            file.write("{")
        self.assertIn("cache.conf", self.cached(code=3)[0])

    def test_scenario_72_the_same_key_for_another_graph(self):
        """The original loads the old graph's model, which users had to know. Here it cannot
        happen: the name only points at what was compiled last."""
        self.cached()
        first = self.index()
        found, reported = self.cached(model=make_model(self.path("other.onnx"), axis=0))
        self.assertEqual(found, [])
        self.assertIn("note the graph key 'net' stood for another model", reported[0])
        self.assertNotEqual(self.index(), first)
        self.assertEqual(self.cached()[0], STAGES, "what the key stood for is still in the store")

    def test_graphs_of_a_farm_need_a_store(self):
        for option in ("--dump-dir=" + self.path("d"), "--stop-after=optimize"):
            done = self.run_compile(self.model, self.path("m.om"), self.profile, option,
                                    "--farm=ipc:///tmp/none")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("needs a store", done.stderr)
            self.assertIn("--store DIR", done.stderr)

    def test_a_model_is_not_overwritten(self):
        before = bytes_of(self.model)
        done = self.run_compile(self.model, self.model, self.profile, "--model", self.model)
        self.assertEqual(done.returncode, 3, done.stderr)
        other = self.path("other.onnx")
        shutil.copy(self.model, other)
        done = self.run_compile(self.model, other, self.profile, "--model", other)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(bytes_of(other), before)

    def test_a_second_store(self):
        self.assertIn("two stores", self.cached("--store=" + self.store, code=2)[0])

    def test_those_who_share_a_key_wait(self):
        processes = [subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile"), self.model, "-o",
             self.path("%d.om" % i), self.profile, "-q", "--graph-key=net",
             "--graph-compiler-cache-dir=" + self.cache]) for i in range(4)]
        self.assertEqual([process.wait(300) for process in processes], [0] * 4)
        self.assertEqual(self.cached(), (STAGES, []))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", *("subgraph-optimize", "build")])
    unittest.main()
