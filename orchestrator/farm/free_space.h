// Space for a store whose file system is full.
#pragma once

#include <string>

#include "orchestrator/farm/farm_log.h"

namespace sluice {

// When the file system of a store has hardly any space, deletes the half of the store that was used
// longest ago. What is deleted is made again, or asked for again, when it is wanted. Returns
// whether something was deleted.
bool free_space(const std::string& store, const FarmLog& log);

}  // namespace sluice
