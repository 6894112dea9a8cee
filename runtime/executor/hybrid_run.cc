#include "runtime/executor/hybrid_run.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "common/omfile/bind_part.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_types.h"
#include "common/omfile/verify_model.h"
#include "runtime/executor/check_values.h"

namespace sluice {
namespace {

int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// Returns whether the arena's size is known only when the part is bound. Other parts were placed
// for their sizes, or for the largest that these can have: they never need more.
bool is_placed_when_bound(const pb::PartDef& part) {
  return part.has_symbolic() && part.symbolic().buffer_offset_size() == 0;
}

// Allocates a part's arena. grows: with spare capacity for larger sizes where there is memory for
// that, so that it is seldom reallocated.
Result<std::vector<Arena>> make_arenas(const StaticModel& part, bool grows) {
  const uint64_t bytes = part.part().memory().arena_bytes();
  if (grows && bytes > 0) {
    if (auto larger = Arena::allocate(std::bit_ceil(bytes)))
      return std::vector<Arena>{std::move(*larger)};
  }
  return allocate_arenas(part);
}

// Returns whether each allocation that the part needs is there, and large enough.
bool are_enough(std::span<const Arena> arenas, const StaticModel& part) {
  const std::vector<uint64_t>& ends = part.arena_ends();
  uint64_t begin = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (i >= arenas.size() || arenas[i].size() < ends[i] - begin) return false;
    begin = ends[i];
  }
  return true;
}

// Makes each tensor of the value own the memory that its elements are in.
void keep_memory(HostValue& value, const std::shared_ptr<const void>& memory) {
  using Both =
      std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;  // the memory ends last
  for (HostTensor& tensor : value.tensors)
    tensor.owner = std::make_shared<const Both>(memory, std::move(tensor.owner));
}

// Unbinds states when an execution ends, also by an exception, because their values refer to memory
// that is not dense, or that has no owner then.
class StatesBound {
 public:
  StatesBound(const RunStates& states, RunInputs& inputs) : states_(states), inputs_(inputs) {}
  ~StatesBound() { states_.unbind(inputs_); }
  StatesBound(const StatesBound&) = delete;
  StatesBound& operator=(const StatesBound&) = delete;

 private:
  const RunStates& states_;
  RunInputs& inputs_;
};

}  // namespace

HybridRun::HybridRun(std::shared_ptr<const HybridModel> model, std::shared_ptr<Device> device)
    : model_(std::move(model)),
      device_(std::move(device)),
      memory_(std::make_shared<RunMemory>(static_cast<size_t>(model_->def().outputs_size()))),
      outputs_(static_cast<size_t>(model_->def().outputs_size())),
      states_(model_->def()),
      parts_(model_->part_count()),
      part_symbols_(parts_.size()) {
  inputs_.values.resize(static_cast<size_t>(model_->def().inputs_size()));
  inputs_.bound.resize(inputs_.values.size(), false);
  for (size_t i = 0; i < inputs_.values.size(); ++i) {  // an optional that nobody gives is empty
    const pb::TypeDef& type =
        model_->def().types(static_cast<int>(model_->def().inputs(static_cast<int>(i)).type()));
    inputs_.bound[i] = type.kind() == pb::VALUE_OPTIONAL;
    if (inputs_.bound[i]) inputs_.values[i].kind = HostValue::Kind::kNone;
  }
}

Result<void> HybridRun::bind_input(size_t index, HostValue value) {
  if (index >= inputs_.values.size())
    return make_error(ErrorCode::kBadBinding, "input {} of {}", index, inputs_.values.size());
  const pb::BindingDef& input = model_->def().inputs(static_cast<int>(index));
  if (value.tensors.empty() && is_state_input(model_->def(), index)) {
    states_.unbind(inputs_, static_cast<uint32_t>(index));
    return {};
  }
  for (const HostTensor& tensor : value.tensors) SLUICE_TRY(check_tensor(tensor, input.name()));
  if (!fits(model_->def(), input.type(), value)) {
    return make_error(ErrorCode::kBadBinding, "input '{}' takes {}, got {}{}", input.name(),
                      type_text(model_->def(), input.type()), text_of(value),
                      shape_mismatch_text(model_->def(), input.type(), value));
  }
  inputs_.values[index] = std::move(value);
  inputs_.bound[index] = true;
  return {};
}

