"""Edits of the text of a scheduled graph, each of which breaks a rule of the schedule, or may.

A class is a function from a Text to its mutations, pairs (what was done, the text); all of them, in
a fixed order."""
import re

NAME = r'%(?:"[^"]*"|[\w./~-]+)'
PLACE = re.compile(rf"({NAME})(?::[^%]*?)? at b(\d+)((?: \+ [\w*]+)*)")
BUFFER = re.compile(r'^  buffer b(\d+) = (arena(?: "\w+")?|weights|input \d+|output \d+)'
                    r" bytes (\S+)"
                    r"(?: offset (\d+))?(?: live (.*?))?(?: held \[\d+, \d+\])?$", re.M)
MEMORY = re.compile(r'^  memory "(\w+)"(?: sub_memories \[([\d, ]+)\])?$', re.M)
RANGE = re.compile(r'"([\w.]+)" \[(\d+), (\d+)\]')
EVENTS = re.compile(r", (waits|records) = \[([\d, :]+)\]")


class Buffer:
    def __init__(self, match):
        self.id, self.memory = int(match[1]), match[2]
        self.size = match[3]
        self.bytes = int(match[3]) if match[3].isdigit() else None
        self.offset = int(match[4]) if match[4] else None
        self.span = match.span()
        self.ranges = [(name, int(first), int(last))
                       for name, first, last in RANGE.findall(match[5] or "")]

    def lives_with(self, other):
        first = max(min(r[1] for r in self.ranges), min(r[1] for r in other.ranges))
        return first <= min(max(r[2] for r in self.ranges), max(r[2] for r in other.ranges))


class Text:
    """The text of a scheduled graph, taken apart."""

    def __init__(self, text):
        self.text = text
        self.buffers = [Buffer(match) for match in BUFFER.finditer(text)]
        self.places = {match[1]: match for match in PLACE.finditer(text)}
        # Nodes of the graph that has the streams and buffers: its other lines have no place.
        self.nodes = [line for line in text.splitlines()
                      if " placement {" in line and (" at b" in line or ", stream = " in line)]
        self.tasks = [line for line in self.nodes if "_no_task" not in line]

    def with_span(self, span, new):
        return self.text[:span[0]] + new + self.text[span[1]:]

    def with_place(self, name, buffer, offset):
        match = self.places[name]
        start = match.start() + match[0].rindex(" at b")
        return self.with_span((start, match.end()), f" at b{buffer}" + offset)

    def buffer_of(self, name):
        return int(self.places[name][2])


def results_of(line):
    return re.findall(NAME, line.split(" = ", 1)[0]) if " = " in line else []


def node_of(line):
    """(op, operands)"""
    match = re.search(r" = (\w+)\(([^)]*)\)", line)
    return match[1], re.findall(NAME, match[2])


def pieces_of(text):
    """Lists of the values that are pieces of one whole."""
    found = []
    for line in text.nodes:
        op, operands = node_of(line)
        if "_no_task" in line and op in ("Concat", "Split"):
            names = operands if op == "Concat" else results_of(line)
            found.append([name for name in names if name in text.places])
    return found


# ---- classes


def shorten_lives(text):
    """A buffer's life is a step shorter; one of a single step is gone."""
    for buffer in text.buffers:
        for i, (name, first, last) in enumerate(buffer.ranges):
            for new in [(first + 1, last), (first, last - 1)] if first < last else [None]:
                ranges = [r for j, r in enumerate(buffer.ranges) if j != i or new]
                if new:
                    ranges[i] = (name, *new)
                line = text.text[slice(*buffer.span)].split(" live ")[0]
                rows = ", ".join(f'"{stream}" [{a}, {b}]' for stream, a, b in ranges)
                yield (f"b{buffer.id} lives {new} instead of {(first, last)}",
                       text.with_span(buffer.span, line + (" live " + rows if rows else "")))


