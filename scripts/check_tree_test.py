#!/usr/bin/python3
"""check_tree.py finds what it is there to find, and nothing in a small clean tree."""
import sys

import check_fields
import check_local_names
import check_tree as check

PIPELINE = 'constexpr Pass kPasses[] = {\n    {"fold-pair", "folds a pair", fold_pair},\n};\n'
CLEAN = {
    "stages/optimize/pipeline.cc": PIPELINE, "stages/optimize/passes/passes.h": "Result<bool> "
    "fold_pair(Graph&, const Options&);\n", "stages/optimize/passes/fold_pair.cc": "Result<bool> "
    "fold_pair(Graph& graph, const Options&) {}\n", "tests/golden/optimize/fold-pair-twice.txt": "",
    "common/base/pass_names.cc": '    {"optimize", "fold-pair"},\n',
}


FIELDS = {
    "common/ir/placement.h": "struct Placement {\n  int32_t level = -1;  // of the user\n"
    "  std::string label;\n};\n",
    "common/ir/annotation.cc": 'constexpr Row kTable[] = {\n    {"level", "a number", set_level},\n'
    '};\n', "common/text/print.cc": "print(placement.level, placement.label);\n",
    "common/target/profile.h": "struct DeviceProfile {\n  int64_t l2_bytes = 1 << 20;\n};\n",
    "common/base/options.cc": 'OptionRow{"depth", kMeaning, "1", "how deep"},\n',
    "schemas/graph.fbs": "table Placement {\n  level:int = -1;  // of: the user;\n"
    "  label:int; speed:bool (deprecated);\n}\n", "schemas/model.proto": "message MemoryDef {\n"
    "  reserved 2;\n  uint64 arena_bytes = 1;\n}\n", "stages/partition/cut.cc":
    'if (node.placement.level == 1) use(placement.label, profile_.l2_bytes, '
    'options.integer("depth", 0, 9));\n', "runtime/loader/arena.cc": "map(memory.arena_bytes());\n",
}


def field_faults(path=None, old="", new=""):
    """Faults of FIELDS with one text replaced."""
    assert path is None or old in FIELDS[path]
    return list(check_fields.check_fields({**FIELDS, path: FIELDS[path].replace(old, new)} if path
                                          else FIELDS))


def check_that_unread_fields_are_found():
    """Somebody adds a field, and code that parses, copies, prints or verifies it: a fault until
    something acts on it."""
    reader, placement, profile = ("stages/partition/cut.cc", "common/ir/placement.h",
                                  "common/target/profile.h")
    assert field_faults() == []
    assert len(field_faults(reader, "node.placement.level == 1", "true")) == 1, "printed alone"
    assert field_faults(reader, "node.placement.level == 1",
                        "node.placement.level = 1"), "set alone"
    assert field_faults(reader, "node.placement.level == 1",
                        "read(&node.placement.level)"), "parsed alone"
    assert field_faults(reader, "node.placement.level == 1",
                        "true /* */)  // placement.level\n("), "a comment"
    assert field_faults(reader, "placement.label",
                        "digest.add(placement.label);"), "in a digest alone"
    assert field_faults(reader, "profile_.l2_bytes", "0"), "a member of profiles"
    for path in ("stages/partition/cut_test.cc", "stages/partition/testing/cuts.h",
                 "stages/partition/bench/cut.cc"):
        assert list(check_fields.check_fields({
            **FIELDS, reader: "", path: FIELDS[reader]})), f"read by {path} alone"
    assert field_faults(profile, "int64_t l2", "bool prefetch = false;\n"
                        "  int64_t l2"), "a new member of profiles"
    assert len(field_faults(placement, "  std::string label", "  bool fast = false;\n"
                            "  std::string label")) == 2, "a new field, in no file"
    assert field_faults("schemas/graph.fbs", " (deprecated)",
                        ""), "a field of files that nothing holds"
    assert field_faults("common/ir/annotation.cc", '{"level"', '{"precision", "f16", set_p},\n'
                        '    {"level"'), "an annotation without a field"
    assert field_faults(reader, 'options.integer("depth", 0, 9)',
                        "1"), "an option that nobody asks for"
    assert field_faults("schemas/model.proto", "reserved 2;",
                        "uint64 alignment = 2;"), "a field of a message"
    assert field_faults("runtime/loader/arena.cc", "memory.arena_bytes()",
                        "0"), "a field of a message whose reader went"


def link_faults(text):
    pages = {"README.md": text, "docs/a.md": "# A page\n\n## Two words, here\n",
             "docs/pictures/p.svg": ""}
    return [*check.check_links("README.md", pages), *check.check_paths("README.md", pages)]


