#include "runtime/executor/arena.h"

#include <sys/mman.h>

#include <algorithm>

#include "common/base/memory.h"

namespace sluice {
namespace {

uint64_t whole_pages(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

Result<Arena> Arena::allocate(uint64_t bytes) {
  constexpr uint64_t kHuge = uint64_t{2} << 20;
  const uint64_t alignment = bytes >= kHuge ? kHuge : 4096;
  const uint64_t mapped = std::max<uint64_t>(bytes, 64) + (alignment == kHuge ? kHuge : 0);
  void* memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return memory_error(bytes, "a run");
  Arena arena;
  const uint64_t address = reinterpret_cast<uint64_t>(memory);
  const uint64_t before = (alignment - address % alignment) % alignment;
  arena.data_ = static_cast<std::byte*>(memory) + before;
  const uint64_t kept = whole_pages(mapped - (alignment == kHuge ? kHuge : 0));
  if (before > 0)
    ::munmap(memory, before);  // what was mapped for the alignment alone counts against limits
  if (whole_pages(mapped) > before + kept)
    ::munmap(arena.data_ + kept, whole_pages(mapped) - before - kept);
  arena.owner_ = std::shared_ptr<void>(arena.data_, [kept](void* begin) { ::munmap(begin, kept); });
  arena.size_ = bytes;
  if (alignment == kHuge)
    ::madvise(arena.data_, bytes, MADV_HUGEPAGE);  // only advice: failing changes nothing
  return arena;
}

}  // namespace sluice
