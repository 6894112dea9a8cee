#include "runtime/executor/hybrid_model.h"

#include "common/omfile/om_bindings.h"

namespace sluice {
namespace {

// Returns the results of parts whose elements are in a state's memory.
std::vector<PartResult> states_in_place(const pb::ModelDef& model) {
  std::vector<PartResult> results;
  for (int part = 0; part < model.parts_size(); ++part) {
    const Bindings& outputs = part_outputs(model, model.parts(part).fixed());
    for (int k = 0; k < outputs.size(); ++k) {
      if (outputs[k].state() == 0) continue;
      const uint32_t output = model.states(static_cast<int>(outputs[k].state()) - 1).output();
      results.push_back({static_cast<uint32_t>(part), static_cast<uint32_t>(k), output});
    }
  }
  return results;
}

}  // namespace

Result<std::shared_ptr<const HybridModel>> HybridModel::lower(
    std::shared_ptr<const OpenedModel> model) {
  std::shared_ptr<HybridModel> hybrid(new HybridModel());
  std::vector<std::shared_ptr<void>> host_graphs;
  for (int part = 0; part < model->def().parts_size(); ++part) {
    host_graphs.emplace_back();
    hybrid->fixed_.emplace_back();
    if (model->def().parts(part).has_symbolic()) {
      SLUICE_ASSIGN(host_graphs.back(), open_host_graph(*model, part));
    } else {
      SLUICE_ASSIGN(hybrid->fixed_.back(), StaticModel::lower(model, part));
    }
  }
  hybrid->symbolic_ = std::make_shared<BoundParts>(model, std::move(host_graphs));
  const auto graph = model->file().segment(static_cast<int>(model->def().root().graph()));
  SLUICE_ASSIGN(hybrid->root_, model->host()->open_graph(graph, model->weights()));
  SLUICE_TRY(model->host()->check_unread(hybrid->root_, states_in_place(model->def())));
  for (const PartResult& result : model->host()->outputs_of_parts(
           hybrid->root_)) {  // what is a state is read by the next execution
    if (!is_state_output(model->def(), result.output))
      hybrid->outputs_of_parts_[{result.part, result.result}] = result.output;
  }
  hybrid->model_ = std::move(model);
  return std::shared_ptr<const HybridModel>(std::move(hybrid));
}

}  // namespace sluice
