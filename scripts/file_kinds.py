"""What a C++ file is for, which its name or folder says; the checks of check_tree.py ask."""


def is_test(path):
    """A test beside its code, or in a folder `testing` what several tests share."""
    return path.endswith("_test.cc") or is_in(path, "testing")


def is_bench(path):
    """Each file of a folder `bench` is a program that prints what something costs."""
    return is_in(path, "bench")


def is_in(path, folder):
    return folder in path.split("/")[:-1]
