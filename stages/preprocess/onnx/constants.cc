#include "stages/preprocess/onnx/constants.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "common/base/parallel.h"
#include "common/tensorfile/tensorfile.h"
#include "stages/preprocess/onnx/external.h"

namespace sluice {
namespace {

constexpr size_t kHashStep = size_t{1} << 20;

// Computes the SHA-256 of a part of a file, read in pieces: through the map, gigabytes of pages
// would count as this process's memory.
Result<Digest> hash_file(const std::string& path, uint64_t offset, uint64_t size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return make_error(ErrorCode::kNotFound, "cannot open '{}': {}", path, std::strerror(errno));
  Sha256 sha;
  std::vector<std::byte> buffer(std::min<uint64_t>(kHashStep, size));
  while (size > 0) {
    const ssize_t got = ::pread(fd, buffer.data(), std::min<uint64_t>(buffer.size(), size),
                                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      ::close(fd);
      return make_error(ErrorCode::kIo, "cannot read '{}' at byte {}: {}", path, offset,
                        got == 0 ? "it has shrunk" : std::strerror(errno));
    }
    sha.add(std::span(buffer).first(static_cast<size_t>(got)));
    offset += static_cast<uint64_t>(got);
    size -= static_cast<uint64_t>(got);
  }
  ::close(fd);
  return sha.finish();
}

bool is_repeated(std::span<const std::byte> bytes, size_t element) {
  return element > 0 && bytes.size() > element &&
         std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0;
}

std::string tensor_name(const onnx::TensorProto& tensor, const std::string& where) {
  return tensor.name().empty() ? where : fmt::format("tensor '{}'", tensor.name());
}

std::optional<uint64_t> whole_number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Type> type_of(const onnx::TensorProto& tensor, const std::string& where) {
  if (!dtype_is_valid(tensor.data_type()) || tensor.data_type() == 0) {
    return make_error(ErrorCode::kBadModel, "{} has element type {}, which is unknown",
                      tensor_name(tensor, where), tensor.data_type());
  }
  const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  if (!element_count(dims)) {
    return make_error(ErrorCode::kBadModel, "{} has the impossible shape {}",
                      tensor_name(tensor, where), dims_text(dims));
  }
  return Type::fixed_tensor(static_cast<DType>(tensor.data_type()), dims);
}

// Returns whether a tensor that has elements declares none in its file. As in ONNX Runtime they end
// where the file does.
bool has_no_length(const onnx::TensorProto& tensor) {
  const bool is_empty = std::ranges::find(tensor.dims(), 0) != tensor.dims().end();
  return !is_empty && std::ranges::any_of(tensor.external_data(), [](const auto& entry) {
    return entry.key() == "length" && whole_number(entry.value()) == uint64_t{0};
  });
}

std::vector<std::byte> plain_bytes(const Tensor& tensor) {
  return {tensor.bytes.begin(), tensor.bytes.end()};
}

}  // namespace

Result<int> Constants::open_external(const std::string& location, const std::string& where) {
  if (const auto known = external_index_.find(location); known != external_index_.end())
    return known->second;
  auto path = find_external_file(file_, location, external_dir_);
  if (!path) return std::move(path).error().within(where);
  auto map = MappedFile::open(*path);
  if (!map) return std::move(map).error().within(where);
  external_.push_back(std::move(map).value());
  return external_index_[location] = static_cast<int>(external_.size()) - 1;
}

Result<void> Constants::find_external(const onnx::TensorProto& tensor, const std::string& where,
                                      Payload& payload) {
  std::string location;
  std::optional<uint64_t> offset = 0, length;
  bool has_length = false;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = whole_number(entry.value());
    if (entry.key() == "length") {
      length = whole_number(entry.value());
      has_length = true;
    }
  }
  SLUICE_ASSIGN(payload.file, open_external(location, tensor_name(tensor, where)));
  const uint64_t size = external_[static_cast<size_t>(payload.file)].bytes().size();
  if (offset && (!has_length || has_no_length(tensor))) length = size - std::min(size, *offset);
  if (!offset || !length || *offset > size || *length > size - *offset) {
    return make_error(ErrorCode::kBadModel, "{} lies beyond the end of '{}'",
                      tensor_name(tensor, where), location);
  }
  payload.offset = *offset;
  payload.size = *length;
  return {};
}

// Returns whether the tensor's elements are in a file, and sets their location.
Result<bool> Constants::find_payload(const onnx::TensorProto& tensor, const std::string& where,
                                     Payload& payload) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    SLUICE_TRY(find_external(tensor, where, payload));
    return true;
  }
  if (!tensor.has_segment()) return false;
  payload.offset = static_cast<uint64_t>(tensor.segment().begin());
  payload.size = static_cast<uint64_t>(tensor.segment().end() - tensor.segment().begin());
  return true;
}

