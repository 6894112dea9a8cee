#!/usr/bin/python3
"""sluice-subgraph-optimize --kernels and sluice job: kernels of a model are listed, generated in
any number of processes, and found by the compile, whose bytes are those of a plain one.

usage: kernel_jobs_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import ProgramCase, need

MAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/models/make")
KEY = re.compile(r"\b[0-9a-f]{64}\b")
PROFILE = "--profile=cpu-generic"


class KernelCase(ProgramCase):
    def setUp(self):
        super().setUp()
        self.store = self.path("store")

    def partitioned(self, model, *options):
        """Makes q.sg and its subgraphs in split/, whose names are returned."""
        subprocess.run([MAKE, *model.split(), *options, "-o", self.folder], check=True,
                       stdout=subprocess.DEVNULL)
        self.model = next(self.path(name) for name in os.listdir(self.folder)
                          if name.endswith(".onnx"))
        self.graph = self.path("q.sg")
        stages = [os.path.join(self.programs, "sluice-" + name)
                  for name in ("preprocess", "optimize", "partition")]
        subprocess.run(f"{stages[0]} {self.model} | {stages[1]} {PROFILE} | {stages[2]} -o "
                       f"{self.graph}", shell=True, check=True)
        self.program(0, "sluice-partition", "--split", self.path("split"), self.graph)
        return [self.path(f"split/{name}") for name in sorted(os.listdir(self.path("split")))
                if name != "root.sg"]

    def write_list(self, lines, name="kernels.list"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        return self.path(name)

    def kernels(self, lines, *options, code=0, store=None):
        """The lines that --kernels writes for these lines."""
        out = self.path("out.list")
        done = self.done(code, "sluice-subgraph-optimize", "--kernels=" + self.write_list(lines),
                         "--store", store or self.store, "-o", out, *options)
        self.assertEqual(os.path.exists(out), code == 0)
        self.errors = done.stderr
        if code != 0:
            return None
        with open(out, encoding="utf-8") as file:
            text = file.read()
        os.unlink(out)
        return text.splitlines()

    def keys(self, lines):
        return KEY.findall("\n".join(lines))

    def records(self, folder, kind=None):
        """The keys of a folder of the store: `records` or `jobs`."""
        keys = []
        for parent, _, names in os.walk(os.path.join(self.store, folder)):
            for name in names:
                with open(os.path.join(parent, name), encoding="utf-8") as file:
                    if kind in (None, file.read().splitlines()[1]):
                        keys.append(name)
        return sorted(keys)

    def assert_all_found(self, store=None):
        """The whole graph finds all its kernels, and the compile has the bytes of a plain one."""
        stats = self.path("stats.json")
        self.program(0, "sluice-subgraph-optimize", "--store", store or self.store, "--stats",
                     stats, self.graph, "-o", self.path("lowered.sg"))
        with open(stats, encoding="utf-8") as file:
            work = [row["work"] for row in json.load(file)["passes"]]
        self.assertEqual(sum(row.get("kernels_generated", 0) for row in work), 0)
        found = sum(row.get("kernels_found", 0) for row in work)
        self.program(0, "sluice-build", "--store", store or self.store, self.path("lowered.sg"),
                     "-o", self.path("found.om"))
        self.program(0, "sluice-compile", self.model, PROFILE, "-q", "-o", self.path("plain.om"))
        with open(self.path("found.om"), "rb") as one, open(self.path("plain.om"), "rb") as other:
            self.assertTrue(one.read() == other.read())
        return found


class ListTest(KernelCase):
    def test_a_list_is_cut_and_given_back(self):
        for model in ["tiny-conv", "tiny-mlp"]:
            with self.subTest(model=model):
                shutil.rmtree(self.folder)
                os.mkdir(self.folder)
                missing = self.kernels(self.partitioned(model))
                keys = self.keys(missing)
                self.assertGreaterEqual(len(keys), 1)
                self.assertEqual(self.records("records"), [], "listing generates nothing")
                self.assertEqual(self.records("jobs"), sorted(keys))
                self.assertEqual(self.kernels(missing), [])
                self.assertIn(f"0 found, {len(keys)} generated, 0 listed", self.errors)
                self.assertEqual(self.records("records", "kernel"), sorted(keys))
                self.assertEqual(self.assert_all_found(), len(keys))

    def test_whole_graph_and_subgraphs_want_the_same(self):
        files = self.partitioned("tiny-conv", "--dynamic")
        self.assertEqual(sorted(self.keys(self.kernels(files))),
                         sorted(self.keys(self.kernels([self.graph]))))

    def test_halves_in_two_stores_are_merged(self):
        missing = self.kernels(self.partitioned("large", "--nodes", "2000"))
        keys = self.keys(missing)
        self.assertEqual(len(set(keys)), len(keys), "a key is listed once")
        self.assertGreater(len(keys), 50)
        stores = [self.path("one"), self.path("two")]
        halves = [self.write_list(missing[i::2], f"half{i}") for i in range(2)]
        running = [subprocess.Popen([os.path.join(self.programs, "sluice-subgraph-optimize"), "-q",
                                     "--kernels=" + half, "--store", store, "--threads=1"])
                   for half, store in zip(halves, stores)]
        self.assertEqual([process.wait(300) for process in running], [0, 0])
        self.assertGreater(len(self.kernels(files_of(missing), store=stores[0])), 0)
        os.mkdir(self.path("merged"))
        for store in stores:
            subprocess.run(["cp", "-rn", store + "/.", self.path("merged")], check=False)
        self.assertEqual(self.assert_all_found(self.path("merged")), len(keys))

    def test_lines_of_any_form(self):
        files = self.partitioned("tiny-conv")
        missing = self.kernels(files)
        key = self.keys(missing)[0]
        file = missing[0].rsplit(" ", 1)[1]
        blank = self.path("a path, of 2 blanks.sg")
        shutil.copy(file, blank)
        # The same key twice, at two files, beside a line that lists.
        left = self.kernels([f"{key} {key} {file}", f"{key} {blank}", blank])
        self.assertIn("1 generated", self.errors)
        self.assertNotIn(key, self.keys(left))
        self.assertEqual(self.records("records"), [key])
        for line in left:
            self.assertTrue(line.endswith(" " + blank))
        self.assertEqual(self.kernels([]), [])
        done = self.done(0, "sluice-subgraph-optimize", "--kernels=-", "--store", self.store,
                         input=file + "\n")
        self.assertEqual(KEY.findall(done.stdout), self.keys(left))

    def test_a_pipe_ends_with_the_first_failure(self):
        files = self.partitioned("tiny-conv")
        program = os.path.join(self.programs, "sluice-subgraph-optimize") + " --store " + self.store
        one, none = self.write_list(files), self.write_list([self.path("none.sg")], "none.list")
        for first, code in [(one, 0), (none, 3)]:
            done = self.run_program("/bin/sh", "-c",
                                    f"{program} -q --kernels={first} | "
                                    f"{program} --kernels=- -o /dev/null")
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("error"), 1, done.stderr)
        self.assertGreater(len(self.records("records")), 0)

    def test_options_of_the_stage_give_other_kernels(self):
        files = self.partitioned("tiny-mlp")
        plain = self.keys(self.kernels(files))
        exact = self.keys(self.kernels(files, "--math=high_precision"))
        self.assertNotEqual(plain, exact)


def files_of(lines):
    return [line.rsplit(" ", 1)[1] for line in lines]


class ErrorsTest(KernelCase):
    def test_errors(self):
        files = self.partitioned("tiny-conv")
        none = "0" * 64
        broken = self.path("broken.sg")
        with open(files[0], "rb") as file, open(broken, "wb") as copy:
            copy.write(file.read()[:-100])
        cases = [([f"{none} {files[0]}"], 3, f"wants no kernel {none}"),
                 ([files[0], ""], 3, "kernels.list:2: there is no graph file"),
                 ([none], 3, "kernels.list:1: there is no graph file"),
                 ([self.path("none.sg")], 3, "none.sg"), ([broken], 3, "broken.sg"),
                 ([self.model], 3, os.path.basename(self.model))]
        for lines, code, part in cases:
            with self.subTest(lines=lines):
                self.kernels(lines, code=code)
                self.assertIn(part, self.errors)
                self.assertEqual(self.records("records"), [])

    def test_graph_of_another_level(self):
        files = self.partitioned("tiny-conv")
        self.program(0, "sluice-subgraph-optimize", files[0], "-o", self.path("lowered.sg"))
        self.kernels([self.path("lowered.sg")], code=3)
        self.assertIn("needs level 'partitioned', got 'lowered'", self.errors)

    def test_store_that_cannot_be_written(self):
        files = self.partitioned("tiny-conv")
        missing = self.kernels(files)
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        for lines in (files, missing):
            self.kernels(lines, code=5, store=self.path("file"))
            self.assertIn("cannot be written", self.errors)

    def test_command_lines(self):
        files = self.partitioned("tiny-conv")
        lines = self.write_list(files)
        for options in [[], ["--store", self.store, files[0]],
                        ["--store", self.store, "--kernel", "k.txt"],
                        ["--store", self.store, "--kernels-from", "m.om"]]:
            self.program(2, "sluice-subgraph-optimize", "--kernels=" + lines, "-o",
                         self.path("out.list"), *options)


class JobTest(KernelCase):
    def job(self, *keys, code=0):
        done = self.done(code, "sluice-job", "--store", self.store, *keys)
        return done.stderr

    def test_jobs(self):
        keys = self.keys(self.kernels(self.partitioned("tiny-conv")))
        shutil.rmtree(self.path("split"))  # the store has all that jobs need
        text = self.job(keys[0], keys[0])
        self.assertEqual(text.count(f"{keys[0][:16]} made"), 2)
        self.assertIn("found", self.job(keys[0]))
        self.assertEqual(self.job(*keys).count(" made "), len(keys) - 1)
        self.assertEqual(self.assert_all_found(), len(keys))

    def test_two_at_once(self):
        keys = self.keys(self.kernels(self.partitioned("tiny-conv")))
        running = [subprocess.Popen([os.path.join(self.programs, "sluice-job"), "-q", "--store",
                                     self.store, *order]) for order in (keys, keys[::-1])]
        self.assertEqual([process.wait(300) for process in running], [0, 0])
        self.assertEqual(self.assert_all_found(), len(keys))

    def test_unknown_key(self):
        self.assertIn("has no job", self.job("0" * 64, code=3))

    def test_a_bad_kernel_fails_alone(self):
        """A job whose graph wants another kernel, and one whose graph is lost."""
        keys = self.keys(self.kernels(self.partitioned("large", "--nodes", "300")))
        self.assertGreaterEqual(len(keys), 3)
        graphs = [self.rewrite_job(key) for key in keys]
        other = next(graph for graph in graphs if graph != graphs[0])
        self.rewrite_job(keys[0], other)
        lost = 1
        self.rewrite_job(keys[lost], "0" * 64)
        text = self.job(*keys, code=3)
        self.assertIn("wants no kernel " + keys[0], text)
        self.assertIn("has lost the graph", text)
        self.assertEqual((text.count(" failed "), text.count(" made ")), (2, len(keys) - 2))
        self.assertEqual(self.records("failures"), sorted([keys[0], keys[lost]]))
        self.rewrite_job(keys[0], graphs[0])
        self.rewrite_job(keys[lost], graphs[lost])
        self.job(*keys)
        self.assertEqual(self.records("failures"), [])
        self.assertEqual(self.assert_all_found(), len(keys))

    def rewrite_job(self, key, graph=None):
        """Gives a job another graph; returns the one that it had."""
        path = os.path.join(self.store, "jobs", key[:2], key)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        old = re.search(r"^graph (\w+)$", text, re.M).group(1)
        if graph is not None:
            text = text.replace("graph " + old, "graph " + graph)
            text = text[:text.rindex("sum ")]
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{text}sum {hashlib.sha256(text.encode()).hexdigest()}\n")
        return old

    def test_killed_and_again(self):
        keys = self.keys(self.kernels(self.partitioned("large", "--nodes", "2000")))
        process = subprocess.Popen([os.path.join(self.programs, "sluice-job"), "-q", "--store",
                                    self.store, "--threads=1", *keys])
        end = time.monotonic() + 60
        while not self.records("records") and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertLess(len(self.records("records")), len(keys), "it was killed in time")
        self.job(*keys)
        self.assertEqual(self.records("records"), sorted(keys))
        self.assertEqual(self.assert_all_found(), len(keys))
        self.program(0, "sluice-cache", "verify", self.store)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv[1], ["preprocess", "optimize", "partition", "build",
                                              "subgraph-optimize", "compile", "job", "cache"])
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:])
