"""Cases of one node, with all sizes of their inputs open: ONNX's test cases, nodes of com.microsoft
(microsoft_cases.py) and drawn ones (node_cases.py). A case is a folder as ONNX has them, with
model.onnx and test_data_set_0/input_0.pb, ...
"""
import glob
import json
import os
import shutil
import subprocess
import sys

import onnx
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "..", "e2e")]
import microsoft_cases  # noqa: E402 pylint: disable=wrong-import-position
import node_cases  # noqa: E402 pylint: disable=wrong-import-position
import node_cases_elementwise  # noqa: E402,F401 pylint: disable=wrong-import-position,unused-import
import node_cases_movement  # noqa: E402,F401 pylint: disable=wrong-import-position,unused-import
import node_cases_rows  # noqa: E402,F401 pylint: disable=wrong-import-position,unused-import

CASES = "/usr/share/libonnx-testdata/data/node"
DTYPES = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64,
          onnx.TensorProto.INT32, onnx.TensorProto.UINT8, onnx.TensorProto.INT8,
          onnx.TensorProto.BOOL, onnx.TensorProto.FLOAT16}


def is_simple(folder):
    """Whether the case has one node, whose inputs are tensors of numbers."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    kinds = [given.type.WhichOneof("value") for given in model.graph.input]
    dtypes = {given.type.tensor_type.elem_type for given in model.graph.input}
    return (len(model.graph.node) == 1 and set(kinds) == {"tensor_type"} and dtypes <= DTYPES and
            not any(a.HasField("g") for a in model.graph.node[0].attribute))


def simple_cases(cases, name="*"):
    folders = [path.rstrip("/") for path in sorted(glob.glob(os.path.join(cases, name, "")))]
    return [folder for folder in folders if is_simple(folder)]


def write_case(folder, model, fed):
    """A folder as ONNX has them. fed: inputs, by name."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for j, given in enumerate(model.graph.input):
        with open(os.path.join(data, f"input_{j}.pb"), "wb") as file:
            file.write(numpy_helper.from_array(fed[given.name], given.name).SerializeToString())
    return folder


def own_cases(folder, seed):
    """Writes a case of each operator of com.microsoft and of each that node_cases draws."""
    made = [write_case(os.path.join(folder, "microsoft_" + case.name), case.model(False),
                       case.fed()) for case in microsoft_cases.cases()]
    for index, op in enumerate(sorted(node_cases.DRAWERS)):
        case = node_cases.draw_case(op, index, seed)
        made.append(write_case(os.path.join(folder, "drawn_" + op), node_cases.model_of([case]),
                               case.feeds()))
    return made


def run_program(programs, name, *arguments):
    return subprocess.run([os.path.join(programs, "sluice-" + name), *arguments],
                          capture_output=True, text=True, timeout=300, check=False,
                          errors="replace")


def compile_open(programs, case, folder, engine=""):
    """FOLDER gets model.onnx with open sizes, typed.sg and model.om. False: some need known
    sizes. engine: what all nodes run on, the best for each when empty."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model = onnx.load(os.path.join(case, "model.onnx"))
    for given in model.graph.input:
        for axis, dim in enumerate(given.type.tensor_type.shape.dim):
            dim.dim_param = f"{given.name}_{axis}"
    for made in model.graph.output:
        made.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    first, typed, compiled = (os.path.join(folder, name)
                              for name in ("model.onnx", "typed.sg", "model.om"))
    onnx.save(model, first)
    rules = []
    if engine:
        rules = ["--annotate=" + os.path.join(folder, "rules.json")]
        with open(rules[0].split("=")[1], "w", encoding="utf-8") as file:
            json.dump([{"op": "*", "set": {"engine": engine}}], file)
    return all(run_program(programs, *words).returncode == 0 for words in (
        ("preprocess", first, "-q", "-o", typed),
        ("compile", first, "-q", *rules, "-o", compiled)))


def make_open_model(programs, case, folder, engine=""):
    """Like compile_open, and FOLDER also gets the inputs, input_0.pb, ... No folder is left where
    some need known sizes."""
    if not compile_open(programs, case, folder, engine):
        shutil.rmtree(folder)
        return False
    for path in glob.glob(os.path.join(case, "test_data_set_0", "input_*.pb")):
        shutil.copy(path, folder)
    return True
