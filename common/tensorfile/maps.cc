// Maps as .npz: "keys" and "values". A sequence of maps has those of all maps, concatenated, and
// "lengths", the number of keys of each map.
#include <algorithm>
#include <cstring>

#include "common/tensorfile/bad_file.h"
#include "common/tensorfile/tensorfile.h"

namespace sluice {
namespace {

Tensor named(Tensor tensor, const char* name) {
  tensor.name = name;
  return tensor;
}

// Concatenates the elements of every second tensor from `first` on.
Tensor joined(std::span<const Tensor> tensors, size_t first, DType dtype, const char* name) {
  int64_t count = 0;
  std::vector<std::string> texts;
  TensorBytes bytes;
  for (size_t i = first; i < tensors.size(); i += 2) {
    count += tensors[i].dims[0];
    for (int64_t k = 0; dtype == DType::kString && k < tensors[i].dims[0]; ++k) {
      texts.emplace_back(string_at(tensors[i], static_cast<uint64_t>(k)));
    }
    if (dtype != DType::kString)
      bytes.insert(bytes.end(), tensors[i].bytes.begin(), tensors[i].bytes.end());
  }
  if (dtype == DType::kString) return make_string_tensor({count}, texts, name);
  return {name, dtype, {count}, std::move(bytes)};
}

// Returns elements [from, from + count) of a tensor of one dim whose elements are whole bytes.
Tensor piece(const Tensor& whole, int64_t from, int64_t count) {
  if (whole.dtype == DType::kString) {
    std::vector<std::string> texts;
    for (int64_t k = from; k < from + count; ++k)
      texts.emplace_back(string_at(whole, static_cast<uint64_t>(k)));
    return make_string_tensor({count}, texts);
  }
  Tensor part = make_tensor(whole.dtype, {count});
  const size_t width = static_cast<size_t>(dtype_bits(whole.dtype)) / 8;
  if (count > 0)
    std::memcpy(part.bytes.data(), whole.bytes.data() + static_cast<size_t>(from) * width,
                part.bytes.size());
  return part;
}

const Tensor* find(const std::vector<Tensor>& members, std::string_view name) {
  const auto found = std::ranges::find(members, name, &Tensor::name);
  return found == members.end() ? nullptr : &*found;
}

Result<FileValue> split_maps(const Tensor& keys, const Tensor& values, const Tensor& lengths,
                             const std::string& path) {
  FileValue maps{ValueKind::kMaps, true, {}};
  int64_t from = 0;
  for (const int64_t length : lengths.as<int64_t>()) {
    if (length < 0 || length > keys.dims[0] - from)
      return bad_file(path, "'lengths' do not add up to {} keys", keys.dims[0]);
    maps.tensors.push_back(piece(keys, from, length));
    maps.tensors.push_back(piece(values, from, length));
    from += length;
  }
  if (from != keys.dims[0])
    return bad_file(path, "'lengths' add up to {}, but there are {} keys", from, keys.dims[0]);
  return maps;
}

}  // namespace

Result<void> write_maps(const std::string& path, const FileValue& value) {
  const std::vector<Tensor>& tensors = value.tensors;
  if (value.kind == ValueKind::kMap) {
    const Tensor members[] = {named(tensors[0], "keys"), named(tensors[1], "values")};
    return write_npz(path, members);
  }
  const DType key = tensors.empty() ? DType::kI64 : tensors[0].dtype,
              element = tensors.empty() ? DType::kF32 : tensors[1].dtype;
  Tensor lengths = make_tensor(DType::kI64, {static_cast<int64_t>(tensors.size() / 2)}, "lengths");
  for (size_t i = 0; i + 1 < tensors.size(); i += 2)
    lengths.as<int64_t>()[i / 2] = tensors[i].dims[0];
  const Tensor members[] = {joined(tensors, 0, key, "keys"), joined(tensors, 1, element, "values"),
                            std::move(lengths)};
  return write_npz(path, members);
}

Result<FileValue> read_maps(const std::string& path, ValueKind kind) {
  if (!path.ends_with(".npz"))
    return bad_file(path, "a map is read from .npz with 'keys' and 'values', or from .pb");
  SLUICE_ASSIGN(const std::vector<Tensor> members, read_npz(path));
  const Tensor *keys = find(members, "keys"), *values = find(members, "values"),
               *lengths = find(members, "lengths");
  if (keys == nullptr || values == nullptr)
    return bad_file(path, "a map's file has the members 'keys' and 'values', this one has not");
  if (keys->dims.size() != 1 || keys->dims != values->dims) {
    return bad_file(path, "'keys' of shape {} and 'values' of shape {} are no map",
                    dims_text(keys->dims), dims_text(values->dims));
  }
  if (kind == ValueKind::kMap) return FileValue{kind, true, {named(*keys, ""), named(*values, "")}};
  if (lengths == nullptr || lengths->dtype != DType::kI64 || lengths->dims.size() != 1) {
    return bad_file(path,
                    "a sequence of maps has 'lengths', int64 of one dim: how many keys each has");
  }
  return split_maps(*keys, *values, *lengths, path);
}

}  // namespace sluice
