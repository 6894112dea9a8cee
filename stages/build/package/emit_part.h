// Emits one part of a ModelDef: values, tasks and memory.
#pragma once

#include <vector>

#include "stages/build/package/emit_model.h"

namespace sluice {

class PartEmitter {
 public:
  PartEmitter(ModelEmitter& model, const PlannedPart& planned, pb::PartDef& def)
      : model_(model),
        planned_(planned),
        def_(def),
        part_(*def.mutable_fixed()),
        value_ids_(planned.graph->value_limit(), kNoId) {}

  void run(bool under_root);

 private:
  static constexpr uint32_t kNoId = 0xffffffff;

  void emit_bindings();
  void emit_task(const Task& task);
  void emit_task_kind(const Task& task);
  void emit_output_copy(const Task& task);
  void emit_alias(const Alias& alias);
  void emit_memory();
  void emit_buffers();
  bool is_symbolic() const { return planned_.graph->shapes == ShapeClass::kSymbolic; }
  uint32_t region_of(const ValuePlace& place) const;
  uint32_t add_value(const Value& value, uint32_t region, uint64_t offset, uint64_t bytes,
                     int32_t buffer);
  uint32_t value_id(const Value& value);

  ModelEmitter& model_;
  const PlannedPart& planned_;
  pb::PartDef& def_;
  pb::FixedPart& part_;
  std::vector<uint32_t> value_ids_;  // by value id of the graph
  pb::ValueNamesDef value_names_;
  uint32_t inputs_ = 0;
  uint32_t next_host_node_ = 0;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace sluice