std::span<const std::byte> Constants::bytes(const Payload& payload) const {
  const auto whole =
      payload.file < 0 ? file_.bytes : external_[static_cast<size_t>(payload.file)].bytes();
  return whole.subspan(payload.offset, payload.size);
}

const std::string& Constants::path_of(const Payload& payload) const {
  return payload.file < 0 ? file_.path : external_[static_cast<size_t>(payload.file)].path();
}

// Must run before anything is hashed: a file with holes can be larger than any disk.
Result<void> Constants::check_size(uint64_t bytes, const std::string& name) const {
  if (bytes <= max_bytes_) return {};
  return make_error(ErrorCode::kLimit, "{} has {} bytes, expected at most {}", name, bytes,
                    max_bytes_)
      .with_hint("--max-constant-bytes=N allows larger ones");
}

Result<void> Constants::gather(const onnx::TensorProto& tensor) {
  Payload payload;
  SLUICE_ASSIGN(const bool found, find_payload(tensor, "a tensor", payload));
  if (found && payload.size > 0 && has_no_length(tensor)) {
    module_.warnings.add(Leniency::kNoLength,
                         fmt::format("{} has the length 0 in its file: it ends where the file does",
                                     tensor_name(tensor, "a tensor")));
  }
  if (!found || payload.size <= kSmallSegmentBytes) return {};
  SLUICE_TRY(check_size(payload.size, tensor_name(tensor, "a tensor")));
  const int bits =
      dtype_is_valid(tensor.data_type()) ? dtype_bits(static_cast<DType>(tensor.data_type())) : 0;
  hashed_[payload].element_bytes = bits / 8;
  return {};
}

Result<void> Constants::gather(const onnx::NodeProto& node) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_t()) SLUICE_TRY(gather(attribute.t()));
    for (const onnx::TensorProto& tensor : attribute.tensors()) SLUICE_TRY(gather(tensor));
    if (attribute.has_g()) SLUICE_TRY(gather(attribute.g()));
    for (const onnx::GraphProto& graph : attribute.graphs()) SLUICE_TRY(gather(graph));
    if (attribute.has_sparse_tensor()) {
      SLUICE_TRY(gather(attribute.sparse_tensor().values()));
      SLUICE_TRY(gather(attribute.sparse_tensor().indices()));
    }
  }
  return {};
}

Result<void> Constants::gather(const onnx::GraphProto& graph) {
  for (const onnx::TensorProto& tensor : graph.initializer()) SLUICE_TRY(gather(tensor));
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) {
    SLUICE_TRY(gather(tensor.values()));
    SLUICE_TRY(gather(tensor.indices()));
  }
  for (const onnx::NodeProto& node : graph.node()) SLUICE_TRY(gather(node));
  return {};
}

Result<void> Constants::hash_payload(const Payload& payload, Hashed& hashed) const {
  const std::span<const std::byte> content = bytes(payload);
  const auto element = static_cast<size_t>(hashed.element_bytes);
  hashed.is_splat = is_repeated(content, element);
  if (hashed.is_splat) {
    hashed.digest = sha256(content.first(element));
  } else if (const std::string& path = path_of(payload); path.empty()) {
    hashed.digest = sha256(content);
  } else {
    SLUICE_ASSIGN(hashed.digest, hash_file(path, payload.offset, payload.size));
  }
  return {};
}

Result<void> Constants::hash_payloads(int64_t threads) {
  SLUICE_TRY(gather(file_.proto.graph()));
  for (const onnx::FunctionProto& function : file_.proto.functions()) {
    for (const onnx::NodeProto& node : function.node()) SLUICE_TRY(gather(node));
  }
  std::vector<std::pair<const Payload*, Hashed*>> jobs;
  for (auto& [payload, hashed] : hashed_) jobs.emplace_back(&payload, &hashed);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.first->size > b.first->size; });
  SLUICE_TRY(parallel_for(jobs.size(), threads,
                          [&](size_t i) { return hash_payload(*jobs[i].first, *jobs[i].second); }));
  Sha256 all;
  all.add_value(file_.digest.bytes);
  for (const auto& [payload, hashed] : hashed_) all.add_value(hashed.digest.bytes);
  model_digest_ = all.finish();
  return {};
}

