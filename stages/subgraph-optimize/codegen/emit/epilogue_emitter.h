// Turns an epilogue into IR.
#pragma once

#include <functional>

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// Returns the stored value for one vector of sums. load returns the vector of an operand (by its
// number in Epilogue.operands) at the same elements.
llvm::Value* emit_epilogue(KernelBuilder& builder, const Epilogue& epilogue, llvm::Value* sum,
                           const std::function<llvm::Value*(int operand)>& load);

// Returns true when an epilogue is so long that writing it out for each register of a tile would
// bloat the code.
bool is_long(const Epilogue& epilogue, int vectors_in_tile);

}  // namespace sluice
