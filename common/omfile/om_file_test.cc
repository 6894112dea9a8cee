#include "common/omfile/om_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "common/base/digest.h"
#include "common/omfile/testing/model_builder.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::om_bytes;

constexpr OmChecks kTestChecks{.weights = false, .machine = true, .test_tasks = true};

// A model with one launch and one copy on two streams, an event, weights and bytes in the kernels
// segment.
ModelBuilder small_model() {
  ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {2, 8});
  const uint32_t x = b.input("x", type);
  const uint32_t y = b.output("y", type);
  const uint32_t w = b.value("w", type, pb::REGION_WEIGHTS, 64);
  const uint32_t middle = b.arena_value("middle", type);
  const uint32_t s[2] = {b.stream("s0"), b.stream("s1")};
  const uint32_t e = b.event("e");
  b.launch("add", s[0], b.test_kernel("k", 2), {middle}, {x, w});
  b.record(s[0], e);
  b.wait(s[1], e);
  b.copy("copy", s[1], y, middle);
  b.alias(middle, 0);
  return b;
}

std::vector<std::byte> small_om(const pb::ModelDef& model) {
  static const std::vector<std::byte> weights(128, std::byte{7});
  static const std::vector<std::byte> code(100, std::byte{9});
  return om_bytes(
      model, {{.kind = pb::SEGMENT_WEIGHTS,
               .pieces = {{0, std::span(weights).first(60)}, {64, std::span(weights).first(64)}},
               .bytes = 128},
              {.kind = pb::SEGMENT_KERNELS, .pieces = {{0, code}}, .bytes = 100}});
}

Result<OmFile> read(std::span<const std::byte> bytes, const OmChecks& checks = kTestChecks) {
  return read_om(OmBytes::copy(bytes).value(), checks);
}

TEST(OmFile, ReadsWhatWasWritten) {
  const auto bytes = small_om(small_model().model);
  const auto file = read(bytes, {.weights = true, .machine = true, .test_tasks = true});
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->model->segments_size(), 2);
  EXPECT_EQ(file->model->segments(0).offset() % kOmPage, 0u);
  EXPECT_EQ(file->segment(pb::SEGMENT_WEIGHTS).size(), 128u);
  EXPECT_EQ(file->segment(pb::SEGMENT_WEIGHTS)[59], std::byte{7});
  EXPECT_EQ(file->segment(pb::SEGMENT_WEIGHTS)[60], std::byte{0});
  EXPECT_EQ(file->segment(pb::SEGMENT_WEIGHTS)[64], std::byte{7});
  EXPECT_EQ(bytes, small_om(small_model().model));
}

TEST(OmFile, NamesOfEnginesAreChecked) {
  const auto fault_with = [](const std::vector<std::string>& names) {
    pb::ModelDef model = small_model().model;
    for (const std::string& name : names) model.add_engines(name);
    const auto file = read(small_om(model));
    return file ? std::string() : file.error().message;
  };
  EXPECT_EQ(fault_with({"none", "aicore+vector"}), "");
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\n"), std::string(65, 'a')}) {
    EXPECT_EQ(fault_with({bad}), fmt::format("the model names the engine '{}', expected 1 to 64 "
                                             "characters of a-z, 0-9, _ and +",
                                             bad));
  }
  EXPECT_EQ(fault_with(std::vector<std::string>(201, "a")),
            "the model names 201 engines, expected at most 200");
}

TEST(OmFile, RefusesEveryTruncation) {
  const auto bytes = small_om(small_model().model);
  for (size_t size = 0; size < bytes.size(); size += size < 2000 ? 1 : 97) {
    const auto file = read(std::span(bytes).first(size));
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code, ErrorCode::kBadCompiledModel);
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read(longer));
}

TEST(OmFile, RefusesEveryDamagedByteButInWeights) {
  auto bytes = small_om(small_model().model);
  const auto weights = read(bytes)->model->segments(0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x10};
    const bool in_weights = i >= weights.offset() && i < weights.offset() + weights.bytes();
    const auto file = read(bytes);
    ASSERT_EQ(file.ok(), in_weights) << "byte " << i;
    if (in_weights) {
      ASSERT_FALSE(read(bytes, {.weights = true, .machine = true, .test_tasks = true}))
          << "byte " << i;
    } else {
      ASSERT_EQ(file.error().code, ErrorCode::kBadCompiledModel) << "byte " << i;
    }
    bytes[i] ^= std::byte{0x10};
  }
}

TEST(OmFile, RefusesForeignFormatsAndMachines) {
  auto bytes = small_om(small_model().model);
  bytes[8] = std::byte{77};
  const auto foreign = read(bytes);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("format 77"));
  EXPECT_EQ(foreign.error().hint, "compile the model again with this release");
  auto model = small_model().model;
  model.set_isa("riscv");
  const auto other = read(small_om(model));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kWrongDevice);
  EXPECT_TRUE(read(small_om(model), {.weights = false, .machine = false, .test_tasks = true}));
  EXPECT_THAT(read(std::as_bytes(std::span("not a model at all"))).error().message,
              HasSubstr("not a compiled model"));
}

