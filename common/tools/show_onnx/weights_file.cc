#include "common/tools/show_onnx/weights_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <optional>

#include "common/base/files.h"
#include "common/eval/tiled_evaluation.h"
#include "common/tools/show_onnx/values.h"

namespace sluice {
namespace {

// Fields of messages whose parts are written one by one, as the bytes before them: the number of
// the field and the wire type "length, then bytes"
// (https://protobuf.dev/programming-guides/encoding).
constexpr char kModelGraph = 7 << 3 | 2;
constexpr char kGraphInitializer = 5 << 3 | 2;
constexpr char kTensorRawData = 9 << 3 | 2;

constexpr uint64_t kMaxModelBytes = INT_MAX;
// Readers map external data by pages.
constexpr uint64_t kDataAlignment = 4096;

constexpr size_t kPieceBytes = 64 << 20;  // of a mapped file
constexpr uint64_t kTileBytes = 1 << 20;  // fits in a second-level cache

// Returns the bytes that come before `size` bytes of a field.
std::string field_head(char field, uint64_t size) {
  std::string head(1, field);
  for (; size >= 0x80; size >>= 7) head += static_cast<char>(size | 0x80);
  return head += static_cast<char>(size);
}

// The elements of a constant: where they are, or evaluated.
struct Elements {
  Tensor evaluated;
  std::span<const std::byte> bytes;
};

Result<Elements> elements_of(const Module& module, SegmentId id) {
  Elements elements;
  const SegmentKind kind = module.segment(id).kind;
  if (kind == SegmentKind::kSmall || kind == SegmentKind::kBytes) {
    SLUICE_ASSIGN(elements.bytes, module.bytes(id));
    return elements;
  }
  SLUICE_ASSIGN(elements.evaluated, evaluate_segment(module, id));
  elements.bytes = elements.evaluated.bytes;
  return elements;
}

// Unmaps the whole pages that bytes of a file are mapped from; they are read again on the next
// access. Otherwise all weights would stay in memory until the end.
void let_go(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)),
             from = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = (from + page - 1) / page * page,
                  end = (from + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<void> write_mapped(std::span<const std::byte> bytes, FileWriter& file) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min<size_t>(bytes.size(), kPieceBytes));
    SLUICE_TRY(file.write(piece));
    let_go(piece);
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

// Writes a large constant: what is in a file in pieces, an expression tile by tile.
Result<void> write_elements(const Module& module, SegmentId id, FileWriter& file) {
  const Segment& segment = module.segment(id);
  const Location& location = segment.location;
  const bool is_mapped = segment.kind == SegmentKind::kBytes && !location.path.empty() &&
                         !is_special_file(location.path);
  const bool has_tiles =
      segment.kind == SegmentKind::kExpression && dtype_bits(module.type(segment.type).dtype) >= 8;
  if (!has_tiles) {
    SLUICE_ASSIGN(const Elements elements, elements_of(module, id));
    return is_mapped ? write_mapped(elements.bytes, file) : file.write(elements.bytes);
  }
  SLUICE_ASSIGN(const TiledEvaluation tiled, TiledEvaluation::make(module, id, kTileBytes));
  for (size_t tile = 0; tile < tiled.tiles(); ++tile) {
    SLUICE_ASSIGN(const TensorBytes bytes, tiled.evaluate(tile));
    SLUICE_TRY(file.write(bytes));
  }
  return {};
}

// An initializer whose elements are written behind its other fields, or into a file of their own.
struct LargeConstant {
  SegmentId segment;
  uint64_t bytes;
  onnx::TensorProto tensor;

  uint64_t tensor_bytes() const {
    return tensor.ByteSizeLong() + field_head(kTensorRawData, bytes).size() + bytes;
  }
};

class ModelFile {
 public:
  ModelFile(const Module& module, const ModelParts& parts, const RunnableOutput& output)
      : module_(module), parts_(parts), output_(output) {}

  Result<void> write() {
    SLUICE_TRY(take_initializers());
    computing_.mutable_node()->CopyFrom(parts_.constants.computing());
    const bool is_too_large = model_bytes() > kMaxModelBytes;
    if (is_too_large || output_.external_data) {
      SLUICE_TRY(write_data_file(is_too_large));
      if (model_bytes() > kMaxModelBytes)
        return make_error(ErrorCode::kLimit,
                          "the graph is larger than 2 GiB as an ONNX model, without its weights");
    }
    SLUICE_ASSIGN(FileWriter file, FileWriter::create(output_.path));
    SLUICE_TRY(write_model(file));
    if (data_) SLUICE_TRY(data_->commit());  // first: the model is complete when it appears
    return file.commit();
  }

