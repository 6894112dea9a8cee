"""A Slurm of this machine for a class of tests."""
import os
import shutil
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts",
                      "slurm-local")


def tool(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


class SlurmCluster:
    """A base of test classes: the cluster lives as long as the class. Ends as skipped, and says
    why, where Slurm cannot start."""

    cpus = 2

    @classmethod
    def setUpClass(cls):
        cls.cluster = tempfile.mkdtemp(prefix="slurm-")
        os.chmod(cls.cluster, 0o755)
        started = tool(SCRIPT, "start", cls.cluster, "--cpus", str(cls.cpus))
        if started.returncode == 5:
            print("SKIPPED: no Slurm here: " + started.stderr.strip())
            sys.exit(77)
        assert started.returncode == 0, started.stderr
        os.environ["SLURM_CONF"] = started.stdout.split("=", 1)[1].strip()

    @classmethod
    def tearDownClass(cls):
        tool(SCRIPT, "stop", cls.cluster)
        shutil.rmtree(cls.cluster)
