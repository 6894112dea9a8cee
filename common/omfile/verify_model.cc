#include "common/omfile/verify_model.h"

#include <algorithm>
#include <set>

#include "common/base/dtype.h"
#include "common/base/engine_name.h"
#include "common/base/limits.h"
#include "common/omfile/external_weights.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_format.h"

namespace sluice {
namespace {

Result<void> verify_bindings(const pb::ModelDef& model, const Bindings& bindings,
                             const char* what) {
  std::set<std::string_view> names;
  for (const pb::BindingDef& binding : bindings) {
    if (binding.type() >= static_cast<uint32_t>(model.types_size())) {
      return make_error(ErrorCode::kBadCompiledModel, "{} '{}' has type {} of {}", what,
                        binding.name(), binding.type(), model.types_size());
    }
    if (!names.insert(binding.name()).second)
      return make_error(ErrorCode::kBadCompiledModel, "two {}s are called '{}'", what,
                        binding.name());
    if (!model.has_root()) SLUICE_TRY(type_bytes(model.types(static_cast<int>(binding.type()))));
  }
  return {};
}

// Checks that keys are integers or strings and values are scalars.
Result<void> verify_map(const pb::TypeDef& map, const pb::TypeDef& value, int index) {
  const auto key = static_cast<DType>(map.dtype());
  const bool has_key = dtype_is_valid(static_cast<int>(map.dtype())) && dtype_bits(key) % 8 == 0 &&
                       (dtype_is_integer(key) || key == DType::kString);
  const bool is_scalar = value.kind() == pb::VALUE_TENSOR && !value.unranked() &&
                         value.dims_size() == 0 &&
                         dtype_bits(static_cast<DType>(value.dtype())) % 8 == 0;
  if (has_key && is_scalar && map.dims_size() == 0) return {};
  return make_error(ErrorCode::kBadCompiledModel,
                    "type {} is a map from keys of dtype {} to elements of type {}, expected {}",
                    index, map.dtype(), map.element(),
                    has_key ? "scalars" : "keys that are integers or strings");
}

// Checks a type. Without a root there are only tensors of fixed dims, which type_bytes reports
// where they are used.
Result<void> verify_type(const pb::ModelDef& model, int index) {
  const pb::TypeDef& type = model.types(index);
  if (type.kind() != pb::VALUE_TENSOR) {
    const bool is_known = type.kind() == pb::VALUE_SEQUENCE || type.kind() == pb::VALUE_OPTIONAL ||
                          type.kind() == pb::VALUE_MAP;
    const bool has_element = type.element() < static_cast<uint32_t>(index);
    if (is_known && has_element && type.kind() == pb::VALUE_MAP)
      return verify_map(type, model.types(static_cast<int>(type.element())), index);
    if (is_known && has_element) return {};
    return make_error(ErrorCode::kBadCompiledModel,
                      "type {} is of kind {} with elements of type {}", index,
                      static_cast<int>(type.kind()), type.element());
  }
  if (!dtype_is_valid(static_cast<int>(type.dtype())))
    return make_error(ErrorCode::kBadCompiledModel, "unknown dtype {}", type.dtype());
  for (const int facts : {type.dim_names_size(), type.dim_low_size(), type.dim_high_size(),
                          type.dim_divisor_size()}) {
    if (facts == 0 || (facts == type.dims_size() && facts == type.dim_names_size() &&
                       type.dim_low_size() == facts))
      continue;
    return make_error(ErrorCode::kBadCompiledModel, "type {} has {} dims and facts about {}", index,
                      type.dims_size(), facts);
  }
  return {};
}

Result<void> verify_kernel(const pb::KernelDef& kernel, uint64_t kernels_bytes) {
  const char* fault = nullptr;
  if (kernel.entry().empty()) fault = "has no entry name";
  if (kernel.object_offset() > kernels_bytes ||
      kernel.object_bytes() > kernels_bytes - kernel.object_offset()) {
    fault = "lies outside the kernels segment";
  }
  if (kernel.blocks() == 0 || kernel.blocks() > kBlockLimit)
    fault = "has an impossible number of blocks";
  if (kernel.scratch_bytes() > kScratchLimit) fault = "needs more scratch than a worker has";
  if (kernel.multiply_add_symbols_size() > 0 && !kernel.symbolic())
    fault = "has symbols, but is said to have none";
  if (fault != nullptr)
    return make_error(ErrorCode::kBadCompiledModel, "kernel '{}' {}", kernel.entry(), fault);
  return {};
}

Result<void> verify_engines(const pb::ModelDef& model) {
  if (static_cast<size_t>(model.engines_size()) > kMaxEngines) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "the model names {} engines, expected at most {}", model.engines_size(),
                      kMaxEngines);
  }
  for (const std::string& name : model.engines()) {
    if (is_engine_name(name)) continue;
    return make_error(ErrorCode::kBadCompiledModel, "the model names the engine '{}', expected {}",
                      name, kEngineNameRule);
  }
  return {};
}

