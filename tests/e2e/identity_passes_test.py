#!/usr/bin/python3
"""Passes that change nothing, of each form and at each point, make the compiled models that no pass
makes: Python that looks at all, a pattern that declines, a program that copies, a plugin.

usage: identity_passes_test.py FOLDER_OF_PROGRAMS [--all] [unittest arguments]

--all: twelve models of scripts/models; otherwise the small ones of them.
"""
import os
import shutil
import subprocess
import sys
import unittest

from programs import STAGES, ProgramCase, bytes_of, import_sluice, need

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
POINTS = ["before-infer-shape", "after-infer-shape", "after-builtin-fusion", "after-optimize",
          "before-build", "after-assign-streams"]
SMALL = ["tiny-mlp", "tiny-conv", "two-lstms"]
MODELS = [*SMALL, "mlp", "detection-head", "four-answers", "encoder-pair", "mobilenet-v2", "yunet",
          "shufflenet-v2", "unet", "vit-base"]

LOOKS = """
from sluice.graph import Pass, main

class Looks(Pass):
    def run(self, graph, context):
        for node in graph.nodes:
            node.attributes, node.label, [value.type for value in node.outputs]
        context.module.verify() if context.has_types else None
        context.module.text()

main(Looks)
"""
DECLINES = """
from sluice.graph import PatternPass, main

class Declines(PatternPass):
    def patterns(self):
        return [f"match {{ %y = {op} }} outputs %y" for op in
                ("Add(%a, %b)", "MatMul(%a, %b)", "Relu(%a)", "Conv(%a, *)")]
    def replacement(self, inputs):
        return None

main(Declines)
"""
COPIES = "#!/bin/sh\nexec cat\n"
PLUGIN = """#include "common/passes_host/plugin.h"
namespace {
sluice::Result<bool> look(sluice::Graph& root) { return root.node_count() > (1u << 30); }
const sluice::PluginPass passes[] = {%s};
}  // namespace
extern "C" const SluicePlugin sluice_plugin = SLUICE_PLUGIN(passes);
"""


class Identity(ProgramCase):
    models = SMALL

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def plugin(self):
        rows = ", ".join(f'{{"look-{point}", "looks", "{point}", look}}' for point in POINTS)
        source = self.write("looks.cc", PLUGIN % rows)
        flags = self.done(0, "sluice-pass-host", "--flags").stdout.split()
        subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", source, *flags, "-o",
                        self.path("looks.so")], check=True)
        return self.path("looks.so")

    def own(self, forms, form, point):
        """A copy of a form's file for a point: rows have the names of files."""
        file = forms[form % len(forms)]
        copy = self.path(f"{point}-{os.path.basename(file)}")
        shutil.copy(file, copy)
        return copy

    def model(self, name):
        subprocess.run(["/usr/bin/python3", os.path.join(ROOT, "scripts/models/make"), name, "-o",
                        self.folder], check=True, capture_output=True)
        return self.path(name + ".onnx")

    def test_same_bytes(self):
        forms = [self.write("looks.py", LOOKS), self.write("declines.py", DECLINES),
                 self.write("copies.sh", COPIES)]
        if shutil.which("g++"):
            forms.append(self.plugin())
        for name in self.models:
            model = self.model(name)
            self.done(0, "sluice-compile", "-q", model, "-o", self.path("plain.om"))
            plain = bytes_of(self.path("plain.om"))
            for turn in range(len(forms)):
                chosen = [word for i, point in enumerate(POINTS)
                          for word in ("--pass", f"{point}={self.own(forms, i + turn, i)}")]
                self.done(0, "sluice-compile", "-q", model, *chosen, "-o", self.path("own.om"))
                self.assertEqual(bytes_of(self.path("own.om")), plain, f"{name} {chosen}")
            os.remove(model)


if __name__ == "__main__":
    ProgramCase.programs = need(sys.argv.pop(1), ["compile", "pass-host", *STAGES])
    import_sluice(ProgramCase.programs)
    if "--all" in sys.argv:
        sys.argv.remove("--all")
        Identity.models = MODELS
    unittest.main()
