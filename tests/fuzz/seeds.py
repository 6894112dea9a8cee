#!/usr/bin/python3
"""Seeds of the fuzz targets and of mutate.py, made by our own programs: models, graphs of every
level, compiled models, texts, JSON.

usage: tests/fuzz/seeds.py --bin DIR FOLDER     (writes FOLDER/<kind>/..., a folder for each target)
"""
import argparse
import glob
import importlib
import os
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROFILE = "--profile=cpu-generic"
STAGES = ["preprocess", "optimize", "partition", "subgraph-optimize"]
# Kind of seed -> folders of fuzz targets that take it (scripts/check --fuzz).
TARGETS = {"onnx": ["onnx"], "typed": ["graph-file", "run-graph"], "partitioned": ["graph-file"],
           "lowered": ["graph-file", "run-graph"], "om": ["compiled-model", "bind-part"], "text":
           ["graph-text"], "scheduled": ["graph-file"], "schedule": ["graph-text"], "loops":
           ["loop-text"], "rules": ["rules"], "profile": ["profile"],
           "rewrites": ["rewrites"],
           "control": ["control"]}

RULES = """[
  {"scope": "encoder/*", "op": "Neg", "set": {"stage_level": 0, "no_fold": true}},
  {"op": "Softmax", "set": {"engine": "host_cpu", "keep": true}},
  {"op": "Re*", "node": "/r?lu*", "set": {"stream_label": "left", "parallel_group": 3}}
]
"""
REWRITES = """rule gemm {
  match   { %p = MatMul(%a, %b)  %y = Add(%p, %c) commuted }
  where   rank(%a) == 2 and users(%p) == 1
  replace { %y = Gemm(%a, %b, %c) }
}
rule gate {
  match   { %u = product(%x) {factor = alpha}  %s = Sigmoid(%u)  %y = product(%x, %s) }
  or      { %v = polynomial(%x) {coefficients = [0, 0.5]}  %s = Exp|Tanh(%v) shared
            %i = Identity(%s) optional  %y = Mul(%i, %x) }
  replace { %y = Swish(%x) {alpha = 1.0} }
}
rule exp-log {
  match   { %a = Exp(%x)  %b = Log(%a) }
  replace { %b = %x }
}
"""


def value(name, dims, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def model(name, nodes, inputs, outputs, constants=(), functions=(), opset=15):
    graph = helper.make_graph(nodes, name, inputs, outputs,
                              [numpy_helper.from_array(array, key) for key, array in constants])
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("own", 1)] if functions
                                                  else [])
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions))
    made.ir_version = 8
    return made


def control_flow():
    branches = [helper.make_graph([helper.make_node(op, ["x"], [op + "_y"], name=op)], op, [],
                                  [value(op + "_y", [2, 3])]) for op in ("Neg", "Abs")]
    body = helper.make_graph([helper.make_node("Add", ["s", "x"], ["s_next"]),
                              helper.make_node("Identity", ["c"], ["c_next"])],
                             "body", [value("i", [], TensorProto.INT64),
                                      value("c", [], TensorProto.BOOL), value("s", [2, 3])],
                             [value("c_next", [], TensorProto.BOOL), value("s_next", [2, 3])])
    nodes = [helper.make_node("If", ["flag"], ["y"], name="if", then_branch=branches[0],
                              else_branch=branches[1]),
             helper.make_node("Loop", ["trips", "", "y"], ["z"], name="loop", body=body)]
    return model("control", nodes, [value("x", [2, 3]), value("flag", [], TensorProto.BOOL)],
                 [value("z", [2, 3])], [("trips", np.array(3, np.int64))])


def shapes():
    nodes = [helper.make_node("Shape", ["x"], ["s"]),
             helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
             helper.make_node("Concat", ["n", "rest"], ["target"], axis=0),
             helper.make_node("Reshape", ["x", "target"], ["r"]),
             helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
             helper.make_node("Slice", ["t", "zero", "two"], ["c"]),
             helper.make_node("Pad", ["c", "pads"], ["p"]),
             helper.make_node("ReduceMean", ["p"], ["m"], axes=[1], keepdims=1),
             helper.make_node("Sub", ["p", "m"], ["d"]),
             helper.make_node("Expand", ["d", "wide"], ["y"]),
             helper.make_node("ConstantOfShape", ["two"], ["k"]),
             helper.make_node("Cast", ["k"], ["z"], to=TensorProto.FLOAT16)]
    constants = [("zero", np.array([0], np.int64)), ("two", np.array([2], np.int64)),
                 ("rest", np.array([-1], np.int64)), ("pads", np.array([0, 1, 0, 1], np.int64)),
                 ("wide", np.array([2, 2, 6], np.int64))]
    return model("shapes", nodes, [value("x", [4, 2, 3])],
                 [value("y", None), value("z", [2], TensorProto.FLOAT16)], constants)


