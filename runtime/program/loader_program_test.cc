#include "runtime/program/loader_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/testing/test_folder.h"
#include "common/omfile/testing/model_builder.h"
#include "common/tensorfile/binding.h"
#include "common/tensorfile/tensorfile.h"
#include "runtime/program/bindings.h"
#include "runtime/program/measure.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// A model that computes y = x through two values, one of which is read as NHWC and has a view.
pb::ModelDef copying_model() {
  testing::ModelBuilder b;
  const uint32_t type = b.type(DType::kF32, {1, 2, 2, 3});
  const uint32_t ids = b.type(DType::kI64, {2});
  const uint32_t x = b.input("x", type);
  const uint32_t i = b.input("ids=0", ids);
  const uint32_t y = b.output("out/y", type);
  const uint32_t j = b.output("ids", ids);
  const uint32_t dense = b.arena_value("dense", type);
  const uint32_t stored = b.arena_value("stored", type);
  b.part().set_value_storage(static_cast<int>(stored), b.storage(nhwc_map(4)));
  const uint32_t view = b.value("view", type, pb::REGION_ARENA, 0);
  const uint32_t stream = b.stream("main");
  b.copy("first", stream, dense, x);
  b.alias(view, 0);
  b.copy("second", stream, stored, x);
  b.copy("third", stream, y, dense);
  b.copy("fourth", stream, j, i);
  b.model.add_engines("rts");
  for (int n = 0; n < 4; ++n) b.model.add_node_engine(0);
  b.model.add_node_multiply_adds(5);
  for (int n = 0; n < 3; ++n) b.model.add_node_multiply_adds(0);
  return b.model;
}

class LoaderProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Tensor x = make_tensor(DType::kF32, {1, 2, 2, 3});
    for (size_t i = 0; i < 12; ++i) x.as<float>()[i] = static_cast<float>(i);
    ASSERT_TRUE(write_tensor(path("x.npy"), x));
    Tensor ids = make_tensor(DType::kI64, {2});
    ids.as<int64_t>()[1] = 9;
    ASSERT_TRUE(write_tensor(path("ids.pb"), ids));
    ASSERT_TRUE(write_om(path("m.om"), copying_model(), {}));
    options_.model = path("m.om");
    options_.inputs = {"x=" + path("x.npy"), "ids=0=" + path("ids.pb")};
    options_.output_dir = path("out");
    options_.runs = 3;
  }
  std::string path(const std::string& name) const { return folder_.file(name); }

  const TestFolder folder_;
  LoaderOptions options_;
};