Result<void> HybridRun::bind_output(size_t index, std::span<std::byte> memory) {
  const pb::ModelDef& def = model_->def();
  if (index >= outputs_.size())
    return make_error(ErrorCode::kBadBinding, "output {} of {}", index, outputs_.size());
  const pb::BindingDef& output = def.outputs(static_cast<int>(index));
  const auto wanted = type_bytes(def.types(static_cast<int>(output.type())));
  if (!wanted) {
    return make_error(ErrorCode::kBadBinding,
                      "output '{}' is {}: its size is known only after the run", output.name(),
                      type_text(def, output.type()))
        .with_hint("sluice_run_output_tensor");
  }
  if (*wanted != memory.size())
    return make_error(ErrorCode::kBadBinding, "output '{}' has {} bytes, got {}", output.name(),
                      *wanted, memory.size());
  if (memory.data() == nullptr && !memory.empty())
    return make_error(ErrorCode::kBadBinding, "output '{}' is bound to null", output.name());
  memory_->given[index].use(memory);
  return {};
}

Result<void> HybridRun::check_inputs() const {
  for (size_t i = 0; i < inputs_.bound.size(); ++i) {
    if (!inputs_.bound[i])
      return make_error(ErrorCode::kBadBinding, "input '{}' is not bound",
                        model_->def().inputs(static_cast<int>(i)).name());
  }
  return check_dims(model_->def(), inputs_.values);
}

void HybridRun::reset_states() {
  states_.forget();
  states_.unbind(inputs_);
}

void HybridRun::rewind_states() {
  states_.rewind();
  states_.unbind(inputs_);
}

const HostValue& HybridRun::output(size_t index) const {
  const AppendedState* state = states_.in_place(index);
  if (state == nullptr || outputs_[index].tensors.empty()) return outputs_[index];
  HostValue& copy = copies_[index];
  if (copy.tensors.empty()) {
    const UseTensorMemory memory(&memory_->pool);
    copy.tensors.push_back(HostTensor::of(
        std::make_shared<const Tensor>(state->dense(outputs_[index].tensors[0].dims))));
    keep_memory(copy, memory_);
  }
  return copy;
}

// Binds the symbols once for all parts of a run; those of the run before hold for equal shapes.
Result<void> HybridRun::bind_symbols() {
  if (!model_->def().has_sizes()) return {};
  std::vector<std::span<const int64_t>> shapes;
  for (const HostValue& input : inputs_.values) {
    const bool is_tensor = input.kind == HostValue::Kind::kTensor && input.tensors.size() == 1;
    shapes.push_back(is_tensor ? std::span<const int64_t>(input.tensors[0].dims)
                               : std::span<const int64_t>());
  }
  if (std::ranges::equal(shapes, bound_shapes_, std::ranges::equal)) return {};
  bound_shapes_.clear();
  SLUICE_ASSIGN(symbols_, sluice::bind_symbols(model_->def(), shapes));
  for (const auto shape : shapes) bound_shapes_.emplace_back(shape.begin(), shape.end());
  return {};
}

