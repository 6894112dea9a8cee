#!/usr/bin/python3
"""Damaged models through sluice-preprocess, sluice-optimize and sluice-partition in one process: fuzz-onnx-files, of any build. The damage is
that of mutate.py, from a fixed seed; no process is started for a file, so sanitizers are affordable.

usage: tests/fuzz/in_process.py [options]

  --bin DIR      programs that make the seeds              [default: out/release/bin]
  --driver FILE  cmake --build out/asan --target fuzz-onnx-files   [default: out/asan/fuzz/fuzz-onnx-files]
  --count N      damaged models                            [default: 10000]
  --seed S       other damage                              [default: 1]
  --keep DIR     where models with findings go             [default: out/fuzz/in-process]

A finding is what ends the process: a signal, a sanitizer's report, a broken promise (fuzz_target.h), 10 seconds of CPU for one model; or
memory above 2 GB. Exits 7 when there is one.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import mutators
import seeds

MOST_KILOBYTES = 2_000_000
CHUNK = 500


def damaged(files, seed, index):
    rng = random.Random(f"{seed}/onnx/{index}")
    return mutators.mutate_onnx(rng, rng.choice(files), rng.choice(files))


def run_driver(driver, paths):
    """(models that were taken whole, the one that ended the process or None, why, most memory in kB)."""
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:max_allocation_size_mb=2000:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = subprocess.run([driver], input="\n".join(paths) + "\n", capture_output=True, text=True, errors="replace", check=False, env=environment)
    ended = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("end ")]
    if done.returncode == 0:
        return len(paths), None, "", max(ended, default=0)
    begun = [line[6:] for line in done.stdout.splitlines() if line.startswith("begin ")]
    why = next((line for line in done.stderr.splitlines() if re.search(r"Sanitizer|runtime error|finding", line)), done.stderr[-300:])
    why = "more than 10 s of CPU" if done.returncode in (-27, 155) else f"exit {done.returncode}: {why[:300]}"
    return len(ended), begun[-1] if begun else None, why, max(ended, default=0)


def try_chunk(options, folder, files, first, last):
    """Findings [(index, why)] and the most memory."""
    paths = []
    for index in range(first, last):
        paths.append(os.path.join(folder, f"{index}.onnx"))
        with open(paths[-1], "wb") as file:
            file.write(damaged(files, options.seed, index))
    findings, most, left = [], 0, paths
    while left:
        taken, culprit, why, memory = run_driver(options.driver, left)
        most = max(most, memory)
        if culprit is None:
            break
        os.makedirs(options.keep, exist_ok=True)
        shutil.copy(culprit, options.keep)
        findings.append((os.path.basename(culprit), why))
        left = left[taken + 1:]
    for path in paths:
        os.remove(path)
    return findings, most


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--bin", type=os.path.abspath, default=os.path.join(seeds.ROOT, "out", "release", "bin"))
    parser.add_argument("--driver", type=os.path.abspath, default=os.path.join(seeds.ROOT, "out", "asan", "fuzz", "fuzz-onnx-files"))
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", type=os.path.abspath, default=os.path.join(seeds.ROOT, "out", "fuzz", "in-process"))
    return parser.parse_args()


def main():
    options, begin, findings, most = parse(), time.time(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "seeds")
        seeds.make_seeds(options.bin, made)
        files = []
        for name in sorted(os.listdir(os.path.join(made, "onnx"))):
            with open(os.path.join(made, "onnx", name), "rb") as file:
                files.append(file.read())
        for first in range(0, options.count, CHUNK):
            found, memory = try_chunk(options, folder, files, first, min(first + CHUNK, options.count))
            for name, why in found:
                print(f"{name}: {why}", flush=True)
            findings += found
            most = max(most, memory)
    print(f"in process: {options.count} models, {len(findings)} findings, at most {most // 1000} MB, {time.time() - begin:.0f} s")
    return 7 if findings or most > MOST_KILOBYTES else 0


if __name__ == "__main__":
    sys.exit(main())
