// Random nodes: inference returns a type or an error, and the same again the second time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/ops/op_table.h"
#include "common/ops/testing/infer_test.h"

namespace sluice {
namespace {

class RandomNode {
 public:
  explicit RandomNode(uint32_t seed) : random_(seed) {}

  Node& make(Op op) {
    const OpRow& row = *find_op(op);
    const int maximum = row.max_inputs < 0 ? row.min_inputs + 3 : row.max_inputs;
    std::vector<Value*> inputs;
    for (int count = pick(row.min_inputs, maximum); count > 0; --count) inputs.push_back(input());
    Node& node = bed.graph.add_node(
        op, inputs, static_cast<size_t>(std::max(row.min_outputs, row.max_outputs)));
    for (const AttributeRow& attribute : row.attributes) {
      if (attribute.required || pick(0, 2) == 0) set(node, attribute);
    }
    return node;
  }

  InferBed bed;

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  template <typename T, size_t n>
  T any(const T (&list)[n]) {
    return list[static_cast<size_t>(pick(0, n - 1))];
  }
  std::string number() {
    return any<const char*>({"0", "1", "2", "3", "4", "-1", "-2", "8", "9223372036854775807",
                             "-9223372036854775808", "2147483647", "100000"});
  }
  int64_t integer() { return std::stoll(number()); }

  Value* input() {
    if (pick(0, 9) == 0) return nullptr;
    const std::string dtype = any<const char*>({"f32", "f32", "f32", "i64", "i64", "i32", "bool"});
    std::string elements;
    for (int i = pick(0, 4); i > 0; --i) elements += (elements.empty() ? "" : ", ") + number();
    if (pick(0, 2) == 0)
      return bed.value(dtype == "f32" || dtype == "bool"
                           ? dtype + "{" + any<const char*>({"0", "0.5", "2, 2", "1, 1, 2, 0.3"}) +
                                 "}"
                           : small(dtype, elements));
    if (pick(0, 9) == 0)
      return bed.value(
          any<const char*>({"?", "f32", "i64", "i64(0)", "i64(-1)", "i64(3)", "string[2]"}));
    std::string dims;
    for (int i = pick(0, 5); i > 0; --i)
      dims += (dims.empty() ? "" : ", ") +
              std::string(any<const char*>(
                  {"0", "1", "2", "3", "4", "8", "N", "M", "?", "4611686018427387904"}));
    return bed.value(dtype + "[" + dims + "]");
  }
  std::string small(const std::string& dtype, std::string elements) {
    if (dtype == "i32") elements = any<const char*>({"0", "1, 2", "-1", "2147483647"});
    return dtype + "{" + elements + "}";
  }

  std::string word_of(std::string_view words) {
    const auto from = static_cast<size_t>(pick(0, static_cast<int>(words.size()) - 1));
    const size_t begin = words.rfind(' ', from) + 1;  // 0 when there is none
    return std::string(words.substr(begin, words.find(' ', begin) - begin));
  }

  void set(Node& node, const AttributeRow& row) {
    switch (row.kind) {
      case AttributeKind::kInt:
        return node.set_attribute(row.name, integer());
      case AttributeKind::kFloat:
        return node.set_attribute(row.name, any<float>({0.F, -1.F, 1e30F}));
      case AttributeKind::kString:
        if (!row.words.empty() && pick(0, 9) > 0)
          return node.set_attribute(row.name, word_of(row.words));
        return node.set_attribute(
            row.name, std::string(any<const char*>(
                          {"", "none", "mean", "SAME_UPPER", "VALID", "bidirectional", "LEFT",
                           "ij,jk->ik", "...i,i...", "a->aa", ",", "not_larger", "constant"})));
      case AttributeKind::kInts: {
        std::vector<int64_t> list;
        for (int i = pick(0, 4); i > 0; --i) list.push_back(integer());
        return node.set_attribute(row.name, std::move(list));
      }
      case AttributeKind::kFloats:
        return node.set_attribute(row.name, std::vector<float>{1.F});
      case AttributeKind::kStrings:
        return node.set_attribute(row.name, std::vector<std::string>{"a"});
      case AttributeKind::kType:
        return node.set_attribute(row.name,
                                  TypeRef{bed.module.intern(Type::unranked(DType::kF32))});
      case AttributeKind::kSegment:
        return node.set_attribute(row.name, SegmentRef{bed.constant(DType::kF32, {"1"}, false)});
      case AttributeKind::kGraph:
        return node.set_attribute(row.name, GraphRef{body().id()});
      case AttributeKind::kGraphs:
        return;
    }
  }
  Graph& body() {
    Graph& body = bed.module.add_graph("body", GraphRole::kBody);
    for (int i = pick(0, 4); i > 0; --i)
      body.add_output(
          body.add_node(any<Op>({Op::kIdentity, Op::kShape, Op::kNonZero}), {&body.add_input(0)})
              .output());
    body.captures = static_cast<uint32_t>(pick(0, 2));
    return body;
  }

  std::mt19937 random_;
};

TEST(InferFuzz, EveryOpAnswers) {
  size_t answered = 0;
  for (int op = 0; op < op_count(); ++op) {
    if (static_cast<Op>(op) == Op::kForeign) continue;  // rules replace it before inference
    for (uint32_t seed = 0; seed < 300; ++seed) {
      RandomNode random(seed * 1000 + static_cast<uint32_t>(op));
      Node& node = random.make(static_cast<Op>(op));
      ValueFacts facts(random.bed.graph);
      const auto first = infer_node(node, facts);
      if (!first) continue;
      ++answered;
      bool is_stable = false;
      for (int pass = 0; pass < 4 && !is_stable; ++pass) {
        ValueFacts again(random.bed.graph);
        const auto next = infer_node(node, again);
        ASSERT_TRUE(next.ok()) << node.label() << " seed " << seed << ": " << next.error().message;
        is_stable = !*next;
      }
      ASSERT_TRUE(is_stable) << node.label() << " seed " << seed;
    }
  }
  EXPECT_GT(answered, 5000u);
}

}  // namespace
}  // namespace sluice
