#!/usr/bin/python3
"""Memory that runs out, at any point and in any thread: each program ends with SL1008 and exit code
5, or as if nothing had happened. It never crashes, hangs, or leaves an output behind.

usage: memory_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import functools
import os
import resource
import shutil
import subprocess
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import convolution_chain, floats, save, value
from programs import STAGES, ProgramCase, bytes_of, need

THREADS = "--threads=4"


def program(name):
    return os.path.join(ProgramCase.programs, "sluice-" + name)


def make_model(path):
    """Convolutions of different shapes (kernels generated and weights packed in threads), and work
    for host_cpu."""
    nodes, weights = convolution_chain(range(16, 113, 16), "Sin", kernels=(1, 3))
    nodes += [helper.make_node("Reshape", ["x6", "shape"], ["flat"], "flat"),
              helper.make_node("MatMul", ["flat", "w"], ["y"], "dense")]
    dense = np.random.default_rng(4).standard_normal((112 * 64, 300), np.float32)
    save(path, nodes, [floats("x0", [1, 16, 8, 8])], [floats("y", [1, 300])],
         weights | {"w": dense, "shape": [1, -1]})


# What is limited: data with the stacks of threads, and all of a process's addresses.
KINDS = {"data": resource.RLIMIT_DATA, "addresses": resource.RLIMIT_AS}


def run_limited(kind, limit, *arguments):
    return subprocess.run(arguments, capture_output=True, text=True, errors="replace", timeout=120,
                          preexec_fn=lambda: resource.setrlimit(KINDS[kind], (limit, limit)))


@functools.cache
def smallest_limit(kind, name):
    """Under which the program starts at all; less is the system's loader's to say."""
    low, high = 1 << 16, 1 << 32
    while high - low > 1 << 16:
        middle = (low + high) // 2
        if run_limited(kind, middle, program(name), "--version").returncode == 0:
            high = middle
        else:
            low = middle
    return high


class Memory(ProgramCase):
    def setUp(self):
        super().setUp()
        self.outputs = os.path.join(self.folder, "outputs")
        make_model(self.path("model.onnx"))

    def sweep(self, kind, smallest, command, out):
        """Runs command under limits that grow from the smallest, and without one. Returns how often
        it ran out."""
        os.mkdir(self.outputs)
        unlimited = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(unlimited.returncode, 0, unlimited.stderr)
        expected = bytes_of(out)
        ran_out = 0
        for limit in [smallest + (step * step << 16) for step in range(0, 24, 2)]:
            shutil.rmtree(self.outputs)
            os.mkdir(self.outputs)
            with self.subTest(command=os.path.basename(command[0]), kind=kind, limit=limit):
                result = run_limited(kind, limit, *command)
                if result.returncode == 0:
                    self.assertTrue(bytes_of(out) == expected)
                else:
                    ran_out += 1
                    self.assertEqual(result.returncode, 5, result.stderr)
                    self.assertIn("error SL1008: ", result.stderr)
                    self.assertEqual(os.listdir(self.outputs), [])
        shutil.rmtree(self.outputs)
        return ran_out

    def sweep_programs(self, kind):
        source, out = self.path("model.onnx"), os.path.join(self.outputs, "out")
        for stage in STAGES:
            command = [program(stage), *(["--profile=cpu-generic"] if stage == "preprocess"
                                         else []), THREADS, source]
            ran_out = self.sweep(kind, smallest_limit(kind, stage), [*command, "-o", out], out)
            # those two need next to nothing
            self.assertTrue(ran_out > 0 or stage in ("optimize", "partition"), stage)
            source = self.path(stage)
            subprocess.run([*command, "-o", source], check=True, timeout=120)
        subprocess.run([program("verify"), source], check=True, timeout=120)
        values = os.path.join(self.outputs, "values")
        command = [program("loader"), source, THREADS, "--random", "--output-dir", values]
        self.assertGreater(self.sweep(kind, smallest_limit(kind, "loader"), command,
                                      os.path.join(values, "y.npy")), 0)

    def sweep_compile(self, kind):
        out = os.path.join(self.outputs, "model.om")
        command = [program("compile"), self.path("model.onnx"), "-q", "--profile=cpu-generic",
                   THREADS, "-o", out]
        smallest = max(smallest_limit(kind, name) for name in ["compile", *STAGES])
        self.assertGreater(self.sweep(kind, smallest, command, out), 0)

    def test_a_run_names_node_and_model(self):
        """Two gigabytes that only the run knows of."""
        fill = helper.make_node("ConstantOfShape", ["s"], ["y"], "fill")
        save(self.path("fill.onnx"), [fill], [value("s", [1], TensorProto.INT64)],
             [floats("y", [None])])
        np.save(self.path("s.npy"), np.array([1 << 29], np.int64))
        self.assertEqual("", self.program(0, "sluice-compile", "-q", self.path("fill.onnx"), "-o",
                                          self.path("fill.om")))
        result = run_limited("addresses", 1 << 30, program("loader"), self.path("fill.om"),
                             "--threads=1", "--input=s=" + self.path("s.npy"))
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("error SL1008: node 'fill' (ConstantOfShape): memory ran out: 2147483648 "
                      "bytes more were wanted, this process may have "
                      f"1073741824 bytes (ulimit -v) [{self.path('fill.om')}]\n"
                      "hint: make the inputs smaller", result.stderr)

    def test_programs_short_of_data(self):
        self.sweep_programs("data")

    def test_programs_short_of_addresses(self):
        self.sweep_programs("addresses")

    def test_compile_short_of_data(self):
        self.sweep_compile("data")

    def test_compile_short_of_addresses(self):
        self.sweep_compile("addresses")


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "loader", "verify", *STAGES])
    unittest.main(verbosity=2)
