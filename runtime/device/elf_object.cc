#include "runtime/device/elf_object.h"

#include <cstring>

namespace sluice {
namespace {

// Objects of one kernel have a dozen sections of some kilobytes; a far larger section is damage.
constexpr uint64_t kMaxSectionBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxSectionAlign = 4096;

template <typename... Args>
Error damaged(fmt::format_string<Args...> format, Args&&... args) {
  return Error{ErrorCode::kBadCompiledModel,
               "kernel object: " + fmt::format(format, std::forward<Args>(args)...),
               {},
               {}};
}

bool is_inside(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

template <typename T>
T read_at(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

Result<void> check_header(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return damaged("is not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return damaged("is not 64-bit little-endian");
  if (header.e_type != ET_REL)
    return damaged("has type {}, expected a relocatable file", header.e_type);
  if (header.e_machine != EM_X86_64)
    return damaged("is for machine {}, expected x86-64", header.e_machine);
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    return damaged("has section headers of {} bytes", header.e_shentsize);
  return {};
}

}  // namespace

Result<ElfObject> ElfObject::parse(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return damaged("is truncated");
  ElfObject object;
  SLUICE_TRY(object.read_sections(bytes));
  const uint32_t count = static_cast<uint32_t>(object.sections_.size());
  bool has_symbols = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (object.sections_[i].header.sh_type != SHT_SYMTAB) continue;
    if (has_symbols) return damaged("has two symbol tables");
    has_symbols = true;
    SLUICE_TRY(object.read_symbols(i));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t type = object.sections_[i].header.sh_type;
    if (type == SHT_REL) return damaged("has relocations without addends");
    if (type == SHT_RELA) SLUICE_TRY(object.read_relocations(i));
  }
  return object;
}

Result<void> ElfObject::read_sections(std::span<const std::byte> bytes) {
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  SLUICE_TRY(check_header(header));
  if (!is_inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), bytes.size())) {
    return damaged("has its section headers outside the file");
  }
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Section section{read_at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr)), {}};
    const Elf64_Shdr& h = section.header;
    if (h.sh_size > kMaxSectionBytes) return damaged("section {} has {} bytes", i, h.sh_size);
    if (h.sh_addralign > kMaxSectionAlign || (h.sh_addralign & (h.sh_addralign - 1)) != 0) {
      return damaged("section {} has alignment {}", i, h.sh_addralign);
    }
    if (h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL) {
      if (!is_inside(h.sh_offset, h.sh_size, bytes.size()))
        return damaged("section {} lies outside the file", i);
      section.contents = bytes.subspan(h.sh_offset, h.sh_size);
    }
    sections_.push_back(section);
  }
  return {};
}

Result<void> ElfObject::read_symbols(uint32_t table) {
  const Section& section = sections_[table];
  if (section.header.sh_entsize != sizeof(Elf64_Sym) ||
      section.contents.size() % sizeof(Elf64_Sym) != 0) {
    return damaged("has a symbol table of odd size");
  }
  if (section.header.sh_link >= sections_.size() ||
      sections_[section.header.sh_link].header.sh_type != SHT_STRTAB) {
    return damaged("has a symbol table without names");
  }
  const auto names = sections_[section.header.sh_link].contents;
  if (names.empty() || names.back() != std::byte{0})
    return damaged("has symbol names without an end");
  for (size_t at = 0; at < section.contents.size(); at += sizeof(Elf64_Sym)) {
    Symbol symbol{read_at<Elf64_Sym>(section.contents, at), {}};
    if (symbol.entry.st_name >= names.size())
      return damaged("symbol {} has its name outside the file", symbols_.size());
    symbol.name = reinterpret_cast<const char*>(names.data()) + symbol.entry.st_name;
    const uint16_t where = symbol.entry.st_shndx;
    if (where != SHN_UNDEF && where < SHN_LORESERVE) {
      if (where >= sections_.size() || symbol.entry.st_value > sections_[where].header.sh_size) {
        return damaged("symbol '{}' lies outside its section", symbol.name);
      }
    }
    symbols_.push_back(symbol);
  }
  return {};
}

Result<void> ElfObject::read_relocations(uint32_t table) {
  const Section& section = sections_[table];
  if (section.header.sh_info >= sections_.size()) return damaged("relocations name no section");
  if (!sections_[section.header.sh_info].is_loaded()) return {};
  if (section.header.sh_entsize != sizeof(Elf64_Rela) ||
      section.contents.size() % sizeof(Elf64_Rela) != 0) {
    return damaged("has a relocation table of odd size");
  }
  for (size_t at = 0; at < section.contents.size(); at += sizeof(Elf64_Rela)) {
    const Relocation relocation{section.header.sh_info, read_at<Elf64_Rela>(section.contents, at)};
    if (ELF64_R_SYM(relocation.entry.r_info) >= symbols_.size())
      return damaged("a relocation names no symbol");
    relocations_.push_back(relocation);
  }
  return {};
}

}  // namespace sluice
