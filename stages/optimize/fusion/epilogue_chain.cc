#include "stages/optimize/fusion/epilogue_chain.h"

#include <algorithm>

#include "common/ops/small_constant.h"
#include "common/target/aicore.h"
#include "stages/optimize/fusion/decomposition.h"

namespace sluice {
namespace {

// A longer epilogue would not stay in a core's registers; the nodes after it run on their own.
constexpr size_t kLongestChain = 64;
constexpr size_t kMaxOperands = 8;

// Returns the first node of the graph, outside of the step, that reads one of the values.
Node* first_reader(const std::vector<Value*>& values, const std::vector<Node*>& step) {
  Node* first = nullptr;
  for (const Value* value : values) {
    for (const Use& use : value->uses()) {
      if (!list_contains(step, use.node) && (first == nullptr || use.node->is_before(*first)))
        first = use.node;
    }
  }
  return first;
}

bool is_read_within(const Value& value, const std::vector<Node*>& step) {
  return !value.is_output() && !value.uses().empty() &&
         std::all_of(value.uses().begin(), value.uses().end(),
                     [&](const Use& use) { return list_contains(step, use.node); });
}

}  // namespace

Node* EpilogueChain::reader() const {
  const std::vector<Use>& uses = end().uses();
  const bool is_one = !uses.empty() && !end().is_output() &&
                      std::all_of(uses.begin(), uses.end(),
                                  [&](const Use& use) { return use.node == uses[0].node; });
  return is_one ? uses[0].node : nullptr;
}

void EpilogueChain::grow() {
  if (const Node* interleave = find_interleave(anchor_)) take(const_cast<Node&>(*interleave));
  while (const auto step = find_step()) {
    if (!has_capacity(*step)) return;
    nodes_.insert(nodes_.end(), step->begin(), step->end());
  }
}

// Takes the readers in the order of the graph, until only the last one's result is read outside.
std::optional<EpilogueChain::Step> EpilogueChain::find_step() const {
  Step step;
  std::vector<Value*> open = {&end()};
  while (nodes_.size() + step.size() < kLongestChain) {
    for (const Value* value : open) {
      if (value->is_output() || value->uses().empty() || value->uses().size() > kLongestChain)
        return std::nullopt;
    }
    Node* node = first_reader(open, step);
    if (!fits(*node)) return std::nullopt;
    step.push_back(node);
    std::erase_if(open, [&](const Value* value) { return is_read_within(*value, step); });
    if (open.empty() && can_end_with(node->output().type().dtype)) return step;
    open.push_back(&node->output());
  }
  return std::nullopt;
}

// Kernels of floats store other floats as well: the chain may go on after a Cast, or end there.
bool EpilogueChain::can_end_with(DType dtype) const {
  return is_quantized_ ? dtype == end().type().dtype : is_contraction_dtype(dtype);
}

// What it reads besides the chain and its step is checked when the step is taken.
bool EpilogueChain::fits(const Node& node) const {
  return is_epilogue_op(node) && !node.placement.keep &&
         is_alike_but_precision(anchor_.placement, node.placement) &&
         node.output().type().dims == value_of_sums(anchor_).type().dims;
}

bool EpilogueChain::has_capacity(const Step& step) {
  for (const Node* node : step) {
    for (size_t i = 0; i < node->input_count(); ++i) {
      const Value* input = node->input(i);
      if (input == nullptr || input == &end() || list_contains(step, input->producer())) continue;
      if (is_small_scalar(*input) || list_contains(operands_, input)) continue;
      if (list_contains(nodes_, input->producer()) ||
          !is_epilogue_operand(input->type(), anchor_, is_quantized_))
        return false;
      operands_.push_back(input);
    }
  }
  return operands_.size() <= kMaxOperands;
}

}  // namespace sluice
