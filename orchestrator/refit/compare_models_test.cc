#include "orchestrator/refit/compare_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/base/dtype.h"
#include "common/omfile/testing/model_builder.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::ModelBuilder;

// y = scale(mix(x, w), w2): `second` is where w2 lies, which may be where w does.
struct Example {
  explicit Example(uint64_t second = 64) {
    type = builder.type(DType::kF32, {2, 3});
    wide = builder.type(DType::kF32, {2, 4});
    x = builder.input("x", type);
    y = builder.output("y", type);
    h = builder.arena_value("h", type);
    w = builder.value("w", type, pb::REGION_WEIGHTS, 0);
    w2 = second == 0 ? w : builder.value("w2", type, pb::REGION_WEIGHTS, second);
    const uint32_t stream = builder.stream("main");
    mix = builder.test_kernel("k_mix", 1);
    scale = builder.test_kernel("k_scale", 1);
    builder.launch("first", stream, mix, {h}, {x, w});
    builder.launch("second", stream, scale, {y}, {h, w2});
    for (const char* op : {"Add", "Mul"}) builder.model.add_ops(op);
    for (const char* engine : {"vector", "aicore"}) builder.model.add_engines(engine);
    for (const uint32_t each : {0, 1}) {
      builder.model.add_node_op(each);
      builder.model.add_node_engine(0);
    }
  }

  pb::FixedPart& part() { return builder.part(); }
  pb::ModelDef& model() { return builder.model; }

  ModelBuilder builder;
  uint32_t type, wide, x, y, h, w, w2, mix, scale;
};

TEST(CompareModels, EqualOnesHaveNoDifference) {
  EXPECT_EQ(structure_difference(Example().model(), Example().model()), "");
}

TEST(CompareModels, ConstantsMayBeEqualInOneOfBoth) {
  Example apart(64), together(0), elsewhere(640);
  EXPECT_EQ(structure_difference(apart.model(), together.model()), "");
  EXPECT_EQ(structure_difference(together.model(), apart.model()), "");
  EXPECT_EQ(structure_difference(apart.model(), elsewhere.model()), "");
}

TEST(CompareModels, PlacesNamesOfValuesAndProvenanceDoNotCount) {
  Example other;
  other.model().add_made_from("another file");
  other.part().set_value_offset(static_cast<int>(other.h), 6400);
  other.part().mutable_memory()->set_arena_bytes(1 << 20);
  other.part().clear_value_names();
  EXPECT_EQ(structure_difference(Example().model(), other.model()), "");
}

struct Change {
  const char* what;
  std::function<void(Example&)> make;
  const char* text;
};

class CompareModelsDifference : public ::testing::TestWithParam<Change> {};

TEST_P(CompareModelsDifference, IsNamed) {
  Example other;
  GetParam().make(other);
  EXPECT_THAT(structure_difference(Example().model(), other.model()), HasSubstr(GetParam().text));
}

void set_names(Example& e, const std::vector<std::string>& names) {
  pb::NodeNamesDef def;
  for (const std::string& name : names) def.add_name(name);
  e.model().set_node_names(def.SerializeAsString());
}

INSTANTIATE_TEST_SUITE_P(
    Each, CompareModelsDifference,
    ::testing::Values(
        Change{"input_type", [](Example& e) { e.model().mutable_inputs(0)->set_type(e.wide); },
               "input 'x': f32 2x4, expected f32 2x3"},
        Change{"input_name", [](Example& e) { e.model().mutable_inputs(0)->set_name("z"); },
               "input 0: 'z', expected 'x'"},
        Change{"inputs", [](Example& e) { e.model().clear_inputs(); }, "0 inputs, expected 1"},
        Change{"output_name", [](Example& e) { e.model().mutable_outputs(0)->set_name("z"); },
               "output 0: 'z', expected 'y'"},
        Change{"new_node", [](Example& e) { set_names(e, {"first", "third"}); },
               "node 'third' (Mul): there is no such node"},
        Change{"missing_node",
               [](Example& e) {
                 e.model().set_nodes(1);
                 set_names(e, {"first"});
               },
               "node 'second' (Mul) is missing"},
        Change{"order", [](Example& e) { set_names(e, {"second", "first"}); },
               "node 'second' (Add), expected node 'first' (Add)"},
        Change{"op", [](Example& e) { e.model().set_node_op(1, 0); },
               "node 'second' (Add), expected node 'second' (Mul)"},
        Change{"engine", [](Example& e) { e.model().set_node_engine(0, 1); },
               "node 'first' (Add): runs on aicore, expected vector"},
        Change{"state", [](Example& e) { e.model().add_states(); }, "1 states, expected 0"},
        Change{"parts", [](Example& e) { e.model().add_parts(); }, "2 parts, expected 1"},
        Change{"symbolic", [](Example& e) { e.model().mutable_parts(0)->mutable_symbolic(); },
               "sizes are open, expected fixed ones"},
        Change{"sizes", [](Example& e) { e.model().mutable_sizes()->add_symbols(); },
               "open sizes follow otherwise"},
        Change{"stream", [](Example& e) { e.part().mutable_streams(0)->set_name("side"); },
               "other streams or events"},
        Change{"task", [](Example& e) { e.part().set_task_kind(0, pb::TASK_COPY); },
               "node 'first' (Add): is done by other tasks"},
        Change{"value_type",
               [](Example& e) { e.part().set_value_type(static_cast<int>(e.h), e.wide); },
               "node 'first' (Add): 'h' is f32 2x4, expected f32 2x3"},
        Change{"constant_type",
               [](Example& e) { e.part().set_value_type(static_cast<int>(e.w2), e.wide); },
               "node 'second' (Mul): 'w2' is f32 2x4, expected f32 2x3"},
        Change{
            "computed_constant",
            [](Example& e) { e.part().set_value_region(static_cast<int>(e.w2), pb::REGION_ARENA); },
            "'w2' is computed, expected a constant"},
        Change{"storage",
               [](Example& e) {
                 e.part().set_value_storage(static_cast<int>(e.h),
                                            e.builder.storage({{1, 1, 0}, {0, 1, 0}}));
               },
               "'h' is stored otherwise"},
        Change{"operand", [](Example& e) { e.part().set_operand(4, e.x); },
               "node 'second' (Mul): 'x' is another value"},
        Change{"kernel", [](Example& e) { e.model().mutable_kernels(1)->set_entry("k_other"); },
               "node 'second' (Mul): an attribute, or a constant that is part of its code"},
        Change{"piece", [](Example& e) { e.builder.piece(e.h, e.y); },
               "puts values into other places"},
        Change{"root", [](Example& e) { e.model().mutable_root(); }, "other nodes run one by one"}),
    [](const auto& each) { return std::string(each.param.what); });

TEST(CompareModels, TheRootLaunchesTheSameKernels) {
  const auto with_root = [](uint32_t kernel) {
    Example example;
    example.model().mutable_root()->add_node_kernel(kernel);
    return example.model();
  };
  EXPECT_EQ(structure_difference(with_root(1), with_root(1)), "");
  EXPECT_THAT(structure_difference(with_root(1), with_root(2)), HasSubstr("node 'first' (Add)"));
  EXPECT_THAT(structure_difference(with_root(0), with_root(1)), HasSubstr("node 'first' (Add)"));
}

}  // namespace
}  // namespace sluice
