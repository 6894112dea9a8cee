# Runs a compiled model on ones: python3 run.py MODEL. Input and output are of f32.
import array
import sys

import sluice

with sluice.Model(sys.argv[1]) as model:
    ones = array.array("f", [1]) * (model.inputs[0].bytes // 4)
    output = bytes(*model.run()(**{model.inputs[0].name: ones.tobytes()}).values())
print(f"{len(output)} bytes, the first number is {array.array('f', output)[0]:.6g}")
