"""The programs that a test of the end-to-end suite runs."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

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


class ProgramCase(unittest.TestCase):
    """A test that runs programs from the folder `programs` on files in a folder of its own."""

    programs = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, code, name, *arguments):
        """What the program prints; it must end with `code`."""
        done = subprocess.run([os.path.join(self.programs, name), *arguments], capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr


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
