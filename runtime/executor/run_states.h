// The states of a run: what inputs hold that the caller need not bind, because an output of the execution before is kept for them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "model.pb.h"
#include "runtime/executor/growing_state.h"
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

  // Binds the inputs that are states to what the execution begins with: what the caller bound, else what was kept, else zeros, which are
  // empty along dims that no other input tells. Errors of GrowingState.
  Result<void> begin(RunInputs& inputs);
  // The execution succeeded and made these outputs.
  void keep(const std::vector<HostValue>& outputs);
  // The next execution begins anew, or as the last one did.
  void forget();
  void rewind();
  // Puts what is kept in the place of what was bound or begun with.
  void restore(RunInputs& inputs) const;
  void restore(RunInputs& inputs, uint32_t input) const;  // of one input alone

  // Of a binding of a part that is a state written in place.
  std::span<std::byte> memory(const pb::BindingDef& binding) const { return growing_[binding.state() - 1]->memory(); }
  // The state of this output when it is written in place, else null.
  const GrowingState* in_place(size_t output) const;

 private:
  const pb::TypeDef& input_type(size_t state) const;
  std::vector<int64_t> first_extents(const pb::TypeDef& type, const RunInputs& inputs) const;
  int64_t first_extent(const pb::TypeDef& type, int dim, const RunInputs& inputs) const;
  Result<void> begin_in_place(size_t state, RunInputs& inputs);
  void begin_elsewhere(size_t state, RunInputs& inputs);
  void restore_state(RunInputs& inputs, size_t state) const;

  const pb::ModelDef* model_;
  // By state. What is written in place is in growing_, else in the others.
  std::vector<std::optional<GrowingState>> growing_;
  std::vector<HostValue> kept_;   // of the last execution that succeeded; without tensors: none
  std::vector<HostValue> begun_;  // what the last execution began with
  std::vector<Tensor> first_;     // zeros
};

}  // namespace sluice
