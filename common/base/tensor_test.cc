#include "common/base/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace sluice {
namespace {

// Hands out one piece of memory whose bytes are not zero.
class Dirty : public std::pmr::memory_resource {
 public:
  Dirty() { bytes_.fill(std::byte{0xab}); }

 private:
  void* do_allocate(size_t, size_t) override { return bytes_.data(); }
  void do_deallocate(void*, size_t, size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  alignas(64) std::array<std::byte, 128> bytes_;
};

bool holds_only(const Tensor& tensor, std::byte byte) {
  return tensor.bytes.size() == 24 && std::all_of(tensor.bytes.begin(), tensor.bytes.end(),
                                                  [byte](std::byte at) { return at == byte; });
}

TEST(Tensor, IsZerosUnlessItIsSaidToBeUnfilled) {
  Dirty memory;
  const UseTensorMemory use(&memory);
  EXPECT_TRUE(holds_only(make_unfilled_tensor(DType::kF32, {2, 3}), std::byte{0xab}));
  EXPECT_TRUE(holds_only(make_tensor(DType::kF32, {2, 3}), std::byte{0}));
}

}  // namespace
}  // namespace sluice