TEST_F(LoaderProgramTest, WritesOutputsByName) {
  const auto done = run_loader(options_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(read_tensor(path("out/out_y.npy"))->as<float>()[11], 11.0f);
  EXPECT_EQ(read_tensor(path("out/ids.npy"))->as<int64_t>()[1], 9);
  options_.format = "pb";
  ASSERT_TRUE(run_loader(options_));
  EXPECT_EQ(read_tensor(path("out/out_y.pb"))->name, "out/y");
}

TEST(WriteOutputs, GivesEveryOutputItsOwnFile) {
  const TestFolder folder;
  std::vector<NamedValue> outputs;
  for (const char* name : {"a/b", "a_b", "a_b"}) {
    outputs.push_back({name, {}});
    outputs.back().value.tensors.push_back(make_tensor(DType::kI64, {1}, name));
    outputs.back().value.tensors[0].as<int64_t>()[0] = static_cast<int64_t>(outputs.size());
  }
  LoaderOptions options;
  options.output_dir = folder.path();
  const auto done = write_outputs(outputs, options);
  EXPECT_TRUE(done) << done.error().message;
  int64_t expected = 0;
  for (const char* file : {"a_b.npy", "a_b~2.npy", "a_b~3.npy"}) {
    EXPECT_EQ(read_tensor(folder.file(file))->as<int64_t>()[0], ++expected) << file;
  }
}

TEST_F(LoaderProgramTest, DumpsValuesInLogicalOrderAndViews) {
  options_.dump_dir = path("values");
  options_.dump_glob = "*";
  ASSERT_TRUE(run_loader(options_));
  EXPECT_EQ(read_tensor(path("values/dense.npy"))->as<float>()[7], 7.0f);
  EXPECT_EQ(read_tensor(path("values/view.npy"))->as<float>()[7], 7.0f);
  // Bytes 0..11 are stored as 1x2x3x2 (N, H, W, C): element (c, h, w) is byte h*6 + w*2 + c.
  const auto stored = read_tensor(path("values/stored.npy"));
  EXPECT_EQ(stored->dims, (std::vector<int64_t>{1, 2, 2, 3}));
  EXPECT_EQ(stored->as<float>()[7], 3.0f);    // (1, 0, 1)
  EXPECT_EQ(stored->as<float>()[11], 11.0f);  // (1, 1, 2)
  options_.dump_dir = path("some");
  options_.dump_glob = "d*";
  ASSERT_TRUE(run_loader(options_));
  EXPECT_TRUE(std::filesystem::exists(path("some/dense.npy")));
  EXPECT_FALSE(std::filesystem::exists(path("some/view.npy")));
}

TEST_F(LoaderProgramTest, SaysWhenNoValueFitsTheDump) {
  options_.dump_dir = path("none");
  options_.dump_glob = "D*";
  const auto done = run_loader(options_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kBadOption);
  EXPECT_THAT(done.error().hint, HasSubstr("'dense'"));
}

TEST_F(LoaderProgramTest, TracesTasks) {
  options_.trace = path("trace.json");
  ASSERT_TRUE(run_loader(options_));
  const auto trace = json_parse(*read_text(path("trace.json")));
  ASSERT_TRUE(trace);
  const Json::Array& events = *trace->find("traceEvents")->as_array();
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(*events[1].find("name")->as_string(), "first");
  EXPECT_GE(*events[4].find("ts")->number(), *events[3].find("ts")->number());
  EXPECT_EQ(*events[5].find("ph")->as_string(), "i");
  EXPECT_EQ(*events[5].find("cat")->as_string(), "no task");
}

TEST_F(LoaderProgramTest, MeasuresNodes) {
  const auto model = OpenedModel::open(options_.model);
  ASSERT_TRUE(model);
  const auto session = make_static_session(*model, 2);
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->bind(*read_inputs((*model)->def(), options_)));
  Measurement measurement;
  ASSERT_TRUE(measure(**session, 5, measurement));
  const auto json = json_parse(measurement_json(measurement));
  ASSERT_TRUE(json);
  for (const char* key :
       {"load_ms", "first_ms", "min_ms", "median_ms", "p90_ms", "p99_ms", "peak_rss_mb",
        "private_mb", "threads", "operand_bytes", "host_cpu_bytes"}) {
    EXPECT_NE(json->find(key), nullptr) << key;
  }
  const Json::Array& nodes = *json->find("nodes")->as_array();
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(*nodes[0].find("engine")->as_string(), "rts");
  EXPECT_EQ(*nodes[0].find("multiply_adds")->as_int(), 5);
  EXPECT_EQ(*nodes[0].find("operand_bytes")->as_int(), 2 * 48);
  EXPECT_EQ(*json->find("operand_bytes")->as_int(), 3 * 2 * 48 + 2 * 16);
  EXPECT_EQ(*json->find("host_cpu_bytes")->as_int(), 0);
  const std::string table = measurement_table(measurement);
  EXPECT_THAT(table, HasSubstr("third"));
  EXPECT_THAT(table, ::testing::ContainsRegex(" - +-  rts"));  // no multiply-adds: no speed
}

TEST(Measurement, SumsUpTheOperandsOfHostCpu) {
  Measurement measurement;
  for (const auto& [engine, bytes] :
       {std::pair{"host_cpu", 3 << 20}, {"vector", 4 << 20}, {"host_cpu", 1 << 20}}) {
    NodeTime& node = measurement.nodes.emplace_back();
    node.engine = engine;
    node.operand_bytes = static_cast<uint64_t>(bytes);
  }
  const auto json = json_parse(measurement_json(measurement));
  ASSERT_TRUE(json);
  EXPECT_EQ(*json->find("operand_bytes")->as_int(), 8 << 20);
  EXPECT_EQ(*json->find("host_cpu_bytes")->as_int(), 4 << 20);
  EXPECT_THAT(measurement_table(measurement),
              HasSubstr("operands of a run: 8.00 MB, of which 4.00 MB on host_cpu"));
}