// Returns the run of a part. Parts run one after the other and share the arena, which is as large
// as the largest of them needs.
Result<Run*> HybridRun::find_run(uint32_t part) {
  if (part >= parts_.size())
    return make_error(ErrorCode::kBadCompiledModel, "the root calls part {} of {}", part,
                      parts_.size());
  std::unique_ptr<Run>& run = parts_[part];
  const bool is_same = run && part_symbols_[part] == symbols_;
  SLUICE_ASSIGN(auto model, model_->part(part, symbols_, is_same ? run->shared_model() : nullptr));
  if (!are_enough(arenas_, *model)) {
    arenas_.clear();
    SLUICE_ASSIGN(
        arenas_,
        make_arenas(*model, is_placed_when_bound(model_->def().parts(static_cast<int>(part)))));
  }
  if (!run || &run->model() != model.get()) {
    run = std::make_unique<Run>(std::move(model), device_);
    part_symbols_[part] = symbols_;
  }
  run->use_arenas(arenas_);
  return run.get();
}

// Makes a tensor for a result of a part, which writes all of it: in the caller's memory where the
// result is an output that was bound to it.
Tensor HybridRun::make_result(uint32_t part, uint32_t result, DType dtype,
                              std::vector<int64_t> extents, uint64_t bytes) {
  const auto output = model_->output_of(part, result);
  GivenMemory* given = output ? &memory_->given[*output] : nullptr;
  const UseTensorMemory use(given != nullptr && given->holds(bytes) ? given : tensor_memory());
  return make_unfilled_tensor(dtype, std::move(extents));
}

Result<std::vector<Tensor>> HybridRun::call_part(uint32_t part, std::span<const HostTensor> inputs,
                                                 const HybridObserver& observer) {
  SLUICE_ASSIGN(Run * found, find_run(part));
  Run& run = *found;
  const StaticModel& lowered = run.model();
  if (inputs.size() != static_cast<size_t>(lowered.inputs().size())) {
    return make_error(ErrorCode::kBadCompiledModel, "part {} takes {} values, the root gives {}",
                      part, lowered.inputs().size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const pb::BindingDef& input = lowered.inputs()[static_cast<int>(i)];
    if (!fits(lowered.def().types(static_cast<int>(input.type())), inputs[i])) {
      return make_error(ErrorCode::kBadShape, "'{}' is {} {}, the compiled part takes {}",
                        input.name(), dtype_name(inputs[i].dtype), dims_text(inputs[i].dims),
                        type_text(lowered.def(), input.type()));
    }
    SLUICE_TRY(run.bind_input(i, input.state() == 0 ? inputs[i].bytes : states_.memory(input)));
  }
  std::vector<Tensor> outputs;
  for (int k = 0; k < lowered.outputs().size(); ++k) {
    const pb::TypeDef& type = lowered.def().types(static_cast<int>(lowered.outputs()[k].type()));
    const bool is_in_place = lowered.outputs()[k].state() != 0;
    std::vector<int64_t> extents = lowered.extents(lowered.outputs()[k].type());
    if (is_in_place) {  // no node of the root reads its elements: checked
      outputs.push_back({{}, static_cast<DType>(type.dtype()), std::move(extents), {}});
    } else {
      const uint64_t bytes =
          lowered.binding_bytes(static_cast<size_t>(lowered.inputs().size() + k));
      outputs.push_back(make_result(part, static_cast<uint32_t>(k),
                                    static_cast<DType>(type.dtype()), std::move(extents), bytes));
    }
    SLUICE_TRY(run.bind_output(static_cast<size_t>(k), is_in_place
                                                           ? states_.memory(lowered.outputs()[k])
                                                           : std::span(outputs.back().bytes)));
  }
  WalkObserver walk;
  if (observer.part_times != nullptr) {
    std::vector<TaskTime>& times = (*observer.part_times)[part];
    times.resize(lowered.queue().tasks.size());
    walk.times = &times;
  }
  if (observer.after_task)
    walk.after_task = [&](uint32_t task) { return observer.after_task(run, part, task); };
  if (observer.walk_part) walk = observer.walk_part(run);
  SLUICE_TRY(run.execute(walk));
  return outputs;
}

Result<void> HybridRun::launch(uint32_t kernel, std::span<void* const> operands,
                               std::span<const int64_t> dims) {
  const pb::KernelDef& def = model_->def().kernels(static_cast<int>(kernel));
  SLUICE_ASSIGN(const LaunchSize size, size_launch(def, dims));
  Failure failure;
  device_->run({.kernel = model_->kernel(kernel),
                .operands = operands.data(),
                .symbols = def.symbolic() ? dims.data() : nullptr,
                .blocks = size.blocks,
                .scratch_bytes = size.scratch_bytes,
                .flush_denormals = model_->flush_denormals(),
                .failure = &failure},
               scratch_);
  return failure.take();
}

Result<void> HybridRun::execute(const HybridObserver& observer) {
  SLUICE_TRY(device_->start_threads());
  const Device::WalkerSlot walker(*device_);  // the nodes between parts need a slot too
  const StatesBound bound(states_, inputs_);
  SLUICE_TRY(execute_once(observer));
  SLUICE_TRY(states_.check_capacity(outputs_));
  states_.keep(outputs_);
  fill_bound_outputs();
  return {};
}

// Copies the bound outputs that no part wrote into the caller's memory.
void HybridRun::fill_bound_outputs() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::span<std::byte> bound = memory_->given[i].bytes();
    if (bound.empty()) continue;
    const std::span<const std::byte> made =
        output(i).tensors[0].bytes;  // of fixed type: one tensor of as many bytes
    if (made.data() != bound.data()) std::memcpy(bound.data(), made.data(), bound.size());
  }
}

