#include "common/target/profile.h"

#include <gmock/gmock.h>

namespace sluice {
namespace {

TEST(Profile, BuiltInProfilesAreComplete) {
  EXPECT_THAT(profile_names(),
              testing::ElementsAre("cpu-avx512bf16", "cpu-avx512vnni", "cpu-avx512", "cpu-avx2",
                                   "cpu-generic", "sim-910b", "sim-310p"));
  for (const std::string& name : profile_names()) {
    auto profile = get_profile(name);
    ASSERT_TRUE(profile.ok()) << error_text(profile.error());
    EXPECT_EQ(profile->name, name);
    EXPECT_EQ(name.starts_with("sim-") ? "avx2" : name.substr(4), profile->isa);
    EXPECT_EQ(name.starts_with("cpu-"), profile->memory_classes.empty());
    EXPECT_THAT(profile->engines, testing::Contains("aicore"));
  }
}

TEST(Profile, ValuesComeFromTheFiles) {
  auto wide = get_profile("cpu-avx512");
  auto narrow = get_profile("cpu-generic");
  ASSERT_TRUE(wide.ok() && narrow.ok());
  EXPECT_EQ(wide->vector_bits, 512);
  EXPECT_EQ(wide->vector_registers, 32);
  EXPECT_TRUE(wide->fused_multiply_add);
  EXPECT_FALSE(wide->int8_dot_product);
  auto dot = get_profile("cpu-avx512vnni");
  ASSERT_TRUE(dot.ok());
  EXPECT_TRUE(dot->int8_dot_product);
  EXPECT_FALSE(dot->bf16_dot_product);
  auto halves = get_profile("cpu-avx512bf16");
  ASSERT_TRUE(halves.ok());
  EXPECT_TRUE(halves->int8_dot_product && halves->bf16_dot_product);
  EXPECT_EQ(wide->llvm_cpu, "x86-64-v4");
  EXPECT_EQ(narrow->vector_bits, 128);
  EXPECT_FALSE(narrow->fused_multiply_add);
  EXPECT_EQ(narrow->scratch_limit, 1 << 20);
}

TEST(Profile, NativeIsResolvedToWhatTheCpuRuns) {
  auto profile = get_profile("native");
  ASSERT_TRUE(profile.ok());
  EXPECT_NE(profile->name, "native");
  EXPECT_TRUE(cpu_supports(profile->isa));
}

TEST(Profile, UnknownNamesListTheKnownOnes) {
  auto profile = get_profile("cpu-z80");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code, ErrorCode::kBadOption);
  EXPECT_THAT(profile.error().hint, testing::HasSubstr("cpu-avx2"));
  EXPECT_FALSE(cpu_supports("z80"));
}

std::string profile_text(std::string_view member, std::string_view value) {
  std::string text =
      R"({"name": "n", "isa": "avx2", "llvm_cpu": "x86-64-v3", "llvm_features": "",
          "vector_bits": 256, "vector_registers": 16,
          "fused_multiply_add": true, "l2_bytes": 1, "scratch_limit": 0, "engines": [])";
  if (const size_t at = text.find(fmt::format("\"{}\": ", member)); at != std::string::npos) {
    const size_t begin = at + member.size() + 4;
    text.replace(begin, text.find_first_of(",}", begin) - begin, value);
  } else if (!member.empty()) {
    text += fmt::format(", \"{}\": {}", member, value);
  }
  return text + "}";
}

std::string fault_of(std::string_view member, std::string_view value) {
  auto profile = parse_profile(profile_text(member, value));
  if (profile.ok()) return "none";
  EXPECT_EQ(profile.error().code, ErrorCode::kBadJson);
  return profile.error().message;
}

