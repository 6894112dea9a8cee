#include "runtime/executor/hybrid_run.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <map>

#include "runtime/loader/bind_part.h"
#include "runtime/loader/om_types.h"

namespace sluice {
namespace {

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

bool fits(const pb::TypeDef& type, const HostTensor& tensor) { return tensor_fits(type, static_cast<uint32_t>(tensor.dtype), tensor.dims); }

bool fits(const pb::ModelDef& model, uint32_t index, const HostValue& value) {
  const pb::TypeDef& type = model.types(static_cast<int>(index));
  if (type.kind() == pb::VALUE_OPTIONAL) return value.kind == HostValue::Kind::kNone || fits(model, type.element(), value);
  if (type.kind() == pb::VALUE_TENSOR) {
    return value.kind == HostValue::Kind::kTensor && value.tensors.size() == 1 && fits(type, value.tensors[0]);
  }
  const pb::TypeDef& element = model.types(static_cast<int>(type.element()));
  return value.kind == HostValue::Kind::kSequence && element.kind() == pb::VALUE_TENSOR &&
         std::all_of(value.tensors.begin(), value.tensors.end(), [&](const HostTensor& tensor) { return fits(element, tensor); });
}

std::string text_of(const HostValue& value) {
  if (value.kind == HostValue::Kind::kNone || (value.kind == HostValue::Kind::kTensor && value.tensors.size() != 1)) {
    return value.tensors.empty() ? "nothing" : fmt::format("{} tensors", value.tensors.size());
  }
  std::string text = value.kind == HostValue::Kind::kSequence ? fmt::format("a sequence of {}", value.tensors.size()) : "";
  if (!value.tensors.empty()) {
    const HostTensor& tensor = value.tensors[0];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", the first ", dtype_name(tensor.dtype), dims_text(tensor.dims));
  }
  return text;
}

// Offsets from 0 upwards to the end of the text.
bool strings_fit(std::span<const std::byte> bytes, uint64_t count) {
  const uint64_t table = (count + 1) * sizeof(uint64_t);
  if (table > bytes.size()) return false;
  uint64_t before = 0;
  for (uint64_t i = 0; i <= count; ++i) {
    uint64_t offset = 0;
    std::memcpy(&offset, bytes.data() + i * sizeof(offset), sizeof(offset));
    if (offset < before || (i == 0 && offset != 0)) return false;
    before = offset;
  }
  return before == bytes.size() - table;
}

// A dim as --dim bounded it, and as the graph needs it.
Result<void> check_bounds(const pb::TypeDef& type, int dim, int64_t given, const std::string& input) {
  if (dim >= type.dim_low_size()) return {};
  const int64_t low = type.dim_low(dim), high = type.dim_high(dim), divisor = type.dim_divisor(dim);
  if (given >= low && given <= high && (divisor <= 1 || given % divisor == 0)) return {};
  return make_error(ErrorCode::kBadBinding, "dim '{}' of input '{}' is {}, the model takes {}{}", type.dim_names(dim), input, given,
                    high == INT64_MAX ? fmt::format("{} and more", low) : fmt::format("{} to {}", low, high),
                    divisor > 1 ? fmt::format(", multiples of {}", divisor) : "")
      .with_hint("as --dim and the model's nodes need it; sluice eval names a node that other sizes do not fit");
}

// What a caller's tensor needs before anything of it is read.
Result<void> check_tensor(const HostTensor& tensor, const std::string& name) {
  if (!dtype_is_valid(static_cast<int>(tensor.dtype)))
    return make_error(ErrorCode::kBadBinding, "input '{}': {} is no dtype", name, static_cast<int>(tensor.dtype));
  const auto count = element_count(tensor.dims);
  if (!count) return make_error(ErrorCode::kBadBinding, "input '{}' has the impossible shape {}", name, dims_text(tensor.dims));
  if (tensor.bytes.data() == nullptr && !tensor.bytes.empty())
    return make_error(ErrorCode::kBadBinding, "input '{}' is bound to null", name);
  if (tensor.dtype == DType::kString) {
    if (strings_fit(tensor.bytes, *count)) return {};
    return make_error(ErrorCode::kBadBinding, "input '{}': {} strings do not fit {} bytes", name, *count, tensor.bytes.size());
  }
  const uint64_t wanted = dtype_bytes(tensor.dtype, *count);
  if (tensor.bytes.size() == wanted) return {};
  return make_error(ErrorCode::kBadBinding, "input '{}' of {} {} has {} bytes, got {}", name, dtype_name(tensor.dtype),
                    dims_text(tensor.dims), wanted, tensor.bytes.size());
}

// A tensor keeps the memory that it lies in.
void keep_memory(HostValue& value, const std::shared_ptr<MemoryPool>& memory) {
  using Both = std::pair<std::shared_ptr<MemoryPool>, std::shared_ptr<const void>>;  // the memory ends last
  for (HostTensor& tensor : value.tensors) tensor.owner = std::make_shared<const Both>(memory, std::move(tensor.owner));
}

}  // namespace

