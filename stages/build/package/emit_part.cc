#include "stages/build/package/emit_part.h"

#include <algorithm>

#include "common/ir/append_axis.h"
#include "common/ir/value_storage.h"
#include "common/ops/pieces.h"
#include "common/ops/value_bytes.h"
#include "stages/build/memory/plan_memory.h"
#include "stages/build/parts.h"

namespace sluice {
namespace {

// Returns the engine that runs the task; copies of all kinds are the device's own.
EngineId engine_of(const Node& node) {
  switch (task_kind(node)) {
    case TaskKind::kLaunch:
      return node.placement.engine;
    case TaskKind::kHost:
      return EngineId::kHostCpu;
    case TaskKind::kCopy:
    case TaskKind::kAppend:
      return EngineId::kRts;
  }
  return EngineId::kNone;
}

// Returns the type whose dims are those of the wider rows that the value's rows are parts of.
Type capacity_type(const Value& value) {
  const Storage& storage = *value.storage();
  std::vector<Dim> dims = value.type().dims;
  for (size_t i = 0; i < storage.map.size(); ++i) {
    const StoredAxis& axis = storage.map[i];
    if (axis.divisor == 1 && axis.modulus == 0)
      dims[static_cast<size_t>(axis.dim)] = storage.dims[i];
  }
  return Type::tensor(value.type().dtype, std::move(dims));
}

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
  emit_streams();
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

// Leaves out columns that say nothing of any value.
void PartEmitter::leave_out_zeros() {
  const auto is_zero = [](const auto& column) {
    return std::all_of(column.begin(), column.end(), [](uint32_t x) { return x == 0; });
  };
  if (is_zero(part_.value_capacity())) part_.clear_value_capacity();
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

// Returns the offset of a buffer in its region: in the arena, the classes of memory follow each
// other.
int64_t PartEmitter::offset_of(const MemoryBuffer& buffer) const {
  int64_t offset = buffer.offset.value;
  if (buffer.memory != MemoryClass::kArena) return offset;
  for (uint32_t memory = 0; memory < buffer.binding; ++memory) {
    for (const uint64_t bytes : graph_.memories[memory].sub_memories)
      offset += static_cast<int64_t>(bytes);
  }
  return offset;
}

uint32_t PartEmitter::add_value(const Value& value) {
  const MemoryBuffer& buffer = buffer_of(value);
  const uint32_t arena_id = arena_ids_[static_cast<size_t>(value.place().buffer)];
  const bool is_bound_later = is_symbolic() && arena_id != kNoId;
  const int64_t start = buffer.offset.is_fixed() && !is_bound_later ? offset_of(buffer) : 0;
  const Dim& distance = value.place().offset;
  value_names_.add_name(name_of(value));
  part_.add_value_type(model_.type_index(value.type()));
  part_.add_value_region(region_of(buffer));
  part_.add_value_offset(static_cast<uint64_t>(start + (distance.is_fixed() ? distance.value : 0)));
  part_.add_value_bytes(storage_bytes(value));
  part_.add_value_capacity(row_axis(value) ? 1 + model_.type_index(capacity_type(value)) : 0);
  part_.add_value_storage(is_stored_dense(value) ? 0
                                                 : 1 + model_.storage_index(value.storage()->map));
  if (is_symbolic()) {
    def_.mutable_symbolic()->add_value_buffer(arena_id);
    def_.mutable_symbolic()->add_value_distance(
        distance.is_fixed() ? 0 : model_.size_index(static_cast<ExpressionId>(distance.value)));
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
      scratch_bytes_ =
          std::max(scratch_bytes_, graph_.module().kernel(node.placement.kernel).scratch_bytes);
      return emit(pb::TASK_LAUNCH, model_.kernel_index(node.placement.kernel));
    case TaskKind::kHost:
      return emit(pb::TASK_HOST, next_host_node_++);
    case TaskKind::kAppend:
      return emit(pb::TASK_APPEND, static_cast<uint32_t>(*append_axis(node.output())));
    case TaskKind::kCopy:
      return emit(pb::TASK_COPY, 0);
  }
}

void PartEmitter::emit_event(pb::TaskKind kind, const Node& node, uint32_t event,
                             uint32_t node_index) {
  part_.add_task_stream(static_cast<uint32_t>(node.placement.stream));
  part_.add_task_kind(kind);
  part_.add_task_target(event);
  part_.add_task_node(node_index);
  part_.add_task_outputs(0);
  part_.add_task_operand_end(static_cast<uint32_t>(part_.operand_size()));
  events_ = std::max(events_, event + 1);
}

void PartEmitter::emit_task(const Node& node) {
  const uint32_t index = model_.emit_node(node, engine_of(node));
  for (const uint32_t event : node.placement.waits) emit_event(pb::TASK_WAIT, node, event, index);
  const auto task = static_cast<uint32_t>(part_.task_kind_size());
  task_ids_.push_back(task);
  for (size_t k = 0; k < node.output_count(); ++k)
    made_by_[static_cast<size_t>(node.output(k).id())] = task;
  part_.add_task_stream(static_cast<uint32_t>(node.placement.stream));
  emit_task_kind(node);
  part_.add_task_node(index);
  part_.add_task_outputs(static_cast<uint32_t>(node.output_count()));
  for (size_t k = 0; k < node.output_count(); ++k) part_.add_operand(value_id(node.output(k)));
  for (size_t i = 0; i < node.input_count(); ++i)
    part_.add_operand(node.input(i) == nullptr ? kNoId : value_id(*node.input(i)));
  part_.add_task_operand_end(static_cast<uint32_t>(part_.operand_size()));
  for (const uint32_t event : node.placement.records)
    emit_event(pb::TASK_RECORD, node, event, index);
}

// Emits the results of a node without task, which are complete once all tasks that make their bytes
// have run; those of inputs and constants are from the beginning.
void PartEmitter::emit_no_task(const Node& node) {
  uint32_t last = kNoId;
  const size_t shown = node.op() == Op::kConcat ? node.input_count() : 1;
  for (size_t i = 0; i < shown; ++i) {
    const uint32_t made = made_by_[static_cast<size_t>(node.input(i)->id())];
    if (made != kNoId && (last == kNoId || made > last)) last = made;
  }
  for (size_t k = 0; k < node.output_count(); ++k) {
    const Value& result = node.output(k);
    made_by_[static_cast<size_t>(result.id())] = last;
    if (last == kNoId) continue;
    part_.add_alias_value(value_id(result));
    part_.add_alias_after_task(last);
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
  uint64_t arena_bytes = 0;
  for (const MemoryBuffer& buffer : graph_.buffers) {
    if (buffer.memory != MemoryClass::kArena || !buffer.offset.is_fixed()) continue;
    arena_bytes = std::max(arena_bytes, static_cast<uint64_t>(offset_of(buffer)) +
                                            arena_bytes_of(graph_.module(), buffer));
  }
  memory.set_arena_bytes(std::max(arena_bytes, emit_sub_memories(memory)));
  memory.set_scratch_bytes(scratch_bytes_);
  if (is_symbolic()) emit_buffers();
}

// Returns the sum of their bytes.
uint64_t PartEmitter::emit_sub_memories(pb::MemoryDef& memory) const {
  uint64_t sum = 0;
  for (const DeviceMemory& each : graph_.memories) {
    for (const uint64_t bytes : each.sub_memories) {
      pb::SubMemoryDef& def = *memory.add_sub_memories();
      def.set_memory_class(each.name);
      def.set_bytes(bytes);
      sum += bytes;
    }
  }
  return sum;
}

void PartEmitter::emit_streams() {
  for (const std::string& name : graph_.streams) part_.add_streams()->set_name(name);
  for (uint32_t event = 0; event < events_; ++event)
    part_.add_events()->set_name(fmt::format("e{}", event));
}

void PartEmitter::emit_buffers() {
  pb::SymbolicPart& symbolic = *def_.mutable_symbolic();
  const HappensBefore order(graph_);
  for (const MemoryBuffer& buffer : graph_.buffers) {
    if (buffer.memory != MemoryClass::kArena) continue;
    const Buffer range = arena_buffer(buffer, order, 0);
    const auto first = static_cast<size_t>(range.first), last = static_cast<size_t>(range.last);
    symbolic.add_buffer_first(buffer.live.empty() ? 0 : task_ids_[first]);
    symbolic.add_buffer_last(buffer.live.empty() ? 0 : task_ids_[last]);
    if (buffer.offset.is_fixed())
      symbolic.add_buffer_offset(static_cast<uint64_t>(offset_of(buffer)));
  }
}

}  // namespace sluice
