#include "common/graphfile/graphfile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "common/base/testing/test_folder.h"
#include "common/graphfile/header.h"
#include "common/ops/attributes.h"
#include "graph_generated.h"

namespace sluice {
namespace {

using Bytes = std::vector<std::byte>;

Bytes counted(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

// Makes a small module with every feature: two graphs, symbols, every kind of constant and
// attribute, placement, storage, names.
Module example_module() {
  Module m;
  m.level = Level::kPartitioned;
  m.last_stage = StageId::kPartition;
  m.options["opset"] = "23";
  m.producer = "a maker";
  m.made_from.push_back(sha256(std::string_view("before")));
  Graph& main = m.add_graph("main");
  const SymbolId n = m.expressions.add_symbol({"N", SymbolOrigin::kInputDim, 0, 0, 0, 1, 64, 1});
  m.expressions.add_symbol({"unused", SymbolOrigin::kInputDim, 0, 0, 0, 1, 64, 1});
  const ExpressionId half =
      m.expressions.floor_divide(m.expressions.symbol_expression(n), m.expressions.constant(2));
  const TypeId x_type = m.intern(
      Type::tensor(DType::kF32, {m.make_dim(m.expressions.symbol_expression(n)), Dim::fixed(8)}));
  const TypeId y_type = m.intern(Type::tensor(DType::kF32, {m.make_dim(half), Dim::unknown()}));
  const TypeId w_type = m.intern(Type::fixed_tensor(DType::kF32, {8, 100}));
  Value& x = main.add_input(x_type, "x");
  Value& small = main.add_constant(
      m.make_constant(m.intern(Type::fixed_tensor(DType::kI64, {2})), counted(16)), "k");
  const SegmentId big = m.make_constant(w_type, counted(3200));
  Graph& doubled = m.add_graph("main.w2", GraphRole::kExpression);
  Value& w = doubled.add_input(w_type, "w");
  doubled.add_output(doubled.add_node(Op::kAdd, {&w, &w}).output());
  doubled.first_node()->output().set_type(w_type);
  Value& made = main.add_constant(m.make_expression(w_type, doubled.id(), {big}), "w2");
  Value& splat = main.add_constant(m.make_splat(w_type, counted(4)), "s");
  Graph& body = m.add_graph("main.f", GraphRole::kFused);
  body.add_output(
      body.add_node(Op::kMatMul, {&body.add_input(x_type, "a"), &body.add_input(w_type, "b")})
          .output());
  Node& fused = main.add_node(Op::kFused, {&x, &made});
  fused.output().set_type(y_type);
  fused.set_attribute("body", GraphRef{body.id()});
  fused.set(attributes::Fused::anchor, int64_t{0});
  fused.set_attribute("f", 0.5f);
  fused.set_attribute("fs", std::vector<float>{1, 2});
  fused.set_attribute("is", std::vector<int64_t>{-1, 1});
  fused.set_attribute("s", std::string("text"));
  fused.set_attribute("ss", std::vector<std::string>{"a", "", "a"});
  fused.set_attribute("t", TypeRef{m.intern(Type::sequence(y_type))});
  fused.set_attribute("v", SegmentRef{big});
  fused.set_name("fused node");
  fused.add_origins({m.add_onnx_node("n0"), m.add_onnx_node("n1")});
  fused.placement.engine = EngineId::kAicore;
  fused.placement.stream_label.text = "left";
  fused.placement.precision = Precision::kBF16;
  fused.placement.kernel = m.add_kernel(
      {m.make_constant(m.intern(Type::fixed_tensor(DType::kU8, {2000})), counted(2000)), "k_1",
       "avx2", 8, 64, 99});
  Storage storage;
  storage.map = {{1, 2}, {0}, {1, 1, 2}};
  storage.dims = {Dim::fixed(3), m.make_dim(half), Dim::fixed(2)};
  storage.bytes = Dim::fixed(4096);
  fused.output().set_storage(m.intern(storage));
  Node& add = main.add_node(Op::kAdd, {&fused.output(), nullptr, &splat, &small});
  add.add_after(fused);
  main.add_output(add.output());
  return m;
}

Result<Module> read(const Bytes& bytes) {
  return read_graph(std::make_shared<const Bytes>(bytes), "test");
}

Bytes written(Module& module) { return graph_bytes(module).value(); }

TEST(GraphFile, RoundTripIsTheIdentity) {
  Module module = example_module();
  const Bytes bytes = written(module);
  EXPECT_EQ(written(module), bytes) << "the same module must give the same bytes";
  auto back = read(bytes);
  ASSERT_TRUE(back.ok()) << error_text(back.error());
  EXPECT_EQ(back->made_from, module.made_from) << "which it is not part of after partition";
  EXPECT_EQ(written(*back), bytes);
  EXPECT_EQ(back->level, Level::kPartitioned);
  EXPECT_EQ(back->expressions.symbol_count(), 1u) << "unused symbols are not written";
  const Node& fused = *back->root().first_node();
  EXPECT_EQ(fused.name(), "fused node");
  EXPECT_EQ(fused.get(StringsAttribute{"ss"}), (std::vector<std::string>{"a", "", "a"}));
  EXPECT_EQ(fused.origins().size(), 2u);
  EXPECT_EQ(back->kernel(fused.placement.kernel).multiply_adds, 99u);
  EXPECT_EQ(fused.output().storage()->dims.size(), 3u);
  EXPECT_EQ(fused.output().storage()->map, (StorageMap{{1, 2}, {0}, {1, 1, 2}}));
  EXPECT_EQ(fused.get(attributes::Fused::body)->name(), "main.f");
  EXPECT_EQ(back->root().last_node()->input(1), nullptr);
  const Segment& expression = back->segment(fused.input(1)->segment());
  const auto big = back->bytes(expression.inputs[0]);
  ASSERT_TRUE(big.ok());
  EXPECT_TRUE(std::ranges::equal(*big, counted(3200)));
}

// Adds a schedule with every fact, one of which, the wider rows, mentions a type of its own.
void add_schedule(Module& m) {
  Graph& main = m.root();
  Node &fused = *main.first_node(), &add = *main.last_node();
  const Dim bytes = m.make_dim(
      m.expressions.multiply(m.expressions.symbol_expression(0), m.expressions.constant(32)));
  main.streams = {"left", "right"};
  main.memories = {{"hbm", {4096, 64}}, {"p2p", {}}};
  main.arena_bytes = 4160;
  main.scratch_bytes = 64;
  main.buffers.push_back({MemoryClass::kInput, 0, bytes, Dim::unknown(), {{0, 0, 0}}});
  main.buffers.push_back(
      {MemoryClass::kArena, 1, bytes, Dim::fixed(64), {{0, 0, 1}, {1, 2, 2}}, {0, 3}});
  main.inputs()[0]->set_place({0, Dim::fixed(0), bytes});
  fused.output().set_place(
      {1, Dim::fixed(8), bytes, m.intern(Type::fixed_tensor(DType::kF16, {3, 5}))});
  fused.placement.stream = 1;
  fused.placement.records = {0};
  add.placement.no_task = true;
  add.placement.complete_after = 7;
}

TEST(GraphFile, ScheduleSurvives) {
  Module module = example_module();
  add_schedule(module);
  const Bytes bytes = written(module);
  auto back = read(bytes);
  ASSERT_TRUE(back.ok()) << error_text(back.error());
  EXPECT_EQ(written(*back), bytes);
  const Graph& main = back->root();
  EXPECT_EQ(main.memories, module.root().memories);
  EXPECT_EQ(main.arena_bytes, 4160u);
  EXPECT_EQ(main.scratch_bytes, 64u);
  EXPECT_EQ(main.buffers[1].live, module.root().buffers[1].live);
  EXPECT_EQ(main.buffers[1].held, (TaskRange{0, 3}));
  EXPECT_TRUE(main.inputs()[0]->place().bytes.is_expression());
  EXPECT_EQ(main.inputs()[0]->place().capacity, -1);
  const MemoryPlace& place = main.first_node()->output().place();
  EXPECT_EQ(back->type(place.capacity), Type::fixed_tensor(DType::kF16, {3, 5}));
  EXPECT_EQ(main.last_node()->placement.complete_after, 7);
}

TEST(GraphFile, NamesAreNotInTheStructureDigest) {
  Module a = example_module(), b = example_module();
  b.root().inputs()[0]->set_name("another");
  b.options["opset"] = "22";
  EXPECT_EQ(structure_digest(a).value(), structure_digest(b).value());
  EXPECT_EQ(structure_digest(a).value(), parse_graph_header(written(a))->structure_digest);
  EXPECT_NE(parse_graph_header(written(a))->file_digest,
            parse_graph_header(written(b))->file_digest);
  b.root().first_node()->set(attributes::Fused::anchor, int64_t{1});
  EXPECT_NE(structure_digest(a).value(), structure_digest(b).value());
}

TEST(GraphFile, OptionsForLaterStagesAreInNoDigest) {
  Module a = example_module(), b = example_module();
  b.options["math"] = "high_precision";  // sluice-subgraph-optimize reads it
  b.options["build.skip"] = "plan-memory";
  EXPECT_EQ(parse_graph_header(written(a))->file_digest,
            parse_graph_header(written(b))->file_digest);
  EXPECT_EQ(read(written(b))->options, b.options);
  for (Module* module : {&a, &b}) module->last_stage = StageId::kSubgraphOptimize;
  EXPECT_NE(parse_graph_header(written(a))->file_digest,
            parse_graph_header(written(b))->file_digest);
  a.options["math"] = "high_precision";
  EXPECT_EQ(parse_graph_header(written(a))->file_digest,
            parse_graph_header(written(b))->file_digest)
      << "those of build alone differ";
}

TEST(GraphFile, ConstantsInOtherFilesStayThere) {
  const TestFolder folder;
  const std::string path = folder.file("constants");
  const Bytes content = counted(4000);
  ASSERT_TRUE(write_file(path, content).ok());
  Module module;
  Graph& main = module.add_graph("main");
  Segment segment;
  segment.kind = SegmentKind::kBytes;
  segment.type = module.intern(Type::fixed_tensor(DType::kU8, {3000}));
  segment.size = 3000;
  segment.digest = sha256(std::span(content).subspan(1000));
  segment.location = {Where::kFile, nullptr, {}, path, 1000, 0};
  main.add_output(main.add_constant(module.add_segment(segment), "c"));
  const Bytes outside = written(module);
  EXPECT_LT(outside.size(), 2000u);
  Bytes inside = graph_bytes(module, {.inline_segments = true}).value();
  EXPECT_GT(inside.size(), 3000u);
  for (const Bytes& bytes : {outside, inside}) {
    auto back = read(bytes);
    ASSERT_TRUE(back.ok()) << error_text(back.error());
    const auto found = back->bytes(back->root().outputs()[0]->segment());
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(sha256(*found), segment.digest);
  }
  EXPECT_EQ(parse_graph_header(outside)->structure_digest,
            parse_graph_header(inside)->structure_digest);
  EXPECT_EQ(parse_graph_header(outside)->file_digest, parse_graph_header(inside)->file_digest);
}

// Damage is an error or, where it affects names, numbers with any value, or bytes of constants, it
// still leaves a module that can be written.
TEST(GraphFile, EveryDamagedByte) {
  Module module = example_module();
  const Bytes bytes = written(module);
  int refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t flip : {0x01, 0x80, 0xFF}) {
      Bytes damaged = bytes;
      damaged[i] ^= std::byte{flip};
      auto back = read(damaged);
      if (!back) {
        ++refused;
        EXPECT_TRUE(back.error().code == ErrorCode::kBadFile ||
                    back.error().code == ErrorCode::kNewerSchema);
      } else {
        EXPECT_TRUE(graph_bytes(*back).ok());
      }
    }
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) / 2);
}

