#!/usr/bin/python3
"""Graphs of several streams compute the same in every order that the streams allow: drawn graphs
with stream labels, events or notifies, and streams that are split, run in drawn orders, with memory
filled with not-a-numbers where no task needs it. The values are those of the graph without labels.

usage: drawn_orders_test.py FOLDER_OF_PROGRAMS [options]

  --count N     drawn graphs                    [default: 30]
  --orders K    orders of each                  [default: 6]
  --seed S      other graphs                    [default: 1]
  --model FILE  K orders of this compiled model, on random inputs, in place of drawn graphs

Exits 7 when a value differs.
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

from programs import bytes_of, need
from schedules import FEW_TASKS_OPTION, NOTIFY_OPTION

UNARY = ["Neg", "Sin", "Cos", "Abs", "Exp", "Tanh"]
BINARY = ["Add", "Sub", "Mul", "Min"]
LABEL = re.compile(r', (stream_label = "\w+"|parallel_group = \d+)')


def drawn_graph(rng):
    """The text of a graph of host_cpu nodes. Values are vectors; some are pieces of others."""
    labels = rng.randint(2, 6)
    values, lines, read = [("x", 32)], [], set()
    pick = lambda: rng.choice(values[-rng.randint(2, 12):])

    def place():
        group = f", parallel_group = {rng.randrange(2)}" if rng.random() < 0.1 else ""
        return (f'placement {{engine = host_cpu, stream_label = "s{rng.randrange(labels)}"'
                f"{group}}}")

    for number in range(rng.randint(6, 40)):
        name, (one, size) = f"v{number}", pick()
        read.add(one)
        kind, after = rng.random(), ""
        if len(values) > 3 and rng.random() < 0.1:
            earlier = rng.choice(values[1:])[0].split(".")[0]
            after = f" after %{earlier}"
        if kind < 0.35:
            operation = f"{rng.choice(UNARY)}(%{one})"
        elif kind < 0.75 or size > 256:
            other = rng.choice([value for value in values if value[1] == size])[0]
            read.add(other)
            operation = f"{rng.choice(BINARY)}(%{one}, %{other})"
        elif kind < 0.88:
            parts = [(one, size)] + [pick() for _ in range(rng.randint(1, 3))]
            read.update(part[0] for part in parts)
            size = sum(part[1] for part in parts)
            operation = f"Concat({', '.join('%' + part[0] for part in parts)}) {{axis = 0}}"
        elif size % 2 == 0 and size >= 32:
            half = size // 2
            lines.append(f"  %{name}: f32[{half}], %{name}.b: f32[{half}] = Split(%{one}) "
                         f"{{axis = 0, num_outputs = 2}}{after} {place()}")
            values += [(name, half), (name + ".b", half)]
            continue
        else:
            operation = f"Neg(%{one})"
        lines.append(f"  %{name}: f32[{size}] = {operation}{after} {place()}")
        values.append((name, size))
    outputs = [f"%{name}" for name, _ in values[1:] if name not in read]
    return (f"graph @main(%x: f32[32]) -> ({', '.join(outputs)}) {{\n" + "\n".join(lines) +
            "\n}\n")


class Failed(Exception):
    pass


class Tried:
    """A graph, compiled with its streams and without, and a run in each order."""

    def __init__(self, options, number):
        self.programs, self.number = options.bin, number
        self.rng = random.Random(f"{options.seed}/{number}")

    def program(self, name, *arguments, text=None):
        done = subprocess.run([os.path.join(self.programs, "sluice-" + name), *arguments],
                              input=text, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise Failed(f"{name}: exit code {done.returncode}: {done.stderr.strip()[:400]}")

    def build(self, text, path):
        graph = path + ".sg"
        self.program("as", "-", "-o", graph,
                     text="sluice 1 lowered after subgraph-optimize\n" + text)
        self.program("build", graph, "-o", path)

    def outputs(self, model, folder, *options):
        self.program("loader", model, "--random=3", "-q", "--output-dir=" + folder, *options)
        return {name: bytes_of(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}

    def run(self, orders):
        """What is wrong, or nothing."""
        text = drawn_graph(self.rng)
        option = self.rng.choice(["", "", NOTIFY_OPTION, FEW_TASKS_OPTION])
        with tempfile.TemporaryDirectory() as folder:
            plain, streamed = (os.path.join(folder, name) for name in ("plain.om", "streams.om"))
            try:
                self.build(LABEL.sub("", text), plain)
                wanted = self.outputs(plain, os.path.join(folder, "wanted"), "--threads=1")
                self.build(option + text, streamed)
                for threads in (1, 2):
                    if self.outputs(streamed, os.path.join(folder, "found"),
                                    f"--threads={threads}") != wanted:
                        raise Failed(f"other values on {threads} threads")
                for _ in range(orders):
                    seed = self.rng.getrandbits(64)
                    if self.outputs(streamed, os.path.join(folder, "found"),
                                    f"--schedule-seed={seed}") != wanted:
                        raise Failed(f"other values with --schedule-seed={seed}")
            except Failed as failure:
                return f"graph {self.number}: {failure}\n{option}{text}"
        return ""


def try_model(options):
    tried = Tried(options, 0)
    with tempfile.TemporaryDirectory() as folder:
        wanted = tried.outputs(options.model, os.path.join(folder, "wanted"), "--threads=1")
        for seed in range(options.orders):
            if tried.outputs(options.model, os.path.join(folder, "found"),
                             f"--schedule-seed={seed}") != wanted:
                return f"{options.model}: other values with --schedule-seed={seed}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--orders", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model")
    options = parser.parse_args()
    options.bin = need(options.bin, ["as", "build", "loader"])
    if options.model:
        wrong = [try_model(options)]
        print(f"{options.model}: {options.orders} orders, {'wrong' if wrong[0] else 'all alike'}")
    else:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = list(pool.map(lambda number: Tried(options, number).run(options.orders),
                                  range(options.count)))
        print(f"drawn orders: {options.count} graphs, {options.count * options.orders} orders, "
              f"{sum(map(bool, wrong))} wrong")
    for text in filter(None, wrong):
        print(text)
    return 7 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
