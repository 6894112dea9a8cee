#!/usr/bin/python3
"""Memory of runs: no more than the plan says is asked of the system, what the plan says is what the
interface counts, and kernels write over what dies in them.

usage: arena_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import ctypes
import os
import re
import resource
import sys
import unittest

import numpy as np
from onnx import TensorProto, helper

from models import floats, save
from programs import STAGES, ProgramCase, need

COUNT_ARENA_BYTES = 8


def weight(*dims):
    return np.random.default_rng(len(dims)).standard_normal(dims, np.float32)


class Arena(ProgramCase):
    def compile(self, nodes, inputs, outputs, constants, *options):
        save(self.path("m.onnx"), nodes, inputs, outputs, constants)
        self.program(0, "sluice-compile", "-q", "--profile=cpu-avx2", *options, self.path("m.onnx"),
                     "-o", self.path("m.om"))

    def run_within(self, addresses, *arguments):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
        return self.run_program("sluice-loader", self.path("m.om"), "--random", "--threads=1",
                                *arguments, preexec_fn=limit)

    def products(self, rows):
        """Four products: of 36000 rows the widest result has 589,824,000 bytes, which is more than
        half a GiB."""
        sizes = [64, 4096, 64, 32, 16]
        nodes = [helper.make_node("MatMul", [f"v{k}" if k else "x", f"w{k}"], [f"v{k + 1}"],
                                  f"product{k}") for k in range(4)]
        ends = [floats("x", [rows, 64])], [floats("v4", [rows, 16])]
        return [nodes, *ends, {f"w{k}": weight(*sizes[k:k + 2]) for k in range(4)}]

    def test_a_bounded_part_takes_the_bytes_of_its_bound(self):
        self.compile(*self.products("n"), "--dim=n=1..36000")
        for rows in (1, 7):
            done = self.run_within(900 << 20, f"--dim=n={rows}")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_within(400 << 20, "--dim=n=1")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stderr, r"error SL1008: node 'product0' \(.*\) and others: "
                         r"no memory for a run: \d{9} bytes, "
                         r"this process may have 419430400 bytes \(ulimit -v\)")
        self.assertIn("hint: ", done.stderr)

    def test_an_open_part_takes_more_where_there_is_memory_for_that(self):
        self.compile(*self.products("n"))
        self.assertEqual(self.run_within(900 << 20, "--dim=n=36000").returncode, 0)

    def test_parts_share_the_arena_that_is_counted(self):
        """Two parts around the indices of what is not zero, whose number only a run knows."""
        nodes, inputs, _, constants = self.products(256)
        nodes += [helper.make_node("NonZero", ["v4"], ["where"]),
                  helper.make_node("Cast", ["where"], ["float"], to=TensorProto.FLOAT),
                  helper.make_node("ReduceMax", ["float"], ["most"], keepdims=1)]
        nodes.append(helper.make_node("Add", ["x", "most"], ["u0"]))
        nodes += [helper.make_node("MatMul", [f"u{k}", f"w{k}"], [f"u{k + 1}"], f"again{k}")
                  for k in range(4)]
        self.compile(nodes, inputs, [floats("u4", [256, 16])], constants)
        arenas = [int(text) for text in re.findall(r"arena: (\d+) bytes",
                                                   self.program(0, "sluice-show", "--summary",
                                                                self.path("m.om")))]
        self.assertEqual(len(arenas), 2)
        self.assertGreater(min(arenas), 4 << 20)
        library = ctypes.CDLL(os.path.join(self.programs, "..", "lib", "libsluice.so"))
        library.sluice_model_count.restype = ctypes.c_uint64
        model = ctypes.c_void_p()
        self.assertEqual(library.sluice_model_open(self.path("m.om").encode(), 0,
                                                   ctypes.byref(model)), 0)
        self.assertEqual(library.sluice_model_count(model, COUNT_ARENA_BYTES), max(arenas))

    def test_a_kernel_writes_over_what_dies_in_it(self):
        """Of a residual block one convolution adds the other's result, which nobody reads again."""
        nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], "left"),
                 helper.make_node("Conv", ["x", "w2"], ["b"], "right"),
                 helper.make_node("Add", ["a", "b"], ["s"], "add"),
                 helper.make_node("Softmax", ["s"], ["t"], "soft"),
                 helper.make_node("Cos", ["t"], ["y"], "cos")]
        dims = [1, 16, 32, 32]
        self.compile(nodes, [floats("x", dims)], [floats("y", dims)],
                     {"w1": weight(16, 16, 1, 1), "w2": weight(16, 16, 1, 1)})
        arena, live = map(int, re.match(r"arena_bytes (\d+) live_bytes (\d+)",
                                        self.program(0, "sluice-verify", "--memory",
                                                     self.path("m.om"))).groups())
        one = 4 * int(np.prod(dims))
        self.assertEqual(arena, one)  # s over b; t lives in a kernel only
        self.assertEqual(live, one)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "loader", "show", "verify", *STAGES])
    unittest.main(verbosity=2)
