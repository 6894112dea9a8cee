#include "stages/preprocess/onnx/types.h"

#include <algorithm>
#include <functional>

#include "common/base/log.h"

namespace sluice {
namespace {

using ShapeOfTensor = std::function<Result<Type>(DType, const onnx::TypeProto::Tensor&)>;

Result<DType> dtype_of(int number, const std::string& what) {
  if (dtype_is_valid(number)) return static_cast<DType>(number);
  return make_error(ErrorCode::kBadModel, "{}: element type {} is unknown", what, number);
}

// Returns the type of a single value: the operators take only maps of single values, which
// exporters write as tensors without a shape, as scalars or with one element.
TypeId single_value(Module& module, TypeId id) {
  const Type& type = module.type(id);
  const bool is_single = type.is_tensor() && (!type.ranked || type.element_count() == 1);
  return is_single ? module.intern(Type::fixed_tensor(type.dtype, {})) : id;
}

Result<TypeId> convert(Module& module, const onnx::TypeProto& proto, const std::string& what,
                       const ShapeOfTensor& tensor, int depth) {
  if (depth > 16)
    return make_error(ErrorCode::kBadModel, "{}: its type is nested too deeply", what);
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType: {
      SLUICE_ASSIGN(const DType dtype, dtype_of(proto.tensor_type().elem_type(), what));
      SLUICE_ASSIGN(const Type type, tensor(dtype, proto.tensor_type()));
      return module.intern(type);
    }
    case onnx::TypeProto::kSequenceType: {
      SLUICE_ASSIGN(const TypeId element,
                    convert(module, proto.sequence_type().elem_type(), what, tensor, depth + 1));
      return module.intern(Type::sequence(element));
    }
    case onnx::TypeProto::kOptionalType: {
      SLUICE_ASSIGN(const TypeId element,
                    convert(module, proto.optional_type().elem_type(), what, tensor, depth + 1));
      return module.intern(Type::optional(element));
    }
    case onnx::TypeProto::kMapType: {
      SLUICE_ASSIGN(const DType key, dtype_of(proto.map_type().key_type(), what));
      SLUICE_ASSIGN(const TypeId element,
                    convert(module, proto.map_type().value_type(), what, tensor, depth + 1));
      return module.intern(Type::map(key, single_value(module, element)));
    }
    case onnx::TypeProto::kSparseTensorType:
      return make_error(ErrorCode::kUnsupportedOp,
                        "{} is a sparse tensor, which this release does not support", what);
    case onnx::TypeProto::kOpaqueType:
      return make_error(ErrorCode::kUnsupportedOp,
                        "{} is of an opaque type, which this release does not support", what);
    case onnx::TypeProto::VALUE_NOT_SET:
      break;
  }
  return TypeId{0};
}

Result<Type> with_fixed_dims(DType dtype, const onnx::TypeProto::Tensor& tensor) {
  if (!tensor.has_shape()) return Type::unranked(dtype);
  std::vector<Dim> dims;
  for (const auto& dim : tensor.shape().dim()) {
    dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? Dim::fixed(dim.dim_value())
                                                               : Dim::unknown());
  }
  return Type::tensor(dtype, std::move(dims));
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string range_text(const DimRange& range) {
  return range.is_fixed() ? fmt::format("{}", range.low)
                          : fmt::format("{}~{}", range.low, range.high);
}

bool is_open(const onnx::TensorShapeProto::Dimension& dim) {
  return !dim.has_dim_value() || dim.dim_value() < 0;
}

// A model that says another size is taken at its word only where nothing else is given. Its other
// nodes may rely on the size that it was exported with.
void warn_of_replaced_dim(const std::string& input, size_t axis, int64_t declared,
                          const DimRange& given) {
  if (!given.is_fixed() || given.low == declared) return;
  log_warning("sluice-preprocess",
              fmt::format("--input-shape makes axis {} of input '{}' {} where the model says {}: "
                          "nodes that rely on {} fail or compute something else",
                          axis, input, given.low, declared, declared));
}

}  // namespace

onnx::AttributeProto::AttributeType attribute_type(const onnx::AttributeProto& attribute) {
  using onnx::AttributeProto;
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.has_g()) return AttributeProto::GRAPH;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

Result<TypeId> declared_type(Module& module, const onnx::TypeProto& proto,
                             const std::string& what) {
  return convert(module, proto, what, with_fixed_dims, 0);
}

Result<ModelInputs> ModelInputs::make(Module& module, ShapeOptions options,
                                      std::vector<const onnx::ValueInfoProto*> inputs) {
  ModelInputs made(module, std::move(options), std::move(inputs));
  SLUICE_TRY(made.check_names());
  SLUICE_TRY(made.fix_by_input_shapes());
  return made;
}

std::string ModelInputs::dim_name(size_t index, int axis) const {
  const onnx::TensorShapeProto& shape = inputs_[index]->type().tensor_type().shape();
  if (axis < shape.dim_size() && shape.dim(axis).has_dim_param() &&
      !shape.dim(axis).dim_param().empty()) {
    return shape.dim(axis).dim_param();
  }
  return fmt::format("{}_{}", inputs_[index]->name(), axis);
}