 private:
  // Small constants and strings become part of the graph, with their elements.
  Result<void> take_initializers() {
    for (const auto& [segment, name] : parts_.constants.initializers()) {
      const Type& type = module_.type(module_.segment(segment).type);
      const bool is_text = type.dtype == DType::kString;
      const uint64_t bytes = module_.segment(segment).size;
      onnx::TensorProto tensor;
      write_tensor_type(type, tensor);
      tensor.set_name(name);
      if (!is_text && bytes > kStreamedBytes) {
        large_.push_back({segment, bytes, std::move(tensor)});
        continue;
      }
      SLUICE_ASSIGN(const Elements elements, elements_of(module_, segment));
      if (is_text) {
        write_strings(elements.bytes, static_cast<uint64_t>(type.element_count().value_or(0)),
                      tensor);
      } else {
        tensor.set_raw_data(elements.bytes.data(), elements.bytes.size());
      }
      *parts_.graph.add_initializer() = std::move(tensor);
    }
    return {};
  }

  uint64_t graph_bytes() const {
    uint64_t bytes = computing_.ByteSizeLong() + parts_.graph.ByteSizeLong();
    for (const LargeConstant& each : large_)
      bytes += field_head(kGraphInitializer, each.tensor_bytes()).size() + each.tensor_bytes();
    return bytes;
  }

  uint64_t model_bytes() const {
    const uint64_t graph = graph_bytes();
    return parts_.model.ByteSizeLong() + field_head(kModelGraph, graph).size() + graph;
  }

  // Puts the elements of all large constants into the file PATH.data.
  Result<void> write_data_file(bool is_too_large) {
    if (output_.path == "-" || is_special_file(output_.path)) {
      return make_error(is_too_large ? ErrorCode::kLimit : ErrorCode::kUsage,
                        "{}external data is a file beside the model",
                        is_too_large ? "the ONNX model is larger than 2 GiB, and its " : "")
          .with_hint("name the model with -o FILE");
    }
    const std::string path = output_.path + ".data";
    SLUICE_ASSIGN(FileWriter data, FileWriter::create(path));
    for (LargeConstant& each : large_) {
      SLUICE_TRY(data.pad_to(kDataAlignment));
      add_place(each.tensor, path, data.offset(), each.bytes);
      SLUICE_TRY(write_elements(module_, each.segment, data));
      *parts_.graph.add_initializer() = std::move(each.tensor);
    }
    large_.clear();
    data_.emplace(std::move(data));
    return {};
  }

  static void add_place(onnx::TensorProto& tensor, const std::string& path, uint64_t offset,
                        uint64_t bytes) {
    const auto add = [&](const char* key, const std::string& value) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    };
    add("location", std::filesystem::path(path).filename().string());
    add("offset", std::to_string(offset));
    add("length", std::to_string(bytes));
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  }

  Result<void> write_model(FileWriter& file) const {
    SLUICE_TRY(file.write(parts_.model.SerializeAsString()));
    SLUICE_TRY(file.write(field_head(kModelGraph, graph_bytes())));
    SLUICE_TRY(file.write(computing_.SerializeAsString()));
    SLUICE_TRY(file.write(parts_.graph.SerializeAsString()));
    for (const LargeConstant& each : large_) {
      SLUICE_TRY(file.write(field_head(kGraphInitializer, each.tensor_bytes())));
      SLUICE_TRY(file.write(each.tensor.SerializeAsString()));
      SLUICE_TRY(file.write(field_head(kTensorRawData, each.bytes)));
      SLUICE_TRY(write_elements(module_, each.segment, file));
    }
    return {};
  }

  const Module& module_;
  const ModelParts& parts_;
  const RunnableOutput& output_;
  onnx::GraphProto computing_;  // only nodes, which come first
  std::vector<LargeConstant> large_;
  std::optional<FileWriter> data_;
};

}  // namespace

Result<void> write_model_file(const Module& module, const ModelParts& parts,
                              const RunnableOutput& output) {
  return ModelFile(module, parts, output).write();
}

}  // namespace sluice
