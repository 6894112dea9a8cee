"""Small models mean the same at every level of optimisation: sluice-eval of sluice-optimize at O0,
O1 and O3."""
import os
import subprocess
import sys
import tempfile

import numpy as np

BIN = sys.argv[1]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(program, *arguments):
    subprocess.run([os.path.join(BIN, program), *arguments], check=True, stdout=subprocess.DEVNULL)


def outputs(folder, model, level):
    graph, results = os.path.join(folder, f"{model}.{level}.sg"), os.path.join(folder,
                                                                               f"{model}.{level}")
    run("sluice-optimize", f"--opt-level={level}", os.path.join(folder, f"{model}.sg"), "-o", graph)
    run("sluice-eval", graph, "--input", f"input={folder}/{model}.0/input.npy", "--output-dir",
        results)
    return np.load(os.path.join(results, "output.npy"))


def check(folder, model):
    subprocess.run([os.path.join(ROOT, "scripts/models/make"), "-o", folder, "--inputs", model],
                   check=True, stdout=subprocess.DEVNULL)
    run("sluice-preprocess", os.path.join(folder, f"{model}.onnx"), "-o",
        os.path.join(folder, f"{model}.sg"))
    wanted = outputs(folder, model, "O0")
    assert wanted.std() > 1e-2 * abs(wanted).max(), f"{model}: the outputs do not vary"
    for level in ("O1", "O3"):
        error = abs(outputs(folder, model, level) - wanted).max()
        assert error <= 1e-5 * abs(wanted).max(), f"{model} at {level}: off by {error}"


with tempfile.TemporaryDirectory() as scratch:
    for name in ("tiny-mlp", "tiny-conv"):
        check(scratch, name)
