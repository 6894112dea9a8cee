// One run of a model: its own arena, bindings and walk over the streams. Used by one thread at a
// time; any number of runs of one model, and of different models on one device, go on at once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/static_model.h"

namespace sluice {

class Run {
 public:
  Run(std::shared_ptr<const StaticModel> model, std::shared_ptr<Device> device);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Binds input or output `index` to memory of exactly its size, which must stay valid until it is
  // bound anew or the run is destroyed, and is read or written in every execute(). Memory aligned
  // to 64 bytes is used in place; other memory costs a copy per execute(). Outputs may not overlap
  // inputs or each other, but for a state that is written in place, whose input and output are the
  // same memory. An output that is not bound is kept by the run itself. Error: kBadBinding.
  Result<void> bind_input(size_t index, std::span<const std::byte> memory);
  Result<void> bind_output(size_t index, std::span<std::byte> memory);

  // Gives the run its arena: an allocation for each of arena_ends(), at least as large. They must
  // stay valid until others are given or the run is destroyed, and contain nothing that must
  // survive between two calls of execute().
  void use_arenas(std::span<const Arena> arenas);

  // Runs the model once. Every input must be bound (kBadBinding). Errors of host nodes are passed
  // on. Without an arena the first call allocates one.
  Result<void> execute(const WalkObserver& observer = {});

  // Returns the bytes of an output after execute(), in the caller's memory or the run's own.
  std::span<const std::byte> output(size_t index) const;

  // Returns the current bytes of a value: its storage, not in logical order. Meant for observers of
  // a walk.
  std::span<const std::byte> value(int value) const;
  // Returns a byte of the arena, for an observer that writes there.
  std::byte* arena_byte(uint64_t offset) const { return address_of({pb::REGION_ARENA, offset}); }

  const StaticModel& model() const { return *model_; }
  const std::shared_ptr<const StaticModel>& shared_model() const { return model_; }

 private:
  struct Binding {
    std::byte* user = nullptr;     // the caller's memory; null: not bound
    std::byte* address = nullptr;  // what the tasks use: user, or own
    Arena own;                     // allocated when needed
  };

  Result<void> bind(size_t binding, std::byte* memory, size_t bytes, const char* what,
                    const std::string& name);
  Result<void> use_own(size_t binding);
  void use(size_t binding, std::byte* address);
  Result<void> prepare();
  Error name_node(Error error) const;
  void place_operands();
  size_t inputs() const { return static_cast<size_t>(model_->inputs().size()); }
  std::byte* address_of(const OperandPlace& place) const;

  std::shared_ptr<const StaticModel> model_;
  std::shared_ptr<Device> device_;
  std::vector<Arena> own_arenas_;
  std::vector<std::byte*> arenas_;
  std::vector<void*> addresses_;  // parallel to model.places()
  std::vector<Binding> bindings_;
  Walk walk_;
  bool ready_ = false;  // whether the operands' addresses are set
};

}  // namespace sluice