def symbols():
    nodes = [helper.make_node("Shape", ["x"], ["s"]),
             helper.make_node("Reshape", ["w", "s"], ["r"], name="reshape"),
             helper.make_node("MatMul", ["x", "m"], ["h"], name="mul"),
             helper.make_node("Relu", ["h"], ["y"], name="/relu")]
    return model("symbols", nodes, [value("x", ["N", 4]), value("w", ["N", "M"])],
                 [value("y", ["N", 8]), value("r", None)],
                 [("m", np.arange(32, dtype=np.float32).reshape(4, 8))])


def many_ops():
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("MaxPool", ["r"], ["p"], name="pool",
                              kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("GlobalAveragePool", ["p"], ["g"], name="mean"),
             helper.make_node("Flatten", ["g"], ["f"], name="flat"),
             helper.make_node("Gemm", ["f", "m", "n"], ["d"], name="fc", transB=1),
             helper.make_node("Softmax", ["d"], ["s"], name="soft"),
             helper.make_node("Own", ["s"], ["y"], name="own", domain="own"),
             helper.make_node("TopK", ["d", "k"], ["v", "i"], name="top"),
             helper.make_node("Split", ["d"], ["a1", "a2"], name="split", axis=1),
             helper.make_node("Concat", ["a2", "a1"], ["q"], axis=-1)]
    own = helper.make_function("own",
                               "Own", ["a"], ["b"], [helper.make_node("Mul", ["a", "a"], ["t"]),
                                                     helper.make_node("Tanh", ["t"], ["b"])],
                               [helper.make_opsetid("", 15)])
    random = np.random.default_rng(3)
    constants = [("w", random.standard_normal((4, 2, 3, 3), np.float32)),
                 ("b", np.ones(4, np.float32)), ("m", random.standard_normal((6, 4), np.float32)),
                 ("n", np.zeros(6, np.float32)), ("k", np.array([2], np.int64))]
    outputs = [value("y", [1, 6]), value("v", [1, 2]), value("i", [1, 2], TensorProto.INT64),
               value("q", [1, 6])]
    return model("ops", nodes, [value("x", [1, 2, 6, 6])], outputs, constants, [own])


