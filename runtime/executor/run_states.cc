#include "runtime/executor/run_states.h"

namespace sluice {

RunStates::RunStates(const pb::ModelDef& model)
    : model_(&model),
      kept_(static_cast<size_t>(model.states_size())),
      begun_(kept_.size()),
      first_(kept_.size()) {
  for (const pb::StateDef& state : model.states()) {
    appended_.emplace_back();
    if (state.storage() != 0)
      appended_.back().emplace(model.types(static_cast<int>(state.storage()) - 1));
  }
}

const pb::TypeDef& RunStates::input_type(size_t state) const {
  const uint32_t input = model_->states(static_cast<int>(state)).input();
  return model_->types(static_cast<int>(model_->inputs(static_cast<int>(input)).type()));
}

Result<void> RunStates::begin(RunInputs& inputs) {
  go_on_elsewhere(inputs);
  for (size_t s = 0; s < appended_.size(); ++s) {
    if (appended_[s]) {
      SLUICE_TRY(begin_in_place(s, inputs));
    } else {
      begin_elsewhere(s, inputs);
    }
  }
  for (const pb::StateDef& state : model_->states()) inputs.bound[state.input()] = true;
  return {};
}

// Called before the other steps, because states that are kept may determine dims of other states.
void RunStates::go_on_elsewhere(RunInputs& inputs) const {
  for (size_t s = 0; s < kept_.size(); ++s) {
    const uint32_t input = model_->states(static_cast<int>(s)).input();
    if (inputs.bound[input] || kept_[s].tensors.empty()) continue;
    inputs.values[input] = kept_[s];
    inputs.bound[input] = true;
  }
}

// Makes the input refer to the state's memory: it has the dims, and enough bytes for a reader of a
// dense tensor.
Result<void> RunStates::begin_in_place(size_t index, RunInputs& inputs) {
  AppendedState& state = *appended_[index];
  const uint32_t input = model_->states(static_cast<int>(index)).input();
  const pb::TypeDef& type = input_type(index);
  const std::string& name = model_->inputs(static_cast<int>(input)).name();
  if (inputs.bound[input]) {
    SLUICE_TRY(state.load(inputs.values[input].tensors[0], name));
  } else if (state.is_kept()) {
    state.go_on();
  } else {
    SLUICE_TRY(state.begin(first_extents(type, inputs), name));
  }
  inputs.values[input] = {
      HostValue::Kind::kTensor,
      {{static_cast<DType>(type.dtype()), state.extents(), state.memory(), nullptr}}};
  return {};
}

void RunStates::begin_elsewhere(size_t index, RunInputs& inputs) {
  const uint32_t input = model_->states(static_cast<int>(index)).input();
  if (!inputs.bound[input]) {
    const pb::TypeDef& type = input_type(index);
    Tensor& first = first_[index];
    first = make_tensor(static_cast<DType>(type.dtype()), first_extents(type, inputs));
    inputs.values[input] = {HostValue::Kind::kTensor,
                            {{first.dtype, first.dims, first.bytes, nullptr}}};
  }
  begun_[index] = inputs.values[input];
}

std::vector<int64_t> RunStates::first_extents(const pb::TypeDef& type,
                                              const RunInputs& inputs) const {
  std::vector<int64_t> extents;
  for (int dim = 0; dim < type.dims_size(); ++dim)
    extents.push_back(first_extent(type, dim, inputs));
  return extents;
}

// Returns the extent of a dim: its own when it is fixed, otherwise that of a bound input whose dim
// has the same name; 0 without one.
int64_t RunStates::first_extent(const pb::TypeDef& type, int dim, const RunInputs& inputs) const {
  if (type.dims(dim) >= 0) return type.dims(dim);
  const std::string& name = dim < type.dim_names_size() ? type.dim_names(dim) : std::string();
  for (size_t i = 0; i < inputs.values.size() && !name.empty(); ++i) {
    const pb::TypeDef& other =
        model_->types(static_cast<int>(model_->inputs(static_cast<int>(i)).type()));
    if (!inputs.bound[i] || inputs.values[i].tensors.size() != 1) continue;
    for (int k = 0; k < other.dim_names_size(); ++k) {
      if (other.dims(k) < 0 && other.dim_names(k) == name)
        return inputs.values[i].tensors[0].dims[static_cast<size_t>(k)];
    }
  }
  return 0;
}

// A state that is written in place was checked when its memory was made.
Result<void> RunStates::check_capacity(const std::vector<HostValue>& outputs) const {
  for (size_t s = 0; s < appended_.size(); ++s) {
    const pb::StateDef& state = model_->states(static_cast<int>(s));
    const HostValue& output = outputs[state.output()];
    if (appended_[s] || output.tensors.size() != 1) continue;
    const pb::TypeDef& type = input_type(s);
    const std::vector<int64_t>& dims = output.tensors[0].dims;
    for (int d = 0; d < type.dim_high_size() && static_cast<size_t>(d) < dims.size(); ++d) {
      if (type.dims(d) >= 0 || dims[static_cast<size_t>(d)] <= type.dim_high(d)) continue;
      const std::string& name = model_->inputs(static_cast<int>(state.input())).name();
      return make_error(ErrorCode::kBadBinding,
                        "state '{}' would grow to {} along axis {}, the model was compiled for {}",
                        name, dims[static_cast<size_t>(d)], d, type.dim_high(d))
          .with_hint("compile with a larger bound: --dim NAME=0..SIZE");
    }
  }
  return {};
}

void RunStates::keep(const std::vector<HostValue>& outputs) {
  std::vector<HostValue> kept;
  for (const pb::StateDef& state : model_->states()) kept.push_back(outputs[state.output()]);
  for (size_t s = 0; s < appended_.size(); ++s) {  // nothing throws from here on
    if (appended_[s]) {
      appended_[s]->keep(std::move(kept[s].tensors[0].dims));
    } else {
      kept_[s] = std::move(kept[s]);
    }
  }
}

void RunStates::forget() {
  kept_.assign(kept_.size(), {});
  for (auto& state : appended_) {
    if (state) state->forget();
  }
}

void RunStates::rewind() {
  kept_ = begun_;
  for (auto& state : appended_) {
    if (state) state->rewind();
  }
}

void RunStates::unbind(RunInputs& inputs) const noexcept {
  for (const pb::StateDef& state : model_->states()) {
    inputs.values[state.input()] = {};
    inputs.bound[state.input()] = false;
  }
}

void RunStates::unbind(RunInputs& inputs, uint32_t input) const noexcept {
  for (const pb::StateDef& state : model_->states()) {
    if (state.input() != input) continue;
    inputs.values[input] = {};
    inputs.bound[input] = false;
  }
}

const AppendedState* RunStates::in_place(size_t output) const {
  for (size_t s = 0; s < appended_.size(); ++s) {
    if (appended_[s] && model_->states(static_cast<int>(s)).output() == output)
      return &*appended_[s];
  }
  return nullptr;
}

}  // namespace sluice
