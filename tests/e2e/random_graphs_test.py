#!/usr/bin/python3
"""Random graphs mean the same compiled at O0, O1 and O3 as evaluated: sluice-eval of the
preprocessed graph, sluice-loader on three compiled models, and numpy must agree.

usage: random_graphs_test.py FOLDER_OF_PROGRAMS [options]

  --count N      graphs; 0: as many as --seconds allow     [default: 0]
  --seconds S    begin no more models after S seconds      [default: 20]
  --seed S       other graphs                              [default: 1]
  --batch N      graphs in one model                       [default: 10]
  --only I       graph number I alone
  --keep DIR     where failing graphs go
                 [default: random-graphs in the working directory]
  --model FILE   this model on the inputs of FILE.npz or those beside --inputs, without numpy
  --inputs FILE  .npz of inputs by name; missing inputs, or those of other sizes, are made up

Exits 7 when anything disagrees. Each failing graph is written as an ONNX file; the message says
what to type to shrink it.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np
import onnx
from onnx import mapping

import random_graphs

LEVELS = ("O0", "O1", "O3")
LIMIT = {np.dtype(np.float16): 2e-2, np.dtype(np.float32): 5e-4, np.dtype(np.float64): 5e-4}
MAX_SECONDS = 60


class Failed(Exception):
    pass


def run(options, program, *arguments):
    try:
        done = subprocess.run([os.path.join(options.bin, "sluice-" + program), *arguments],
                              capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{program}: no end after {MAX_SECONDS} s") from late
    if done.returncode != 0:
        raise Failed(f"{program}: exit code {done.returncode}: {done.stderr.strip()[:400]}")


def outputs_in(folder, names):
    return {name: np.load(os.path.join(folder, name + ".npy")) for name in names}


def difference(found, wanted):
    """None, or what differs."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)}, expected {wanted.dtype}{list(wanted.shape)}"
    if not wanted.size:
        return None
    if wanted.dtype.kind != "f":
        return (None if np.array_equal(found, wanted)
                else f"{np.count_nonzero(found != wanted)} of {wanted.size} elements differ")
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return "another set of elements is finite"
    worst = np.max(np.abs(np.where(np.isfinite(b), a - b, 0)))
    limit = LIMIT[wanted.dtype] * max(1.0, np.max(np.abs(np.where(np.isfinite(b), b, 0))))
    return None if worst <= limit else f"off by {worst:.3g}, allowed {limit:.3g}"


def compare(what, found, wanted, limit_like=None):
    for name, value in wanted.items():
        reported = difference(found[name], value)
        if reported:
            raise Failed(f"{what}: output '{name}': {reported}")


def check(options, model, feeds, wanted, folder):
    """Raises Failed. `wanted`: numpy's values, or None."""
    place = lambda name: os.path.join(folder, name)
    onnx.save(model, place("model.onnx"))
    np.savez(place("inputs.npz"), **feeds)
    bound = [f"--input={place('inputs.npz')}"] if feeds else []
    names = [output.name for output in model.graph.output]
    run(options, "preprocess", place("model.onnx"), "-o", place("typed.sg"))
    run(options, "eval", place("typed.sg"), *bound, "--output-dir=" + place("eval"))
    meant = outputs_in(place("eval"), names)
    if wanted is not None:
        compare("sluice-eval against numpy", meant, wanted)
    for level in LEVELS:
        run(options, "compile", place("model.onnx"), f"--opt-level={level}", "-o",
            place(level + ".om"))
        run(options, "loader", place(level + ".om"), *bound, "--threads=1",
            "--output-dir=" + place(level))
        compare(f"{level} against sluice-eval", outputs_in(place(level), names), meant)


def try_graphs(options, graphs):
    feeds, wanted = {}, {}
    for graph in graphs:
        feeds.update(graph.feeds)
        wanted.update(graph.wanted)
    try:
        with tempfile.TemporaryDirectory() as folder:
            check(options, random_graphs.model_of(graphs), feeds, wanted, folder)
    except Failed as failure:
        return str(failure)
    return None


def keep(options, graph):
    os.makedirs(options.keep, exist_ok=True)
    path = os.path.join(options.keep, f"random-{options.seed}-{graph.index}.onnx")
    onnx.save(random_graphs.model_of([graph]), path)
    np.savez(path + ".npz", **graph.feeds)
    own = f"/usr/bin/python3 {os.path.abspath(__file__)} {options.bin}"
    return (f"  {path}\n  {own} --seed {options.seed} --only {graph.index}\n"
            f"  {os.path.join(options.bin, 'sluice')} reduce {path} -o {path[:-5]}.small.onnx "
            f"--exit-code=7 -- {own} --inputs {path}.npz --model %")


def find_failing(options, graphs, reported):
    """The graphs that fail alone; all of them, when none does."""
    alone = [(graph, failure) for graph in graphs for failure in [try_graphs(options, [graph])]
             if failure] if len(graphs) > 1 else [(graphs[0], reported)]
    for graph, failure in alone:
        print(f"graph {graph.index}: {failure}\n{keep(options, graph)}", flush=True)
    if not alone:
        print(f"graphs {graphs[0].index} to {graphs[-1].index} together, none alone: {reported}",
              flush=True)
    return max(1, len(alone))


def feeds_of(model, path):
    """Inputs of the file where they fit; else by name and size alone, so that every run has the
    same."""
    known = dict(np.load(path)) if path and os.path.exists(path) else {}
    feeds = {}
    for item in model.graph.input:
        kind = mapping.TENSOR_TYPE_TO_NP_TYPE[item.type.tensor_type.elem_type]
        dims = [dim.dim_value if dim.HasField("dim_value") else None
                for dim in item.type.tensor_type.shape.dim]
        array = known.get(item.name)
        if (array is not None and array.dtype == kind and array.ndim == len(dims) and
            all(n in (None, m) for n, m in zip(dims, array.shape))):
            feeds[item.name] = array
            continue
        data = np.random.default_rng(zlib.crc32(item.name.encode()))
        feeds[item.name] = (data.normal(size=[n or 3 for n in dims]) * (1 if kind.kind == "f"
                                                                        else 2)).astype(kind)
    return feeds


def check_model(options):
    model = onnx.load(options.model)
    try:
        with tempfile.TemporaryDirectory() as folder:
            check(options, model, feeds_of(model, options.inputs), None, folder)
    except Failed as failure:
        print(failure)
        return 7
    return 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=os.path.abspath, default="random-graphs")
    parser.add_argument("--model")
    parser.add_argument("--inputs")
    return parser.parse_args()


def batches(options, begin):
    first = 0
    while (first < options.count) if options.count else (time.time() - begin < options.seconds):
        last = min(first + options.batch, options.count or first + options.batch)
        yield [random_graphs.RandomGraph(options.seed, i) for i in range(first, last)]
        first = last


def main():
    options = parse()
    if options.model:
        return check_model(options)
    begin, tried, failed = time.time(), 0, 0
    for batch in ([[random_graphs.RandomGraph(options.seed, options.only)]]
                  if options.only is not None else batches(options, begin)):
        graphs = [graph for graph in batch if graph.outputs]
        reported = try_graphs(options, graphs) if graphs else None
        failed += find_failing(options, graphs, reported) if reported else 0
        tried += len(graphs)
    print(f"random graphs: {tried} graphs, {failed} disagree, {time.time() - begin:.0f} s")
    return 7 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
