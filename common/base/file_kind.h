// The kind of a file by its first bytes, so that a program that gets the wrong file can name the
// right program.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sluice {

inline constexpr char kGraphMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'G', '1'};
inline constexpr char kFailureMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'F', 'L'};
inline constexpr char kOmMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'O', 'M'};

enum class FileKind { kUnknown, kGraph, kCompiledModel, kGraphText, kOnnx, kFailure };

// Returns the kind. ONNX files have no magic: they are recognized by the fields that exporters
// write first, which is good enough for a hint.
FileKind file_kind(std::span<const std::byte> bytes);

// Returns the hint of an error that rejects the file: its kind and the program that takes it. Empty
// when the kind is unknown.
std::string file_kind_hint(std::span<const std::byte> bytes);

}  // namespace sluice
