#include "stages/optimize/testing/rewrites.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "common/eval/eval.h"
#include "common/rules/rule_rows.h"
#include "common/text/text.h"

namespace sluice {
namespace {

std::string after_first_line(const std::string& text) { return text.substr(text.find('\n') + 1); }

// Parses, runs the pass and prints; returns an error's text if there is one.
std::string rewritten(const TestedPass& pass, Module& module) {
  module.compact();
  const std::string before = print_module(module);
  const Pass table[] = {pass.row()};
  Options options;
  if (auto set = options.set("verify", "each"); !set) return error_text(set.error());
  const auto report = run_passes(module, table, options);
  if (!report) return error_text(report.error());
  module.compact();
  const std::string after = print_module(module);
  EXPECT_EQ(report->at(0).changed, after != before) << after;
  return after_first_line(after);
}

std::vector<EvalValue> random_inputs(const Graph& graph) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<EvalValue> inputs;
  for (const Value* input : graph.inputs()) {
    if (input->type().dtype != DType::kF32 || !input->type().is_fixed()) return {};
    Tensor tensor = make_tensor(DType::kF32, *input->type().extents());
    for (float& element : tensor.as<float>()) element = normal(random);
    inputs.push_back(EvalValue::of(std::move(tensor)));
  }
  return inputs;
}

void expect_close(const Tensor& before, const Tensor& after) {
  ASSERT_EQ(before.dims, after.dims);
  ASSERT_EQ(before.dtype, after.dtype);
  if (before.dtype != DType::kF32) return;
  const std::span<const float> a = before.as<float>(), b = after.as<float>();
  float largest = 0;
  for (const float element : a) largest = std::max(largest, std::abs(element));
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(a[i] - b[i]), 1e-5f * largest) << "element " << i;
}

void expect_same_results(const Graph& before, const Graph& after) {
  const std::vector<EvalValue> inputs = random_inputs(before);
  if (inputs.empty()) return;
  const auto wanted = evaluate_graph(before, inputs), got = evaluate_graph(after, inputs);
  ASSERT_TRUE(wanted.ok()) << error_text(wanted.error());
  ASSERT_TRUE(got.ok()) << error_text(got.error());
  ASSERT_EQ(wanted->size(), got->size());
  for (size_t i = 0; i < wanted->size(); ++i)
    expect_close(*wanted->at(i).tensor, *got->at(i).tensor);
}

}  // namespace

Pass TestedPass::row() const {
  if (function == nullptr) return rules::rule_pass("pass", "the pass under test", rules);
  return {"pass", "the pass under test", function, PassLevel::kO0};
}

void expect_rewrite(const TestedPass& pass, const std::string& before, const std::string& after) {
  const std::string text = "sluice 1 typed\n" + before;
  auto original = parse_module(text, "test"), module = parse_module(text, "test");
  ASSERT_TRUE(module.ok() && original.ok()) << error_text(module.error());
  EXPECT_EQ(rewritten(pass, *module), after);
  expect_same_results(original->root(), module->root());
}

void expect_decomposed(const TestedPass& pass, const std::string& before, Op gone) {
  const std::string text = "sluice 1 typed\n" + before;
  auto original = parse_module(text, "test"), module = parse_module(text, "test");
  ASSERT_TRUE(module.ok() && original.ok()) << error_text(module.error());
  const std::string after = rewritten(pass, *module);
  for (const Node& node : module->root().nodes()) EXPECT_NE(node.op(), gone) << after;
  ASSERT_FALSE(random_inputs(module->root()).empty());
  expect_same_results(original->root(), module->root());
}

void expect_unchanged(const TestedPass& pass, const std::string& text) {
  auto module = parse_module("sluice 1 typed\n" + text, "test");
  ASSERT_TRUE(module.ok()) << error_text(module.error());
  EXPECT_EQ(rewritten(pass, *module), text);
}

}  // namespace sluice
