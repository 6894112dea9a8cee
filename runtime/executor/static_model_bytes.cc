// Estimates the memory of a part that is lowered to a task list, for the limit on parts that are
// kept bound.
#include "runtime/executor/static_model.h"

namespace sluice {
namespace {

template <typename... Column>
uint64_t bytes_of(const Column&... column) {
  return (column.SpaceUsedExcludingSelfLong() + ...);
}

uint64_t columns_bytes(const pb::FixedPart& part) {
  constexpr uint64_t kNamedBytes = 64;  // of a message that contains a name
  const auto named =
      part.streams_size() + part.events_size() + part.inputs_size() + part.outputs_size();
  return bytes_of(part.value_type(), part.value_region(), part.value_offset(), part.value_bytes(),
                  part.value_storage(), part.value_capacity()) +
         bytes_of(part.task_kind(), part.task_stream(), part.task_target(), part.task_node(),
                  part.task_outputs(), part.task_record()) +
         bytes_of(part.task_operand_end(), part.operand(), part.alias_value(),
                  part.alias_after_task()) +
         part.value_names().size() + static_cast<uint64_t>(named) * kNamedBytes;
}

}  // namespace

uint64_t StaticModel::held_bytes() const {
  uint64_t bytes = sizeof(*this) + sizeof(pb::FixedPart) + columns_bytes(part()) +
                   places_.capacity() * sizeof(OperandPlace);
  bytes += static_cast<uint64_t>(def().sizes().expression_op_size()) * sizeof(int64_t);
  bytes += queue_.tasks.capacity() * sizeof(StreamTask);
  for (const auto& stream : queue_.streams)
    bytes += sizeof(stream) + stream.capacity() * sizeof(stream[0]);
  for (const auto& operands : binding_operands_)
    bytes += sizeof(operands) + operands.capacity() * sizeof(operands[0]);
  for (const auto& dims : symbols_) bytes += sizeof(dims) + dims.capacity() * sizeof(dims[0]);
  uint32_t begin = 0;
  for (int t = 0; t < part().task_kind_size();
       ++t) {  // the engine stores a description of each operand
    constexpr uint64_t kDims = 4;
    const uint32_t end = part().task_operand_end(t);
    if (part().task_kind(t) == pb::TASK_HOST)
      bytes += (end - begin) * (sizeof(HostOperand) + kDims * sizeof(int64_t));
    begin = end;
  }
  return bytes;
}

}  // namespace sluice
