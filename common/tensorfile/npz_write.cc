// Writes NumPy's .npz: a ZIP archive of stored .npy files (PKWARE APPNOTE 6.3), without dates.
#include <zlib.h>

#include "common/base/files.h"
#include "common/tensorfile/bad_file.h"
#include "common/tensorfile/tensorfile.h"
#include "common/tensorfile/zip_records.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxBytes = 0xffffffff, kMaxMembers = 0xffff;  // limits without the zip64 fields
constexpr uint16_t kVersion = 20, kStored = 0, kFirstDay = 0x21;  // 1980-01-01

template <typename... Numbers>
void put(std::string& text, Numbers... numbers) {
  (text.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers)), ...);
}

struct Entry {
  std::string name;
  uint32_t crc = 0, bytes = 0, offset = 0;
};

// Writes the common part of the local and the central header.
void put_entry(std::string& text, const Entry& entry) {
  put(text, kVersion, uint16_t{0}, kStored, uint16_t{0}, kFirstDay, entry.crc, entry.bytes,
      entry.bytes, static_cast<uint16_t>(entry.name.size()), uint16_t{0});
}

void put_directory(std::string& text, const std::vector<Entry>& entries) {
  const auto begin = static_cast<uint32_t>(text.size());
  for (const Entry& entry : entries) {
    put(text, kZipCentralHeader, kVersion);
    put_entry(text, entry);
    put(text, uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, entry.offset);
    text += entry.name;
  }
  const auto count = static_cast<uint16_t>(entries.size());
  const auto bytes = static_cast<uint32_t>(text.size() - begin);
  put(text, kZipEnd, uint16_t{0}, uint16_t{0}, count, count, bytes, begin, uint16_t{0});
}

}  // namespace

Result<void> write_npz(const std::string& path, std::span<const Tensor> members) {
  std::string text;
  std::vector<Entry> entries;
  for (const Tensor& member : members) {
    SLUICE_ASSIGN(const std::string bytes, npy_bytes(member));
    if (text.size() + bytes.size() > kMaxBytes / 2 || entries.size() == kMaxMembers) {
      return Error{ErrorCode::kLimit, "the values are too many for .npz, which holds 2 GiB here",
                   "write them as .pb", path};
    }
    const auto crc = static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    entries.push_back({member.name + ".npy", crc, static_cast<uint32_t>(bytes.size()),
                       static_cast<uint32_t>(text.size())});
    put(text, kZipLocalHeader);
    put_entry(text, entries.back());
    text += entries.back().name + bytes;
  }
  put_directory(text, entries);
  return write_text(path, text);
}

}  // namespace sluice
