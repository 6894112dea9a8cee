#include "common/stage/rebind.h"

#include <filesystem>

#include "common/base/files.h"
#include "common/base/store.h"

namespace sluice {

Result<void> rebind_constants(Module& module, const std::string& path) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
  std::error_code code;
  const std::string absolute = std::filesystem::absolute(path, code).lexically_normal().string();
  for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
    Segment& segment = module.segment(id);
    const Where where = segment.location.where;
    if (segment.kind != SegmentKind::kBytes || where == Where::kHere || where == Where::kStore) continue;
    if (where == Where::kNone) {
      return make_error(ErrorCode::kMissingSegment, "constant sha256:{} has no place in any file, so '{}' cannot give its bytes",
                        digest_hex(segment.digest).substr(0, 16), path)
          .with_hint("the graph was made from text, which has only digests: make it again with sluice as TEXT --with FILE.sg");
    }
    const uint64_t offset = segment.location.offset;
    const bool inside = offset <= file.bytes().size() && segment.size <= file.bytes().size() - offset;
    if (!inside || sha256(file.bytes().subspan(offset, segment.size)) != segment.digest) {
      return make_error(ErrorCode::kMissingSegment, "'{}' is no copy of '{}': its bytes at {} differ", path, segment.location.path, offset)
          .with_hint("give the file that sluice-preprocess read, or run sluice-preprocess again");
    }
    segment.location.path = absolute;
    segment.location.mtime_ns = file.mtime_ns();
  }
  return {};
}

void bind_store(Module& module, const std::string& store) {
  for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
    Segment& segment = module.segment(id);
    if (segment.location.where == Where::kStore) segment.location.path = store_path(store, segment.digest);
  }
}

}  // namespace sluice
