"""Runs the passes of users for a stage: python3 -m sluice.graph.host INPUT OUTPUT FILE…

sluice-pass-host starts it; the stage asks over INPUT and gets answers over OUTPUT, two descriptors.
Files of Python are loaded here, plugins by libsluice_compiler.so.
"""

import importlib.util
import os
import sys

from sluice.graph import _graph, imports, program
from sluice.graph.passes import Context, Count, Pass, pass_of


class NoPass(Exception):
    """A file without a pass."""


def _own_passes(module):
    """The classes of passes that a file defines, for a file that does not call main()."""
    return [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Pass) and each.__module__ == module.__name__
    ]


def load(file):
    """The passes of a file: what it gives to main(), else the classes that it defines."""
    folder, name = os.path.dirname(file), os.path.splitext(os.path.basename(file))[0]
    before, program._collected = set(sys.modules), []
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        passes = program._collected or [pass_of(each) for each in _own_passes(module)]
    finally:
        program._collected = []  # main() within a pass does nothing
        sys.path.remove(folder)
        # Another file may have a module of the same name beside it.
        for each in set(sys.modules) - before:
            origin = getattr(sys.modules[each], "__file__", None) or ""
            if os.path.abspath(origin).startswith(folder + os.sep):
                del sys.modules[each]
    if not passes:
        raise NoPass("the file has no pass: give one to sluice.graph.main(), or define a class")
    return passes


def run(module, passes, point):
    """Runs passes on a module; what each did."""
    counts = []
    for each in passes:
        context = Context(module, point, each.name)
        edits = module.edits
        each.apply(module, context)
        done = int(module.edits != edits)
        counts += context.counts or [Count(each.name, done, done, "")]
    return [tuple(count) for count in counts]


def _refuse_others(files):
    """Lets Python open of the files' folders only what their digests cover."""
    known = {path for file in files if file.endswith(".py") for path in imports.files_of(file)}
    folders = tuple({os.path.dirname(file) + os.sep for file in files})
    # What Python searches, unless the file itself is there.
    libraries = tuple(path for path in (os.path.join(each, "") for each in sys.path)
                      if os.path.isabs(path) and not any(f.startswith(path) for f in folders))

    def look(event, arguments):
        if event != "open" or not isinstance(arguments[0], (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))
        is_other = path.startswith(folders) and path not in known
        if is_other and not path.startswith(libraries):
            raise PermissionError(
                f"'{path}' may not be opened: the digest of the pass covers its own file and the"
                " .py files that it imports"
            )

    sys.addaudithook(look)


def main():
    descriptors, files = [int(each) for each in sys.argv[1:3]], sys.argv[3:]
    sys.dont_write_bytecode = True
    loaded = {}

    def answer(module, file, point):
        try:
            if file not in loaded:
                loaded[file] = load(file)
            sys.path.insert(0, os.path.dirname(file))
            try:
                return run(module, loaded[file], point)
            finally:
                sys.path.pop(0)
                sys.stdout.flush()
        except BaseException as problem:  # of the user's code, whatever it is
            return program.sentence_of(problem, file)

    folders = [each for each in sys.path if os.path.isabs(each)]
    _refuse_others(files)
    _graph.enter_pass_sandbox(files, [*folders, sys.base_prefix, sys.prefix])
    _graph.serve_passes(*descriptors, answer)


if __name__ == "__main__":
    main()
