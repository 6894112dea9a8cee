"""main(): a program of the pipe made of passes; and where in a user's file something failed."""

import hashlib
import os
import sys
import traceback

from sluice.graph import _graph
from sluice.graph.errors import Error
from sluice.graph.passes import Context, pass_of

_collected = None  # in a stage: the list of the passes that main() was given

_HELP = """{doc}

Usage:
  {name} [options] [<in>]

Reads <in>, or standard input when it is absent or "-": a graph of any stage, and writes it with
what its passes changed: {passes}.

Options:
  -o FILE       Write to FILE instead of standard output.
  --why         Print for each pass where it matches, or why not, and write no graph.
  --node=NAME   With --why: only what a node or a value of this name belongs to.
  -h, --help    Print this text.
"""


class UsageError(Exception):
    pass


def place_of(problem, file):
    """The line of the user's file where an exception comes from: "mine.py:7"."""
    here = os.path.dirname(os.path.abspath(__file__))
    frames = traceback.extract_tb(problem.__traceback__)
    own = [f for f in frames if not os.path.abspath(f.filename).startswith(here)]
    frame = next((f for f in reversed(own) if os.path.abspath(f.filename) == file), None)
    frame = frame or (own[-1] if own else None)
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{os.path.basename(problem.filename)}:{problem.lineno}"
    return f"{os.path.basename(frame.filename)}:{frame.lineno}" if frame else os.path.basename(file)


def sentence_of(problem, file):
    """One line: "mine.py:7: ValueError: …", and a hint."""
    kind = "" if isinstance(problem, Error) else f"{type(problem).__name__}: "
    text = problem.message if isinstance(problem, Error) else str(problem)
    return f"{place_of(problem, file)}: {kind}{text}", getattr(problem, "hint", "")


def _options(arguments):
    options = {"in": "-", "out": "-", "why": False, "node": "", "help": False}
    left, inputs = list(arguments), []
    while left:
        word = left.pop(0)
        if word in ("-h", "--help"):
            options["help"] = True
        elif word == "--why":
            options["why"] = True
        elif word.startswith("--node="):
            options["node"] = word[7:]
        elif word in ("-o", "--node"):
            if not left:
                raise UsageError(f"{word} needs a value")
            options["out" if word == "-o" else "node"] = left.pop(0)
        elif word.startswith("-o") and not word.startswith("--"):
            options["out"] = word[2:]
        elif word.startswith("-") and word != "-":
            raise UsageError(f"there is no option {word}")
        else:
            inputs.append(word)
    if len(inputs) > 1:
        raise UsageError(f"one graph at a time, not {' '.join(inputs)}")
    options["in"] = (inputs or ["-"])[0]
    return options


def why_text(passes, module, node):
    """What sluice rules why says, of passes."""
    text = ""
    for each in passes:
        if not hasattr(each, "why"):
            text += f"{each.name}: its run() decides, so it has no pattern to explain\n"
            continue
        for rule, matches, reason, label, placed, lines in each.why(module, node):
            text += f"{rule}: {len(matches)} match{'' if len(matches) == 1 else 'es'}\n"
            text += "".join(f"  {match}\n" for match in matches)
            if not matches and reason:
                text += f"  nearest: {placed} of {lines} lines at {label or 'no node'}\n"
                text += f"  {reason}\n"
            elif not matches:
                text += "  there is no node with an op of its pattern\n"
    return text


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _fail(name, options, problem, file):
    message, hint = sentence_of(problem, file)
    return _graph.end_filter(name, options["out"], False, message, hint)


def main(*given):
    """Makes a program of the pipe of passes, or functions of a graph, and ends with its exit code.

    In a file of --pass it only says which passes the file has.
    """
    lists = [one if isinstance(one, (list, tuple)) else [one] for one in given]
    passes = [pass_of(each) for one in lists for each in one]
    if _collected is not None:
        _collected.extend(passes)
        return
    file = os.path.abspath(sys.argv[0])
    name = os.path.basename(file)
    try:
        options = _options(sys.argv[1:])
    except UsageError as problem:
        sys.exit(_graph.end_filter(name, "-", True, str(problem), f"try: {name} --help"))
    if options["help"]:
        doc = (sys.modules["__main__"].__doc__ or "A pass of graphs.").strip()
        names = ", ".join(each.name for each in passes)
        sys.stdout.write(_HELP.format(doc=doc, name=name, passes=names))
        sys.exit(0)

    def run(module):
        for each in passes:
            each.apply(module, Context(module))

    try:
        if options["why"]:
            sys.stdout.write(why_text(passes, _graph.read_graph(options["in"]), options["node"]))
            sys.exit(0)
        code = _graph.run_filter(name, options["in"], options["out"], _digest(file), run)
    except Exception as problem:  # of the pass, whatever it is
        code = _fail(name, options, problem, file)
    sys.exit(code)
