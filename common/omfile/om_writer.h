// Writes compiled models. Used by stages/build and sluice-as; the reader is om_file.h.
#pragma once

#include <cstddef>
#include <functional>
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

using OmOutput = std::function<Result<void>(const OmPiece&)>;

// A segment. It lists its pieces, or makes them one after the other while it is written, so that a
// segment of any size takes little memory.
struct OmSegment {
  pb::SegmentKind kind = pb::SEGMENT_WEIGHTS;
  std::vector<OmPiece> pieces;  // ascending, not overlapping
  uint64_t bytes = 0;           // of the whole segment, at least the end of the last piece
  std::function<Result<void>(const OmOutput&)>
      stream;  // instead of pieces: writes them to the output, in the same order
};

// Checks the description with its segments in their places, but without their digests.
using OmCheck = std::function<Result<void>(const pb::ModelDef& model)>;

// The files beside a compiled model.
struct OmFiles {
  // Writes them and sets their digests in the description, whose length stays. Is called before the
  // segments are written.
  std::function<Result<void>(pb::ModelDef& model)> write;
  // Gives them their names. Is called when the compiled model is whole, before it gets its own.
  std::function<Result<void>()> commit;
};

// Writes header, `model` and `segments` in that order, to path; "-" is standard output. Fills
// model.segments. The same arguments give the same bytes. `check` must pass before the first byte
// is written. Errors: its own and those of `files`; kInternal when pieces overlap or profile, isa
// or version do not fit the header; kIo.
Result<void> write_om(const std::string& path, pb::ModelDef model,
                      std::span<const OmSegment> segments, const OmCheck& check = {},
                      const OmFiles& files = {});

}  // namespace sluice
