#include "common/base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;

constexpr char kUsage[] = R"(Does a thing.

Usage:
  thing [options] [--dim=DIM]... [<in>]
  thing (--help | --version)

Options:
  -o FILE        Output [default: -].
  --threads=N    Threads.
  --dim=DIM      A dimension.
  -q, --quiet    Say nothing.
  --help         Print this.
  --version      Print the version.
)";

Result<CommandLine> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "thing");
  return CommandLine::parse(kUsage, static_cast<int>(arguments.size()), arguments.data());
}

TEST(CommandLine, ValuesFlagsAndDefaults) {
  const CommandLine line = *parse({"--dim", "a=1", "in.onnx", "--dim=b=2", "-q"});
  EXPECT_EQ(line.request(), CommandLine::Request::kRun);
  EXPECT_EQ(line.text("-o"), "-");
  EXPECT_EQ(line.text("<in>"), "in.onnx");
  EXPECT_THAT(line.list("--dim"), ElementsAre("a=1", "b=2"));
  EXPECT_TRUE(line.flag("--quiet"));
  EXPECT_FALSE(line.has("--threads"));
  EXPECT_EQ(parse({"-"})->text("<in>"), "-");
  EXPECT_FALSE(parse({})->has("<in>"));
}

TEST(CommandLine, NothingIsAnOptionBehindTwoDashes) {
  EXPECT_EQ(parse({"-q", "--", "in.onnx"})->text("<in>"), "in.onnx");
  const CommandLine line = *parse({"--", "--threads"});
  EXPECT_EQ(line.text("<in>"), "--threads");
  EXPECT_FALSE(line.has("--threads"));
}

TEST(CommandLine, HelpAndVersion) {
  EXPECT_EQ(parse({"--help"})->request(), CommandLine::Request::kHelp);
  EXPECT_EQ(parse({"--version"})->request(), CommandLine::Request::kVersion);
}

TEST(CommandLine, OptionsCanBeGivenFromElsewhere) {
  CommandLine line = *parse({"--threads=2"});
  EXPECT_TRUE(line.knows("--dim"));
  EXPECT_FALSE(line.knows("--dims"));
  line.give("--threads", "4");
  line.give("--quiet", "");
  EXPECT_THAT(line.list("--threads"), ElementsAre("4"));
  EXPECT_TRUE(line.flag("--quiet"));
}

TEST(CommandLine, WrongArgumentsAreUsageErrors) {
  for (const std::vector<const char*>& wrong :
       {std::vector<const char*>{"--nothing"}, {"a", "b"}, {"--threads"}, {"-o"}}) {
    const Result<CommandLine> line = parse(wrong);
    ASSERT_FALSE(line.ok()) << wrong.front();
    EXPECT_EQ(line.error().code, ErrorCode::kUsage);
    EXPECT_FALSE(line.error().message.empty());
  }
}

TEST(CommandLine, EmptyValuesAreRefused) {
  for (const std::vector<const char*>& wrong : {std::vector<const char*>{"--threads="},
                                                {"--threads=", "in.onnx"},
                                                {"--dim=a=1", "--dim=", "b=2"}}) {
    const Result<CommandLine> line = parse(wrong);
    ASSERT_FALSE(line.ok()) << wrong.front();
    EXPECT_EQ(line.error().code, ErrorCode::kBadOption) << line.error().message;
  }
  EXPECT_EQ(parse({"--threads", "", "in.onnx"}).error().message, "--threads requires an argument");
}

TEST(CommandLine, WrongArgumentsAreNamed) {
  const char* const alone[] = {"thing"};
  EXPECT_EQ(CommandLine::parse("Usage:\n  thing <in>\n\n", 1, alone).error().message,
            "no argument is given; expected\n  thing <in>");
  EXPECT_EQ(parse({"in.onnx", "--threads", "2", "--verbose=3"}).error().message,
            "unknown option '--verbose'");
  EXPECT_EQ(parse({"-z", "in.onnx"}).error().message, "unknown option '-z'");
  EXPECT_EQ(parse({"-o", "-z", "a", "b"}).error().message,  // the value of -o is not an option
            "an argument is missing or too much; expected\n"
            "  thing [options] [--dim=DIM]... [<in>]\n"
            "  thing (--help | --version)");
}

}  // namespace
}  // namespace sluice
