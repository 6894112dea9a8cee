#include <gtest/gtest.h>

#include "stages/optimize/passes/passes.h"
#include "stages/optimize/testing/rewrites.h"

namespace sluice {
namespace {

constexpr char kHead[] = "graph @main(%x: f32[1, 16, 16, 16]) -> (%y) {\n";
constexpr char kSquare[] = "  %w = constant f32[16, 16, 1, 1] splat 0.5\n";
constexpr char kWide[] = "  %v = constant f32[16, 32, 1, 1] splat 0.5\n";

// A model with the weights that its convolutions have.
std::string with_head(const std::string& nodes) {
  const auto if_read = [&](const char* name, const char* line) {
    return nodes.find(name) == std::string::npos ? "" : line;
  };
  return std::string(kHead) + if_read("%w", kSquare) + if_read("%v", kWide) + nodes + "}\n";
}

std::string nhwc(int channels) {
  return "f32[1, " + std::to_string(channels) + ", 16, 16] storage nhwc [1, 16, 16, " +
         std::to_string(channels) + "] bytes " + std::to_string(channels * 1024);
}
// A part of rows of `whole` channels.
std::string part(int channels, int whole) {
  return "f32[1, " + std::to_string(channels) + ", 16, 16] storage nhwc [1, 16, 16, " +
         std::to_string(whole) + "] bytes " + std::to_string((whole * 255 + channels) * 4);
}

TEST(StorePieces, OperandsOfAConcatBecomePartsOfItsRows) {
  const std::string conv = R"( = Conv(%x, %w)
)";
  const std::string concat = "  %c: " + nhwc(32) + R"( = Concat(%a, %b) {axis = 1}
  %y: f32[1, 16, 16, 16] = Conv(%c, %v)
)";
  expect_rewrite(
      store_pieces,
      with_head("  %a: " + nhwc(16) + conv + "  %b: " + nhwc(16) + " = Sin(%a)\n" + concat),
      with_head("  %a: " + part(16, 32) + conv + "  %b: " + part(16, 32) + " = Sin(%a)\n" +
                concat));
}

// Each Concat begins with all that the one before it has: the rows are those of the last one.
TEST(StorePieces, CascadesHaveOneWidth) {
  const auto graph = [](const std::string& a, const std::string& b, const std::string& c,
                        const std::string& d) {
    return with_head("  %a: " + a + " = Conv(%x, %w)\n  %b: " + b + " = Sin(%a)\n  %c: " + c +
                     " = Concat(%a, %b) {axis = 1}\n  %d: " + d +
                     " = Conv(%c, %v)\n  %e: " + nhwc(48) +
                     " = Concat(%a, %b, %d) {axis = -3}\n"
                     "  %y: f32[1, 48, 16, 16] = TransData(%e)\n");
  };
  expect_rewrite(store_pieces, graph(nhwc(16), nhwc(16), nhwc(32), nhwc(16)),
                 graph(part(16, 48), part(16, 48), part(32, 48), part(16, 48)));
}

TEST(StorePieces, AnOperandThatRepeatsIsCopiedToItsOtherPlace) {
  expect_rewrite(store_pieces, with_head("  %b: " + nhwc(16) + R"( = TransData(%x)
  %a: )" + nhwc(16) + R"( = Conv(%b, %w)
  %c: )" + nhwc(32) + R"( = Concat(%a, %a) {axis = 1}
  %y: f32[1, 16, 16, 16] = Conv(%c, %v)
)"),
                 with_head("  %b: " + nhwc(16) + R"( = TransData(%x)
  %a: )" + part(16, 32) + R"( = Conv(%b, %w)
  %"a:part": )" + part(16, 32) +
                           R"( = TransData(%a)
  %c: )" + nhwc(32) + R"( = Concat(%a, %"a:part") {axis = 1}
  %y: f32[1, 16, 16, 16] = Conv(%c, %v)
)"));
}

TEST(StorePieces, ResultsOfASplitBecomePartsOfItsOperand) {
  const auto graph = [](const std::string& stored) {
    return with_head("  %a: " + nhwc(16) + " = Conv(%x, %w)\n  %b: " + stored + ", %c: " + stored +
                     " = Split(%a) {axis = 1, num_outputs = 2}\n  %d: " + nhwc(8) +
                     " = Add(%b, %c)\n  %y: f32[1, 8, 16, 16] = TransData(%d)\n");
  };
  expect_rewrite(store_pieces, graph(nhwc(8)), graph(part(8, 16)));
}

// An output is whole, so that part is copied out; the Split has no task nevertheless.
TEST(StorePieces, AResultThatIsAnOutputIsCopiedOut) {
  const auto graph = [](const std::string& b, const std::string& copy, const std::string& c) {
    return "graph @main(%x: f32[1, 16, 16, 16]) -> (%b, %y) {\n" + std::string(kSquare) +
           "  %a: " + nhwc(16) + " = Conv(%x, %w)\n  " + b + ", %c: " + c +
           " = Split(%a) {axis = 1, num_outputs = 2}\n" + copy + "  %y: " + nhwc(8) +
           " = Sin(%c)\n}\n";
  };
  expect_rewrite(store_pieces, graph("%b: " + nhwc(8), "", nhwc(8)),
                 graph("%\"b:part\": " + part(8, 16),
                       "  %b: " + nhwc(8) + " = TransData(%\"b:part\")\n", part(8, 16)));
}

// Parts without gaps between them need no storage.
TEST(StorePieces, NeighboursAreLeftAlone) {
  expect_unchanged(store_pieces, with_head(R"(  %a: f32[1, 16, 16, 16] = Conv(%x, %w)
  %b: f32[1, 16, 16, 16] = Sin(%a)
  %c: f32[1, 32, 16, 16] = Concat(%a, %b) {axis = 1}
  %y: f32[1, 16, 16, 16] = Conv(%c, %v)
)"));
}

// To copy less than 16 KiB costs less than another kernel for each width.
TEST(StorePieces, SmallOnesAreLeftAlone) {
  const std::string small = "f32[1, 16, 2, 2] storage nhwc [1, 2, 2, 16] bytes 256";
  expect_unchanged(store_pieces, R"(graph @main(%x: f32[1, 16, 2, 2]) -> (%y) {
  %a: )" + small + R"( = TransData(%x)
  %b: )" + small + R"( = Sin(%a)
  %c: f32[1, 32, 2, 2] storage nhwc [1, 2, 2, 32] bytes 512 = Concat(%a, %b) {axis = 1}
  %y: f32[1, 32, 2, 2] = TransData(%c)
}
)");
}

// A depthwise convolution reads whole pixels, so what it reads is copied to the Concat; without
// another operand the Concat copies itself.
TEST(StorePieces, KernelsThatTakeNoRowsReadAndWriteWholeOnes) {
  const std::string depthwise = R"(  %k = constant f32[16, 1, 1, 1] splat 0.5
  %b: )" + nhwc(16) + R"( = TransData(%x)
  %a: )" + nhwc(16) + R"( = Conv(%b, %k) {group = 16}
)";
  expect_unchanged(store_pieces,
                   with_head(depthwise + "  %c: " + nhwc(32) + R"( = Concat(%a, %a) {axis = 1}
  %y: f32[1, 16, 16, 16] = Conv(%c, %v)
)"));
}

}  // namespace
}  // namespace sluice
