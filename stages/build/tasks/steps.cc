#include "stages/build/tasks/steps.h"

#include <set>

#include "common/ir/growth.h"
#include "common/ir/module.h"

namespace sluice {
namespace {

// The value whose bytes a view shares.
const Value* base_of(const std::vector<const Value*>& base, const Value* value) {
  while (base[static_cast<size_t>(value->id())] != nullptr) value = base[static_cast<size_t>(value->id())];
  return value;
}

StepKind step_kind(const Node& node) {
  if (node.plan.kernel >= 0) return StepKind::kLaunch;
  if (node.op() == Op::kMemCopy || node.op() == Op::kTransData) return StepKind::kCopy;
  return node.op() == Op::kConcat && growth_axis(node.output()) ? StepKind::kAppend : StepKind::kHost;
}

Step make_step(const Node& node) {
  Step step;
  step.kind = step_kind(node);
  if (step.kind == StepKind::kAppend) step.axis = static_cast<uint32_t>(*growth_axis(node.output()));
  step.node = &node;
  for (size_t k = 0; k < node.output_count(); ++k) step.outputs.push_back(&node.output(k));
  for (size_t i = 0; i < node.input_count(); ++i) step.inputs.push_back(node.input(i));
  return step;
}

}  // namespace

StepList make_steps(const Graph& root) {
  StepList list;
  std::vector<const Value*> base(root.value_limit(), nullptr);
  std::vector<int64_t> made_by(root.value_limit(), -1);
  for (const Node& node : root.nodes()) {
    if (node.plan.no_task) {
      base[static_cast<size_t>(node.output().id())] = node.input(0);
      const Value* origin = base_of(base, node.input(0));
      list.aliases.push_back({&node.output(), origin, made_by[static_cast<size_t>(origin->id())]});
      continue;
    }
    for (size_t k = 0; k < node.output_count(); ++k)
      made_by[static_cast<size_t>(node.output(k).id())] = static_cast<int64_t>(list.steps.size());
    list.steps.push_back(make_step(node));
  }
  std::set<int32_t> written;  // values that already lie in an output
  for (size_t k = 0; k < root.outputs().size(); ++k) {
    const Value* origin = base_of(base, root.outputs()[k]);
    if (origin->producer() != nullptr && written.insert(origin->id()).second) continue;
    Step copy;
    copy.kind = StepKind::kCopy;
    copy.inputs = {root.outputs()[k]};
    copy.copied_output = k;
    list.steps.push_back(std::move(copy));
  }
  return list;
}

}  // namespace sluice
