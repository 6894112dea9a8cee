#include "runtime/loader/opened_model.h"

#include <algorithm>
#include <set>

namespace sluice {
namespace {

bool denormals_flushed(const pb::ModelDef& model) {
  for (const pb::OptionDef& option : model.options()) {
    if (option.name() == "denormals") return option.value() != "ieee";
  }
  return true;
}

bool needs_host(const pb::ModelDef& model) {
  return model.has_root() ||
         std::any_of(model.parts().begin(), model.parts().end(),
                     [](const pb::PartDef& part) { return part.fixed().has_host(); });
}

}  // namespace

Result<std::shared_ptr<const OpenedModel>> OpenedModel::open(const std::string& path,
                                                             const OpenOptions& options) {
  auto opened = [&]() -> Result<std::shared_ptr<const OpenedModel>> {
    SLUICE_ASSIGN(OmBytes bytes, OmBytes::open(path));
    return open(std::move(bytes), options, path);
  }();
  if (!opened) opened.error().file = path;
  return opened;
}

Result<std::shared_ptr<const OpenedModel>> OpenedModel::open(OmBytes bytes,
                                                             const OpenOptions& options) {
  return open(std::move(bytes), options, {});
}

Result<std::shared_ptr<const OpenedModel>> OpenedModel::open(OmBytes bytes,
                                                             const OpenOptions& options,
                                                             const std::string& path) {
  const OmChecks checks{.weights = options.verify_weights,
                        .machine = true,
                        .test_tasks = options.test_kernels != nullptr};
  std::shared_ptr<OpenedModel> model(new OpenedModel());
  SLUICE_ASSIGN(model->file_, read_om(std::move(bytes), checks));
  SLUICE_TRY(model->map_weights(options, path));
  model->flush_denormals_ = denormals_flushed(model->def());
  SLUICE_TRY(model->load_kernels(options));
  SLUICE_TRY(model->open_host());
  return std::shared_ptr<const OpenedModel>(std::move(model));
}

Result<void> OpenedModel::map_weights(const OpenOptions& options, const std::string& path) {
  SLUICE_ASSIGN(weights_, WeightRegion::map(file_, {.model = path, .given = options.weights}));
  file_.file.close_file();
  return options.verify_weights ? weights_.check_digests() : Result<void>();
}

Result<void> OpenedModel::load_kernels(const OpenOptions& options) {
  const auto code = file_.segment(pb::SEGMENT_KERNELS);
  std::set<std::pair<uint64_t, uint64_t>> seen;  // kernels may share an object
  std::vector<std::span<const std::byte>> objects;
  for (const pb::KernelDef& kernel : def().kernels()) {
    if (kernel.object_bytes() == 0 ||
        !seen.emplace(kernel.object_offset(), kernel.object_bytes()).second)
      continue;
    objects.push_back(code.subspan(kernel.object_offset(), kernel.object_bytes()));
  }
  if (!objects.empty()) {
    SLUICE_ASSIGN(image_, KernelImage::load(objects));
  }
  for (const pb::KernelDef& kernel : def().kernels()) {
    KernelFunction function = nullptr;
    if (kernel.object_bytes() != 0) {
      function = image_->find(kernel.entry());
    } else if (options.test_kernels != nullptr) {
      const auto found = options.test_kernels->find(kernel.entry());
      if (found != options.test_kernels->end()) function = found->second;
    }
    if (function == nullptr)
      return make_error(ErrorCode::kBadCompiledModel, "kernel '{}' is not in its object",
                        kernel.entry());
    kernels_.push_back(function);
  }
  return {};
}

Result<void> OpenedModel::open_host() {
  if (!needs_host(def())) return {};
  SLUICE_ASSIGN(host_, open_host_engine());
  return {};
}

}  // namespace sluice
