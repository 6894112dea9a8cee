// A guess of a size, for plans that are correct for every size but best for one.
#pragma once

#include "common/symbolic/expression.h"

namespace sluice {

constexpr int64_t kNominalBatch = 4;   // the first dim of an input, usually a batch
constexpr int64_t kNominalSize = 128;  // other symbols

// Returns the guess for a symbol, within what is known about it.
int64_t nominal_size(const Symbol& symbol);
// Returns at least 1. Symbols have the values above, limited by what is known about them.
int64_t nominal_value(const ExpressionTable& expressions, ExpressionId id);

}  // namespace sluice
