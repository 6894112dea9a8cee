// Every model and tensor of ONNX's own tests parses with schemas/onnx.proto, leaves no unknown
// fields, and has the size of its shape.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "common/base/files.h"
#include "common/tensorfile/tensorfile.h"
#include "onnx.pb.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

ValueKind kind_of(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return ValueKind::kSequence;
  return type.has_optional_type() ? ValueKind::kOptional : ValueKind::kTensor;
}

// A lite parser appends the bytes that it does not know to its output; a message without unknown
// fields has the size of its known ones.
void expect_known(const onnx::ModelProto& model, const std::string& path) {
  EXPECT_TRUE(model.unknown_fields().empty()) << path;
  EXPECT_TRUE(model.graph().unknown_fields().empty()) << path;
  for (const onnx::NodeProto& node : model.graph().node()) {
    EXPECT_TRUE(node.unknown_fields().empty()) << path;
    EXPECT_FALSE(node.op_type().empty()) << path;
    for (const onnx::AttributeProto& attribute : node.attribute())
      EXPECT_TRUE(attribute.unknown_fields().empty()) << path;
  }
  for (const onnx::ValueInfoProto& value : model.graph().input())
    EXPECT_TRUE(value.type().unknown_fields().empty()) << path;
}

TEST(OnnxFiles, AllOfOnnxsTestsParse) {
  const char* elsewhere = std::getenv("SLUICE_SHARED");
  const std::string root =
      std::string(elsewhere != nullptr ? elsewhere : SLUICE_SHARED) + "/onnx-tests";
  if (!fs::exists(root)) GTEST_SKIP() << root << " is not here";
  int models = 0, tensors = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "model.onnx") continue;
    Result<std::vector<std::byte>> bytes = read_file(entry.path());
    ASSERT_TRUE(bytes.ok());
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromArray(bytes->data(), static_cast<int>(bytes->size())))
        << entry.path();
    expect_known(model, entry.path());
    ++models;
    const fs::path data = entry.path().parent_path() / "test_data_set_0";
    for (int i = 0; i < model.graph().output_size(); ++i) {
      const fs::path file = data / ("output_" + std::to_string(i) + ".pb");
      if (!fs::exists(file)) continue;
      const ValueKind kind = kind_of(model.graph().output(i).type());
      const Result<FileValue> value = read_value(file, kind);
      EXPECT_TRUE(value.ok()) << error_text(value.error());
      tensors += value.ok() ? static_cast<int>(value->tensors.size()) : 0;
    }
  }
  EXPECT_GE(models, 1000);
  EXPECT_GE(tensors, 1000);
}

}  // namespace
}  // namespace sluice
