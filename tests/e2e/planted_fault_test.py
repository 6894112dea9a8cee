#!/usr/bin/python3
"""A wrong pass is caught by random_graphs_test.py, and sluice-reduce shrinks the graph that shows
it.

The fault is planted beside the programs, not in them: a folder with copies of them, in which
sluice-optimize is a script that runs the real one and exchanges the operands of every Sub in what
it writes.

usage: planted_fault_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import onnx

import programs

BIN = None
GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "random_graphs_test.py")
SHOWN = 11  # a graph of seed 1 with a Sub among others
MAX_NODES = 5
FAULT = r"""#!/bin/sh
here=$(dirname "$0")
"$here/whole-optimize" "$@" | "$here/sluice-show" --header - |
  sed -E 's/ = Sub\((%[^,]*), (%[^)]*)\)/ = Sub(\2, \1)/' |
  "$here/sluice-as" -
"""


def plant(folder):
    """The folder of programs with the fault."""
    whole = os.path.dirname(BIN)
    shutil.copytree(BIN, os.path.join(folder, "bin"))
    os.symlink(os.path.join(whole, "lib"), os.path.join(folder, "lib"))
    path = os.path.join(folder, "bin", "sluice-optimize")
    os.rename(path, os.path.join(folder, "bin", "whole-optimize"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(FAULT)
    os.chmod(path, 0o755)
    return os.path.join(folder, "bin")


class PlantedFault(unittest.TestCase):
    def test_caught_and_shrunk(self):
        with tempfile.TemporaryDirectory() as folder:
            planted, keep = plant(folder), os.path.join(folder, "keep")
            own = ["/usr/bin/python3", GRAPHS, planted]
            caught = subprocess.run([*own, "--only", str(SHOWN), "--keep", keep],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(caught.returncode, 7, caught.stdout + caught.stderr)
            self.assertRegex(caught.stdout,
                             rf"graph {SHOWN}: O0 against sluice-eval: output '\w+': off by")
            line = re.search(r"^  (\S+sluice reduce .*)$", caught.stdout, re.MULTILINE)[1].split()
            small = line[line.index("-o") + 1]
            shrunk = subprocess.run(line, capture_output=True, text=True, check=False)
            self.assertEqual(shrunk.returncode, 0, shrunk.stderr)
            nodes = [node.op_type for node in onnx.load(small).graph.node]
            self.assertLessEqual(len(nodes), MAX_NODES, nodes)
            self.assertIn("Sub", nodes)

    def test_whole_programs_agree(self):
        agreed = subprocess.run(["/usr/bin/python3", GRAPHS, BIN, "--only", str(SHOWN)],
                                capture_output=True, text=True, check=False)
        self.assertEqual(agreed.returncode, 0, agreed.stdout + agreed.stderr)


if __name__ == "__main__":
    BIN = programs.need(sys.argv.pop(1),
                        [*programs.STAGES, "as", "show", "eval", "compile", "loader", "reduce"])
    unittest.main()