Result<void> HybridRun::execute_once(const HybridObserver& observer) {
  SLUICE_TRY(states_.begin(inputs_));
  SLUICE_TRY(check_inputs());
  SLUICE_TRY(bind_symbols());
  outputs_.assign(outputs_.size(), {});  // their memory is for this run's values
  copies_.assign(outputs_.size(), {});
  const UseTensorMemory memory(&memory_->pool);
  GraphHooks hooks;
  hooks.memory = &memory_->pool;
  hooks.call_part = [&](uint32_t part, std::span<const HostTensor> inputs) {
    return call_part(part, inputs, observer);
  };
  hooks.node_kernels = model_->node_kernels();
  hooks.launch = [this](uint32_t kernel, std::span<void* const> operands,
                        std::span<const int64_t> dims) { return launch(kernel, operands, dims); };
  hooks.value_made = observer.value_made;
  if (observer.node_times != nullptr) {
    hooks.around_node = [&](uint32_t node, bool begins) {
      std::vector<TaskTime>& times = *observer.node_times;
      if (node >= times.size()) times.resize(node + 1);
      (begins ? times[node].begin_ns : times[node].end_ns) = now_ns();
    };
  }
  if (observer.node_bytes != nullptr) {
    hooks.operands_counted = [&](uint32_t node, uint64_t bytes) {
      if (node < observer.node_bytes->size()) (*observer.node_bytes)[node] = bytes;
    };
  }
  SLUICE_ASSIGN(std::vector<HostValue> outputs,
                model_->engine().run_graph(model_->root(), inputs_.values, hooks));
  SLUICE_TRY(check_outputs(outputs));
  for (HostValue& output : outputs) keep_memory(output, memory_);
  outputs_ = std::move(outputs);
  return {};
}

// Checks the outputs' types, because callers rely on the types that the model promises.
Result<void> HybridRun::check_outputs(const std::vector<HostValue>& outputs) const {
  const pb::ModelDef& def = model_->def();
  if (outputs.size() != static_cast<size_t>(def.outputs_size())) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "the root gives {} values, the model has {} outputs", outputs.size(),
                      def.outputs_size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const pb::BindingDef& output = def.outputs(static_cast<int>(i));
    if (fits(def, output.type(), outputs[i])) continue;
    return make_error(ErrorCode::kBadShape, "output '{}' is {}, the model promises {}",
                      output.name(), text_of(outputs[i]), type_text(def, output.type()));
  }
  return {};
}

}  // namespace sluice
