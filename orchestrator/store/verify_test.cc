#include "orchestrator/store/verify.h"

#include "gmock/gmock.h"
#include "orchestrator/store/content.h"
#include "orchestrator/store/testing/store_folder.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VerifyStoreTest : public StoreFolderTest {
 protected:
  std::vector<std::string> faults(bool deletes = false) const {
    const auto found = find_faults(path_, deletes);
    EXPECT_TRUE(found.ok());
    return found ? found->damaged : std::vector<std::string>{"none"};
  }
};

TEST_F(VerifyStoreTest, AWholeStoreHasNoFaults) {
  keep("a"), keep("b"), keep_artifact("constant");
  const auto found = find_faults(path_, true);
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->damaged, IsEmpty());
  EXPECT_THAT(found->missing, IsEmpty());
  EXPECT_EQ(found->artifacts, 3u);
  EXPECT_EQ(found->records, 2u);
}

TEST_F(VerifyStoreTest, AFlippedBitIsFound) {
  const Kept kept = keep("a"), other = keep("b");
  std::string bytes = read_text(artifact(kept.artifact)).value();
  bytes[50] = static_cast<char>(bytes[50] ^ 1);
  ASSERT_TRUE(write_text(artifact(kept.artifact), bytes).ok());
  const auto is_damaged = AllOf(HasSubstr(artifact(kept.artifact)), HasSubstr("is damaged"));
  EXPECT_THAT(faults(), ElementsAre(is_damaged));
  EXPECT_TRUE(has(kept));
  EXPECT_THAT(faults(true), ElementsAre(is_damaged));
  EXPECT_FALSE(exists(artifact(kept.artifact)));
  EXPECT_TRUE(has(other));
  EXPECT_THAT(faults(), IsEmpty());
}

TEST_F(VerifyStoreTest, ADamagedRecordIsFound) {
  const Kept kept = keep("a");
  std::string text = read_text(record(kept.key)).value();
  text[30] = static_cast<char>(text[30] ^ 1);
  ASSERT_TRUE(write_text(record(kept.key), text).ok());
  EXPECT_THAT(faults(true), ElementsAre(AllOf(HasSubstr(record(kept.key)), HasSubstr("damaged"))));
  EXPECT_FALSE(exists(record(kept.key)));
  EXPECT_TRUE(exists(artifact(kept.artifact)));
}

TEST_F(VerifyStoreTest, ARecordUnderAnotherKeyIsDamaged) {
  const Kept kept = keep("a"), other = keep("b");
  ASSERT_TRUE(write_text(record(kept.key), read_text(record(other.key)).value()).ok());
  EXPECT_THAT(faults(), ElementsAre(HasSubstr(record(kept.key))));
}

TEST_F(VerifyStoreTest, AMissingArtifactIsToldAndNoDamage) {
  const Kept kept = keep("a");
  std::filesystem::remove(artifact(kept.artifact));
  const auto found = find_faults(path_, true);
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->damaged, IsEmpty());
  EXPECT_THAT(found->missing, ElementsAre(AllOf(HasSubstr(record(kept.key)), HasSubstr("(kernel)"),
                                                HasSubstr(digest_hex(kept.artifact)))));
  EXPECT_TRUE(exists(record(kept.key)));
}

TEST_F(VerifyStoreTest, ReadingIsNoUse) {
  const Kept kept = keep("a", 3);
  faults();
  EXPECT_LT(*find_use(artifact(kept.artifact), now_ns()), now_ns() - 2 * kDayInNs);
}

}  // namespace
}  // namespace sluice
