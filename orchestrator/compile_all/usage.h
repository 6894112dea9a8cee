// The help text of sluice-compile-all, which is also the grammar of its command line.
#pragma once

namespace sluice {

inline constexpr char kCompileAllUsage[] =
    R"(Compiles what a manifest lists: models times sizes, profiles and options. Equal compiles run
once, what the store has does not run, and a second run goes on where the first one was stopped.

Usage:
  sluice-compile-all [options] [--sbatch=WORD]... --store=DIR <manifest>
  sluice-compile-all (--help | --version)

Reads <manifest>, a JSON file; docs/farm.md:

  {"compiles": [{"model": "a.onnx", "output": "a.om", "options": {"dim": ["N=1"]}}],
   "matrix": {"models": ["b.onnx"], "dims": [["N=1"], ["N=8"]], "profiles": ["cpu-avx2"],
              "output": "{model}-{dims}-{profile}.om"}}

Options:
  --store=DIR            The store for all products; docs/cache.md. Who runs the jobs shares it.
  --remote=URL           A second store behind it, over http:// or https://, for whoever has no file
                         system in common. What is missing in DIR is taken from there, and what jobs
                         made is sent there.
  -o DIR                 Put compiled models below DIR instead of the manifest's folder.
  --provider=NAME        Who runs the jobs: local, processes of this machine; slurm; or the endpoint
                         of a farm, tcp://HOST:PORT or ipc://PATH [default: local].
  --key=FILE             For a farm: our own secret key, NAME.key of sluice farm keygen.
  --peer-key=FILE        For a farm: its public key, NAME.pub.
  --jobs=N               Processes at once, also for the imports, which run here with every
                         provider; 0 means one per usable core [default: 0].
  --threads=N            Worker threads of each process here; 0 means a share of the usable cores
                         [default: 0].
  --batch=N              Jobs of one task of Slurm [default: 10].
  --sbatch=WORD          One more word for sbatch, such as --partition=long. Repeatable.
  --priority=N           On a farm: before jobs of a lower priority [default: 0].
  --keep-going           Compile the others when one fails.
  --result=FILE          Write what became of each compile to FILE, as JSON.
  -q, --quiet            Errors alone.
  --error-format=FORMAT  text or json.
  --help                 Print this.
  --version              Print the release.

Prints a line for each compile: found, made or failed. Ends with the exit code of the first one of
the manifest that failed.
)";

}  // namespace sluice
