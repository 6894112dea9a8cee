"""Runs a model through the Python module. argv[1]: the program that writes the model."""

import os
import subprocess
import sys
import tempfile
import types

import numpy

import sluice

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "m.om")
    subprocess.run([sys.argv[1], path], check=True)
    with sluice.Model(path, verify_weights=True) as model:
        assert [b.name for b in model.inputs] == ["x"] and model.outputs[0].dims == (2, 3)
        run = model.run(threads=2)
    for use in (model.run, model.bound_parts, lambda: model.limit_bound_parts(3)):
        try:
            use()
            raise SystemExit("a closed model was used")
        except ValueError as error:
            assert str(error) == "the model is closed"
    assert repr(model.inputs[0]).startswith("<x: "), model.inputs
    x = numpy.arange(6, dtype="f4").reshape(2, 3)
    assert numpy.array_equal(run(x=x)["y"], x)
    assert numpy.array_equal(run(x=(x * 2).tobytes())["y"], x * 2)
    for given in (x.astype(">f4"), x.tolist(), [[0, 1, 2], [3, 4, 5]]):
        assert numpy.array_equal(run(x=given)["y"], x)
    for given, dtype in ((x.astype("f8"), "float64"), (x.astype("i4"), "int32"),
                         ((x + 1j).tolist(), "complex128")):
        try:
            run(x=given)
            raise SystemExit(dtype + " was accepted")
        except TypeError as error:
            assert str(error) == "input 'x' takes float32, got " + dtype, error
    try:
        run(x=numpy.zeros((3, 2), "f4"))
        raise SystemExit("wrong dims were accepted")
    except sluice.Error as error:
        assert error.code == 7004

def outcome(dtype, data):
    """What an input of an ONNX dtype makes of it: numbers, or what the error says was given."""
    try:
        array = sluice._to_array(types.SimpleNamespace(name="i", dtype=dtype), data)
        assert array.shape == numpy.shape(data) and array.flags.c_contiguous
        return array.dtype.name, array.tolist()
    except sluice.ArgumentError as error:
        return str(error).split("got ")[1]


U8, I64, BOOL, F16, U64, BF16 = 2, 7, 9, 10, 13, 16
assert outcome(I64, [1, -2]) == ("int64", [1, -2])
assert outcome(I64, 7) == ("int64", 7)
assert outcome(I64, []) == ("int64", [])
assert outcome(I64, numpy.arange(4)[::2]) == ("int64", [0, 2])
assert outcome(I64, [2**63]) == "numbers that it cannot hold"
assert outcome(U64, [2**63]) == ("uint64", [2**63])
assert outcome(U8, [255, 0]) == ("uint8", [255, 0])
assert outcome(U8, [256]) == outcome(U8, [-1]) == "numbers that it cannot hold"
assert outcome(F16, [1, 2.5, True]) == ("float16", [1, 2.5, 1])
assert outcome(BF16, numpy.array([0x3F80], "u2")) == ("uint16", [0x3F80])
for dtype, data in (
    (I64, numpy.array([1.0])), (I64, [1.5]), (I64, numpy.array([1], "i4")), (I64, numpy.float32(1)),
    (I64, numpy.zeros(0)), (I64, ["1"]), (BOOL, [1]), (U8, numpy.array([1], "i1")),
    (F16, numpy.array([1], "f4")), (BF16, [1.0]), (BF16, numpy.array([1], "f4")), (I64, [2**64]),
):  # fmt: skip
    assert outcome(dtype, data) in (
        "float64", "float32", "int64", "int32", "int8", "str32", "object",
    ), (dtype, data)  # fmt: skip

try:
    sluice.Model("/nowhere.om")
    raise SystemExit("a missing file was opened")
except sluice.Error as error:
    assert error.code == 1004 and "/nowhere.om" in str(error)
