#!/usr/bin/python3
"""sluice cache: what is kept, deleted and explained of a store that sluice compile filled.

usage: cache_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import unittest

import numpy as np
from onnx import helper

import models
from models import floats
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "--profile=cpu-generic"
KINDS = {"build", "kernel", "optimize", "partition", "subgraph-optimize"}
NOBODY = 65534


def save(path, name="conv", seed=1, channels=4):
    random = np.random.default_rng(seed)
    weights = {"w": random.standard_normal((channels, 3, 3, 3), np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name, pads=[1, 1, 1, 1]),
             helper.make_node("Tanh", ["c"], ["t"], "tanh"),
             helper.make_node("Softmax", ["t"], ["y"], "soft")]
    models.save(path, nodes, [floats("x", [1, 3, 8, 8])], [floats("y", [1, channels, 8, 8])],
                weights)


def set_age(path, days):
    at = time.time() - days * 86400
    os.utime(path, (at, at))


class Cache(ProgramCase):
    def setUp(self):
        super().setUp()
        self.store = self.path("store")
        self.model = self.path("model.onnx")
        save(self.model)

    def compile(self, name, *options, model=None, code=0):
        """The bytes of the compiled model, which is the file `name`; what was printed is in
        `said`."""
        out = self.path(name)
        self.said = self.program(code, "sluice-compile", model or self.model, "-o", out,
                                 "--store", self.store, PROFILE, *options)
        return bytes_of(out)

    def cache(self, *arguments, code=0):
        return self.program(code, "sluice-cache", *arguments)

    def stats(self):
        return json.loads(self.cache("stats", "--json", self.store))

    def keys(self):
        """{stage: the first digits of its key} of the last compile."""
        return dict(re.findall(r"sluice-compile: (\S+) .* ([0-9a-f]{16})\n", self.said))

    def artifacts(self):
        return sorted(glob.glob(self.store + "/??/*"))

    def records(self):
        return sorted(glob.glob(self.store + "/records/??/*"))

    def test_stats_counts_what_a_compile_kept(self):
        self.compile("a.om")
        found = self.stats()
        self.assertEqual(set(found["kinds"]) - {"no record"}, KINDS)
        self.assertEqual(found["records"], len(self.records()))
        self.assertEqual(found["artifacts"], len(self.artifacts()))
        sizes = sum(os.path.getsize(path) for path in self.artifacts() + self.records())
        self.assertEqual(found["bytes"] + found["linked_bytes"], sizes)
        self.assertGreaterEqual(found["linked_bytes"], os.path.getsize(self.path("a.om")))
        self.assertIsNone(found["limit"])
        self.assertLess(found["oldest_use_seconds"], 120)
        table = self.cache("stats", self.store)
        for kind in KINDS:
            self.assertRegex(table, rf"(?m)^{kind} +\d")
        self.assertEqual(self.program(0, "sluice", "cache", "stats", self.store).split("\n")[0],
                         table.split("\n")[0])

    def test_explain_names_the_option(self):
        self.compile("a.om")
        first = self.keys()
        self.compile("b.om", "--math=high_precision")
        second = self.keys()
        text = self.cache("explain", self.store, self.path("a.om"), self.path("b.om"))
        self.assertEqual(text, self.cache("explain", self.store, first["build"], second["build"]))
        self.assertIn("build %s, %s\n" % (first["build"], second["build"]), text)
        self.assertIn("subgraph-optimize %s, %s\n  option --math: default, high_precision\n"
                      "subgraph-optimize is the first that differs by itself\n" %
                      (first["subgraph-optimize"], second["subgraph-optimize"]), text)
        found = json.loads(self.cache("explain", "--json", self.store, self.path("a.om"),
                                      second["build"][:8]))
        self.assertEqual([stage["kind"] for stage in found["stages"]],
                         ["build", "subgraph-optimize"])
        self.assertEqual(found["end"], "itself")
        self.assertEqual([(each["field"], each["values"])
                          for each in found["stages"][1]["differences"]],
                         [("option.math", [None, "high_precision"])])

    def test_explain_follows_graphs_of_stages(self):
        self.compile("a.om")
        graphs = {digest: path for path in self.artifacts()
                  for digest in [os.path.basename(path)] if bytes_of(path)[:8] == b"SLUICEG1"}
        self.assertEqual(len(graphs), 3)
        self.compile("b.om", "--skip=optimize:fold-constants")
        others = [path for path in self.artifacts()
                  if bytes_of(path)[:8] == b"SLUICEG1" and os.path.basename(path) not in graphs]
        text = self.cache("explain", self.store, self.path("a.om"), self.path("b.om"))
        self.assertIn("  option --skip: not given, fold-constants\n", text)
        self.assertIn("optimize is the first that differs by itself", text)
        self.assertEqual(len(others), 0 if bytes_of(self.path("a.om")) ==
                         bytes_of(self.path("b.om")) else 3)

    def test_explain_ends_at_the_imported_model(self):
        renamed, other = self.path("renamed.onnx"), self.path("other.onnx")
        save(renamed, name="called otherwise")
        save(other, seed=2)
        self.compile("a.om")
        self.compile("renamed.om", model=renamed)
        self.compile("other.om", model=other)
        for name, last in (("renamed.om", "structure is equal: only names differ"),
                           ("other.om", "structure differs, too")):
            text = self.cache("explain", self.store, self.path("a.om"), self.path(name))
            self.assertIn("the imported graphs differ: structure or names or constants", text)
            self.assertIn("after optimize their " + last, text)
            self.assertNotIn("option --", text.split("they depend on")[0])

    def test_explain_refuses_what_names_no_record(self):
        self.compile("a.om")
        with open(self.path("c.om"), "wb") as file:
            file.write(b"another")
        for name in (self.path("c.om"), self.path("none.om"), "0123456", "0" * 64):
            self.assertIn("error SL1004",
                          self.cache("explain", self.store, self.path("a.om"), name, code=3))
        self.assertEqual(self.cache("explain", self.store, self.path("a.om"), self.path("a.om")),
                         "both are one key\n")

    def test_what_was_deleted_is_made_again(self):
        expected = self.compile("a.om")
        os.remove(self.path("a.om"))
        kept = len(self.artifacts())
        done = self.cache("gc", "--max-bytes=0", self.store)
        self.assertRegex(done, rf"^deleted \d+ records and {kept} artifacts, ")
        self.assertEqual(self.artifacts() + self.records(), [])
        self.assertEqual(self.compile("a.om"), expected)
        self.assertNotIn("found", self.said)
        self.assertEqual(self.compile("b.om"), expected)
        self.assertEqual(self.said.count("found"), 4)

    def test_what_was_used_last_stays(self):
        self.compile("a.om")
        old = self.records() + self.artifacts()
        self.compile("b.om", "--math=high_precision")
        for path in self.records() + self.artifacts():
            set_age(path, 5 if path in old else 3)
        first = self.compile("a.om")  # uses all that is old
        self.assertEqual(self.said.count("found"), 4)
        self.assertRegex(self.cache("gc", "--older-than=4", "--dry-run", self.store),
                         r"^would delete \d+ records and ")
        self.cache("gc", "--older-than=2.5", self.store)
        self.assertEqual(self.compile("a.om"), first)
        self.assertEqual(self.said.count("found"), 4)
        self.compile("b.om", "--math=high_precision")
        self.assertEqual(self.said.count("found"), 2, self.said)

    def test_a_file_of_the_user_stays(self):
        expected = self.compile("a.om")
        self.cache("gc", "--max-bytes=0", self.store)
        self.assertEqual(len(self.artifacts()), 1)
        self.assertEqual(bytes_of(self.path("a.om")), expected)
        for path in self.artifacts() + self.records():
            set_age(path, 3)
        self.cache("gc", "--older-than=2", self.store)
        self.assertEqual(self.artifacts() + self.records(), [])
        self.assertEqual(bytes_of(self.path("a.om")), expected)

    def test_verify_finds_a_flipped_bit(self):
        expected = self.compile("a.om")
        self.assertRegex(self.cache("verify", self.store),
                         r"^checked \d+ records and \d+ artifacts\n$")
        for path in (self.artifacts()[0], self.records()[0]):
            content = bytearray(bytes_of(path))
            content[len(content) // 2] ^= 1
            os.remove(path)  # it may be a link to a.om
            with open(path, "wb") as file:
                file.write(content)
        text = self.cache("verify", self.store, code=7)
        self.assertIn("error SL1014", text)
        self.assertIn(self.artifacts()[0], text)
        self.assertIn(self.records()[0], text)
        self.assertIn("deleted", self.cache("verify", "--delete", self.store, code=7))
        self.cache("verify", self.store)
        self.assertEqual(self.compile("b.om"), expected)

    def test_a_limit_is_kept(self):
        self.assertEqual(self.cache("limit", self.store, "10G"), "limit 10.0 GB\n")
        self.compile("a.om")
        found = self.stats()
        size = found["bytes"]
        self.assertEqual(int(bytes_of(self.store + "/size")), size + found["linked_bytes"])
        self.cache("limit", self.store, str(size * 3 // 2))
        for seed in range(2, 6):
            save(self.model, seed=seed, channels=4 + seed)
            expected = self.compile(f"b{seed}.om")
            self.assertLessEqual(self.stats()["bytes"], size * 3 // 2)
            self.assertEqual(self.compile(f"c{seed}.om"), expected)
            self.assertEqual(self.said.count("found"), 4, "what was used last is there")
        self.assertGreater(self.stats()["bytes"], 0)
        self.cache("limit", self.store, "none")
        self.assertIsNone(self.stats()["limit"])
        self.compile("a.om", "--math=high_precision")
        self.assertGreater(self.stats()["bytes"], size)

    def test_without_arguments_gc_keeps_the_limit(self):
        self.compile("a.om")
        self.assertRegex(self.cache("gc", self.store), "^deleted 0 records and 0 artifacts, 0 B\n")
        self.cache("limit", self.store, "20k")
        self.cache("gc", self.store)
        self.assertLessEqual(self.stats()["bytes"], 20000)

    def test_two_at_once_beside_compiles(self):
        files = [(self.path(f"{seed}.onnx"), self.path(f"{seed}.om")) for seed in range(3)]
        for seed, (model, _) in enumerate(files):
            save(model, seed=seed, channels=4 + seed)
        expected = [self.compile(os.path.basename(out), model=model) for model, out in files]
        program = lambda name, *arguments: subprocess.Popen(
            [os.path.join(self.programs, name), *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        for turn in range(4):
            compiles = [program("sluice-compile", model, "-o", out, "--store", self.store, PROFILE,
                                f"--math={'default' if turn % 2 else 'high_precision'}")
                        for model, out in files]
            collections, ran = [], 0
            while any(process.poll() is None for process in compiles):
                collections += [program("sluice-cache", "gc", "--max-bytes=0", self.store)
                                for _ in range(2)]
                for process in collections[-2:]:
                    process.wait()
            for process in compiles + collections:
                said, _ = process.communicate()
                self.assertEqual(process.returncode, 0, said)
                self.assertNotIn("warning", said)
                ran += said.startswith("deleted")
            self.assertGreater(ran, 0)
            if turn % 2:
                self.assertEqual([bytes_of(out) for _, out in files], expected)
        self.cache("verify", self.store)
        self.assertEqual(os.listdir(self.store + "/pins"), [])

    def test_what_a_killed_compile_left_goes(self):
        self.compile("a.om")
        name = os.path.basename(self.artifacts()[0])
        left = [f"{self.store}/{name[:2]}/{name}.tmp7", f"{self.store}/pins/host-7-0",
                f"{self.store}/locks/{name}"]
        for path in left:
            with open(path, "wb"):
                pass
            set_age(path, 2)
        self.assertIn("1 unfinished file", self.cache("gc", self.store))
        self.assertEqual([path for path in left if os.path.exists(path)], [])

    def test_a_folder_with_other_things_is_left_alone(self):
        for arguments in (["stats"], ["gc", "--max-bytes=0"], ["verify", "--delete"]):
            before = sorted(os.listdir(self.folder))
            self.assertIn("error SL1003", self.cache(*arguments, self.folder, code=3))
            self.assertIn("error SL1004", self.cache(*arguments, self.path("none"), code=3))
            self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertIn("error SL1003", self.cache("limit", self.folder, "1G", code=3))
        self.compile("a.om")
        foreign = [self.store + "/README", self.artifacts()[0] + ".txt"]
        for path in foreign:
            with open(path, "wb") as file:
                file.write(b"mine")
        self.cache("gc", "--older-than=0", self.store)
        self.assertEqual([bytes_of(path) for path in foreign], [b"mine"] * 2)

    def test_wrong_arguments(self):
        self.compile("a.om")
        for code, *arguments in ((2, "gc"), (2, "sweep", self.store), (2, "limit", self.store),
                                 (3, "gc", "--max-bytes=many", self.store),
                                 (3, "gc", "--older-than=x", self.store),
                                 (3, "gc", "--max-bytes=", self.store),
                                 (3, "limit", self.store, "x")):
            self.cache(*arguments, code=code)
        done = self.cache("stats", "--error-format=json", self.path("none"), code=3)
        self.assertEqual(json.loads(done)["code"], "SL1004")

    @unittest.skipUnless(os.getuid() == 0, "only root can become somebody else")
    def test_a_store_that_cannot_be_written_can_be_read(self):
        self.compile("a.om")
        self.compile("b.om", "--math=high_precision")
        digest = hashlib.sha256(bytes_of(self.path("a.om"))).hexdigest()
        os.chmod(self.folder, 0o755)
        run = lambda *arguments: self.run_program("sluice-cache", *arguments, user=NOBODY,
                                                  group=NOBODY)
        try:
            started = run("--version")
        except PermissionError:
            self.skipTest("the programs are not for everybody")
        self.assertEqual(started.returncode, 0)
        refused = run("gc", "--max-bytes=0", self.store)
        self.assertEqual(refused.returncode, 5, refused.stderr)
        self.assertIn("error SL1007", refused.stderr)
        self.assertIn("cannot be written", refused.stderr)
        self.assertEqual(run("limit", self.store, "1G").returncode, 5)
        self.assertEqual(run("gc", "--max-bytes=0", "--dry-run", self.store).returncode, 0)
        self.assertEqual(run("verify", self.store).returncode, 0)
        stats = run("stats", "--json", self.store)
        self.assertEqual(json.loads(stats.stdout)["records"], len(self.records()))
        explained = run("explain", self.store, f"{self.store}/{digest[:2]}/{digest}",
                        self.path("b.om"))
        self.assertIn("option --math", explained.stdout)


if __name__ == "__main__":
    Cache.programs = need(sys.argv.pop(1), ["cache", "compile", *STAGES])
    unittest.main(verbosity=2)
