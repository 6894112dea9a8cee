#include "runtime/executor/arena.h"

#include <sys/mman.h>

#include <algorithm>

namespace sluice {

Result<Arena> Arena::allocate(uint64_t bytes) {
  constexpr uint64_t kHuge = uint64_t{2} << 20;
  const uint64_t alignment = bytes >= kHuge ? kHuge : 4096;
  const uint64_t mapped = std::max<uint64_t>(bytes, 64) + (alignment == kHuge ? kHuge : 0);
  void* memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return make_error(ErrorCode::kLimit, "no memory for {} bytes of a run", bytes);
  Arena arena;
  arena.owner_ = std::shared_ptr<void>(memory, [mapped](void* address) { ::munmap(address, mapped); });
  const uint64_t address = reinterpret_cast<uint64_t>(memory);
  arena.data_ = static_cast<std::byte*>(memory) + (alignment - address % alignment) % alignment;
  arena.size_ = bytes;
  if (alignment == kHuge) ::madvise(arena.data_, bytes, MADV_HUGEPAGE);  // only advice: failing changes nothing
  return arena;
}

}  // namespace sluice
