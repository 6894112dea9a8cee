// The rewrites of this stage that go through the pattern matcher; the table in pipeline.cc says
// what each does.
#pragma once

#include "common/base/options.h"
#include "common/base/result.h"
#include "common/ir/graph.h"

namespace sluice {

Result<bool> fold_batch_norm(Graph& root, const Options& options);
Result<bool> fuse_contraction_epilogue(Graph& root, const Options& options);
Result<bool> fuse_quantized_contraction(Graph& root, const Options& options);
Result<bool> fuse_transposed_operands(Graph& root, const Options& options);

}  // namespace sluice