// Lets an attribute of the first node say that its values begin elsewhere.
Bytes with_values_at(Bytes bytes, std::string_view name, uint32_t first) {
  const auto& file = *flatbuffers::GetRoot<fb::File>(bytes.data() + kGraphHeaderBytes);
  const fb::Node& node = *file.graphs()->Get(0)->nodes()->Get(0);
  const auto& ends = *file.attribute_names()->ends();
  for (const fb::Attribute* row : *node.attributes()) {
    const uint32_t begin = row->name() == 0 ? 0 : ends[row->name() - 1u];
    const auto* names = reinterpret_cast<const char*>(file.attribute_names()->bytes()->data());
    if (std::string_view(names + begin, ends[row->name()] - begin) != name) continue;
    const auto at = reinterpret_cast<const std::byte*>(row) - bytes.data();
    std::memcpy(bytes.data() + at + 4, &first, sizeof(first));
  }
  return bytes;
}

TEST(GraphFile, AnAttributeWhoseValuesAreNotThereIsNamed) {
  Module module = example_module();
  const Bytes bytes = written(module);
  const std::pair<std::string, std::string> faults[] = {
      {"anchor", "its values are at [100, 101) of the file's ints, expected in [0, 6)"},
      {"f", "its values are at [100, 101) of the file's floats, expected in [0, 3)"},
      {"fs", "its values are at [100, 102) of the file's floats, expected in [0, 3)"},
      {"is", "its values are at [100, 102) of the file's ints, expected in [0, 6)"},
      {"ss", "its values are at [100, 103) of the file's ints, expected in [0, 6)"},
      {"body", "graph 100 is named, expected one of 3"},
      {"s", "text 100 is named, expected one of 5"},
      {"t", "type 100 is named, expected one of 7"},
      {"v", "constant 100 is named, expected one of 5"}};
  for (const auto& [name, fault] : faults) {
    auto back = read(with_values_at(bytes, name, 100));
    ASSERT_FALSE(back.ok()) << name;
    EXPECT_EQ(back.error().message, "graph 'main': node 'fused node' (Fused): attribute '" + name +
                                        "': the graph file is damaged: " + fault);
  }
}