HybridRun::HybridRun(std::shared_ptr<const HybridModel> model, std::shared_ptr<Device> device)
    : model_(std::move(model)),
      device_(std::move(device)),
      inputs_(static_cast<size_t>(model_->def().inputs_size())),
      outputs_(static_cast<size_t>(model_->def().outputs_size())),
      bound_(inputs_.size(), false),
      parts_(model_->part_count()) {
  for (const pb::StateDef& state : model_->def().states()) {
    growing_states_.emplace_back();
    if (state.storage() != 0) growing_states_.back().emplace(model_->def().types(static_cast<int>(state.storage()) - 1));
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {  // an optional that nobody gives is empty
    const pb::TypeDef& type = model_->def().types(static_cast<int>(model_->def().inputs(static_cast<int>(i)).type()));
    bound_[i] = type.kind() == pb::VALUE_OPTIONAL;
    if (bound_[i]) inputs_[i].kind = HostValue::Kind::kNone;
  }
}

Result<void> HybridRun::bind_input(size_t index, HostValue value) {
  if (index >= inputs_.size()) return make_error(ErrorCode::kBadBinding, "input {} of {}", index, inputs_.size());
  const pb::BindingDef& input = model_->def().inputs(static_cast<int>(index));
  for (const HostTensor& tensor : value.tensors) SLUICE_TRY(check_tensor(tensor, input.name()));
  if (!fits(model_->def(), input.type(), value)) {
    return make_error(ErrorCode::kBadBinding, "input '{}' takes {}, got {}", input.name(), type_text(model_->def(), input.type()),
                      text_of(value));
  }
  inputs_[index] = std::move(value);
  bound_[index] = true;
  return {};
}

// Every input is there, and dims of one name are equal.
Result<void> HybridRun::check_inputs() const {
  std::map<std::string_view, std::pair<size_t, int64_t>> dims;  // the input that said it first, and what it said
  const pb::ModelDef& def = model_->def();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const pb::BindingDef& input = def.inputs(static_cast<int>(i));
    if (!bound_[i]) return make_error(ErrorCode::kBadBinding, "input '{}' is not bound", input.name());
    const pb::TypeDef& type = def.types(static_cast<int>(input.type()));
    if (type.kind() != pb::VALUE_TENSOR || type.dim_names_size() == 0) continue;
    for (int d = 0; d < type.dims_size(); ++d) {
      if (type.dims(d) >= 0 || type.dim_names(d).empty()) continue;
      const int64_t given = inputs_[i].tensors[0].dims[static_cast<size_t>(d)];
      SLUICE_TRY(check_bounds(type, d, given, input.name()));
      const auto [first, inserted] = dims.try_emplace(type.dim_names(d), i, given);
      if (inserted || first->second.second == given) continue;
      return make_error(ErrorCode::kBadBinding, "dim '{}' is {} in input '{}' and {} in input '{}'", type.dim_names(d),
                        first->second.second, def.inputs(static_cast<int>(first->second.first)).name(), given, input.name());
    }
  }
  return {};
}

void HybridRun::reset_states() {
  kept_states_.clear();
  for (auto& state : growing_states_) {
    if (state) state->forget();
  }
  restore_states();
}

void HybridRun::rewind_states() {
  kept_states_ = begun_states_;
  for (auto& state : growing_states_) {
    if (state) state->rewind();
  }
  restore_states();
}

// What was kept, in the place of what was bound or made since. What is written in place is kept elsewhere.
void HybridRun::restore_states() {
  kept_states_.resize(growing_states_.size());
  for (size_t s = 0; s < growing_states_.size(); ++s) {
    const uint32_t input = model_->def().states(static_cast<int>(s)).input();
    inputs_[input] = kept_states_[s];
    bound_[input] = !inputs_[input].tensors.empty();
  }
}

// Of a dim that another input tells, that; else nothing.
int64_t HybridRun::begin_extent(const pb::TypeDef& type, int dim) const {
  if (type.dims(dim) >= 0) return type.dims(dim);
  const std::string& name = dim < type.dim_names_size() ? type.dim_names(dim) : std::string();
  for (size_t i = 0; i < inputs_.size() && !name.empty(); ++i) {
    const pb::TypeDef& other = model_->def().types(static_cast<int>(model_->def().inputs(static_cast<int>(i)).type()));
    if (!bound_[i] || inputs_[i].tensors.size() != 1) continue;
    for (int k = 0; k < other.dim_names_size(); ++k) {
      if (other.dims(k) < 0 && other.dim_names(k) == name) return inputs_[i].tensors[0].dims[static_cast<size_t>(k)];
    }
  }
  return 0;
}

