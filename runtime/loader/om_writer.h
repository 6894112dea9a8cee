// Writes compiled models. Used by stages/build and sluice-as; the reader is om_file.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "common/base/digest.h"
#include "common/base/files.h"
#include "common/base/result.h"
#include "model.pb.h"

namespace sluice {

// A run of bytes at `offset` within its segment; bytes between pieces are zeros. Not owned.
struct OmPiece {
  uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

struct OmSegment {
  pb::SegmentKind kind = pb::SEGMENT_WEIGHTS;
  std::vector<OmPiece> pieces;   // ascending, not overlapping
  uint64_t bytes = 0;            // of the whole segment, at least the end of the last piece
  std::optional<Digest> digest;  // of the whole segment when already known; else computed here
};

// Writes header, `model` and `segments` in that order; fills model.segments. The caller commits the writer. The same arguments give the
// same bytes. Errors: kInternal when pieces overlap or profile, isa or version do not fit the header; kIo.
Result<void> write_om(FileWriter& writer, pb::ModelDef model, std::span<const OmSegment> segments);
// Creates, writes and commits the file at path; "-" is standard output.
Result<void> write_om(const std::string& path, pb::ModelDef model, std::span<const OmSegment> segments);

}  // namespace sluice
