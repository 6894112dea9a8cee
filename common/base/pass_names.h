// The names of the passes of all stages, for options that travel through them: a stage knows its
// own table of passes alone, and must know whether a name that is not there belongs to another
// stage.
#pragma once

#include <span>
#include <string_view>

namespace sluice {

struct PassName {
  std::string_view stage;  // "optimize"
  std::string_view name;   // "fuse-gelu"
};

std::span<const PassName> pass_names();
const PassName* find_pass_name(std::string_view name);

}  // namespace sluice
