#include "runtime/program/bindings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "common/base/files.h"
#include "common/base/log.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_types.h"
#include "common/tensorfile/binding.h"
#include "common/tensorfile/tensorfile.h"
#include "fmt/format.h"
#include "runtime/program/value_kinds.h"
#include "runtime/program/value_text.h"

namespace sluice {
namespace {

const pb::BindingDef* find_input(const pb::ModelDef& model, std::string_view name) {
  for (const pb::BindingDef& input : model.inputs()) {
    if (input.name() == name) return &input;
  }
  return nullptr;
}

// Returns the input that "NAME=FILE" names: names may contain '=', so the longest name that fits
// wins.
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

bool fits_type(const pb::TypeDef& type, const Tensor& tensor) {
  return tensor_fits(type, static_cast<uint32_t>(tensor.dtype), tensor.dims);
}

// Checks the maps of a file. NumPy has a name for every dtype of keys and values that exists; a run
// checks the other properties.
Result<void> accept_maps(const pb::ModelDef& model, const pb::BindingDef& input,
                         const FileValue& value, const std::string& path) {
  const pb::TypeDef* map = &model.types(static_cast<int>(input.type()));
  if (value.kind == ValueKind::kMaps) map = &model.types(static_cast<int>(map->element()));
  const uint32_t wanted[] = {map->dtype(), model.types(static_cast<int>(map->element())).dtype()};
  for (size_t i = 0; i < value.tensors.size(); ++i) {
    if (static_cast<uint32_t>(value.tensors[i].dtype) == wanted[i % 2]) continue;
    return make_error(ErrorCode::kBadBinding, "input '{}' takes {}, '{}' holds {} of {}",
                      input.name(), type_text(model, input.type()), path,
                      i % 2 == 0 ? "keys" : "values", dtype_name(value.tensors[i].dtype));
  }
  return {};
}

// Converts the value of a file into the type's dtype where NumPy has no name for it.
Result<void> accept(const pb::ModelDef& model, const pb::BindingDef& input, FileValue& value,
                    const std::string& path) {
  if (holds_maps(value.kind)) return accept_maps(model, input, value, path);
  const pb::TypeDef* type = &model.types(static_cast<int>(input.type()));
  while (type->kind() != pb::VALUE_TENSOR) type = &model.types(static_cast<int>(type->element()));
  const auto dtype = static_cast<DType>(type->dtype());
  for (Tensor& tensor : value.tensors) {
    adopt_dtype(tensor, dtype);
    if (fits_type(*type, tensor)) continue;
    return mismatch_error(tensor,
                          {.name = input.name(),
                           .type = type_text(model, input.type()),
                           .dtype = dtype,
                           .ranked = !type->unranked(),
                           .dims = {type->dims().begin(), type->dims().end()}},
                          path);
  }
  return {};
}

class Inputs {
 public:
  Inputs(const pb::ModelDef& model, const LoaderOptions& options)
      : model_(model),
        options_(options),
        values_(static_cast<size_t>(model.inputs_size())),
        given_(values_.size(), false) {}

  Result<void> bind(const std::string& binding) {
    if (const pb::BindingDef* input = input_of(model_, binding)) {
      const std::string path = binding.substr(input->name().size() + 1);
      SLUICE_ASSIGN(FileValue value, read(*input, path));
      return take(*input, std::move(value), path);
    }
    if (!is_npz_alone(binding)) return unknown_input(binding, names_of_inputs(model_));
    SLUICE_ASSIGN(std::vector<Tensor> members, read_npz(binding));
    for (Tensor& member : members) {
      const pb::BindingDef* input = find_input(model_, member.name);
      if (input == nullptr)
        return unknown_input(fmt::format("{}={}", member.name, binding), names_of_inputs(model_));
      if (holds_maps(value_kind(model_, input->type()))) {
        return make_error(ErrorCode::kBadBinding, "input '{}' is a map", input->name())
            .with_hint("give --input NAME=FILE.npz");
      }
      FileValue value;
      value.tensors.push_back(std::move(member));
      SLUICE_TRY(take(*input, std::move(value), binding));
    }
    return {};
  }

