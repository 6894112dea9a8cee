#include "runtime/device/kernel_image.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "common/base/files.h"

namespace sluice {
namespace {

using Bytes = std::vector<std::byte>;

Bytes object_bytes(const char* path = SLUICE_TEST_KERNEL_OBJECT) {
  auto bytes = read_file(path);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : Bytes{};
}

Result<KernelImage> load_all(const std::vector<Bytes>& objects) {
  std::vector<std::span<const std::byte>> spans(objects.begin(), objects.end());
  return KernelImage::load(spans);
}

TEST(KernelImage, RunsCodeWithConstantsAndCalls) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "kernel objects are x86-64";
#endif
  auto image = load_all({object_bytes()});
  ASSERT_TRUE(image.ok()) << error_text(image.error());
  KernelFunction kernel = image->find("k_scale_by_table");
  ASSERT_NE(kernel, nullptr);
  float in[4] = {1, 2, 3, 4}, out[4] = {};
  void* pointers[] = {out, in};
  uint32_t fault = 0;
  const KernelArgs args{pointers, nullptr, nullptr, &fault};
  KernelImage moved = *std::move(image);
  for (uint32_t block = 0; block < 4; ++block) kernel(&args, block, 4);
  EXPECT_THAT(out, testing::ElementsAre(1, 20, 300, 4000));
  EXPECT_EQ(moved.find("k_absent"), nullptr);
  EXPECT_EQ(moved.find("k_scale_by_table"), kernel);
}

TEST(KernelImage, RunsCodeThatTellsOfAnIndexOutOfRange) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "kernel objects are x86-64";
#endif
  auto image = load_all({object_bytes()});
  ASSERT_TRUE(image.ok()) << error_text(image.error());
  KernelFunction kernel = image->find("k_pick");
  ASSERT_NE(kernel, nullptr);
  float x[4] = {1, 2, 3, 4}, y[2] = {};
  int64_t index[2] = {2, 4};
  void* pointers[] = {y, x, index};
  uint32_t fault = 0;
  const KernelArgs args{pointers, nullptr, nullptr, &fault};
  kernel(&args, 0, 2);
  EXPECT_EQ(fault, 0u);
  kernel(&args, 1, 2);
  EXPECT_NE(fault, 0u);
  EXPECT_THAT(y, testing::ElementsAre(3, 4));
}

TEST(KernelImage, NothingIsAnEmptyImage) {
  auto image = load_all({});
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->size(), 0u);
  EXPECT_EQ(image->find("k"), nullptr);
}

TEST(KernelImage, RefusesTheSameFunctionTwice) {
  auto image = load_all({object_bytes(), object_bytes()});
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, ErrorCode::kBadCompiledModel);
  EXPECT_THAT(image.error().message, testing::HasSubstr("'k_scale_by_table' is defined twice"));
}

TEST(KernelImage, RefusesObjectsThatAreNotClosed) {
  auto image = load_all({object_bytes(SLUICE_TEST_OPEN_OBJECT)});
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, ErrorCode::kBadCompiledModel);
  EXPECT_THAT(image.error().message, testing::HasSubstr("'sluice_test_elsewhere' is not defined"));
}

TEST(KernelImage, RefusesForeignObjects) {
  const Bytes whole = object_bytes();
  Bytes other = whole;
  other[18] = std::byte{183};  // e_machine: AArch64
  auto image = load_all({other});
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(image.error().message, testing::HasSubstr("machine 183"));
  image = load_all({Bytes(whole.begin(), whole.begin() + 40)});
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(image.error().message, testing::HasSubstr("truncated"));
  image = load_all({Bytes(200, std::byte{0})});
  ASSERT_FALSE(image.ok());
  EXPECT_THAT(image.error().message, testing::HasSubstr("not an ELF"));
}

TEST(KernelImage, EveryTruncationIsAnError) {
  const Bytes whole = object_bytes();
  for (size_t size = 0; size < whole.size(); size += 7) {  // the section headers are at the end
    auto image = load_all({Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))});
    EXPECT_FALSE(image.ok()) << size;
  }
}

// Damage may stay undetected (inside code), but never crashes the loader.
TEST(KernelImage, RandomDamageNeverCrashes) {
  const Bytes whole = object_bytes();
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = whole;
    const size_t flips = 1 + random() % 4;
    for (size_t i = 0; i < flips; ++i) {
      // Half of the damage is put into the headers, which the loader reads.
      const size_t at = random() % 2
                            ? random() % bytes.size()
                            : bytes.size() - 1 - random() % std::min<size_t>(bytes.size(), 900);
      bytes[at] = static_cast<std::byte>(random());
    }
    if (!load_all({bytes}).ok()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace sluice
