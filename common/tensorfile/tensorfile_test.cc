#include "common/tensorfile/tensorfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns the folder with every file that NumPy or ONNX makes, created once.
const std::string& made_by_python() {
  static const TestFolder made;
  static const std::string folder = [] {
    const std::string path = made.path() + "/";
    const char* script = R"(
import sys, zipfile, numpy as np
from onnx import numpy_helper, helper, TensorProto as T
d = sys.argv[1]
a = np.arange(6, dtype=np.float32).reshape(2, 3)
np.save(d + 'f32.npy', a)
np.save(d + 'fortran.npy', np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)))
np.save(d + 'big.npy', np.arange(3, dtype='>i4'))
np.save(d + 'complex.npy', np.array([1 + 2j], dtype='>c8'))
np.save(d + 'scalar.npy', np.float64(2.5))
np.save(d + 'empty.npy', np.zeros((0, 4), np.uint8))
np.save(d + 'bool.npy', np.array([True, False]))
np.save(d + 'half.npy', np.array([1.0], np.float16))
np.save(d + 'text.npy', np.array(['a', '', 'h\u00e9\U0001f600']))
np.save(d + 'bytes.npy', np.array([b'ab', b'c']))
np.save(d + 'objects.npy', np.array([{}, 1], dtype=object), allow_pickle=True)
np.savez(d + 'stored.npz', x=a, y=np.int64(7))
np.savez_compressed(d + 'deflated.npz', x=np.zeros((100, 100), np.float32), y=a)
with open(d + 'v2.npy', 'wb') as f: np.lib.format.write_array(f, a, version=(2, 0))
with zipfile.ZipFile(d + 'zip64.npz', 'w') as z:
    with z.open('x.npy', 'w', force_zip64=True) as f: np.lib.format.write_array(f, a)
def pb(name, m): open(d + name, 'wb').write(m.SerializeToString())
pb('raw.pb', numpy_helper.from_array(a, 'a'))
pb('typed.pb', helper.make_tensor('t', T.FLOAT, [2], [1.5, 2.5]))
pb('i8.pb', helper.make_tensor('t', T.INT8, [3], [-1, 0, 127]))
pb('u64.pb', helper.make_tensor('t', T.UINT64, [1], [2**63]))
pb('f16.pb', helper.make_tensor('t', T.FLOAT16, [1], [1.0]))
pb('bool.pb', helper.make_tensor('t', T.BOOL, [2], [True, False]))
pb('c64.pb', helper.make_tensor('t', T.COMPLEX64, [1], [1 + 2j]))
pb('string.pb', helper.make_tensor('t', T.STRING, [2], [b'ab', b'c']))
pb('sequence.pb', numpy_helper.from_list([a, a + 1], 's'))
pb('optional.pb', numpy_helper.from_optional(a, 'o'))
pb('nothing.pb', numpy_helper.from_optional(None, 'o'))
)";
    if (!write_text(path + "make.py", script).ok()) return std::string();
    const std::string command = "/usr/bin/python3 " + path + "make.py " + path;
    return std::system(command.c_str()) == 0 ? path : std::string();
  }();
  return folder;
}

class FilesOfPython : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(made_by_python(), "") << "python3-numpy and python3-onnx are needed: scripts/setup";
  }
  Tensor read(const std::string& name) {
    Result<Tensor> tensor = read_tensor(made_by_python() + name);
    EXPECT_TRUE(tensor.ok()) << error_text(tensor.error());
    return tensor.ok() ? *tensor : Tensor{};
  }
};

