// A compiled model with a root: its parts are lowered to task lists, symbolic ones for each of the
// sizes they are called with; the remaining nodes are walked one by one. Immutable and shared by
// any number of runs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "runtime/executor/bound_parts.h"
#include "runtime/executor/static_model.h"
#include "runtime/loader/opened_model.h"

namespace sluice {

class HybridModel {
 public:
  // Lowers a model that has a root. Errors: kBadCompiledModel, kWrongDevice from kernels, host
  // nodes and the root graph.
  static Result<std::shared_ptr<const HybridModel>> lower(std::shared_ptr<const OpenedModel> model);

  const pb::ModelDef& def() const { return model_->def(); }
  std::span<const std::byte> weights() const { return model_->weights(); }
  size_t part_count() const { return fixed_.size(); }
  // Returns a part, lowered to a task list for these values of ModelDef.sizes.symbols. held: the
  // caller's part for the same values, or null. Errors of StaticModel::bind.
  Result<std::shared_ptr<const StaticModel>> part(
      size_t index, std::span<const int64_t> symbols,
      std::shared_ptr<const StaticModel> held = nullptr) const {
    return fixed_[index] != nullptr ? fixed_[index]
                                    : symbolic_->get(index, symbols, std::move(held));
  }
  // The symbolic parts that are kept bound, for all runs.
  BoundParts& bound_parts() const { return *symbolic_; }
  // Returns the output of the model that is this result of a part and that only parts read, so that
  // it may be made in the caller's memory.
  std::optional<uint32_t> output_of(uint32_t part, uint32_t result) const {
    const auto found = outputs_of_parts_.find({part, result});
    return found == outputs_of_parts_.end() ? std::nullopt : std::optional(found->second);
  }
  const HostEngine& engine() const { return *model_->host(); }
  const std::shared_ptr<void>& root() const { return root_; }
  // See GraphHooks::node_kernels.
  std::span<const uint32_t> node_kernels() const {
    return {def().root().node_kernel().data(),
            static_cast<size_t>(def().root().node_kernel_size())};
  }
  KernelFunction kernel(uint32_t index) const { return model_->kernel(index); }
  bool flush_denormals() const { return model_->flush_denormals(); }

 private:
  HybridModel() = default;

  std::shared_ptr<const OpenedModel> model_;
  std::vector<std::shared_ptr<const StaticModel>> fixed_;  // by part; null: symbolic
  std::shared_ptr<BoundParts> symbolic_;
  std::shared_ptr<void> root_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> outputs_of_parts_;
};

}  // namespace sluice