std::vector<int64_t> HybridRun::begin_extents(const pb::TypeDef& type) const {
  std::vector<int64_t> extents;
  for (int dim = 0; dim < type.dims_size(); ++dim) extents.push_back(begin_extent(type, dim));
  return extents;
}

// The input stands for the memory: dims, and enough bytes for whoever would read it as a dense tensor.
Result<void> HybridRun::begin_in_place(size_t index) {
  GrowingState& state = *growing_states_[index];
  const uint32_t input = model_->def().states(static_cast<int>(index)).input();
  const pb::BindingDef& binding = model_->def().inputs(static_cast<int>(input));
  const pb::TypeDef& type = model_->def().types(static_cast<int>(binding.type()));
  if (bound_[input]) {
    SLUICE_TRY(state.load(inputs_[input].tensors[0], binding.name()));
  } else if (state.is_kept()) {
    state.go_on();
  } else {
    SLUICE_TRY(state.begin(begin_extents(type), binding.name()));
  }
  inputs_[input] = {HostValue::Kind::kTensor, {{static_cast<DType>(type.dtype()), state.extents(), state.memory(), nullptr}}};
  return {};
}

Result<void> HybridRun::begin_states() {
  const pb::ModelDef& def = model_->def();
  first_states_.resize(growing_states_.size());
  for (size_t s = 0; s < growing_states_.size(); ++s) {
    const uint32_t input = def.states(static_cast<int>(s)).input();
    if (growing_states_[s]) {
      SLUICE_TRY(begin_in_place(s));
      continue;
    }
    if (bound_[input]) continue;
    const pb::TypeDef& type = def.types(static_cast<int>(def.inputs(static_cast<int>(input)).type()));
    Tensor& first = first_states_[s];
    first = make_tensor(static_cast<DType>(type.dtype()), begin_extents(type));
    inputs_[input] = {HostValue::Kind::kTensor, {{first.dtype, first.dims, first.bytes, nullptr}}};
  }
  begun_states_.clear();
  for (const pb::StateDef& state : def.states()) {
    bound_[state.input()] = true;
    begun_states_.push_back(state.storage() == 0 ? inputs_[state.input()] : HostValue());
  }
  return {};
}

void HybridRun::keep_states() {
  kept_states_.clear();
  for (size_t s = 0; s < growing_states_.size(); ++s) {
    const HostValue& output = outputs_[model_->def().states(static_cast<int>(s)).output()];
    if (growing_states_[s]) growing_states_[s]->keep(output.tensors[0].dims);
    kept_states_.push_back(growing_states_[s] ? HostValue() : output);
  }
  restore_states();
}

const HostValue& HybridRun::output(size_t index) const {
  for (size_t s = 0; s < growing_states_.size(); ++s) {
    if (!growing_states_[s] || model_->def().states(static_cast<int>(s)).output() != index) continue;
    HostValue& copy = copies_[index];
    if (copy.tensors.empty()) {
      const UseTensorMemory memory(memory_.get());
      copy.tensors.push_back(HostTensor::of(std::make_shared<const Tensor>(growing_states_[s]->dense())));
      keep_memory(copy, memory_);
    }
    return copy;
  }
  return outputs_[index];
}

// Once for all parts of a run.
Result<void> HybridRun::bind_symbols() {
  if (!model_->def().has_sizes()) return {};
  std::vector<std::span<const int64_t>> shapes;
  for (const HostValue& input : inputs_) {
    const bool is_tensor = input.kind == HostValue::Kind::kTensor && input.tensors.size() == 1;
    shapes.push_back(is_tensor ? std::span<const int64_t>(input.tensors[0].dims) : std::span<const int64_t>());
  }
  SLUICE_ASSIGN(symbols_, sluice::bind_symbols(model_->def(), shapes));
  return {};
}

// Parts run one after the other and share the arena, which has a power of two of bytes once it has grown, so that it seldom grows.
Result<Run*> HybridRun::find_run(uint32_t part) {
  if (part >= parts_.size()) return make_error(ErrorCode::kBadCompiledModel, "the root calls part {} of {}", part, parts_.size());
  SLUICE_ASSIGN(auto model, model_->part(part, symbols_));
  const uint64_t bytes = model->part().memory().arena_bytes();
  if (bytes > arena_.size() || arena_.data() == nullptr) {
    arena_ = {};
    SLUICE_ASSIGN(arena_, Arena::allocate(std::bit_ceil(bytes)));
  }
  std::unique_ptr<Run>& run = parts_[part];
  if (!run || &run->model() != model.get()) run = std::make_unique<Run>(std::move(model), device_);
  run->use_arena(arena_.data());
  return run.get();
}

