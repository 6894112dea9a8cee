#!/usr/bin/python3
"""Parts of open sizes that are kept bound: their limit and counters, in sluice-loader and in the
library.

usage: bound_parts_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import json
import sys
import unittest

import numpy as np
from onnx import helper

from models import floats, save
from programs import ProgramCase, import_sluice, need

DEFAULT = 64 << 20


def save_model(path):
    """y = Relu(x·w) of any number of rows."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"]),
             helper.make_node("Relu", ["product"], ["y"])]
    save(path, nodes, [floats("x", ["n", 8])], [floats("y", ["n", 8])],
         {"w": np.eye(8, dtype="f4")})


class BoundPartsTest(ProgramCase):
    def setUp(self):
        super().setUp()
        self.om = self.path("m.om")
        save_model(self.path("m.onnx"))
        self.program(0, "sluice-compile", self.path("m.onnx"), "-o", self.om)

    def bench(self, *options):
        return json.loads(self.program(0, "sluice-loader", "--bench", "--json", "--runs=5",
                                       "--threads=1", *options, self.om))["bound_parts"]

    def test_bench_counts(self):
        counters = self.bench()
        self.assertEqual((counters["binds"], counters["hits"], counters["evictions"],
                          counters["parts"]), (1, 5, 0, 1))
        self.assertEqual(counters["limit_bytes"], DEFAULT)
        self.assertGreater(counters["bytes"], 500)

    def test_a_run_keeps_what_the_limit_does_not(self):
        counters = self.bench("--bound-parts-bytes=0")
        self.assertEqual((counters["binds"], counters["hits"], counters["parts"],
                          counters["bytes"]), (1, 5, 0, 0))
        self.assertIn("is not a number",
                      self.program(3, "sluice-loader", "--bound-parts-bytes=many", self.om))

    def test_the_library_holds_the_limit(self):
        sluice = import_sluice(self.programs)

        def check(run, rows):
            x = np.full((rows, 8), rows - 20, "f4")
            np.testing.assert_array_equal(run(x=x)["y"], np.maximum(x, 0))

        with sluice.Model(self.om) as opened:
            run = opened.run(threads=1)
            check(run, 1)
            each = opened.bound_parts()["bytes"]
            self.assertEqual(opened.bound_parts()["limit_bytes"], DEFAULT)
            opened.limit_bound_parts(each * 8)
            for rows in range(1, 41):
                check(run, rows)
            kept = opened.bound_parts()
            self.assertLessEqual(kept["bytes"], each * 8)
            self.assertGreaterEqual(kept["parts"], 6)
            self.assertEqual(kept["binds"], 40)
            self.assertEqual(kept["evictions"], 40 - kept["parts"])
            check(run, 39)
            check(run, 1)
            after = opened.bound_parts()
            self.assertEqual((after["hits"], after["binds"]), (kept["hits"] + 1, 41))


if __name__ == "__main__":
    BoundPartsTest.programs = need(sys.argv.pop(1), ["compile", "loader"])
    unittest.main()
