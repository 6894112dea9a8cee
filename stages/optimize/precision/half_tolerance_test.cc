#include "stages/optimize/precision/half_tolerance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "common/base/files.h"
#include "common/ir/module.h"
#include "common/ops/op_table.h"
#include "stages/optimize/precision/result_dtypes.h"

namespace sluice {
namespace {

TEST(HalfToleranceTest, RowsAreInTheOrderOfOps) {
  const auto rows = half_tolerance_table();
  EXPECT_TRUE(std::ranges::is_sorted(rows, std::less<>(), &HalfToleranceRow::op));
  for (const HalfToleranceRow& row : rows) EXPECT_EQ(find_half_tolerance(row.op), &row);
  EXPECT_EQ(find_half_tolerance(Op::kQuantizeLinear), nullptr);
}

// Sets the attributes that a node must have.
void set_attributes(Node& node, const OpRow& row) {
  for (const AttributeRow& attribute : row.attributes) {
    if (!attribute.required) continue;
    if (attribute.kind == AttributeKind::kInt) node.set_attribute(attribute.name, int64_t{2});
    if (attribute.kind == AttributeKind::kInts)
      node.set_attribute(attribute.name, std::vector<int64_t>{1, 1});
    if (attribute.kind == AttributeKind::kString)
      node.set_attribute(attribute.name, std::string("ij->ij"));
  }
}

// Returns whether the op table takes the dtype in the inputs that the row says, with some dtypes of
// the others.
bool is_accepted(const HalfToleranceRow& row, DType half) {
  constexpr DType kOthers[] = {DType::kUndefined, DType::kI64, DType::kI32, DType::kBool,
                               DType::kF32};
  const OpRow& op = *find_op(row.op);
  Module module;
  Node& node = module.add_graph("g").add_node(row.op, {}, static_cast<size_t>(op.min_outputs));
  set_attributes(node, op);
  const auto count = static_cast<size_t>(std::max(op.min_inputs, 1));
  for (const DType first : {half, DType::kBool}) {
    for (const DType second : kOthers) {
      for (const DType last : kOthers) {
        std::vector<DType> dtypes(count, half);
        if (count > 1 && second != DType::kUndefined) dtypes[1] = second;
        if (count > 2 && last != DType::kUndefined) dtypes.back() = last;
        dtypes[0] = first;
        if (result_dtypes(node, dtypes)) return true;
      }
    }
  }
  return false;
}

// These need more than the signature says: sizes or scales, fmod, heads that divide.
constexpr Op kChoosy[] = {Op::kLinearAttention, Op::kMod, Op::kResize};

TEST(HalfToleranceTest, TheOpTableTakesHalvesForEachRow) {
  for (const HalfToleranceRow& row : half_tolerance_table()) {
    const bool is_choosy = std::ranges::find(kChoosy, row.op) != std::end(kChoosy);
    if (is_choosy || row.tolerance == HalfTolerance::kDtypeFree) continue;
    EXPECT_TRUE(is_accepted(row, DType::kF16)) << op_name(row.op);
    EXPECT_TRUE(is_accepted(row, DType::kBF16)) << op_name(row.op);
  }
}

// Returns the operators of the paragraph after the one that begins with the word.
std::vector<std::string> documented(const std::string& page, const std::string& word) {
  const size_t heading = page.find("**" + word + "** ");
  const size_t begin = page.find("\n\n", heading) + 2;
  std::istringstream words(page.substr(begin, page.find("\n\n", begin) - begin));
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name.substr(0, name.find(',')));
  return names;
}

TEST(HalfToleranceTest, ThePagePrintsTheTable) {
  const std::string file = __FILE__;
  const auto page = read_text(file.substr(0, file.find("stages/optimize/")) + "docs/precision.md");
  ASSERT_TRUE(page.ok()) << error_text(page.error());
  for (const auto& [word, tolerance] :
       {std::pair("Allow", HalfTolerance::kAllow), std::pair("Gray", HalfTolerance::kGray),
        std::pair("Deny", HalfTolerance::kDeny)}) {
    std::vector<std::string> names;
    for (const HalfToleranceRow& row : half_tolerance_table())
      if (row.tolerance == tolerance) names.emplace_back(op_name(row.op));
    EXPECT_EQ(documented(*page, word), names) << word;
  }
}

}  // namespace
}  // namespace sluice
