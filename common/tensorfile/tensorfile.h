// Tensor files: NumPy's .npy and .npz, ONNX's TensorProto (.pb), and raw elements.
//
// Every reader checks sizes against the file's own before it allocates; a damaged file is
// kBadTensorFile, which names the file and what was expected. Other errors: kNotFound, kIo.
//
// NumPy has no name for bf16, the 8-bit floats and sub-byte elements. In .npy they are written as
// the unsigned integer of the same width (bf16 as u2, the others as u1, sub-byte elements unpacked
// one to a byte), and read back as those integers, since .npy does not record the dtype. .pb keeps
// every dtype.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/tensor.h"

namespace sluice {

// Reads by extension: .npy or .pb. For .npz see read_npz. The name is the one in the file (.pb),
// otherwise empty.
Result<Tensor> read_tensor(const std::string& path);
// Writes by extension: .npy or .pb. The file appears under its name only when complete.
Result<void> write_tensor(const std::string& path, const Tensor& tensor);

Result<Tensor> read_npy(const std::string& path);
// Returns the members of the archive by name without ".npy", in the archive's order; stored or
// deflated, also zip64.
Result<std::vector<Tensor>> read_npz(const std::string& path);
// Writes members by their names, stored. Returns kLimit above 2 GiB.
Result<void> write_npz(const std::string& path, std::span<const Tensor> members);
Result<Tensor> read_pb(const std::string& path);

// Do the same on bytes in memory; `path` only names them in errors.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& path);
Result<Tensor> parse_pb(std::span<const std::byte> bytes, const std::string& path);
Result<std::string> npy_bytes(const Tensor& tensor);
std::string pb_bytes(const Tensor& tensor);

// The kind of a value of ONNX test data. The model's type determines how its file is read, because
// the file does not record it.
// kMaps is a sequence of maps.
enum class ValueKind : uint8_t { kTensor, kSequence, kOptional, kMap, kMaps };
struct FileValue {
  ValueKind kind = ValueKind::kTensor;
  bool present = true;  // false: an empty optional
  // One tensor for a tensor; a sequence's elements in order; keys and values of each map, of one
  // dim.
  std::vector<Tensor> tensors;
  ValueKind element = ValueKind::kTensor;  // of an optional that is present
};
inline bool holds_maps(ValueKind kind) {
  return kind == ValueKind::kMap || kind == ValueKind::kMaps;
}
inline bool holds_maps(const FileValue& value) { return holds_maps(value.kind); }

// Reads ONNX's protos: a tensor, a sequence of tensors or maps, a map of scalars, or an optional of
// a tensor or of a sequence of tensors; others are kBadTensorFile.
Result<FileValue> read_value(const std::string& path, ValueKind kind);
// Writes ONNX's TensorProto, SequenceProto, MapProto or OptionalProto.
Result<void> write_value(const std::string& path, const FileValue& value);

// Read and write a map, or a sequence of maps, as .npz: the members "keys" and "values" of one dim.
// A sequence has those of all maps, concatenated, and "lengths", int64: the number of keys of each
// map.
Result<FileValue> read_maps(const std::string& path, ValueKind kind);
Result<void> write_maps(const std::string& path, const FileValue& value);

}  // namespace sluice
