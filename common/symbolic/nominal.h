// A guess at what a size will be, for plans that are right for every size but best for one.
#pragma once

#include "common/symbolic/expression.h"

namespace sluice {

// At least 1. A symbol that is the first dim of an input, mostly a batch, counts as 4, others as 128, within what is known of them.
int64_t nominal_value(const ExpressionTable& expressions, ExpressionId id);

}  // namespace sluice
