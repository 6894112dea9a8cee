#include "stages/preprocess/onnx/model_file.h"

#include <google/protobuf/io/coded_stream.h>

#include <filesystem>

#include "common/base/failure_header.h"
#include "common/base/file_kind.h"
#include "common/base/files.h"
#include "stages/preprocess/onnx/wire.h"

namespace sluice {
namespace {

Error not_onnx(const ModelFile& file, const std::string& why) {
  return Error{ErrorCode::kBadModel, "not an ONNX model: " + why, {}, file.name};
}

// Parses with a higher limit than protobuf's own, which is 32 nested bodies.
bool parse_message(const std::string& bytes, onnx::ModelProto& proto) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxMessageDepth);
  return proto.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

Result<void> parse(ModelFile& file) {
  if (file.bytes.empty()) return not_onnx(file, "the file is empty");
  const FileKind kind = file_kind(file.bytes);
  if (kind == FileKind::kGraph) return {};  // resumed from a graph that this stage wrote
  if (kind == FileKind::kFailure) return failure_read(file.bytes);
  if (kind != FileKind::kOnnx && kind != FileKind::kUnknown) {
    Error error = not_onnx(file, "it begins as another kind of file");
    error.hint = file_kind_hint(file.bytes);
    return error;
  }
  auto reduced = drop_payloads(file.bytes);
  if (!reduced) {
    Error error = std::move(reduced).error();
    error.file = file.name;
    return error;
  }
  if (!parse_message(*reduced, file.proto)) return not_onnx(file, "the file is no ModelProto");
  if (!file.proto.has_graph()) return not_onnx(file, "there is no graph");
  file.digest = sha256(*reduced);
  return {};
}

}  // namespace

Result<ModelFile> parse_model_file(std::shared_ptr<const std::vector<std::byte>> bytes,
                                   const std::string& name) {
  ModelFile file;
  file.name = name;
  file.bytes = *bytes;
  file.owner = std::move(bytes);
  std::error_code ignored;
  file.folder = std::filesystem::current_path(ignored).string();
  SLUICE_TRY(parse(file));
  return file;
}

Result<ModelFile> open_model_file(const std::string& path) {
  if (path == "-" || is_special_file(path)) {
    SLUICE_ASSIGN(std::vector<std::byte> bytes, read_file(path));
    return parse_model_file(std::make_shared<const std::vector<std::byte>>(std::move(bytes)),
                            path == "-" ? "standard input" : path);
  }
  SLUICE_ASSIGN(const MappedFile map, MappedFile::open(path));
  ModelFile file;
  file.name = path;
  file.path = absolute_path(path);
  file.folder = std::filesystem::path(file.path).parent_path().string();
  file.mtime_ns = map.mtime_ns();
  file.bytes = map.bytes();
  file.owner = std::make_shared<const MappedFile>(map);
  SLUICE_TRY(parse(file));
  return file;
}

}  // namespace sluice