def check_that_broken_links_are_found():
    assert link_faults("[a](docs/a.md) [b](docs) [c](https://example.org/x) [d](#top) "
                       "![p](docs/pictures/p.svg)\n# Top\n") == []
    assert link_faults("[a](docs/a.md#two-words-here)\n```\n[x](no.md)\n```\n"
                       "`[x](no.md)`\n") == [], "code is not followed"
    assert link_faults("\n[a](docs/b.md)\n") == ["README.md:2: link to docs/b.md, which does not "
                                                 "exist"]
    assert link_faults("[a](docs/a.md#three)"), "a heading that is not there"
    assert link_faults("[a](#docs)"), "a heading that is not on this page"
    assert link_faults("`docs/a.md` `docs/pictures/` `docs` `docs/NAME.md` `docs/<x>.md` "
                       "`out/docs/b.md`\n```\n`docs/b.md`\n```\n") == []
    assert link_faults("\n`docs/b.md`") == ["README.md:2: names docs/b.md, which does not exist"]
    assert link_faults("```\n# Top\n```\n[a](#top)"), "a comment of a code block is no heading"


def folder_faults(*folders):
    tour = ("`x/y`\n## The folders\n\n| folder | contains |\n|---|---|\n| `common/ir`, `testing` "
            "| graphs, as `z/z` has |\n| `stages/NAME` | stages |\n")
    return list(check.check_folders({"docs/tour.md": tour + "| `docs` | pages |\n", "README.md": "",
                                     **{f"{folder}/a.cc": "" for folder in folders}}))


def check_that_folders_without_a_row_are_found():
    assert folder_faults("common/ir", "stages/build", "stages/build/testing") == []
    assert folder_faults("common/eval") == ["docs/tour.md: the table of folders does not name "
                                            "common/eval"]
    for folder in ("x/y", "z/z", "common/ir/x", "stages/build/passes", "stages", "ir"):
        assert len(folder_faults(folder)) == 1, folder


def layer_faults(path, include):
    return list(check.check_layers(path, f'#include "{include}"\n'))


def pass_faults(**changes):
    """Faults of CLEAN with files replaced, or removed where the value is None; '__' stands for
    '.'."""
    files = dict(CLEAN)
    for key, text in changes.items():
        path = next(path for path in CLEAN if path.endswith(key.replace("__", ".")))
        files.pop(path) if text is None else files.update({path: text})
    return list(check.check_passes(files))


def check_that_style_is_checked():
    faults = lambda path, text: [*check.check_style(path, text)]
    assert faults("a.cc", "x" * 101 + "\n") and not faults("a.cc", "x" * 100 + "\n")
    assert faults("tests/a_test.py", "# " + "x" * 100 + "\n"), "a long line of Python"
    assert not faults("a_test.cc", 'R"(' + "x" * 200 + ')"\n'), "data of a test"
    for name in ("kMostNodes", "most_nodes", "Refusal", "is_sunk", "row_tail"):
        assert faults("a.cc", f"int {name};\n"), name
    assert not faults("a.cc", "// most of the rest\nint cache_ways, forest;\n"), "ordinary English"
    assert not faults("a.cc", 'text("most");\n'), "a string"
    assert faults("a.py", "most = 1\n") and not faults("a.py", '"""the most"""\nprint("rest")\n')
    assert faults("stages/build/a.cc", "int step;\n") and not faults("common/a.cc", "int step;\n")
    assert faults("a.cc", "// as a manner option\n") and faults("docs/a.md", "parts are sunk\n")
    for literal in ('node.find_attribute("axis")', 'call.int_attribute("axis", 0)',
                    'node.get(IntAttribute{"axis"})', 'node.set_attribute( "axis", 1)'):
        assert faults("common/a.cc", literal + ";\n"), literal
    for path in ("common/a_test.cc", "common/testing/a.h"):
        assert not faults(path, 'node.set_attribute("axis", 1);\n')


