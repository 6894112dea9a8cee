"""Builds programs of a build folder with some sources changed, without touching the sources:
changed copies are in a folder of their own that is searched for includes first, and their objects
come before the libraries, whose members they replace."""
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

    def compile(self, path, like=None):
        """Compiles a source, or its changed copy, with the command of the file `like`. Returns
        whether that succeeded, and what the compiler said."""
        words, old = self._compile_command(like or path)
        copy = os.path.join(self.folder, path)
        made = os.path.join(self.folder, path.replace("/", ".") + ".o")
        words[words.index("-o") + 1] = made
        words[words.index("-c") + 1] = copy if os.path.exists(copy) else os.path.join(ROOT, path)
        # A compiler cache does not see files that come earlier in the search for includes.
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True,
                              env={**os.environ, "CCACHE_DISABLE": "1"})
        library = re.sub(r"CMakeFiles/(\w+)\.dir/.*", r"lib\1.a", old)
        self.objects.append((made, library))
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

    def _compile_command(self, path):
        for line in self._commands("programs"):
            if re.search(rf"-c \S*/{re.escape(path)}(\s|$)", line):
                words = shlex.split(line)
                old = words[words.index("-o") + 1]
                for option in ("-MF", "-MT"):
                    at = words.index(option)
                    del words[at:at + 2]
                words.remove("-MD")
                if "-include" in words:  # precompiled headers have the sources' own tables
                    at = words.index("-include")
                    del words[at:at + 2]
                at = next(i for i, word in enumerate(words) if word.startswith(("-I", "-D", "-O")))
                words.insert(at, "-I" + self.folder)
                return words, old
        raise AssertionError(f"no program is made of {path}")
