#include "runtime/executor/memory_pool.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

#include "common/base/memory.h"

namespace sluice {

MemoryPool::~MemoryPool() {
  give_back_idle();
  for (void* slab : slabs_) system_->deallocate(slab, kSlabBytes, kAlignment);
}

MemoryCounters MemoryPool::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

size_t MemoryPool::piece_bytes(size_t bytes) {
  if (bytes > SIZE_MAX / 4) throw std::bad_alloc();
  if (bytes > kMaxCut) return std::bit_ceil(bytes);
  const size_t step = std::max(kAlignment, std::bit_ceil(std::max<size_t>(bytes, 1)) / 8);
  return (std::max<size_t>(bytes, 1) + step - 1) / step * step;
}

void* MemoryPool::do_allocate(size_t bytes, [[maybe_unused]] size_t alignment) {
  assert(alignment <= kAlignment);
  const size_t piece = piece_bytes(bytes);
  const std::lock_guard lock(mutex_);
  void* memory = take(piece);
  counters_.used_bytes += piece;
  counters_.max_used_bytes = std::max(counters_.max_used_bytes, counters_.used_bytes);
  return memory;
}

void MemoryPool::do_deallocate(void* memory, size_t bytes, size_t) {
  const size_t piece = piece_bytes(bytes);
  const std::lock_guard lock(mutex_);
  Free*& first = free_[piece];  // it exists since the piece was taken
  first = new (memory) Free{first};
  counters_.used_bytes -= piece;
}

void* MemoryPool::take(size_t piece) {
  Free*& first = free_.try_emplace(piece, nullptr).first->second;
  if (first == nullptr) return piece > kMaxCut ? take_slab(piece) : cut(piece);
  Free* taken = first;
  first = taken->next;
  return taken;
}

// Cuts a piece from a slab. The remainder of a slab that is too short stays unused: less than a
// quarter of it.
void* MemoryPool::cut(size_t piece) {
  if (remainder_bytes_ < piece) {
    slabs_.reserve(slabs_.size() + 1);
    remainder_ = static_cast<std::byte*>(take_slab(kSlabBytes));
    remainder_bytes_ = kSlabBytes;
    slabs_.push_back(remainder_);
  }
  std::byte* memory = remainder_;
  remainder_ += piece;
  remainder_bytes_ -= piece;
  return memory;
}

void* MemoryPool::allocate_again(size_t bytes) {
  try {
    return system_->allocate(bytes, kAlignment);
  } catch (const std::bad_alloc&) {
    throw MemoryRanOut(bytes);
  }
}

void* MemoryPool::take_slab(size_t bytes) {
  void* memory = nullptr;
  try {
    memory = system_->allocate(bytes, kAlignment);
  } catch (const std::bad_alloc&) {
    give_back_idle();
    memory = allocate_again(bytes);
  }
  ++counters_.system_calls;
  ++counters_.held_slabs;
  counters_.held_bytes += bytes;
  return memory;
}

// Returns free pieces that are slabs of their own to the system.
void MemoryPool::give_back_idle() {
  for (auto entry = free_.upper_bound(kMaxCut); entry != free_.end(); ++entry) {
    while (entry->second != nullptr) {
      Free* idle = entry->second;
      entry->second = idle->next;
      system_->deallocate(idle, entry->first, kAlignment);
      --counters_.held_slabs;
      counters_.held_bytes -= entry->first;
    }
  }
}

}  // namespace sluice
