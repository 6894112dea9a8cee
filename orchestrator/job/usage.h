// The help text of sluice-job, which is also the grammar of its command line.
#pragma once

namespace sluice {

inline constexpr char kJobUsage[] =
    R"(Runs jobs that are written down in a store: compiles of sluice compile-all, and kernels that
sluice-subgraph-optimize --kernels lists. A job may be run twice, at the same time or after it was
killed: its product is the same, and appears in the store when it is whole.

Usage:
  sluice-job [options] --store=DIR [<key>...]
  sluice-job (--help | --version)

Options:
  --store=DIR   The store, which every machine that runs jobs shares.
  --keys=FILE   Run also the jobs of these keys, one in a line.
  --remote=URL  A second store behind it, over http:// or https://. What is missing in DIR is taken
                from there, and what jobs made is sent there; docs/farm.md.
  --threads=N   Worker threads of each stage; 0 means one per usable core.
  --allow-passes  Run jobs with passes of users, which are code; docs/security.md.
  --sandbox     Run each stage in a sandbox; docs/security.md. A limit asks for it, too.
  --sandbox-memory=N      Most bytes of memory of a stage; those of the machine unless said
                          otherwise.
  --sandbox-seconds=N     Most seconds of processor time of a stage; 3600 unless said otherwise.
  --sandbox-file-bytes=N  Most bytes of a file that a stage writes; 16 GiB unless said otherwise.
  -q, --quiet   Errors alone.
  --help        Print this.
  --version     Print the release.

Prints a line for each job: found, made or failed. Ends with the exit code of the first that failed.
)";

}  // namespace sluice
