// A checked view of one ELF64 x86-64 relocatable object. Every offset, index and size is verified
// against the bytes before use.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace sluice {

class ElfObject {
 public:
  // The bytes must outlive the object.
  static Result<ElfObject> parse(std::span<const std::byte> bytes);

  struct Section {
    Elf64_Shdr header;
    std::span<const std::byte> contents;  // empty for SHT_NOBITS
    bool is_loaded() const { return (header.sh_flags & SHF_ALLOC) != 0; }
  };
  struct Symbol {
    Elf64_Sym entry;
    std::string_view name;
    bool is_defined() const { return entry.st_shndx != SHN_UNDEF; }
    bool is_global_function() const {
      return ELF64_ST_BIND(entry.st_info) == STB_GLOBAL &&
             ELF64_ST_TYPE(entry.st_info) == STT_FUNC && is_defined();
    }
  };
  struct Relocation {
    uint32_t section;  // that is patched
    Elf64_Rela entry;  // r_offset is within the section, the symbol index within symbols()
  };

  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const std::vector<Relocation>& relocations() const {
    return relocations_;
  }  // of loaded sections only

 private:
  Result<void> read_sections(std::span<const std::byte> bytes);
  Result<void> read_symbols(uint32_t table);
  Result<void> read_relocations(uint32_t table);

  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::vector<Relocation> relocations_;
};

}  // namespace sluice
