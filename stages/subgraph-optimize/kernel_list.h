// The text of --kernels: in each line the keys of kernels, and the graph file that wants them. The
// file comes last, so that blanks in its path mean nothing.
//
//   58a0… 9c31… split/1f00a9.sg       these kernels
//   split/2c44d0.sg                   without keys: which ones does it want?
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/digest.h"
#include "common/base/result.h"

namespace sluice {

struct KernelLine {
  size_t number = 0;  // of the line, from 1
  std::vector<Digest> keys;
  std::string graph;  // path
};

// name: of the text, for errors, which are kBadText with "name:line".
Result<std::vector<KernelLine>> parse_kernel_list(std::string_view text, const std::string& name);
std::string kernel_line_text(const KernelLine& line);

}  // namespace sluice
