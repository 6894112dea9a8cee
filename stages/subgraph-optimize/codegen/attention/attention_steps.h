// The functions that an attention kernel calls for each tile of keys. All have one signature, and
// find what they share in the task's scratch.
#pragma once

#include <limits>

#include "stages/subgraph-optimize/codegen/attention/attention_plan.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// The score of a key that a query does not see.
inline constexpr float kHiddenScore = -std::numeric_limits<float>::infinity();

struct AttentionStep {
  llvm::Value* scratch = nullptr;
  llvm::Value* operand = nullptr;    // what the step reads of K, V or the mask, at the first key
  llvm::Value* first_key = nullptr;  // of the tile
  llvm::Value* rows = nullptr;       // of the task
  llvm::Value* keys = nullptr;       // of the tile
};

// Returns whether all rows of a task have one row of the mask, which the softmax then reads itself.
bool has_shared_mask(const AttentionSpec& spec);
// Returns whether there is a mask that is not shared.
bool has_row_mask(const AttentionSpec& spec);
// Returns softcap of a product, empty without one.
Epilogue softcap_epilogue(const AttentionSpec& spec);
// Returns the address of an element of the mask.
llvm::Value* mask_address(KernelBuilder& builder, const AttentionSpec& spec, llvm::Value* mask,
                          llvm::Value* element);

// Loads elements of the mask as what is added to scores; one is a scalar.
llvm::Value* load_mask(KernelBuilder& builder, const AttentionSpec& spec, llvm::Value* address,
                       int lanes);
// Returns scores with what load_mask loaded for them; both are vectors.
llvm::Value* masked_scores(KernelBuilder& builder, const AttentionSpec& spec, llvm::Value* scores,
                           llvm::Value* mask);
// Emits a function of the signature; body writes its code.
llvm::Function* emit_step(KernelBuilder& builder, const std::string& name,
                          const std::function<void(const AttentionStep& step)>& body);

// S = softcap(K Q'): reads K. tile.vectors may be fewer than those of the plan, for few rows; the
// queries are packed for it.
llvm::Function* emit_score_step(KernelBuilder& builder, const AttentionSpec& spec,
                                const AttentionPlan& plan, const RegisterTile& tile);
// S += mask, whose rows the task's offsets lead to. Only for a mask that is not shared.
llvm::Function* emit_mask_step(KernelBuilder& builder, const AttentionSpec& spec,
                               const AttentionPlan& plan);
// S = exp(masked S - m), and the new m, l and f: reads a shared mask.
llvm::Function* emit_softmax_step(KernelBuilder& builder, const AttentionSpec& spec,
                                  const AttentionPlan& plan);
// O = O f + S' V: reads V. has_few_rows: scores lie by rows and keys.
llvm::Function* emit_value_step(KernelBuilder& builder, const AttentionSpec& spec,
                                const AttentionPlan& plan, bool has_few_rows);

// The same for few rows, whose scores lie by rows and keys, and whose queries are not packed. The
// softmax also reads a mask that is not shared.
llvm::Function* emit_dot_score_step(KernelBuilder& builder, const AttentionSpec& spec,
                                    const AttentionPlan& plan);
llvm::Function* emit_row_softmax_step(KernelBuilder& builder, const AttentionSpec& spec,
                                      const AttentionPlan& plan);

void call_step(KernelBuilder& builder, llvm::Function* step, const AttentionStep& arguments);

}  // namespace sluice
