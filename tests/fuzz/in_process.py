#!/usr/bin/python3
"""Gives damaged models to one process, which is fast enough for sanitizers: no process is started
for a file. The damage is that of mutate.py, from a fixed seed.

usage: tests/fuzz/in_process.py [options]
example: tests/fuzz/in_process.py --what models --count 1000

  --what WHAT    stages: ONNX models through sluice-preprocess, sluice-optimize and
                 sluice-partition;
                 models: ONNX models through all stages, the loader, binding and one run;
                 om: compiled models, digests made to match again, through the loader, binding
                 and one run [default: stages]
  --bin DIR      programs that make the seeds              [default: out/release/bin]
  --driver FILE  cmake --build out/asan --target fuzz-onnx-files fuzz-run-files
                 [default: out/asan/fuzz/fuzz-onnx-files, of the other two fuzz-run-files]
  --count N      damaged models                            [default: 10000, of om 5000]
  --seed S       other damage                              [default: 1]
  --keep DIR     where models with findings go             [default: out/fuzz/in-process]

A finding is what ends the process: a signal, a sanitizer's report, a broken promise
(fuzz_target.h), 10 seconds of CPU for one model; or memory above 2 GB. In a run, 10 seconds of CPU
and memory beyond what a process gets come from the model, and are counted apart. Exits 7 when there
is a finding.
"""
import argparse
import hashlib
import importlib
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

MAX_KILOBYTES = 2_000_000
CHUNK = 500
WHAT = {"stages": ("onnx", "fuzz-onnx-files", 10000), "models": ("onnx", "fuzz-run-files", 10000),
        "om": ("om", "fuzz-run-files", 5000)}
OUT_OF_MEMORY = re.compile(r"allocation-size-too-big|out-of-memory|maximum supported size|failed "
                           r"to allocate")


class Damage:
    """Damaged models of one kind."""

    def __init__(self, kind, seed, folder):
        self.kind, self.seed, self.files = kind, seed, []
        for name in sorted(os.listdir(os.path.join(folder, kind))):
            with open(os.path.join(folder, kind, name), "rb") as file:
                self.files.append(file.read())
        subprocess.run(["protoc", "--python_out=" + folder,
                        "-I" + os.path.join(seeds.ROOT, "schemas"), "model.proto"], check=True)
        sys.path.insert(0, folder)
        self.model_class = importlib.import_module("model_pb2").ModelDef

    def make(self, index):
        rng = random.Random(f"{self.seed}/{self.kind}/{index}")
        data, other = rng.choice(self.files), rng.choice(self.files)
        if self.kind == "onnx":
            return mutators.mutate_onnx(rng, data, other)
        return mutators.mutate_compiled_model(rng, data, other, self.model_class,
                                              lambda b: hashlib.sha256(b).digest())


def run_driver(driver, paths):
    """(models that were taken whole, the one that ended the process or None, why, most memory in
    kB); why is empty when that was the model's own doing."""
    environment = {**os.environ, "ASAN_OPTIONS":
                   "detect_leaks=0:max_allocation_size_mb=2000:allocator_may_return_null=1",
                   "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = subprocess.run([driver], input="\n".join(paths) + "\n", capture_output=True, text=True,
                          errors="replace", check=False, env=environment)
    ended = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("end ")]
    if done.returncode == 0:
        return len(paths), None, "", max(ended, default=0)
    begun = [line[6:] for line in done.stdout.splitlines() if line.startswith("begin ")]
    why = next((line for line in done.stderr.splitlines()
                if re.search(r"Sanitizer|runtime error|finding", line)), done.stderr[-300:])
    is_running = done.stdout.splitlines()[-1:] == ["run"]
    if is_running and (done.returncode in (-27, 155) or OUT_OF_MEMORY.search(done.stderr)):
        return len(ended), begun[-1], "", max(ended, default=0)
    why = ("more than 10 s of CPU" if done.returncode in (-27, 155)
           else f"exit {done.returncode}: {why[:300]}")
    return len(ended), begun[-1] if begun else None, why, max(ended, default=0)


def try_chunk(options, folder, damage, first, last):
    """Findings [(name, why)], models that run long or large, and the most memory."""
    paths = []
    for index in range(first, last):
        paths.append(os.path.join(folder, f"{index}.{damage.kind}"))
        with open(paths[-1], "wb") as file:
            file.write(damage.make(index))
    findings, long, largest, left = [], 0, 0, paths
    while left:
        taken, culprit, why, memory = run_driver(options.driver, left)
        largest = max(largest, memory)
        if culprit is None:
            break
        if why:
            os.makedirs(options.keep, exist_ok=True)
            shutil.copy(culprit, options.keep)
            findings.append((os.path.basename(culprit), why))
        else:
            long += 1
        left = left[taken + 1:]
    for path in paths:
        os.remove(path)
    return findings, long, largest


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--bin", type=os.path.abspath,
                        default=os.path.join(seeds.ROOT, "out", "release", "bin"))
    parser.add_argument("--what", choices=list(WHAT), default="stages")
    parser.add_argument("--driver", type=os.path.abspath)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", type=os.path.abspath,
                        default=os.path.join(seeds.ROOT, "out", "fuzz", "in-process"))
    options = parser.parse_args()
    _, driver, count = WHAT[options.what]
    options.driver = options.driver or os.path.join(seeds.ROOT, "out", "asan", "fuzz", driver)
    options.count = options.count or count
    return options


def main():
    options, begin, findings, long, largest = parse(), time.time(), [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "seeds")
        seeds.make_seeds(options.bin, made)
        damage = Damage(WHAT[options.what][0], options.seed, made)
        for first in range(0, options.count, CHUNK):
            found, more, memory = try_chunk(options, folder, damage, first,
                                            min(first + CHUNK, options.count))
            for name, why in found:
                print(f"{name}: {why}", flush=True)
            findings, long, largest = findings + found, long + more, max(largest, memory)
    print(f"in process: {options.count} models, {len(findings)} findings, {long} run long or "
          f"large, at most {largest // 1000} MB, "
          f"{time.time() - begin:.0f} s")
    return 7 if findings or largest > MAX_KILOBYTES else 0


if __name__ == "__main__":
    sys.exit(main())
