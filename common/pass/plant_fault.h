// Wrong edits on request, for tests of what finds them. Only in builds with SLUICE_FAULTS.
#pragma once

#include <string_view>

#include "common/base/result.h"
#include "common/ir/module.h"

namespace sluice {

// Changes the module so that its outputs have other values, when the environment variable
// SLUICE_FAULT names the pass that has run: PASS, or PASS:KIND with a kind of the table in
// plant_fault.cc. Returns whether it did. Compacts the module, so pointers become invalid. The same
// module gets the same edit. Errors: kBadOption when no edit of that kind gives a graph that
// verifies and has other values.
Result<bool> plant_fault(Module& module, std::string_view pass);

}  // namespace sluice
