#include "stages/build/package/emit_part.h"

#include <algorithm>

#include "common/ir/value_storage.h"
#include "common/ops/pieces.h"
#include "stages/build/parts.h"

namespace sluice {
namespace {

// Returns a number that is known, as a column contains it; 0 for others.
uint64_t known(const Dim& dim) { return dim.is_fixed() ? static_cast<uint64_t>(dim.value) : 0; }

}  // namespace

void PartEmitter::run(bool under_root) {
  if (under_root) emit_bindings();
  for (uint32_t id = 0, count = 0; id < graph_.buffers.size(); ++id) {
    if (graph_.buffers[id].memory == MemoryClass::kArena) arena_ids_[id] = count++;
  }
  emit_values_of_inputs();
  for (const Node* task : tasks_of(graph_)) emit_task(*task);
  for (const Node& node : graph_.nodes()) {
    if (node.placement.no_task) emit_no_task(node);
  }
  emit_memory();
  if (is_symbolic()) emit_buffers();
  for (const std::string& name : graph_.streams) part_.add_streams()->set_name(name);
  part_.set_has_notifies(graph_.has_notifies);
  leave_out_zeros();
  part_.set_value_names(value_names_.SerializeAsString());
}

// Emits the bindings; names here are for messages only and may be equal.
void PartEmitter::emit_bindings() {
  const auto emit = [&](const Value& value, pb::BindingDef& binding) {
    binding.set_name(value.name());
    binding.set_type(model_.type_index(value.type()));
  };
  for (const Value* input : graph_.inputs()) {
    if (!input->is_constant()) emit(*input, *part_.add_inputs());
  }
  for (const Value* output : graph_.outputs()) emit(*output, *part_.add_outputs());
}

void PartEmitter::emit_values_of_inputs() {
  for (const Value* input : graph_.inputs()) inputs_ += input->is_constant() ? 0 : 1;
  for (const Value* input : graph_.inputs()) {
    if (!input->is_constant()) value_id(*input);
  }
}

uint32_t PartEmitter::region_of(const MemoryBuffer& buffer) const {
  switch (buffer.memory) {
    case MemoryClass::kArena:
      return pb::REGION_ARENA;
    case MemoryClass::kWeights:
      return pb::REGION_WEIGHTS;
    case MemoryClass::kInput:
      return pb::REGION_FIRST_BINDING + buffer.binding;
    case MemoryClass::kOutput:
      return pb::REGION_FIRST_BINDING + inputs_ + buffer.binding;
  }
  return pb::REGION_ARENA;
}

// Leaves out columns that say nothing of any value or task.
void PartEmitter::leave_out_zeros() {
  const auto is_zero = [](const auto& column) {
    return std::all_of(column.begin(), column.end(), [](uint32_t x) { return x == 0; });
  };
  if (is_zero(part_.value_capacity())) part_.clear_value_capacity();
  if (std::ranges::all_of(part_.task_record(), [](uint32_t record) { return record <= 1; }))
    part_.clear_task_record();
  if (is_symbolic() && is_zero(def_.symbolic().value_distance()))
    def_.mutable_symbolic()->clear_value_distance();
}

// Returns a name for people: that of the model, or what distinguishes a value without one.
std::string PartEmitter::name_of(const Value& value) const {
  const Node* producer = value.producer();
  if (!value.name().empty() || producer == nullptr) return value.name();
  if (copied_output(*producer)) return producer->input(0)->name();
  return fmt::format("{}%{}", shown_name(*producer), value.id());
}

// The offset of a value is that of its buffer and its own in it; those of buffers that are placed
// when the part is bound, and what is no number, are in columns of their own.
uint32_t PartEmitter::add_value(const Value& value) {
  const MemoryPlace& place = value.place();
  const MemoryBuffer& buffer = graph_.buffers[static_cast<size_t>(place.buffer)];
  const uint32_t arena_id = arena_ids_[static_cast<size_t>(place.buffer)];
  const bool is_bound_later = is_symbolic() && arena_id != kNoId;
  value_names_.add_name(name_of(value));
  part_.add_value_type(model_.type_index(value.type()));
  part_.add_value_region(region_of(buffer));
  part_.add_value_offset((is_bound_later ? 0 : known(buffer.offset)) + known(place.offset));
  part_.add_value_bytes(known(place.bytes));
  part_.add_value_capacity(
      place.capacity < 0 ? 0 : 1 + model_.type_index(graph_.module().type(place.capacity)));
  part_.add_value_storage(is_stored_dense(value) ? 0
                                                 : 1 + model_.storage_index(value.storage()->map));
  if (is_symbolic()) {
    def_.mutable_symbolic()->add_value_buffer(arena_id);
    def_.mutable_symbolic()->add_value_distance(
        place.offset.is_fixed() ? 0
                                : model_.size_index(static_cast<ExpressionId>(place.offset.value)));
  }
  return static_cast<uint32_t>(part_.value_type_size() - 1);
}

uint32_t PartEmitter::value_id(const Value& value) {
  uint32_t& id = value_ids_[static_cast<size_t>(value.id())];
  if (id == kNoId) id = add_value(value);
  return id;
}

// Emits the kind and target of the task.
void PartEmitter::emit_task_kind(const Node& node) {
  const auto emit = [&](pb::TaskKind kind, uint32_t target) {
    part_.add_task_kind(kind);
    part_.add_task_target(target);
  };
  switch (task_kind(node)) {
    case TaskKind::kLaunch:
      return emit(pb::TASK_LAUNCH, model_.kernel_index(node.placement.kernel));
    case TaskKind::kHost:
      return emit(pb::TASK_HOST, next_host_node_++);
    case TaskKind::kAppend:
      return emit(pb::TASK_APPEND, static_cast<uint32_t>(joined_axis(node)));
    case TaskKind::kCopy:
      return emit(pb::TASK_COPY, 0);
  }
}

void PartEmitter::emit_event(pb::TaskKind kind, const Node& node, const EventWait& event,
                             uint32_t node_index) {
  part_.add_task_stream(static_cast<uint32_t>(node.placement.stream));
  part_.add_task_kind(kind);
  part_.add_task_target(event.event);
  part_.add_task_record(event.record);
  part_.add_task_node(node_index);
  part_.add_task_outputs(0);
  part_.add_task_operand_end(static_cast<uint32_t>(part_.operand_size()));
}

void PartEmitter::emit_task(const Node& node) {
  const uint32_t index = model_.emit_node(node, node.placement.engine);
  for (const EventWait& wait : node.placement.waits) emit_event(pb::TASK_WAIT, node, wait, index);
  task_ids_.push_back(static_cast<uint32_t>(part_.task_kind_size()));
  part_.add_task_stream(static_cast<uint32_t>(node.placement.stream));
  part_.add_task_record(0);
  emit_task_kind(node);
  part_.add_task_node(index);
  part_.add_task_outputs(static_cast<uint32_t>(node.output_count()));
  for (size_t k = 0; k < node.output_count(); ++k) part_.add_operand(value_id(node.output(k)));
  for (size_t i = 0; i < node.input_count(); ++i)
    part_.add_operand(node.input(i) == nullptr ? kNoId : value_id(*node.input(i)));
  part_.add_task_operand_end(static_cast<uint32_t>(part_.operand_size()));
  for (const uint32_t event : node.placement.records) {
    while (static_cast<uint32_t>(part_.events_size()) <= event)
      part_.add_events()->set_name(fmt::format("e{}", part_.events_size()));
    emit_event(pb::TASK_RECORD, node, {event, 0}, index);
  }
}

// Emits the results of a node without task; those that are complete from the beginning are as good
// as inputs.
void PartEmitter::emit_no_task(const Node& node) {
  const int32_t last = node.placement.complete_after;
  for (size_t k = 0; k < node.output_count() && last >= 0; ++k) {
    part_.add_alias_value(value_id(node.output(k)));
    part_.add_alias_after_task(task_ids_[static_cast<size_t>(last)]);
  }
  is_piecewise(node) ? emit_pieces(node) : emit_view(node.output());
}

void PartEmitter::emit_pieces(const Node& node) {
  for (const Value* piece : pieces_of(node)) {
    part_.add_piece_value(value_id(*piece));
    part_.add_piece_of(value_id(whole_of(node)));
  }
}

void PartEmitter::emit_view(const Value& value) {
  if (!is_symbolic()) return;
  def_.mutable_symbolic()->add_view_value(value_id(value));
  def_.mutable_symbolic()->add_view_of(value_id(viewed(value)));
}

void PartEmitter::emit_memory() {
  pb::MemoryDef& memory = *part_.mutable_memory();
  memory.set_arena_bytes(graph_.arena_bytes);
  memory.set_scratch_bytes(graph_.scratch_bytes);
  for (const DeviceMemory& each : graph_.memories) {
    for (const uint64_t bytes : each.sub_memories) {
      pb::SubMemoryDef& def = *memory.add_sub_memories();
      def.set_memory_class(each.name);
      def.set_bytes(bytes);
    }
  }
}

void PartEmitter::emit_buffers() {
  pb::SymbolicPart& symbolic = *def_.mutable_symbolic();
  for (const MemoryBuffer& buffer : graph_.buffers) {
    if (buffer.memory != MemoryClass::kArena) continue;
    symbolic.add_buffer_first(buffer.live.empty() ? 0 : task_ids_[buffer.held.first]);
    symbolic.add_buffer_last(buffer.live.empty() ? 0 : task_ids_[buffer.held.last]);
    if (buffer.offset.is_fixed()) symbolic.add_buffer_offset(known(buffer.offset));
  }
}

}  // namespace sluice