  Result<std::vector<NamedValue>> finish() {
    for (size_t i = 0; i < values_.size(); ++i) {
      const pb::BindingDef& input = model_.inputs(static_cast<int>(i));
      values_[i].name = input.name();
      if (given_[i]) continue;
      const ValueKind kind = value_kind(model_, input.type());
      if (kind == ValueKind::kOptional && !options_.random) {
        values_[i].value = {kind, false, {}};
        continue;
      }
      if (is_state_input(model_, i) && !names_its_dims(input.type())) {
        values_[i].value = {kind, true, {}};  // it begins empty
        continue;
      }
      if (!options_.random) {
        return make_error(ErrorCode::kBadBinding, "input '{}' is not given", input.name())
            .with_hint("give --input NAME=FILE, or --random");
      }
      SLUICE_ASSIGN(values_[i].value, random_value(input, input.type(), *options_.random + i));
    }
    return std::move(values_);
  }

 private:
  // Returns whether --dim gives a size that only states have: the state must then not begin empty.
  bool names_its_dims(uint32_t type) const {
    const auto& names = model_.types(static_cast<int>(type)).dim_names();
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return options_.dims.contains(name) && !is_input_dim(name);
    });
  }

  // Returns whether an input that is no state has the dim.
  bool is_input_dim(const std::string& name) const {
    for (int i = 0; i < model_.inputs_size(); ++i) {
      const auto& names = model_.types(static_cast<int>(model_.inputs(i).type())).dim_names();
      if (!is_state_input(model_, static_cast<size_t>(i)) &&
          std::count(names.begin(), names.end(), name) > 0)
        return true;
    }
    return false;
  }

  Result<FileValue> read(const pb::BindingDef& input, const std::string& path) const {
    const ValueKind kind = value_kind(model_, input.type());
    if (holds_maps(kind) && path.ends_with(".npz")) return read_maps(path, kind);
    if (kind == ValueKind::kSequence || holds_maps(kind)) return read_value(path, kind);
    // An optional may be given as the tensor that it contains. An OptionalProto never reads as a
    // whole TensorProto, but a TensorProto may read as an OptionalProto.
    auto tensor = read_member(path, input.name());
    if (!tensor && kind == ValueKind::kOptional && path.ends_with(".pb"))
      return read_value(path, kind);
    if (!tensor) return tensor.error();
    FileValue value;
    value.tensors.push_back(std::move(*tensor));
    return value;
  }

  Result<void> take(const pb::BindingDef& input, FileValue value, const std::string& path) {
    size_t index = 0;
    while (&model_.inputs(static_cast<int>(index)) != &input) ++index;
    if (given_[index])
      return make_error(ErrorCode::kBadBinding, "input '{}' is given twice", input.name());
    given_[index] = true;
    SLUICE_TRY(accept(model_, input, value, path));
    values_[index].value = std::move(value);
    return {};
  }

  // Makes a random value: sequences of one element, optionals that are present, dims that are not
  // fixed as --dim says, otherwise 1.
  Result<FileValue> random_value(const pb::BindingDef& input, uint32_t index, uint64_t seed) const {
    const pb::TypeDef& type = model_.types(static_cast<int>(index));
    if (type.kind() != pb::VALUE_TENSOR) {
      SLUICE_ASSIGN(FileValue value, random_value(input, type.element(), seed));
      value.element = value.kind;
      value.kind = value_kind(model_, index);
      if (value.kind == ValueKind::kMap) value.tensors = one_entry(type, std::move(value.tensors));
      return value;
    }
    std::vector<int64_t> dims;
    for (int i = 0; i < type.dims_size(); ++i)
      dims.push_back(type.dims(i) >= 0 ? type.dims(i) : size_of(type, i));
    const auto count = element_count(dims);
    if (!count) {
      return make_error(ErrorCode::kBadBinding,
                        "input '{}' would have the sizes {}, which is more than 2^60 elements",
                        input.name(), dims_text(dims))
          .with_hint("give smaller sizes with --dim NAME=VALUE, or --input NAME=FILE");
    }
    const auto dtype = static_cast<DType>(type.dtype());
    FileValue value;
    if (dtype == DType::kString) {
      value.tensors.push_back(make_string_tensor(dims, std::vector<std::string>(*count)));
    } else {
      value.tensors.push_back(make_tensor(dtype, dims));
      fill_random(value.tensors[0], seed);
    }
    return value;
  }

