// Lets the operands of a Concat lie in its result, and the results of a Split in its operand, where
// their elements are no neighbours there: rows of a wider value. Kernels are made for storages, so
// this is decided before them; sluice-build then finds that nothing is left to copy.
//
//   before:  %a: f32[1, 8, 4, 4] storage nhwc = Conv(…)   %b: f32[1, 24, 4, 4] storage nhwc = …
//            %y: f32[1, 32, 4, 4] storage nhwc = Concat(%a, %b) {axis = 1}
//   after:   the same; %a and %b are stored in rows of 32 channels
//
// Legal because a storage never changes a value's type, and kernels read and write any.
//
// An operand that cannot be a part (an input of the model, an output, one that lies elsewhere, or
// one of whose kernels some take no rows) is copied to its place by a TransData; a Concat more than
// half of which would be copied is left alone. Where all axes outside of the joined one are 1,
// parts follow each other without gaps, need no storage, and are left to sluice-build.
//
// Must run after formats are chosen, and after fusion: a node of several is one kernel.
#include <algorithm>
#include <map>

#include "common/base/work.h"
#include "common/ir/fixed.h"
#include "common/ir/module.h"
#include "common/ir/piece_groups.h"
#include "common/ir/value_storage.h"
#include "common/ops/attributes.h"
#include "common/ops/pieces.h"
#include "common/target/engine_table.h"
#include "common/target/formats.h"
#include "common/target/profile.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

// The axis along which a Concat joins, or a Split divides, and its place among those stored.
struct JoinedAxis {
  size_t logical = 0, stored = 0;
};

class PieceStorer {
 public:
  PieceStorer(Graph& graph, const EngineTable& table)
      : graph_(graph), table_(table), expressions_(graph.module().expressions) {}

  bool run() {
    std::vector<Node*> nodes;
    for (Node& node : graph_.nodes()) {
      if (node.op() == Op::kConcat || node.op() == Op::kSplit) nodes.push_back(&node);
    }
    if (nodes.empty()) return false;
    add_work(Work::kNodeVisits, graph_.node_count());
    // Each operand or result may get one copy.
    size_t copies = 0;
    for (const Node* node : nodes) copies += node->input_count() + node->output_count();
    groups_.emplace(expressions_, graph_.value_limit() + copies);
    for (Node* node : nodes) node->op() == Op::kConcat ? join(*node) : divide(*node);
    return store_groups();
  }

 private:
  using Part = PieceGroups::Part;

  // Returns nothing where the parts have no gaps between them, or no fixed extents.
  std::optional<JoinedAxis> axis_of(const Node& node, const Value& whole, int64_t axis) const {
    const Type& type = whole.type();
    if (!type.is_tensor() || !type.ranked || type.rank() == 0 || !has_computed_size(type) ||
        dtype_bits(type.dtype) % 8 != 0 || !node.after().empty() || !is_worth_pieces(whole))
      return std::nullopt;
    JoinedAxis found;
    found.logical = static_cast<size_t>(axis < 0 ? axis + type.rank() : axis);
    const StorageMap map = storage_map_of(whole);
    const auto stored =
        std::ranges::find(map, static_cast<int32_t>(found.logical), &StoredAxis::dim);
    found.stored = static_cast<size_t>(stored - map.begin());
    const bool is_one_run = std::all_of(map.begin(), stored, [&](const StoredAxis& outer) {
      return type.dims[static_cast<size_t>(outer.dim)] == Dim::fixed(1);
    });
    if (is_one_run || !has_fixed_extents(node, found.logical)) return std::nullopt;
    return found;
  }

  static bool has_fixed_extents(const Node& node, size_t dim) {
    for (size_t i = 0; i < node.input_count(); ++i) {
      const bool is_piece = node.op() == Op::kConcat || i == 0;
      if (is_piece && !node.input(i)->type().dims[dim].is_fixed()) return false;
    }
    for (size_t k = 0; k < node.output_count(); ++k) {
      if (!node.output(k).type().dims[dim].is_fixed()) return false;
    }
    return true;
  }

