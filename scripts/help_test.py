#!/usr/bin/python3
"""Every script explains itself with --help and -h and does nothing else, and refuses an option it
does not know."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = "_test.py"


def scripts():
    for folder, _, files in sorted(os.walk(HERE)):
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and not name.endswith(TESTS):
                yield path


def run(path, *options):
    done = subprocess.run([path, *options], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, done.stdout, done.stderr


def head_of(path):
    """The first sentence of the script's header comment or docstring."""
    with open(path, encoding="utf-8") as file:
        return file.readlines()[1].strip('#" \n')


def main():
    found = list(scripts())
    assert len(found) >= 15, found
    for path in found:
        code, text, complaint = run(path, "--help")
        assert code == 0 and complaint == "", (path, code, complaint)
        assert head_of(path)[:40] in text.replace("\n", " "), (path, text)
        assert "import " not in text and "set -" not in text, (path, "help runs into the code")
        assert run(path, "-h") == (code, text, ""), path
        code, text, complaint = run(path, "--no-such-option")
        assert code == 2 and complaint != "", (path, code, text, complaint)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
