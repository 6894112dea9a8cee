// Chooses for each value how its elements lie in memory, dense or NHWC, from what convolutions
// prefer.
//
//   before:  %a = Conv(%x, %w)   %b = Sigmoid(%a)   %c = Conv(%b, %v)   %y = Reshape(%c, %s)
//   after:   %a: storage nhwc = Conv(%x, %w)        %b: storage nhwc = Sigmoid(%a)
//            %c: storage nhwc = Conv(%b, %v)
//            %d = TransData(%c)                     %y = Reshape(%d, %s)
//
// Legal because a storage never changes a value's type, and TransData is the identity.
//
// common/target/formats.h says what each node prefers. Values that a node needs alike are one
// group, with one format: that which costs fewer bytes of copies, dense when both cost the same. In
// a group of NHWC each value that is made dense, or read dense, is copied once for all its readers;
// in a dense one each convolution that prefers NHWC copies for itself. Inputs and outputs of the
// model are dense, as are values of bodies, which run node by node, and of sizes that no expression
// gives. The pass is linear. A graph that has storages has been through it and keeps them.
//
// Must run after fusion: a node of several is one kernel, which reads and writes formats as a
// whole.
#include <algorithm>
#include <map>

#include "common/base/disjoint_sets.h"
#include "common/base/work.h"
#include "common/ir/fixed.h"
#include "common/ir/module.h"
#include "common/ir/value_storage.h"
#include "common/target/engine_table.h"
#include "common/target/formats.h"
#include "common/target/profile.h"
#include "stages/optimize/passes/passes.h"

namespace sluice {
namespace {

// Returns the engine that runs the node if none but the cost decides; kNone when there is none.
EngineId engine_of(const EngineTable& table, const Node& node) {
  if (node.placement.engine != EngineId::kNone) return node.placement.engine;
  for (const EngineRow& row : table.engines) {
    add_work(Work::kEngineQuestions);
    if (engine_unsupported_reason(row, node).empty()) return row.id;
  }
  return EngineId::kNone;
}

bool has_formattable(const Node& node) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.input(i) != nullptr && is_formattable(*node.input(i))) return true;
  for (size_t i = 0; i < node.output_count(); ++i)
    if (is_formattable(node.output(i))) return true;
  return false;
}

bool has_storages(const Graph& graph) {
  return std::ranges::any_of(graph.values(), [](const Value& value) {
    return !value.is_erased() && value.storage() != nullptr;
  });
}

// The bytes that are copied when all values of a group have one format.
struct GroupCost {
  double nhwc = 0, dense = 0;
};

class FormatChooser {
 public:
  FormatChooser(Graph& graph, const EngineTable& table)
      : graph_(graph), table_(table), groups_(graph.value_limit()) {}

  bool run() {
    add_work(Work::kNodeVisits, 2 * graph_.node_count());
    for (const Node& node : graph_.nodes()) ask(node);
    for (const Value& value : graph_.values())
      if (!value.is_erased() && value.is_used() && is_formattable(value)) count(value);
    std::vector<Value*> chosen;
    for (Value& value : graph_.values()) {
      if (value.is_erased() || !value.is_used() || !is_formattable(value)) continue;
      const GroupCost& cost = costs_[groups_.find(value.id())];
      if (cost.nhwc < cost.dense) chosen.push_back(&value);
    }
    for (Value* value : chosen) apply(*value);
    return !chosen.empty();
  }

 private:
  // Notes the preferences of a node and unites the values that it needs alike.
  void ask(const Node& node) {
    if (!has_formattable(node)) return;
    FormatPreferences preferences = format_preferences(node, engine_of(table_, node));
    const Value& first = node.output();
    for (size_t i = 0; i < node.input_count(); ++i)
      if (preferences.inputs[i] == FormatPreference::kSame) unite(node.input(i), first);
    for (size_t i = 1; i < node.output_count(); ++i)
      if (preferences.outputs[i] == FormatPreference::kSame) unite(&node.output(i), first);
    preferences_.emplace(node.id(), std::move(preferences));
  }

  void unite(const Value* value, const Value& first) {
    const bool is_alike = value != nullptr && value->type().rank() == first.type().rank() &&
                          is_formattable(*value) && is_formattable(first);
    if (is_alike) groups_.unite(value->id(), first.id());
  }

