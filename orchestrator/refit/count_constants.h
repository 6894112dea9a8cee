// Counts the constants in which two compiled models of the same structure differ.
#pragma once

#include <cstddef>

#include "common/omfile/om_file.h"

namespace sluice {

struct ConstantCounts {
  size_t changed = 0;
  size_t kept = 0;
  bool are_all = true;  // whether all bytes of constants belong to the constants counted
};

// Compares the bytes of the constants that tasks read, each once. Those of nodes that run one by
// one have no entry in the description, and are not counted. Both models have the same structure
// (compare_models.h); reads the bytes up to the first that differs.
ConstantCounts count_constants(const OmFile& base, const OmFile& made);

}  // namespace sluice
