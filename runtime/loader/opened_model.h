// A compiled model, opened: its file, and the data that all of its parts share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/omfile/om_file.h"
#include "common/omfile/weight_region.h"
#include "runtime/device/kernel_image.h"
#include "runtime/loader/host_engine.h"

namespace sluice {

// Kernels that a test provides for TASK_TEST, by entry name.
using TestKernels = std::map<std::string, KernelFunction, std::less<>>;

struct OpenOptions {
  bool verify_weights = false;  // hash the weights too
  std::string weights;  // where external weights are (WeightsPath::given); empty: beside the model
  const TestKernels* test_kernels = nullptr;  // null: TASK_TEST is refused
};

class OpenedModel {
 public:
  // Opens a .om file, or standard input for "-". Errors of read_om and WeightRegion::map, and
  // kBadCompiledModel, kWrongDevice from kernels and host nodes.
  static Result<std::shared_ptr<const OpenedModel>> open(const std::string& path,
                                                         const OpenOptions& options = {});
  static Result<std::shared_ptr<const OpenedModel>> open(OmBytes bytes,
                                                         const OpenOptions& options = {});

  const pb::ModelDef& def() const { return *file_.model; }
  const OmFile& file() const { return file_; }
  std::span<const std::byte> weights() const { return weights_.bytes(); }
  KernelFunction kernel(uint32_t index) const { return kernels_[index]; }  // of ModelDef.kernels
  const HostEngine* host() const { return host_; }  // null when no node needs it
  bool flush_denormals() const { return flush_denormals_; }
  size_t kernel_image_bytes() const { return image_ ? image_->size() : 0; }

 private:
  OpenedModel() = default;
  static Result<std::shared_ptr<const OpenedModel>> open(OmBytes bytes, const OpenOptions& options,
                                                         const std::string& path);
  Result<void> map_weights(const OpenOptions& options, const std::string& path);
  Result<void> load_kernels(const OpenOptions& options);
  Result<void> open_host();

  OmFile file_;
  WeightRegion weights_;
  std::optional<KernelImage> image_;
  std::vector<KernelFunction> kernels_;  // per KernelDef
  const HostEngine* host_ = nullptr;
  bool flush_denormals_ = true;
};

}  // namespace sluice
