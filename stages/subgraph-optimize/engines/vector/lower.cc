// Lowers subgraphs of the engine `vector`: every node becomes a kernel that is generated from its
// loops, but for views, whose result is their input's bytes.
#include "common/ir/clone.h"
#include "common/loop/lowering.h"
#include "common/loop/text.h"
#include "common/ops/attributes.h"
#include "common/ops/infer.h"
#include "common/ops/op_table.h"
#include "common/pass/control_edges.h"
#include "stages/subgraph-optimize/codegen/loop/loop_kernel.h"
#include "stages/subgraph-optimize/engines/kernels.h"

namespace sluice {
namespace {

bool is_view(const Node& node) {
  const OpRow* row = find_op(node.op());
  return row != nullptr && (row->flags & kView) != 0 && node.output_count() == 1 &&
         node.output().storage() == nullptr && node.input(0)->storage() == nullptr;
}

// Whether a launch of the node itself has these operands: all its results, then all its inputs.
bool are_own_operands(const Node& node, const std::vector<const Value*>& operands) {
  if (operands.size() != node.output_count() + node.input_count()) return false;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (operands[node.output_count() + i] != node.input(i)) return false;
  return true;
}

// Replaces a node by a Fused node with it, or with its body's nodes, as body, whose inputs are the
// operands of the launch: constants that became part of the kernel, and absent inputs, are none.
class Wrapper {
 public:
  Wrapper(Node& node, const std::vector<const Value*>& operands)
      : old_(node), graph_(node.graph()), operands_(operands) {}

  Node& run() {
    Module& module = graph_.module();
    Graph* old_body =
        old_.op() == Op::kFused ? old_.get(attributes::Fused::body) : nullptr;
    Graph& body = module.add_graph(old_.name().empty() ? "fused" : old_.name(), GraphRole::kFused);
    std::vector<Value*> inputs;
    for (size_t i = old_.output_count(); i < operands_.size(); ++i) {
      const Value& inside = *operands_[i];
      Value& outside = outside_of(inside, old_body);
      inputs.push_back(&outside);
      inside_[&inside] = inside_[&outside] =
          &body.add_input(outside.type_id(), outside.name());
    }
    if (old_body != nullptr) bind_body(*old_body, body);
    if (old_body == nullptr) {
      copy_node(old_, body, inside_);
    } else {
      for (const Node& node : old_body->nodes()) copy_node(node, body, inside_);
    }
    for (size_t i = 0; i < old_.output_count(); ++i) {
      const Value& result = old_body == nullptr ? old_.output(i) : *old_body->outputs()[i];
      body.add_output(*inside_.at(&result));
    }
    return replace(body, inputs);
  }

 private:
  // A constant of the body becomes one of the graph.
  Value& outside_of(const Value& value, const Graph* old_body) {
    if (old_body == nullptr || &value.graph() != old_body) return const_cast<Value&>(value);
    return graph_.add_constant(value.segment(), value.name());
  }

  // Inputs of the old body are the operands; those that are none are constants that became part of
  // the kernel.
  void bind_body(const Graph& old_body, Graph& body) {
    for (size_t i = 0; i < old_body.inputs().size(); ++i) {
      const Value* outside = old_.input(i);
      if (const auto found = inside_.find(outside); found != inside_.end()) {
        inside_[old_body.inputs()[i]] = found->second;
      } else if (outside != nullptr && outside->is_constant()) {
        inside_[old_body.inputs()[i]] =
            &body.add_constant(outside->segment(), outside->name());
      }
    }
  }

  Node& replace(Graph& body, const std::vector<Value*>& inputs) {
    Node& node = graph_.add_node(Op::kFused, inputs, old_.output_count(), &old_);
    node.set(attributes::Fused::body, GraphRef{body.id()});
    node.set_name(old_.name());
    node.set_origins(old_.origins());
    node.placement = old_.placement;
    for (size_t i = 0; i < old_.output_count(); ++i) {
      node.output(i).set_type(old_.output(i).type_id());
      node.output(i).set_name(old_.output(i).name());
      node.output(i).set_storage(old_.output(i).storage_id());
      graph_.replace_all_uses(old_.output(i), node.output(i));
    }
    return node;
  }

  Node& old_;
  Graph& graph_;
  const std::vector<const Value*>& operands_;
  Inside inside_;
};

}  // namespace

Result<void> lower_vector(Graph& graph, const DeviceProfile& profile, KernelCache& kernels) {
  ValueFacts facts(graph);
  SLUICE_TRY(infer_graph(graph, facts));
  ControlEdges control(graph);
  std::vector<Node*> nodes;
  for (Node& node : graph.nodes()) nodes.push_back(&node);
  for (Node* node : nodes) {
    if (is_view(*node)) {
      node->placement.no_task = true;
      continue;
    }
    SLUICE_ASSIGN(const loop::LoweredNode lowered, loop::lower_node(*node));
    const std::string text = loop::print(lowered.graph);
    SLUICE_ASSIGN(const KernelId kernel, add_kernel(graph.module(), profile, kernels, text, [&] {
                    return generate_loops(lowered.graph, text, profile, MathPrecision::kDefault);
                  }));
    node->placement.kernel = kernel;
    if (are_own_operands(*node, lowered.operands)) continue;
    Node& wrapped = Wrapper(*node, lowered.operands).run();
    control.transfer({node}, {&wrapped});
    graph.erase_node(*node);
  }
  return {};
}

}  // namespace sluice
