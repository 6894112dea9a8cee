#!/usr/bin/python3
"""Slurm runs the workers of a farm: none without work, up to the limit with it, and none again; a
cancelled task is replaced, a restarted node costs no job.

usage: slurm_workers_test.py FOLDER_OF_PROGRAMS [unittest arguments]

Ends as skipped, and says why, where Slurm cannot start.
"""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from farm import wait_until
import farm_test
from programs import need
from slurm_cluster import SCRIPT, SlurmCluster, tool

MAX = 3


def tasks(state):
    out = tool("squeue", "--noheader", "--array", "--states=" + state, "--format=%i %j").stdout
    return [line.split()[0] for line in out.splitlines() if " sluice-worker-" in line]


class SlurmWorkersTest(SlurmCluster, unittest.TestCase):
    cpus = 4

    def test_workers_come_and_go_with_the_work(self):
        case = farm_test.FarmTest()
        case.setUp()
        self.addCleanup(case.doCleanups)
        os.chmod(case.folder, 0o755)
        farm = case.farm(options=["--provider=slurm", "--min=0", f"--max={MAX}",
                                  "--worker=--slots=1", "--worker=--idle-exit=5",
                                  "--worker=--threads=1", "--sbatch=--cpus-per-task=1"])
        self.assertTrue(wait_until(farm.status))
        self.assertFalse(wait_until(lambda: tasks("PENDING,RUNNING"), seconds=4), "without work")
        options = [{"denormals": d, "math": m, "dim": [f"N={n}"]} for d in ("ieee", "flush")
                   for m in ("default", "high_precision") for n in range(1, 9)]
        process = case.start(farm, "out", options=options, words=["--keep-going"])
        self.assertTrue(wait_until(lambda: len(tasks("RUNNING")) == MAX), "not all workers came")
        # Their number is the limit; one that is cancelled is replaced.
        victim = tasks("RUNNING")[0]
        tool("scancel", victim)
        self.assertTrue(wait_until(lambda: victim not in tasks("RUNNING")))
        self.assertTrue(wait_until(lambda: len(tasks("RUNNING")) == MAX or
                                   process.poll() is not None))
        if process.poll() is None:
            tool("scancel", "--signal=KILL", *tasks("RUNNING")[:1])
            tool(SCRIPT, "restart-node", self.cluster)
        self.assertLessEqual(len(tasks("PENDING,RUNNING")), MAX)
        case.finish(process)
        self.assertEqual(len(os.listdir(case.path("out"))), 2 * len(options))
        self.assertTrue(wait_until(lambda: not tasks("PENDING,RUNNING"), seconds=60),
                        "without work none are left")
        local = subprocess.run(
            [os.path.join(case.programs, "sluice-compile-all"), case.path("out.manifest"), "-q",
             "--store", case.path("local-store"), "-o", case.path("local")], timeout=300)
        self.assertEqual(local.returncode, 0)
        for name in os.listdir(case.path("out")):
            with open(os.path.join(case.path("out"), name), "rb") as a, \
                    open(os.path.join(case.path("local"), name), "rb") as b:
                self.assertTrue(a.read() == b.read(), name)


if __name__ == "__main__":
    programs = need(sys.argv[1], ["farm", "worker", "compile-all", "job", "compile"])
    farm_test.FarmTest.programs = programs
    unittest.main(argv=sys.argv[1:])
