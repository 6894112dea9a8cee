#include "common/loop/testing/family_case.h"

namespace sluice::loop {
namespace {

// Windows along one dim of at least 6 elements.
const std::vector<std::string> kLines = {
    "kernel_shape = [3]",
    "kernel_shape = [1]",
    "kernel_shape = [2], strides = [2]",
    "kernel_shape = [3], pads = [1, 2], strides = [2]",
    "kernel_shape = [3], pads = [1, 1], dilations = [2]",
    "kernel_shape = [3], strides = [2], ceil_mode = 1",
    "kernel_shape = [3], pads = [2, 2], strides = [2], ceil_mode = 1, dilations = [2]",
    "kernel_shape = [4], auto_pad = \"SAME_UPPER\", strides = [3]",
    "kernel_shape = [4], auto_pad = \"SAME_LOWER\", strides = [2]",
    "kernel_shape = [3], auto_pad = \"VALID\""};

// `more` is a further attribute.
void expect_pool(const std::string& results, const std::string& op, const std::string& more,
                 double ulps, const std::vector<std::string>& dtypes) {
  const auto expect = [&](const std::string& dims, const std::string& window) {
    const std::string attributes = " {" + window + (more.empty() ? "" : ", " + more) + "}";
    expect_family(
        {"%x: D[" + dims + "]", results + " = " + op + "(%x)" + attributes, ulps, {}, dtypes});
  };
  for (const std::string& line : kLines) {
    expect("2, 3, 8", line);
    expect("N, 2, M", line);
  }
  expect("1, 2, 5, 6", "kernel_shape = [3, 2], pads = [1, 0, 1, 1], strides = [1, 2]");
  expect("N, 2, M, 7",
         "kernel_shape = [2, 3], pads = [1, 1, 1, 1], ceil_mode = 1, strides = [2, 2]");
  expect("1, 1, 4, 4, 3", "kernel_shape = [2, 2, 2], dilations = [2, 1, 1]");
}

const std::vector<std::string> kFloats = {"f32", "f64", "f16", "bf16"};

TEST(PoolingTest, Largest) {
  std::vector<std::string> dtypes = kFloats;
  dtypes.insert(dtypes.end(), {"i8", "u8"});
  expect_pool("%y", "MaxPool", "", 0, dtypes);
  expect_pool("%y, %i", "MaxPool", "", 0, dtypes);
  expect_pool("%y, %i", "MaxPool", "storage_order = 1", 0, dtypes);
}

// Rows that are long enough for the largest of columns.
TEST(PoolingTest, LargestOfColumns) {
  for (const std::string window :
       {"kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]",
        "kernel_shape = [5, 5], pads = [2, 2, 2, 2]", "kernel_shape = [2, 2], strides = [2, 2]",
        "kernel_shape = [2, 3], dilations = [2, 3], pads = [0, 4, 1, 2]",
        "kernel_shape = [3, 2], strides = [1, 5], ceil_mode = 1, pads = [1, 0, 1, 1]",
        "kernel_shape = [3, 3], auto_pad = \"SAME_LOWER\", strides = [2, 3]"}) {
    for (const std::string dims : {"2, 2, 7, 19", "N, 2, M, 16", "1, 3, 6, 40"})
      expect_family({"%x: D[" + dims + "]",
                     "%y = MaxPool(%x) {" + window + "}",
                     0,
                     {},
                     {"f32", "f16", "i8"}});
  }
  // Of negative numbers padding is never the largest.
  for (const std::string pads : {"[0, 0, 0, 1]", "[0, 1, 0, 0]", "[0, 1, 0, 1]"}) {
    expect_family(
        {"%x: D[1, 1, 2, 23]",
         "%y = MaxPool(%x) {kernel_shape = [2, 2], strides = [2, 2], pads = " + pads + "}",
         0,
         {{"x", {-2, -1}}},
         {"f32", "f64"}});
  }
  expect_family({"%x: D[1, 2, 4, 5, 18]", "%y = MaxPool(%x) {kernel_shape = [2, 3, 3]}", 0});
}

TEST(PoolingTest, Averages) {
  expect_pool("%y", "AveragePool", "", 16, kFloats);
  expect_pool("%y", "AveragePool", "count_include_pad = 1", 16, kFloats);
}

TEST(PoolingTest, Powers) {
  for (const std::string power : {"", "p = 1", "p = 3", "p = 10"})
    expect_pool("%y", "LpPool", power, 64, kFloats);
}

TEST(PoolingTest, WholePlanes) {
  for (const std::string call :
       {"GlobalAveragePool(%x)", "GlobalMaxPool(%x)", "GlobalLpPool(%x)",
        "GlobalLpPool(%x) {p = 1}", "GlobalLpPool(%x) {p = 3}", "GlobalLpPool(%x) {p = 9}"}) {
    for (const std::string dims : {"2, 3", "2, 3, 5", "N, 3, M, 2", "1, 2, 2, 2, 3", "2, 3, 0"})
      expect_family({"%x: D[" + dims + "]", "%y = " + call, 64});
  }
}

}  // namespace
}  // namespace sluice::loop
