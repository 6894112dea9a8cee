// A guess at what a size will be, for plans that are right for every size but best for one.
#pragma once

#include "common/symbolic/expression.h"

namespace sluice {

constexpr int64_t kNominalBatch =
    4;  // of a symbol that is the first dim of an input, mostly a batch
constexpr int64_t kNominalSize = 128;  // of others

// At least 1; symbols count as these, within what is known of them.
int64_t nominal_value(const ExpressionTable& expressions, ExpressionId id);

}  // namespace sluice
