#include "stages/preprocess/onnx/annotation_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<AnnotationRules> rules_of(const std::string& text) {
  const TestFolder folder;
  const std::string path = folder.file("rules.json");
  EXPECT_TRUE(write_text(path, text).ok());
  return AnnotationRules::read(path);
}

onnx::NodeProto node_of(const std::string& name, const std::string& op) {
  onnx::NodeProto node;
  node.set_name(name);
  node.set_op_type(op);
  return node;
}

TEST(AnnotationRules, GlobsOnNodeOpAndScope) {
  auto rules = rules_of(R"([
    {"op": "Conv", "set": {"engine": "aicore", "stage_level": 1}},
    {"scope": "layer?/*", "op": "Re*", "set": {"stream_label": "left", "keep": true}},
    {"node": "/layer1/b/Relu", "set": {"stream_label": "right", "no_fold": true, "super_kernel_scope": "s"}},
    {"node": "nobody", "scope": "x", "set": {"parallel_group": 3}}])");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  Placement conv, relu, other;
  rules->apply(node_of("/layer1/a/Conv", "Conv"), conv);
  rules->apply(node_of("/layer1/b/Relu", "Relu"), relu);
  rules->apply(node_of("Relu", "Relu"), other);
  EXPECT_EQ(conv.engine, EngineId::kAicore);
  EXPECT_EQ(conv.stage_level, 1);
  EXPECT_EQ(relu.stream_label.text, "right");  // the later rule wins
  EXPECT_TRUE(relu.keep);
  EXPECT_TRUE(relu.no_fold);
  EXPECT_EQ(relu.super_kernel_scope, "s");
  EXPECT_EQ(other, Placement{});
  EXPECT_THAT(rules->unmatched(), ElementsAre("rule 4 fits no node: node 'nobody' scope 'x'"));
}

TEST(AnnotationRules, ManyThatFitNoNodeAreCounted) {
  std::string text = R"([{"node": "a", "set": {"keep": true}})";
  for (int i = 0; i < 999; ++i) text += R"(, {"node": "nobody", "set": {"keep": true}})";
  auto rules = rules_of(text + "]");
  Placement placement;
  rules->apply(node_of("a", "Relu"), placement);
  const auto lines = rules->unmatched();
  ASSERT_EQ(lines.size(), 21u);
  EXPECT_EQ(lines[0], "rule 2 fits no node: node 'nobody'");
  EXPECT_EQ(lines[20], "979 more rules fit no node");
}

TEST(AnnotationRules, ScopeOfTheExportersMetadata) {
  auto rules = rules_of(R"([{"scope": "encoder.*", "set": {"parallel_group": 3}}])");
  onnx::NodeProto node = node_of("node_7", "Add");
  auto* entry = node.add_metadata_props();
  entry->set_key("namespace");
  entry->set_value("encoder.layers.0");
  Placement placement;
  rules->apply(node, placement);
  EXPECT_EQ(placement.parallel_group, 3);
}

TEST(AnnotationRules, WrongRulesAreNamed) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {R"({"op": "Conv"})", "a list of objects"},
           {R"([{"op": "Conv"}])", "rule 1: sets nothing"},
           {R"([{"op": "Conv", "set": {"color": "red"}}])",
            "rule 1: there is no annotation 'color'"},
           {R"([{"op": "Conv", "set": {"keep": true}}, {"kind": "Conv", "set": {"keep": true}}])",
            "rule 2: 'kind' is not known"},
           {R"([{"op": "Conv", "set": {"engine": "Abacus!"}}])",
            "annotation 'engine' is 'Abacus!'"},
           {R"([{"op": "Conv", "set": {"stage_level": -1}}])", "expected a number"},
           {R"([{"op": "Conv", "set": {"stage_level": [1]}}])", "'stage_level' must be a text"},
           {"[", ""}}) {
    const auto rules = rules_of(text);
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_THAT(rules.error().message, HasSubstr(message)) << text;
  }
  EXPECT_EQ(AnnotationRules::read("/nowhere/rules.json").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sluice
