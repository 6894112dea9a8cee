"""Facts of a schedule that follow from others, told anew in its text: after which task views are
complete, which tasks hold the buffers of several streams, the bytes of the arena. An edit that
leaves them as they were is refused for them alone."""
import re

from schedule_mutators import MEMORY, Text, event_list, node_of, results_of

STREAM = re.compile(r'^  stream "([\w.]+)"$', re.M)
SYMBOL = re.compile(r"^symbol (\w+) = .* in \[\d+, (\d+)\]", re.M)
ARENA = re.compile(r"^  arena bytes \d+\n", re.M)
HELD = re.compile(r" held \[\d+, \d+\]$")
FACT = re.compile(r"(^  (?:arena|scratch) bytes |complete_after = | held \[\d+, )(\d+)(\n|, |\])",
                  re.M)
WIDER_ROWS = re.compile(r" of \w+\[[^]]*\]")


def followed(made):
    """The text with these facts as the others say."""
    return with_arena(with_held(with_completion(made)))


def with_completion(made):
    maker, position = {}, 0
    for line in Text(made).nodes:
        if "_no_task" not in line:
            last, position = position, position + 1
        else:
            op, operands = node_of(line)
            shown = operands if op == "Concat" else operands[:1]
            last = max((maker.get(name, -1) for name in shown), default=-1)
            new = re.sub(r"complete_after = \d+, ", "", line)
            if last >= 0:
                new = new.replace("_no_task", f"complete_after = {last}, _no_task")
            made = made.replace(line + "\n", new + "\n")
        maker.update((name, last) for name in results_of(line))
    return made


def done_before(tasks, streams):
    """For each task those that are done before it begins, by streams and events."""
    done, recorded = [], {}
    for i, line in enumerate(tasks):
        earlier = [j for j in range(i) if streams[j] == streams[i]][-1:]
        for wait in event_list(line, "waits"):
            event, record = (*wait.split(":"), "1")[:2]
            earlier += recorded.get(event, [])[int(record) - 1:][:1] if int(record) > 0 else []
        done.append(set(earlier).union(*(done[j] for j in earlier)))
        for event in event_list(line, "records"):
            recorded.setdefault(event, []).append(i)
    return done


def with_held(made):
    text = Text(made)
    names = STREAM.findall(made)
    streams = [re.search(r', stream = "([\w.]+)"', line) for line in text.tasks]
    if len(names) < 2 or not all(streams):
        return made
    streams = [match[1] for match in streams]
    done = done_before(text.tasks, streams)

    def knows(task, buffer):
        return all(any(other >= last and streams[other] == name for other in done[task])
                   for name, _, last in buffer.ranges)

    def held(buffer):
        last = needed = max(r[2] for r in buffer.ranges)
        for name in names:
            own = [i for i, stream in enumerate(streams) if stream == name]
            end = own[-1] + 1 if own else 0
            last = max(last, next((i for i in own if knows(i, buffer)), end) - 1)
        return f" held [{min(r[1] for r in buffer.ranges)}, {last}]" if last > needed else ""

    for buffer in reversed(text.buffers):
        line = HELD.sub("", made[slice(*buffer.span)])
        if buffer.memory.startswith("arena") and buffer.ranges:
            line += held(buffer)
        made = made[:buffer.span[0]] + line + made[buffer.span[1]:]
    return made


def with_arena(made):
    largest = {name: int(high) for name, high in SYMBOL.findall(made)}
    end = sum(int(number) for match in MEMORY.finditer(made) if match[2]
              for number in match[2].split(", "))
    for buffer in Text(made).buffers:
        if not buffer.memory.startswith("arena") or buffer.offset is None:
            continue
        size = eval(buffer.size, {"max": max, "min": min}, dict(largest))
        end = max(end, buffer.offset + (size + 63) // 64 * 64)
    made = ARENA.sub("", made)
    after = re.search(r"^  (scratch bytes|buffer b0 =) ", made, re.M)
    if not end or not after:
        return made
    return made[:after.start()] + f"  arena bytes {end}\n" + made[after.start():]


def wrong_facts(text):
    """One of these facts is another number, or gone; a value has another number of bytes."""
    for match in FACT.finditer(text.text):
        number, shown = int(match[2]), match[0].strip()
        for new in {number + 1, abs(number - 1)}:
            yield f"{shown} becomes {new}", text.with_span(match.span(2), str(new))
        yield f"no {shown}", text.with_span(match.span(), "")
    for match in WIDER_ROWS.finditer(text.text):
        yield f"not{match[0]}", text.with_span(match.span(), "")
    for name, match in text.places.items():
        yield f"{name} has 4 bytes", text.with_span((match.end(), match.end()), " bytes 4")
