#include "stages/subgraph-optimize/codegen/int8/int8_forms.h"

namespace sluice {

void Int8Forms::emit_tiles(
    const ContractionNest& nest,
    const std::function<llvm::Function*(const Int8Form&, const TileShape&)>& emit_tile) {
  for (std::optional<Int8Form>* form : {&bytes, &pairs}) {
    if (!form->has_value()) continue;
    (*form)->tiles.emplace(nest, [&](const TileShape& shape) { return emit_tile(**form, shape); });
  }
}

void Int8Forms::choose(KernelBuilder& b, const std::function<void(const Int8Form&)>& emit) const {
  if (!bytes || !pairs) return emit(bytes ? *bytes : *pairs);
  b.if_else(are_narrow, [&] { emit(*bytes); }, [&] { emit(*pairs); });
}

}  // namespace sluice