def check_that_equal_names_are_found():
    """Two files of a folder name something of their own alike."""
    faults = lambda one, two, path="common/ir/b.cc": list(check_local_names.check_local_names(
        {"common/ir/a.cc": "namespace sluice {\n" + one, path: "namespace sluice {\n" + two}))
    own = "namespace {\n%s\n}  // namespace\n"
    for text, name in (("int f(int a) { return a; }", "f"), ("struct S {\n  int a;\n};", "S"),
                       ("constexpr Row kRows[] = {{1, 2}, {3}};", "kRows"),
                       ("template <typename T, typename U = A<T>>\nvoid g(T* t) {}", "g"),
                       ("using M = std::map<int, std::function<void(int)>>;", "M"),
                       ("Result<std::vector<int>> h(const A<B>& a);", "h"),
                       ("constexpr int kA = f(0, 1), kOne = 1;", "kOne"),
                       ("enum { kTwo };", "kTwo"), ("constexpr int (*kF[])(int) = {f};", "kF"),
                       ("int k(R<void> (*f)(int&), int b = 0, S<D> a = {}) {}", "k"),
                       ("enum class E : uint8_t { kA };", "E"), ("const T t{1, {2}};", "t")):
        assert (f"common/ir/b.cc: '{name}' is also a name of common/ir/a.cc; files of a folder are "
                "compiled together, so their own names must differ") in faults(
                    own % text, own % text), text
        assert not faults(own % text, own % text, "common/ir/x/b.cc"), "another folder"
        assert not faults(own % text, own % text, "common/ir/a_test.cc"), "a test"
    assert not list(check_local_names.check_local_names(
        {f"common/ir/bench/{name}.cc": own % "int f();" for name in "ab"})), "programs"
    assert faults("static int f() {}", own % "int g() { return 1; }\nint f;"), "static"
    assert faults("constexpr int kA = 1;", own % "int kA;"), "a constant"
    assert not faults("int A::f() { int i = 1; }", "int B::f() { int i = 1; }"), "members"
    assert not faults("int f(int);\ninline constexpr int kA = 1;", own % "int f;\nint kA;")


def main():
    assert layer_faults("common/ir/graph.cc", "common/base/result.h") == []
    assert layer_faults("common/ir/graph.cc",
                        "common/pass/pass.h"), "a lower folder included a higher one"
    assert layer_faults("stages/build/link.cc",
                        "stages/partition/cut.h"), "a stage included another"
    assert layer_faults("orchestrator/compile/plan.cc",
                        "common/ir/graph.h"), "the orchestrator saw a graph"
    assert layer_faults("runtime/device/pool.cc", "common/eval/eval.h"), "the loader core saw eval"
    assert layer_faults("stages/build/link.cc", "runtime/device/device.h"), "a stage saw the device"
    assert layer_faults("common/ir/graph.cc",
                        "nlohmann/json.hpp"), "a header with one home was included elsewhere"
    assert layer_faults("common/ir/graph_test.cc",
                        "common/text/parser.h") == [], "a test may parse text"
    assert layer_faults("common/ir/testing/random.h",
                        "common/text/parser.h") == [], "what tests share may do the same"
    assert layer_faults("common/ir/graph.cc",
                        "common/ir/testing/random.h"), "a product included what tests share"
    for path in ("common/ir/graph_test.cc", "common/ir/bench/copy.cc", "tests/fuzz/graph.cc"):
        assert layer_faults(path, "common/ir/testing/random.h") == [], path
    assert layer_faults("nowhere/x.cc", "common/ir/graph.h"), "a folder without a row in the table"
    assert (list(check.check_words("a.cc", "// TO" "DO later\n")) and
            not list(check.check_words("a.cc", "// todo list of methods\n")))
    assert (list(check.check_words("a.sh", "cd /ho" "me/someone\n")) and
            not list(check.check_words("a.cc", '"common/work/x"\n')))
    assert list(check.check_size("x/main.cc", "\n" * 61)) and not list(check.check_size("x/main.cc",
                                                                                        "\n" * 60))

    check_that_equal_names_are_found()
    check_that_style_is_checked()
    check_that_unread_fields_are_found()
    check_that_broken_links_are_found()
    check_that_folders_without_a_row_are_found()
    assert pass_faults() == []
    assert pass_faults(fold_pair__cc=None), "no file"
    assert pass_faults(passes__h="\n"), "no declaration"
    assert pass_faults(twice__txt=None), "no test"
    assert pass_faults(fold_pair__cc="Result<bool> other(Graph&, const Options&) {}\n"), (
        "the file defines something else")
    assert pass_faults(pipeline__cc=PIPELINE.replace("fold_pair}",
                                                     "fold_two}")), "flag and function differ"
    assert pass_faults(pipeline__cc=PIPELINE.replace("fold-pair", "x").replace("fold_pair", "x")), (
        "a pass without a row")
    for wrong, name in (("optimize", "fold-two"), ("build", "fold-pair")):
        assert len(pass_faults(pass_names__cc=f'    {{"{wrong}", "{name}"}},\n')) == 2, (
            "the table of all names has another")
    return 0


if __name__ == "__main__":
    sys.exit(main())
