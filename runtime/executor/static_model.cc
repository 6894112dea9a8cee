#include "runtime/executor/static_model.h"

#include <cstring>

#include "common/omfile/bind_part.h"
#include "common/omfile/in_place_append.h"
#include "common/omfile/om_events.h"
#include "common/omfile/om_names.h"
#include "common/omfile/sub_memories.h"

namespace sluice {
namespace {

constexpr uint32_t kAbsentOperand = 0xffffffff;

// Copies operand 1 to operand 0. The state is the number of bytes itself, stored in the pointer, so
// that nothing owns it.
Result<void> run_copy(const void* state, void* const* operands, uint32_t) {
  if (const size_t bytes = reinterpret_cast<size_t>(state); bytes != 0)
    std::memmove(operands[0], operands[1], bytes);
  return {};
}

// Copies operand 1 to operand 0, by rows.
Result<void> run_strided_copy(const void* state, void* const* operands, uint32_t) {
  static_cast<const StridedCopy*>(state)->run(static_cast<const std::byte*>(operands[1]),
                                              static_cast<std::byte*>(operands[0]));
  return {};
}

// Copies operands 2 and later into operand 0, which already contains operand 1.
Result<void> run_append(const void* state, void* const* operands, uint32_t) {
  const auto& copies = *static_cast<const std::vector<StridedCopy>*>(state);
  for (size_t i = 0; i < copies.size(); ++i)
    copies[i].run(static_cast<const std::byte*>(operands[2 + i]),
                  static_cast<std::byte*>(operands[0]));
  return {};
}

Result<std::shared_ptr<const StaticModel>> lower_only_part(
    std::shared_ptr<const OpenedModel> model) {
  if (model->def().has_root())
    return make_error(ErrorCode::kUnsupportedPart, "the model is more than one fixed part");
  return StaticModel::lower(std::move(model), 0);
}

// Adds to an error what was to be allocated: the class of memory, and the largest value.
Error within_memory(const StaticModel& part, size_t allocation, Error error) {
  const auto& sub_memories = part.part().memory().sub_memories();
  if (allocation < static_cast<size_t>(sub_memories.size()))
    error.message =
        fmt::format("memory class '{}': {}",
                    sub_memories[static_cast<int>(allocation)].memory_class(), error.message);
  const std::string largest = maker_of_largest(part.def(), part.part());
  if (!largest.empty()) error.message = largest + " and others: " + error.message;
  return error;
}

}  // namespace

Result<std::vector<Arena>> allocate_arenas(const StaticModel& part) {
  std::vector<Arena> arenas;
  uint64_t begin = 0;
  for (const uint64_t end : part.arena_ends()) {
    auto arena = Arena::allocate(end - begin);
    if (!arena) return within_memory(part, arenas.size(), std::move(arena).error());
    arenas.push_back(std::move(*arena));
    begin = end;
  }
  return arenas;
}

Result<std::shared_ptr<void>> open_host_graph(const OpenedModel& model, int part) {
  const pb::FixedPart& def = model.def().parts(part).fixed();
  if (!def.has_host()) return std::shared_ptr<void>();
  return model.host()->open_graph(model.file().segment(def.host_graph()), model.weights());
}

StaticModel::StaticModel(std::shared_ptr<const OpenedModel> model,
                         std::shared_ptr<const pb::FixedPart> part, TypeSizes sizes,
                         std::shared_ptr<void> host_graph)
    : model_(std::move(model)),
      part_(std::move(part)),
      sizes_(std::move(sizes)),
      host_graph_(std::move(host_graph)) {}

Result<std::shared_ptr<const StaticModel>> StaticModel::open(const std::string& path,
                                                             const OpenOptions& options) {
  SLUICE_ASSIGN(auto model, OpenedModel::open(path, options));
  return lower_only_part(std::move(model));
}

Result<std::shared_ptr<const StaticModel>> StaticModel::open(OmBytes bytes,
                                                             const OpenOptions& options) {
  SLUICE_ASSIGN(auto model, OpenedModel::open(std::move(bytes), options));
  return lower_only_part(std::move(model));
}

Result<std::shared_ptr<const StaticModel>> StaticModel::lower(
    std::shared_ptr<const OpenedModel> model, int part) {
  SLUICE_ASSIGN(auto host_graph, open_host_graph(*model, part));
  const pb::FixedPart& fixed = model->def().parts(part).fixed();
  TypeSizes sizes(model->def());
  std::shared_ptr<const pb::FixedPart> shared(model, &fixed);
  return lower(std::shared_ptr<StaticModel>(new StaticModel(
      std::move(model), std::move(shared), std::move(sizes), std::move(host_graph))));
}

Result<std::shared_ptr<const StaticModel>> StaticModel::bind(
    std::shared_ptr<const OpenedModel> model, int part, TypeSizes sizes,
    std::shared_ptr<void> host_graph) {
  SLUICE_ASSIGN(pb::FixedPart bound, bind_part(model->def(), part, sizes));
  auto shared = std::make_shared<const pb::FixedPart>(std::move(bound));
  return lower(std::shared_ptr<StaticModel>(new StaticModel(
      std::move(model), std::move(shared), std::move(sizes), std::move(host_graph))));
}

Result<std::shared_ptr<const StaticModel>> StaticModel::lower(
    std::shared_ptr<StaticModel> lowered) {
  lowered->arena_ends_ = sluice::arena_ends(lowered->part().memory());
  lowered->lower_operands();
  SLUICE_TRY(lowered->lower_tasks());
  return std::shared_ptr<const StaticModel>(std::move(lowered));
}

void StaticModel::lower_operands() {
  binding_operands_.resize(static_cast<size_t>(inputs().size() + outputs().size()));
  for (const Bindings* list : {&inputs(), &outputs()}) {
    for (const pb::BindingDef& binding : *list) {
      binding_bytes_.push_back(
          sizes_.bytes(memory_type(def(), binding)).value().value());  // verified
    }
  }
  places_.reserve(static_cast<size_t>(part().operand_size()));
  for (const uint32_t value : part().operand()) {
    if (value == kAbsentOperand) {
      places_.push_back({kAbsentRegion, 0});
      continue;
    }
    const OperandPlace place{part().value_region(static_cast<int>(value)),
                             part().value_offset(static_cast<int>(value))};
    if (place.region >= pb::REGION_FIRST_BINDING) {
      binding_operands_[place.region - pb::REGION_FIRST_BINDING].push_back(
          static_cast<uint32_t>(places_.size()));
    }
    places_.push_back(place);
  }
}

Result<void> StaticModel::lower_tasks() {
  const int tasks = part().task_kind_size();
  queue_.events = static_cast<uint32_t>(part().events_size());
  queue_.streams.resize(static_cast<size_t>(part().streams_size()));
  queue_.tasks.reserve(static_cast<size_t>(tasks));
  uint32_t begin = 0;
  for (int t = 0; t < tasks; ++t) {
    auto task = lower_task(t, begin);
    if (!task) return std::move(task).error().within(node_text(def(), part().task_node(t)));
    queue_.tasks.push_back(*task);
    queue_.streams[part().task_stream(t)].push_back(static_cast<uint32_t>(t));
    begin = part().task_operand_end(t);
  }
  return {};
}

Result<StreamTask> StaticModel::lower_task(int t, uint32_t operand_begin) {
  StreamTask task;
  task.operand_begin = operand_begin;
  const uint32_t target = part().task_target(t);
  switch (part().task_kind(t)) {
    case pb::TASK_RECORD:
      task.action = TaskAction::kRecord;
      task.event = target;
      break;
    case pb::TASK_WAIT:
      task.action = TaskAction::kWait;
      task.event = target;
      task.record = awaited_record(part(), t);
      break;
    case pb::TASK_COPY:
      lower_copy(operand_begin, task);
      break;
    case pb::TASK_APPEND:
      lower_append(t, operand_begin, task);
      break;
    case pb::TASK_HOST: {
      SLUICE_ASSIGN(const HostTask host, describe_host_task(t, operand_begin));
      SLUICE_ASSIGN(HostCall call, model_->host()->prepare(host_graph_, host));
      task.call = model_->host()->run;
      task.call_state = call.state.get();
      task.blocks = call.blocks;
      call_states_.push_back(std::move(call.state));
      break;
    }
    default:
      SLUICE_TRY(lower_launch(t, operand_begin, task));
  }
  return task;
}

// Returns the extents that distances in the memory of a value follow from: its own, but for states
// that are written in place and rows that are parts of wider ones.
std::vector<int64_t> StaticModel::capacity(uint32_t value) const {
  if (part().value_capacity_size() > 0) {
    const uint32_t type = part().value_capacity(static_cast<int>(value));
    if (type != 0) return extents(type - 1);
  }
  const uint32_t state = state_of(def(), part(), part().value_region(static_cast<int>(value)));
  return extents(state == 0 ? part().value_type(static_cast<int>(value))
                            : def().states(static_cast<int>(state) - 1).storage() - 1);
}

void StaticModel::lower_copy(uint32_t operand_begin, StreamTask& task) {
  const uint32_t to = part().operand(static_cast<int>(operand_begin)),
                 from = part().operand(static_cast<int>(operand_begin) + 1);
  const std::vector<int64_t> extents = this->extents(part().value_type(static_cast<int>(to))),
                             to_capacity = capacity(to), from_capacity = capacity(from);
  if (to_capacity == extents && from_capacity == extents) {
    task.call = run_copy;
    task.call_state = reinterpret_cast<const void*>(part().value_bytes(static_cast<int>(to)));
    return;
  }
  const size_t axis = append_axis_of(extents, to_capacity == extents ? from_capacity : to_capacity);
  const auto copy = std::make_shared<const StridedCopy>(
      strided_copy(extents, from_capacity, to_capacity, axis, 0, element_bytes(to)));
  task.call = run_strided_copy;
  task.call_state = copy.get();
  call_states_.push_back(copy);
}

void StaticModel::lower_append(int t, uint32_t operand_begin, StreamTask& task) {
  const uint32_t axis = part().task_target(t), to = part().operand(static_cast<int>(operand_begin));
  auto copies = std::make_shared<std::vector<StridedCopy>>();
  int64_t at = 0;
  for (uint32_t i = operand_begin + 1; i < part().task_operand_end(t); ++i) {
    const std::vector<int64_t> own =
        extents(part().value_type(static_cast<int>(part().operand(static_cast<int>(i)))));
    if (i > operand_begin + 1)
      copies->push_back(strided_copy(own, own, capacity(to), axis, at, element_bytes(to)));
    at += own[axis];
  }
  task.call = run_append;
  task.call_state = copies.get();
  call_states_.push_back(std::move(copies));
}

uint64_t StaticModel::element_bytes(uint32_t value) const {
  return dtype_bits(static_cast<DType>(
             def().types(static_cast<int>(part().value_type(static_cast<int>(value)))).dtype())) /
         8;
}

// Lowers a launch of a kernel; one of symbolic sizes reads the dims of its operands.
Result<void> StaticModel::lower_launch(int t, uint32_t operand_begin, StreamTask& task) {
  const uint32_t target = part().task_target(t);
  const pb::KernelDef& kernel = def().kernels(static_cast<int>(target));
  std::vector<int64_t> dims;
  if (kernel.symbolic()) {
    for (uint32_t i = operand_begin; i < part().task_operand_end(t); ++i) {
      const std::vector<int64_t> own =
          extents(part().value_type(static_cast<int>(part().operand(static_cast<int>(i)))));
      dims.insert(dims.end(), own.begin(), own.end());
    }
  }
  SLUICE_ASSIGN(const LaunchSize size, size_launch(kernel, dims));
  task.kernel = model_->kernel(target);
  task.blocks = size.blocks;
  task.scratch_bytes = size.scratch_bytes;
  task.flush_denormals = model_->flush_denormals();
  if (kernel.symbolic()) task.symbols = symbols_.emplace_back(std::move(dims)).data();
  return {};
}

Result<HostTask> StaticModel::describe_host_task(int t, uint32_t begin) const {
  HostTask task{.node = part().task_target(t), .operands = {}, .outputs = part().task_outputs(t)};
  for (uint32_t i = begin; i < part().task_operand_end(t); ++i) {
    const uint32_t value = part().operand(static_cast<int>(i));
    HostOperand operand;
    if (value != kAbsentOperand) {
      const int v = static_cast<int>(value);
      if (part().value_storage(v) != 0) {
        return make_error(ErrorCode::kBadCompiledModel,
                          "a host node takes value '{}', which is not dense",
                          ValueNames(part())[value]);
      }
      const pb::TypeDef& type = def().types(static_cast<int>(part().value_type(v)));
      const bool is_constant = part().value_region(v) == pb::REGION_WEIGHTS;
      operand = {true, static_cast<DType>(type.dtype()), extents(part().value_type(v)),
                 part().value_bytes(v),
                 is_constant ? weights().data() + part().value_offset(v) : nullptr};
    }
    task.operands.push_back(std::move(operand));
  }
  return task;
}

}  // namespace sluice
