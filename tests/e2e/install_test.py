#!/usr/bin/python3
"""What `cmake --install` leaves works from anywhere: programs, library, Python module, pages.

The tree is installed below a folder with a blank in its name and moved before anything of it runs;
what runs has an empty environment and another working directory. The runtime is a tree of its own,
without the compiler.

usage: install_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import glob
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import pages_test
from programs import STAGES, need

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
INSTALL = os.path.join(ROOT, "scripts", "install")
PYTHON = "/usr/bin/python3"
EXAMPLES = os.path.join(INSTALL, "examples")
ANSWER = r"60 bytes, the first number is (-?\d\S*)\n"  # of the examples, on tiny-mlp
LIBRARY, PACKAGE = "lib/libsluice.so.0", "lib/python3/dist-packages/sluice"
RUNTIME_FILES = {LIBRARY, "lib/sluice/libsluice_host_cpu.so", "bin/sluice", "bin/sluice-loader"}


def run(*command, code=0, env=None, cwd="/"):
    """What the command prints; it must end with `code`. Without `env` its environment is empty."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env or {},
                          cwd=cwd)
    assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def install(build, prefix, *options):
    run(shutil.which("cmake"), "--install", build, "--strip", "--prefix", prefix, *options,
        env=os.environ)


class Install(unittest.TestCase):
    build = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        install(cls.build, cls.path("first place", "sluice"))
        os.rename(cls.path("first place"), cls.path("second place"))
        install(cls.build, cls.path("run time"), "--component", "runtime")
        cls.tree, cls.runtime = cls.path("second place", "sluice"), cls.path("run time")
        run(PYTHON, os.path.join(ROOT, "scripts", "models", "make"), "tiny-mlp", "--inputs",
            "-o", cls.folder, env=os.environ)
        cls.compiled, cls.walked = cls.path("tiny.om"), cls.path("walked.om")
        cls.compile(cls.compiled)
        cls.compile(cls.walked, "--static-model-ops-lower-limit=-1")  # opens the host_cpu library

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder, *names)

    @classmethod
    def compile(cls, product, *options):
        run(os.path.join(cls.tree, "bin", "sluice"), "compile", "-q", cls.path("tiny-mlp.onnx"),
            "-o", product, *options)

    def results(self, program, *arguments):
        folder = tempfile.mkdtemp(dir=self.folder)
        run(program, *arguments, "--input", "input=" + self.path("tiny-mlp.0", "input.npy"),
            "--output-dir", folder)
        with open(os.path.join(folder, "output.npy"), "rb") as file:
            return file.read()

    def test_programs_run_from_a_tree_that_moved(self):
        expected = self.results(os.path.join(self.build, "bin", "sluice-loader"), self.compiled)
        for tree in (self.tree, self.runtime):
            for model in (self.compiled, self.walked):
                self.assertEqual(self.results(os.path.join(tree, "bin/sluice"), "run", model),
                                 expected)

    def test_programs_find_each_other_through_a_link(self):
        link = self.path("a link")
        os.symlink(os.path.join(self.tree, "bin", "sluice"), link)
        self.addCleanup(os.remove, link)
        product = self.path("linked.om")
        run(link, "compile", "-q", self.path("tiny-mlp.onnx"), "-o", product)
        self.assertEqual(self.results(link, "run", product),
                         self.results(link, "run", self.compiled))
        self.assertIn("sluice 0", run(link, "--version"))

    def test_the_runtime_alone_says_what_is_missing(self):
        self.assertEqual(sorted(os.listdir(os.path.join(self.runtime, "bin"))),
                         ["sluice", "sluice-loader"])
        text = run(os.path.join(self.runtime, "bin", "sluice"), "compile", "x.onnx", code=3)
        self.assertIn("sluice-compiler", text)

    def example(self, model):
        text = run(PYTHON, os.path.join(EXAMPLES, "run.py"), model,
                   env={"PYTHONPATH": os.path.dirname(os.path.join(self.runtime, PACKAGE))})
        self.assertRegex(text, ANSWER)
        return text

    def test_python_finds_the_library(self):
        self.assertEqual(self.example(self.compiled), self.example(self.walked))

    def test_python_finds_the_library_beside_it(self):
        beside = self.path("library and package")
        shutil.copytree(os.path.join(self.runtime, PACKAGE), os.path.join(beside, "sluice"))
        shutil.copy(os.path.join(self.runtime, LIBRARY), beside)
        text = run(PYTHON, os.path.join(EXAMPLES, "run.py"), self.compiled,
                   env={"PYTHONPATH": beside})
        self.assertEqual(text, self.example(self.compiled))

    def test_python_says_that_the_library_is_missing(self):
        alone = self.path("package alone")
        shutil.copytree(os.path.join(self.runtime, PACKAGE), os.path.join(alone, "sluice"))
        text = run(PYTHON, "-c", "import sluice", code=1, env={"PYTHONPATH": alone})
        self.assertIn("install sluice-runtime", text)

    def test_packages_name_the_release_of_the_programs(self):
        release = run(os.path.join(self.runtime, "bin/sluice"), "--version").split()[-1]
        for file, line in (("pkgconfig/sluice.pc", f"Version: {release}"),
                           ("cmake/sluice/sluice-config-version.cmake",
                            f'set(PACKAGE_VERSION "{release}")')):
            with open(os.path.join(self.runtime, "lib", file), encoding="utf-8") as text:
                self.assertIn(line + "\n", text.read())

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_a_c_program_by_pkg_config(self):
        libraries = os.path.join(self.runtime, "lib")
        flags = run(shutil.which("pkg-config"), "--cflags", "--libs", "sluice",
                    env={"PKG_CONFIG_PATH": os.path.join(libraries, "pkgconfig")})
        run(shutil.which("cc"), "-std=c11", "-Wall", "-Werror", os.path.join(EXAMPLES, "run.c"),
            "-o", self.path("by-pc"), *shlex.split(flags), "-Wl,-rpath," + libraries,
            env=os.environ)
        for model in (self.compiled, self.walked):
            self.assertEqual(run(self.path("by-pc"), model), self.example(self.compiled))

    def test_a_c_program_by_cmake(self):
        cmake, made = shutil.which("cmake"), self.path("by cmake")
        run(cmake, "-S", EXAMPLES, "-B", made, "-DCMAKE_PREFIX_PATH=" + self.runtime,
            env=os.environ)
        run(cmake, "--build", made, env=os.environ)
        self.assertEqual(run(os.path.join(made, "run"), self.compiled),
                         self.example(self.compiled))

    def page_works(self, name):
        """The examples of a page, with the tree at a path as people have it: without a blank."""
        place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, place)
        prefix = os.path.join(place, "sluice")
        os.symlink(self.tree, prefix)
        os.symlink(PYTHON, os.path.join(place, "python3"))
        page = os.path.join(ROOT, "docs", name)
        with open(page, encoding="utf-8") as file:
            self.assertRegex(file.read(), pages_test.BLOCK)
        environment = {"HOME": self.folder, "SLUICE": os.path.abspath(ROOT), "PREFIX": prefix,
                       "PATH": ":".join([prefix + "/bin", place, os.environ["PATH"]]),
                       "PKG_CONFIG_PATH": os.path.join(prefix, "lib", "pkgconfig")}
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual([], pages_test.run_page(page, folder, environment))

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_the_examples_of_the_pages_work(self):
        for name in pages_test.ELSEWHERE:
            with self.subTest(page=name):
                self.page_works(name)

    def test_pages_are_installed_and_hints_name_them(self):
        pages = os.path.join(self.tree, "share", "doc", "sluice")
        self.assertEqual(sorted(name for name in os.listdir(pages) if name.endswith(".md")),
                         sorted(name for name in os.listdir(os.path.join(ROOT, "docs"))
                                if name.endswith(".md")))
        self.assertTrue(os.path.exists(os.path.join(pages, "pictures", "pipe.svg")))
        self.assertFalse(os.path.exists(os.path.join(self.runtime, "share", "doc", "sluice")))
        model = self.path("unsupported.onnx")
        self.save_unsupported(model)
        for folder, named in ((self.tree, pages + "/onnx-support.md"),
                              (self.build, "hint: docs/onnx-support.md")):
            self.assertIn(named, run(os.path.join(folder, "bin", "sluice"), "compile", model,
                                     "-o", self.path("no.om"), code=4))

    @staticmethod
    def save_unsupported(path):
        code = ("import sys; from onnx import TensorProto as T, helper as h, save; "
                "v = lambda name: h.make_tensor_value_info(name, T.FLOAT, [1]); "
                "save(h.make_model(h.make_graph([h.make_node('Nothing', ['x'], ['y'])], 'g', "
                "[v('x')], [v('y')])), sys.argv[1])")
        run(PYTHON, "-c", code, path, env=os.environ)

    def test_the_header_for_cpp_stands_alone(self):
        source = self.path("alone.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <sluice.hpp>\n")
        run(shutil.which("c++"), "-std=c++17", "-fsyntax-only",
            "-I" + os.path.join(self.runtime, "include"), source, env=os.environ)

    def test_the_library_exports_its_interface_alone(self):
        library = os.path.join(self.runtime, LIBRARY)
        symbols = run(shutil.which("nm"), "-D", "--defined-only", library, env=os.environ)
        names = [line.split()[-1] for line in symbols.splitlines()]
        with open(os.path.join(self.runtime, "include/sluice.h"), encoding="utf-8") as file:
            declared = re.findall(r"SLUICE_API [^;(]*?(sluice_\w+)\(", file.read())
        self.assertEqual(sorted(names), sorted(declared))
        self.assertEqual(os.readlink(os.path.join(self.runtime, "lib/libsluice.so")),
                         "libsluice.so.0")
        self.assertRegex(os.readlink(library), r"^libsluice\.so\.0\.\d+\.\d+$")
        self.assertRegex(run(shutil.which("objdump"), "-p", library, env=os.environ),
                         r"SONAME +libsluice\.so\.0\n")

    def test_the_runtime_needs_no_compiler(self):
        for name in RUNTIME_FILES:
            needed = run(shutil.which("ldd"), os.path.join(self.runtime, name), env=os.environ)
            self.assertNotRegex(needed, r"LLVM|onnx|libprotobuf\.so|libprotoc|docopt|not found",
                                name)
        for library in glob.glob(os.path.join(self.build, "lib", "libsluice*.so")):  # not stripped
            symbols = run(shutil.which("nm"), "-C", library, env=os.environ)
            self.assertNotRegex(symbols, r"docopt|google::protobuf::Descriptor", library)

    def test_the_runtime_is_small(self):
        size = sum(os.path.getsize(os.path.join(self.runtime, name))
                   for name in RUNTIME_FILES - {"bin/sluice"})
        self.assertLessEqual(size, 5_100_000)
        text = run(os.path.join(INSTALL, "requirements"), self.tree, env=os.environ)
        self.assertIn(f"libsluice, loader and host_cpu library: {size / 1e6:.2f} MB", text)
        self.assertRegex(text, r"runtime: glibc 2\.\d+; newer than 2\.31: ")


