// Branches on a number that is known only when the kernel runs, and the sizes of tiles to choose
// from.
#pragma once

#include <functional>
#include <vector>

#include "stages/subgraph-optimize/codegen/emit/kernel_builder.h"

namespace sluice {

// Returns first, first + 1, …, last.
std::vector<int> numbers(int first, int last);

// Returns `maximum` and a few smaller sizes down to 1: tiles of these sizes in turn make up any
// number.
std::vector<int> falling_sizes(int maximum);

// Emits branches that run body with the option that `number` equals; options ascend and include it.
void emit_choice(KernelBuilder& builder, llvm::Value* number, const std::vector<int>& options,
                 const std::function<void(int)>& body);

}  // namespace sluice
