#include "common/tools/eval_inputs.h"

#include <algorithm>

#include "common/tensorfile/binding.h"
#include "common/tensorfile/tensorfile.h"
#include "common/text/text.h"
#include "common/tools/eval_maps.h"

namespace sluice {
namespace {

bool fits(const Type& type, const Tensor& tensor) {
  if (!type.is_tensor() || type.dtype != tensor.dtype) return false;
  if (!type.ranked) return true;
  if (type.dims.size() != tensor.dims.size()) return false;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (type.dims[i].is_fixed() && type.dims[i].value != tensor.dims[i]) return false;
  }
  return true;
}

WantedTensor wanted_tensor(const Module& module, const Value& value) {
  const Type& type = value.type();
  WantedTensor wanted{.name = value.name(),
                      .type = print_type(module, value.type_id()),
                      .dtype = type.dtype,
                      .ranked = type.is_tensor() && type.ranked,
                      .dims = {}};
  for (const Dim& dim : type.dims) wanted.dims.push_back(dim.is_fixed() ? dim.value : -1);
  return wanted;
}

}  // namespace

EvalInputs::EvalInputs(const Graph& graph) : module_(graph.module()) {
  for (const Value* input : graph.inputs()) {
    const bool is_free =
        !input->is_constant() || module_.segment(input->segment()).kind == SegmentKind::kParameter;
    if (is_free) values_.push_back(input);
  }
  given_.resize(values_.size());
}

Result<void> EvalInputs::bind(const std::string& binding) {
  std::optional<size_t> best;  // names may contain '=': the longest that matches
  for (size_t i = 0; i < values_.size(); ++i) {
    const bool named = binding.starts_with(values_[i]->name() + "=");
    if (named && (!best || values_[i]->name().size() > values_[*best]->name().size())) best = i;
  }
  if (best) {
    return bind_file(*best, binding.substr(values_[*best]->name().size() + 1));
  }
  if (!is_npz_alone(binding)) return unknown_input(binding, names());
  SLUICE_ASSIGN(std::vector<Tensor> members, read_npz(binding));
  for (Tensor& member : members) {
    const auto found = std::find_if(values_.begin(), values_.end(), [&](const Value* value) {
      return value->name() == member.name;
    });
    if (found == values_.end())
      return unknown_input(fmt::format("{}={}", member.name, binding), names());
    SLUICE_TRY(take(static_cast<size_t>(found - values_.begin()), std::move(member), binding));
  }
  return {};
}

Result<void> EvalInputs::bind_file(size_t index, const std::string& path) {
  const Value& value = *values_[index];
  const auto kind = map_kind(module_, value.type());
  if (!kind) {
    SLUICE_ASSIGN(Tensor tensor, read_member(path, value.name()));
    return take(index, std::move(tensor), path);
  }
  if (given_[index])
    return make_error(ErrorCode::kBadBinding, "input '{}' is given twice", value.name());
  SLUICE_ASSIGN(FileValue maps,
                path.ends_with(".pb") ? read_value(path, *kind) : read_maps(path, *kind));
  const Type& map = module_.type(*kind == ValueKind::kMap ? value.type_id() : value.type().element);
  const bool is_fit =
      maps.tensors.empty() || (maps.tensors[0].dtype == map.dtype &&
                               maps.tensors[1].dtype == module_.type(map.element).dtype);
  if (!is_fit) {
    return make_error(ErrorCode::kBadBinding,
                      "input '{}' takes {}, '{}' holds keys {} and values {}", value.name(),
                      print_type(module_, value.type_id()), path, dtype_name(maps.tensors[0].dtype),
                      dtype_name(maps.tensors[1].dtype));
  }
  given_[index] = maps_from_file(std::move(maps));
  return {};
}

