// Maps say nothing of the order of their keys: two are compared in an order of the keys' own.
#pragma once

#include "common/tensorfile/tensorfile.h"

namespace sluice {

// Keys and values of one map after another, each in an order that only its keys decide. Unchanged
// where a size does not fit.
std::vector<Tensor> in_key_order(const std::vector<Tensor>& maps);

}  // namespace sluice
