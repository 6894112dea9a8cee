#!/usr/bin/python3
"""The golden runner must be able to fail: what it accepts and what it refuses."""
import os
import subprocess
import sys
import tempfile
import unittest

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run")


def outcome(name, text, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([sys.executable, RUN, *options, path], capture_output=True, text=True)
        with open(path, encoding="utf-8") as file:
            return done.returncode, done.stdout, file.read()


class Runner(unittest.TestCase):
    def test_accepts_what_is_printed(self):
        self.assertEqual(outcome("a.txt", "# run: cat %s\nx\n--- stdout\n# run: cat %s\nx\n")[0], 0)
        self.assertEqual(outcome("a.txt", "# run: cat f | tail -n 1\n--- file f\n1\n2\n"
                                 "--- stdout\n2\n")[0], 0)
        self.assertEqual(outcome("bad-a.txt", "# run: false\n--- exit 1\n")[0], 0)

    def test_unused_expectations_fail(self):
        for text in ("# run: true\n--- stdout\nx\n", "# run: true\n--- stderr\nx\n",
                     "# run: echo x\n"):
            self.assertEqual(outcome("a.txt", text)[0], 7, text)
        self.assertEqual(outcome("bad-a.txt", "# run: false\n--- exit 2\n")[0], 7)

    def test_malformed_files_fail(self):
        for text in ("x\n", "# run: true\n--- stdout\n", "# run: true\n--- nonsense\n",
                     "# run: true\n--- exit 0\n", "# run: true |\n",
                     "# run: echo x\n--- stdout\nx\n--- stdout\nx\n"):
            self.assertEqual(outcome("a.txt", text)[0], 7, text)

    def test_bad_files_fail_and_only_they(self):
        self.assertEqual(outcome("a.txt", "# run: false\n--- exit 1\n")[0], 7)
        self.assertEqual(outcome("bad-a.txt", "# run: true\n")[0], 7)

    def test_a_pipe_stops_at_the_first_failure(self):
        code, text, _ = outcome("bad-a.txt", "# run: ls nothing | cat && echo no\n--- exit 2\n"
                                "--- stderr\nx\n")
        self.assertEqual(code, 7)
        self.assertNotIn("+no", text)

    def test_rebase_writes_what_is_printed(self):
        self.assertEqual(outcome("a.txt", "# run: echo y\n--- stdout\nx\n", "--rebase")[2],
                         "# run: echo y\n--- stdout\ny\n")


if __name__ == "__main__":
    unittest.main()