TEST_F(FilesOfPython, NpyOfEveryLayout) {
  for (const char* name : {"f32.npy", "v2.npy", "raw.pb"}) {
    const Tensor tensor = read(name);
    EXPECT_EQ(tensor.dtype, DType::kF32) << name;
    EXPECT_THAT(tensor.dims, ElementsAre(2, 3)) << name;
    EXPECT_THAT(tensor.as<float>(), ElementsAre(0, 1, 2, 3, 4, 5)) << name;
  }
  const Tensor fortran = read("fortran.npy");
  EXPECT_THAT(fortran.dims, ElementsAre(2, 3, 4));
  for (int16_t i = 0; i < 24; ++i) EXPECT_EQ(fortran.as<int16_t>()[i], i);
  EXPECT_THAT(read("big.npy").as<int32_t>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(read("complex.npy").as<float>(), ElementsAre(1, 2));
  EXPECT_THAT(read("scalar.npy").dims, ElementsAre());
  EXPECT_THAT(read("scalar.npy").as<double>(), ElementsAre(2.5));
  EXPECT_THAT(read("empty.npy").dims, ElementsAre(0, 4));
  EXPECT_EQ(read("bool.npy").dtype, DType::kBool);
  EXPECT_EQ(read("half.npy").as<uint16_t>()[0], 0x3c00);
}

TEST_F(FilesOfPython, Texts) {
  const Tensor text = read("text.npy");
  EXPECT_EQ(text.dtype, DType::kString);
  EXPECT_TRUE(is_consistent(text));
  EXPECT_EQ(string_at(text, 0), "a");
  EXPECT_EQ(string_at(text, 1), "");
  EXPECT_EQ(string_at(text, 2), "h\u00e9\U0001f600");
  for (const char* name : {"bytes.npy", "string.pb"}) {
    EXPECT_EQ(string_at(read(name), 0), "ab") << name;
    EXPECT_EQ(string_at(read(name), 1), "c") << name;
  }
}

TEST_F(FilesOfPython, Archives) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    Result<std::vector<Tensor>> tensors = read_npz(made_by_python() + name);
    ASSERT_TRUE(tensors.ok()) << error_text(tensors.error());
    EXPECT_EQ(tensors->front().name, "x") << name;
    EXPECT_EQ(tensors->front().dtype, DType::kF32) << name;
    if (std::string_view(name) == "deflated.npz") {
      EXPECT_THAT(tensors->front().dims, ElementsAre(100, 100));
      EXPECT_THAT(tensors->back().as<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
    }
  }
}

TEST_F(FilesOfPython, EveryFieldOfTensorProto) {
  EXPECT_EQ(read("raw.pb").name, "a");
  EXPECT_THAT(read("typed.pb").as<float>(), ElementsAre(1.5, 2.5));
  EXPECT_THAT(read("i8.pb").as<int8_t>(), ElementsAre(-1, 0, 127));
  EXPECT_THAT(read("u64.pb").as<uint64_t>(), ElementsAre(uint64_t{1} << 63));
  EXPECT_THAT(read("f16.pb").as<uint16_t>(), ElementsAre(0x3c00));
  EXPECT_THAT(read("bool.pb").as<uint8_t>(), ElementsAre(1, 0));
  EXPECT_THAT(read("c64.pb").as<float>(), ElementsAre(1, 2));
}

TEST_F(FilesOfPython, SequencesAndOptionals) {
  Result<FileValue> sequence = read_value(made_by_python() + "sequence.pb", ValueKind::kSequence);
  ASSERT_TRUE(sequence.ok()) << error_text(sequence.error());
  ASSERT_EQ(sequence->tensors.size(), 2u);
  EXPECT_THAT(sequence->tensors[1].as<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  Result<FileValue> optional = read_value(made_by_python() + "optional.pb", ValueKind::kOptional);
  ASSERT_TRUE(optional.ok()) << error_text(optional.error());
  EXPECT_TRUE(optional->present);
  Result<FileValue> nothing = read_value(made_by_python() + "nothing.pb", ValueKind::kOptional);
  ASSERT_TRUE(nothing.ok()) << error_text(nothing.error());
  EXPECT_FALSE(nothing->present);
}

TEST_F(FilesOfPython, NumpyReadsWhatWeWrite) {
  const std::string path = made_by_python() + "ours";
  Tensor tensor = make_tensor(DType::kI32, {2, 1});
  tensor.as<int32_t>()[1] = -5;
  ASSERT_TRUE(write_tensor(path + ".npy", tensor).ok());
  ASSERT_TRUE(
      write_tensor(path + "2.npy", make_string_tensor({2}, std::vector<std::string>{"xyz", "w"}))
          .ok());
  Tensor nibbles = make_tensor(DType::kI4, {3}, "n");
  nibbles.bytes = {std::byte{0x21}, std::byte{0x0f}};
  ASSERT_TRUE(write_tensor(path + "3.npy", nibbles).ok());
  tensor.name = "o";
  ASSERT_TRUE(write_tensor(path + ".pb", tensor).ok());
  const std::string check = R"(
import sys, numpy as np, onnx
from onnx import numpy_helper
p = sys.argv[1]
a = np.load(p + '.npy'); assert a.dtype == np.int32 and a.tolist() == [[0], [-5]], a
assert np.load(p + '2.npy').tolist() == [b'xyz', b'w']
assert np.load(p + '3.npy').tolist() == [1, 2, 15]
t = onnx.TensorProto.FromString(open(p + '.pb', 'rb').read())
assert t.name == 'o' and numpy_helper.to_array(t).tolist() == [[0], [-5]]
)";
  ASSERT_TRUE(write_text(path + ".py", check).ok());
  EXPECT_EQ(std::system(("/usr/bin/python3 " + path + ".py " + path).c_str()), 0);
}

