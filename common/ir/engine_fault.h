// The reason why a text did not become an engine.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Returns what intern_engine() expected of a name for which it returned kNone.
std::string engine_fault(std::string_view name);

}  // namespace sluice
