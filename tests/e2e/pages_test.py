#!/usr/bin/python3
"""The examples of the pages in docs/ work as they are: each block of a page marked `sh` or
`python`, in order, in an empty folder.

usage: pages_test.py FOLDER_OF_PROGRAMS [PAGE.md...]

Programs are in PATH, the library is in PYTHONPATH and the repository in SLUICE, as CONTRIBUTING.md
says.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

from programs import STAGES, import_sluice, need

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Pages whose examples need more than a build: page -> what.
ELSEWHERE = {"install.md": "a system to install to: e2e/install and scripts/try-packages"}
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.M | re.S)


def pages(names):
    found = sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
    return [page for page in found if os.path.basename(page) not in ELSEWHERE and
            (not names or os.path.basename(page) in names)]


def run_block(language, text, folder, environment):
    """What the block printed, when it fails; else nothing."""
    command = ["bash", "-euo", "pipefail", "-c", text] if language == "sh" else ["/usr/bin/python3",
                                                                                 "-c", text]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300)
    return (f"exit code {done.returncode}\n{text}\n"
            f"{done.stdout[-2000:]}{done.stderr[-2000:]}" if done.returncode else "")


class Pages(unittest.TestCase):
    programs, names, maxDiff = None, [], None

    def test_examples_work(self):
        environment = dict(os.environ, SLUICE=ROOT, PATH=self.programs + ":" + os.environ["PATH"],
                           PYTHONPATH=os.path.join(self.programs, "..", "lib"))
        examples = 0
        for page in pages(self.names):
            with open(page, encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder:
                for language, text in BLOCK.findall(file.read()):
                    examples += 1
                    with self.subTest(page=os.path.basename(page)):
                        self.assertEqual("", run_block(language, text, folder, environment))
        self.assertGreater(examples, 0)

    def test_a_failure_is_seen(self):
        self.assertIn("exit code 3",
                      run_block("sh", "true\nsluice-eval none.sg\ntrue\n", ".",
                                dict(os.environ, PATH=self.programs + ":/bin:/usr/bin")))
        self.assertIn("exit code 1",
                      run_block("python", "import sluice_of_nowhere", ".", os.environ))
        self.assertEqual([("sh", "a\n")], BLOCK.findall("```\nb\n```\n```sh\na\n```\n"))


if __name__ == "__main__":
    Pages.programs = need(sys.argv[1],
                          STAGES + ["loader", "check", "show", "diff", "eval", "verify", "reduce"])
    import_sluice(Pages.programs)
    Pages.names = sys.argv[2:]
    unittest.main(argv=sys.argv[:1], verbosity=1)
