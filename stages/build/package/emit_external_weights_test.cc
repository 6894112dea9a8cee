#include "stages/build/package/emit_external_weights.h"

#include <gtest/gtest.h>

#include "common/text/text.h"

namespace sluice {
namespace {

TEST(EmitExternalWeights, SaysSizesAndNames) {
  const Module module = parse_module(
                            "sluice 1 lowered\ngraph @main(%x: f32[1024]) -> (%y) {\n"
                            "  %w = constant f32[1024] splat 2\n  %y: f32[1024] = Add(%x, %w)\n}\n",
                            "test")
                            .value();
  WeightLayout layout;
  for (const Value& value : module.root().values()) {
    if (value.is_constant()) layout.outside.push_back(value.segment());
  }
  pb::ModelDef model;
  ASSERT_TRUE(emit_external_weights(module, layout, ExternalWeight::kCombined, model));
  ASSERT_EQ(model.external_weights_size(), 1);
  EXPECT_EQ(model.external_weights(0).bytes(), 4096u);
  EXPECT_EQ(model.external_weights(0).name(), "w");
  EXPECT_EQ(model.external_weights(0).digest(), std::string(32, '\0'));
  EXPECT_TRUE(model.combined_weights());

  layout.outside.resize(kMaxWeightFiles + 1, layout.outside[0]);
  const auto many = emit_external_weights(module, layout, ExternalWeight::kShared, model);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kLimit);
  EXPECT_EQ(many.error().hint, "--external-weight=2 puts them into one file");
}

}  // namespace
}  // namespace sluice