  // Makes a map of one entry: the key 0 or "", and the value.
  static std::vector<Tensor> one_entry(const pb::TypeDef& map, std::vector<Tensor> value) {
    const std::string none;
    const auto dtype = static_cast<DType>(map.dtype());
    value[0].dims = {1};
    value.insert(value.begin(), dtype == DType::kString ? make_string_tensor({1}, {&none, 1})
                                                        : make_tensor(dtype, {1}));
    return value;
  }

  int64_t size_of(const pb::TypeDef& type, int dim) const {
    const auto found =
        dim < type.dim_names_size() ? options_.dims.find(type.dim_names(dim)) : options_.dims.end();
    return found == options_.dims.end() ? 1 : found->second;
  }

  const pb::ModelDef& model_;
  const LoaderOptions& options_;
  std::vector<NamedValue> values_;
  std::vector<bool> given_;
};

// Checks that --dim names a dim that some input has.
Result<void> check_dims(const pb::ModelDef& model, const LoaderOptions& options) {
  std::vector<std::string> names;  // as the inputs have them, in order
  for (const pb::BindingDef& input : model.inputs()) {
    for (const std::string& name : model.types(static_cast<int>(input.type())).dim_names()) {
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "'" : ", '") + name + "'";
  for (const auto& [name, size] : options.dims) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return make_error(ErrorCode::kBadOption, "--dim: no input of the model has the open dim '{}'",
                      name)
        .with_hint(known.empty() ? "all dims of its inputs are fixed" : "its inputs have " + known);
  }
  return {};
}

}  // namespace

Result<std::vector<NamedValue>> read_inputs(const pb::ModelDef& model,
                                            const LoaderOptions& options) {
  SLUICE_TRY(check_dims(model, options));
  Inputs inputs(model, options);
  for (const std::string& binding : options.inputs) SLUICE_TRY(inputs.bind(binding));
  return inputs.finish();
}

Result<void> write_outputs(const std::vector<NamedValue>& outputs, const LoaderOptions& options) {
  SLUICE_TRY(make_directories(options.output_dir));
  FileNames names;  // two names may give one file: a/b and a_b
  for (const auto& [name, value] : outputs) {
    const std::string path = fmt::format("{}/{}", options.output_dir, names.take(name));
    if (options.format == "pb") {
      SLUICE_TRY(write_value(path + ".pb", value));
      log_line("sluice-loader", "wrote", path + ".pb");
      continue;
    }
    if (holds_maps(value.kind)) {
      SLUICE_TRY(write_maps(path + ".npz", value));
      log_line("sluice-loader", "wrote", path + ".npz");
      continue;
    }
    const bool is_tensor = value.kind == ValueKind::kTensor;
    for (size_t i = 0; i < value.tensors.size(); ++i) {
      const std::string file = is_tensor ? path + ".npy" : fmt::format("{}.{}.npy", path, i);
      SLUICE_TRY(write_tensor(file, value.tensors[i]));
      log_line("sluice-loader", "wrote", file);
    }
  }
  return {};
}

std::string outputs_text(const std::vector<NamedValue>& outputs) {
  std::string text;
  for (const auto& [name, value] : outputs) {
    if (holds_maps(value.kind)) {
      text += maps_text(name, value);
      continue;
    }
    if (value.kind == ValueKind::kSequence)
      text += fmt::format("{}: a sequence of {}\n", name, value.tensors.size());
    if (!value.present) text += fmt::format("{}: nothing\n", name);
    const bool is_tensor = value.kind == ValueKind::kTensor;
    for (size_t i = 0; i < value.tensors.size(); ++i) {
      const Tensor& tensor = value.tensors[i];
      text += fmt::format("{}: {} {}: {}\n", is_tensor ? name : fmt::format("{}.{}", name, i),
                          dtype_name(tensor.dtype), dims_text(tensor.dims), summary_text(tensor));
    }
  }
  return text;
}

}  // namespace sluice