TEST(OmFile, RefusesPartsItCannotRun) {
  auto code_of = [](const pb::ModelDef& model) {
    const auto file = read(small_om(model));
    return file ? ErrorCode::kInternal : file.error().code;
  };
  auto rooted = small_model().model;
  rooted.mutable_root()->set_graph(0);  // weights
  EXPECT_EQ(code_of(rooted), ErrorCode::kBadCompiledModel);
  rooted.mutable_root()->set_graph(9);
  EXPECT_EQ(code_of(rooted), ErrorCode::kBadCompiledModel);
  auto symbolic = small_model().model;
  symbolic.mutable_parts(0)->mutable_symbolic();
  EXPECT_EQ(code_of(symbolic), ErrorCode::kUnsupportedPart);
  auto none = small_model().model;
  none.clear_parts();
  EXPECT_EQ(code_of(none), ErrorCode::kUnsupportedPart);
  EXPECT_FALSE(read(small_om(small_model().model), OmChecks{})) << "TASK_TEST needs a test";
}

struct ModelFault {
  const char* name;
  std::function<void(ModelBuilder&)> make;
  const char* message;
};

void add_map(ModelBuilder& b, DType key, uint32_t value) {
  pb::TypeDef& map = *b.model.add_types();
  map.set_kind(pb::VALUE_MAP);
  map.set_dtype(static_cast<uint32_t>(key));
  map.set_element(value);
}

