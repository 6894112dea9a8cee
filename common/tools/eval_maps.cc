#include "common/tools/eval_maps.h"

namespace sluice {
namespace {

void add_tensors(const EvalValue& value, std::vector<Tensor>& tensors) {
  if (value.tensor != nullptr) tensors.push_back(*value.tensor);
  for (const EvalValue& element : value.elements) add_tensors(element, tensors);
}

EvalValue map_of(Tensor keys, Tensor values) {
  EvalValue map;
  map.kind = EvalValue::Kind::kMap;
  map.elements = {EvalValue::of(std::move(keys)), EvalValue::of(std::move(values))};
  return map;
}

}  // namespace

std::optional<ValueKind> map_kind(const Module& module, const Type& type) {
  if (type.kind == TypeKind::kMap) return ValueKind::kMap;
  if (type.kind == TypeKind::kSequence && module.type(type.element).kind == TypeKind::kMap)
    return ValueKind::kMaps;
  return std::nullopt;
}

std::optional<FileValue> maps_to_file(const EvalValue& value) {
  const bool is_map = value.kind == EvalValue::Kind::kMap;
  const bool is_maps = value.kind == EvalValue::Kind::kSequence && !value.elements.empty() &&
                       value.elements[0].kind == EvalValue::Kind::kMap;
  if (!is_map && !is_maps) return std::nullopt;
  FileValue file{is_map ? ValueKind::kMap : ValueKind::kMaps, true, {}};
  add_tensors(value, file.tensors);
  return file;
}

EvalValue maps_from_file(FileValue value) {
  std::vector<Tensor>& tensors = value.tensors;
  if (value.kind == ValueKind::kMap) return map_of(std::move(tensors[0]), std::move(tensors[1]));
  EvalValue maps;
  maps.kind = EvalValue::Kind::kSequence;
  for (size_t i = 0; i + 1 < tensors.size(); i += 2)
    maps.elements.push_back(map_of(std::move(tensors[i]), std::move(tensors[i + 1])));
  return maps;
}

}  // namespace sluice
