# Runs a compiled model on ones: python3 run.py MODEL [SIZE]. Its first input is of f32 and the only
# one; open dims of it get SIZE, which is 1 unless given, and need numpy.
import array
import sys

import sluice

with sluice.Model(sys.argv[1]) as model:
    x = model.inputs[0]
    ones = array.array("f", [1]) * (x.bytes // 4)
    if -1 in x.dims:
        import numpy
        size = int(sys.argv[2]) if len(sys.argv) > 2 else 1
        ones = numpy.ones([size if dim < 0 else dim for dim in x.dims], "f4")
    output = bytes(*model.run()(**{x.name: ones.tobytes() if x.bytes else ones}).values())
print(f"{len(output)} bytes, the first number is {array.array('f', output)[0]:.6g}")
