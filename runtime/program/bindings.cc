#include "runtime/program/bindings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/tensorfile/binding.h"
#include "common/tensorfile/tensorfile.h"
#include "fmt/format.h"

namespace sluice {
namespace {

const pb::BindingDef* find_input(const pb::ModelDef& model, std::string_view name) {
  for (const pb::BindingDef& input : model.inputs()) {
    if (input.name() == name) return &input;
  }
  return nullptr;
}

// The input a "NAME=FILE" speaks of: names may contain '=', so the longest name that fits wins.
const pb::BindingDef* input_of(const pb::ModelDef& model, const std::string& binding) {
  const pb::BindingDef* best = nullptr;
  for (const pb::BindingDef& input : model.inputs()) {
    const bool fits = binding.rfind(input.name() + "=", 0) == 0;
    if (fits && (best == nullptr || input.name().size() > best->name().size())) best = &input;
  }
  return best;
}

std::vector<std::string> names_of_inputs(const pb::ModelDef& model) {
  std::vector<std::string> names;
  for (const pb::BindingDef& input : model.inputs()) names.push_back(input.name());
  return names;
}

Result<void> accept(Tensor tensor, Tensor& slot) {
  adopt_dtype(tensor, slot.dtype);
  if (tensor.dtype != slot.dtype || tensor.dims != slot.dims) {
    return make_error(ErrorCode::kBadBinding, "input '{}' takes {} {}, the file holds {} {}", slot.name, dtype_name(slot.dtype),
                      dims_text(slot.dims), dtype_name(tensor.dtype), dims_text(tensor.dims))
        .with_hint(fitting_hint(tensor, slot.dtype, slot.name));
  }
  slot.bytes = std::move(tensor.bytes);
  return {};
}

class Inputs {
 public:
  explicit Inputs(const pb::ModelDef& model) : model_(model), given_(static_cast<size_t>(model.inputs_size()), false) {}

  Result<void> allocate() {
    for (const pb::BindingDef& input : model_.inputs()) {
      SLUICE_ASSIGN(Tensor tensor, make_binding_tensor(model_, input));
      tensors.push_back(std::move(tensor));
    }
    return {};
  }

  Result<void> bind(const std::string& binding) {
    if (const pb::BindingDef* input = input_of(model_, binding)) {
      SLUICE_ASSIGN(Tensor tensor, read_member(binding.substr(input->name().size() + 1), input->name()));
      return take(*input, std::move(tensor));
    }
    if (!is_npz_alone(binding)) return unknown_input(binding, names_of_inputs(model_));
    SLUICE_ASSIGN(std::vector<Tensor> members, read_npz(binding));
    for (Tensor& member : members) {
      const pb::BindingDef* input = find_input(model_, member.name);
      if (input == nullptr) return unknown_input(fmt::format("{}={}", member.name, binding), names_of_inputs(model_));
      SLUICE_TRY(take(*input, std::move(member)));
    }
    return {};
  }

  Result<void> fill(const std::optional<uint64_t>& seed) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (given_[i]) continue;
      if (!seed) {
        return make_error(ErrorCode::kBadBinding, "input '{}' is not given", model_.inputs(static_cast<int>(i)).name())
            .with_hint("give --input NAME=FILE, or --random");
      }
      fill_random(tensors[i], *seed + i);
    }
    return {};
  }

  std::vector<Tensor> tensors;

 private:
  Result<void> take(const pb::BindingDef& input, Tensor tensor) {
    size_t index = 0;
    while (tensors[index].name != input.name()) ++index;
    if (given_[index]) return make_error(ErrorCode::kBadBinding, "input '{}' is given twice", input.name());
    given_[index] = true;
    return accept(std::move(tensor), tensors[index]);
  }

  const pb::ModelDef& model_;
  std::vector<bool> given_;
};

template <typename T>
std::string summary_of(const Tensor& tensor) {
  const auto elements = tensor.as<T>();
  if (elements.empty()) return "no elements";
  size_t greatest = 0;
  double least = static_cast<double>(elements[0]);
  double sum = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    least = std::min(least, static_cast<double>(elements[i]));
    sum += static_cast<double>(elements[i]);
    if (elements[i] > elements[greatest]) greatest = i;
  }
  return fmt::format("min {:.6g}, max {:.6g} at {}, mean {:.6g}", least, static_cast<double>(elements[greatest]), greatest,
                     sum / static_cast<double>(elements.size()));
}

std::string summary(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::kF32:
      return summary_of<float>(tensor);
    case DType::kF64:
      return summary_of<double>(tensor);
    case DType::kI64:
      return summary_of<int64_t>(tensor);
    case DType::kI32:
      return summary_of<int32_t>(tensor);
    case DType::kI8:
      return summary_of<int8_t>(tensor);
    case DType::kU8:
    case DType::kBool:
      return summary_of<uint8_t>(tensor);
    default:
      return fmt::format("{} bytes", tensor.bytes.size());
  }
}

}  // namespace

Result<Tensor> make_binding_tensor(const pb::ModelDef& model, const pb::BindingDef& binding) {
  const pb::TypeDef& type = model.types(static_cast<int>(binding.type()));
  const auto dtype = static_cast<DType>(type.dtype());
  if (dtype == DType::kString) {
    return make_error(ErrorCode::kUnsupportedPart, "'{}' is a tensor of strings, which cannot be bound", binding.name());
  }
  return make_tensor(dtype, {type.dims().begin(), type.dims().end()}, binding.name());
}

Result<std::vector<Tensor>> read_inputs(const pb::ModelDef& model, const LoaderOptions& options) {
  Inputs inputs(model);
  SLUICE_TRY(inputs.allocate());
  for (const std::string& binding : options.inputs) SLUICE_TRY(inputs.bind(binding));
  SLUICE_TRY(inputs.fill(options.random));
  return std::move(inputs.tensors);
}

Result<void> write_outputs(const std::vector<Tensor>& outputs, const LoaderOptions& options) {
  SLUICE_TRY(make_directories(options.output_dir));
  FileNames names;  // two names may give one file: a/b and a_b
  for (const Tensor& output : outputs) {
    const std::string path = fmt::format("{}/{}.{}", options.output_dir, names.take(output.name), options.format);
    SLUICE_TRY(write_tensor(path, output));
    log_line("sluice-loader", "wrote", path);
  }
  return {};
}

std::string outputs_text(const std::vector<Tensor>& outputs) {
  std::string text;
  for (const Tensor& output : outputs) {
    text += fmt::format("{}: {} {}: {}\n", output.name, dtype_name(output.dtype), dims_text(output.dims), summary(output));
  }
  return text;
}

}  // namespace sluice
