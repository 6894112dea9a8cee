#include "runtime/executor/hybrid_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/graphfile/graphfile.h"
#include "common/omfile/testing/model_builder.h"
#include "common/symbolic/expression.h"
#include "common/text/text.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRoot = R"(sluice 1 typed
graph @main(%past: f32[2, ?, 3], %fresh: f32[2, 1, 3]) -> (%present, %seen, %walked) {
  %present: f32[2, ?, 3], %seen: f32[2, 1, 3] = Call(%past, %fresh) {part = 0}
  %walked: f32[2, 1, 3] = Neg(%fresh)
}
)";

// Adds an expression to ModelDef.sizes: its op and its operands.
void add_size(pb::ModelDef& model, ExpressionOp op, int64_t a, int64_t b) {
  model.mutable_sizes()->add_expression_op(static_cast<uint32_t>(op));
  model.mutable_sizes()->add_expression_a(a);
  model.mutable_sizes()->add_expression_b(b);
}

// A part that appends one step to a state of n steps, with capacity for five, and copies that step;
// the root negates it.
class AppendModel {
 public:
  AppendModel() {
    pb::ModelDef& model = b_.model;
    const uint32_t past = b_.type(DType::kF32, {2, -1, 3}),
                   present = b_.type(DType::kF32, {2, -1, 3});
    const uint32_t step = b_.type(DType::kF32, {2, 1, 3}),
                   capacity = b_.type(DType::kF32, {2, 5, 3});
    model.mutable_sizes()->add_symbols()->set_axis(1);
    add_size(model, ExpressionOp::kSymbol, 0, 0);
    add_size(model, ExpressionOp::kConstant, 1, 0);
    add_size(model, ExpressionOp::kAdd, 0, 1);
    for (const uint32_t expression : {0, 1, 0})
      model.mutable_types(static_cast<int>(past))->add_dim_expression(expression);
    for (const uint32_t expression : {0, 3, 0})
      model.mutable_types(static_cast<int>(present))->add_dim_expression(expression);
    bind(*model.add_inputs(), "past", past);
    bind(*model.add_inputs(), "fresh", step);
    bind(*model.add_outputs(), "present", present);
    bind(*model.add_outputs(), "seen", step);
    *b_.part().mutable_inputs() = model.inputs();
    *b_.part().mutable_outputs() = model.outputs();
    bind(*model.add_outputs(), "walked", step);
    model.mutable_root()->set_graph(1);
    pb::StateDef& state = *model.add_states();
    state.set_storage(capacity + 1);
    b_.part().mutable_inputs(0)->set_state(1);
    b_.part().mutable_outputs(0)->set_state(1);
    add_values({past, step, present, step});
    b_.stream("main");
    b_.task(pb::TASK_APPEND, "append", 0, 1, {2}, {0, 1});
    b_.copy("copy", 0, 3, 1);
  }

  pb::ModelDef& model() { return b_.model; }

  Result<std::shared_ptr<const HybridModel>> open() const {
    auto module = parse_module(kRoot, "root");
    EXPECT_TRUE(module) << module.error().message;
    const std::vector<std::byte> graph = graph_bytes(*module).value();
    const auto bytes = testing::om_bytes(
        b_.model, {{.kind = pb::SEGMENT_WEIGHTS},
                   {.kind = pb::SEGMENT_GRAPH, .pieces = {{0, graph}}, .bytes = graph.size()}});
    SLUICE_ASSIGN(auto opened, OpenedModel::open(OmBytes::copy(bytes).value()));
    return HybridModel::lower(std::move(opened));
  }

 private:
  static void bind(pb::BindingDef& binding, const char* name, uint32_t type) {
    binding.set_name(name);
    binding.set_type(type);
  }

  // Adds values of these types, each a binding of the part.
  void add_values(std::initializer_list<uint32_t> types) {
    uint32_t region = pb::REGION_FIRST_BINDING;
    for (const uint32_t type : types) {
      b_.part().add_value_type(type);
      b_.part().add_value_region(region++);
      b_.part().add_value_offset(0);
      b_.part().add_value_bytes(b_.model.types(static_cast<int>(type)).dims(1) < 0 ? 0 : 24);
      b_.part().add_value_storage(0);
      b_.model.mutable_parts(0)->mutable_symbolic()->add_value_buffer(0xffffffff);
    }
  }

