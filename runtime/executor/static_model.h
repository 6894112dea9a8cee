// A part of a compiled model, lowered to a task list: everything that does not change from run to
// run is computed here, once; for a symbolic part, once for the sizes it is bound to. Immutable and
// shared by any number of runs.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/type_sizes.h"
#include "runtime/device/task_queue.h"
#include "runtime/executor/arena.h"
#include "runtime/loader/opened_model.h"

namespace sluice {

// The place of an operand: `offset` within `region` of model.proto's Region.
struct OperandPlace {
  uint32_t region = 0;
  uint64_t offset = 0;
};
inline constexpr uint32_t kAbsentRegion =
    0xffffffff;  // an absent optional operand: its address is null

// Opens the host graph of a part; null when it has none.
Result<std::shared_ptr<void>> open_host_graph(const OpenedModel& model, int part);

class StaticModel {
 public:
  // Opens a model that is one fixed part. Errors of OpenedModel::open; kUnsupportedPart when it has
  // a root.
  static Result<std::shared_ptr<const StaticModel>> open(const std::string& path,
                                                         const OpenOptions& options = {});
  static Result<std::shared_ptr<const StaticModel>> open(OmBytes bytes,
                                                         const OpenOptions& options = {});
  // Lowers a fixed part of an opened model.
  static Result<std::shared_ptr<const StaticModel>> lower(std::shared_ptr<const OpenedModel> model,
                                                          int part);
  // Lowers a symbolic part. host_graph: its host graph, opened, or null without. Errors of
  // bind_part and size_launch.
  static Result<std::shared_ptr<const StaticModel>> bind(std::shared_ptr<const OpenedModel> model,
                                                         int part, TypeSizes sizes,
                                                         std::shared_ptr<void> host_graph);

  const pb::ModelDef& def() const { return model_->def(); }
  const pb::FixedPart& part() const { return *part_; }
  const TypeSizes& sizes() const { return sizes_; }
  // Returns the extents of the type of a value, or of a binding.
  std::vector<int64_t> extents(uint32_t type) const { return *sizes_.extents(type); }
  // Returns the extents of the memory that a value is in: larger than its own when it is a state
  // that is written in place.
  std::vector<int64_t> capacity(uint32_t value) const;
  const Bindings& inputs() const { return part_inputs(def(), part()); }
  const Bindings& outputs() const { return part_outputs(def(), part()); }
  std::span<const std::byte> weights() const { return model_->weights(); }
  const TaskQueue& queue() const { return queue_; }
  const std::vector<OperandPlace>& places() const {
    return places_;
  }  // of all operands of all tasks
  // The operands in input k (index k) or output k (index inputs + k), as indices into places().
  const std::vector<std::vector<uint32_t>>& binding_operands() const { return binding_operands_; }
  // Where the allocations of the part's arena end (sub_memories.h).
  const std::vector<uint64_t>& arena_ends() const { return arena_ends_; }
  uint64_t binding_bytes(size_t binding) const { return binding_bytes_[binding]; }  // same index
  uint64_t held_bytes() const;  // approximate: of this part alone, with its present sizes
  size_t kernel_image_bytes() const { return model_->kernel_image_bytes(); }

 private:
  StaticModel(std::shared_ptr<const OpenedModel> model, std::shared_ptr<const pb::FixedPart> part,
              TypeSizes sizes, std::shared_ptr<void> host_graph);
  static Result<std::shared_ptr<const StaticModel>> lower(std::shared_ptr<StaticModel> lowered);
  Result<void> lower_tasks();
  Result<StreamTask> lower_task(int task, uint32_t operand_begin);
  void lower_copy(uint32_t operand_begin, StreamTask& lowered);
  void lower_append(int task, uint32_t operand_begin, StreamTask& lowered);
  uint64_t element_bytes(uint32_t value) const;
  Result<void> lower_launch(int task, uint32_t operand_begin, StreamTask& lowered);
  Result<HostTask> describe_host_task(int task, uint32_t begin) const;
  void lower_operands();

  std::shared_ptr<const OpenedModel> model_;
  std::shared_ptr<const pb::FixedPart> part_;
  TypeSizes sizes_;
  std::shared_ptr<void> host_graph_;
  std::deque<std::vector<int64_t>> symbols_;  // of launches
  std::vector<std::shared_ptr<const void>>
      call_states_;  // of host nodes and of copies by rows, kept alive
  TaskQueue queue_;
  std::vector<OperandPlace> places_;
  std::vector<std::vector<uint32_t>> binding_operands_;
  std::vector<uint64_t> binding_bytes_;
  std::vector<uint64_t> arena_ends_;
};

// Allocates memory for the values of a part: each sub-memory by itself. Error: kLimit, which names
// the node of the largest value.
Result<std::vector<Arena>> allocate_arenas(const StaticModel& part);

}  // namespace sluice