  ExpressionId extent(const Value& value, const JoinedAxis& axis) const {
    return expressions_.constant(value.type().dims[axis.logical].value);
  }

  // Returns the engine that will run the node if none but the cost decides.
  EngineId engine_of(const Node& node) {
    if (node.placement.engine != EngineId::kNone) return node.placement.engine;
    const auto [found, is_new] = engines_.try_emplace(node.id(), EngineId::kNone);
    if (!is_new) return found->second;
    for (const EngineRow& row : table_.engines) {
      add_work(Work::kEngineQuestions);
      if (!engine_unsupported_reason(row, node).empty()) continue;
      return found->second = row.id;
    }
    return EngineId::kNone;
  }

  bool takes(const Node& node, const Value& value, const JoinedAxis& axis) {
    return takes_rows(node, value, axis.stored, engine_of(node));
  }
  bool are_readers_able(const Value& value, const JoinedAxis& axis) {
    return std::ranges::all_of(value.uses(),
                               [&](const Use& use) { return takes(*use.node, value, axis); });
  }

  // A value of the graph's own that kernels write and read in rows.
  bool may_be_part(const Value& value, const JoinedAxis& axis) {
    const Node* producer = value.producer();
    return producer != nullptr && !value.is_output() && !value.is_constant() &&
           value.type().dims[axis.logical].is_fixed() && takes(*producer, value, axis) &&
           are_readers_able(value, axis);
  }

  // Enters a value. Its memory cannot be part of a larger one where it must be without gaps.
  void know(const Value& value, const JoinedAxis& axis) {
    known_.emplace(value.id(), axis);
    if (!may_be_part(value, axis)) groups_->pin(value.id(), extent(value, axis));
  }
  // Enters a value that a task writes, or that is there before, if it is not known yet.
  void know_written(const Value& value, const JoinedAxis& axis) {
    if (known_.contains(value.id())) return;
    groups_->add_owner(value.id(), extent(value, axis));
    know(value, axis);
  }
  bool has_axis(const Value& value, const JoinedAxis& axis) const {
    const auto found = known_.find(value.id());
    return found == known_.end() || found->second.stored == axis.stored;
  }