  testing::ModelBuilder b_;
};

class HybridRunTest : public ::testing::Test {
 protected:
  HybridRunTest() : run_(AppendModel().open().value(), shared_device(1).value()) {}

  // Executes the model once, with a step whose elements are `value`.
  Result<void> execute(float value, const HybridObserver& observer = {}) {
    step_.assign(6, value);
    SLUICE_TRY(run_.bind_input(
        1, {.tensors = {{DType::kF32, {2, 1, 3}, std::as_bytes(std::span(step_)), nullptr}}}));
    return run_.execute(observer);
  }

  std::vector<float> output(size_t index) const {
    const HostTensor& tensor = run_.output(index).tensors[0];
    std::vector<float> elements(tensor.bytes.size() / sizeof(float));
    std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
    return elements;
  }

  std::vector<float> step_;
  HybridRun run_;
};

TEST_F(HybridRunTest, AStateIsWhatItWasAfterAnException) {
  ASSERT_TRUE(execute(1));
  HybridObserver fails;
  fails.value_made = [](const std::string&, const HostValue&) { throw std::bad_alloc(); };
  EXPECT_THROW(static_cast<void>(execute(2, fails)), std::bad_alloc);
  const auto done = execute(3);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(output(0), ElementsAre(1, 1, 1, 3, 3, 3, 1, 1, 1, 3, 3, 3));
}

TEST_F(HybridRunTest, AStateIsWhatItWasAfterAnError) {
  ASSERT_TRUE(execute(1));
  for (int steps = 2; steps <= 5; ++steps) ASSERT_TRUE(execute(2));
  EXPECT_FALSE(execute(3));  // it would not fit
  run_.reset_states();
  ASSERT_TRUE(execute(4));
  HybridObserver fails;
  fails.after_task = [](const sluice::Run&, uint32_t, uint32_t) {
    return make_error(ErrorCode::kBadValue, "no");
  };
  EXPECT_FALSE(execute(5, fails));
  ASSERT_TRUE(execute(6));
  EXPECT_THAT(output(0), ElementsAre(4, 4, 4, 6, 6, 6, 4, 4, 4, 6, 6, 6));
}

struct alignas(64) Line {
  float at[16];
};

TEST_F(HybridRunTest, PartsWriteIntoMemoryOfTheCaller) {
  Line seen{}, walked{};
  ASSERT_TRUE(run_.bind_output(1, std::as_writable_bytes(std::span(seen.at).first(6))));
  ASSERT_TRUE(run_.bind_output(2, std::as_writable_bytes(std::span(walked.at).first(6))));
  ASSERT_TRUE(execute(5));
  EXPECT_EQ(static_cast<const void*>(run_.output(1).tensors[0].bytes.data()),
            static_cast<const void*>(seen.at));
  EXPECT_EQ(seen.at[5], 5.0F);
  EXPECT_EQ(walked.at[5], -5.0F);
  ASSERT_TRUE(execute(6));
  EXPECT_EQ(seen.at[0], 6.0F);
  EXPECT_EQ(seen.at[6], 0.0F);  // after the appended step
}

TEST_F(HybridRunTest, OutputsBoundToAnyAddressAreFilled) {
  Line seen{};
  ASSERT_TRUE(run_.bind_output(1, std::as_writable_bytes(std::span(seen.at).subspan(1, 6))));
  ASSERT_TRUE(execute(5));
  EXPECT_EQ(seen.at[0], 0.0F);
  EXPECT_EQ(seen.at[1], 5.0F);
  EXPECT_EQ(seen.at[6], 5.0F);
}

TEST_F(HybridRunTest, OutputsAreBoundToTheirSize) {
  Line seen{};
  const auto memory = std::as_writable_bytes(std::span(seen.at));
  EXPECT_THAT(run_.bind_output(1, memory).error().message,
              HasSubstr("output 'seen' has 24 bytes, got 64"));
  EXPECT_THAT(run_.bind_output(0, memory).error().message,
              HasSubstr("its size is known only after the run"));
  EXPECT_THAT(run_.bind_output(3, memory).error().message, HasSubstr("output 3 of 3"));
}

