#!/usr/bin/python3
"""Without --threads, programs use the cores that they may use, not those that the machine has.

usage: threads_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import os
import subprocess
import sys
import unittest

from models import convolution_chain, floats, save
from programs import STAGES, ProgramCase, need


def make_model(path):
    """Convolutions of many shapes, kept apart: subgraph-optimize generates kernels for each of
    them, in threads."""
    nodes, weights = convolution_chain([8, *range(8, 97, 8)], "Sin")
    save(path, nodes, [floats("x0", [1, 8, 12, 12])], [floats("x12", [1, 96, 12, 12])], weights)


def max_threads(command):
    """The most threads that the program was seen with."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    largest = 0
    while process.poll() is None:
        try:
            largest = max(largest, len(os.listdir(f"/proc/{process.pid}/task")))
        except FileNotFoundError:
            break
    if process.wait() != 0:
        raise AssertionError(command)
    return largest


class Threads(ProgramCase):
    def setUp(self):
        super().setUp()
        self.core = min(os.sched_getaffinity(0))
        make_model(self.path("model.onnx"))

    def path_of(self, name):
        return os.path.join(self.programs, "sluice-" + name)

    def on_one_core(self, *command):
        return ["/usr/bin/taskset", "-c", str(self.core), *command]

    def test_a_run(self):
        self.program(0, "sluice-compile", "-q", "--profile=cpu-avx2", self.path("model.onnx"), "-o",
                     self.path("model.om"))
        bench = [self.path_of("loader"), self.path("model.om"), "--bench", "--json", "--runs=1"]
        threads = lambda command: json.loads(
            subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)["threads"]
        self.assertEqual(threads(self.on_one_core(*bench)), 1)
        self.assertEqual(threads(self.on_one_core(*bench, "--threads=3")), 3)
        self.assertLessEqual(threads(bench), len(os.sched_getaffinity(0)))

    def test_a_stage(self):
        source = self.path("model.onnx")
        for stage in STAGES[:3]:
            command = [self.path_of(stage), *(["--profile=cpu-avx2"] if stage == "preprocess"
                                              else []), source, "-o", self.path(stage)]
            subprocess.run(command, check=True, timeout=60)
            source = self.path(stage)
        command = [self.path_of("subgraph-optimize"), source, "-o", self.path("lowered")]
        self.assertEqual(max_threads(self.on_one_core(*command)), 1)
        self.assertEqual(max_threads(self.on_one_core(*command, "--threads=3")), 3)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "loader", *STAGES])
    unittest.main(verbosity=2)
