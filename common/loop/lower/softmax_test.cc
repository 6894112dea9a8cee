#include "common/loop/testing/family_case.h"

namespace sluice::loop {
namespace {

TEST(SoftmaxTest, AnyAxis) {
  for (const std::string op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    const double ulps = op == "Hardmax" ? 0 : 16;
    for (const std::string attributes : {"", "{axis = 0}", "{axis = -2}"}) {
      for (const std::string inputs :
           {"%x: D[3, 4, 5]", "%x: D[N, 4, M]", "%x: D[M, N]", "%x: D[2, 0]", "%x: D[4, 1]"})
        expect_family({inputs, "%y = " + op + "(%x) " + attributes, ulps});
    }
    expect_family({"%x: D[70]", "%y = " + op + "(%x)", ulps, {{"x", {-90, 90}}}});
  }
}

}  // namespace
}  // namespace sluice::loop