// A loader checks only the isa of its CPU, and objects call no functions, not even fmaf.
TEST(Profile, CodeForMoreThanTheIsaIsRefused) {
  EXPECT_EQ(fault_of("llvm_features", R"("+fma")"), "none");
  EXPECT_THAT(fault_of("llvm_features", R"("+avx512f")"),
              testing::HasSubstr("'llvm_features' is '+avx512f', for isa avx2 it may hold"));
  EXPECT_THAT(fault_of("llvm_features", R"("-sse2")"), testing::HasSubstr("'llvm_features'"));
  EXPECT_EQ(
      fault_of("llvm_cpu", R"("x86-64-v4")"),
      "device profile 'n': 'llvm_cpu' is 'x86-64-v4', for isa avx2 it must be x86-64 or x86-64-v3");
  EXPECT_EQ(fault_of("llvm_cpu", R"("x86-64")"),
            "device profile 'n': 'fused_multiply_add' is true, and 'llvm_features' has no +fma");
}

TEST(Profile, NumbersThatNoMachineHasAreRefused) {
  EXPECT_EQ(fault_of("", ""), "none");
  EXPECT_EQ(fault_of("vector_bits", "0"),
            "device profile 'n': 'vector_bits' is 0, it must be 128 to 512");
  EXPECT_EQ(
      fault_of("vector_bits", "384"),
      "device profile 'n': 'vector_bits' is 384, for isa avx2 it must be a power of two up to 256");
  EXPECT_EQ(fault_of("vector_bits", "4294967424"),
            "device profile 'n': 'vector_bits' is 4294967424, it must be 128 to 512");
  EXPECT_EQ(fault_of("l2_bytes", "-1"),
            "device profile 'n': 'l2_bytes' is -1, it must be 1 to 1099511627776");
  EXPECT_EQ(fault_of("l2_bytes", "1.5"),
            "device profile 'n': member 'l2_bytes' is absent or of the wrong kind");
  EXPECT_EQ(fault_of("l1_ways", "0"), "device profile 'n': 'l1_ways' is 0, it must be 1 to 64");
  EXPECT_EQ(fault_of("last_cache_bytes", "0"),
            "device profile 'n': 'last_cache_bytes' is 0, it must be 1 to 1099511627776");
  EXPECT_EQ(fault_of("costs", R"({"gather": 0})"),
            "device profile 'n': costs: 'gather' is 0, it must be 1 to 1073741824");
  EXPECT_THAT(fault_of("costs", R"({"gather": 90, "gathering": 1})"),
              testing::StartsWith("device profile 'n': costs: no member has the name 'gathering'"));
  EXPECT_EQ(
      fault_of("isa", "\"z80\""),
      "device profile 'n': 'isa' is 'z80', it must be avx512bf16, avx512vnni, avx512, avx2 or "
      "generic");
  EXPECT_EQ(fault_of("bf16_dot_product", "true"),
            "device profile 'n': 'bf16_dot_product' is true, and 'llvm_features' has no "
            "+avx512bf16");
  EXPECT_EQ(
      fault_of("vector_bits", "512"),
      "device profile 'n': 'vector_bits' is 512, for isa avx2 it must be a power of two up to 256");
  EXPECT_EQ(fault_of("vector_registers", "32"),
            "device profile 'n': 'vector_registers' is 32, isa avx2 has 16");
  EXPECT_EQ(fault_of("described_engines", R"([{"name": "dvpp", "cost": -7, "ops": []}])"),
            "device profile 'n': described_engines: 'cost' is -7, it must be 0 to 1000000");
}

