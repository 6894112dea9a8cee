#include "common/omfile/weight_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "common/base/weights_place.h"
#include "common/omfile/external_weights.h"
#include "common/omfile/testing/model_builder.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::ModelBuilder;

std::vector<std::byte> filled(size_t bytes, int value) {
  std::vector<std::byte> made(bytes, static_cast<std::byte>(value));
  made.front() = std::byte{1};
  made.back() = std::byte{2};
  return made;
}

pb::ModelDef copying_model() {
  ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {1024});
  const uint32_t y = b.output("y", type), w = b.value("w0", type, pb::REGION_WEIGHTS, 4096);
  b.copy("copy", b.stream("s"), y, w);
  return b.model;
}

// A model with 100 bytes of weights inside, and three constants outside, the last one equal to the
// first.
class WeightRegionTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    model_.set_combined_weights(is_combined());
    for (size_t i = 0; i < contents_.size(); ++i) {
      const Digest digest = sha256(std::span<const std::byte>(contents_[i]));
      pb::ExternalWeightDef& weight = *model_.add_external_weights();
      weight.set_digest(digest.bytes.data(), digest.bytes.size());
      weight.set_bytes(contents_[i].size());
      weight.set_name(fmt::format("w{}", i));
    }
    ASSERT_TRUE(write_om(
        om_, model_,
        std::vector<OmSegment>{
            {.kind = pb::SEGMENT_WEIGHTS, .pieces = {{0, inside_}}, .bytes = inside_.size()}}));
    write_files();
  }

  bool is_combined() const { return GetParam(); }
  // The file that contains constant 1.
  std::string file() const {
    return is_combined() ? place_.combined_file()
                         : place_.shared_file(digest_of(model_.external_weights(1)));
  }

  void write_files() const {
    ASSERT_TRUE(make_directories(place_.folder));
    if (!is_combined()) {
      for (size_t i = 0; i < contents_.size(); ++i) {
        const Digest digest = digest_of(model_.external_weights(static_cast<int>(i)));
        ASSERT_TRUE(write_file(place_.shared_file(digest), contents_[i]));
      }
      return;
    }
    std::vector<std::byte> whole(kOmPage);
    std::memcpy(whole.data(), kCombinedMagic, sizeof(kCombinedMagic));
    const Digest digest = combined_digest(model_);
    std::memcpy(whole.data() + sizeof(kCombinedMagic), digest.bytes.data(), digest.bytes.size());
    for (const auto& content : contents_) {
      whole.resize((whole.size() + kOmPage - 1) / kOmPage * kOmPage);
      whole.insert(whole.end(), content.begin(), content.end());
    }
    ASSERT_TRUE(write_file(place_.combined_file(), whole));
  }

  Result<WeightRegion> map(const WeightsPath& path, bool is_copy = false) const {
    auto bytes = OmBytes::open(om_);
    if (is_copy) bytes = OmBytes::copy(*read_file(om_));
    SLUICE_ASSIGN(const OmFile om, read_om(*bytes, {.test_tasks = true}));
    return WeightRegion::map(om, path);
  }
  Result<WeightRegion> map() const { return map({.model = om_, .given = {}}); }

  void expect_content(const WeightRegion& region) const {
    ASSERT_EQ(region.bytes().size(), kOmPage + 8192 + 8192 + 4096);
    const std::vector<std::pair<size_t, std::span<const std::byte>>> places = {
        {0, inside_}, {4096, contents_[0]}, {8192, contents_[1]}, {20480, contents_[2]}};
    for (const auto& [offset, content] : places) {
      const auto found = region.bytes().subspan(offset, content.size());
      EXPECT_TRUE(std::ranges::equal(found, content)) << "at " << offset;
    }
    EXPECT_EQ(region.bytes()[8192 + 8193], std::byte{0}) << "the page goes on with zeros";
  }

  Error error_of(const Result<WeightRegion>& region) const {
    EXPECT_FALSE(region);
    return region ? Error() : region.error();
  }

  const TestFolder folder_;
  const std::string om_ = folder_.file("model.om");
  const WeightsPlace place_ = weights_place(om_);
  const std::vector<std::byte> inside_ = filled(100, 7);
  const std::vector<std::vector<std::byte>> contents_ = {filled(4096, 3), filled(8193, 4),
                                                         filled(4096, 3)};
  pb::ModelDef model_ = copying_model();
};

