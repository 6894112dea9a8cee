#include "common/base/pass_names.h"

#include <algorithm>

namespace sluice {
namespace {

// The tables of the stages (stages/NAME/pipeline.cc), in their order; scripts/check compares them.
constexpr PassName kPassNames[] = {
    {"preprocess", "select-outputs"},
    {"preprocess", "normalize-zipmap"},
    {"preprocess", "infer-types"},
    {"preprocess", "normalize-dropout"},
    {"preprocess", "normalize-padding"},
    {"preprocess", "resolve-shapes"},
    {"optimize", "eliminate-dead-nodes"},
    {"optimize", "eliminate-identities"},
    {"optimize", "fold-requantization"},
    {"optimize", "fold-transpose-into-weights"},
    {"optimize", "decompose-quantized-product"},
    {"optimize", "fuse-quantized-contraction"},
    {"optimize", "split-attention-states"},
    {"optimize", "decompose-attention"},
    {"optimize", "decompose-flex-attention"},
    {"optimize", "decompose-cross-entropy"},
    {"optimize", "decompose-einsum"},
    {"optimize", "decompose-causal-convolution"},
    {"optimize", "decompose-max-pool"},
    {"optimize", "fold-constants"},
    {"optimize", "fold-reshape-chain"},
    {"optimize", "fold-transpose-chain"},
    {"optimize", "eliminate-common-subexpressions"},
    {"optimize", "defer-constants"},
    {"optimize", "fold-pad-into-conv"},
    {"optimize", "fold-batch-norm"},
    {"optimize", "fuse-softmax"},
    {"optimize", "fuse-attention"},
    {"optimize", "fuse-layer-normalization"},
    {"optimize", "fuse-rms-normalization"},
    {"optimize", "fuse-gelu"},
    {"optimize", "fuse-swish"},
    {"optimize", "fuse-hard-swish"},
    {"optimize", "fuse-mish"},
    {"optimize", "choose-precision"},
    {"optimize", "widen-convolution"},
    {"optimize", "decompose-transposed-convolution"},
    {"optimize", "fuse-contraction-epilogue"},
    {"optimize", "fuse-transposed-operands"},
    {"optimize", "fuse-elementwise"},
    {"optimize", "choose-formats"},
    {"optimize", "store-pieces"},
    {"partition", "split-stage-levels"},
    {"partition", "place-shapes-on-host"},
    {"partition", "split-shapes"},
    {"partition", "place-engines"},
    {"partition", "drop-formats"},
    {"partition", "cut-composites"},
    {"partition", "cut-subgraphs"},
    {"subgraph-optimize", "store-states-in-place"},
    {"subgraph-optimize", "split-reductions"},
    {"subgraph-optimize", "split-dynamic-quantize"},
    {"subgraph-optimize", "split-recurrent-cells"},
    {"subgraph-optimize", "eliminate-unread-operands"},
    {"subgraph-optimize", "lower-subgraphs"},
    {"build", "assign-logical-streams"},
    {"build", "link-subgraphs"},
    {"build", "fold-linked-constants"},
    {"build", "fold-conditions"},
    {"build", "merge-equal-nodes"},
    {"build", "cancel-trans-data"},
    {"build", "remove-copies"},
    {"build", "resolve-conflicts"},
    {"build", "mark-no-task"},
    {"build", "balance-streams"},
    {"build", "order-tasks"},
    {"build", "assign-streams"},
    {"build", "insert-events"},
    {"build", "split-streams"},
    {"build", "reuse-events"},
    {"build", "assign-buffers"},
    {"build", "assign-memory-classes"},
    {"build", "layout-weights"},
    {"build", "plan-memory"},
};

}  // namespace

std::span<const PassName> pass_names() { return kPassNames; }

const PassName* find_pass_name(std::string_view name) {
  const auto* row = std::ranges::find(kPassNames, name, &PassName::name);
  return row == std::end(kPassNames) ? nullptr : row;
}

}  // namespace sluice
