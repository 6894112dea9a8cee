// The list of constants of sluice show --segments.
#include "common/tools/show.h"
#include "fmt/format.h"

namespace sluice {
namespace {

std::string_view place_text(Where where) {
  switch (where) {
    case Where::kHere:
      return "here";
    case Where::kFile:
      return "file";
    case Where::kStore:
      return "store";
    case Where::kNone:
      break;
  }
  return "nowhere";
}

}  // namespace

std::string segments_text(const Module& module) {
  std::string text;
  for (SegmentId id = 0; id < static_cast<SegmentId>(module.segment_count()); ++id) {
    const Segment& segment = module.segment(id);
    if (segment.kind != SegmentKind::kBytes) continue;
    text += fmt::format("{} {} {}", digest_hex(segment.digest), segment.size,
                        place_text(segment.location.where));
    if (segment.location.where == Where::kFile)
      text += fmt::format(" {} at {}", segment.location.path, segment.location.offset);
    text += "\n";
  }
  return text;
}

}  // namespace sluice
