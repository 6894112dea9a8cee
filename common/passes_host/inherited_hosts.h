// --pass-host: what a stage inherits that may start no process, but has passes of users to run.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace sluice {

// Descriptors of hosts that run, one for programs and one for Python and plugins; -1 for none.
struct InheritedHosts {
  int programs_to = -1, programs_from = -1, code_to = -1, code_from = -1;
  std::map<std::string, std::string, std::less<>> digests;  // of files by name
};
std::string print_inherited(const InheritedHosts& hosts);  // "4,5,-1,-1;mine=9ab1…"
Result<InheritedHosts> parse_inherited(std::string_view text);

}  // namespace sluice
