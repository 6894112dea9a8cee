// sluice-pass-host: the process that runs passes of users for a stage.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/passes_host/pass_sandbox.h"

namespace sluice {

struct HostRequest {
  int input = -1, output = -1;     // of serve_passes
  std::vector<std::string> files;  // programs, or Python and plugins
  PassLimits limits;
  bool confines_programs = false;  // they run in a sandbox
};

// Serves until the stage closes its end, or the process of Python or of plugins ends: then the
// stage gets an error that says how. Errors: those of serve_passes; kBadOption for programs beside
// others.
Result<void> run_host(const HostRequest& request);

// Returns the file and, for Python, every .py below its folder that an import names, and so on, one
// absolute path in a line. No code in it is run.
Result<std::string> listed_files(const std::string& file);

// Returns what a C++ compiler needs for a plugin: "-I… -L… -lsluice_compiler". Errors: kNotFound
// where the headers are not installed.
Result<std::string> plugin_flags();

}  // namespace sluice
