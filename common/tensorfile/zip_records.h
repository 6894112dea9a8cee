// The signatures of the records of a ZIP archive (PKWARE APPNOTE 6.3). Internal to this folder.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr uint32_t kZipLocalHeader = 0x04034b50, kZipCentralHeader = 0x02014b50,
                          kZipEnd = 0x06054b50, kZipEnd64 = 0x06064b50, kZipLocator64 = 0x07064b50;

}  // namespace sluice