// Several words at once become small numbers, large ones or each other's: ids and counts that look
// valid and are not.
TEST(GraphFile, ManyDamagedWords) {
  Module module = example_module();
  const Bytes bytes = written(module);
  const size_t words = bytes.size() / 4;
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    Bytes damaged = bytes;
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
      uint32_t word = random() % 3 == 0 ? random() : random() % 40;
      if (random() % 3 == 0) std::memcpy(&word, bytes.data() + 4 * (random() % words), 4);
      std::memcpy(
          damaged.data() + kGraphHeaderBytes + 4 * (random() % (words - kGraphHeaderBytes / 4)),
          &word, 4);
    }
    auto back = read(damaged);
    if (back) {
      EXPECT_TRUE(graph_bytes(*back).ok());
    }
  }
}

TEST(GraphFile, EveryTruncation) {
  Module module = example_module();
  const Bytes bytes = written(module);
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto back = read(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_FALSE(back.ok()) << size;
    EXPECT_EQ(back.error().code, ErrorCode::kBadFile);
    EXPECT_EQ(back.error().file, "test");
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read(longer).ok());
}

TEST(GraphFile, UnalignedBytesAreReadToo) {
  Module module = example_module();
  const Bytes bytes = written(module);
  Bytes shifted(bytes.size() + 1);
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  EXPECT_TRUE(read_graph(std::span<const std::byte>(shifted).subspan(1), nullptr, "shifted").ok());
}

TEST(GraphFile, LargeGraph) {
  Module module;
  Graph& main = module.add_graph("main");
  const TypeId type = module.intern(Type::fixed_tensor(DType::kF32, {1}));
  Value* last = &main.add_input(type, "x");
  for (int i = 0; i < 100'000; ++i) {
    Node& node = main.add_node(Op::kSplit, {last}, 0);
    for (int k = 0; k < 10; ++k) node.add_output(type, fmt::format("value_{}_{}", i, k));
    node.set_attribute("axis", int64_t{0});
    node.set(attributes::Split::num_outputs, int64_t{10});
    node.set_name(fmt::format("node_{}", i));
    node.add_origins({module.add_onnx_node(node.name())});
    last = &node.output(9);
  }
  main.add_output(*last);
  const Bytes bytes = written(module);
  auto back = read(bytes);
  ASSERT_TRUE(back.ok()) << error_text(back.error());
  EXPECT_EQ(back->root().node_count(), 100'000u);
  EXPECT_EQ(back->root().value_limit(), 1'000'001u);
  back->made_from.clear();
  EXPECT_EQ(written(*back), bytes);
}

}  // namespace
}  // namespace sluice
