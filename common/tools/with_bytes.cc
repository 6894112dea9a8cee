#include "common/tools/with_bytes.h"

#include <map>

#include "common/graphfile/graphfile.h"

namespace sluice {

Result<void> take_bytes(Module& module, const std::string& path) {
  SLUICE_ASSIGN(const Module from, read_graph_file(path));
  std::map<Digest, Location> known;
  for (SegmentId id = 0; static_cast<size_t>(id) < from.segment_count(); ++id) {
    const Segment& segment = from.segment(id);
    if (segment.kind == SegmentKind::kBytes && segment.location.where != Where::kNone)
      known.emplace(segment.digest, segment.location);
  }
  for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
    Segment& segment = module.segment(id);
    const bool is_missing =
        segment.kind == SegmentKind::kBytes && segment.location.where == Where::kNone;
    const auto found = is_missing ? known.find(segment.digest) : known.end();
    if (found == known.end()) continue;
    if (found->second.where == Where::kHere && found->second.bytes.size() != segment.size) {
      return make_error(ErrorCode::kBadFile, "constant sha256:{} has {} bytes in '{}', not {}",
                        digest_hex(segment.digest).substr(0, 16), found->second.bytes.size(), path,
                        segment.size);
    }
    segment.location = found->second;
  }
  return {};
}

size_t count_missing_bytes(const Module& module) {
  size_t missing = 0;
  for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
    const Segment& segment = module.segment(id);
    missing +=
        segment.kind == SegmentKind::kBytes && segment.location.where == Where::kNone ? 1 : 0;
  }
  return missing;
}

}  // namespace sluice
