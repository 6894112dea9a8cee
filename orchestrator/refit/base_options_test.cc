#include "orchestrator/refit/base_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

pb::ModelDef model_with_options(
    std::initializer_list<std::pair<const char*, const char*>> options) {
  pb::ModelDef model;
  for (const auto& [name, value] : options) {
    pb::OptionDef& def = *model.add_options();
    def.set_name(name);
    def.set_value(value);
  }
  return model;
}

TEST(BaseOptions, AreTypedAgain) {
  const pb::ModelDef model = model_with_options({{"dim", "a=1;b=2..3"},
                                                 {"math", "high_precision"},
                                                 {"optimize.passes", "x,y"},
                                                 {"subgraph-optimize.skip", "z"}});
  const StageOptions options = options_of_model(model, "").value();
  EXPECT_THAT(options.semantic, ElementsAre("--dim=a=1;b=2..3", "--math=high_precision"));
  EXPECT_THAT(options.passes, ElementsAre("optimize:x,y"));
  EXPECT_THAT(options.skip, ElementsAre("subgraph-optimize:z"));
  EXPECT_TRUE(options.non_semantic.empty());
}

TEST(BaseOptions, ContentBecomesAFile) {
  const TestFolder folder;
  const std::string file = folder.file("customize-dtypes");
  const pb::ModelDef model = model_with_options({{"customize-dtypes", "a b f16\n"}});
  EXPECT_THAT(options_of_model(model, folder.path()).value().semantic,
              ElementsAre("--customize-dtypes=" + file));
  EXPECT_EQ(read_text(file).value(), "a b f16\n");
}

TEST(BaseOptions, ListsOfOperatorsBecomeJson) {
  EXPECT_EQ(mixlist_json("Add allow\nConv deny\nExp gray\nMul allow\n"),
            R"({"white-list":{"to-add":["Add","Mul"]},"black-list":{"to-add":["Conv"]},)"
            R"("gray-list":{"to-add":["Exp"]}})");
  EXPECT_EQ(mixlist_json("Conv deny\n"), R"({"black-list":{"to-add":["Conv"]}})");
}

TEST(BaseOptions, SwitchesOfPassesBecomeJson) {
  EXPECT_EQ(switches_json("ALL off\nfuse-gelu on\n").value(),
            R"({"Switch":{"GraphFusion":{"ALL":"off","fuse-gelu":"on"}}})");
  EXPECT_EQ(switches_json("").value(), R"({"Switch":{"GraphFusion":{}}})");
  EXPECT_EQ(switches_json("fuse-gelu").error().code, ErrorCode::kBadCompiledModel);
}

TEST(BaseOptions, UnknownOnesAreRefused) {
  for (const char* name : {"color", "threads", "nostage.skip", "optimize.color"}) {
    const auto options = options_of_model(model_with_options({{name, "1"}}), "");
    ASSERT_FALSE(options) << name;
    EXPECT_EQ(options.error().code, ErrorCode::kBadCompiledModel);
    EXPECT_THAT(options.error().message, HasSubstr(name));
  }
}

}  // namespace
}  // namespace sluice
