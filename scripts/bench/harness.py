"""Shared by the scripts of this folder: running Sluice and ONNX Runtime in turn, reading their
reports, printing tables.

Both run in processes of their own. Rounds alternate (A B A B ...), so that a machine that slows
down slows both; a figure is the median over rounds of each process's median.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy as np
import onnx

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BIN = os.path.join(ROOT, "out", "release", "bin")

# A shell that forks: what a program's parent held when it started it counts as its own peak memory.
IN_A_SHELL = ["/bin/sh", "-c", '"$@"; exit "$?"', "sh"]


class Failure(Exception):
    """Ends a script with this text and exit code."""

    def __init__(self, text, code=7):
        super().__init__(text)
        self.code = code


def main_of(body):
    """Runs a script's body and turns failures into one line and an exit code."""
    try:
        sys.exit(body())
    except Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        sys.exit(failure.code)


def run(*command, ok=(0,)):
    """The standard output of a program that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in ok:
        shell = len(IN_A_SHELL) if list(command[:len(IN_A_SHELL)]) == IN_A_SHELL else 0
        words = command[shell:]
        raise Failure(f"{' '.join(str(word) for word in words)}: exit {done.returncode}\n"
                      f"{done.stderr.strip()}", done.returncode or 7)
    return done.stdout


def program(name):
    path = os.path.join(BIN, name)
    if not os.path.exists(path):
        raise Failure(f"{path} is missing: build it (cmake --preset release; cmake --build "
                      f"--preset release)", 3)
    return path


def ort_run():
    """The path of ort-run, fetched and built if needed."""
    done = subprocess.run([os.path.join(ROOT, "scripts/bench/ort")], stdout=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        raise Failure("ONNX Runtime is not available", 5)
    return os.path.join(ROOT, done.stdout.strip())


def compile_model(model, target, *options):
    if (not os.path.exists(target) or os.path.getmtime(target) <
        newest([model, program("sluice-subgraph-optimize"), program("sluice-build")])):
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        run(program("sluice"), "compile", model, "-o", target, *options)
    return target


def newest(paths):
    return max(os.path.getmtime(path) for path in paths)


# ---- inputs --------------------------------------------------------------------------------------


def inputs_in(folder):
    """input name -> file, of a folder that scripts/models/make --inputs wrote."""
    return {name[:-4]: os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".npy")}


def random_inputs(model, folder):
    """Writes one normal float32 array for each input of a model whose dims are fixed."""
    os.makedirs(folder, exist_ok=True)
    graph = onnx.load(model, load_external_data=False).graph
    constants = {initializer.name for initializer in graph.initializer}
    files = {}
    for index, value in enumerate(value for value in graph.input if value.name not in constants):
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type != onnx.TensorProto.FLOAT or 0 in dims:
            raise Failure(f"input '{value.name}' of {model} is not float32 of fixed shape: give "
                          f"--inputs DIR", 3)
        files[value.name] = os.path.join(folder, f"{index}.npy")
        np.save(files[value.name],
                np.random.default_rng(index).standard_normal(dims, dtype=np.float32))
    return files


def input_options(files):
    return [word for name, file in files.items() for word in ("--input", f"{name}={file}")]


# ---- measuring -----------------------------------------------------------------------------------


def bench_ort(ort, model, files, threads, runs):
    return json.loads(run(ort, model, *input_options(files), "--threads", threads, "--bench", runs))


def bench_sluice(compiled, files, threads, runs=20, loader=None):
    """What a loader's --bench measured; inputs without a file are random. Default: this build's."""
    words = [loader or program("sluice-loader"), compiled, "--bench", "--json",
             f"--threads={threads}", f"--runs={runs}", *input_options(files)]
    return json.loads(run(*IN_A_SHELL, *words))


def interleaved(ort, model, compiled, files, threads, rounds, runs):
    """Both sides' medians and their ratio (Sluice's time divided by ONNX Runtime's: below 1 is
    faster), plus the last reports and the share of host_cpu in the bytes of all tasks' operands."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(bench_sluice(compiled, files, threads, runs))
        theirs.append(bench_ort(ort, model, files, threads, runs))
    pairs = [a["median_ms"] / b["median_ms"] for a, b in zip(ours, theirs)]
    return {
        "model": os.path.basename(model).removesuffix(".onnx"),
        "threads": threads,
        "sluice_ms": statistics.median(report["median_ms"] for report in ours),
        "ort_ms": statistics.median(report["median_ms"] for report in theirs),
        "ratio": statistics.median(pairs),
        "ratio_low": min(pairs),
        "ratio_high": max(pairs),
        "sluice_load_ms": statistics.median(report["load_ms"] for report in ours),
        "ort_load_ms": statistics.median(report["load_ms"] for report in theirs),
        "sluice_rss_mb": ours[-1]["peak_rss_mb"],
        "ort_rss_mb": theirs[-1]["peak_rss_mb"],
        "host_cpu_share": ours[-1]["host_cpu_bytes"] / max(1, ours[-1]["operand_bytes"]),
    }


def print_comparison(rows):
    table(rows, [("model", "{}"), ("threads", "{}"), ("sluice_ms", "{:.3f}"), ("ort_ms", "{:.3f}"),
                 ("ratio", "{:.3f}"), ("ratio_low", "{:.3f}"), ("ratio_high", "{:.3f}"),
                 ("sluice_load_ms", "{:.1f}"), ("ort_load_ms", "{:.1f}"),
                 ("sluice_rss_mb", "{:.0f}"), ("ort_rss_mb", "{:.0f}"),
                 ("host_cpu_share", "{:.3f}")])


def table(rows, columns):
    cells = [[name for name, _ in columns]] + [[form.format(row[name]) for name, form in columns]
                                               for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))), flush=True)


def number_from(low, kind=int):
    """A type of arguments: numbers from `low` on."""
    def number(text):
        value = kind(text)
        if not value >= low:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {low} on")
        return value
    return number


def json_path(text):
    """A type of arguments: a file to write, in a folder that is there."""
    folder = os.path.dirname(os.path.abspath(text))
    if not os.access(folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"{folder} cannot be written")
    return text


def write_json(path, content):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")


# ---- comparing outputs ---------------------------------------------------------------------------


def outputs_in(folder):
    """file name -> array, of what ort-run, sluice-eval or sluice-loader wrote."""
    return {name: np.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
            if name.endswith(".npy")}


def difference(ours, reference):
    """(max|a-b| / max|b|, std(b) / max|b|), both infinite when shapes differ or something is not
    finite."""
    if (ours.shape != reference.shape or not np.isfinite(ours).all() or
        not np.isfinite(reference).all()):
        return float("inf"), float("inf")
    scale = np.abs(reference).max(initial=0.0) or 1.0
    wide = reference.astype(np.float64)
    return float(np.abs(ours - wide).max(initial=0.0) / scale), float(wide.std() / scale)