def strings():
    nodes = [helper.make_node("Einsum", ["x", "y"], ["e"], equation="ij,kj->ik"),
             helper.make_node("Where", ["c", "e", "e"], ["w"]),
             helper.make_node("QuantizeLinear", ["w", "s", "z"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
             helper.make_node("Resize", ["d4", "", "scales"], ["u"], mode="linear"),
             helper.make_node("Unsqueeze", ["d", "axes"], ["d4"]),
             helper.make_node("LSTM", ["seq", "lw", "lr"], ["h", "", ""], hidden_size=2),
             helper.make_node("CumSum", ["d", "axis"], ["t"])]
    random = np.random.default_rng(4)
    constants = [("s", np.array(0.5, np.float32)), ("z", np.array(3, np.uint8)),
                 ("c", np.array([[True, False, True]] * 2)),
                 ("scales", np.array([1, 1, 2, 2], np.float32)),
                 ("axes", np.array([0, 1], np.int64)), ("axis", np.array(1, np.int64)),
                 ("lw", random.standard_normal((1, 8, 3), np.float32)),
                 ("lr", random.standard_normal((1, 8, 2), np.float32))]
    outputs = [value("u", None), value("h", None), value("t", [2, 3])]
    return model("strings", nodes, [value("x", [2, 4]), value("y", [3, 4]),
                                    value("seq", [3, 1, 3])], outputs, constants)


def nested():
    """A Scan and an If in a Loop, which all capture; a size that the elements decide."""
    row = helper.make_graph([helper.make_node("Add", ["total", "row"], ["sum"]),
                             helper.make_node("Mul", ["sum", "scale"], ["out"])],
                            "rows", [value("total", [3]), value("row", [3])],
                            [value("sum", [3]), value("out", [3])])
    branches = [helper.make_graph([helper.make_node(op, ["s"], [op + "_s"])], op, [],
                                  [value(op + "_s", None)]) for op in ("Tanh", "Relu")]
    body = helper.make_graph(
        [helper.make_node("Scan", ["zeros", "s"], ["end", "rows"], body=row, num_scan_inputs=1),
         helper.make_node("If", ["flag"], ["chosen"], then_branch=branches[0],
                          else_branch=branches[1]),
         helper.make_node("Add", ["rows", "chosen"], ["s_next"]),
         helper.make_node("Identity", ["c"], ["c_next"])], "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("s", None)],
        [value("c_next", [], TensorProto.BOOL), value("s_next", None), value("end", None)])
    nodes = [helper.make_node("Loop", ["trips", "", "x"], ["y", "ends"], name="loop", body=body),
             helper.make_node("NonZero", ["y"], ["z"]),
             helper.make_node("Transpose", ["z"], ["zt"]),
             helper.make_node("GatherND", ["y", "zt"], ["found"])]
    return model("nested", nodes, [value("x", ["N", 3]), value("flag", [], TensorProto.BOOL)],
                 [value("ends", None), value("found", None)],
                 [("trips", np.array(2, np.int64)), ("zeros", np.zeros(3, np.float32)),
                  ("scale", np.full(3, 0.5, np.float32))])


def appended():
    """A few of the random graphs that e2e/random_graphs compares."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    random_graphs = importlib.import_module("random_graphs")
    made = {f"grown-{i}": random_graphs.RandomGraph("fuzz", i) for i in range(24)}
    return {name: random_graphs.model_of([graph]) for name, graph in made.items() if graph.outputs}


def classified():
    """A forest whose scores become maps."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    return importlib.import_module("classifiers").RandomForest(["no", "perhaps", "yes"], 1).model()


def pages():
    """Constants of a page and more, which --external-weight puts into files, of a part and of the
    root."""
    random = np.random.default_rng(5)
    nodes = [helper.make_node("MatMul", ["x", "m"], ["h"], name="mul"),
             helper.make_node("Relu", ["h"], ["r"], name="relu"),
             helper.make_node("NonZero", ["r"], ["at"], name="at"),
             helper.make_node("Gather", ["table", "at"], ["y"], name="rows")]
    return model("pages", nodes, [value("x", ["N", 32])], [value("y", None)],
                 [("m", random.standard_normal((32, 32), np.float32)),
                  ("table", random.standard_normal((40, 26), np.float32))])


def models():
    return {"control-flow": control_flow(), "shapes": shapes(), "symbols": symbols(), "ops":
            many_ops(), "mixed": strings(), "nested": nested(), "maps": classified(),
            "pages": pages(), **appended()}


def control_frames():
    """Messages of the farm (0), records of runs of stages (1) and failure headers (2), as
    control_fuzz.cc takes them; fields written by hand: no Python module of farm.proto is needed."""
    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    def frames(kind, *parts):
        return bytes([kind]) + b"".join(struct.pack("<H", len(part)) + part for part in parts)

    failure = (b"\x08\xeb\x07" + field(2, b"a file is damaged") + field(3, b"look again") +
               field(4, b"a.sg"))
    end = field(1, bytes(32)) + b"\x10\x03" + field(4, b"words")
    run = (b"option --opt-level=O3\nnames <stdin> /a.sg\nnames <stdout> /b.sg\n"
           b"reads --annotate " + 64 * b"0" + b" x.txt\nmakes --dump-dir d\n"
           b"\nmade.0 " + 64 * b"1" + b"\npath.0 --dump-dir d/x.txt\n")
    return {"heartbeat": frames(0, b"", field(1, b"")),
            "refused": frames(0, b"", field(2, failure)),
            "ended": frames(0, b"", field(6, field(2, end))),
            "stage": b"\x01" + run,
            "failure-header": b"\x02SLUICEFL" + bytes(120)}


def run(programs, name, *arguments):
    return subprocess.run([os.path.join(programs, "sluice-" + name), *arguments],
                          capture_output=True, timeout=300, check=False)


def graph_texts():
    """The inputs of golden tests that are textual graphs."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "*", "*.txt"))):
        with open(path, encoding="utf-8") as file:
            head = file.read().split("\n--- ")[0]
        text = "\n".join(line for line in head.splitlines() if not line.startswith("#")) + "\n"
        if text.startswith("sluice "):
            yield os.path.basename(os.path.dirname(path)) + "-" + os.path.basename(path)[:-4], text


def loop_texts():
    """The texts of loops in unit tests."""
    for path in sorted(glob.glob(os.path.join(ROOT, "common", "loop", "*_test.cc"))):
        with open(path, encoding="utf-8") as file:
            texts = re.findall(r'R"\((loops 1\n.*?)\)"', file.read(), re.DOTALL)
        for number, text in enumerate(texts):
            yield f"{os.path.basename(path)[:-3]}-{number}", text


def write(folder, kind, name, content):
    os.makedirs(os.path.join(folder, kind), exist_ok=True)
    path = os.path.join(folder, kind, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def move(path, folder, kind, name):
    os.makedirs(os.path.join(folder, kind), exist_ok=True)
    shutil.copyfile(path, os.path.join(folder, kind, name))


def compile_seeds(programs, folder, name, first, stages):
    """Every level that the model or graph reaches becomes a seed, and so does its text."""
    kinds = {"preprocess": "typed", "optimize": "typed", "partition": "partitioned",
             "subgraph-optimize": "lowered"}
    scratch = os.path.join(folder, "scratch")
    os.makedirs(scratch, exist_ok=True)
    current = first
    for stage in stages:
        made = os.path.join(scratch, f"{name}.{stage}.sg")
        # Constants inside: a seed must not point at a file of this folder.
        if run(programs, stage, "--segments=inline", *([PROFILE] if stage == "partition" else []),
               current, "-o", made).returncode != 0:
            return
        move(made, folder, kinds[stage], f"{name}.{stage}.sg")
        shown = run(programs, "show", made)
        if shown.returncode == 0 and len(shown.stdout) < 20000:
            write(folder, "text", f"{name}.{stage}.txt", shown.stdout)
        current = made
    build_seeds(programs, folder, name, current)


def build_seeds(programs, folder, name, lowered):
    """The schedule, its text if it is short, and the compiled model."""
    made = os.path.join(folder, "scratch", name + ".scheduled.sg")
    if run(programs, "build", "--segments=inline", "--stop-after=plan-memory", lowered, "-o",
           made).returncode == 0:
        move(made, folder, "scheduled", name + ".sg")
        shown = run(programs, "show", "--header", made)
        # Large constants are not in a text.
        is_whole = not re.search(rb"^(kernel|constant) .* sha256:", shown.stdout, re.M)
        if shown.returncode == 0 and is_whole and len(shown.stdout) < 20000:
            write(folder, "schedule", name + ".txt", shown.stdout)
    for kind in ("0", "1", "2") if name == "pages" else ("0",):
        made = os.path.join(folder, "scratch", name + ".om")
        if run(programs, "build", "--external-weight=" + kind, lowered, "-o",
               made).returncode == 0:
            move(made, folder, "om", name + (kind if kind != "0" else "") + ".om")


def scheduled_seeds(programs, folder):
    """Models whose values lie within others, from lowered texts and from models."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    schedules = importlib.import_module("schedules")
    scratch = os.path.join(folder, "scratch")
    for name, text in schedules.TEXTS.items():
        path = os.path.join(scratch, name.replace(" ", "-") + ".lowered")
        subprocess.run([os.path.join(programs, "sluice-as"), "-", "-o", path], check=True,
                       text=True, input="sluice 1 lowered after subgraph-optimize\n" + text + "\n")
        build_seeds(programs, folder, name.replace(" ", "-"), path)
    for name, (make, _) in schedules.MODELS.items():
        compile_seeds(programs, folder, name.replace(" ", "-"),
                      write(folder, "onnx", name.replace(" ", "-") + ".onnx",
                            make().SerializeToString()), STAGES)


def make_seeds(programs, folder):
    """FOLDER/<kind>/<file> for every kind of TARGETS. Deterministic."""
    for name, made in models().items():
        compile_seeds(programs, folder, name,
                      write(folder, "onnx", name + ".onnx", made.SerializeToString()), STAGES)
    scratch = os.path.join(folder, "scratch")
    subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "models", "make"), "-o", scratch,
                    "tiny-mlp", "tiny-conv"], check=True, stdout=subprocess.DEVNULL)
    for name in ("tiny-mlp", "tiny-conv"):
        move(os.path.join(scratch, name + ".onnx"), folder, "onnx", name + ".onnx")
        compile_seeds(programs, folder, name, os.path.join(folder, "onnx", name + ".onnx"), STAGES)
    scheduled_seeds(programs, folder)
    for name, text in graph_texts():
        path = write(folder, "text", name + ".txt", text.encode())
        made = os.path.join(scratch, name + ".sg")
        if run(programs, "as", path, "-o", made).returncode == 0:
            with open(path, encoding="utf-8") as file:
                level = file.readline().split()[2]
            move(made, folder, level, name + ".sg")
    for path in sorted(glob.glob(os.path.join(ROOT, "common", "target", "profiles", "*.json"))):
        move(path, folder, "profile", os.path.basename(path))
    for name, text in loop_texts():
        write(folder, "loops", name + ".txt", text.encode())
    write(folder, "rules", "rules.json", RULES.encode())
    write(folder, "rewrites", "rewrites.rules", REWRITES.encode())
    for name, content in control_frames().items():
        write(folder, "control", name, content)
    shutil.rmtree(scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "out", "release", "bin"))
    parser.add_argument("folder")
    options = parser.parse_args()
    kinds = os.path.join(options.folder, "kinds")
    make_seeds(os.path.abspath(options.bin), kinds)
    for kind, targets in TARGETS.items():
        for path in sorted(glob.glob(os.path.join(kinds, kind, "*"))):
            for target in targets:
                move(path, options.folder, target, os.path.basename(path))
    shutil.rmtree(kinds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
