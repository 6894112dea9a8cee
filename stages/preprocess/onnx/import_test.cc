#include "stages/preprocess/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "common/ops/attributes.h"
#include "stages/preprocess/onnx/external.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Builds a small model in code.
class Model {
 public:
  explicit Model(int64_t opset) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }

  Model& input(const std::string& name, const std::vector<std::string>& dims) {
    fill(*proto.mutable_graph()->add_input(), name, dims);
    return *this;
  }
  Model& output(const std::string& name) {
    proto.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  Model& constant(const std::string& name, const std::vector<int64_t>& dims, size_t count) {
    add_constant(*proto.mutable_graph(), name, dims, count);
    return *this;
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    return add_node(*proto.mutable_graph(), op, inputs, outputs);
  }

  static onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op,
                                   const std::vector<std::string>& inputs,
                                   const std::vector<std::string>& outputs) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    return node;
  }
  static void add_constant(onnx::GraphProto& graph, const std::string& name,
                           const std::vector<int64_t>& dims, size_t count) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(1);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    std::vector<float> elements(count);
    for (size_t i = 0; i < count; ++i) elements[i] = static_cast<float>(i);
    tensor.set_raw_data(elements.data(), count * 4);
  }
  static void fill(onnx::ValueInfoProto& input, const std::string& name,
                   const std::vector<std::string>& dims) {
    input.set_name(name);
    input.mutable_type()->mutable_tensor_type()->set_elem_type(1);
    auto* shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const std::string& dim : dims) {
      auto* added = shape->add_dim();
      if (isdigit(dim[0]) != 0) {
        added->set_dim_value(std::stoll(dim));
      } else if (dim != "?") {
        added->set_dim_param(dim);
      }
    }
  }

  std::shared_ptr<const std::vector<std::byte>> bytes() const {
    const std::string text = proto.SerializeAsString();
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return std::make_shared<const std::vector<std::byte>>(begin, begin + text.size());
  }
  Result<Module> import(const Options& options = {}) const {
    SLUICE_ASSIGN(ModelFile file, parse_model_file(bytes(), "test.onnx"));
    return import_model(std::move(file), options);
  }

  onnx::ModelProto proto;
};

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.emplace_back(op_name(node.op()));
  return names;
}

