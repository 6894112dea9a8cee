#!/usr/bin/python3
"""The examples of the pages in docs/ work as they are: each block of a page marked `sh` or
`python`, in order, in an empty folder. A block marked `c file=NAME` or `cpp file=NAME` is a file of
that name for the blocks after it.

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
ELSEWHERE = {"install.md": "a system to install to: e2e/install and scripts/try-packages",
             "c-api.md": "an installed library: e2e/install"}
BLOCK = re.compile(r"^```(sh|python|c(?:pp)? file=\S+)\n(.*?)^```$", re.M | re.S)


def pages(names):
    found = sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
    return [page for page in found if os.path.basename(page) not in ELSEWHERE and
            (not names or os.path.basename(page) in names)]


def run_block(language, text, folder, environment):
    """What the block printed, when it fails; else nothing."""
    kind, _, name = language.partition(" file=")
    if name:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return ""
    command = ["bash", "-euo", "pipefail", "-c"] if kind == "sh" else ["/usr/bin/python3", "-c"]
    done = subprocess.run([*command, text], cwd=folder, env=environment, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=300)
    return (f"exit code {done.returncode}\n{text}\n"
            f"{done.stdout[-2000:]}{done.stderr[-2000:]}" if done.returncode else "")


def run_page(page, folder, environment):
    """What each block of the page printed that failed."""
    with open(page, encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    return list(filter(None, (run_block(*block, folder, environment) for block in blocks)))


class Pages(unittest.TestCase):
    programs, names, maxDiff = None, [], None

    def test_examples_work(self):
        environment = dict(os.environ, SLUICE=ROOT, PATH=self.programs + ":" + os.environ["PATH"],
                           PYTHONPATH=os.path.join(self.programs, "..", "lib"))
        names = pages(self.names)
        self.assertTrue(names)
        for page in names:
            with self.subTest(page=os.path.basename(page)), \
                    tempfile.TemporaryDirectory() as folder:
                self.assertEqual([], run_page(page, folder, environment))

    def test_a_failure_is_seen(self):
        self.assertIn("exit code 3",
                      run_block("sh", "true\nsluice-eval none.sg\ntrue\n", ".",
                                dict(os.environ, PATH=self.programs + ":/bin:/usr/bin")))
        self.assertIn("exit code 1",
                      run_block("python", "import sluice_of_nowhere", ".", os.environ))
        self.assertEqual([("sh", "a\n")], BLOCK.findall("```\nb\n```\n```sh\na\n```\n"))
        self.assertEqual([("c file=a.c", "a\n")],
                         BLOCK.findall("```c\nb\n```\n```c file=a.c\na\n```\n"))


if __name__ == "__main__":
    Pages.programs = need(sys.argv[1],
                          STAGES + ["loader", "check", "show", "diff", "eval", "verify", "reduce",
                                    "plan-memory"])
    import_sluice(Pages.programs)
    Pages.names = sys.argv[2:]
    unittest.main(argv=sys.argv[:1], verbosity=1)
