#include "stages/build/package/emit_part.h"

#include <algorithm>

#include "common/ir/value_storage.h"

namespace sluice {
namespace {

// Returns the engine that runs the task; copies of all kinds are the device's own.
EngineId engine_of(const Task& task) {
  if (task.kind == TaskKind::kLaunch) return task.node->placement.engine;
  return task.kind == TaskKind::kHost ? EngineId::kHostCpu : EngineId::kRts;
}

// Returns a name for people: that of the model, or what tells a value without one apart.
std::string shown_name(const Value& value) {
  if (!value.name().empty() || value.producer() == nullptr) return value.name();
  return fmt::format("{}%{}", shown_name(*value.producer()), value.id());
}

}  // namespace

void PartEmitter::run(bool under_root) {
  if (under_root) emit_bindings();
  for (const Value* input : planned_.graph->inputs()) {
    if (input->is_constant()) continue;
    ++inputs_;
    value_id(*input);
  }
  for (const Task& task : planned_.list.tasks) emit_task(task);
  for (const Alias& alias : planned_.list.aliases) emit_alias(alias);
  emit_memory();
  part_.set_value_names(value_names_.SerializeAsString());
}

// Emits the bindings; names here are for messages only and may be equal.
void PartEmitter::emit_bindings() {
  const auto emit = [&](const Value& value, pb::BindingDef& binding) {
    binding.set_name(value.name());
    binding.set_type(model_.type_index(value.type()));
  };
  for (const Value* input : planned_.graph->inputs()) {
    if (!input->is_constant()) emit(*input, *part_.add_inputs());
  }
  for (const Value* output : planned_.graph->outputs()) emit(*output, *part_.add_outputs());
}

uint32_t PartEmitter::region_of(const ValuePlace& place) const {
  switch (place.place) {
    case Place::kArena:
      return pb::REGION_ARENA;
    case Place::kWeights:
      return pb::REGION_WEIGHTS;
    case Place::kInput:
      return pb::REGION_FIRST_BINDING + place.binding;
    case Place::kOutput:
      return pb::REGION_FIRST_BINDING + inputs_ + place.binding;
  }
  return pb::REGION_ARENA;
}

uint32_t PartEmitter::add_value(const Value& value, uint32_t region, uint64_t offset,
                                uint64_t bytes, int32_t buffer) {
  value_names_.add_name(shown_name(value));
  part_.add_value_type(model_.type_index(value.type()));
  part_.add_value_region(region);
  part_.add_value_offset(offset);
  part_.add_value_bytes(bytes);
  part_.add_value_storage(is_stored_dense(value) ? 0
                                                 : 1 + model_.storage_index(value.storage()->map));
  if (is_symbolic())
    def_.mutable_symbolic()->add_value_buffer(buffer < 0 ? kNoId : static_cast<uint32_t>(buffer));
  return static_cast<uint32_t>(part_.value_type_size() - 1);
}

uint32_t PartEmitter::value_id(const Value& value) {
  uint32_t& id = value_ids_[static_cast<size_t>(value.id())];
  if (id == kNoId) {
    const ValuePlace& place = planned_.plan.places[static_cast<size_t>(value.id())];
    const bool is_bound_later = is_symbolic() && place.buffer >= 0;
    id = add_value(value, region_of(place), is_bound_later ? 0 : place.offset, place.bytes,
                   place.buffer);
  }
  return id;
}

// Emits the kind and target of the task.
void PartEmitter::emit_task_kind(const Task& task) {
  const auto emit = [&](pb::TaskKind kind, uint32_t target) {
    part_.add_task_kind(kind);
    part_.add_task_target(target);
  };
  switch (task.kind) {
    case TaskKind::kLaunch:
      scratch_bytes_ =
          std::max(scratch_bytes_,
                   planned_.graph->module().kernel(task.node->placement.kernel).scratch_bytes);
      return emit(pb::TASK_LAUNCH, model_.kernel_index(task.node->placement.kernel));
    case TaskKind::kHost:
      return emit(pb::TASK_HOST, next_host_node_++);
    case TaskKind::kAppend:
      return emit(pb::TASK_APPEND, task.axis);
    case TaskKind::kCopy:
      return emit(pb::TASK_COPY, 0);
  }
}

void PartEmitter::emit_task(const Task& task) {
  part_.add_task_stream(0);
  emit_task_kind(task);
  if (task.node == nullptr) {
    emit_output_copy(task);
  } else {
    part_.add_task_node(model_.emit_node(*task.node, engine_of(task)));
    part_.add_task_outputs(static_cast<uint32_t>(task.outputs.size()));
    for (const Value* value : task.outputs) part_.add_operand(value_id(*value));
    for (const Value* value : task.inputs)
      part_.add_operand(value == nullptr ? kNoId : value_id(*value));
  }
  part_.add_task_operand_end(static_cast<uint32_t>(part_.operand_size()));
}

void PartEmitter::emit_output_copy(const Task& task) {
  const Value& source = *task.inputs[0];
  const uint32_t region =
      pb::REGION_FIRST_BINDING + inputs_ + static_cast<uint32_t>(task.copied_output);
  part_.add_task_node(model_.emit_node(source.name(), "MemCopy", engine_name(EngineId::kRts), 0));
  part_.add_task_outputs(1);
  part_.add_operand(add_value(source, region, 0, storage_bytes(source), -1));
  part_.add_operand(value_id(source));
}

void PartEmitter::emit_alias(const Alias& alias) {
  if (is_symbolic()) {
    def_.mutable_symbolic()->add_view_value(value_id(*alias.value));
    def_.mutable_symbolic()->add_view_of(value_id(*alias.of));
  }
  if (alias.after < 0) return;  // a view of an input or a constant, which no task writes
  part_.add_alias_value(value_id(*alias.value));
  part_.add_alias_after_task(static_cast<uint32_t>(alias.after));
}

void PartEmitter::emit_memory() {
  pb::MemoryDef& memory = *part_.mutable_memory();
  memory.set_arena_bytes(planned_.plan.arena_bytes);
  memory.set_scratch_bytes(scratch_bytes_);
  part_.add_streams()->set_name("main");
  if (is_symbolic()) emit_buffers();
}

void PartEmitter::emit_buffers() {
  pb::SymbolicPart& symbolic = *def_.mutable_symbolic();
  for (const Buffer& buffer : planned_.plan.arena_buffers) {
    symbolic.add_buffer_first(static_cast<uint32_t>(buffer.first));
    symbolic.add_buffer_last(static_cast<uint32_t>(buffer.last));
    if (planned_.plan.is_placed) symbolic.add_buffer_offset(buffer.offset);
  }
}

}  // namespace sluice