def overlap_offsets(text):
    """A buffer of the arena lies on one that lives with it: at its place, or partly."""
    arena = [b for b in text.buffers if b.memory.startswith("arena") and b.offset is not None and
             b.ranges]
    for one in arena:
        for other in arena:
            if one is other or one.memory != other.memory or not one.lives_with(other):
                continue
            offsets = {other.offset}
            if one.bytes is not None and other.bytes is not None:
                end = (other.offset + other.bytes - 1) // 64 * 64
                begin = other.offset - (one.bytes - 1) // 64 * 64
                offsets |= {end} | ({begin} if begin >= 0 else set())
            for offset in sorted(offsets - {one.offset}):
                line = text.text[slice(*one.span)]
                yield (f"b{one.id} moves from {one.offset} to {offset}, onto b{other.id}",
                       text.with_span(one.span, line.replace(f" offset {one.offset}",
                                                             f" offset {offset}")))


def row_bytes(text, name):
    """Of the innermost dim that the value is stored in."""
    dims = re.search(r"\[([^\]]*)\]" + r"(?: bytes \d+)? at b\d+", text.places[name][0])
    last = dims[1].split(", ")[-1] if dims else "16"
    return 4 * int(last) if last.isdigit() else 64


def shift_pieces(text):
    """A piece lies 4 bytes, 64 bytes, a row or another piece's place beside its own."""
    for pieces in pieces_of(text):
        for name in dict.fromkeys(pieces):
            buffer, own = text.buffer_of(name), text.places[name][3]
            others = {text.places[other][3] for other in pieces} - {own}
            shifted = {own + f" + {step}" for step in (4, 64, row_bytes(text, name))}
            for offset in sorted(others | shifted):
                yield (f"{name} is at b{buffer}{offset or ' + 0'} instead of {own or '+ 0'}",
                       text.with_place(name, buffer, sum_of(offset)))


def sum_of(offset):
    """Adds the numbers of an offset: " + 64 + 4" is " + 68"."""
    terms = [term for term in offset.split(" + ") if term]
    number = sum(int(term) for term in terms if term.isdigit())
    words = [term for term in terms if not term.isdigit()]
    return "".join(f" + {term}" for term in [*([str(number)] if number else []), *words])


def point_elsewhere(text):
    """A value lies in another buffer, or where another value of its buffer does."""
    for name, match in text.places.items():
        buffer, own = int(match[2]), match[3]
        if text.buffers[buffer].memory not in ("arena", "weights"):
            continue
        for other in text.buffers:
            if other.id != buffer and other.memory == text.buffers[buffer].memory:
                yield f"{name} is at b{other.id}{own}", text.with_place(name, other.id, own)
                if own:
                    yield f"{name} is at b{other.id}", text.with_place(name, other.id, "")
        for offset in sorted({m[3] for m in text.places.values() if int(m[2]) == buffer} - {own}):
            yield f"{name} is at b{buffer}{offset}", text.with_place(name, buffer, offset)


def drop_copies(text):
    """A copy is gone and its readers read its operand, or a Concat or Split is no task any more.
    Lives follow: once those of the operand's buffer last as long as the copy's did."""
    for number, line in enumerate(text.tasks):
        op, operands = node_of(line)
        if op in ("Concat", "Split"):
            yield f"{results_of(line)[0]} is no task", without_task(text, number, line, line_of(
                line))
        elif op in ("MemCopy", "TransData") and operands[0] in text.places:
            result = results_of(line)[0]
            short = with_operand(without_task(text, number, line, ""), result, operands[0])
            yield f"{result} is not copied", short
            yield (f"{result} is not copied, its operand lives on",
                   lengthen(short, text.buffer_of(operands[0]),
                            text.buffers[text.buffer_of(result)].ranges))


def with_operand(made, old, new):
    """The text with another value in the place of `old`, in the graph that is scheduled."""
    begin = made.rindex("\ngraph ", 0, made.index("\n  stream "))
    end = made.index("\n}", begin)
    return (made[:begin] + re.sub(re.escape(old) + r"(?=[,)])", lambda _: new, made[begin:end]) +
            made[end:])


def line_of(line):
    """A node's line without a task."""
    gone = (r'(, kernel = \w+)?(, layouts = "[^"]*")?, stream = "[\w.]+"'
            r"(, (waits|records) = \[[^]]*\])*")
    return re.sub(gone, ", _no_task", line)


def without_task(text, number, line, new):
    """The text with another line in the place of a task's, whose number later tasks take."""
    made = text.text.replace(line + "\n", new + "\n" if new else "")

    def follow(match):
        first, last = int(match[2]), int(match[3])
        first, last = first - (first > number), last - (last >= number and last > 0)
        return f'"{match[1]}" [{min(first, last)}, {last}]'

    return BUFFER.sub(lambda match: RANGE.sub(follow, match[0]), made)


