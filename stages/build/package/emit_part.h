// Emits one part of a ModelDef: values, tasks and memory, as its schedule says. What it says is
// only copied: into columns, with numbers for what has names or ids.
#pragma once

#include <vector>

#include "stages/build/package/emit_model.h"

namespace sluice {

class PartEmitter {
 public:
  PartEmitter(ModelEmitter& model, const Graph& graph, pb::PartDef& def)
      : model_(model),
        graph_(graph),
        def_(def),
        part_(*def.mutable_fixed()),
        value_ids_(graph.value_limit(), kNoId),
        arena_ids_(graph.buffers.size(), kNoId) {}

  void run(bool under_root);

 private:
  static constexpr uint32_t kNoId = 0xffffffff;

  void emit_bindings();
  void emit_values_of_inputs();
  void emit_task(const Node& node);
  void emit_task_kind(const Node& node);
  void emit_event(pb::TaskKind kind, const Node& node, const EventWait& event, uint32_t node_index);
  void emit_no_task(const Node& node);
  void emit_pieces(const Node& node);
  void emit_view(const Value& value);
  void leave_out_zeros();
  void emit_memory();
  void emit_buffers();
  bool is_symbolic() const { return graph_.shapes == ShapeClass::kSymbolic; }
  uint32_t region_of(const MemoryBuffer& buffer) const;
  uint32_t value_id(const Value& value);
  uint32_t add_value(const Value& value);
  std::string name_of(const Value& value) const;

  ModelEmitter& model_;
  const Graph& graph_;
  pb::PartDef& def_;
  pb::FixedPart& part_;
  std::vector<uint32_t> value_ids_;  // by value id of the graph
  std::vector<uint32_t> arena_ids_;  // by buffer of the graph: its number among those of the arena
  std::vector<uint32_t> task_ids_;   // by position in the schedule, in which events are no tasks
  pb::ValueNamesDef value_names_;
  uint32_t inputs_ = 0;
  uint32_t next_host_node_ = 0;
};

}  // namespace sluice
