// One run of a hybrid model: a walk over its root graph, which runs the fixed parts where they are
// called. Used by one thread at a time; any number of runs of one model go on at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/executor/given_memory.h"
#include "runtime/executor/hybrid_model.h"
#include "runtime/executor/memory_pool.h"
#include "runtime/executor/run.h"
#include "runtime/executor/run_states.h"

namespace sluice {

// Observers of a run; all optional.
struct HybridObserver {
  std::vector<TaskTime>* node_times = nullptr;  // one per node of the root graph
  std::vector<uint64_t>* node_bytes = nullptr;  // likewise: of the node's inputs and outputs
  std::vector<std::vector<TaskTime>>* part_times = nullptr;  // of each part, one per task
  std::function<void(const std::string& name, const HostValue& value)>
      value_made;  // of the root graph
  std::function<Result<void>(const Run& part, uint32_t part_index, uint32_t task)>
      after_task;                                          // of a part
  std::function<WalkObserver(const Run& part)> walk_part;  // in place of the others, for parts
};

class HybridRun {
 public:
  HybridRun(std::shared_ptr<const HybridModel> model, std::shared_ptr<Device> device);
  HybridRun(const HybridRun&) = delete;
  HybridRun& operator=(const HybridRun&) = delete;

  // Gives input `index` a value of its type, whose tensors stay valid and unchanged until it is
  // bound anew or the run is destroyed. A dim that the model names ("batch") is the same in all
  // inputs, which execute() checks. A value without tensors undoes the binding of a state, which
  // continues from the value that was kept. Error: kBadBinding.
  Result<void> bind_input(size_t index, HostValue value);

  // Gives output `index`, of fixed size, memory of exactly its bytes, which must stay valid until
  // it is bound anew or the run is destroyed, and is written in every execute(): without a copy
  // where a part makes the output, only parts read it, and the memory is aligned to 64 bytes.
  // Outputs overlap neither inputs nor each other. Error: kBadBinding.
  Result<void> bind_output(size_t index, std::span<std::byte> memory);

  // Forgets the states of earlier executions, and the values bound to inputs that are states:
  // states then begin as zeros, and empty along dims that no other input determines.
  void reset_states();

  // Makes the next execution begin with the states that the last one began with.
  void rewind_states();

  // Runs the model once. Every input must be bound (kBadBinding), but for states, which continue
  // from the last execution unless they were bound since, and optionals, which are then empty.
  // Errors: kBadShape, kBadValue and others from nodes that their operands do not fit.
  Result<void> execute(const HybridObserver& observer = {});

  // Returns an output after execute(), until the next one; in the caller's memory or the run's own.
  // The output of a state that is written in place is copied on request.
  const HostValue& output(size_t index) const;
  // Returns the kind and dims of an output, and its elements unless it is a state that is written
  // in place.
  const HostValue& described_output(size_t index) const { return outputs_[index]; }
  const HybridModel& model() const { return *model_; }
  // The counters of the memory of values outside of parts.
  MemoryCounters memory() const { return memory_->pool.counters(); }
  // The run of a part; null before its first call.
  const Run* part(size_t index) const { return parts_[index].get(); }

 private:
  // The memory of outputs, which may outlive the run.
  struct RunMemory {
    explicit RunMemory(size_t outputs) : given(outputs) {}
    MemoryPool pool;
    std::vector<GivenMemory> given;  // by output
  };

  Result<void> check_inputs() const;
  Result<void> check_outputs(const std::vector<HostValue>& outputs) const;
  Result<void> bind_symbols();
  Result<void> execute_once(const HybridObserver& observer);
  Result<Run*> find_run(uint32_t part);
  Tensor make_result(uint32_t part, uint32_t result, DType dtype, std::vector<int64_t> extents,
                     uint64_t bytes);
  void fill_bound_outputs() const;
  Result<std::vector<Tensor>> call_part(uint32_t part, std::span<const HostTensor> inputs,
                                        const HybridObserver& observer);

  Result<void> launch(uint32_t kernel, std::span<void* const> operands,
                      std::span<const int64_t> dims);

  std::shared_ptr<const HybridModel> model_;
  std::shared_ptr<Device> device_;
  Scratch scratch_;  // of the walking thread
  std::shared_ptr<RunMemory> memory_;
  RunInputs inputs_;
  std::vector<HostValue> outputs_;
  RunStates states_;
  mutable std::vector<HostValue>
      copies_;  // of outputs that are written in place, by output; without tensors: not asked for
  std::vector<int64_t> symbols_;  // of this run: the values of ModelDef.sizes.symbols
  std::vector<std::vector<int64_t>> bound_shapes_;  // of the inputs that they were read from
  std::vector<std::unique_ptr<Run>> parts_;         // each for the sizes it was called with last
  std::vector<std::vector<int64_t>> part_symbols_;  // by part: those sizes
  std::vector<Arena> arenas_;                       // of all parts, one after the other; grow
};

}  // namespace sluice
