#include "stages/preprocess/onnx/lenient_upgrades.h"

#include <algorithm>
#include <cctype>

#include "common/ops/attributes.h"
#include "common/ops/recurrent_activation.h"
#include "common/ops/small_constant.h"

namespace sluice {
namespace {

bool is_same_but_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

Result<void> name_activations(UpgradeCall& call) {
  std::vector<std::string> names = call.node->get(attributes::Recurrent::activations);
  bool is_changed = false;
  for (std::string& name : names) {
    const auto* row = std::ranges::find_if(kActivationRows, [&](const ActivationRow& each) {
      return is_same_but_case(each.name, name);
    });
    if (row == std::end(kActivationRows) || row->name == name) continue;
    call.graph.module().warnings.add(Leniency::kActivationCase,
                                     fmt::format("{}: the activation '{}' is taken for '{}'",
                                                 call.node->label(), name, row->name));
    name = row->name;
    is_changed = true;
  }
  if (is_changed) call.node->set(attributes::Recurrent::activations, names);
  return {};
}

Result<void> add_last_pieces(UpgradeCall& call) {
  const Value* sizes = call.node->input(1);
  if (sizes == nullptr || !sizes->is_constant()) return {};
  const auto known = read_small_integers(call.graph.module(), sizes->segment());
  const size_t outputs = call.node->output_count();
  if (!known || known->size() <= outputs) return {};
  while (call.node->output_count() < known->size()) call.node->add_output();
  call.graph.module().warnings.add(
      Leniency::kAbsentPieces,
      fmt::format("{}: {} of the {} pieces have no output", call.node->label(),
                  known->size() - outputs, known->size()));
  return {};
}

Result<void> squeeze_all(UpgradeCall& call) {
  const Value* axes = call.node->input(1);
  const bool is_empty = axes != nullptr && axes->is_constant() &&
                        axes->type().element_count() == std::optional<int64_t>(0);
  if (!is_empty) return {};
  call.node->remove_last_input();
  call.graph.module().warnings.add(
      Leniency::kNoAxes,
      fmt::format("{}: the empty list of axes squeezes all dims of 1", call.node->label()));
  return {};
}

}  // namespace sluice
