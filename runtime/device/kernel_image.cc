#include "runtime/device/kernel_image.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "common/base/memory.h"
#include "runtime/device/elf_object.h"

namespace sluice {
namespace {

constexpr size_t kNotLoaded = std::numeric_limits<size_t>::max();
constexpr size_t kMaxImageBytes = size_t{1}
                                  << 31;  // so that every PC-relative distance fits into 32 bits
constexpr size_t kKernelAlign = 64;

struct PlacedObject {
  ElfObject object;
  std::vector<size_t> offsets;  // of each section in the mapping, or kNotLoaded
};

template <typename... Args>
Error bad(fmt::format_string<Args...> format, Args&&... args) {
  return Error{ErrorCode::kBadCompiledModel,
               "kernel object: " + fmt::format(format, std::forward<Args>(args)...),
               {},
               {}};
}

size_t align_up(size_t value, size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Assigns every loaded section a place after `end` and advances `end`.
Result<PlacedObject> place(ElfObject object, size_t& end) {
  PlacedObject placed{std::move(object), {}};
  for (const ElfObject::Section& section : placed.object.sections()) {
    if (!section.is_loaded()) {
      placed.offsets.push_back(kNotLoaded);
      continue;
    }
    if ((section.header.sh_flags & SHF_WRITE) != 0 && section.header.sh_size > 0)
      return bad("has writable data");
    const size_t alignment = std::max<size_t>(
        section.header.sh_addralign, section.header.sh_flags & SHF_EXECINSTR ? kKernelAlign : 1);
    const size_t offset = align_up(end, alignment);
    placed.offsets.push_back(offset);
    end = offset + section.header.sh_size;
    if (end > kMaxImageBytes) return bad("all kernels together exceed {} bytes", kMaxImageBytes);
  }
  return placed;
}

// Returns the offset of a symbol in the mapping.
Result<size_t> symbol_offset(const PlacedObject& placed, const ElfObject::Symbol& symbol) {
  const uint16_t where = symbol.entry.st_shndx;
  if (!symbol.is_defined()) return bad("symbol '{}' is not defined", symbol.name);
  if (where >= placed.offsets.size() || placed.offsets[where] == kNotLoaded) {
    return bad("symbol '{}' lies in no loaded section", symbol.name);
  }
  return placed.offsets[where] + symbol.entry.st_value;
}

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

Result<void> relocate(const PlacedObject& placed, const ElfObject::Relocation& relocation,
                      std::byte* base) {
  const ElfObject::Section& section = placed.object.sections()[relocation.section];
  const uint64_t type = ELF64_R_TYPE(relocation.entry.r_info);
  if (type == R_X86_64_NONE) return {};
  const size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
  const uint64_t at = relocation.entry.r_offset;
  if (section.contents.size() < width || at > section.contents.size() - width)
    return bad("a relocation lies outside its section");
  SLUICE_ASSIGN(
      const size_t target,
      symbol_offset(placed, placed.object.symbols()[ELF64_R_SYM(relocation.entry.r_info)]));
  const size_t place = placed.offsets[relocation.section] + at;
  // Unsigned arithmetic: a damaged addend wraps around and is then reported or harmless, never
  // undefined behaviour.
  const uint64_t value = uint64_t{target} + static_cast<uint64_t>(relocation.entry.r_addend);
  const int64_t distance = static_cast<int64_t>(value - place);
  switch (type) {
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      if (distance != static_cast<int32_t>(distance)) return bad("a relocation reaches too far");
      store(base + place, static_cast<int32_t>(distance));
      return {};
    case R_X86_64_PC64:
      store(base + place, distance);
      return {};
    case R_X86_64_64:
      store(base + place, reinterpret_cast<uint64_t>(base) + value);
      return {};
    default:
      return bad("has a relocation of unknown type {}", type);
  }
}

void copy_sections(const PlacedObject& placed, std::byte* base) {
  for (size_t i = 0; i < placed.offsets.size(); ++i) {
    const auto contents = placed.object.sections()[i].contents;
    if (placed.offsets[i] != kNotLoaded && !contents.empty())
      std::memcpy(base + placed.offsets[i], contents.data(), contents.size());
  }
}

}  // namespace

Result<KernelImage> KernelImage::load(std::span<const std::span<const std::byte>> objects) {
  std::vector<PlacedObject> all;
  KernelImage image;
  size_t end = 0;
  for (const auto bytes : objects) {
    SLUICE_ASSIGN(ElfObject object, ElfObject::parse(bytes));
    SLUICE_ASSIGN(PlacedObject placed, place(std::move(object), end));
    for (const ElfObject::Symbol& symbol : placed.object.symbols()) {
      if (!symbol.is_global_function()) continue;
      SLUICE_ASSIGN(const size_t offset, symbol_offset(placed, symbol));
      if (!image.functions_.emplace(symbol.name, offset).second)
        return bad("function '{}' is defined twice", symbol.name);
    }
    all.push_back(std::move(placed));
  }
  if (end == 0) return image;
  const size_t size = align_up(end, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return memory_error(size, "the generated kernels");
  image.base_ = static_cast<std::byte*>(memory);
  image.size_ = size;
  for (const PlacedObject& placed : all) {
    copy_sections(placed, image.base_);
    for (const ElfObject::Relocation& relocation : placed.object.relocations())
      SLUICE_TRY(relocate(placed, relocation, image.base_));
  }
  if (mprotect(image.base_, size, PROT_READ | PROT_EXEC) != 0) {
    return make_error(ErrorCode::kLimit, "{} bytes of kernels cannot be made executable: {}", size,
                      std::strerror(errno))
        .with_hint(
            "a policy of the system may forbid it (SELinux: execmem), or a limit on mappings "
            "(vm.max_map_count)");
  }
  return image;
}

KernelImage::KernelImage(KernelImage&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      functions_(std::move(other.functions_)) {}

KernelImage& KernelImage::operator=(KernelImage&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  std::swap(functions_, other.functions_);
  return *this;
}

KernelImage::~KernelImage() {
  if (base_) munmap(base_, size_);
}

KernelFunction KernelImage::find(std::string_view entry) const {
  const auto found = functions_.find(entry);
  if (found == functions_.end()) return nullptr;
  return reinterpret_cast<KernelFunction>(base_ + found->second);
}

}  // namespace sluice
