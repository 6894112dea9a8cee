// The output of sluice-show for any kind of file.
#pragma once

#include <string>

#include "common/tools/tool_files.h"

namespace sluice {

struct ShowRequest {
  std::string format;  // text, json, dot or onnx; svg with schedule
  bool summary = false, check = false, header = false, loops = false;
  bool schedule = false, memory = false, explain = false, segments = false;
  // With check: the file that sluice-preprocess --propose-sizes wrote, or empty.
  std::string sizes;
  std::string trace;       // with schedule and svg: of a run, or empty
  std::string node = "*";  // with loops: the nodes, by name (fnmatch(3))
};

// Returns the output. Errors: kBadOption for a format or a view that this kind of file does not
// have; those of reading it.
Result<std::string> show_file(const InputBytes& input, const ShowRequest& request);

}  // namespace sluice
