// What a file is, told by its first bytes, so that a file given to the wrong program is answered
// with the right one.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sluice {

inline constexpr char kGraphMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'G', '1'};
inline constexpr char kFailureMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'F', 'L'};
inline constexpr char kOmMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'O', 'M'};

enum class FileKind { kUnknown, kGraph, kCompiledModel, kGraphText, kOnnx, kFailure };

// ONNX files have no magic: they are known by how exporters begin them, which is good enough for a
// hint.
FileKind file_kind(std::span<const std::byte> bytes);

// For an error that refuses the file: what it is and which program takes it. Empty when unknown.
std::string file_kind_hint(std::span<const std::byte> bytes);

}  // namespace sluice
