#include "common/tools/reduce/shapes.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "common/base/dtype.h"

namespace sluice {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

constexpr int64_t kMaxShapeElements = 16;  // of a constant that may be a shape

void visit_tensors(GraphProto& graph, const std::function<void(TensorProto&)>& visit) {
  for (TensorProto& tensor : *graph.mutable_initializer()) visit(tensor);
  for (NodeProto& node : *graph.mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) visit(*attribute.mutable_t());
      if (attribute.has_g()) visit_tensors(*attribute.mutable_g(), visit);
      for (GraphProto& body : *attribute.mutable_graphs()) visit_tensors(body, visit);
    }
  }
}

void forget_shapes(GraphProto& graph, bool is_root) {
  graph.clear_value_info();
  const auto forget = [](auto& list) {
    for (auto& item : list) {
      if (item.type().has_tensor_type()) item.mutable_type()->mutable_tensor_type()->clear_shape();
    }
  };
  forget(*graph.mutable_output());
  if (!is_root) forget(*graph.mutable_input());
  for (NodeProto& node : *graph.mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) forget_shapes(*attribute.mutable_g(), false);
      for (GraphProto& body : *attribute.mutable_graphs()) forget_shapes(body, false);
    }
  }
}

// Returns the indices, in row-major order, of the remaining elements.
std::vector<int64_t> kept_elements(const TensorProto& tensor, int axis, int64_t extent) {
  int64_t inner = 1, total = 1;
  for (int i = 0; i < tensor.dims_size(); ++i) {
    total *= tensor.dims(i);
    if (i > axis) inner *= tensor.dims(i);
  }
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < total; ++i) {
    if (i / inner % tensor.dims(axis) < extent) kept.push_back(i);
  }
  return kept;
}

// Keeps the entries of these elements; `per` entries of the list are one element.
template <typename List>
bool take_entries(List& list, const std::vector<int64_t>& kept, int per) {
  if (list.empty()) return true;
  if (static_cast<int64_t>(list.size()) <= kept.back() * per + per - 1) return false;
  for (size_t i = 0; i < kept.size(); ++i) {
    for (int k = 0; k < per; ++k)
      *list.Mutable(static_cast<int>(i) * per + k) = list.Get(static_cast<int>(kept[i]) * per + k);
  }
  const int left = static_cast<int>(kept.size()) * per;
  if constexpr (requires { list.Truncate(left); }) {
    list.Truncate(left);
  } else {
    list.DeleteSubrange(left, list.size() - left);
  }
  return true;
}

bool take_raw(TensorProto& tensor, const std::vector<int64_t>& kept, uint64_t bytes) {
  if (tensor.raw_data().empty()) return true;
  const std::string& raw = tensor.raw_data();
  if (raw.size() < static_cast<uint64_t>(kept.back() + 1) * bytes) return false;
  std::string taken;
  for (const int64_t i : kept) taken.append(raw, static_cast<uint64_t>(i) * bytes, bytes);
  tensor.set_raw_data(std::move(taken));
  return true;
}

bool is_whole_bytes(DType dtype) { return dtype_bits(dtype) % 8 == 0; }

bool cut_tensor(TensorProto& tensor, int axis, int64_t extent) {
  if (!dtype_is_valid(tensor.data_type()) || extent >= tensor.dims(axis)) return false;
  const auto dtype = static_cast<DType>(tensor.data_type());
  if (dtype != DType::kString && !is_whole_bytes(dtype)) return false;
  const std::vector<int64_t> kept = kept_elements(tensor, axis, extent);
  if (kept.empty()) return false;
  const int per = dtype == DType::kC64 || dtype == DType::kC128 ? 2 : 1;
  const bool done = (dtype == DType::kString ||
                     take_raw(tensor, kept, static_cast<uint64_t>(dtype_bits(dtype)) / 8)) &&
                    take_entries(*tensor.mutable_float_data(), kept, per) &&
                    take_entries(*tensor.mutable_double_data(), kept, per) &&
                    take_entries(*tensor.mutable_int32_data(), kept, 1) &&
                    take_entries(*tensor.mutable_int64_data(), kept, 1) &&
                    take_entries(*tensor.mutable_uint64_data(), kept, 1) &&
                    take_entries(*tensor.mutable_string_data(), kept, 1);
  tensor.set_dims(axis, extent);
  return done;
}

bool may_be_shape(const TensorProto& tensor) {
  return tensor.data_type() == static_cast<int>(DType::kI64) && tensor.dims_size() <= 1 &&
         (tensor.dims_size() == 0 || tensor.dims(0) <= kMaxShapeElements);
}

bool change_elements(TensorProto& tensor, int64_t from, int64_t to) {
  bool changed = false;
  for (int i = 0; i < tensor.int64_data_size(); ++i) {
    if (tensor.int64_data(i) != from) continue;
    tensor.set_int64_data(i, to);
    changed = true;
  }
  std::string& raw = *tensor.mutable_raw_data();
  for (size_t at = 0; at + sizeof(int64_t) <= raw.size(); at += sizeof(int64_t)) {
    int64_t element = 0;
    std::memcpy(&element, raw.data() + at, sizeof(element));
    if (element != from) continue;
    std::memcpy(raw.data() + at, &to, sizeof(to));
    changed = true;
  }
  if (raw.empty()) tensor.clear_raw_data();
  return changed;
}

}  // namespace

std::vector<int64_t> sizes_of(const ModelProto& model) {
  std::set<int64_t, std::greater<>> sizes;
  for (const auto& input : model.graph().input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) sizes.insert(dim.dim_value());
  }
  ModelProto copy = model;
  visit_tensors(*copy.mutable_graph(), [&](TensorProto& tensor) {
    sizes.insert(tensor.dims().begin(), tensor.dims().end());
  });
  std::vector<int64_t> above_one;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(above_one),
               [](int64_t size) { return size > 1; });
  return above_one;
}

std::optional<ModelProto> with_size(const ModelProto& model, int64_t from, int64_t to,
                                    bool in_elements) {
  ModelProto cut = model;
  bool changed = false, possible = true;
  for (auto& input : *cut.mutable_graph()->mutable_input()) {
    if (!input.type().has_tensor_type()) continue;
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (dim.dim_value() != from) continue;
      dim.set_dim_value(to);
      changed = true;
    }
  }
  bool changed_elements = false;
  visit_tensors(*cut.mutable_graph(), [&](TensorProto& tensor) {
    if (in_elements && may_be_shape(tensor))
      changed_elements = change_elements(tensor, from, to) || changed_elements;
    for (int axis = 0; axis < tensor.dims_size(); ++axis) {
      if (tensor.dims(axis) != from) continue;
      changed = true;
      possible = cut_tensor(tensor, axis, to) && possible;
    }
  });
  if (!changed || !possible || (in_elements && !changed_elements)) return std::nullopt;
  forget_shapes(*cut.mutable_graph(), true);
  return cut;
}

std::optional<ModelProto> with_input_dim(const ModelProto& model, int input, int axis,
                                         int64_t extent) {
  ModelProto cut = model;
  auto& item = *cut.mutable_graph()->mutable_input(input);
  auto& dim = *item.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(axis);
  if (!dim.has_dim_value() || dim.dim_value() <= extent) return std::nullopt;
  dim.set_dim_value(extent);
  forget_shapes(*cut.mutable_graph(), true);
  return cut;
}

}  // namespace sluice
