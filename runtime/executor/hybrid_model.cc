#include "runtime/executor/hybrid_model.h"

namespace sluice {

Result<std::shared_ptr<const HybridModel>> HybridModel::sink(std::shared_ptr<const OpenedModel> model) {
  std::shared_ptr<HybridModel> hybrid(new HybridModel());
  for (int part = 0; part < model->def().parts_size(); ++part) {
    SLUICE_ASSIGN(auto sunk, StaticModel::sink(model, part));
    hybrid->parts_.push_back(std::move(sunk));
  }
  const auto graph = model->file().segment(static_cast<int>(model->def().root().graph()));
  SLUICE_ASSIGN(hybrid->root_, model->host()->open_graph(graph, model->weights()));
  hybrid->model_ = std::move(model);
  return std::shared_ptr<const HybridModel>(std::move(hybrid));
}

}  // namespace sluice