// Each file, cut at every length and with every byte of its first kilobyte and last 200 changed,
// produces a value or an error, never a crash.
TEST_F(FilesOfPython, DamagedFilesAreErrors) {
  for (const char* name : {"f32.npy", "fortran.npy", "text.npy", "stored.npz", "deflated.npz",
                           "zip64.npz", "raw.pb", "string.pb"}) {
    Result<std::vector<std::byte>> whole = read_file(made_by_python() + name);
    ASSERT_TRUE(whole.ok());
    const std::string path = made_by_python() + "damaged";
    const bool archive = std::string_view(name).ends_with(".npz");
    const auto parse = [&](const std::vector<std::byte>& bytes) {
      if (archive) {
        if (!write_file(path, bytes).ok()) return false;
        return read_npz(path).ok();
      }
      return std::string_view(name).ends_with(".pb") ? parse_pb(bytes, path).ok()
                                                     : parse_npy(bytes, path).ok();
    };
    for (size_t length = 0; length < whole->size(); length += archive ? 7 : 1) {
      const std::vector<std::byte> cut(whole->begin(), whole->begin() + length);
      // A protobuf message cut between two fields is a message; then the payload or the shape is
      // missing, except when only the name is.
      EXPECT_TRUE(!parse(cut) || std::string_view(name).ends_with(".pb"))
          << name << " cut to " << length;
    }
    for (size_t at = 0; at < whole->size(); at += archive ? 3 : 1) {
      std::vector<std::byte> changed = *whole;
      changed[at] ^= std::byte{0xff};
      (void)parse(changed);
    }
  }
}

TEST_F(FilesOfPython, ErrorsNameTheFileAndWhatWasExpected) {
  const Result<Tensor> objects = read_tensor(made_by_python() + "objects.npy");
  ASSERT_FALSE(objects.ok());
  EXPECT_EQ(objects.error().code, ErrorCode::kBadTensorFile);
  EXPECT_THAT(error_text(objects.error()), HasSubstr("objects.npy"));
  EXPECT_THAT(error_text(objects.error()), HasSubstr("'|O'"));
  EXPECT_EQ(read_tensor(made_by_python() + "absent.npy").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_tensor(made_by_python() + "make.py").error().code, ErrorCode::kBadTensorFile);
}

TEST(TensorFile, HugeShapesAllocateNothing) {
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976, "
      "1152921504606846976), }";
  const std::string file =
      std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
  EXPECT_FALSE(parse_npy(std::as_bytes(std::span(file)), "huge.npy").ok());
  Tensor tensor;
  tensor.dtype = DType::kF32;
  tensor.dims = {int64_t{1} << 40};
  const std::string proto = pb_bytes(tensor);
  EXPECT_FALSE(parse_pb(std::as_bytes(std::span(proto)), "huge.pb").ok());
}

TEST(TensorFile, EveryDtypeSurvivesPb) {
  for (int number = 1; number < kDTypeCount; ++number) {
    const DType dtype = static_cast<DType>(number);
    if (dtype == DType::kString) continue;
    Tensor tensor = make_tensor(dtype, {3, 5}, "x");
    for (size_t i = 0; i < tensor.bytes.size(); ++i)
      tensor.bytes[i] = static_cast<std::byte>(i * 37);
    const std::string text = pb_bytes(tensor);
    const Result<Tensor> back = parse_pb(std::as_bytes(std::span(text)), "x.pb");
    ASSERT_TRUE(back.ok()) << dtype_name(dtype);
    EXPECT_EQ(back->bytes, tensor.bytes) << dtype_name(dtype);
    EXPECT_EQ(back->dims, tensor.dims);
  }
}

}  // namespace
}  // namespace sluice
