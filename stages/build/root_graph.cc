#include "stages/build/root_graph.h"

#include <algorithm>
#include <set>

#include "common/ir/clone.h"
#include "common/omfile/om_format.h"
#include "common/ops/attributes.h"
#include "common/symbolic/any_symbol.h"

namespace sluice {
namespace {

// Returns whether the root reads the value: one that only Calls read is bound to their parts, which
// may contain it packed, and the root itself does not need it.
bool is_read_here(const Value& value) {
  return value.is_output() ||
         std::any_of(value.uses().begin(), value.uses().end(),
                     [](const Use& use) { return use.node->op() != Op::kCall; });
}

bool belongs_to_weights(const Segment& segment) { return segment.kind != SegmentKind::kSmall; }

class Collector {
 public:
  explicit Collector(const Module& module) : module_(module) {}

  void visit(const Graph& graph) {
    for (const Value& value : graph.values()) {
      if (!value.is_erased() && value.is_constant() && is_read_here(value)) add(value.segment());
    }
    for (const Node& node : graph.nodes()) {
      if (node.op() == Op::kCall) continue;  // a part, whose constants its tasks read
      for (const Attribute& attribute : node.attributes()) {
        if (const auto* ref = std::get_if<SegmentRef>(&attribute.value)) add(ref->id);
      }
      for (const GraphId body : node.bodies()) visit(module_.graph(body));
    }
  }

  std::vector<SegmentId> found;

 private:
  void add(SegmentId id) {
    if (belongs_to_weights(module_.segment(id)) && seen_.insert(id).second) found.push_back(id);
  }

  const Module& module_;
  std::set<SegmentId> seen_;
};

class RootMaker {
 public:
  RootMaker(const Graph& source, const WeightLayout& layout, const std::vector<bool>& launches)
      : source_(source), layout_(layout), launches_(launches), mapper_(source.module(), result_) {}

  Module make() {
    Graph& root = result_.add_graph(source_.name());
    root.shapes = ShapeClass::kDynamic;
    std::vector<Value*> values(source_.value_limit(), nullptr);
    for (const Value* input : source_.inputs()) {
      values[static_cast<size_t>(input->id())] =
          &root.add_input(mapper_.type(input->type_id()), input->name());
    }
    for (const Node& node : source_.nodes()) {
      if (node.op() == Op::kCall) {
        add_call(node, root, values);
      } else {
        add_node(node, root, values);
      }
    }
    for (const Value* output : source_.outputs())
      root.add_output(*mapper_.value(*output, root, values));
    add_requirements();
    find_weights();
    result_.level = Level::kLowered;
    return std::move(result_);
  }

 private:
  // Adds a node; the kernel of a launch is named beside the graph (RootDef.node_kernel).
  void add_node(const Node& node, Graph& root, std::vector<Value*>& values) {
    const bool is_launch = launches_[static_cast<size_t>(node.id())];
    Node& copy = mapper_.clone_node(node, root, values);
    if (is_launch) return;
    copy.placement.layouts.clear();
    copy.placement.engine = EngineId::kHostCpu;
    for (size_t k = 0; k < copy.output_count(); ++k) copy.output(k).set_storage(-1);
  }

  // Adds a Call of a part without the constants, which are the part's own.
  void add_call(const Node& call, Graph& root, std::vector<Value*>& values) {
    const Graph& part = *call.get(attributes::Call::graph);
    std::vector<Value*> operands;
    for (size_t i = 0; i < call.input_count(); ++i) {
      if (!part.inputs()[i]->is_constant())
        operands.push_back(mapper_.value(*call.input(i), root, values));
    }
    Node& copy = root.add_node(Op::kCall, operands, 0);
    copy.set_name(call.name());
    copy.set(attributes::Call::part, next_part_++);
    for (size_t k = 0; k < call.output_count(); ++k) {
      const Value& result = call.output(k);
      values[static_cast<size_t>(result.id())] =
          &copy.add_output(mapper_.type(result.type_id()), result.name());
    }
  }

  // Adds the requirements that are compared in the walk; the loader compares those on dims of
  // inputs when it binds them.
  void add_requirements() {
    Module& module = source_.module();
    std::set<ExpressionId> bound;  // the symbols
    for (const Value* input : source_.inputs()) {
      for (const Dim& dim : input->type().dims)
        if (dim.is_expression()) bound.insert(static_cast<ExpressionId>(dim.value));
    }
    const auto is_open = [&](SymbolId symbol) {
      return !bound.contains(module.expressions.symbol_expression(symbol));
    };
    for (const Requirement& each : module.requirements.rows()) {
      if (any_symbol(module.expressions, each.a, is_open) ||
          any_symbol(module.expressions, each.b, is_open)) {
        result_.requirements.add(mapper_.expression(each.a), mapper_.expression(each.b),
                                 each.words);
      }
    }
  }

  // Locates weights in the file. A segment that is evaluated only when it is written keeps the
  // digest of its expression.
  void find_weights() {
    for (const SegmentId id : root_weights(source_)) {
      Segment& segment = result_.segment(mapper_.segment(id));
      segment.kind = SegmentKind::kBytes;
      segment.data.clear();
      segment.inputs.clear();
      segment.graph = -1;
      segment.location = {
          Where::kFile, nullptr, {}, kWeightsPath, layout_.offsets[static_cast<size_t>(id)], 0};
    }
    result_.erase_unowned();
  }

  const Graph& source_;
  const WeightLayout& layout_;
  const std::vector<bool>& launches_;
  Module result_;
  ModuleMapper mapper_;
  int64_t next_part_ = 0;
};

}  // namespace

std::vector<SegmentId> root_weights(const Graph& root) {
  Collector collector(root.module());
  collector.visit(root);
  return std::move(collector.found);
}

Module make_root_graph(const Graph& root, const WeightLayout& layout,
                       const std::vector<bool>& launches) {
  return RootMaker(root, layout, launches).make();
}

}  // namespace sluice
