#include "runtime/executor/hybrid_model.h"

namespace sluice {

Result<std::shared_ptr<const HybridModel>> HybridModel::sink(std::shared_ptr<const OpenedModel> model) {
  std::shared_ptr<HybridModel> hybrid(new HybridModel());
  std::vector<std::shared_ptr<void>> host_graphs;
  for (int part = 0; part < model->def().parts_size(); ++part) {
    host_graphs.emplace_back();
    hybrid->fixed_.emplace_back();
    if (model->def().parts(part).has_symbolic()) {
      SLUICE_ASSIGN(host_graphs.back(), open_host_graph(*model, part));
    } else {
      SLUICE_ASSIGN(hybrid->fixed_.back(), StaticModel::sink(model, part));
    }
  }
  hybrid->symbolic_ = std::make_shared<BoundParts>(model, std::move(host_graphs));
  const auto graph = model->file().segment(static_cast<int>(model->def().root().graph()));
  SLUICE_ASSIGN(hybrid->root_, model->host()->open_graph(graph, model->weights()));
  hybrid->model_ = std::move(model);
  return std::shared_ptr<const HybridModel>(std::move(hybrid));
}

}  // namespace sluice