TEST_F(LoaderProgramTest, NamesWhatIsWrongWithInputs) {
  auto message = [this](std::vector<std::string> inputs) {
    options_.inputs = std::move(inputs);
    const auto done = run_loader(options_);
    return done ? std::string() : done.error().message;
  };
  EXPECT_EQ(message({"x=" + path("x.npy")}), "input 'ids=0' is not given");
  EXPECT_EQ(message({"x=" + path("ids.pb")}),
            "input 'x' takes f32 1x2x2x3, '" + path("ids.pb") + "' holds i64 2");
  EXPECT_EQ(message({"x=" + path("x.npy"), "x=" + path("x.npy")}), "input 'x' is given twice");
  EXPECT_THAT(message({"z=" + path("x.npy")}), HasSubstr("no input is called 'z'"));
  EXPECT_THAT(message({"z=" + path("z.npz")}), HasSubstr("no input is called 'z'"));
  EXPECT_THAT(message({path("x.npy")}), HasSubstr("expected NAME=FILE"));
  EXPECT_THAT(run_loader(options_).error().hint, HasSubstr("'x', 'ids=0'"));
  EXPECT_THAT(message({"x=" + path("x.txt")}), HasSubstr(".npz"));
  EXPECT_THAT(message({"x=" + path("none.npy")}), HasSubstr("none.npy"));
  options_.random = 3;
  EXPECT_EQ(message({}), "");
}

TEST(LoaderOptions, ReadsTheCommandLine) {
  const char* argv[] = {
      "sluice-loader", "--random", "--input", "a=b", "--input=c=d", "--dump-values=dir:*conv*",
      "--threads=3",   "-"};
  const auto options = parse_loader_options(8, argv);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->model, "-");
  EXPECT_EQ(options->random, 0u);
  EXPECT_THAT(options->inputs, ::testing::ElementsAre("a=b", "c=d"));
  EXPECT_EQ(options->dump_dir, "dir");
  EXPECT_EQ(options->dump_glob, "*conv*");
  EXPECT_EQ(options->threads, 3);
  const char* wrong[] = {"sluice-loader", "--none", "m.om"};
  EXPECT_EQ(exit_class(parse_loader_options(3, wrong).error().code), ExitClass::kUsage);
  for (const char* alone : {"--json", "--runs=3", "--format=pb"}) {
    const char* lonely[] = {"sluice-loader", alone, "m.om"};
    const auto refused = parse_loader_options(3, lonely);
    ASSERT_FALSE(refused) << alone;
    EXPECT_EQ(exit_class(refused.error().code), ExitClass::kUsage);
  }
  const char* bad[] = {"sluice-loader", "--threads=x", "m.om"};
  EXPECT_EQ(exit_class(parse_loader_options(3, bad).error().code), ExitClass::kBadInput);
}

TEST(FillRandom, VariesAndRepeats) {
  Tensor a = make_tensor(DType::kF32, {1000});
  Tensor b = a;
  Tensor c = a;
  fill_random(a, 1);
  fill_random(b, 1);
  fill_random(c, 2);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_NE(a.bytes, c.bytes);
  const auto [low, high] = std::minmax_element(a.as<float>().begin(), a.as<float>().end());
  EXPECT_LT(*low, -0.9f);
  EXPECT_GT(*high, 0.9f);
}

TEST(Percentile, IsTheNearestRank) {
  const std::vector<double> ten{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(percentile(ten, 0), 1);
  EXPECT_EQ(percentile(ten, 0.5), 5);
  EXPECT_EQ(percentile(ten, 0.9), 9);
  EXPECT_EQ(percentile(ten, 0.99), 10);
}

}  // namespace
}  // namespace sluice
