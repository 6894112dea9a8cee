"""What the programs say with --help, as data: man pages and completion are made from it."""
import dataclasses
import os
import re
import subprocess

# "Options:", "Common options:", "Non-semantic options: they do not change the product."
OPTION_HEADING = re.compile(r"(?:[\w-]+ )?[Oo]ptions:( .*)?")
OPTION = re.compile(r"  (-\S+(?: [A-Z]+)?(?:, -\S+)?)(?:  +(.*))?")


@dataclasses.dataclass
class Option:
    term: str  # as printed: "-q, --quiet", "--dim=DIM"
    text: str  # its description, on one line

    def names(self):
        """[("--dim", "DIM")]; the second is "" when the option takes no value."""
        found = re.findall(r"(--?[\w-]+)[= ]?([A-Za-z]+)?", self.term)
        value = next((value for _, value in found if value), "")
        return [(name, value) for name, _ in found]

    def values(self):
        """The words that it takes, when its description begins with them: "text or json"."""
        value = self.names()[0][1]
        if value.islower():
            return [value]
        found = re.match(r"([\w-]+(?:, [\w-]+)* or [\w-]+)(?=[\s.:,]|$)", self.text)
        return re.split(r", | or ", found.group(1)) if found else []


@dataclasses.dataclass
class Section:
    heading: str
    blocks: list  # Option, or [lines] of a paragraph or of an indented block
    is_after_another: bool = True


class Help:
    """The help of one program."""

    def __init__(self, program, text):
        self.program = program
        self.sections = [Section("", [], is_after_another=False)]
        for line in text.splitlines():
            self._add(line)
        usage = next(section for section in self.sections if section.heading == "Usage:")
        self.usage = []
        for line in (line for block in usage.blocks for line in block):
            if line.startswith("   "):  # a long usage goes on in the next line
                self.usage[-1] += " " + line.strip()
            else:
                self.usage.append(line.strip())

    def _add(self, line):
        section = self.sections[-1]
        is_heading = re.fullmatch(r"\w+:", line) or OPTION_HEADING.fullmatch(line)
        option = OPTION.fullmatch(line) if OPTION_HEADING.fullmatch(section.heading) else None
        if is_heading:
            self.sections.append(Section(line, []))
        elif not line and section.heading:
            self.sections.append(Section("", []))  # what follows is of no section until it says so
        elif option:
            section.blocks.append(Option(option.group(1), option.group(2) or ""))
        elif line.startswith("   ") and section.blocks and isinstance(section.blocks[-1], Option):
            section.blocks[-1].text = f"{section.blocks[-1].text} {line.strip()}".strip()
        elif not line:
            section.blocks.append([])
        elif section.blocks and isinstance(section.blocks[-1], list):
            section.blocks[-1].append(line)
        else:
            section.blocks.append([line])

    def options(self):
        """All options, also those that only the usage names."""
        listed = [block for section in self.sections for block in section.blocks
                  if isinstance(block, Option)]
        known = {name for option in listed for name, _ in option.names()}
        named = re.findall(r"--[\w-]+", " ".join(line for line in self.usage if "-- " not in line))
        for name in dict.fromkeys(named):
            if name not in known:
                listed.append(Option(name, {"--help": "Print the help.",
                                            "--version": "Print the release."}.get(name, "")))
        return listed


def read(folder, program):
    return Help(program, _print(folder, program, "--help"))


def release(folder):
    """"0.1.0"."""
    return _print(folder, "sluice", "--version").split()[-1]


def verbs(folder):
    """{verb: (the program that it runs, what it does)}, from `sluice --help`."""
    table = _print(folder, "sluice", "--help").split("Verbs:")[1]
    rows = re.findall(r"^  ([\w-]+) +(\S.*)$", table, re.MULTILINE)
    return {verb: (_program_of(folder, verb), sentence) for verb, sentence in rows}


def _program_of(folder, verb):
    program = "sluice-" + verb
    if os.path.exists(os.path.join(folder, program)):
        return program
    return re.search(r"Usage:\n  (\S+)", _print(folder, "sluice", verb, "--help")).group(1)


def _print(folder, program, *arguments):
    done = subprocess.run([os.path.join(folder, program), *arguments], capture_output=True,
                          text=True, check=True, stdin=subprocess.DEVNULL)
    return done.stdout