  FormatPreference preference_of_producer(const Value& value) const {
    if (value.producer() == nullptr) return FormatPreference::kDense;
    return preferences_.at(value.producer()->id()).outputs[value.result()];
  }

  FormatPreference preference_of(const Use& use) const {
    return preferences_.at(use.node->id()).inputs[use.input];
  }

  bool is_read_dense(const Value& value) const {
    return value.is_output() || std::ranges::any_of(value.uses(), [&](const Use& use) {
             return preference_of(use) == FormatPreference::kDense;
           });
  }

  // Returns whether the node is dearer when it reads the value dense although it is there in NHWC.
  bool is_read_nhwc(const Use& use) const {
    const FormatPreference preference = preference_of(use);
    return preference == FormatPreference::kSame || preference == FormatPreference::kPrefersNhwc;
  }

  void count(const Value& value) {
    const Type type = nominal_type(graph_.module(), value.type());
    const auto bytes = static_cast<double>(type.dense_bytes().value_or(0));
    GroupCost& cost = costs_[groups_.find(value.id())];
    const FormatPreference made = preference_of_producer(value);
    if (made == FormatPreference::kPrefersNhwc) cost.dense += bytes;
    if (made == FormatPreference::kDense || made == FormatPreference::kPrefersDense)
      cost.nhwc += bytes;
    if (is_read_dense(value)) cost.nhwc += bytes;
    for (const Use& use : value.uses()) {
      if (preference_of(use) == FormatPreference::kPrefersNhwc) cost.dense += bytes;
      if (preference_of(use) == FormatPreference::kPrefersDense) cost.nhwc += bytes;
    }
  }

  void apply(Value& value) {
    if (preference_of_producer(value) == FormatPreference::kDense) {
      if (!std::ranges::any_of(value.uses(), [&](const Use& u) { return is_read_nhwc(u); })) return;
      Value& copy = add_copy(value, value.name() + ":nhwc");
      store(copy, nhwc_map(copy.type().dims.size()));
      move_readers(value, copy, [&](const Use& use) { return is_read_nhwc(use); });
      return;
    }
    const bool is_copied = is_read_dense(value);
    store(value, nhwc_map(value.type().dims.size()));
    if (!is_copied) return;
    Value& copy = add_copy(value, value.name() + ":dense");
    move_readers(value, copy,
                 [&](const Use& use) { return preference_of(use) == FormatPreference::kDense; });
    if (!value.is_output()) return;
    copy.set_name(value.name());
    value.set_name(value.name() + ":nhwc");
    const std::vector<Value*> outputs(graph_.outputs().begin(), graph_.outputs().end());
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] == &value) graph_.set_output(i, copy);
  }

  // The copy stands where its producer, or else its first reader, is placed.
  Value& add_copy(Value& value, const std::string& name) {
    const Node* producer = value.producer();
    Node* before = producer == nullptr ? graph_.first_node() : producer->next();
    const Node& neighbour = producer == nullptr ? *value.uses()[0].node : *producer;
    Node& copy = graph_.add_node(Op::kTransData, {&value}, 1, before);
    copy.placement.stream_label = neighbour.placement.stream_label;
    copy.placement.stage_level = neighbour.placement.stage_level;
    copy.set_origins(neighbour.origins());
    copy.output().set_type(value.type_id());
    copy.output().set_name(name);
    preferences_.emplace(copy.id(),
                         FormatPreferences{{FormatPreference::kAny}, {FormatPreference::kAny}});
    return copy.output();
  }

  template <typename Predicate>
  void move_readers(Value& value, Value& copy, Predicate is_moved) {
    const std::vector<Use> uses = value.uses();
    for (const Use& use : uses)
      if (is_moved(use)) use.node->set_input(use.input, &copy);
  }

  Graph& graph_;
  const EngineTable& table_;
  DisjointSets groups_;  // by value id
  // By node id, of nodes with a value of either format.
  std::map<int32_t, FormatPreferences> preferences_;
  std::map<int32_t, GroupCost> costs_;  // by representative of the group
};

}  // namespace

Result<bool> choose_formats(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  SLUICE_ASSIGN(const EngineTable table, make_engine_table(profile));
  const bool is_possible = table.find(EngineId::kAicore) != nullptr &&
                           table.find(intern_engine("vector")) != nullptr && !has_storages(root);
  return is_possible && FormatChooser(root, table).run();
}

}  // namespace sluice
