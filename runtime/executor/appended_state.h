// A state that is written in place: memory of the size of the state's bound, in which each
// execution appends to the elements that exist. Nothing is copied from one execution to the next,
// and what an execution wrote counts only once it is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"
#include "model.pb.h"
#include "runtime/executor/arena.h"
#include "runtime/loader/host_engine.h"

namespace sluice {

class AppendedState {
 public:
  // storage: the type of the memory; its dims that are not fixed are those of the state.
  explicit AppendedState(const pb::TypeDef& storage) : storage_(&storage) {}

  bool is_kept() const { return kept_.has_value(); }

  // Begins an execution with what was kept, with zeros of these extents, or with a copy of a
  // tensor. Errors: kLimit when there is no memory, kBadBinding when it is larger than the state
  // may be (named `name`).
  void go_on() { now_ = *kept_; }
  Result<void> begin(std::span<const int64_t> extents, const std::string& name);
  Result<void> load(const HostTensor& tensor, const std::string& name);

  // The extents at the beginning of the execution, and the whole memory, which is dense but for
  // spare capacity along one axis.
  const std::vector<int64_t>& extents() const { return now_.extents; }
  std::span<std::byte> memory() const { return {now_.memory.data(), now_.bytes}; }

  // Keeps the result of an execution that succeeded: the state has these extents now.
  void keep(std::vector<int64_t> extents) noexcept;
  // Makes the next execution begin as this one did.
  void rewind() { kept_ = now_; }
  void forget() { kept_.reset(); }

  // Returns the result of the last execution, of these extents, dense; valid until the next one
  // begins.
  Tensor dense(std::span<const int64_t> extents) const;

 private:
  struct Place {
    Arena memory;  // shared by copies
    uint64_t bytes = 0;
    std::vector<int64_t> extents;
  };

  Result<Place> make_place(std::span<const int64_t> extents, const std::string& name) const;
  uint64_t element_bytes() const;

  const pb::TypeDef* storage_;
  std::optional<Place> kept_;
  Place now_;
};

}  // namespace sluice