def lengthen(made, buffer, ranges):
    """Lets a buffer live as long as another one did, in a text that has a task less."""
    last = max((r[2] for r in ranges), default=0)

    def follow(match):
        return (match[0] if int(match[1]) != buffer else
                RANGE.sub(lambda r: f'"{r[1]}" [{r[2]}, {max(int(r[3]), last - 1)}]', match[0]))

    return BUFFER.sub(follow, made)


def confuse_memories(text):
    """A buffer is of another class of memory, a sub-memory is too small, gone, or ends within a
    buffer; a node names another class."""
    memories, begin = {match[1]: match for match in MEMORY.finditer(text.text)}, 0
    for buffer in text.buffers:
        line = text.text[slice(*buffer.span)]
        for name in memories:
            if buffer.memory.startswith("arena ") and buffer.memory != f'arena "{name}"':
                yield (f"b{buffer.id} is of {name}",
                       text.with_span(buffer.span, line.replace(buffer.memory, f'arena "{name}"')))
    for name, match in memories.items():
        if match[2] is None:
            continue
        first, *others = (int(number) for number in match[2].split(", "))
        inside = {b.offset - begin + step for b in text.buffers if b.memory == f'arena "{name}"'
                  for step in range(64, b.bytes or 0, 64)}
        lists = [[first - 512, *others], others]
        lists += [[at, first - at, *others] for at in range(64, first, 64) if at in inside]
        begin += sum(map(int, match[2].split(", ")))
        for numbers in lists:
            listed = f" sub_memories [{', '.join(map(str, numbers))}]" if numbers else ""
            yield (f"{name} has sub-memories {numbers}",
                   text.with_span(match.span(), f'  memory "{name}"{listed}'))
    for line in text.tasks if memories else []:
        for name in memories:
            if " at b" in line and f'memory_class = "{name}"' not in line:
                made = re.sub(r', memory_class = "\w+"', "", line)
                made = made.replace(", stream =", f', memory_class = "{name}", stream =')
                if name != next(iter(memories)) or "memory_class" in line:
                    yield f"{results_of(line)[0]} is of {name}", text.text.replace(line, made)


def confuse_events(text):
    """A wait is dropped, an event renumbered, recorded by nobody or waited for elsewhere."""
    lists = list(EVENTS.finditer(text.text))
    count = sum(match[1] == "records" for match in lists)
    for match in lists:
        events = match[2].split(", ")
        for i, event in enumerate(events):
            others = [*events[:i], *events[i + 1:]]
            remainder = f", {match[1]} = [{', '.join(others)}]" if others else ""
            yield f"no {match[1]} of {event}", text.with_span(match.span(), remainder)
            for other in range(count + 1):
                if str(other) not in events:
                    new = [*events[:i], str(other), *events[i + 1:]]
                    yield (f"{match[1]} {other} instead of {event}", text.with_span(
                        match.span(), f", {match[1]} = [{', '.join(new)}]"))
    for event in range(count):
        yield f"event {event} is gone", without_event(text.text, event)


def without_event(text, gone):
    """The text without an event; later ones are renumbered."""
    def follow(match):
        left = []
        for each in match[2].split(", "):
            event, *record = each.split(":")
            if int(event) != gone:
                left.append(":".join([str(int(event) - (int(event) > gone)), *record]))
        return f", {match[1]} = [{', '.join(left)}]" if left else ""

    return EVENTS.sub(follow, text)


def event_list(line, what):
    """The numbers of waits, or records, in a task's line."""
    return next((m[2].split(", ") for m in EVENTS.finditer(line) if m[1] == what), [])


def with_events(line, what, events):
    """The line with another list of waits or records."""
    line = re.sub(rf", {what} = \[[^]]*\]", "", line)
    if not events:
        return line
    before = ("complete_after", "_no_task", "keep", "no_fold")
    if what == "waits":
        return re.sub(r'(, stream = "[^"]*")', rf"\1, waits = [{', '.join(events)}]", line)
    at = re.search(r", waits = \[[^]]*\]", line) or re.search(r', stream = "[^"]*"', line)
    assert not any(word in line for word in before)
    return line[:at.end()] + f", records = [{', '.join(events)}]" + line[at.end():]