// Checks that columns that describe nodes have an entry for each, or none.
Result<void> verify_nodes(const pb::ModelDef& model) {
  auto fits = [&](int size) { return static_cast<uint32_t>(size) == model.nodes() || size == 0; };
  if (!fits(model.node_op_size()) || !fits(model.node_engine_size()) ||
      !fits(model.node_multiply_adds_size())) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "the columns that describe nodes differ in length");
  }
  auto in = [](const auto& column, int size) {
    return std::all_of(column.begin(), column.end(),
                       [size](uint32_t index) { return index < static_cast<uint32_t>(size); });
  };
  if (!in(model.node_op(), model.ops_size()) || !in(model.node_engine(), model.engines_size())) {
    return make_error(ErrorCode::kBadCompiledModel,
                      "a node names an op or engine that is not listed");
  }
  return {};
}

// Checks the column of the root's nodes that launch kernels: it has an entry for each node of the
// root, or none.
Result<void> verify_launches(const pb::ModelDef& model) {
  const pb::RootDef& root = model.root();
  const bool is_whole =
      root.first_node() <= model.nodes() &&
      static_cast<uint32_t>(root.node_kernel_size()) == model.nodes() - root.first_node();
  const auto exists = [&](uint32_t kernel) {
    return kernel <= static_cast<uint32_t>(model.kernels_size());
  };
  if ((is_whole || root.node_kernel_size() == 0) &&
      std::all_of(root.node_kernel().begin(), root.node_kernel().end(), exists))
    return {};
  return make_error(ErrorCode::kBadCompiledModel,
                    "the column of kernels that the root launches does not fit its nodes");
}

// Returns whether a storage has the dims of its contents, but one that is a number there and a size
// here.
bool holds(const pb::TypeDef& storage, const pb::TypeDef& held) {
  if (storage.kind() != pb::VALUE_TENSOR || held.kind() != pb::VALUE_TENSOR ||
      storage.dtype() != held.dtype() || held.unranked() || storage.unranked() ||
      storage.dims_size() != held.dims_size() ||
      dtype_bits(static_cast<DType>(held.dtype())) % 8 != 0)
    return false;
  int differ = 0;
  for (int dim = 0; dim < held.dims_size(); ++dim)
    differ += storage.dims(dim) != held.dims(dim) ? 1 : 0;
  return differ <= 1;
}

Result<void> verify_state(const pb::ModelDef& model, const pb::StateDef& state) {
  const bool exist = state.output() < static_cast<uint32_t>(model.outputs_size()) &&
                     state.input() < static_cast<uint32_t>(model.inputs_size());
  if (!exist || !model.has_root())
    return make_error(ErrorCode::kBadCompiledModel, "a state keeps output {} for input {}",
                      state.output(), state.input());
  if (state.storage() == 0) return {};
  const auto type = [&](uint32_t index) -> const pb::TypeDef& {
    return model.types(static_cast<int>(index));
  };
  const bool fits = state.storage() <= static_cast<uint32_t>(model.types_size()) &&
                    holds(type(state.storage() - 1),
                          type(model.inputs(static_cast<int>(state.input())).type())) &&
                    holds(type(state.storage() - 1),
                          type(model.outputs(static_cast<int>(state.output())).type()));
  if (fits) return {};
  return make_error(ErrorCode::kBadCompiledModel,
                    "the state of input '{}' has a storage of another type",
                    model.inputs(static_cast<int>(state.input())).name());
}

}  // namespace

Result<uint64_t> type_bytes(const pb::TypeDef& type) {
  SLUICE_ASSIGN(const std::optional<uint64_t> bytes, dense_bytes(type, {}));
  if (!bytes) return make_error(ErrorCode::kUnsupportedPart, "a type has a dim that is not fixed");
  return *bytes;
}

uint64_t segment_bytes(const pb::ModelDef& model, pb::SegmentKind kind) {
  for (const pb::SegmentDef& segment : model.segments()) {
    if (segment.kind() == kind) return segment.bytes();
  }
  return 0;
}

Result<void> verify_model(const pb::ModelDef& model) {
  SLUICE_TRY(verify_engines(model));
  SLUICE_TRY(verify_nodes(model));
  for (int type = 0; type < model.types_size(); ++type) SLUICE_TRY(verify_type(model, type));
  SLUICE_TRY(verify_bindings(model, model.inputs(), "input"));
  SLUICE_TRY(verify_bindings(model, model.outputs(), "output"));
  const uint64_t kernels_bytes = segment_bytes(model, pb::SEGMENT_KERNELS);
  for (const pb::KernelDef& kernel : model.kernels())
    SLUICE_TRY(verify_kernel(kernel, kernels_bytes));
  SLUICE_TRY(verify_external_weights(model));
  SLUICE_TRY(verify_launches(model));
  SLUICE_TRY(verify_sizes(model));
  for (const pb::StateDef& state : model.states()) SLUICE_TRY(verify_state(model, state));
  return {};
}

}  // namespace sluice
