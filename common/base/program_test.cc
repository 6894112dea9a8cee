#include "common/base/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "common/base/files.h"
#include "common/base/memory.h"
#include "common/base/testing/test_folder.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

TEST(BeginProgram, ClosedStreamsCannotBeUsed) {
  EXPECT_EXIT(
      {
        for (int fd = 0; fd <= 1; ++fd) ::close(fd);
        begin_program();
        char byte = 0;
        const bool reads = ::read(0, &byte, 1) >= 0;
        const bool writes = ::write(1, &byte, 1) >= 0;
        const int next = ::open("/dev/null", O_RDONLY);
        ::_exit(!reads && !writes && next > 2 ? 0 : 3);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(BeginProgram, AFileAtItsLimitIsAnError) {
  const TestFolder test_folder;
  const fs::path folder = test_folder.path();
  EXPECT_EXIT(
      {
        begin_program();
        rlimit limit{};
        limit.rlim_cur = limit.rlim_max = 100;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const Result<void> written = write_text((folder / "file").string(), std::string(1000, 'x'));
        ::_exit(written ? 3 : static_cast<int>(exit_class(written.error().code)));
      },
      ::testing::ExitedWithCode(5), "");
  EXPECT_TRUE(fs::is_empty(folder));
}

int grow_stack_under(rlim_t bytes) {
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = bytes;
  ::setrlimit(RLIMIT_STACK, &limit);
  const Result<void> grown = grow_stack();
  return grown ? 0 : static_cast<int>(exit_class(grown.error().code));
}

TEST(GrowStack, KeepsToTheLimit) {
  EXPECT_EXIT(::_exit(grow_stack_under(1 << 20)), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(::_exit(grow_stack_under(1 << 18)), ::testing::ExitedWithCode(5), "");
}

TEST(PrintText, TellsAnErrorOfWriting) {
  EXPECT_EXIT(
      {
        ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
        ::_exit(print_text("sluice-test", "text"));
      },
      ::testing::ExitedWithCode(5), "sluice-test: error SL1007");
}

TEST(BehindLinks, FollowsLinksToWhatMayNotExist) {
  const TestFolder test_folder;
  const fs::path folder = test_folder.path();
  fs::create_directory(folder / "deep");
  fs::create_symlink("deep/second", folder / "first");
  fs::create_symlink("file", folder / "deep/second");
  EXPECT_EQ(behind_links((folder / "first").string()), (folder / "deep/file").string());
  EXPECT_EQ(behind_links("plain"), "plain");
  fs::create_symlink("circle", folder / "circle");
  EXPECT_EQ(behind_links((folder / "circle").string()), (folder / "circle").string());
  ASSERT_TRUE(write_text((folder / "first").string(), "text"));
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_EQ(*read_text((folder / "deep/file").string()), "text");
}

TEST(CheckOutput, RefusesTheInputByAnyName) {
  const TestFolder test_folder;
  const fs::path folder = test_folder.path();
  const std::string input = (folder / "input").string();
  ASSERT_TRUE(write_text(input, "text"));
  fs::create_hard_link(input, folder / "hard");
  fs::create_symlink("input", folder / "soft");
  for (const char* name : {"input", "hard", "soft"}) {
    const auto refused = check_output_is_no_input((folder / name).string(), input);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadOption);
  }
  for (const char* output : {"-", "/dev/null", "absent"})
    EXPECT_TRUE(check_output_is_no_input(output, input)) << output;
}

}  // namespace
}  // namespace sluice
