// A compiled model with one fixed part, opened and sunk: everything that does not change from run to run is done here, once. Immutable and
// shared by any number of runs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/device/kernel_image.h"
#include "runtime/device/task_queue.h"
#include "runtime/executor/host_engine.h"
#include "runtime/loader/om_file.h"

namespace sluice {

// Kernels that a test brings for TASK_TEST, by entry name.
using TestKernels = std::map<std::string, KernelFunction, std::less<>>;

struct OpenOptions {
  bool verify_weights = false;                // hash the weights too
  const TestKernels* test_kernels = nullptr;  // null: TASK_TEST is refused
};

// Where an operand lies; `offset` within `region` of model.proto's Region.
struct OperandPlace {
  uint32_t region = 0;
  uint64_t offset = 0;
};
inline constexpr uint32_t kAbsentRegion = 0xffffffff;  // an absent optional operand: its address is null

class StaticModel {
 public:
  // path: a .om file, or "-" for standard input. Errors of read_om, and kBadCompiledModel, kWrongDevice from kernels and host nodes.
  static Result<std::shared_ptr<const StaticModel>> open(const std::string& path, const OpenOptions& options = {});
  static Result<std::shared_ptr<const StaticModel>> open(OmBytes bytes, const OpenOptions& options = {});

  const pb::ModelDef& def() const { return *file_.model; }
  const pb::FixedPart& part() const { return file_.model->parts(0).fixed(); }
  std::span<const std::byte> weights() const { return weights_; }
  const TaskQueue& queue() const { return queue_; }
  const std::vector<OperandPlace>& places() const { return places_; }  // of all operands of all tasks
  // Operands that lie in input k (index k) or output k (index inputs + k), as indices into places().
  const std::vector<std::vector<uint32_t>>& binding_operands() const { return binding_operands_; }
  uint64_t binding_bytes(size_t binding) const { return binding_bytes_[binding]; }  // same index
  size_t kernel_image_bytes() const { return image_ ? image_->size() : 0; }

 private:
  StaticModel() = default;
  Result<void> load_kernels(const OpenOptions& options);
  Result<void> open_host();
  Result<void> sink_tasks();
  Result<StreamTask> sink_task(int task, uint32_t operand_begin);
  Result<HostTask> describe_host_task(int task, uint32_t begin) const;
  void sink_operands();

  OmFile file_;
  std::span<const std::byte> weights_;
  std::optional<KernelImage> image_;
  std::vector<KernelFunction> kernels_;  // per KernelDef
  const HostEngine* host_ = nullptr;
  std::shared_ptr<void> host_graph_;
  std::vector<std::shared_ptr<const void>> host_tasks_;  // states of host calls, kept alive
  bool flush_denormals_ = true;
  TaskQueue queue_;
  std::vector<OperandPlace> places_;
  std::vector<std::vector<uint32_t>> binding_operands_;
  std::vector<uint64_t> binding_bytes_;
};

}  // namespace sluice
