// Options in a file, --options of sluice-compile:
//
//   {"compile options": {"global": {"profile": "cpu-avx2"}, "session": {"threads": "4"},
//                        "graph": {"--dim": "N=1"}}}
//
// They count like those of the command line, which win; of the file "graph" wins over "session",
// and that over "global".
#pragma once

#include <string>

#include "common/base/command_line.h"
#include "common/base/result.h"

namespace sluice {

// Adds the options of the file that --options names, if any. Other members beside "compile options"
// are for others. With --options-ignore-unknown an option that sluice-compile does not have, or not
// in a file, is a warning. Errors: kNotFound; kBadJson and kBadOption, which name file and key.
Result<void> take_option_file(CommandLine& line);

}  // namespace sluice
