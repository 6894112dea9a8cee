// A file of --pass POINT=FILE: a program, Python, or a plugin.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/passes_host/pass_kind.h"
#include "common/passes_host/points.h"

namespace sluice {

struct PassOption {
  const PassPoint* point = nullptr;
  std::string path;  // absolute
  std::string name;  // "mine.py": of its row
};
// Errors: kBadOption.
Result<PassOption> parse_pass_option(std::string_view value);

struct PassFile {
  PassOption option;
  PassKind kind = PassKind::kProgram;
  // The file, then the Python files below its folder that it imports, absolute, sorted.
  std::vector<std::string> files;
  // Of its bytes; with imports of all names and digests. Hex digits.
  std::string digest;
};
// Python starts for a *.py, and runs nothing of it. Errors: kBadOption, kNotFound, kProgramMissing.
Result<PassFile> read_pass_file(std::string_view value);

// The file and its imports as one artifact: lines "BYTES MODE PATH", an empty one, and the bytes.
Result<std::vector<std::byte>> pack_pass(const PassFile& file);
// Writes them below a folder. Errors: kBadFile for bytes that are no such artifact, kIo.
Result<void> unpack_pass(std::span<const std::byte> packed, const std::string& folder);

}  // namespace sluice