void set_int(onnx::NodeProto& node, const std::string& name, int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_ints(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

onnx::GraphProto& set_body(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

void expect_error(const Result<Module>& result, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_THAT(result.error().message, HasSubstr(part));
  EXPECT_EQ(result.error().file, "test.onnx");
}

TEST(Import, InputWithInitializerIsAConstant) {
  Model model(13);
  model.input("x", {"2", "3"}).input("w", {"2", "3"}).constant("w", {2, 3}, 6).output("y");
  model.node("Add", {"x", "w"}, {"y"});
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  ASSERT_EQ(module->root().inputs().size(), 1u);
  const Node& add = *module->root().first_node();
  EXPECT_TRUE(add.input(1)->is_constant());
  EXPECT_EQ(module->segment(add.input(1)->segment()).kind, SegmentKind::kSmall);
  EXPECT_EQ(add.output().name(), "y");
}

TEST(Import, DimNamesAreSharedAndAnonymousDimsNamed) {
  Model model(13);
  model.input("x", {"N", "?"}).input("z", {"N", "3"}).output("y");
  model.node("Relu", {"x"}, {"y"});
  const auto module = model.import();
  ASSERT_TRUE(module.ok());
  const Type& x = module->root().inputs()[0]->type();
  const Type& z = module->root().inputs()[1]->type();
  EXPECT_EQ(x.dims[0], z.dims[0]);
  EXPECT_TRUE(module->expressions.find_symbol("N"));
  EXPECT_TRUE(module->expressions.find_symbol("x_1"));
  Options options;
  ASSERT_TRUE(options.set("dim", "N=4;x_1=2..8").ok());
  const auto fixed = model.import(options);
  ASSERT_TRUE(fixed.ok());
  EXPECT_EQ(fixed->root().inputs()[1]->type().dims[0], Dim::fixed(4));
  EXPECT_EQ(fixed->expressions.symbol(*fixed->expressions.find_symbol("x_1")).high, 8);
}

TEST(Import, InputShapeFixesADimEverywhere) {
  Model model(13);
  model.input("x", {"N", "?"}).input("z", {"N", "3"}).output("y");
  model.node("Relu", {"x"}, {"y"});
  Options options;
  ASSERT_TRUE(options.set("input-shape", "x:5,-1").ok());
  const auto module = model.import(options);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->root().inputs()[1]->type().dims[0], Dim::fixed(5));
  EXPECT_TRUE(module->root().inputs()[0]->type().dims[1].is_expression());
  ASSERT_TRUE(options.set("dim", "N=4").ok());
  expect_error(model.import(options), ErrorCode::kBadOption, "contradicts");
}

TEST(Import, UnknownNamesInOptionsListTheKnown) {
  Model model(13);
  model.input("x", {"N", "?"}).output("y");
  model.node("Relu", {"x"}, {"y"});
  Options options;
  ASSERT_TRUE(options.set("dim", "M=4").ok());
  const auto dims = model.import(options);
  expect_error(dims, ErrorCode::kBadOption, "'M'");
  EXPECT_THAT(dims.error().hint, HasSubstr("'N', 'x_1'"));
  Options shapes;
  ASSERT_TRUE(shapes.set("input-shape", "q:1").ok());
  const auto inputs = model.import(shapes);
  expect_error(inputs, ErrorCode::kBadOption, "'q'");
  EXPECT_THAT(inputs.error().hint, HasSubstr("'x'"));
}

TEST(Import, UnsortedNodesAreSorted) {
  Model model(13);
  model.input("x", {"2"}).output("y");
  model.node("Neg", {"a"}, {"y"});
  model.node("Relu", {"x"}, {"a"});
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT(ops(module->root()), ElementsAre("Relu", "Neg"));
}

TEST(Import, CyclesAreNamed) {
  Model model(13);
  model.input("x", {"2"}).output("y");
  model.node("Add", {"x", "b"}, {"a"}).set_name("first");
  model.node("Neg", {"a"}, {"b"});
  model.node("Neg", {"x"}, {"y"});
  expect_error(model.import(), ErrorCode::kBadModel,
               "cycle through node 'first' (Add), node 'b' (Neg)");
}

TEST(Import, BrokenNames) {
  Model twice(13);
  twice.input("x", {"2"}).output("y");
  twice.node("Neg", {"x"}, {"y"});
  twice.node("Relu", {"x"}, {"y"});
  expect_error(twice.import(), ErrorCode::kBadModel,
               "value 'y' is defined twice, by node 'y' (Neg) and node 'y' (Relu)");
  Model missing(13);
  missing.input("x", {"2"}).output("y");
  missing.node("Add", {"x", "w"}, {"y"}).set_name("sum");
  expect_error(missing.import(), ErrorCode::kBadModel,
               "node 'sum' (Add): input 'w' is not defined");
  Model no_output(13);
  no_output.input("x", {"2"}).output("z");
  no_output.node("Neg", {"x"}, {"y"});
  expect_error(no_output.import(), ErrorCode::kBadModel, "output 'z'");
}

TEST(Import, EverythingUnsupportedIsListedAtOnce) {
  Model model(13);
  model.input("x", {"2"}).output("y");
  model.node("Frobnicate", {"x"}, {"a"}).set_name("f1");
  model.node("Frobnicate", {"a"}, {"b"}).set_name("f2");
  model.node("CastMap", {"b"}, {"y"}).set_domain("ai.onnx.ml");
  expect_error(model.import(), ErrorCode::kUnsupportedOp,
               "2 unsupported operators:\n  Frobnicate (2 nodes: 'f1', 'f2')\n  CastMap of domain "
               "'ai.onnx.ml' (1 node: 'y')");
}

TEST(Import, FlexAttentionIsOfThePreviewDomain) {
  Model model(26);
  model.input("x", {"1", "1", "2", "2"}).output("y");
  onnx::NodeProto& node = model.node("FlexAttention", {"x", "x", "x"}, {"y"});
  expect_error(model.import(), ErrorCode::kUnsupportedOp,
               "1 unsupported operator: FlexAttention (1 node: 'y')");
  node.set_domain("ai.onnx.preview");
  model.proto.add_opset_import()->set_domain("ai.onnx.preview");
  model.proto.mutable_opset_import(1)->set_version(1);
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT(ops(module->root()), ElementsAre("FlexAttention"));
}

TEST(Import, CapturesDoNotTakeThePlaceOfMissingInputs) {
  Model model(26);
  model.input("x", {"1", "1", "2", "2"}).output("y");
  onnx::NodeProto& node = model.node("FlexAttention", {"x", "x"}, {"y"});
  node.set_domain("ai.onnx.preview");
  onnx::GraphProto& body = set_body(node, "score_mod");
  body.add_input()->set_name("scores");
  Model::add_node(body, "Add", {"scores", "x"}, {"sum"});
  body.add_output()->set_name("sum");
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  const Node& imported = *module->root().last_node();
  ASSERT_EQ(imported.input_count(), 4u);
  EXPECT_EQ(imported.input(2), nullptr);
  EXPECT_EQ(imported.input(3)->name(), "x");
}

TEST(Import, OpsetsOutsideTheRangeAreRefused) {
  for (const int64_t opset : {0, 29}) {
    Model model(opset);
    model.input("x", {"2"}).output("y");
    model.node("Neg", {"x"}, {"y"});
    expect_error(model.import(), ErrorCode::kUnsupportedOp, fmt::format("opset {}", opset));
  }
}

TEST(Import, TheLastImportOfADomainCounts) {
  for (const int64_t other : {13, 11}) {
    Model model(13);
    model.input("x", {"2"}).output("y");
    model.node("Neg", {"x"}, {"y"});
    onnx::OperatorSetIdProto& import = *model.proto.add_opset_import();
    import.set_domain("ai.onnx");
    import.set_version(other);
    const auto imported = model.import();
    ASSERT_TRUE(imported.ok());
    if (other == 13) {
      EXPECT_TRUE(imported->warnings.empty());
    } else {
      EXPECT_THAT(
          imported->warnings.lines(),
          ElementsAre("the model imports opsets 13 and 11 of domain 'ai.onnx': the last one "
                      "counts"));
    }
  }
}

TEST(Import, BodiesOfAnIfShareTheirCaptures) {
  Model model(13);
  model.input("x", {"2"}).input("c", {}).constant("w", {2}, 2).output("y");
  model.proto.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(9);
  model.node("Neg", {"x"}, {"a"});
  model.node("Relu", {"x"}, {"b"});
  onnx::NodeProto& node = model.node("If", {"c"}, {"y"});
  onnx::GraphProto& then_branch = set_body(node, "then_branch");
  Model::add_node(then_branch, "Add", {"b", "w"}, {"t"});
  then_branch.add_output()->set_name("t");
  onnx::GraphProto& else_branch = set_body(node, "else_branch");
  Model::add_node(else_branch, "Sub", {"a", "b"}, {"e"});
  else_branch.add_output()->set_name("e");
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  const Node& imported = *module->root().last_node();
  ASSERT_EQ(imported.input_count(), 3u);
  EXPECT_EQ(imported.input(1)->name(), "b");
  EXPECT_EQ(imported.input(2)->name(), "a");
  const Graph& yes = *imported.get(attributes::If::then_branch);
  const Graph& no = *imported.get(attributes::If::else_branch);
  EXPECT_EQ(yes.captures, 2u);
  EXPECT_EQ(no.captures, 2u);
  EXPECT_EQ(no.inputs()[0]->name(), "b");
  EXPECT_EQ(no.inputs()[1]->name(), "a");
  EXPECT_TRUE(yes.first_node()->input(1)->is_constant());
  EXPECT_FALSE(yes.inputs()[1]->is_used());
}

TEST(Import, FunctionsAreWrittenOut) {
  Model model(13);
  model.proto.add_opset_import()->set_domain("my");
  model.input("x", {"2"}).output("y");
  onnx::NodeProto& call = model.node("Twice", {"x"}, {"y"});
  call.set_domain("my");
  call.set_name("call");
  set_int(call, "k", 1);
  onnx::FunctionProto& function = *model.proto.add_functions();
  function.set_domain("my");
  function.set_name("Twice");
  function.add_input("in");
  function.add_output("out");
  function.add_attribute("k");
  onnx::NodeProto& first = *function.add_node();
  first.set_op_type("Neg");
  first.add_input("in");
  first.add_output("inner");
  onnx::NodeProto& second = *function.add_node();
  second.set_op_type("Softmax");
  second.add_input("inner");
  second.add_output("out");
  onnx::AttributeProto& reference = *second.add_attribute();
  reference.set_name("axis");
  reference.set_ref_attr_name("k");
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT(ops(module->root()), ElementsAre("Neg", "Softmax"));
  EXPECT_EQ(module->root().first_node()->output().name(), "call/inner");
  EXPECT_EQ(module->root().last_node()->get(attributes::Softmax::axis, 7), 1);
  function.mutable_node(0)->set_op_type("Twice");
  function.mutable_node(0)->set_domain("my");
  expect_error(model.import(), ErrorCode::kBadModel, "calls itself");
}

// F<i> is F<i-1> of F<i-1>, F0 is two Negs; no node has a name.
void add_doubling_functions(onnx::ModelProto& model, int count) {
  model.add_opset_import()->set_domain("my");
  for (int i = 0; i < count; ++i) {
    onnx::FunctionProto& function = *model.add_functions();
    function.set_domain("my");
    function.set_name(fmt::format("F{}", i));
    function.add_input("a");
    function.add_output("b");
    for (const auto& [from, to] : {std::pair("a", "c"), std::pair("c", "b")}) {
      onnx::NodeProto& node = *function.add_node();
      node.set_op_type(i == 0 ? "Neg" : fmt::format("F{}", i - 1));
      if (i > 0) node.set_domain("my");
      node.add_input(from);
      node.add_output(to);
    }
  }
}

TEST(Import, CallsWithoutNamesGetTheirOwn) {
  Model model(18);
  model.input("x", {"2"}).output("y").node("F2", {"x"}, {"y"}).set_domain("my");
  add_doubling_functions(model.proto, 3);
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  std::set<std::string> names;
  for (const Node& node : module->root().nodes()) names.insert(std::string(node.output().name()));
  EXPECT_EQ(names.size(), 8U);
}

TEST(Import, CallsThatShareANameStayApart) {
  Model model(18);
  model.input("x", {"2"}).output("y");
  for (const auto& [from, to] : {std::pair("x", "m"), std::pair("m", "y")}) {
    onnx::NodeProto& call = model.node("F0", {from}, {to});
    call.set_domain("my");
    call.set_name("same");
  }
  add_doubling_functions(model.proto, 1);
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(ops(module->root()).size(), 4U);
}

// Thirty doublings would be a thousand million nodes; if they were inlined first, this test would
// not end.
TEST(Import, FunctionsAreCountedBeforeTheyAreWrittenOut) {
  Model model(18);
  model.input("x", {"2"}).output("y").node("F30", {"x"}, {"y"}).set_domain("my");
  add_doubling_functions(model.proto, 31);
  expect_error(model.import(), ErrorCode::kLimit, "expand to more than");
}

TEST(Import, OldFormsBecomeCanonical) {
  Model model(6);
  model.input("x", {"2", "3", "4"}).input("b", {"3"}).output("y");
  onnx::NodeProto& add = model.node("Add", {"x", "b"}, {"s"});
  set_int(add, "broadcast", 1);
  set_int(add, "axis", 1);
  model.node("Softmax", {"s"}, {"p"}).set_name("softmax");
  set_ints(model.node("Squeeze", {"p"}, {"y"}), "axes", {});
  const auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT(ops(module->root()),
              ElementsAre("Unsqueeze", "Add", "Flatten", "Shape", "Softmax", "Reshape", "Squeeze"));
  for (const Node& node : module->root().nodes()) {
    EXPECT_EQ(node.find_attribute("broadcast"), nullptr);
    EXPECT_EQ(node.find_attribute("axes"), nullptr);
    EXPECT_EQ(node.name() == "softmax", node.op() == Op::kReshape);
    EXPECT_EQ(node.output().name() == "p", node.op() == Op::kReshape);
  }
}

TEST(Import, LargeConstantsStayInTheFile) {
  Model model(13);
  model.input("x", {"1000"}).constant("w", {1000}, 1000).output("y");
  model.node("Add", {"x", "w"}, {"y"});
  const TestFolder folder;
  const std::string path = folder.file("import_test.onnx");
  ASSERT_TRUE(write_file(path, *model.bytes()).ok());
  auto file = open_model_file(path);
  ASSERT_TRUE(file.ok());
  const auto module = import_model(std::move(file).value(), {});
  ASSERT_TRUE(module.ok()) << module.error().message;
  const SegmentId id = module->root().first_node()->input(1)->segment();
  const Segment& segment = module->segment(id);
  EXPECT_EQ(segment.kind, SegmentKind::kBytes);
  EXPECT_EQ(segment.location.where, Where::kFile);
  const auto bytes = module->bytes(id);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(sha256(*bytes), segment.digest);
  float last = 0;
  std::memcpy(&last, bytes->data() + 999 * 4, 4);
  EXPECT_EQ(last, 999.0f);
}

TEST(Import, ExternalDataStaysInItsFolder) {
  Model model(13);
  model.input("x", {"1000"}).constant("w", {1000}, 1000).output("y");
  model.node("Add", {"x", "w"}, {"y"});
  onnx::TensorProto& tensor = *model.proto.mutable_graph()->mutable_initializer(0);
  const std::string content = "pad." + tensor.raw_data();
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto set = [&](const std::string& key, const std::string& value) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  set("location", "import_test.weights");
  set("offset", "4");
  const TestFolder folder;
  const std::string path = folder.file("import_test.onnx");
  ASSERT_TRUE(write_text(folder.file("import_test.weights"), content).ok());
  const auto import = [&] {
    EXPECT_TRUE(write_file(path, *model.bytes()).ok());
    return import_model(std::move(open_model_file(path)).value(), {});
  };
  const auto module = import();
  ASSERT_TRUE(module.ok()) << module.error().message;
  const auto bytes = module->bytes(module->root().first_node()->input(1)->segment());
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(std::memcmp(bytes->data(), content.data() + 4, 4000), 0);
  for (const std::string& outside :
       {std::string("../import_test.weights"), std::string("/etc/passwd"), std::string(),
        folder.file("import_test.weights")}) {
    tensor.mutable_external_data(0)->set_value(outside);
    const auto refused = import();
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("not inside the model's folder"));
  }
  tensor.mutable_external_data(0)->set_value("import_test.weights");
  tensor.mutable_external_data(1)->set_value("8");
  EXPECT_FALSE(import().ok());
}

TEST(ExternalFile, LinksMayLeadToTheFolderOfTheRealModel) {
  const TestFolder test_folder;
  const std::filesystem::path top = test_folder.path();
  for (const char* folder : {"cache", "model", "far"})
    std::filesystem::create_directory(top / folder);
  for (const char* file : {"cache/m", "cache/w", "far/w"})
    ASSERT_TRUE(write_text((top / file).string(), "bytes").ok());
  std::filesystem::create_symlink("../cache/m", top / "model/m.onnx");
  std::filesystem::create_symlink("../cache/w", top / "model/w");
  std::filesystem::create_symlink("../far/w", top / "model/far");
  ModelFile model;
  model.path = (top / "model/m.onnx").string();
  model.folder = (top / "model").string();
  const std::string data = (std::filesystem::canonical(top) / "cache/w").string();
  const auto found = find_external_file(model, "w", "");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, data);
  for (const std::string& outside :
       {std::string("far"), std::string("../cache/w"), data, std::string("../far/w")}) {
    const auto refused = find_external_file(model, outside, "");
    ASSERT_FALSE(refused.ok()) << outside;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadModel);
  }
  for (const std::string& outside :
       {std::string("far"), std::string("../far/w"), (top / "far/w").string()}) {
    EXPECT_TRUE(find_external_file(model, outside, (top / "far").string()).ok()) << outside;
    EXPECT_FALSE(find_external_file(model, outside, (top / "cache").string()).ok()) << outside;
  }
}

