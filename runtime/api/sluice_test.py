"""Runs a model through the Python face. argv[1]: the program that writes the model."""

import os
import subprocess
import sys
import tempfile

import numpy

import sluice

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "m.om")
    subprocess.run([sys.argv[1], path], check=True)
    with sluice.Model(path, verify_weights=True) as model:
        assert [b.name for b in model.inputs] == ["x"] and model.outputs[0].dims == (2, 3)
        run = model.run(threads=2)
    x = numpy.arange(6, dtype="f4").reshape(2, 3)
    assert numpy.array_equal(run(x=x)["y"], x)
    assert numpy.array_equal(run(x=(x * 2).tobytes())["y"], x * 2)
    try:
        run(x=numpy.zeros((3, 2), "f4"))
        raise SystemExit("wrong dims were accepted")
    except sluice.Error as error:
        assert error.code == 7004
try:
    sluice.Model("/nowhere.om")
    raise SystemExit("a missing file was opened")
except sluice.Error as error:
    assert error.code == 1004 and "/nowhere.om" in str(error)
