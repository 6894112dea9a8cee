#include "common/omfile/om_types.h"

#include <algorithm>

#include "common/base/dtype.h"

namespace sluice {
namespace {

std::string dims_of(const pb::TypeDef& type) {
  if (type.unranked()) return "of any rank";
  if (type.dims_size() == 0) return "scalar";
  const bool is_open =
      std::any_of(type.dims().begin(), type.dims().end(), [](int64_t dim) { return dim < 0; });
  std::string text;
  for (int i = 0; i < type.dims_size(); ++i) {
    const std::string name = i < type.dim_names_size() ? type.dim_names(i) : "";
    const std::string dynamic_dim = name.empty() ? "?" : name;
    text += (i == 0    ? ""
             : is_open ? ", "
                       : "x") +
            (type.dims(i) < 0 ? dynamic_dim : std::to_string(type.dims(i)));
  }
  return is_open ? "[" + text + "]" : text;
}

}  // namespace

bool tensor_fits(const pb::TypeDef& type, uint32_t dtype, std::span<const int64_t> dims) {
  if (dtype != type.dtype()) return false;
  return type.unranked() ||
         std::equal(type.dims().begin(), type.dims().end(), dims.begin(), dims.end(),
                    [](int64_t wanted, int64_t given) { return wanted < 0 || wanted == given; });
}

std::string type_text(const pb::ModelDef& model, uint32_t index) {
  const pb::TypeDef& type = model.types(static_cast<int>(index));
  if (type.kind() == pb::VALUE_SEQUENCE) return "sequence of " + type_text(model, type.element());
  if (type.kind() == pb::VALUE_OPTIONAL) return "optional of " + type_text(model, type.element());
  const std::string dtype(dtype_name(static_cast<DType>(type.dtype())));
  if (type.kind() == pb::VALUE_MAP)
    return "map from " + dtype + " to " + type_text(model, type.element());
  return dtype + " " + dims_of(type);
}

}  // namespace sluice
