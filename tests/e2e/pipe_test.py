#!/usr/bin/python3
"""The real stages are programs of their own: no stage holds code of another, and each runs alone.

usage: pipe_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import glob
import os
import shutil
import subprocess
import sys
import unittest

from models import make_convolutions
from programs import STAGES, ProgramCase, bytes_of, need

PROFILE = "cpu-generic"  # runs everywhere


def program(name):
    return os.path.join(ProgramCase.programs, "sluice-" + name)


@unittest.skipUnless(shutil.which("nm"), "nm is not installed")
class Isolation(unittest.TestCase):
    """A stage's own symbols are those that only its libraries define."""

    def symbols(self, path, *options):
        text = subprocess.run(["nm", "--defined-only", *options, path], capture_output=True,
                              text=True, check=True).stdout
        return {line.split()[2] for line in text.splitlines() if len(line.split()) == 3 and
                line.split()[1] in "TDBR"}

    def test_no_stage_holds_symbols_of_another(self):
        stages = os.path.join(ProgramCase.programs, "../stages")
        libraries = {stage: glob.glob(os.path.join(stages, stage, "**/lib*.a"), recursive=True)
                     for stage in STAGES}
        own = {stage: set().union(*(self.symbols(path, "-g") for path in paths))
               for stage, paths in libraries.items()}
        for stage in STAGES:
            self.assertTrue(own[stage], stage)
            inside = self.symbols(program(stage))
            self.assertTrue(inside & own[stage], stage)
            for other in STAGES:
                if other != stage:
                    self.assertEqual(inside & own[other], set(),
                                     "%s holds code of %s" % (stage, other))


class Pipe(ProgramCase):
    def compile(self, source, *options):
        self.program(0, "sluice-compile", source, "-o", self.path("compiled.om"), *options)
        return bytes_of(self.path("compiled.om"))

    def test_each_stage_runs_alone_in_an_empty_folder(self):
        """From a copy of its program, with nothing else of Sluice beside it and nothing in PATH."""
        make_convolutions(self.path("model.onnx"))
        source = self.path("model.onnx")
        for k, stage in enumerate(STAGES):
            alone = self.path(stage)
            os.mkdir(alone)
            shutil.copy(program(stage), alone)
            options = ["--profile=" + PROFILE] if k == 0 else []
            subprocess.run([os.path.join(alone, "sluice-" + stage), *options, source, "-o", "out"],
                           cwd=alone, env={}, check=True, timeout=300)
            source = os.path.join(alone, "out")
        self.program(0, "sluice-verify", source)
        self.assertTrue(bytes_of(source) == self.compile(self.path("model.onnx"),
                                                         "--profile=" + PROFILE))


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "verify", *STAGES])
    unittest.main(verbosity=2)
