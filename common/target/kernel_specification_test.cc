#include "common/target/kernel_specification.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

// The specification of y = -x, with one part replaced.
std::string negation(const std::string& from = "", const std::string& to = "") {
  auto profile = get_profile("cpu-avx2");
  std::string text = generator_text(*profile) +
                     "math high_precision\n"
                     "loops 1\n"
                     "size n0 = dim 0 in [1, *] nominal 64\n"
                     "buffer y0: f32[n0] written\n"
                     "buffer x1: f32[n0]\n"
                     "nest for i0 < n0 {\n"
                     "  sweep {\n"
                     "    %0: f32 = load x1[i0]\n"
                     "    %1: f32 = neg %0\n"
                     "    store y0[i0] = %1\n"
                     "  }\n"
                     "}\n";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

std::string message_of(const std::string& text) {
  const auto parsed = parse_specification(text, "k.txt");
  return parsed ? "" : parsed.error().message;
}

TEST(KernelSpecification, PrintsWhatItParses) {
  const std::string text = negation();
  const auto parsed = parse_specification("# a comment\n" + text, "k.txt");
  ASSERT_TRUE(parsed.ok()) << error_text(parsed.error());
  EXPECT_EQ(specification_text(*parsed), text);
  EXPECT_EQ(parsed->math, MathPrecision::kHigh);
  EXPECT_EQ(parsed->profile.vector_bits, 256);
  EXPECT_EQ(kernel_entry(text).size(), 18u);
}

TEST(KernelSpecification, EveryMemberIsInTheName) {
  const std::string text = negation();
  for (const auto& [from, to] :
       {std::pair("high_precision", "default"), std::pair("cpu-avx2", "other"),
        std::pair("vector_bits 256", "vector_bits 128"), std::pair("avx2,", ""),
        std::pair("vector_registers 16", "vector_registers 17"),
        std::pair("fused_multiply_add true", "fused_multiply_add false"),
        std::pair("l2_bytes 524288", "l2_bytes 1"),
        std::pair("last_cache_bytes 33554432", "last_cache_bytes 1"),
        std::pair("l1_ways 8", "l1_ways 12"), std::pair("gather 120", "gather 121"),
        std::pair(" tile 2500", " tile 2501"),
        std::pair("scratch_limit 1048576", "scratch_limit 0"), std::pair("neg", "abs")}) {
    EXPECT_NE(kernel_entry(negation(from, to)), kernel_entry(text)) << from;
  }
}

TEST(KernelSpecification, FaultsHaveAPlace) {
  EXPECT_EQ(message_of(negation("kernel 1", "kernel 2")),
            "k.txt:1:8: the version of the text is 2, it must be in [1, 1]");
  EXPECT_THAT(message_of(negation("generator ", "generator 9")),
              testing::StartsWith("k.txt:1:20: this release's generator is 9"));
  EXPECT_EQ(message_of(negation("high_precision", "exact")),
            "k.txt:4:6: expected default, high_precision or high_performance, found 'exact'");
  EXPECT_THAT(message_of(negation("\"avx2\"", "\"avx\"")),
              testing::StartsWith("k.txt:2:1: 'isa' is 'avx', it must be"));
  EXPECT_THAT(message_of(negation("vector_bits 256", "vector_bits 300")),
              testing::StartsWith("k.txt:2:1: 'vector_bits' is 300, for isa avx2"));
  EXPECT_THAT(message_of(negation("vector_bits 256", "vector_bits 64")),
              testing::EndsWith("vector_bits is 64, it must be in [128, 512]"));
  EXPECT_EQ(message_of(negation("neg", "not_there")),
            "k.txt:12:15: there is no operation 'not_there'");
  EXPECT_EQ(message_of(negation("loops 1", "")), "k.txt:6:1: expected 'loops', found 'size'");
}

TEST(KernelSpecification, LoopsAreVerified) {
  const auto parsed = parse_specification(negation("load x1[i0]", "load x1[i0, i0]"), "k.txt");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kVerifyFailed);
  EXPECT_EQ(parsed.error().file, "k.txt");
}

TEST(MathPrecision, NamesAreThoseOfTheOption) {
  for (const auto math :
       {MathPrecision::kDefault, MathPrecision::kHigh, MathPrecision::kPerformance}) {
    EXPECT_EQ(math_precision_from_name(math_precision_name(math)), math);
  }
  EXPECT_EQ(math_precision_from_name("exact"), std::nullopt);
}

}  // namespace
}  // namespace sluice
