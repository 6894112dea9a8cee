#include "stages/subgraph-optimize/codegen/emit/choice.h"

namespace sluice {

std::vector<int> numbers(int first, int last) {
  std::vector<int> result;
  for (int i = first; i <= last; ++i) result.push_back(i);
  return result;
}

std::vector<int> falling_sizes(int maximum) {
  std::vector<int> sizes = {maximum};
  for (const int size : {16, 8, 4, 2, 1}) {
    if (size < maximum) sizes.push_back(size);
  }
  return sizes;
}

void emit_choice(KernelBuilder& b, llvm::Value* number, const std::vector<int>& options,
                 const std::function<void(int)>& body) {
  if (options.size() == 1) return body(options.front());
  const auto middle = options.begin() + static_cast<int64_t>(options.size() / 2);
  b.if_else(
      b.ir().CreateICmpSLT(number, b.index(*middle)),
      [&] { emit_choice(b, number, {options.begin(), middle}, body); },
      [&] { emit_choice(b, number, {middle, options.end()}, body); });
}

}  // namespace sluice
