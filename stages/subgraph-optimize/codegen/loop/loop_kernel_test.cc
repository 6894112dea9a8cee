// Kernels that are generated from the loops of nodes, beside the reference evaluator, for each
// width of vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/loop/interpreter.h"
#include "common/loop/testing/lowering_case.h"
#include "stages/subgraph-optimize/codegen/testing/loop_kernels.h"

namespace sluice {
namespace {

using loop::LoweringCase;
using loop::one_node;

// Runs one kernel in so many calls, for one profile after the other, and the interpreter otherwise:
// making a kernel takes long. SLUICE_ALL_KERNELS in the environment: all calls.
Result<void> run_sample(const loop::LoopGraph& graph, std::span<const int64_t> sizes,
                        std::span<std::byte* const> operands) {
  constexpr size_t kSample = 23;
  static size_t calls = 0;
  const size_t call = calls++;
  const bool all = std::getenv("SLUICE_ALL_KERNELS") != nullptr;
  if (!all && call % kSample != 0) return loop::interpret(graph, sizes, operands);
  return run_loop_kernel(graph, sizes, operands,
                         loop_profiles()[(call / kSample) % loop_profiles().size()]);
}

// All cases of common/loop/lower run generated kernels here.
const bool kIsSet = [] {
  loop::set_loops_runner({run_sample, 64});
  return true;
}();

class LoopKernelTest : public LoopProfileTest {
 protected:
  // What differs between the generated kernel and the evaluator. last_cache_bytes: 0: those of the
  // profile.
  std::string difference(const LoweringCase& test, int64_t last_cache_bytes = 0) {
    DeviceProfile changed = profile();
    if (last_cache_bytes > 0) changed.last_cache_bytes = last_cache_bytes;
    loop::set_loops_runner({[&](const loop::LoopGraph& graph, std::span<const int64_t> sizes,
                                std::span<std::byte* const> operands) {
                              return run_loop_kernel(graph, sizes, operands, changed);
                            },
                            0});
    std::string text = lowering_difference(test);
    loop::set_loops_runner({run_sample, 64});
    return text;
  }
};

TEST_P(LoopKernelTest, Elementwise) {
  for (const int64_t n : {0, 1, 3, 16, 17, 100, 1000}) {
    EXPECT_EQ(difference({one_node("%x: f32[N, 3]", "%y = Relu(%x)"), {{"N", n}}}), "") << n;
    EXPECT_EQ(difference({one_node("%x: f32[N, 7], %b: f32[7]", "%y = Add(%x, %b)"), {{"N", n}}}),
              "")
        << n;
  }
  EXPECT_EQ(difference({one_node("%x: f32[33, 65], %b: f32[33, 1]", "%y = Mul(%x, %b)")}), "");
  EXPECT_EQ(difference({one_node("%x: f16[33, 65], %b: f16[33, 1]", "%y = Mul(%x, %b)")}), "");
  EXPECT_EQ(difference({one_node("%x: u8[333], %b: u8[333]", "%y = Max(%x, %b)")}), "");
  EXPECT_EQ(difference({one_node("%x: i64[333], %b: i64[333]", "%y = Less(%x, %b)")}), "");
}

// Rows begin anywhere in a vector.
TEST_P(LoopKernelTest, PastCaches) {
  for (const std::string dims : {"5, 300", "3, 1001", "7, 33", "4, 512"}) {
    for (const std::string type : {"f32", "f64", "u8"}) {
      const std::string rows = dims.substr(0, 1);
      const std::string inputs =
          "%x: " + type + "[" + dims + "], %b: " + type + "[" + rows + ", 1]";
      EXPECT_EQ(difference({one_node(inputs, "%y = Add(%x, %b)")}, 1), "") << inputs;
    }
  }
  for (const int64_t n : {0, 1, 17, 300, 1001}) {
    EXPECT_EQ(
        difference({one_node("%x: f32[5, N], %b: f32[5, 1]", "%y = Mul(%x, %b)"), {{"N", n}}}, 1),
        "")
        << n;
  }
}

// What the lanes share is computed once before them.
TEST_P(LoopKernelTest, SharedByLanes) {
  const std::string graphs =
      "graph @main(%x: i32[5, N], %b: i32[5, 1]) -> (%y) {\n%y = Fused(%x, %b) {body = @f}\n}\n"
      "graph @f(%x: i32[5, N], %b: i32[5, 1]) -> (%y) fused {\n%c = Div(%b, %b)\n"
      "%y = Add(%x, %c)\n}\n";
  for (const int64_t n : {0, 1, 40})
    EXPECT_EQ(difference({graphs, {{"N", n}}, 0, {{"b", {1, 9}}}}), "") << n;
}

TEST_P(LoopKernelTest, Transposes) {
  for (const std::string type : {"f32[33, 65]", "f32[64, 64]", "i8[40, 70]", "f64[9, 31]"}) {
    EXPECT_EQ(difference({one_node("%x: " + type, "%y = Transpose(%x) {perm = [1, 0]}")}), "")
        << type;
  }
  EXPECT_EQ(
      difference({one_node("%x: f32[2, 33, 5, 64]", "%y = Transpose(%x) {perm = [0, 2, 1, 3]}")}),
      "");
  EXPECT_EQ(
      difference({one_node("%x: f32[2, 33, 5, N]", "%y = Transpose(%x) {perm = [3, 0, 2, 1]}"),
                  {{"N", 19}}}),
      "");
}

TEST_P(LoopKernelTest, Reductions) {
  for (const std::string axes : {"[0]", "[1]", "[2]", "[0, 2]", "[0, 1, 2]"}) {
    const auto count = std::count(axes.begin(), axes.end(), ',') + 1;
    const std::string constant = "%a = constant i64[" + std::to_string(count) + "] " + axes + "\n";
    for (const std::string op : {"ReduceSum", "ReduceMax", "ReduceMean"}) {
      EXPECT_EQ(difference({"graph @main(%x: f32[19, 33, 47]) -> (%y) {\n" + constant +
                                "%y = " + op + "(%x, %a)\n}\n",
                            {},
                            512,
                            {{"x", {-1, 1}}}}),
                "")
          << op << axes;
    }
  }
  for (const std::string axis : {"0", "1", "2"}) {
    EXPECT_EQ(difference({one_node("%x: f32[19, 33, 47]", "%y = ArgMax(%x) {axis = " + axis + "}"),
                          {},
                          0,
                          {{"x", {-1, 1}}}}),
              "")
        << axis;
  }
}

TEST_P(LoopKernelTest, StridedAndRepeated) {
  for (const std::string type : {"f32", "u8", "f64", "f16"}) {
    EXPECT_EQ(difference({one_node("%x: " + type + "[3, 5, 37, 75]",
                                   "%y = MaxPool(%x) {kernel_shape = [3, 3], strides = [2, 2], "
                                   "pads = [1, 1, 1, 1]}")}),
              "")
        << type;
    EXPECT_EQ(difference({"graph @main(%x: " + type +
                          "[1, 3, 37, 75]) -> (%y) {\n%s = constant f32[4] [1, 1, 2, 2]\n"
                          "%y = Resize(%x, _, %s) {mode = \"nearest\", "
                          "coordinate_transformation_mode = \"asymmetric\", "
                          "nearest_mode = \"floor\"}\n}\n"}),
              "")
        << type;
  }
}

TEST_P(LoopKernelTest, SoftmaxOfDoubles) {
  for (const std::string axis : {"0", "1", "2"}) {
    EXPECT_EQ(difference({one_node("%x: f64[M, 3, N]", "%y = Softmax(%x) {axis = " + axis + "}"),
                          {{"M", 3}, {"N", 5}},
                          64,
                          {{"x", {-9, 9}}}}),
              "")
        << axis;
  }
}

TEST_P(LoopKernelTest, Softmax) {
  for (const std::string axis : {"0", "1", "2"}) {
    EXPECT_EQ(difference({one_node("%x: f32[N, 33, 47]", "%y = Softmax(%x) {axis = " + axis + "}"),
                          {{"N", 21}},
                          64,
                          {{"x", {-9, 9}}}}),
              "")
        << axis;
  }
}

TEST_P(LoopKernelTest, NarrowDtypes) {
  for (const std::string dtype : {"f8e4m3fn", "f8e5m2fnuz", "f8e8m0", "f4e2m1", "i4", "u2"}) {
    const int number = static_cast<int>(*dtype_from_name(dtype));
    for (const int64_t n : {0, 1, 3, 40, 1001}) {
      for (const std::string from : {"f32", "f64", "f16", "i32"}) {
        EXPECT_EQ(difference({one_node("%x: " + from + "[N, 3]",
                                       fmt::format("%y = Cast(%x) {{to = {}}}", number)),
                              {{"N", n}}}),
                  "")
            << from << " to " << dtype << ", " << n;
      }
      for (const std::string to : {"1", "11", "6"}) {
        EXPECT_EQ(
            difference({one_node("%x: " + dtype + "[3, N]", "%y = Cast(%x) {to = " + to + "}"),
                        {{"N", n}}}),
            "")
            << dtype << " to " << to << ", " << n;
      }
    }
    EXPECT_EQ(
        difference({one_node("%x: " + dtype + "[33, 65]", "%y = Transpose(%x) {perm = [1, 0]}")}),
        "")
        << dtype;
  }
  EXPECT_EQ(difference({one_node("%x: i4[40, 33], %s: f32[33]",
                                 "%y = DequantizeLinear(%x, %s) {axis = 1}"),
                        {},
                        1}),
            "");
}

TEST_P(LoopKernelTest, ReductionsOverAxesOfAnOperand) {
  Tensor axes = make_tensor(DType::kI64, {1});
  for (const int64_t axis : {0, 1, -1}) {
    std::memcpy(axes.bytes.data(), &axis, sizeof axis);
    for (const std::string op : {"ReduceSum", "ReduceMax", "ReduceLogSumExp"}) {
      LoweringCase test{one_node("%x: f32[40, 40, 40], %k: i64[1]",
                                 "%y: f32[40, 40] = " + op + "(%x, %k) {keepdims = 0}")};
      test.ulps = 512;
      test.ranges["x"] = {-1, 1};
      test.values["k"] = axes;
      EXPECT_EQ(difference(test), "") << op << axis;
      if (axis != 1) continue;
      test.graphs =
          one_node("%x: f32[19, 33, N], %k: i64[1]", "%y: f32[19, 1, N] = " + op + "(%x, %k)");
      test.sizes = {{"N", 47}};
      EXPECT_EQ(difference(test), "") << op;
      axes.bytes[0] = std::byte{0};
      test.values["k"] = axes;
      EXPECT_NE(difference(test), "") << op << ", whose axis is another";
      std::memcpy(axes.bytes.data(), &axis, sizeof axis);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, LoopKernelTest, testing::Values(0, 1, 2));

}  // namespace
}  // namespace sluice