TEST(ExternalFile, IsRegular) {
  const TestFolder test_folder;
  const std::filesystem::path top = test_folder.path();
  ASSERT_EQ(::mkfifo((top / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(top / "folder");
  ModelFile model;
  model.folder = top.string();
  for (const char* location : {"pipe", "folder"}) {
    const auto refused = find_external_file(model, location, "");
    ASSERT_FALSE(refused.ok()) << location;
    EXPECT_EQ(refused.error().code, ErrorCode::kMissingSegment);
  }
  EXPECT_EQ(find_external_file(model, "/dev/zero", "/dev").error().code,
            ErrorCode::kMissingSegment);
}

TEST(Import, SurvivesDamage) {
  Model model(11);
  model.input("x", {"N", "3"}).constant("w", {3, 100}, 300).output("y");
  model.node("MatMul", {"x", "w"}, {"a"});
  onnx::NodeProto& clip = model.node("Softmax", {"a"}, {"b"});
  set_int(clip, "axis", 0);
  onnx::NodeProto& loop = model.node("Loop", {"", "", "b"}, {"y"});
  onnx::GraphProto& body = set_body(loop, "body");
  for (const char* name : {"i", "go", "v"}) body.add_input()->set_name(name);
  Model::add_node(body, "Add", {"v", "a"}, {"w2"});
  body.add_output()->set_name("go");
  body.add_output()->set_name("w2");
  const auto good = model.bytes();
  ASSERT_TRUE(model.import().ok()) << model.import().error().message;
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    auto damaged = std::make_shared<std::vector<std::byte>>(*good);
    if (round % 2 == 0) damaged->resize(random() % damaged->size());
    for (int k = 0; k < round % 4 && !damaged->empty(); ++k)
      (*damaged)[random() % damaged->size()] = static_cast<std::byte>(random());
    auto file = parse_model_file(damaged, "damaged");
    if (file) (void)import_model(std::move(file).value(), {}).ok();
  }
}

}  // namespace
}  // namespace sluice