class Pages(unittest.TestCase):
    """Man pages and completion say what --help says."""

    build, tree = None, None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.tree = os.path.join(cls.folder, "tree")
        install(cls.build, cls.tree)
        cls.programs = sorted(os.listdir(os.path.join(cls.tree, "bin")))

    def options(self, program):
        """The options that lines of its help begin with."""
        text = run(os.path.join(self.tree, "bin", program), "--help")
        return re.findall(r"^ +(?:-\w, )?(--[\w-]+)", text, re.MULTILINE)

    def page(self, name):
        path = os.path.join(self.tree, "share/man/man1", name + ".1.gz")
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return file.read()

    def test_every_program_has_a_page_with_all_its_options(self):
        for program in self.programs:
            page = self.page(program).replace("\\-", "-")
            for option in self.options(program):
                self.assertRegex(page, rf"(?m)^\.B .*{option}\b", program)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"):
                self.assertIn(f".SH {section}\n", page, program)
        self.assertEqual(self.page("sluice-run"), self.page("sluice-loader"))
        self.assertIn(".SH NAME\nsluice\\-loader, sluice\\-run, sluice\\-bench \\- runs ",
                      self.page("sluice-run"))
        self.assertIn(".SH NAME\nsluice\\-check \\- says ", self.page("sluice-check"))

    @unittest.skipUnless(shutil.which("mandoc") or shutil.which("man"), "neither mandoc nor man")
    def test_pages_are_well_formed(self):
        for program in self.programs:
            file = os.path.join(self.folder, program + ".1")
            with open(file, "w", encoding="utf-8") as page:
                page.write(self.page(program))
            lint = ["mandoc", "-T", "lint", "-W", "error", file]
            if not shutil.which("mandoc"):
                lint = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file]
            done = subprocess.run(lint, capture_output=True, text=True, check=True)
            self.assertNotRegex(done.stdout + done.stderr, "(?i)mandoc|warning|error:", program)

    def complete(self, *words):
        """What bash offers for the last word."""
        script = os.path.join(self.tree, "share/bash-completion/completions", words[0])
        line = " ".join(shlex.quote(word) for word in words)
        code = (f"source {shlex.quote(script)}; COMP_WORDS=({line}) COMP_CWORD={len(words) - 1}; "
                f"_sluice {words[0]}; echo ${{COMPREPLY[*]}}")
        done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True,
                              check=True, env={"PATH": os.environ["PATH"]})
        return done.stdout.split()

    def test_bash_completes_verbs(self):
        self.assertEqual(self.complete("sluice", "comp"), ["compile", "compile-all"])
        self.assertEqual(self.complete("sluice", "pre"), ["preprocess"])
        self.assertIn("bench", self.complete("sluice", ""))

    def test_bash_completes_options(self):
        for program in self.programs:
            offered = [option.rstrip("=") for option in self.complete(program, "--")]
            self.assertLessEqual(set(self.options(program)), set(offered), program)
            self.assertLessEqual({"--help", "--version"}, set(offered), program)
        self.assertEqual(self.complete("sluice", "compile", "--dump"), ["--dump-dir="])
        self.assertEqual(self.complete("sluice", "bench", "--out"), ["--output-dir="])

    def test_bash_completes_values(self):
        self.assertEqual(self.complete("sluice-show", "--error-format", "=", "j"), ["json"])
        self.assertEqual(self.complete("sluice", "show", "--error-format", "="), ["text", "json"])
        self.assertEqual(self.complete("sluice", "show", "--error-format", "t"), ["text"])
        self.assertIn("/usr", self.complete("sluice", "compile", "--dump-dir", "=", "/us"))
        self.assertEqual(self.complete("sluice", "compile", "--threads", "=", ""), [])

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_reads_its_completion(self):
        file = os.path.join(self.tree, "share/zsh/vendor-completions/_sluice")
        self.assertEqual(run(shutil.which("zsh"), "-n", file, env=os.environ), "")
        with open(file, encoding="utf-8") as text:
            self.assertEqual(sorted(text.readline().split()), ["#compdef", *self.programs])


if __name__ == "__main__":
    Install.build = Pages.build = os.path.dirname(need(sys.argv.pop(1), ["compile", *STAGES]))
    with open(os.path.join(Install.build, "CMakeCache.txt"), encoding="utf-8") as cache:
        is_release = "CMAKE_BUILD_TYPE:STRING=Release\n" in cache.read()
    pages = os.path.join(Install.build, "scripts", "install", "pages.stamp")
    if not is_release or not os.path.exists(pages):
        print("SKIPPED: no release build of the target `programs`")
        sys.exit(77)
    unittest.main()