  void join(Node& concat) {
    Value& whole = concat.output();
    const auto axis = axis_of(concat, whole, concat.get(attributes::Concat::axis));
    if (!axis || !takes(concat, whole, *axis)) return;
    know(whole, *axis);
    const std::vector<Part> parts = find_parts(concat, *axis);
    const bool can_be_joined =
        std::ranges::all_of(groups_->reasons(whole.id(), parts),
                            [](std::string_view reason) { return reason.empty(); });
    if (!can_be_joined || !is_worth_it(parts)) {
      groups_->add_owner(whole.id(), extent(whole, *axis));
      return;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].value >= 0) {
        groups_->join(whole.id(), parts[i].value, parts[i].distance);
        continue;
      }
      Value& copy = add_copy(*concat.input(i), concat, &concat);
      concat.set_input(i, &copy);
      know_written(copy, *axis);
      groups_->join(whole.id(), copy.id(), parts[i].distance);
    }
  }

  // Returns the operands of a Concat with their distances; in the place of those that cannot be
  // parts new values, which are to be their copies.
  std::vector<Part> find_parts(const Node& concat, const JoinedAxis& axis) {
    std::vector<Part> parts;
    ExpressionId distance = expressions_.constant(0);
    for (size_t i = 0; i < concat.input_count(); ++i) {
      const Value& operand = *concat.input(i);
      const bool is_able = storage_map_of(operand) == storage_map_of(concat.output()) &&
                           may_be_part(operand, axis) && has_axis(operand, axis);
      if (is_able) know_written(operand, axis);
      parts.push_back({is_able ? operand.id() : -1, distance, extent(operand, axis)});
      distance = expressions_.add(distance, parts.back().extent);
    }
    const std::vector<std::string_view> reasons = groups_->reasons(concat.output().id(), parts);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!reasons[i].empty()) parts[i].value = -1;
    }
    return parts;
  }

  // A Concat copies all operands at once, so at most half of the elements may be copied instead.
  bool is_worth_it(const std::vector<Part>& parts) const {
    int64_t all = 0, copied = 0;
    for (const Part& part : parts) {
      const int64_t elements = expressions_[part.extent].value;
      all += elements;
      copied += part.value < 0 ? elements : 0;
    }
    return 2 * copied <= all;
  }

  void divide(Node& split) {
    Value& whole = *split.input(0);
    const auto axis = axis_of(split, whole, split.get(attributes::Split::axis));
    if (!axis || whole.is_constant() || !has_axis(whole, *axis) || !takes(split, whole, *axis))
      return;
    const auto is_part = [&](const Value& part) {
      return may_be_part(part, *axis) && storage_map_of(part) == storage_map_of(whole);
    };
    size_t parts = 0;
    for (size_t k = 0; k < split.output_count(); ++k) parts += is_part(split.output(k)) ? 1 : 0;
    if (parts == 0) return;
    know_written(whole, *axis);
    ExpressionId distance = expressions_.constant(0);
    for (size_t k = 0; k < split.output_count(); ++k) {
      Value& part = split.output(k);
      if (!is_part(part)) copy_out(split, part);
      know(part, *axis);
      groups_->join(whole.id(), part.id(), distance);
      distance = expressions_.add(distance, extent(part, *axis));
    }
  }

  // Lets the readers of a part, and the outputs of the graph that it is, have a copy of it.
  void copy_out(Node& split, Value& part) {
    Value& copy = add_copy(part, split, split.next());
    const std::vector<Use> uses = part.uses();
    for (const Use& use : uses) {
      if (use.node != copy.producer()) use.node->set_input(use.input, &copy);
    }
    const std::vector<Value*> outputs(graph_.outputs().begin(), graph_.outputs().end());
    if (!part.is_output()) return;
    copy.set_name(part.name());
    part.set_name(part.name() + ":part");
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == &part) graph_.set_output(i, copy);
    }
  }

  Value& add_copy(Value& value, const Node& near, Node* before) {
    Node& copy = graph_.add_node(Op::kTransData, {&value}, 1, before);
    copy.placement.stream_label = near.placement.stream_label;
    copy.placement.stage_level = near.placement.stage_level;
    copy.placement.memory_class = near.placement.memory_class;
    copy.set_origins(near.origins());
    copy.output().set_type(value.type_id());
    copy.output().set_storage(value.storage_id());
    copy.output().set_name(value.name() + ":part");
    return copy.output();
  }

  bool store_groups() {
    bool changed = false;
    for (Value& value : graph_.values()) {
      const auto found = known_.find(value.id());
      if (value.is_erased() || found == known_.end() || !groups_->is_joined(value.id())) continue;
      const auto whole = groups_->extent(value.id());
      if (!whole || *whole == extent(value, found->second)) continue;
      store_rows(value, found->second.stored, expressions_[*whole].value);
      changed = true;
    }
    return changed;
  }

  Graph& graph_;
  const EngineTable& table_;
  ExpressionTable& expressions_;
  std::optional<PieceGroups> groups_;    // in elements along the joined axis, by value id
  std::map<int32_t, JoinedAxis> known_;  // by value id
  std::map<int32_t, EngineId> engines_;  // by node id
};

bool has_rows(const Graph& graph) {
  return std::ranges::any_of(graph.values(), [](const Value& value) {
    return !value.is_erased() && row_axis(value).has_value();
  });
}

}  // namespace

Result<bool> store_pieces(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  SLUICE_ASSIGN(const EngineTable table, make_engine_table(profile));
  if (table.find(intern_engine("vector")) == nullptr || has_rows(root)) return false;
  return PieceStorer(root, table).run();
}

}  // namespace sluice
