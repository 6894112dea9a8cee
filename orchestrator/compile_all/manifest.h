// The manifest of sluice-compile-all: which models are compiled, with which options.
//
//   {"options": {"profile": "cpu-avx2"},                    of every compile; may be absent
//    "compiles": [{"model": "a.onnx", "output": "a.om", "options": {"dim": ["N=1", "S=128"]}}],
//    "matrix": {"models": ["b.onnx"], "dims": [["N=1"], ["N=8"]], "profiles": ["cpu-generic"],
//               "options": [{}, {"math": "high_precision"}],
//               "output": "{model}-{dims}-{profile}-{options}.om"}}
//
// Options have the names and values of sluice compile; a list repeats one, true is a flag. Those of
// a compile take the place of the common ones. Paths are relative to the manifest's folder.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "orchestrator/compile/compile.h"

namespace sluice {

// Returns the compiles in the manifest's order, those of the matrix last. output_folder: where
// outputs go instead of the manifest's folder; empty: there. Errors: kNotFound, kBadJson, and
// kBadOption, which name the place in the manifest: an unknown member, an option that sluice
// compile does not know or that belongs on the command line, and two compiles with one output.
Result<std::vector<CompileRequest>> read_manifest(const std::string& path,
                                                  const std::string& output_folder);

}  // namespace sluice
