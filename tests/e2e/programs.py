"""The programs that a test of the end-to-end suite runs."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

STAGES = ["preprocess", "optimize", "partition", "subgraph-optimize", "build"]


def need(folder, names):
    """The absolute folder of programs; ends the test as skipped when one of `names` (without
    "sluice-") is not there."""
    folder = os.path.abspath(folder)
    missing = [name for name in names if not os.path.exists(os.path.join(folder, "sluice-" + name))]
    if missing:
        print("SKIPPED: not built: " + ", ".join(missing))
        sys.exit(77)
    return folder


def has_nameless_files(folder):
    """Whether a file can be written there before it has a name: else it has a temporary one."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
        return True
    except OSError:
        return False


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


class ProgramCase(unittest.TestCase):
    """A test that runs programs from the folder `programs` on files in a folder of its own."""

    programs = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_program(self, name, *arguments, text=True, **how):
        """The process; what it prints is text, in which a graph's bytes are replaced."""
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300, **how}
        return subprocess.run([os.path.join(self.programs, name), *arguments], check=False,
                              errors="replace" if text else None, **how)

    def done(self, code, name, *arguments, **how):
        """The process, which must end with `code`."""
        done = self.run_program(name, *arguments, **how)
        self.assertEqual(done.returncode, code, (name, arguments, done.stdout, done.stderr))
        return done

    def program(self, code, name, *arguments):
        """What the program prints; it must end with `code`."""
        done = self.done(code, name, *arguments)
        return done.stdout + done.stderr

    def failed(self, name, *arguments):
        """What the program prints, which ends with an error and by no signal."""
        done = self.run_program(name, *arguments)
        self.assertIn(done.returncode, range(1, 128), done.stdout + done.stderr)
        return done.stdout + done.stderr

    def outputs_of(self, *command):
        """Arrays by name, of all that the program writes."""
        folder = self.path("outputs")
        shutil.rmtree(folder, ignore_errors=True)
        self.program(0, *command, "--output-dir", folder)
        return {os.path.basename(path)[:-len(".npy")]: np.load(path)
                for path in sorted(glob.glob(folder + "/*.npy"))}

    def bindings(self, inputs):
        """The options that give the arrays by name to a program."""
        options = []
        for name, array in inputs.items():
            np.save(self.path(name + ".npy"), array)
            options.append(f"--input={name}={self.path(name)}.npy")
        return options


def import_sluice(programs):
    """The Python package beside the folder of programs; ends the test as skipped when Python cannot
    load it."""
    sys.path.insert(0, os.path.join(programs, "..", "lib"))
    try:
        import sluice
    except Exception as error:  # a build whose library Python cannot load
        print(f"SKIPPED: {error}")
        sys.exit(77)
    return sluice
