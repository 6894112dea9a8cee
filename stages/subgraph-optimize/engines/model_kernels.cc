#include "stages/subgraph-optimize/engines/model_kernels.h"

#include <algorithm>

#include "common/graphfile/header.h"
#include "common/omfile/om_names.h"
#include "common/target/aicore.h"
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

std::set<std::string> nodes_on_host(const pb::ModelDef& model) {
  std::set<std::string> nodes;
  const NodeNames names(model);
  for (int node = 0; node < model.node_engine_size(); ++node) {
    const std::string& engine = model.engines(static_cast<int>(model.node_engine(node)));
    if (engine == engine_name(EngineId::kHostCpu)) nodes.insert(names[static_cast<uint32_t>(node)]);
  }
  return nodes;
}

}  // namespace

Result<ModelKernels> ModelKernels::open(const std::string& path) {
  ModelKernels kernels;
  if (path.empty()) return kernels;
  SLUICE_ASSIGN(kernels.file_, read_model(path));
  kernels.path_ = path;
  for (int i = 0; i < kernels.model().kernels_size(); ++i)
    kernels.by_entry_.emplace(kernels.model().kernels(i).entry(), i);
  kernels.on_host_ = nodes_on_host(kernels.model());
  return kernels;
}

bool ModelKernels::need_not_have_kernel_of(const Node& node) const {
  constexpr Op kMoves[] = {Op::kConcat, Op::kSplit, Op::kTransData, Op::kIdentity};
  return is_used() && (std::ranges::find(kMoves, node.op()) != std::end(kMoves) ||
                       on_host_.contains(name_text(node)));
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
  kernel.multiply_adds.nominal =
      static_cast<int64_t>(def.symbolic() ? def.nominal_multiply_adds() : def.multiply_adds());
  kernel.cycles = static_cast<double>(def.cycles());
  kernel.multiply_adds.symbols.assign(def.multiply_add_symbols().begin(),
                                      def.multiply_add_symbols().end());
  return kernel;
}

}  // namespace sluice