// Finds the index x[0] out of range when it is not zero.
void fault_unless_zero(const KernelArgs* args, uint32_t, uint32_t) {
  if (*static_cast<const float*>(args->pointers[1]) != 0) *args->fault = 1;
}

constexpr const char* kCallThenLaunch = R"(sluice 1 typed
graph @main(%x: f32[16], %y: f32[16]) -> (%seen, %looked) {
  %seen: f32[16] = Call(%x) {part = 0}
  %looked: f32[16] = Neg(%y)
}
)";

// A part that launches a kernel (node 'p') on x, and a root that launches it (node 'looked') on y.
pb::ModelDef launching_model() {
  testing::ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {16});
  const uint32_t x = b.input("x", type), seen = b.output("seen", type);
  b.launch("p", b.stream("main"), b.test_kernel("fault", 4), {seen}, {x});
  *b.part().mutable_inputs() = b.model.inputs();
  *b.part().mutable_outputs() = b.model.outputs();
  b.model.add_inputs()->set_name("y");
  b.model.mutable_inputs(1)->set_type(type);
  b.model.add_outputs()->set_name("looked");
  b.model.mutable_outputs(1)->set_type(type);
  b.model.set_nodes(3);
  b.model.mutable_root()->set_graph(1);
  b.model.mutable_root()->set_first_node(1);
  for (const uint32_t kernel : {0, 1}) b.model.mutable_root()->add_node_kernel(kernel);
  return b.model;
}

TEST(HybridRun, AnIndexOutOfRangeIsAnErrorThatNamesTheNode) {
  const TestKernels kernels{{"fault", fault_unless_zero}};
  Module root = parse_module(kCallThenLaunch, "root").value();
  const std::vector<std::byte> graph = graph_bytes(root).value();
  const auto bytes = testing::om_bytes(
      launching_model(),
      {{.kind = pb::SEGMENT_WEIGHTS},
       {.kind = pb::SEGMENT_GRAPH, .pieces = {{0, graph}}, .bytes = graph.size()}});
  const auto opened = OpenedModel::open(OmBytes::copy(bytes).value(), {.test_kernels = &kernels});
  ASSERT_TRUE(opened) << opened.error().message;
  HybridRun run(HybridModel::lower(*opened).value(), shared_device(2).value());
  const std::vector<float> zeros(16, 0), ones(16, 1);
  const auto execute = [&](const std::vector<float>& x, const std::vector<float>& y) {
    for (const auto& [input, value] : {std::pair(0, &x), std::pair(1, &y)}) {
      const HostTensor tensor{DType::kF32, {16}, std::as_bytes(std::span(*value)), nullptr};
      EXPECT_TRUE(run.bind_input(static_cast<size_t>(input), {.tensors = {tensor}}));
    }
    const auto done = run.execute();
    return done ? "" : done.error().message;
  };
  EXPECT_EQ(execute(zeros, zeros), "");
  EXPECT_THAT(execute(ones, zeros), HasSubstr("node 'p': an index is out of range"));
  EXPECT_EQ(execute(zeros, ones),
            "node 'looked' (Neg): an index is out of range, or an integer is divided by 0");
  EXPECT_EQ(execute(zeros, zeros), "");
}

TEST(HybridModel, RefusesBindingsOfPartsThatNothingSizes) {
  AppendModel unset;
  unset.model().mutable_types(0)->clear_dim_expression();
  const auto refused = unset.open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadCompiledModel);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr("'past' of a part is f32 [2, ?, 3], which has no size before the part runs"));
  AppendModel fixed;
  fixed.model().mutable_parts(0)->clear_symbolic();
  EXPECT_THAT(fixed.open().error().message, HasSubstr("which has no size before the part runs"));
}

TEST(HybridModel, RefusesBindingsWhoseSizeIsNegative) {
  AppendModel shrinking;
  shrinking.model().mutable_sizes()->set_expression_a(1, -2);
  HybridRun run(shrinking.open().value(), shared_device(1).value());
  const std::vector<float> step(6);
  ASSERT_TRUE(run.bind_input(
      1, {.tensors = {{DType::kF32, {2, 1, 3}, std::as_bytes(std::span(step)), nullptr}}}));
  const auto done = run.execute();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kBadBinding);
}

}  // namespace
}  // namespace sluice
