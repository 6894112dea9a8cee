// The rows of a task: where they lie in Q, Y and the mask, and what scratch has of each.
#pragma once

#include "stages/subgraph-optimize/codegen/attention/attention_plan.h"
#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// The operands of the task, at its batch entry and first head.
struct AttentionTask {
  llvm::Value *q = nullptr, *k = nullptr, *v = nullptr, *y = nullptr, *mask = nullptr;
  llvm::Value* first_row = nullptr;  // of the rows of the key head
  llvm::Value* rows = nullptr;
  // What is to be added to a query's number for the last key that it sees, if the node is causal.
  llvm::Value* keys_before = nullptr;
};

class AttentionRows {
 public:
  AttentionRows(KernelBuilder& builder, const AttentionSpec& spec, const AttentionPlan& plan,
                llvm::Value* scratch, const AttentionTask& task)
      : b_(builder), spec_(spec), plan_(plan), scratch_(scratch), task_(task) {}

  // Writes m = -inf, l = 0, O = 0, and the rows' positions and offsets in the mask. The rows after
  // the last one, up to a whole vector, are copies of it.
  void begin();
  // Writes, for panels of so many rows: packed[panel][element of a row][row] = Q scale.
  void pack(llvm::Value* panel_width);
  // Writes packed[row][element] = Q scale.
  void copy();
  // Writes Y = O / l, or 0 where l is.
  void store();

  // Returns the number of the task's last query.
  llvm::Value* last_query();

 private:
  struct Row {
    llvm::Value *head, *query;
  };
  Row find(llvm::Value* row);
  llvm::Value* offset(const AttentionOperand& operand, llvm::Value* row);
  llvm::Value* entry(int64_t table, llvm::Type* type, llvm::Value* row);
  void begin_row(llvm::Value* row);

  KernelBuilder& b_;
  const AttentionSpec& spec_;
  const AttentionPlan& plan_;
  llvm::Value* scratch_;
  const AttentionTask& task_;
};

}  // namespace sluice
