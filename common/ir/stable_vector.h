// A sequence that grows at its end and never moves its elements, in blocks that double. Elements
// that are visited in order are in order in memory, and the large blocks of a large graph are in
// huge pages where the system has them, so that a traversal waits neither for the next element's
// page nor for its address (with std::deque each Node would be a block of its own).
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

template <typename T>
class StableVector {
 public:
  template <typename Element>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Element*;
    using reference = Element&;
    Iterator() = default;
    Iterator(const StableVector* vector, size_t index) : vector_(vector), index_(index) { find(); }
    Element& operator*() const { return *at_; }
    Element* operator->() const { return at_; }
    Iterator& operator++() {
      ++index_;
      if (++at_ == block_end_) find();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    void find() {
      if (index_ >= vector_->size_) return;
      const size_t block = block_of(index_);
      at_ = vector_->blocks_[block] + (index_ - first_of(block));
      block_end_ = vector_->blocks_[block] + size_of(block);
    }
    const StableVector* vector_ = nullptr;
    size_t index_ = 0;
    Element* at_ = nullptr;
    Element* block_end_ = nullptr;
  };
  using iterator = Iterator<T>;
  using const_iterator = Iterator<const T>;

  StableVector() = default;
  StableVector(StableVector&& other) noexcept { swap(other); }
  StableVector& operator=(StableVector&& other) noexcept {
    StableVector(std::move(other)).swap(*this);
    return *this;
  }
  ~StableVector() {
    for (T& element : *this) element.~T();
    for (T* block : blocks_) std::free(block);
  }

  T& emplace_back() { return emplace_back(T()); }
  T& emplace_back(T&& element) {
    const size_t block = block_of(size_);
    if (block == blocks_.size()) add_block();
    T* place = blocks_[block] + (size_ - first_of(block));
    std::construct_at(place, std::move(element));
    ++size_;
    return *place;
  }

  size_t size() const { return size_; }
  T& operator[](size_t index) {
    return blocks_[block_of(index)][index - first_of(block_of(index))];
  }
  const T& operator[](size_t index) const {
    return blocks_[block_of(index)][index - first_of(block_of(index))];
  }
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size_}; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  void swap(StableVector& other) noexcept {
    blocks_.swap(other.blocks_);
    std::swap(size_, other.size_);
  }

 private:
  static constexpr size_t kFirst = 4;  // elements of block 0; block k has 2^k times as many
  static constexpr size_t kHugePage = size_t{2} << 20;

  static size_t block_of(size_t index) {
    return static_cast<size_t>(std::bit_width(index / kFirst + 1)) - 1;
  }
  static size_t first_of(size_t block) { return kFirst * ((size_t{1} << block) - 1); }
  static size_t size_of(size_t block) { return kFirst << block; }

  void add_block() {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    blocks_.reserve(blocks_.size() + 1);
    const size_t bytes = size_of(blocks_.size()) * sizeof(T);
    const bool huge = bytes >= kHugePage;
    const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* block = huge ? std::aligned_alloc(kHugePage, rounded) : std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    if (huge) ::madvise(block, rounded, MADV_HUGEPAGE);  // a hint that may fail
    blocks_.push_back(static_cast<T*>(block));
  }

  std::vector<T*> blocks_;
  size_t size_ = 0;
};

}  // namespace sluice
