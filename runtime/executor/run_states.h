// The states of a run: inputs that the caller need not bind, because an output of the previous
// execution is kept for them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "model.pb.h"
#include "runtime/executor/appended_state.h"
#include "runtime/loader/host_engine.h"

namespace sluice {

// The inputs of a run, and which of them are bound.
struct RunInputs {
  std::vector<HostValue> values;
  std::vector<bool> bound;
};

class RunStates {
 public:
  // model outlives this.
  explicit RunStates(const pb::ModelDef& model);

  // Binds the inputs that are states to the values that the execution begins with: those that the
  // caller bound, otherwise those that were kept, otherwise zeros, which are empty along dims that
  // no other input determines. Errors of AppendedState.
  Result<void> begin(RunInputs& inputs);
  // Checks that the outputs fit the inputs that they become next. Error: kBadBinding, a state
  // beyond its bound.
  Result<void> check_capacity(const std::vector<HostValue>& outputs) const;
  // Keeps these outputs of an execution that succeeded. An exception leaves the earlier states as
  // they were.
  void keep(const std::vector<HostValue>& outputs);
  // Makes the next execution begin with empty states, or as the last one did.
  void forget();
  void rewind();
  // Undoes the bindings of the inputs that are states, also those that begin() made: they continue
  // from what is kept.
  void unbind(RunInputs& inputs) const noexcept;
  void unbind(RunInputs& inputs, uint32_t input) const noexcept;  // of one input alone

  // The memory of a part's binding that is a state written in place.
  std::span<std::byte> memory(const pb::BindingDef& binding) const {
    return appended_[binding.state() - 1]->memory();
  }
  // The state of this output when it is written in place, else null.
  const AppendedState* in_place(size_t output) const;

 private:
  const pb::TypeDef& input_type(size_t state) const;
  std::vector<int64_t> first_extents(const pb::TypeDef& type, const RunInputs& inputs) const;
  int64_t first_extent(const pb::TypeDef& type, int dim, const RunInputs& inputs) const;
  void go_on_elsewhere(RunInputs& inputs) const;
  Result<void> begin_in_place(size_t state, RunInputs& inputs);
  void begin_elsewhere(size_t state, RunInputs& inputs);

  const pb::ModelDef* model_;
  // By state: set for those that are written in place; the vectors below are for the others.
  std::vector<std::optional<AppendedState>> appended_;
  std::vector<HostValue> kept_;   // of the last execution that succeeded; without tensors: none
  std::vector<HostValue> begun_;  // what the last execution began with
  std::vector<Tensor> first_;     // zeros
};

}  // namespace sluice
