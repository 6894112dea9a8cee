#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "common/tensorfile/pb_maps.h"
#include "common/tensorfile/tensorfile.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor i64(const char* name, const std::vector<int64_t>& numbers) {
  Tensor tensor = make_tensor(DType::kI64, {static_cast<int64_t>(numbers.size())}, name);
  std::copy(numbers.begin(), numbers.end(), tensor.as<int64_t>().begin());
  return tensor;
}

Tensor texts(const std::vector<std::string>& words) {
  return make_string_tensor({static_cast<int64_t>(words.size())}, words);
}

// Returns {"a": 1, "bb": 2} and {"c": 3}.
FileValue two_maps() {
  FileValue maps{ValueKind::kMaps, true, {}};
  maps.tensors = {texts({"a", "bb"}), i64("", {1, 2}), texts({"c"}), i64("", {3})};
  return maps;
}

void expect_same(const Result<FileValue>& read, const FileValue& written) {
  ASSERT_TRUE(read) << error_text(read.error());
  ASSERT_EQ(read->tensors.size(), written.tensors.size());
  for (size_t i = 0; i < written.tensors.size(); ++i) {
    EXPECT_EQ(read->tensors[i].dims, written.tensors[i].dims);
    EXPECT_EQ(read->tensors[i].bytes, written.tensors[i].bytes);
  }
}

TEST(MapFiles, BothKindsOfFileGiveBackWhatWasWritten) {
  const TestFolder folder;
  const FileValue maps = two_maps();
  FileValue map{ValueKind::kMap, true, {maps.tensors[0], maps.tensors[1]}};
  for (const FileValue& value : {maps, map, FileValue{ValueKind::kMaps, true, {}}}) {
    ASSERT_TRUE(write_maps(folder.file("m.npz"), value));
    expect_same(read_maps(folder.file("m.npz"), value.kind), value);
    ASSERT_TRUE(write_value(folder.file("m.pb"), value));
    expect_same(read_value(folder.file("m.pb"), value.kind), value);
  }
}

TEST(MapFiles, LengthsMustAddUp) {
  const TestFolder folder;
  const auto error = [&](const std::vector<int64_t>& lengths) {
    const Tensor members[] = {i64("keys", {1, 2, 3}), i64("values", {4, 5, 6}),
                              i64("lengths", lengths)};
    EXPECT_TRUE(write_npz(folder.file("m.npz"), members));
    const auto read = read_maps(folder.file("m.npz"), ValueKind::kMaps);
    return read ? std::string() : error_text(read.error());
  };
  EXPECT_EQ(error({3}), "");
  EXPECT_THAT(error({2}), HasSubstr("'lengths' add up to 2, but there are 3 keys"));
  EXPECT_THAT(error({-1, 4}), HasSubstr("'lengths' do not add up to 3 keys"));
  EXPECT_THAT(error({2, INT64_MAX}), HasSubstr("'lengths' do not add up to 3 keys"));
}

TEST(MapFiles, KeysOfAnyIntegerKeepTheirSign) {
  onnx::MapProto proto;
  proto.set_key_type(static_cast<int32_t>(DType::kI8));
  proto.add_keys(-2);
  *proto.mutable_values()->add_tensor_values() = to_proto(make_tensor(DType::kF64, {}));
  const auto read = from_map(proto, "m.pb");
  ASSERT_TRUE(read) << error_text(read.error());
  EXPECT_THAT(read->tensors[0].as<int8_t>(), ElementsAre(-2));
  EXPECT_EQ(map_of(read->tensors[0], read->tensors[1]).keys(0), -2);
}

TEST(MapFiles, DamagedProtosAreRefused) {
  const auto error = [](const auto& change) {
    onnx::MapProto proto = map_of(i64("", {1, 2}), i64("", {3, 4}));
    change(proto);
    const auto read = from_map(proto, "m.pb");
    return read ? std::string() : error_text(read.error());
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_THAT(error([](auto& map) { map.add_keys(7); }), HasSubstr("3 keys and 2 values"));
  EXPECT_THAT(error([](auto& map) { map.set_key_type(1); }),
              HasSubstr("keys of type 1, expected integers or strings"));
  EXPECT_THAT(error([](auto& map) { map.set_key_type(999); }), HasSubstr("keys of type 999"));
  EXPECT_THAT(error([](auto& map) { map.mutable_values()->mutable_tensor_values(1)->add_dims(0); }),
              HasSubstr("tensor"));
  EXPECT_THAT(error([](auto& map) {
                *map.mutable_values()->mutable_tensor_values(1) =
                    to_proto(make_tensor(DType::kF32, {}));
              }),
              HasSubstr("expected single elements of one type"));
}

}  // namespace
}  // namespace sluice
