"""Builds programs of a build folder with some sources changed, without touching the sources:
changed copies are in a folder of their own that is searched for includes first, and their objects
come before the libraries, whose members they replace. What is compiled is a unit, several files of
a folder (docs/building.md)."""
import os
import re
import shlex
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))


class Overlay:
    def __init__(self, build, folder):
        self.build, self.folder = os.path.realpath(build), folder
        self.objects = []  # (path of the object, library that has the same member)
        os.makedirs(os.path.join(folder, "bin"), exist_ok=True)

    def read(self, path):
        """The changed copy if there is one, else the source; empty when there is neither."""
        for root in (self.folder, ROOT):
            if os.path.exists(os.path.join(root, path)):
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    return file.read()
        return ""

    def write(self, path, text):
        target = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)

    def compile(self, paths):
        """Compiles the units of sources, or of their changed copies; a value of `paths`, a dict,
        names the source whose unit a new one joins. Returns whether that succeeded, and what the
        compiler said."""
        units = {}
        for path in paths:
            like = paths[path] if isinstance(paths, dict) else path
            units.setdefault(self._unit_of(like), []).append((path, like))
        done = [self._compile_unit(*unit, joined) for unit, joined in units.items()]
        return all(succeeded for succeeded, _ in done), "".join(text for _, text in done)

    def _compile_unit(self, unit, command, joined):
        words = shlex.split(command)
        library = re.sub(r"CMakeFiles/(\w+)\.dir/.*", r"lib\1.a", words[words.index("-o") + 1])
        for option in ("-MF", "-MT"):
            at = words.index(option)
            del words[at:at + 2]
        words.remove("-MD")
        at = next(i for i, word in enumerate(words) if word.startswith(("-I", "-D", "-O")))
        words.insert(at, "-I" + self.folder)
        made = os.path.join(self.folder, os.path.basename(unit) + f".{len(self.objects)}")
        new = [path for path, like in joined if path != like]
        with open(made + ".cc", "w", encoding="utf-8") as file:
            for path in [*sources_of(unit), *new]:
                copy = os.path.join(self.folder, path)
                chosen = copy if os.path.exists(copy) else os.path.join(ROOT, path)
                file.write(f'#include "{chosen}"\n')
        words[words.index("-o") + 1], words[words.index("-c") + 1] = made + ".o", made + ".cc"
        # A compiler cache does not see files that come earlier in the search for includes.
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True,
                              env={**os.environ, "CCACHE_DISABLE": "1"})
        self.objects.append((made + ".o", library))
        return done.returncode == 0, done.stderr

    def link(self, program):
        """Links the program with the objects made so far whose libraries it links."""
        last = self._commands("bin/" + program)[-1].split(" && ")
        words = shlex.split(next(part for part in last if f" -o bin/{program}" in part))
        words[words.index("-o") + 1] = self.program(program)
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        objects = [made for made, library in self.objects if library in words]
        subprocess.run(words[:first] + objects + words[first:], cwd=self.build, check=True)

    def program(self, name):
        return os.path.join(self.folder, "bin", name)

    def _commands(self, *targets):
        return subprocess.run(["ninja", "-C", self.build, "-t", "commands", *targets],
                              capture_output=True, text=True, check=True).stdout.splitlines()

    def _unit_of(self, path):
        """The unit that contains a source, and the command that compiles it."""
        for line in self._commands("programs"):
            unit = re.search(r" -c (\S+)", line)
            if unit and path in sources_of(os.path.join(self.build, unit.group(1))):
                return os.path.join(self.build, unit.group(1)), line
        raise AssertionError(f"no program is made of {path}")


def sources_of(unit):
    """The sources that a unit includes; of a source that is compiled alone, itself."""
    text = ""
    if "/Unity/" in unit and os.path.exists(unit):
        with open(unit, encoding="utf-8") as file:
            text = file.read()
    return [os.path.relpath(path, ROOT)
            for path in re.findall(r'^#include "(.*\.cc)"', text, re.M) or [unit]]