Result<void> ModelInputs::check_names() const {
  std::vector<std::string> input_names, dim_names;  // in the order of the inputs
  for (size_t i = 0; i < inputs_.size(); ++i) {
    input_names.push_back(inputs_[i]->name());
    const onnx::TensorShapeProto& shape = inputs_[i]->type().tensor_type().shape();
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      const std::string name = dim_name(i, axis);
      if (is_open(shape.dim(axis)) && !holds(dim_names, name)) dim_names.push_back(name);
    }
  }
  for (const auto& [name, extents] : options_.inputs) {
    if (holds(input_names, name)) continue;
    return make_error(ErrorCode::kBadOption,
                      "--input-shape names '{}', which is no input of the model", name)
        .with_hint("its inputs are " + listed(input_names));
  }
  for (const auto& [name, range] : options_.dims) {
    if (holds(dim_names, name)) continue;
    return make_error(ErrorCode::kBadOption,
                      "--dim names '{}', which is no open dimension of the model's inputs", name)
        .with_hint(dim_names.empty() ? "the model has no open dimensions"
                                     : "its open dimensions are " + listed(dim_names));
  }
  return {};
}

// An extent given for one input becomes the extent of its dim's name everywhere.
Result<void> ModelInputs::fix_by_input_shapes() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto given = options_.inputs.find(inputs_[i]->name());
    if (given == options_.inputs.end()) continue;
    const onnx::TypeProto::Tensor& tensor = inputs_[i]->type().tensor_type();
    if (tensor.has_shape() &&
        static_cast<size_t>(tensor.shape().dim_size()) != given->second.size()) {
      return make_error(ErrorCode::kBadOption,
                        "--input-shape gives input '{}' rank {}, but the model says {}",
                        inputs_[i]->name(), given->second.size(), tensor.shape().dim_size());
    }
    for (size_t axis = 0; axis < given->second.size(); ++axis) {
      if (!given->second[axis]) continue;
      const auto& dim = tensor.shape().dim(static_cast<int>(axis));
      if (!tensor.has_shape() || is_open(dim)) {
        SLUICE_TRY(fix_dim(i, static_cast<int>(axis), *given->second[axis]));
      } else {
        warn_of_replaced_dim(inputs_[i]->name(), axis, dim.dim_value(), *given->second[axis]);
      }
    }
  }
  return {};
}

Result<void> ModelInputs::fix_dim(size_t index, int axis, const DimRange& range) {
  const std::string name = dim_name(index, axis);
  DimRange& known = options_.dims.emplace(name, range).first->second;
  const DimRange both{std::max(known.low, range.low), std::min(known.high, range.high)};
  if (both.low > both.high) {
    return make_error(
        ErrorCode::kBadOption,
        "--input-shape gives dim '{}' of input '{}' the size {}, which contradicts another option",
        name, inputs_[index]->name(), range_text(range));
  }
  known = both;
  return {};
}

Dim ModelInputs::named_dim(const std::string& name, size_t index, int axis) {
  const auto found = options_.dims.find(name);
  const bool is_given = found != options_.dims.end();
  const DimRange range = is_given ? found->second : DimRange{};
  if (range.is_fixed()) return Dim::fixed(range.low);
  auto symbol = module_.expressions.find_symbol(name);
  if (!symbol) {
    symbol = module_.expressions.add_symbol(
        {.name = name,
         .origin = is_given ? SymbolOrigin::kInputDim : SymbolOrigin::kOpenDim,
         .graph = 0,
         .value = static_cast<int32_t>(index),
         .axis = axis,
         .low = range.low,
         .high = range.high});
  }
  return module_.make_dim(module_.expressions.symbol_expression(*symbol));
}

Result<std::vector<Dim>> ModelInputs::dims(size_t index, const onnx::TensorShapeProto& shape) {
  const auto given = options_.inputs.find(inputs_[index]->name());
  std::vector<Dim> dims;
  for (int axis = 0; axis < shape.dim_size(); ++axis) {
    const auto range =
        given == options_.inputs.end() ? std::nullopt : given->second[static_cast<size_t>(axis)];
    const int64_t declared = is_open(shape.dim(axis)) ? -1 : shape.dim(axis).dim_value();
    if (range && range->is_fixed()) {
      dims.push_back(Dim::fixed(range->low));
    } else if (declared >= 0) {
      if (range && (declared < range->low || declared > range->high)) {
        return make_error(ErrorCode::kBadOption,
                          "--input-shape bounds dim {} of input '{}' by {}, but the model says {}",
                          axis, inputs_[index]->name(), range_text(*range), declared);
      }
      dims.push_back(Dim::fixed(declared));
    } else {
      dims.push_back(named_dim(dim_name(index, axis), index, axis));
    }
  }
  return dims;
}

Result<TypeId> ModelInputs::type(size_t index) {
  const onnx::ValueInfoProto& input = *inputs_[index];
  const std::string what = fmt::format("input '{}'", input.name());
  const bool is_tensor = input.type().has_tensor_type();
  if (!is_tensor) {
    if (options_.inputs.count(input.name()) > 0)
      return make_error(ErrorCode::kBadOption, "--input-shape: {} is no tensor", what);
    SLUICE_ASSIGN(const TypeId type, declared_type(module_, input.type(), what));
    if (type == 0) return make_error(ErrorCode::kBadModel, "{} has no type", what);
    return type;
  }
  SLUICE_ASSIGN(const DType dtype, dtype_of(input.type().tensor_type().elem_type(), what));
  if (dtype == DType::kUndefined)
    return make_error(ErrorCode::kBadModel, "{} has no element type", what);
  onnx::TensorShapeProto shape = input.type().tensor_type().shape();
  if (!input.type().tensor_type().has_shape()) {
    const auto given = options_.inputs.find(input.name());
    if (given == options_.inputs.end()) return module_.intern(Type::unranked(dtype));
    for (size_t axis = 0; axis < given->second.size(); ++axis) shape.add_dim();
  }
  SLUICE_ASSIGN(std::vector<Dim> dims, dims(index, shape));
  return module_.intern(Type::tensor(dtype, std::move(dims)));
}

}  // namespace sluice
