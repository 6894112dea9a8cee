#include "common/passes_host/pass_rows.h"
#include "common/rules/rule_rows.h"
#include "common/target/resolve_profile.h"
#include "stages/optimize/fusion/fusion.h"
#include "stages/optimize/fusion/fusion_rules.h"
#include "stages/optimize/optimize.h"
#include "stages/optimize/passes/passes.h"
#include "stages/optimize/precision/precision.h"

namespace sluice {
namespace {

using rules::rule_pass;

constexpr Pass kPasses[] = {
    // Must run first: a dead reader would keep every later rewrite from seeing that a value has
    // only one reader.
    {"eliminate-dead-nodes", "erases nodes and constants that nothing reads", eliminate_dead_nodes,
     PassLevel::kO1},
    // Must run before all passes that match neighbours: a Dropout or a Cast between two nodes hides
    // one from the other.
    {"eliminate-identities", "erases nodes that give back their input", eliminate_identities,
     PassLevel::kO1},
    // Must run before fusion: nodes that move integers stand between contractions of integers.
    {"fold-requantization", "moves integers where they were dequantized, moved and quantized again",
     fold_requantization, PassLevel::kO3},
    {"fold-transpose-into-weights",
     "transposes integers of weights instead of their dequantized values",
     fold_transpose_into_weights, PassLevel::kO3},
    // Must run before sums of integers are fused with what follows them.
    {"decompose-quantized-product", "makes plainer nodes of products of integers without kernels",
     decompose_quantized_product, PassLevel::kO3},
    // Must run before weights are folded to floats.
    {"fuse-quantized-contraction",
     "fuses convolutions and matrix products with the quantization around them",
     fuse_quantized_contraction, PassLevel::kO3},
    // Must run before constants are folded, which evaluates what it writes about sizes, and before
    // the passes for what it writes: chains of views, products, softmax.
    {"split-attention-states", "makes concatenations of the growing keys and values of attention",
     split_attention_states, PassLevel::kO3},
    {"decompose-attention", "makes matrix products and a softmax of attention without a kernel",
     decompose_attention, PassLevel::kO3},
    {"decompose-flex-attention", "makes the same of attention with bodies for its scores",
     decompose_flex_attention, PassLevel::kO3},
    {"decompose-cross-entropy", "makes a log-softmax and a loss of what sums over both",
     decompose_cross_entropy, PassLevel::kO3},
    {"decompose-einsum", "makes matrix products and sums of einsums", decompose_einsum,
     PassLevel::kO3},
    // Must run before chains of views, padding and convolutions are fused.
    {"decompose-causal-convolution", "makes a convolution of one with a state",
     decompose_causal_convolution, PassLevel::kO3},
    // Must run after sums and maxima of integers are moved to them; before equal nodes are merged:
    // windows of several sizes have nodes in common.
    {"decompose-max-pool", "makes several small windows of a large one", decompose_max_pool,
     PassLevel::kO3},
    // Must run before the passes that need constants.
    {"fold-constants", "evaluates nodes over small constants", fold_constants, PassLevel::kO1},
    {"fold-reshape-chain", "collapses reshapes of reshapes", fold_reshape_chain, PassLevel::kO3},
    {"fold-transpose-chain", "collapses transposes of transposes", fold_transpose_chain,
     PassLevel::kO3},
    // Must run after the chains, which make different paths to the same value equal; before fusion,
    // which would hide equal nodes in bodies.
    {"eliminate-common-subexpressions", "merges nodes that compute the same",
     eliminate_common_subexpressions, PassLevel::kO3},
    // Must run after equal nodes are merged, so that each is deferred once; before the passes that
    // need weights.
    {"defer-constants", "moves nodes over large constants into constant expressions",
     defer_constants, PassLevel::kO3},
    // Must run before fold-batch-norm and fusion: they make new convolutions, or hide them in
    // bodies.
    {"fold-pad-into-conv", "makes padding with zeros the convolution's own", fold_pad_into_conv,
     PassLevel::kO3},
    // Must run before fusion: the remaining nodes of a normalisation join an epilogue.
    {"fold-batch-norm", "moves batch normalisation into the weights before it", fold_batch_norm,
     PassLevel::kO3},
    // Must run after equal nodes are merged, so that each value of a decomposition is one; before
    // the fusion of epilogues, which takes an activation as one node.
    rule_pass("fuse-softmax", "makes one node of the decomposition of a softmax",
              kFuseSoftmaxRules),
    // Must run after softmax is one node, and before the fusion of epilogues and operands, which
    // hides products in bodies.
    {"fuse-attention", "makes one node of the products, scale, mask and softmax of attention",
     fuse_attention, PassLevel::kO3},
    {"fuse-layer-normalization", "makes one node of the decomposition of a layer normalisation",
     fuse_layer_normalization, PassLevel::kO3},
    {"fuse-rms-normalization",
     "makes one node of the decomposition of a root mean square normalisation",
     fuse_rms_normalization, PassLevel::kO3},
    rule_pass("fuse-gelu", "makes one node of the decomposition of a GELU", kFuseGeluRules),
    rule_pass("fuse-swish", "makes one node of the decomposition of a swish", kFuseSwishRules),
    rule_pass("fuse-hard-swish", "makes one node of the decomposition of a hard swish",
              kFuseHardSwishRules),
    rule_pass("fuse-mish", "makes one node of the decomposition of a mish", kFuseMishRules),
    // Must run after the passes that look for several nodes, which Casts would hide from them, and
    // after normalisations are folded, in f32, into weights; before the fusion of nodes of one
    // dtype. It is O0 since it does nothing unless asked.
    {"choose-precision", "gives nodes the dtypes that were asked for", choose_precision,
     PassLevel::kO0},
    // Must run before the fusion of epilogues, and after the passes that look for what stands
    // around a convolution.
    {"widen-convolution", "makes convolutions along one axis those of images", widen_convolution,
     PassLevel::kO3},
    // Must run after batch normalisations are folded, and between these two: of one axis it takes
    // images, and a stride of 1 leaves a convolution with an epilogue.
    {"decompose-transposed-convolution", "makes convolutions of transposed ones",
     decompose_transposed_convolution, PassLevel::kO3},
    {"fuse-contraction-epilogue", "fuses convolutions and matrix products with what follows",
     fuse_contraction_epilogue, PassLevel::kO3},
    // Must run after the fusion of epilogues, which starts from plain contractions.
    {"fuse-transposed-operands", "lets matrix products read operands through their transposition",
     fuse_transposed_operands, PassLevel::kO3},
    // Must run after the fusion of epilogues: what contractions compute on the way is no work of
    // its
    // own.
    {"fuse-elementwise", "fuses groups of elementwise nodes with a reduction or normalisation",
     fuse_elementwise, PassLevel::kO3},
    // Must run after fusion: a Fused node is one kernel, which reads and writes formats as a whole.
    {"choose-formats", "stores values as convolutions want them, and copies at the borders",
     choose_formats, PassLevel::kO3},
    // Must run last: rows of a wider value are rows of some format.
    {"store-pieces", "lets operands of a Concat and results of a Split lie within the whole",
     store_pieces, PassLevel::kO3},
};

}  // namespace

std::span<const Pass> optimize_passes() { return kPasses; }

Result<Module> optimize(Module module, Options options, std::vector<PassReport>& report) {
  SLUICE_TRY(resolve_profile(options, module));
  SLUICE_ASSIGN(const rules::RuleRows rows,
                rules::RuleRows::load(kPasses, StageId::kOptimize, options));
  SLUICE_ASSIGN(const PassRows own, PassRows::load(rows.passes(), StageId::kOptimize, options));
  SLUICE_ASSIGN(const std::vector<PassReport> passes, run_passes(module, own.passes(), options));
  report.insert(report.end(), passes.begin(), passes.end());
  return module;
}

}  // namespace sluice
