#include "runtime/program/dump_values.h"

#include <fnmatch.h>

#include <cstring>

#include "common/base/pages.h"
#include "common/omfile/in_place_append.h"
#include "common/omfile/type_sizes.h"
#include "runtime/program/value_kinds.h"

namespace sluice {
namespace {

constexpr size_t kNamedValues = 10;

// Copies the elements of a tensor, stored as the map says in memory for `capacity`, to their
// logical order.
void copy_to_logical(const std::byte* from, const StorageMap& map,
                     const std::vector<int64_t>& capacity, Tensor& to) {
  const size_t element = static_cast<size_t>(dtype_bits(to.dtype)) / 8;
  std::vector<int64_t> extents;  // of the stored axes
  for (const StoredAxis& axis : map) {
    const int64_t whole = capacity[static_cast<size_t>(axis.dim)];
    extents.push_back(axis.modulus > 0 ? axis.modulus : (whole + axis.divisor - 1) / axis.divisor);
  }
  std::vector<int64_t> index(to.dims.size(), 0);
  for (size_t place = 0; place < to.bytes.size(); place += element) {
    int64_t offset = 0;
    for (size_t i = 0; i < map.size(); ++i) {
      const int64_t part = index[static_cast<size_t>(map[i].dim)] / map[i].divisor;
      offset = offset * extents[i] + (map[i].modulus > 0 ? part % map[i].modulus : part);
    }
    std::memcpy(to.bytes.data() + place, from + static_cast<size_t>(offset) * element, element);
    for (size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < to.dims[dim]) break;
      index[dim] = 0;
    }
  }
}

bool matches_glob(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

bool is_dumped(const std::string& glob, const std::string& name, DType dtype) {
  return dtype != DType::kString && matches_glob(glob, name);
}

Result<void> dump_inputs(const std::vector<NamedValue>& inputs, const std::string& glob,
                         ValueFolder& folder) {
  for (const auto& [name, value] : inputs) {
    if (holds_maps(value.kind)) {
      if (is_dumped(glob, name, DType::kUndefined)) SLUICE_TRY(folder.write_maps(name, value));
      continue;
    }
    for (const Tensor& tensor : value.tensors) {
      if (is_dumped(glob, name, tensor.dtype)) SLUICE_TRY(folder.write(name, tensor));
    }
  }
  return {};
}

void mention_fused(const pb::ModelDef& model, const std::string& glob, ValueFolder& folder) {
  const NodeNames names(model);
  names.for_each_fused([&](const std::string& value, uint32_t node) {
    if (matches_glob(glob, value))
      folder.mention(value, "fused into " + node_text(model, names, node));
  });
}

Error no_value_fits(const pb::ModelDef& model, const std::string& glob, const std::string& hint) {
  const NodeNames names(model);
  std::string fused;
  size_t named = 0;
  names.for_each_fused([&](const std::string& value, uint32_t node) {
    if (!matches_glob(glob, value) || ++named > kNamedValues) return;
    fused += fmt::format("\n  '{}' is fused into {}", value, node_text(model, names, node));
  });
  if (named == 0)
    return make_error(ErrorCode::kBadOption, "--dump-values: no value fits '{}'", glob)
        .with_hint(hint);
  if (named > kNamedValues) fused += fmt::format("\n  and {} more", named - kNamedValues);
  return make_error(ErrorCode::kBadOption,
                    "--dump-values: what fits '{}' exists only while kernels compute:{}", glob,
                    fused)
      .with_hint("compile with the annotation 'keep' on the nodes that make such values; see " +
                 page_path("annotations.md"));
}

Tensor logical_tensor(const Run& run, int value) {
  const pb::FixedPart& part = run.model().part();
  const pb::TypeDef& type = run.model().def().types(static_cast<int>(part.value_type(value)));
  Tensor tensor =
      make_tensor(static_cast<DType>(type.dtype()), run.model().extents(part.value_type(value)));
  const auto stored = run.value(value);  // at least as many bytes as the type needs: verified
  const std::vector<int64_t> capacity = run.model().capacity(static_cast<uint32_t>(value));
  if (const uint32_t storage = part.value_storage(value); storage > 0) {
    const pb::StorageDef& def = run.model().def().storages(static_cast<int>(storage) - 1);
    copy_to_logical(stored.data(), storage_map_of(def), capacity, tensor);
    return tensor;
  }
  if (capacity != tensor.dims) {
    strided_copy(tensor.dims, capacity, tensor.dims, append_axis_of(tensor.dims, capacity), 0,
                 dtype_bits(tensor.dtype) / 8)
        .run(stored.data(), tensor.bytes.data());
  } else if (!tensor.bytes.empty()) {
    std::memcpy(tensor.bytes.data(), stored.data(), tensor.bytes.size());
  }
  return tensor;
}

ValueDump::ValueDump(const Run& run, ValueFolder& folder, std::string glob)
    : run_(run),
      names_(run.model().part()),
      folder_(folder),
      glob_(std::move(glob)),
      aliases_(run.model().queue().tasks.size()) {
  const pb::FixedPart& part = run.model().part();
  for (int i = 0; i < part.alias_value_size(); ++i)
    aliases_[part.alias_after_task(i)].push_back(part.alias_value(i));
}

Result<void> ValueDump::check(const std::vector<NamedValue>& inputs) const {
  if (glob_ == "*") return {};  // fits all there are, maybe none
  for (const auto& [name, value] : inputs) {
    if (is_dumped(glob_, name, value.tensors[0].dtype)) return {};
  }
  std::string some;
  size_t named = 0;
  for (uint32_t task = 0; task < aliases_.size(); ++task) {
    for (const uint32_t value : values_of(task)) {
      if (is_wanted(value)) return {};
      if (++named <= kNamedValues) some += (some.empty() ? "'" : ", '") + names_[value] + "'";
    }
  }
  if (named > kNamedValues) some += ", ...";
  return no_value_fits(run_.model().def(), glob_, "the values are " + some);
}

Result<void> ValueDump::after_task(uint32_t task) {
  for (const uint32_t value : values_of(task)) {
    if (is_wanted(value)) SLUICE_TRY(write(value));
  }
  return {};
}

// Returns the values that are complete after a task: its outputs, and views.
std::vector<uint32_t> ValueDump::values_of(uint32_t task) const {
  const pb::FixedPart& part = run_.model().part();
  std::vector<uint32_t> values;
  const int begin = static_cast<int>(run_.model().queue().tasks[task].operand_begin);
  for (int i = begin; i < begin + static_cast<int>(part.task_outputs(static_cast<int>(task)));
       ++i) {
    if (part.operand(i) != 0xffffffff) values.push_back(part.operand(i));
  }
  values.insert(values.end(), aliases_[task].begin(), aliases_[task].end());
  return values;
}

bool ValueDump::is_wanted(uint32_t value) const {
  const pb::TypeDef& type = run_.model().def().types(
      static_cast<int>(run_.model().part().value_type(static_cast<int>(value))));
  return is_dumped(glob_, names_[value], static_cast<DType>(type.dtype()));
}

Result<void> ValueDump::write(uint32_t value) {
  const std::string& name = names_[value];
  Tensor tensor = logical_tensor(run_, static_cast<int>(value));
  tensor.name = name;
  ++written_;
  return folder_.write(name, tensor);
}

}  // namespace sluice
