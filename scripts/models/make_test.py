#!/usr/bin/python3
"""The generators: the same bytes each time, other bytes for another seed, and graphs that ONNX's
own checker and inference accept."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

MAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make")
NAMES = ["tiny-mlp", "tiny-conv", "mobilenet-v2", "shufflenet-v2", "yunet", "yolo"]
SIZED = ["large", "many-values"]


def make(folder, *options):
    subprocess.run([MAKE, *NAMES, "-o", folder, *options], check=True, stdout=subprocess.DEVNULL)
    return {name: open(os.path.join(folder, f"{name}.onnx"), "rb").read() for name in NAMES}


def check_sized(folder):
    """Exactly the nodes asked for; a tenth of `large` are contractions; ten values for each node of
    `many-values`."""
    for name in SIZED:
        command = [MAKE, name, "-o", folder, "--nodes", "1000"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        content = open(f"{folder}/{name}-1000.onnx", "rb").read()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert content == open(f"{folder}/{name}-1000.onnx",
                               "rb").read(), "the same seed gave another graph"
        graph = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(content),
                                                  check_type=True, strict_mode=True).graph
        assert len(graph.node) == 1000, f"{name} has {len(graph.node)} nodes"
        contractions = sum(node.op_type in ("Conv", "MatMul") for node in graph.node)
        assert name != "large" or 90 <= contractions <= 115, f"{contractions} contractions"
        assert name != "many-values" or 9500 <= sum(len(node.output)
                                                    for node in graph.node) <= 10500


def main():
    with tempfile.TemporaryDirectory() as folder:
        first = make(folder, "--inputs")
        inputs = [np.load(f"{folder}/tiny-conv.{seed}/input.npy") for seed in (0, 1)]
        assert inputs[0].shape == (1, 3, 17,
                                   15) and inputs[0].std() > 0.1 and not np.array_equal(*inputs)
        assert make(folder) == first, "the same seed gave other bytes"
        assert all(make(folder, "--seed", "2")[name] != first[name]
                   for name in NAMES), "another seed gave the same bytes"
        for content in list(first.values()) + list(make(folder, "--dynamic", "--opset",
                                                        "13").values()):
            model = onnx.load_model_from_string(content)
            onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        check_sized(folder)
        assert subprocess.run([MAKE, "no-such-model"], stderr=subprocess.DEVNULL).returncode == 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