Result<std::vector<EvalValue>> EvalInputs::finish(const std::optional<uint64_t>& seed,
                                                  const std::map<std::string, int64_t>& dims) {
  SLUICE_TRY(check_dims(dims));
  std::vector<EvalValue> result;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!given_[i]) SLUICE_TRY(invent(i, seed, dims));
    result.push_back(std::move(*given_[i]));
  }
  return result;
}

std::vector<std::string> EvalInputs::names() const {
  std::vector<std::string> names;
  for (const Value* value : values_) names.push_back(value->name());
  return names;
}

Result<void> EvalInputs::take(size_t index, Tensor tensor, const std::string& path) {
  const Value& value = *values_[index];
  if (given_[index])
    return make_error(ErrorCode::kBadBinding, "input '{}' is given twice", value.name());
  if (value.type().is_tensor()) adopt_dtype(tensor, value.type().dtype);
  if (!fits(value.type(), tensor)) {
    return mismatch_error(tensor, wanted_tensor(module_, value), path);
  }
  given_[index] = EvalValue::of(std::move(tensor));
  return {};
}

Result<void> EvalInputs::check_dims(const std::map<std::string, int64_t>& dims) const {
  std::vector<std::string> names;  // names of the inputs, in order
  for (const Value* value : values_) {
    for (const Dim& dim : value->type().dims) {
      if (!dim.is_expression()) continue;
      const Expression& expression = module_.expressions[static_cast<ExpressionId>(dim.value)];
      if (expression.op != ExpressionOp::kSymbol) continue;
      const std::string& name =
          module_.expressions.symbol(static_cast<SymbolId>(expression.value)).name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "'" : ", '") + name + "'";
  for (const auto& [name, size] : dims) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return make_error(ErrorCode::kBadOption, "--dim: no input of the graph has the open dim '{}'",
                      name)
        .with_hint(known.empty() ? "all dims of its inputs are fixed" : "its inputs have " + known);
  }
  return {};
}

Result<std::vector<int64_t>> EvalInputs::extents(const Value& value,
                                                 const std::map<std::string, int64_t>& dims) const {
  const auto size_of = [&](SymbolId symbol) {
    const auto found = dims.find(module_.expressions.symbol(symbol).name);
    return found == dims.end() ? int64_t{1} : found->second;
  };
  std::vector<int64_t> extents;
  for (const Dim& dim : value.type().dims) {
    if (dim.is_expression()) {
      SLUICE_ASSIGN(const int64_t extent,
                    module_.expressions.evaluate(static_cast<ExpressionId>(dim.value), size_of));
      extents.push_back(extent);
    } else if (dim.is_fixed()) {
      extents.push_back(dim.value);
    }
  }
  if (value.type().is_tensor() && value.type().ranked && extents.size() == value.type().dims.size())
    return extents;
  return make_error(ErrorCode::kBadBinding, "input '{}' of type {} cannot be random", value.name(),
                    print_type(module_, value.type_id()))
      .with_hint("give --input NAME=FILE");
}

Result<void> EvalInputs::invent(size_t index, const std::optional<uint64_t>& seed,
                                const std::map<std::string, int64_t>& dims) {
  const Value& value = *values_[index];
  if (!seed) {
    return make_error(ErrorCode::kBadBinding, "input '{}' is not given", value.name())
        .with_hint("give --input NAME=FILE, or --random");
  }
  SLUICE_ASSIGN(const std::vector<int64_t> shape, extents(value, dims));
  std::vector<Dim> fixed;
  for (const int64_t extent : shape) fixed.push_back(Dim::fixed(extent));
  if (!Type::tensor(value.type().dtype, std::move(fixed)).dense_bytes()) {
    return make_error(ErrorCode::kBadBinding, "input '{}' of type {} cannot be random",
                      value.name(), print_type(module_, value.type_id()))
        .with_hint("give --input NAME=FILE");
  }
  Tensor tensor = make_tensor(value.type().dtype, shape, value.name());
  fill_random(tensor, *seed + index);
  given_[index] = EvalValue::of(std::move(tensor));
  return {};
}

}  // namespace sluice
