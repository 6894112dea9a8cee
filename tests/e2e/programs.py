"""The programs that a test of the end-to-end suite runs."""
import os
import sys

STAGES = ["preprocess", "optimize", "partition", "subgraph-optimize", "build"]


def need(folder, names):
    """The absolute folder of programs; ends the test as skipped when one of `names` (without "sluice-") is not there."""
    folder = os.path.abspath(folder)
    missing = [name for name in names if not os.path.exists(os.path.join(folder, "sluice-" + name))]
    if missing:
        print("SKIPPED: not built: " + ", ".join(missing))
        sys.exit(77)
    return folder
