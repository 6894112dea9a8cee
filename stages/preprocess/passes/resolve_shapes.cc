// Writes the target shapes of Reshape and Expand as numbers.
//
//   before:  %y: f32[2, 12] = Reshape(%x, [0, -1])
//   after:   %y: f32[2, 12] = Reshape(%x, [2, 12])
//
// Later passes may then move a Reshape without resolving 0 and -1, and equal reshapes look equal.
// Legal because the result's type is inferred from them. Where a dim is symbolic the node stays as
// it is, and where the target is data of a run, which may ask for another shape. Must run after
// infer-types.
#include <algorithm>
#include <cstring>
#include <vector>

#include "common/base/work.h"
#include "common/ops/attributes.h"
#include "common/ops/of_shapes.h"
#include "stages/preprocess/infer/bodies.h"
#include "stages/preprocess/passes/passes.h"

namespace sluice {
namespace {

bool resolve(Node& node) {
  const bool is_reshape = node.op() == Op::kReshape;
  if ((!is_reshape && node.op() != Op::kExpand) || node.input_count() != 2 ||
      node.input(1) == nullptr)
    return false;
  const auto extents = node.output().type().extents();
  if (!extents || !is_of_shapes(*node.input(1))) return false;
  Module& module = node.graph().module();
  std::vector<std::byte> bytes(extents->size() * sizeof(int64_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), extents->data(), bytes.size());
  const TypeId type =
      module.intern(Type::fixed_tensor(DType::kI64, {static_cast<int64_t>(extents->size())}));
  const SegmentId segment = module.make_constant(type, std::move(bytes));
  const bool has_zero = std::find(extents->begin(), extents->end(), 0) != extents->end();
  const bool as_wanted = !is_reshape || (node.has(attributes::Reshape::allowzero)) == has_zero;
  if (node.input(1)->is_constant() && node.input(1)->segment() == segment && as_wanted)
    return false;
  node.set_input(
      1, &node.graph().add_constant(
             segment, node.input(1)->is_constant() ? node.input(1)->name() : std::string()));
  if (!is_reshape) return true;
  if (has_zero) {
    node.set(attributes::Reshape::allowzero, int64_t{1});
  } else {
    node.remove(attributes::Reshape::allowzero);
  }
  return true;
}

bool resolve(Graph& graph) {
  bool changed = false;
  add_work(Work::kNodeVisits, graph.node_count());
  for (Node& node : graph.nodes()) {
    changed = resolve(node) || changed;
    for (const GraphId body : node.bodies())
      changed = resolve(graph.module().graph(body)) || changed;
  }
  return changed;
}

}  // namespace

Result<bool> resolve_shapes(Graph& graph, const Options&) {
  const bool changed = resolve(graph);
  return (changed && erase_dead_nodes(graph)) || changed;
}

}  // namespace sluice
