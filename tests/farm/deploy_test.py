#!/usr/bin/python3
"""The units and the manifest of scripts/deploy: systemd takes them, what the manifest mounts is
there, and the options are those of the programs.

usage: deploy_test.py FOLDER_OF_PROGRAMS [unittest arguments]
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

import yaml

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "deploy")


class DeployTest(unittest.TestCase):
    def options_of(self, verb):
        text = subprocess.run([os.path.join(self.programs, "sluice-" + verb), "--help"],
                              capture_output=True, text=True, check=True).stdout
        return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M))

    def check_options(self, verb, words):
        given = {word.split("=")[0] for word in words if word.startswith("--")}
        self.assertTrue(given)
        self.assertLessEqual(given, self.options_of(verb))

    def test_units(self):
        for verb in ("farm", "worker"):
            path = os.path.join(FOLDER, f"sluice-{verb}.service")
            with open(path, encoding="utf-8") as file:
                command = re.search(r"^ExecStart=\S+ (\w+) (.*)$", file.read(), re.M)
            self.assertEqual(command.group(1), verb)
            self.check_options(verb, command.group(2).split())
            if shutil.which("systemd-analyze") is None:
                continue
            done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True,
                                  text=True)
            faults = [line for line in (done.stdout + done.stderr).splitlines()
                      if f"sluice-{verb}.service" in line and "is not executable" not in line]
            self.assertEqual(faults, [])

    def test_manifest(self):
        with open(os.path.join(FOLDER, "sluice-farm.yaml"), encoding="utf-8") as file:
            objects = list(yaml.safe_load_all(file))
        self.assertEqual([one["kind"] for one in objects], ["Service", "StatefulSet", "Deployment"])
        for one in objects[1:]:
            spec = one["spec"]
            pod = spec["template"]["spec"]
            self.assertEqual(spec["selector"]["matchLabels"],
                             spec["template"]["metadata"]["labels"])
            claims = [claim["metadata"] for claim in spec.get("volumeClaimTemplates", [])]
            volumes = {volume["name"] for volume in pod["volumes"] + claims}
            for container in pod["containers"]:
                mounts = container["volumeMounts"]
                self.assertEqual({mount["name"] for mount in mounts}, volumes)
                self.assertEqual(container["command"][0], "sluice")
                self.check_options(container["command"][1], container["args"])
                paths = [mount["mountPath"] for mount in mounts]
                for word in container["args"]:
                    value = word.split("=")[1]
                    if value.startswith("/"):
                        self.assertTrue([p for p in paths if (p + "/").startswith(value + "/") or
                                         value.startswith(p)], word)
        ports = {port["port"] for port in objects[0]["spec"]["ports"]}
        self.assertEqual(ports, {5555, 9464})


if __name__ == "__main__":
    DeployTest.programs = sys.argv[1]
    unittest.main(argv=sys.argv[1:])