INSTANTIATE_TEST_SUITE_P(Kinds, WeightRegionTest, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Combined" : "Shared");
});

// Returns the path of the file that an address is mapped from.
std::string mapped_file(const std::byte* address) {
  const std::string maps = *read_text("/proc/self/maps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (size_t begin = 0, end = 0; begin < maps.size(); begin = end + 1) {
    end = maps.find('\n', begin);
    const std::string line = maps.substr(begin, end - begin);
    uintptr_t low = 0, high = 0;
    char mode[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &low, &high, mode) != 3 || wanted < low ||
        wanted >= high)
      continue;
    EXPECT_STREQ(mode, "r--p");
    return line.substr(std::min(line.find('/'), line.size()));
  }
  return {};
}

size_t open_files() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

TEST_P(WeightRegionTest, MapsSegmentAndFiles) {
  const size_t before = open_files();
  const auto region = map();
  ASSERT_TRUE(region) << error_text(region.error());
  expect_content(*region);
  EXPECT_TRUE(region->check_digests());
  EXPECT_EQ(mapped_file(region->bytes().data()), om_);
  EXPECT_EQ(mapped_file(region->bytes().data() + 8192), file());
  EXPECT_EQ(mapped_file(region->bytes().data() + 20480 + 4095),
            is_combined() ? file() : place_.shared_file(digest_of(model_.external_weights(0))));
  EXPECT_EQ(open_files(), before);
}

TEST_P(WeightRegionTest, FilesMayBeRemovedWhileTheyAreMapped) {
  const auto region = map();
  ASSERT_TRUE(region);
  std::filesystem::remove_all(place_.folder);
  expect_content(*region);
}

TEST_P(WeightRegionTest, CopiesTheSegmentOfAModelWithoutAFile) {
  const auto region = map({.model = om_, .given = {}}, true);
  ASSERT_TRUE(region) << error_text(region.error());
  expect_content(*region);
}

TEST_P(WeightRegionTest, MissingFileIsNamed) {
  std::filesystem::remove(file());
  const Error error = error_of(map());
  EXPECT_EQ(error.code, ErrorCode::kMissingSegment);
  EXPECT_THAT(error.message, HasSubstr(is_combined() ? "'w0'" : "'w1'"));
  EXPECT_THAT(error.message, HasSubstr(file()));
  EXPECT_THAT(error.hint, HasSubstr("--weights DIR"));
}

TEST_P(WeightRegionTest, FilesOfOtherSizesAreRefused) {
  const auto size = std::filesystem::file_size(file());
  for (const auto wrong : {size - 1, size + 1, size - size}) {
    std::filesystem::resize_file(file(), wrong);
    const Error error = error_of(map());
    EXPECT_EQ(error.code, ErrorCode::kBadCompiledModel);
    EXPECT_THAT(error.message, HasSubstr(fmt::format("has {} bytes, expected {}", wrong, size)));
  }
}

TEST_P(WeightRegionTest, WhatIsNoRegularFileIsRefused) {
  std::filesystem::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_THAT(error_of(map()).message, HasSubstr("is no regular file"));
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_THAT(error_of(map()).message, HasSubstr("is no regular file"));
}

TEST_P(WeightRegionTest, OtherBytesAreFoundByDigest) {
  auto bytes = *read_file(file());
  bytes[is_combined() ? 8192 + 10 : 10] ^= std::byte{1};
  ASSERT_TRUE(write_file(file(), bytes));
  const auto region = map();
  ASSERT_TRUE(region);
  const auto checked = region->check_digests();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kBadCompiledModel);
  for (const std::string& part : {std::string("constant 'w1' (sha256:"), file(),
                                  digest_hex(digest_of(model_.external_weights(1))).substr(0, 16)})
    EXPECT_THAT(checked.error().message, HasSubstr(part));
}

