#!/usr/bin/python3
"""check_tree.py finds what it is there to find, and nothing in a small clean tree."""
import sys

import check_tree as check

PIPELINE = 'constexpr Pass kPasses[] = {\n    {"fold-pair", "folds a pair", fold_pair},\n};\n'
CLEAN = {
    "stages/optimize/pipeline.cc": PIPELINE,
    "stages/optimize/passes/passes.h": "Result<bool> fold_pair(Graph&, const Options&);\n",
    "stages/optimize/passes/fold_pair.cc": "Result<bool> fold_pair(Graph& graph, const Options&) {}\n",
    "tests/golden/optimize/fold-pair-twice.txt": "",
}


def layer_faults(path, include):
    return list(check.check_layers(path, f'#include "{include}"\n'))


def pass_faults(**changes):
    """Faults of CLEAN with files replaced, or removed where the value is None; '__' stands for '.'."""
    files = dict(CLEAN)
    for key, text in changes.items():
        path = next(path for path in CLEAN if path.endswith(key.replace("__", ".")))
        files.pop(path) if text is None else files.update({path: text})
    return list(check.check_passes(files))


def main():
    assert layer_faults("common/ir/graph.cc", "common/base/result.h") == []
    assert layer_faults("common/ir/graph.cc", "common/pass/pass.h"), "a lower folder included a higher one"
    assert layer_faults("stages/build/link.cc", "stages/partition/cut.h"), "a stage included another"
    assert layer_faults("orchestrator/compile/plan.cc", "common/ir/graph.h"), "the orchestrator saw a graph"
    assert layer_faults("runtime/device/pool.cc", "common/eval/eval.h"), "the loader core saw eval"
    assert layer_faults("stages/build/link.cc", "runtime/device/device.h"), "a stage saw the device"
    assert layer_faults("common/ir/graph.cc", "nlohmann/json.hpp"), "a header with one home was included elsewhere"
    assert layer_faults("common/ir/graph_test.cc", "common/text/parser.h") == [], "a test may parse text"
    assert layer_faults("nowhere/x.cc", "common/ir/graph.h"), "a folder without a row in the table"
    assert list(check.check_words("a.cc", "// TO" "DO later\n")) and not list(check.check_words("a.cc", "// todo list of methods\n"))
    assert list(check.check_words("a.sh", "cd /ho" "me/someone\n")) and not list(check.check_words("a.cc", '"common/work/x"\n'))
    assert list(check.check_size("x/main.cc", "\n" * 61)) and not list(check.check_size("x/main.cc", "\n" * 60))

    assert pass_faults() == []
    assert pass_faults(fold_pair__cc=None), "no file"
    assert pass_faults(passes__h="\n"), "no declaration"
    assert pass_faults(twice__txt=None), "no test"
    assert pass_faults(fold_pair__cc="Result<bool> other(Graph&, const Options&) {}\n"), "the file defines something else"
    assert pass_faults(pipeline__cc=PIPELINE.replace("fold_pair}", "fold_two}")), "flag and function differ"
    assert pass_faults(pipeline__cc=PIPELINE.replace("fold-pair", "x").replace("fold_pair", "x")), "a pass without a row"
    return 0


if __name__ == "__main__":
    sys.exit(main())
