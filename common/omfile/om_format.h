// The bytes of a compiled model (.om, docs/compiled-model.md):
//
//   OmHeader (512 bytes) · ModelDef (protobuf) · zeros up to 4096 · segment · zeros up to 4096 ·
//   segment …
//
// The header names version, profile and ISA in plain text, so that a foreign file is refused with a
// useful sentence before anything else of it is trusted. Its digest covers the header, its model
// digest the ModelDef, and the ModelDef contains the digest of every segment: one chain, of which
// only the link to the weights is left unchecked when a model is opened.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/file_kind.h"

namespace sluice {

inline constexpr uint32_t kOmFormat =
    8;  // increased when KernelArgs, this header or the meaning of a field changes
inline constexpr uint64_t kOmPage = 4096;          // segments begin at multiples of it
inline constexpr uint64_t kOmValueAlignment = 64;  // of every value within its region
inline constexpr uint64_t kOmPieceAlignment = 4;   // of a value that is a piece of another
inline constexpr uint64_t kOmArenaLimit =
    uint64_t{1} << 46;  // bytes of an arena: a process has 2^47, and other things in it

inline constexpr char kWeightsPath[] =
    "/weights";  // the file that constants of a root graph lie in: the segment of weights

struct OmHeader {
  char magic[8];          // kOmMagic
  uint32_t format;        // kOmFormat
  uint32_t header_bytes;  // sizeof(OmHeader)
  uint64_t file_bytes;
  uint64_t model_offset;
  uint64_t model_bytes;
  uint8_t model_digest[32];
  char profile[64];   // zero-filled; equal to ModelDef.profile
  char isa[32];       // zero-filled; equal to ModelDef.isa
  char version[128];  // zero-filled; equal to ModelDef.version
  uint8_t reserved[184];
  uint8_t digest[32];  // SHA-256 of all bytes before it
};
static_assert(sizeof(OmHeader) == 512);

}  // namespace sluice