TEST(Profile, EnginesThatContradictAreRefused) {
  const auto expect = [](std::string_view member, std::string_view value, std::string_view what) {
    EXPECT_EQ(fault_of(member, value), fmt::format("device profile 'n': {}", what));
  };
  const auto described = [](std::string_view name) {
    return fmt::format(R"({{"name": "{}", "cost": 1, "ops": []}})", name);
  };
  const auto composite = [&](std::string_view name, std::string_view members) {
    return fmt::format(R"([{}, {}], "composites": [{{"name": "{}", "members": [{}]}}])",
                       described("a"), described("b"), name, members);
  };
  const std::string rule = "expected 1 to 64 characters of a-z, 0-9, _ and +";
  expect("engines", R"(["rts", "host_cpu", "rts"])",
         "engines: 'rts' is there twice, expected once");
  expect("engines", fmt::format(R"(["a"], "described_engines": [{}])", described("a")),
         "described_engines: 'a' is in engines too, expected in one of the two");
  expect("described_engines", fmt::format("[{}, {}]", described("a"), described("a")),
         "described_engines: 'a' is there twice, expected once");
  expect("described_engines", "[" + described("none") + "]",
         "described_engines: 'none' stands for no engine, expected another name");
  expect("described_engines", "[" + described("a+b") + "]",
         "described_engines: 'a+b' is named as several engines, expected a name without +");
  for (const std::string& bad : {std::string(), std::string("a b"), std::string("A"),
                                 std::string(65, 'a'), std::string("\x7f")}) {
    expect("described_engines", "[" + described(bad) + "]",
           fmt::format("described_engines: '{}' is no engine's name, {}", bad, rule));
  }
  expect("described_engines", composite("a+b", ""),
         "composites: 'a+b': members: there are 0, expected at least 2");
  expect("described_engines", composite("a+b", R"("a")"),
         "composites: 'a+b': members: there are 1, expected at least 2");
  expect("described_engines", composite("a+b", R"("a", "a")"),
         "composites: 'a+b': members: 'a' is there twice, expected once");
  expect("described_engines", composite("a+b", R"("a", "c")"),
         "composites: 'a+b': members: 'c' is unknown, expected names from engines or "
         "described_engines");
  expect("described_engines", composite("a+b", R"("a", "b+a")"),
         "composites: 'a+b': members: 'b+a' is a composite itself, expected single engines");
  expect("described_engines", composite("ab", R"("a", "b")"),
         "composites: 'ab' is named as one engine, expected several, like 'aicore+vector'");
  EXPECT_EQ(fault_of("described_engines", composite("a+b", R"("a", "b")")), "none");
}

TEST(Profile, EnginesAreLimited) {
  const auto engines = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i)
      list += fmt::format(R"({}{{"name": "e{}", "cost": 1, "ops": []}})", i == 0 ? "" : ", ", i);
    return "[" + list + "]";
  };
  EXPECT_EQ(fault_of("described_engines", engines(200)), "none");
  EXPECT_EQ(fault_of("described_engines", engines(201)),
            "device profile 'n': engines, described_engines and composites name 201 engines, "
            "expected at most 200");
}

TEST(Profile, AKeyThatIsThereTwiceIsRefused) {
  EXPECT_EQ(fault_of("isa", R"("avx2", "isa": "avx512")"),
            "the key 'isa' is there twice in one object, expected once");
}

// Members that nothing reads are reported as unknown, for the profile and for its lists.
TEST(Profile, MembersThatNothingReadsAreRefused) {
  for (const char* gone : {"alignment", "l3_bytes", "prefetch_num"}) {
    EXPECT_THAT(
        fault_of(gone, "1"),
        testing::StartsWith(fmt::format(
            "device profile 'n': no member has the name '{}'; known are name, isa,", gone)));
  }
  EXPECT_EQ(
      fault_of("described_engines", R"([{"name": "dvpp", "cost": 7, "ops": [], "speed": 3}])"),
      "device profile 'n': described_engines: no member has the name 'speed'; known are name, "
      "cost, ops, independent, attach, skip, max_parallel, tasks_per_node");
}

TEST(Profile, LimitsOfStreamsAreRead) {
  const auto plain = get_profile("cpu-avx2"), device = get_profile("sim-310p");
  EXPECT_EQ(plain->streams.max_streams, 1024);
  EXPECT_EQ(plain->streams.max_tasks, 0);
  EXPECT_EQ(device->streams.max_events, 1023);
  EXPECT_EQ(device->streams.tasks_per_node, 3);
  EXPECT_TRUE(device->streams.are_by_engine);
  EXPECT_EQ(fault_of("max_streams", "-1"),
            "device profile 'n': 'max_streams' is -1, it must be 0 to 1073741824");
  EXPECT_EQ(
      fault_of("described_engines", R"([{"name": "e", "cost": 7, "ops": [], "max_parallel": 0}])"),
      "device profile 'n': described_engines: 'max_parallel' is 0, it must be 1 to 1024");
}

}  // namespace
}  // namespace sluice
