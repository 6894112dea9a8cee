// Plugins (plugin.h) that a process has opened.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/passes_host/plugin.h"
#include "common/passes_host/serve_passes.h"

namespace sluice {

// Opens a plugin, which stays open, and returns how its passes run: those of the point that is
// asked for, in the order of its record; an error lists its points if there are none. An exception
// of a pass is an error of that pass. Errors: kBadPlugin for a file that is no plugin, one of
// another ABI or release, and one with a pass that a plugin opened before has, too.
Result<RunPass> load_plugin(const std::string& path);

}  // namespace sluice
