#include "runtime/program/inputs_text.h"

#include <algorithm>

#include "common/base/shell_word.h"
#include "common/omfile/om_types.h"
#include "fmt/format.h"

namespace sluice {
namespace {

constexpr size_t kListed = 4;

const std::string& dim_name(const pb::TypeDef& type, int dim) {
  static const std::string none;
  return type.dims(dim) < 0 && dim < type.dim_names_size() ? type.dim_names(dim) : none;
}

std::string tensor_text(const pb::TypeDef& type, const Tensor& tensor) {
  std::string dims;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    const std::string& name =
        i < static_cast<size_t>(type.dims_size()) ? dim_name(type, static_cast<int>(i)) : "";
    dims += fmt::format("{}{}{}{}", dims.empty() ? "" : ", ", name, name.empty() ? "" : "=",
                        tensor.dims[i]);
  }
  return fmt::format("{} [{}]", dtype_name(tensor.dtype), dims);
}

// Returns the options for dims that are 1 for want of a size: "--dim batch=SIZE".
std::string options_for_dims(const pb::ModelDef& model, const LoaderOptions& options) {
  std::vector<std::string> names;
  for (const pb::BindingDef& input : model.inputs()) {
    const pb::TypeDef& type = model.types(static_cast<int>(input.type()));
    for (int i = 0; i < type.dims_size(); ++i) {
      const std::string& name = dim_name(type, i);
      const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
      if (!name.empty() && is_new && !options.dims.contains(name)) names.push_back(name);
    }
  }
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{}--dim {}", text.empty() ? "" : " ", shell_word(name + "=SIZE"));
  return text;
}

}  // namespace

std::string inputs_text(const pb::ModelDef& model, const std::vector<NamedValue>& inputs,
                        const LoaderOptions& options) {
  std::string text;
  for (size_t i = 0; i < std::min(inputs.size(), kListed); ++i) {
    const uint32_t index = model.inputs(static_cast<int>(i)).type();
    const pb::TypeDef& type = model.types(static_cast<int>(index));
    const auto& [name, value] = inputs[i];
    const bool is_tensor = value.kind == ValueKind::kTensor && value.tensors.size() == 1;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name,
                        is_tensor ? tensor_text(type, value.tensors[0]) : type_text(model, index));
  }
  if (inputs.size() > kListed) text += fmt::format("; and {} more", inputs.size() - kListed);
  if (text.empty()) return "none";
  const std::string other = options.random ? options_for_dims(model, options) : "";
  return other.empty() ? text : fmt::format("{} (for other sizes: {})", text, other);
}

}  // namespace sluice
