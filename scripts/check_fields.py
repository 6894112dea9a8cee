"""Fields that only travel: parsed, copied, verified, compared by diff, printed, and read by nobody.
check_tree.py asks for them.

A name, option, annotation, member or field exists when something reads it. A read is an expression
like `node.placement.keep` in code that acts on it, so a variable of one of the types below is named
as RECEIVER says, and what merely carries fields along is in CARRIERS.
"""
import re

from file_kinds import is_bench, is_test

# struct -> header, how variables of it are called, the table of graph.fbs that holds the same
# fields (None: no file does).
STRUCTS = {
    "Placement": ("common/ir/placement.h", r"placement", "Placement"),
    "Kernel": ("common/ir/placement.h", r"kernel(?:\([^;{}]*?\))?", "Kernel"),
    "Storage": ("common/ir/type.h", r"storage(?:\(\))?", "Storage"),
    "DeviceProfile": ("common/target/profile.h", r"(?:\w*profile|machine)_?(?:\(\))?", None),
}
# messages of schemas/*.proto whose fields something must read. Those of people (statistics) are
# what they are for.
MESSAGES = ("schemas/model.proto", "schemas/farm.proto")
ANNOTATIONS, OPTIONS = "common/ir/annotation.cc", "common/base/options.cc"

# What build takes from a graph into a message is read there; that the loader reads the message is
# asked of the message.
EMITTERS = "stages/build/package/emit_"
# Code that carries fields along without acting on them. Neither do tests and benchmarks act.
CARRIERS = ("common/text/", "common/graphfile/", "common/tools/", "common/verify/", "common/ir/",
            "common/target/profile", "tests/", "common/omfile/verify_",
            EMITTERS)
# What the verifier compares a graph with, and nothing else could know.
FOR_VERIFIER = {"Placement.layouts": "how the operands lay that a kernel was made for"}
# Rows of graph.fbs that are a part of another field of the struct.
PARTS = {"Placement.is_stream_chosen": "stream_label", "Placement.wait_records": "waits"}
# What is reported to people is read by them, and is what these fields are for.
FOR_PEOPLE = {
    "NodeNamesDef.name": "names of nodes in reports",
}


def check_fields(files):
    """Every field, annotation, option and message of the tables above is read by code that acts on
    it."""
    code = "\n".join(without_digests(text) for path, text in files.items() if acts(path))
    emitters = "\n".join(without_digests(text) for path, text in files.items()
                         if path.startswith(EMITTERS))
    for struct, (header, receiver, table) in STRUCTS.items():
        if header not in files:
            continue
        fields = fields_of(files[header], struct)
        for field in fields:
            if f"{struct}.{field}" in FOR_VERIFIER:
                continue
            if not is_read(code, receiver, field) and not is_read(emitters, receiver, field):
                yield (f"{header}: nothing reads {struct}.{field}; what is only parsed, copied, "
                       f"verified and printed has no field")
        if table is not None:
            yield from check_table(files, table, fields, struct)
    yield from check_annotations(files)
    yield from check_options(files)
    for schema in MESSAGES:
        yield from check_messages(files, schema, code)


def acts(path):
    return (path.endswith((".cc", ".h")) and not path.startswith(CARRIERS) and
            not is_test(path) and not is_bench(path))


def without_digests(text):
    """A digest of a field keeps products apart and steers none. Comments read nothing."""
    return re.sub(r"//[^\n]*|\b(?:digest|hash)\w*\.add\([^;]*;", "", text)


def fields_of(text, struct):
    body = re.search(rf"^struct {struct} {{\n(.*?)^}};", text, re.M | re.S)
    lines = body.group(1).splitlines() if body else []
    found = (re.match(r"  [\w:<>, ]+? (\w+)(?: = [^;]*|\{[^;]*\})?;", line) for line in lines)
    return [match.group(1) for match in found if match]


def is_read(code, receiver, field):
    """`placement.keep` counts; `placement.keep = x`, `placement.names.push_back(x)` and
    `&placement.keep` do not."""
    written = r"(?!\s*=[^=]|\.(?:push_back|assign|emplace_back|clear)\b)"
    path = r"(?<![\w.>&])(?:[\w()\[\]*]+(?:\.|->))*"  # up to the receiver
    return re.search(rf"{path}{receiver}(?:\.|->){field}\b{written}", code) is not None


def check_table(files, table, fields, struct):
    """A field of graph.fbs without the mark `(deprecated)` is a field of the struct, and the other
    way round; but for those whose comment says that they are refused, which the reader looks at to
    refuse them."""
    schema = re.sub(r"//[^\n]*", "", files.get("schemas/graph.fbs", ""))
    body = re.search(rf"^table {table} {{([^}}]*)}}", schema, re.M)
    if body is None:
        return
    refused = re.findall(r"(\w+):[^;\n]*;[ ]*//[^\n]*\brefused\b",
                         files.get("schemas/graph.fbs", ""))
    living = [row for row, remaining in re.findall(r"(\w+):([^;]*);", body.group(1))
              if "(deprecated)" not in remaining and row not in refused]
    living = [row.removesuffix("_name") for row in living  # what the struct has as an id
              if PARTS.get(f"{table}.{row}") not in fields]
    for row in sorted(set(living) ^ set(fields)):
        yield (f"schemas/graph.fbs: {table}.{row} is not both there and in {struct}; mark "
               f"`(deprecated)` what nothing reads")


def check_annotations(files):
    """An annotation sets the field of a Placement that has its name."""
    if ANNOTATIONS not in files:
        return
    fields = fields_of(files["common/ir/placement.h"], "Placement")
    for name in re.findall(r'^ {4}\{"(\w+)", "[^"]*", ', files[ANNOTATIONS], re.M):
        if name not in fields:
            yield f"{ANNOTATIONS}: annotation '{name}' sets no field of that name of Placement"


def check_options(files):
    """An option of the table is asked for by a stage; the orchestrator only hands it on."""
    if OPTIONS not in files:
        return
    asking = "\n".join(text for path, text in files.items() if path.endswith((".cc", ".h")) and
                       not is_test(path) and not is_bench(path))
    for name in re.findall(r'OptionRow\{"([a-z-]+)"', files[OPTIONS]):
        # It is asked for by name, or a row of a table hands it to another program.
        if not re.search(rf'(?:\b(?:text|flag|integer|list|find)\(|== )"{name}"', asking) and (
                not re.search(rf'\{{"{name}", "[\w-]+"\}}', asking)):
            yield f"{OPTIONS}: nothing asks for option '{name}'"


def check_messages(files, schema, code):
    message = ""
    for line in files.get(schema, "").splitlines():
        if opening := re.match(r"(message|enum) (\w+)", line):
            message = opening.group(2) if opening.group(1) == "message" else ""
        for field in re.findall(r"[\w.]+ (\w+) = \d+;", line) if message else ():
            case = "k" + field.title().replace("_", "")  # of a oneof
            if (f"{message}.{field}" not in FOR_PEOPLE and
                not re.search(rf"(?:\.|->)(?:has_)?{field}(?:_size)?\(|::{case}:", code)):
                yield (f"{schema}: nothing reads {message}.{field}; make its number `reserved`, or "
                       f"read it")
