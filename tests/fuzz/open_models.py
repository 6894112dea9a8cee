#!/usr/bin/python3
"""Models of one node with all sizes open, and inputs that fit, for the fuzz target run-sizes.

usage: tests/fuzz/open_models.py --bin DIR FOLDER     (writes FOLDER/CASE/...)

A case is of ONNX's test data; those that need known sizes are left out.
"""
import argparse
import multiprocessing
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "conformance"))
from open_cases import CASES, make_open_model, simple_cases  # noqa: E402


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--bin", default=os.path.join(ROOT, "out", "release", "bin"))
    parser.add_argument("folder")
    options = parser.parse_args()
    jobs = [(os.path.abspath(options.bin), case,
             os.path.join(options.folder, os.path.basename(case))) for case in simple_cases(CASES)]
    with multiprocessing.Pool() as pool:
        pool.starmap(make_open_model, jobs, chunksize=4)
    return 0


if __name__ == "__main__":
    sys.exit(main())