TEST_P(WeightRegionTest, PlacesThatAreGiven) {
  const std::string moved = folder_.file("moved");
  std::filesystem::rename(place_.folder, moved);
  EXPECT_EQ(error_of(map()).code, ErrorCode::kMissingSegment);
  const auto given = map({.model = om_, .given = moved});
  ASSERT_TRUE(given) << error_text(given.error());
  expect_content(*given);
  const auto unnamed = map({.model = "-", .given = moved});
  const std::string itself = moved + "/model_weight_combined";
  if (is_combined()) {
    EXPECT_THAT(error_of(unnamed).message, HasSubstr("standard input has no name"));
    const auto by_file = map({.model = {}, .given = itself});
    ASSERT_TRUE(by_file) << error_text(by_file.error());
    expect_content(*by_file);
    EXPECT_THAT(error_of(map({.model = "-", .given = itself + "!"})).message,
                HasSubstr(itself + "!"));
  } else {
    ASSERT_TRUE(unnamed) << error_text(unnamed.error());
    expect_content(*unnamed);
  }
  const Error none = error_of(map({.model = "-", .given = {}}));
  EXPECT_THAT(none.message, HasSubstr("standard input has no folder"));
}

TEST_P(WeightRegionTest, CombinedFileOfAnotherModelIsRefused) {
  if (!is_combined()) return;
  auto bytes = *read_file(file());
  for (const size_t at : {size_t{0}, sizeof(kCombinedMagic), sizeof(CombinedHeader) - 1}) {
    bytes[at] ^= std::byte{1};
    ASSERT_TRUE(write_file(file(), bytes));
    EXPECT_THAT(error_of(map()).message, HasSubstr("another model"));
    bytes[at] ^= std::byte{1};
  }
}

TEST(ExternalWeights, SizesAndDigestsAreVerified) {
  const auto fault_of = [](uint64_t bytes, size_t digest_bytes) {
    pb::ModelDef model;
    for (int i = 0; i < 2; ++i) {
      pb::ExternalWeightDef& weight = *model.add_external_weights();
      weight.set_bytes(i == 0 ? 5000 : bytes);
      weight.set_digest(std::string(i == 0 ? 32 : digest_bytes, 'd'));
    }
    const auto verified = verify_external_weights(model);
    return verified ? fmt::format("{}", weights_bytes(model)) : verified.error().message;
  };
  EXPECT_EQ(fault_of(1, 32), "8193");
  EXPECT_EQ(fault_of(kOmArenaLimit - 8192, 32), fmt::format("{}", kOmArenaLimit));
  for (const uint64_t wrong : {uint64_t{0}, kOmArenaLimit - 8191, UINT64_MAX, UINT64_MAX - 8191}) {
    EXPECT_EQ(fault_of(wrong, 32),
              fmt::format("external weight 1 has an impossible number of bytes: {}", wrong));
  }
  EXPECT_EQ(fault_of(1, 31), "external weight 1 has a digest of bytes: 31");
}

TEST(ExternalWeights, ValuesLieWithinTheRegion) {
  const auto opens = [](uint64_t offset) {
    ModelBuilder b;
    const uint32_t type = b.type(DType::kF32, {1024});
    const uint32_t y = b.output("y", type), w = b.value("w", type, pb::REGION_WEIGHTS, offset);
    b.copy("copy", b.stream("s"), y, w);
    pb::ExternalWeightDef& weight = *b.model.add_external_weights();
    weight.set_bytes(8192);
    weight.set_digest(std::string(32, 'd'));
    const std::vector<std::byte> inside(64);
    const auto om = testing::om_bytes(
        b.model, {{.kind = pb::SEGMENT_WEIGHTS, .pieces = {{0, inside}}, .bytes = 64}});
    return read_om(OmBytes::copy(om).value(), {}).ok();
  };
  EXPECT_TRUE(opens(4096));
  EXPECT_TRUE(opens(8192));
  EXPECT_FALSE(opens(8192 + 64));
  EXPECT_FALSE(opens(1 << 20));
}

}  // namespace
}  // namespace sluice