Result<SegmentId> Constants::from_payload(TypeId type, const Payload& payload, uint64_t expected,
                                          const std::string& where) {
  if (payload.size != expected) {
    return make_error(ErrorCode::kBadModel, "{} holds {} bytes, expected {}", where, payload.size,
                      expected);
  }
  const std::span<const std::byte> content = bytes(payload);
  if (payload.size <= kSmallSegmentBytes)
    return module_.make_constant(type, {content.begin(), content.end()});
  const auto hashed = hashed_.find(payload);
  if (hashed == hashed_.end()) return make_error(ErrorCode::kInternal, "{} was not hashed", where);
  if (hashed->second.is_splat) {
    return module_.make_splat(type,
                              content.first(static_cast<size_t>(hashed->second.element_bytes)));
  }
  Segment segment;
  segment.kind = SegmentKind::kBytes;
  segment.type = type;
  segment.digest = hashed->second.digest;
  segment.size = payload.size;
  if (path_of(payload).empty()) {
    segment.location.where = Where::kHere;
    segment.location.owner = file_.owner;
    segment.location.bytes = content;
  } else {
    segment.location.where = Where::kFile;
    segment.location.path = path_of(payload);
    segment.location.offset = payload.offset;
    segment.location.mtime_ns =
        payload.file < 0 ? file_.mtime_ns : external_[static_cast<size_t>(payload.file)].mtime_ns();
  }
  return module_.add_segment(std::move(segment));
}

Result<SegmentId> Constants::segment(const onnx::TensorProto& tensor, const std::string& where) {
  SLUICE_ASSIGN(const Type type, type_of(tensor, where));
  Payload payload;
  SLUICE_ASSIGN(const bool is_payload, find_payload(tensor, where, payload));
  if (is_payload) {
    if (type.dtype == DType::kString) {
      return make_error(ErrorCode::kBadModel, "{} keeps strings as raw bytes",
                        tensor_name(tensor, where));
    }
    const uint64_t expected =
        dtype_bytes(type.dtype, static_cast<uint64_t>(type.element_count().value_or(0)));
    return from_payload(module_.intern(type), payload, expected, tensor_name(tensor, where));
  }
  const std::string copy = tensor.SerializeAsString();
  auto read = parse_pb(std::as_bytes(std::span(copy)), file_.name);
  if (!read) return make_error(ErrorCode::kBadModel, "{}: {}", where, read.error().message);
  return module_.make_constant(module_.intern(type), plain_bytes(*read));
}

// Coordinates are linear, [n], or one per axis, [n, rank]. The dense tensor is made here: sparse
// ones are rare and small.
Result<SegmentId> Constants::segment(const onnx::SparseTensorProto& sparse,
                                     const std::string& where) {
  const std::vector<int64_t> dims(sparse.dims().begin(), sparse.dims().end());
  SLUICE_ASSIGN(const SegmentId values_id, segment(sparse.values(), where));
  SLUICE_ASSIGN(const SegmentId indices_id, segment(sparse.indices(), where));
  const Type& values_type = module_.type(module_.segment(values_id).type);
  const Type& indices_type = module_.type(module_.segment(indices_id).type);
  const int bits = dtype_bits(values_type.dtype);
  const auto count = element_count(dims);
  const int64_t stored = values_type.element_count().value_or(-1);
  const bool linear = indices_type.rank() == 1;
  const int64_t width = linear ? 1 : static_cast<int64_t>(dims.size());
  if (!count || bits < 8 || indices_type.dtype != DType::kI64 ||
      indices_type.element_count() != stored * width) {
    return make_error(ErrorCode::kBadModel, "{} is a sparse tensor whose parts do not fit together",
                      where);
  }
  SLUICE_TRY(check_size(dtype_bytes(values_type.dtype, static_cast<uint64_t>(*count)), where));
  SLUICE_ASSIGN(const auto values, module_.bytes(values_id));
  SLUICE_ASSIGN(const auto indices, module_.bytes(indices_id));
  const size_t element = static_cast<size_t>(bits) / 8;
  std::vector<std::byte> dense(*count * element);
  for (int64_t i = 0; i < stored; ++i) {
    uint64_t position = 0;
    for (int64_t axis = 0; axis < width; ++axis) {
      int64_t index = 0;
      std::memcpy(&index, indices.data() + static_cast<size_t>(i * width + axis) * sizeof(index),
                  sizeof(index));
      const int64_t extent =
          linear ? static_cast<int64_t>(*count) : dims[static_cast<size_t>(axis)];
      if (index < 0 || index >= extent)
        return make_error(ErrorCode::kBadModel, "{} is a sparse tensor with an index outside it",
                          where);
      position = position * static_cast<uint64_t>(extent) + static_cast<uint64_t>(index);
    }
    std::memcpy(dense.data() + position * element, values.data() + static_cast<size_t>(i) * element,
                element);
  }
  return module_.make_constant(module_.intern(Type::fixed_tensor(values_type.dtype, dims)),
                               std::move(dense));
}

}  // namespace sluice