def confuse_records(text):
    """A wait is for another record of its event."""
    for match in EVENTS.finditer(text.text):
        events = match[2].split(", ")
        for i, each in enumerate(events if match[1] == "waits" else []):
            event, record = (*each.split(":"), "1")[:2]
            for other in {int(record) + 1, int(record) - 1, 1, 1000} - {int(record)}:
                new = ", ".join([*events[:i], f"{event}:{other}", *events[i + 1:]])
                yield (f"waits for {event}:{other} instead of {each}",
                       text.with_span(match.span(), f", waits = [{new}]"))


def record_late(text):
    """A later task makes the record, maybe after those that wait for it."""
    for line in text.tasks:
        for event in event_list(line, "records"):
            remaining = [each for each in event_list(line, "records") if each != event]
            without = text.text.replace(line, with_events(line, "records", remaining))
            for later in text.tasks[text.tasks.index(line) + 1:]:
                if event not in event_list(later, "records"):
                    records = [*event_list(later, "records"), event]
                    yield (f"{results_of(later)[0]} records {event}, not {results_of(line)[0]}",
                           without.replace(later, with_events(later, "records", records)))


def exchange_order(text):
    """Two neighbours of a stream change places, with their waits and records or without."""
    for i, line in enumerate(text.tasks):
        stream = re.search(r', stream = "[^"]*"', line)[0]
        later = next((each for each in text.tasks[i + 1:] if stream in each), None)
        if later is None:
            continue
        first, second = results_of(line)[0], results_of(later)[0]
        moved = text.text.replace(line + "\n", "").replace(later + "\n", f"{later}\n{line}\n")
        yield f"{first} after {second}", moved
        moved = text.text.replace(later + "\n", "").replace(line + "\n", f"{later}\n{line}\n")
        yield f"{second} before {first}", moved
        for what in ("waits", "records"):
            one, other = event_list(line, what), event_list(later, what)
            if one != other:
                made = text.text.replace(line, with_events(line, what, other))
                yield (f"{what} of {first} and {second} exchanged",
                       made.replace(later, with_events(later, what, one)))


def move_splits(text):
    """A task runs in another stream."""
    streams = re.findall(r'^  stream ("[^"]*")$', text.text, re.M)
    for line in text.tasks:
        own = re.search(r', stream = ("[^"]*")', line)
        for stream in streams:
            if stream != own[1]:
                yield (f"{results_of(line)[0]} runs in {stream}", text.text.replace(
                    line, line.replace(own[0], f", stream = {stream}")))


def reuse_early(text):
    """Two events are one: what the second one's records and waits were is counted after those of
    the first, in the order of tasks."""
    ids = sorted({int(e) for line in text.tasks for e in event_list(line, "records")})
    for first in ids:
        for second in ids:
            if first != second:
                yield (f"event {second} is event {first}",
                       without_event(joined_events(text, first, second), second))


def joined_events(text, first, second):
    made, count = {}, 0
    seen = {first: 0, second: 0}
    for line in text.tasks:  # the records of both, in the order of tasks
        for event in map(int, event_list(line, "records")):
            if event in seen:
                seen[event] += 1
                count += 1
                made[event, seen[event]] = count
    result = text.text
    for line in text.tasks:
        waits = []
        for each in event_list(line, "waits"):
            event, record = map(int, (*each.split(":"), "1")[:2])
            waits.append(f"{first}:{made.get((event, record), record)}" if event in seen else each)
        records = [str(first) if int(e) in seen else e for e in event_list(line, "records")]
        result = result.replace(line, with_events(with_events(line, "waits", waits), "records",
                                                  records))
    return result


CLASSES = {"life shortened": shorten_lives, "offsets overlap": overlap_offsets,
           "piece shifted": shift_pieces, "copy dropped": drop_copies,
           "pointed elsewhere": point_elsewhere, "events": confuse_events,
           "memory confused": confuse_memories, "record": confuse_records,
           "recorded late": record_late, "order exchanged": exchange_order,
           "split moved": move_splits, "reused early": reuse_early}
# Those that a schedule may have before memory is planned.
OF_STREAMS = ["events", "record", "recorded late", "reused early"]