std::span<std::byte> HybridRun::state_memory(const pb::BindingDef& binding) const { return growing_states_[binding.state() - 1]->memory(); }

Result<std::vector<Tensor>> HybridRun::call_part(uint32_t part, std::span<const HostTensor> inputs, const HybridObserver& observer) {
  SLUICE_ASSIGN(Run * found, find_run(part));
  Run& run = *found;
  const StaticModel& sunk = run.model();
  if (inputs.size() != static_cast<size_t>(sunk.inputs().size())) {
    return make_error(ErrorCode::kBadCompiledModel, "part {} takes {} values, the root gives {}", part, sunk.inputs().size(),
                      inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const pb::BindingDef& input = sunk.inputs()[static_cast<int>(i)];
    if (!fits(sunk.def().types(static_cast<int>(input.type())), inputs[i])) {
      return make_error(ErrorCode::kBadShape, "'{}' is {} {}, the compiled part takes {}", input.name(), dtype_name(inputs[i].dtype),
                        dims_text(inputs[i].dims), type_text(sunk.def(), input.type()));
    }
    SLUICE_TRY(run.bind_input(i, input.state() == 0 ? inputs[i].bytes : state_memory(input)));
  }
  std::vector<Tensor> outputs;
  for (int k = 0; k < sunk.outputs().size(); ++k) {
    const pb::TypeDef& type = sunk.def().types(static_cast<int>(sunk.outputs()[k].type()));
    const bool is_in_place = sunk.outputs()[k].state() != 0;
    std::vector<int64_t> extents = sunk.extents(sunk.outputs()[k].type());
    if (is_in_place) {  // nobody reads its elements in the root: checked
      outputs.push_back({{}, static_cast<DType>(type.dtype()), std::move(extents), {}});
    } else {
      outputs.push_back(make_tensor(static_cast<DType>(type.dtype()), std::move(extents)));
    }
    SLUICE_TRY(run.bind_output(static_cast<size_t>(k), is_in_place ? state_memory(sunk.outputs()[k]) : std::span(outputs.back().bytes)));
  }
  WalkObserver walk;
  if (observer.part_times != nullptr) {
    std::vector<TaskTime>& times = (*observer.part_times)[part];
    times.resize(sunk.queue().tasks.size());
    walk.times = &times;
  }
  if (observer.after_task) walk.after_task = [&](uint32_t task) { return observer.after_task(run, part, task); };
  SLUICE_TRY(run.execute(walk));
  return outputs;
}

Result<void> HybridRun::execute(const HybridObserver& observer) {
  auto done = execute_once(observer);
  if (done) {
    keep_states();
  } else if (model_->def().states_size() > 0) {
    restore_states();
  }
  return done;
}

Result<void> HybridRun::execute_once(const HybridObserver& observer) {
  SLUICE_TRY(begin_states());
  SLUICE_TRY(check_inputs());
  SLUICE_TRY(bind_symbols());
  outputs_.assign(outputs_.size(), {});  // their memory is for this run's values
  copies_.assign(outputs_.size(), {});
  const UseTensorMemory memory(memory_.get());
  GraphHooks hooks;
  hooks.memory = memory_.get();
  hooks.call_part = [&](uint32_t part, std::span<const HostTensor> inputs) { return call_part(part, inputs, observer); };
  hooks.value_made = observer.value_made;
  if (observer.node_times != nullptr) {
    hooks.around_node = [&](uint32_t node, bool begins) {
      std::vector<TaskTime>& times = *observer.node_times;
      if (node >= times.size()) times.resize(node + 1);
      (begins ? times[node].begin_ns : times[node].end_ns) = now_ns();
    };
  }
  SLUICE_ASSIGN(std::vector<HostValue> outputs, model_->engine().run_graph(model_->root(), inputs_, hooks));
  SLUICE_TRY(check_outputs(outputs));
  for (HostValue& output : outputs) keep_memory(output, memory_);
  outputs_ = std::move(outputs);
  return {};
}

// Callers rely on the types that the model promises.
Result<void> HybridRun::check_outputs(const std::vector<HostValue>& outputs) const {
  const pb::ModelDef& def = model_->def();
  if (outputs.size() != static_cast<size_t>(def.outputs_size())) {
    return make_error(ErrorCode::kBadCompiledModel, "the root gives {} values, the model has {} outputs", outputs.size(),
                      def.outputs_size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const pb::BindingDef& output = def.outputs(static_cast<int>(i));
    if (fits(def, output.type(), outputs[i])) continue;
    return make_error(ErrorCode::kBadShape, "output '{}' is {}, the model promises {}", output.name(), text_of(outputs[i]),
                      type_text(def, output.type()));
  }
  return {};
}

}  // namespace sluice
