#include "common/store/build_id.h"

#include <elf.h>

#include <cstring>

#include "common/base/digest.h"
#include "common/base/files.h"

namespace sluice {
namespace {

using Bytes = std::span<const std::byte>;

template <typename T>
std::optional<T> read_at(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

uint64_t aligned(uint64_t size) { return (size + 3) / 4 * 4; }

std::string hex(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

// Finds the build id among the notes of one segment.
std::optional<std::string> find_in_notes(Bytes notes) {
  uint64_t offset = 0;
  while (const auto note = read_at<Elf64_Nhdr>(notes, offset)) {
    const uint64_t content = offset + sizeof(*note) + aligned(note->n_namesz);
    if (content > notes.size() || note->n_descsz > notes.size() - content) return std::nullopt;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU"))
      return hex(notes.subspan(content, note->n_descsz));
    offset = content + aligned(note->n_descsz);
  }
  return std::nullopt;
}

std::optional<std::string> find_build_id(Bytes file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    if (segment->p_type != PT_NOTE || segment->p_offset > file.size() ||
        segment->p_filesz > file.size() - segment->p_offset)
      continue;
    if (auto found = find_in_notes(file.subspan(segment->p_offset, segment->p_filesz)))
      return found;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> build_id(const std::string& program) {
  SLUICE_ASSIGN(const MappedFile file, MappedFile::open(program));
  if (auto id = find_build_id(file.bytes())) return *std::move(id);
  return digest_hex(sha256(file.bytes()));
}

Result<std::string> own_build_id() { return build_id("/proc/self/exe"); }

}  // namespace sluice
