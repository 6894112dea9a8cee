#include "common/omcheck/bind_for_checks.h"

#include <algorithm>
#include <vector>

#include "common/omfile/bind_part.h"

namespace sluice {
namespace {

// Returns small sizes that a model may be run with.
std::vector<int64_t> some_symbols(const pb::ModelDef& model, int64_t wanted) {
  std::vector<int64_t> values;
  for (const pb::SymbolDef& symbol : model.sizes().symbols()) {
    const pb::TypeDef& type =
        model.types(static_cast<int>(model.inputs(static_cast<int>(symbol.input())).type()));
    const int axis = static_cast<int>(symbol.axis());
    const bool has_facts = axis < type.dim_low_size();
    const int64_t divisor = has_facts ? std::max<int64_t>(type.dim_divisor(axis), 1) : 1;
    const int64_t multiple = (wanted + divisor - 1) / divisor * divisor;
    values.push_back(has_facts
                         ? std::clamp(multiple, std::min(type.dim_low(axis), type.dim_high(axis)),
                                      type.dim_high(axis))
                         : multiple);
  }
  return values;
}

Result<pb::ModelDef> bind_model(const pb::ModelDef& model, int part, int64_t wanted) {
  SLUICE_ASSIGN(const TypeSizes sizes, TypeSizes::bind(model, some_symbols(model, wanted)));
  pb::ModelDef bound = model;
  SLUICE_ASSIGN(*bound.mutable_parts(part)->mutable_fixed(), bind_part(model, part, sizes));
  for (int type = 0; type < bound.types_size(); ++type) {
    pb::TypeDef& def = *bound.mutable_types(type);
    for (int dim = 0; dim < def.dims_size(); ++dim)
      def.set_dims(dim, sizes.extent(static_cast<uint32_t>(type), dim).value_or(-1));
  }
  return bound;
}

}  // namespace

Result<pb::ModelDef> bind_for_checks(const pb::ModelDef& model, int part) {
  for (const int64_t wanted : {3, 1, 32}) {
    if (auto bound = bind_model(model, part, wanted)) return bound;
  }
  return bind_model(model, part, 256);
}

std::optional<pb::ModelDef> bind_to_largest(const pb::ModelDef& model, int part) {
  constexpr int64_t kAboveAll = int64_t{1} << 50;  // of dims with a bound, that is taken
  if (model.parts(part).symbolic().buffer_offset_size() == 0) return std::nullopt;
  auto bound = bind_model(model, part, kAboveAll);
  if (!bound) return std::nullopt;
  return *std::move(bound);
}

}  // namespace sluice
