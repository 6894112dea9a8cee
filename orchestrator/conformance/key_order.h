// Sorts the keys of maps: maps have no order of keys, so two are compared in an order that only
// their keys decide.
#pragma once

#include "common/tensorfile/tensorfile.h"

namespace sluice {

// Returns keys and values of one map after another, each in an order that only its keys decide.
// Unchanged where a size does not fit.
std::vector<Tensor> in_key_order(const std::vector<Tensor>& maps);

}  // namespace sluice
