#include "stages/subgraph-optimize/engines/model_kernels.h"

#include "common/graphfile/header.h"
#include "common/target/kernel_specification.h"

namespace sluice {
namespace {

// The code may be for another machine than this one.
constexpr OmChecks kChecks = {.weights = false, .machine = false};

Result<OmFile> read_model(const std::string& path) {
  SLUICE_ASSIGN(OmBytes bytes, OmBytes::open(path));
  Result<OmFile> file = read_om(std::move(bytes), kChecks);
  if (!file) {
    file.error().file = path;
    return file;
  }
  if (file->model->version() == version_text()) return file;
  return Error{ErrorCode::kBadCompiledModel,
               fmt::format("the compiled model was made by '{}', and this is '{}'",
                           file->model->version(), version_text()),
               "compile it again with this release: kernels of another one may compute otherwise",
               path};
}

}  // namespace

Result<ModelKernels> ModelKernels::open(const std::string& path) {
  ModelKernels kernels;
  if (path.empty()) return kernels;
  SLUICE_ASSIGN(kernels.file_, read_model(path));
  kernels.path_ = path;
  for (int i = 0; i < kernels.model().kernels_size(); ++i)
    kernels.by_entry_.emplace(kernels.model().kernels(i).entry(), i);
  return kernels;
}

std::optional<GeneratedKernel> ModelKernels::find(const std::string& specification) const {
  if (!is_used()) return std::nullopt;
  const auto found = by_entry_.find(kernel_entry(specification));
  if (found == by_entry_.end()) return std::nullopt;
  const pb::KernelDef& def = model().kernels(found->second);
  const auto object =
      file_.segment(pb::SEGMENT_KERNELS).subspan(def.object_offset(), def.object_bytes());
  GeneratedKernel kernel;
  kernel.object.assign(object.begin(), object.end());
  kernel.entry = def.entry();
  kernel.blocks = def.blocks();
  kernel.multiply_adds_per_block = static_cast<int64_t>(def.multiply_adds_per_block());
  kernel.scratch_bytes = def.scratch_bytes();
  kernel.multiply_adds.factor = static_cast<int64_t>(def.multiply_adds());
  kernel.multiply_adds.symbols.assign(def.multiply_add_symbols().begin(),
                                      def.multiply_add_symbols().end());
  return kernel;
}

}  // namespace sluice
