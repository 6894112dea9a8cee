#include "orchestrator/compile/stages.h"

#include <filesystem>

#include "common/base/failure_header.h"
#include "common/base/file_kind.h"
#include "common/base/files.h"
#include "common/graphfile/header.h"

namespace sluice {
namespace {

// Returns the first stage that works on a level (typed, partitioned, lowered), for a file that no
// stage wrote, such as one assembled from text.
size_t stage_of_level(uint8_t level) { return level == 1 ? 1 : level + 1u; }

}  // namespace

Result<size_t> first_stage_for(const std::string& path) {
  std::error_code unknown;
  if (path == "-" || (is_special_file(path) && !std::filesystem::is_directory(path, unknown))) {
    return make_error(
               ErrorCode::kUsage,
               "'{}' cannot be compiled: the stage to begin with is chosen by looking into a file",
               path)
        .with_hint(
            "keep it in a file first, or pipe it into the stage that comes next, such as "
            "sluice-partition");
  }
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  const FileKind kind = file_kind(file.bytes());
  if (kind == FileKind::kFailure) {
    Error error = failure_read(file.bytes());
    error.file = path;
    return error;
  }
  if (kind == FileKind::kCompiledModel || kind == FileKind::kGraphText) {
    return Error{ErrorCode::kBadFile, "this is neither an ONNX model nor a graph file",
                 file_kind_hint(file.bytes()), path};
  }
  if (kind != FileKind::kGraph) return size_t{0};
  Result<GraphHeader> header = parse_graph_header(file.bytes());
  if (!header) {
    header.error().file = path;
    return std::move(header).error();
  }
  const bool is_scheduled = header->level == 4;  // which no other stage than the last one writes
  const bool known = header->level >= 1 && header->level <= 4 &&
                     header->last_stage < kStageNames.size() + (is_scheduled ? 1 : 0);
  if (!known) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("the header names level {} and last stage {}, which do not exist",
                             header->level, header->last_stage),
                 {},
                 path};
  }
  if (is_scheduled) return size_t{4};  // sluice-build packages it
  const bool is_after_stage = header->last_stage != 0 || header->mid_stage;
  return is_after_stage ? size_t{header->last_stage} : stage_of_level(header->level);
}

}  // namespace sluice
