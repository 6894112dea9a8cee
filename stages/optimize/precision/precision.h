// The pass that gives nodes other dtypes; the table in pipeline.cc describes it.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> choose_precision(Graph& root, const Options& options);

}  // namespace sluice
