// The states of a run: what inputs hold that the caller need not bind, because an output of the
// execution before is kept for them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "model.pb.h"
#include "runtime/executor/appended_state.h"
#include "runtime/executor/host_engine.h"

namespace sluice {

// The inputs of a run, and which of them hold something.
struct RunInputs {
  std::vector<HostValue> values;
  std::vector<bool> bound;
};

class RunStates {
 public:
  // model outlives this.
  explicit RunStates(const pb::ModelDef& model);

  // Binds the inputs that are states to what the execution begins with: what the caller bound, else
  // what was kept, else zeros, which are empty along dims that no other input tells. Errors of
  // AppendedState.
  Result<void> begin(RunInputs& inputs);
  // The outputs fit the inputs that they are for next. Error: kBadBinding, a state beyond its
  // bound.
  Result<void> check_capacity(const std::vector<HostValue>& outputs) const;
  // The execution succeeded and made these outputs. An exception leaves what was kept before.
  void keep(const std::vector<HostValue>& outputs);
  // The next execution begins anew, or as the last one did.
  void forget();
  void rewind();
  // Takes back what was bound to the inputs that are states, or begun with: they go on from what is
  // kept.
  void unbind(RunInputs& inputs) const noexcept;
  void unbind(RunInputs& inputs, uint32_t input) const noexcept;  // of one input alone

  // Of a binding of a part that is a state written in place.
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
  // By state. What is written in place is in growing_, else in the others.
  std::vector<std::optional<AppendedState>> appended_;
  std::vector<HostValue> kept_;   // of the last execution that succeeded; without tensors: none
  std::vector<HostValue> begun_;  // what the last execution began with
  std::vector<Tensor> first_;     // zeros
};

}  // namespace sluice
