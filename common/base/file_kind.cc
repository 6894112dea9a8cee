#include "common/base/file_kind.h"

#include <cstring>
#include <string_view>

namespace sluice {
namespace {

// Checks for field 1 of ModelProto (ir_version, a varint below 128) and the tag of another of its
// fields.
bool begins_as_onnx(std::string_view text) {
  constexpr std::string_view kTags = "\x12\x1a\x22\x28\x32\x3a\x42\x72";
  return text.size() >= 3 && text[0] == '\x08' && static_cast<signed char>(text[1]) > 0 &&
         kTags.find(text[2]) != std::string_view::npos;
}

}  // namespace

FileKind file_kind(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(std::string_view(kGraphMagic, sizeof(kGraphMagic)))) return FileKind::kGraph;
  if (text.starts_with(std::string_view(kOmMagic, sizeof(kOmMagic))))
    return FileKind::kCompiledModel;
  if (text.starts_with(std::string_view(kFailureMagic, sizeof(kFailureMagic))))
    return FileKind::kFailure;
  if (text.starts_with("sluice ")) return FileKind::kGraphText;
  return begins_as_onnx(text) ? FileKind::kOnnx : FileKind::kUnknown;
}

std::string file_kind_hint(std::span<const std::byte> bytes) {
  switch (file_kind(bytes)) {
    case FileKind::kGraph:
      return "it is a graph file (.sg): sluice compile goes on from it, sluice show prints it";
    case FileKind::kCompiledModel:
      return "it is a compiled model (.om): sluice run and sluice bench run it, sluice show prints "
             "it";
    case FileKind::kGraphText:
      return "it is the text of a graph: sluice as makes a graph file of it";
    case FileKind::kOnnx:
      return "it looks like an ONNX model: sluice compile compiles it, sluice-preprocess makes a "
             "graph file of it";
    case FileKind::kFailure:
      return "it is what a program wrote that failed: its own error says why";
    case FileKind::kUnknown:
      return {};
  }
  return {};
}

}  // namespace sluice
