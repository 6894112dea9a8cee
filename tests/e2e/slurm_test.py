#!/usr/bin/python3
"""sluice compile-all --provider slurm on a Slurm of this machine: tasks are cancelled and requeued,
the node is restarted, the run is stopped and started again; nothing is lost, nothing is compiled
twice without need, and the bytes are those of sluice compile.

usage: slurm_test.py FOLDER_OF_PROGRAMS [unittest arguments]

Ends as skipped, and says why, where Slurm cannot start.
"""
import collections
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import ProgramCase, bytes_of, need
from slurm_cluster import SCRIPT, SlurmCluster, tool
from store_test import make_model

MODELS, BATCH = 50, 8
# Options of compiles that are drawn, each with the value that it has then.
DRAWN = {"denormals": "ieee", "math": "high_precision", "stable-order": "on", "symbolic": "off",
         "opt-level": "O0", "skip": ["optimize:fuse-elementwise"], "dim": ["N=2"],
         "enable-single-stream": True, "sync": "notify"}
OPTIONS = [{}, {"denormals": "ieee"}, {"dim": ["N=2"]}, {"math": "high_precision"}]


class SlurmTest(SlurmCluster, ProgramCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.store = self.path("store")
        for i in range(MODELS):
            make_model(self.path("%d.onnx" % i), axis=i % 2, width=8 + i // 2)

    def start(self, out, *options):
        content = {"options": {"profile": "cpu-generic"},
                   "matrix": {"models": ["%d.onnx" % i for i in range(MODELS)], "options": OPTIONS,
                              "output": "{model}-{options}.om"}}
        with open(self.path("manifest.json"), "w", encoding="utf-8") as file:
            json.dump(content, file)
        return subprocess.Popen(
            [os.path.join(self.programs, "sluice-compile-all"), "-o", self.path(out), "--result",
             self.path(out + ".json"), *options, self.path("manifest.json")],
            stderr=subprocess.PIPE, text=True)

    def finish(self, process, out):
        errors = process.communicate(timeout=500)[1]
        self.assertEqual(process.returncode, 0, errors)
        with open(self.path(out + ".json"), encoding="utf-8") as file:
            return collections.Counter(row["status"] for row in json.load(file)["compiles"])

    def slurm(self):
        return self.start("slurm", "--store", self.store, "--provider=slurm", "--batch=%d" % BATCH)

    def running(self):
        return tool("squeue", "--noheader", "--states=RUNNING", "--format=%i").stdout.split()

    def wait_for(self, process, found):
        end = time.time() + 300  # a busy machine is slow, a run that hangs is slower
        while time.time() < end and process.poll() is None and not found():
            time.sleep(0.05)
        return found()

    def made(self):
        """How often each job was made, of all tasks."""
        counts = collections.Counter()
        for path in glob.glob(os.path.join(self.store, "batches", "*", "*.log")):
            with open(path, encoding="utf-8", errors="replace") as file:
                counts.update(line.split()[1] for line in file if " made " in line)
        return counts

    def test_trouble_of_every_kind(self):
        random.seed(6)
        process = self.slurm()
        for trouble in [("scancel",), ("scontrol", "requeue"), ("scancel", "--signal=KILL")]:
            tasks = self.wait_for(process, self.running)
            self.assertTrue(tasks, "the run was over before its trouble")
            tool(*trouble, random.choice(tasks))
        tool(SCRIPT, "restart-node", self.cluster)
        self.wait_for(process, self.made)
        self.wait_for(process, self.running)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, -signal.SIGINT, errors)
        self.assertNotIn("has not cancelled", errors)
        self.assertEqual(self.running(), [], "a stopped run takes its tasks with it")
        statuses = self.finish(self.slurm(), "slurm")
        self.assertEqual(statuses["found"] + statuses["made"], MODELS * len(OPTIONS))
        self.assertGreater(statuses["found"], 0)
        twice = [key for key, count in self.made().items() if count > 1]
        self.assertEqual(twice, [], "made again although the store had it")
        self.finish(self.start("local", "--store", self.path("other")), "local")
        for i in range(MODELS):
            for k in range(len(OPTIONS)):
                name = "%d-%d.om" % (i, k)
                with open(self.path("slurm/" + name), "rb") as ours, open(
                        self.path("local/" + name), "rb") as local:
                    self.assertTrue(ours.read() == local.read(), name)

    def drawn(self, random_):
        """A manifest, and options of the command line."""
        compiles = []
        for i in range(6):
            options = {name: value for name, value in DRAWN.items() if random_.random() < 0.25}
            compiles.append({"model": "%d.onnx" % random_.randrange(MODELS),
                             "output": "%d.om" % i, "options": options})
        content = {"options": {"profile": "cpu-generic"}, "compiles": compiles}
        if random_.random() < 0.4:
            content["matrix"] = {
                "models": ["1.onnx", "2.onnx"], "dims": [["N=1"], ["N=3"]],
                "profiles": ["cpu-generic", "cpu-avx2"], "output": "{model}-{dims}-{profile}.om"}
        if random_.random() < 0.3:  # one fails, which --keep-going alone lets the others survive
            compiles.append({"model": "1.onnx", "output": "bad.om",
                             "options": {"dim": ["none=1"]}})
        options = [option for option in ("--jobs=1", "--threads=2", "--keep-going", "-q",
                                         "--error-format=json",
                                         "--sbatch=--comment=drawn") if random_.random() < 0.4]
        options.append("--batch=%d" % random_.randint(1, 3))
        if "bad.om" in str(compiles) and "--keep-going" not in options:
            options.append("--keep-going")
        return content, options

    def made_by(self, provider, content, options):
        """The exit code, what became of each compile, and the bytes of all outputs."""
        out, manifest = self.path(provider), self.path("drawn.json")
        if os.path.exists(out + ".json"):
            os.unlink(out + ".json")
        with open(manifest, "w", encoding="utf-8") as file:
            json.dump(content, file)
        done = subprocess.run(
            [os.path.join(self.programs, "sluice-compile-all"), "-o", out, "--provider", provider,
             "--store", self.path("store-" + provider), "--result", out + ".json", *options,
             manifest], capture_output=True, text=True, timeout=300)
        self.assertTrue(os.path.exists(out + ".json"), done.stderr)
        with open(out + ".json", encoding="utf-8") as file:
            statuses = [(os.path.basename(row["output"]), row["status"])
                        for row in json.load(file)["compiles"]]
        files = {os.path.relpath(path, out): bytes_of(path)
                 for path in glob.glob(out + "/**/*.om", recursive=True)}
        shutil.rmtree(out, ignore_errors=True)
        return done.returncode, statuses, files

    def test_options_in_drawn_combinations(self):
        random_, drawn = random.Random(7), 0
        for _ in range(2):
            content, options = self.drawn(random_)
            local = self.made_by("local", content, [option for option in options
                                                    if "batch" not in option])
            slurm = self.made_by("slurm", content, options)
            for wanted, found in zip(local, slurm):
                self.assertTrue(wanted == found, (content, options, local[:2], slurm[:2]))
            drawn += len(slurm[2])
        self.assertGreater(drawn, 12)

    def test_the_queue_refuses(self):
        process = self.start("slurm", "--store", self.store, "--provider=slurm",
                             "--sbatch=--partition=none")
        errors = process.communicate(timeout=100)[1]
        self.assertEqual(process.returncode, 5, errors)
        self.assertIn("sbatch ended with exit code 1", errors)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile-all", "job"])
    unittest.main()