class FaultTest : public ::testing::TestWithParam<ModelFault> {};
TEST_P(FaultTest, IsNamed) {
  ModelBuilder b = small_model();
  GetParam().make(b);
  const auto file = read(small_om(b.model));
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    OmFile, FaultTest,
    ::testing::Values(
        ModelFault{"dtype", [](ModelBuilder& b) { b.model.mutable_types(0)->set_dtype(99); },
                   "unknown dtype 99"},
        ModelFault{"huge",
                   [](ModelBuilder& b) { b.model.mutable_types(0)->set_dims(0, int64_t{1} << 62); },
                   "impossibly many elements"},
        ModelFault{"dynamic", [](ModelBuilder& b) { b.model.mutable_types(0)->set_dims(0, -1); },
                   "not fixed"},
        ModelFault{"binding", [](ModelBuilder& b) { b.model.mutable_inputs(0)->set_type(5); },
                   "input 'x' has type 5 of 1"},
        ModelFault{"names", [](ModelBuilder& b) { *b.model.add_inputs() = b.model.inputs(0); },
                   "two inputs are called 'x'"},
        ModelFault{"blocks", [](ModelBuilder& b) { b.model.mutable_kernels(0)->set_blocks(0); },
                   "kernel 'k' has an impossible number of blocks"},
        ModelFault{"object",
                   [](ModelBuilder& b) { b.model.mutable_kernels(0)->set_object_bytes(101); },
                   "outside the kernels segment"},
        ModelFault{
            "scratch",
            [](ModelBuilder& b) { b.model.mutable_kernels(0)->set_scratch_bytes((1 << 20) + 1); },
            "more scratch"},
        ModelFault{"values", [](ModelBuilder& b) { b.part().add_value_offset(0); },
                   "describe values differ in length"},
        ModelFault{"tasks", [](ModelBuilder& b) { b.part().add_task_stream(0); },
                   "describe tasks differ in length"},
        ModelFault{"nodes", [](ModelBuilder& b) { b.model.add_node_op(0); },
                   "describe nodes differ in length"},
        ModelFault{"arena", [](ModelBuilder& b) { b.part().mutable_memory()->set_arena_bytes(63); },
                   "value 3 ('middle') at bytes 0 + 64 leaves its region of 63"},
        ModelFault{"weights", [](ModelBuilder& b) { b.part().set_value_offset(2, 128); },
                   "value 2 ('w') at bytes 128 + 64"},
        ModelFault{"offset", [](ModelBuilder& b) { b.part().set_value_offset(2, 32); },
                   "not a multiple of 64"},
        ModelFault{"overflow", [](ModelBuilder& b) { b.part().set_value_offset(2, ~uint64_t{63}); },
                   "leaves its region"},
        ModelFault{"storage", [](ModelBuilder& b) { b.part().set_value_bytes(3, 32); },
                   "32 bytes of storage, its type needs 64"},
        ModelFault{"region", [](ModelBuilder& b) { b.part().set_value_region(3, 4); },
                   "value 3 lies in region 4"},
        ModelFault{"no_storage", [](ModelBuilder& b) { b.part().set_value_storage(3, 1); },
                   "value 3 ('middle') has storage 0 of 0"},
        ModelFault{"storage_rank",
                   [](ModelBuilder& b) { b.part().set_value_storage(3, b.storage(nhwc_map(4))); },
                   "value 3 ('middle'): a stored axis of dim 2"},
        ModelFault{"storage_bytes",
                   [](ModelBuilder& b) {
                     b.part().set_value_storage(3, b.storage({{0}, {1, 64}, {1, 1, 64}}));
                   },
                   "has 64 bytes of storage, too few for [0, 1 by 64, 1 mod 64]"},
        ModelFault{"storage_columns",
                   [](ModelBuilder& b) {
                     b.part().set_value_storage(3, b.storage(dense_map(2)));
                     b.model.mutable_storages(0)->add_modulus(0);
                   },
                   "the columns of storage 0 differ in length"},
        ModelFault{"operand", [](ModelBuilder& b) { b.part().set_operand(1, 4); },
                   "task 0 (node 'add'): operand 1 is value 4 of 4"},
        ModelFault{"absent", [](ModelBuilder& b) { b.part().set_operand(1, 0xffffffff); },
                   "operand 1 is value"},
        ModelFault{"operands", [](ModelBuilder& b) { b.part().set_task_operand_end(0, 9); },
                   "outside the list"},
        ModelFault{"written", [](ModelBuilder& b) { b.part().set_operand(0, 2); },
                   "operand 0 is written but lies in constants or an input"},
        ModelFault{"outputs", [](ModelBuilder& b) { b.part().set_task_outputs(0, 4); },
                   "writes more operands than it has"},
        ModelFault{"stream", [](ModelBuilder& b) { b.part().set_task_stream(0, 2); }, "stream 2"},
        ModelFault{"kernel", [](ModelBuilder& b) { b.part().set_task_target(0, 1); }, "kernel 1"},
        ModelFault{"node", [](ModelBuilder& b) { b.part().set_task_node(0, 9); }, "node 9"},
        ModelFault{
            "kind",
            [](ModelBuilder& b) { b.part().set_task_kind(0, static_cast<pb::TaskKind>(17)); },
            "unknown kind 17"},
        ModelFault{"value",
                   [](ModelBuilder& b) {
                     b.model.add_types()->set_kind(static_cast<pb::ValueKindDef>(4));
                   },
                   "is of kind 4"},
        ModelFault{"element", [](ModelBuilder& b) { add_map(b, DType::kI64, 9); },
                   "is of kind 3 with elements of type 9"},
        ModelFault{"key", [](ModelBuilder& b) { add_map(b, DType::kF32, b.type(DType::kF32, {})); },
                   "expected keys that are integers or strings"},
        ModelFault{
            "keys",
            [](ModelBuilder& b) { add_map(b, static_cast<DType>(99), b.type(DType::kF32, {})); },
            "from keys of dtype 99"},
        ModelFault{"scalar",
                   [](ModelBuilder& b) { add_map(b, DType::kI64, b.type(DType::kF32, {2})); },
                   "expected scalars"},
        ModelFault{"host", [](ModelBuilder& b) { b.part().set_task_kind(0, pb::TASK_HOST); },
                   "no host graph"},
        ModelFault{"code", [](ModelBuilder& b) { b.part().set_task_kind(0, pb::TASK_LAUNCH); },
                   "its kernel has no code"},
        ModelFault{"event", [](ModelBuilder& b) { b.part().set_task_target(1, 1); }, "event 1"},
        ModelFault{"records", [](ModelBuilder& b) { b.part().set_task_kind(1, pb::TASK_WAIT); },
                   "event 0 is recorded by no task"},
        ModelFault{"record", [](ModelBuilder& b) { b.part().set_task_record(2, 2); },
                   "waits for record 2 of event 0, which has 1"},
        ModelFault{"none", [](ModelBuilder& b) { b.part().set_task_record(2, 0); },
                   "waits for record 0 of event 0, which has 1"},
        ModelFault{"notify",
                   [](ModelBuilder& b) {
                     b.part().set_has_notifies(true), b.part().set_task_kind(2, pb::TASK_RECORD);
                   },
                   "0 tasks wait for a record of notify 0, expected 1"},
        ModelFault{"deadlock",
                   [](ModelBuilder& b) {
                     b.part().set_task_stream(2, 0),
                         b.part().mutable_task_kind()->SwapElements(1, 2),
                         b.part().mutable_task_record()->SwapElements(1, 2);
                   },
                   "never recorded before it"},
        ModelFault{"copy",
                   [](ModelBuilder& b) {
                     b.part().set_value_bytes(3, 128),
                         b.part().mutable_memory()->set_arena_bytes(128);
                   },
                   "copies 128 bytes to 64"},
        ModelFault{"alias", [](ModelBuilder& b) { b.part().set_alias_value(0, 4); },
                   "alias 0 is value 4"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sluice
