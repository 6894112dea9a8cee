#include "common/passes_host/pass_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "common/passes_host/inherited_hosts.h"

namespace sluice {
namespace {

TEST(PassFile, OptionNamesPointAndFile) {
  const auto option = parse_pass_option("before-build=/mine/p=1.py");
  ASSERT_TRUE(option.ok());
  EXPECT_EQ(option->point->stage, "build");
  EXPECT_EQ(option->path, "/mine/p=1.py");
  EXPECT_EQ(option->name, "p=1.py");
  for (const char* wrong : {"", "before-build", "before-build=", "nowhere=/p", "=/p",
                            "before-build=/a,b", "before-build=/a@b", "before-build=/a b"})
    EXPECT_EQ(parse_pass_option(wrong).error().code, ErrorCode::kBadOption) << wrong;
}

TEST(PassFile, ArtifactBringsTheFilesBack) {
  const TestFolder folder;
  ASSERT_TRUE(make_directories(folder.file("from/lib")).ok());
  ASSERT_TRUE(write_text(folder.file("from/p.py"), "import lib.a\n").ok());
  ASSERT_TRUE(write_text(folder.file("from/lib/a.py"), "").ok());
  PassFile pass;
  pass.option.path = folder.file("from/p.py");
  pass.files = {folder.file("from/p.py"), folder.file("from/lib/a.py")};
  const auto packed = pack_pass(pass);
  ASSERT_TRUE(packed.ok());
  ASSERT_TRUE(unpack_pass(*packed, folder.file("to")).ok());
  EXPECT_EQ(*read_text(folder.file("to/p.py")), "import lib.a\n");
  EXPECT_EQ(*read_text(folder.file("to/lib/a.py")), "");
}

TEST(PassFile, HostileArtifactsWriteNothingOutside) {
  const TestFolder folder;
  for (const std::string wrong : {"", "1 - a", "1 - ../a\n\nx", "1 - /a\n\nx", "2 - a\n\nx",
                                  "0 - a\n\nx", "1 - a/../../b\n\nx"})
    EXPECT_FALSE(unpack_pass(std::as_bytes(std::span(wrong)), folder.file("to")).ok()) << wrong;
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
}

TEST(InheritedHosts, TextIsReadBack) {
  const InheritedHosts hosts{3, 4, -1, -1, {{"a=b.py", "12"}, {"c", "34"}}};
  const auto read = parse_inherited(print_inherited(hosts));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->programs_from, 4);
  EXPECT_EQ(read->code_to, -1);
  EXPECT_EQ(read->digests, hosts.digests);
  EXPECT_FALSE(parse_inherited("3,4").ok());
  EXPECT_FALSE(parse_inherited("3,4,5,6;x").ok());
}

}  // namespace
}  // namespace sluice
