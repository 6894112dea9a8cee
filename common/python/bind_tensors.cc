// Arrays of constants and of evaluations.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>

#include "common/eval/eval.h"
#include "common/python/bindings.h"

namespace sluice::python {
namespace {

struct ArrayDType {
  DType dtype;
  const char* name;  // numpy's
};
constexpr ArrayDType kArrays[] = {{DType::kF32, "f4"}, {DType::kF64, "f8"},   {DType::kF16, "f2"},
                                  {DType::kU8, "u1"},  {DType::kI8, "i1"},    {DType::kU16, "u2"},
                                  {DType::kI16, "i2"}, {DType::kI32, "i4"},   {DType::kI64, "i8"},
                                  {DType::kU32, "u4"}, {DType::kU64, "u8"},   {DType::kBool, "?"},
                                  {DType::kC64, "c8"}, {DType::kC128, "c16"}, {DType::kBF16, "u2"}};

std::string array_name(DType dtype) {
  for (const ArrayDType& row : kArrays)
    if (row.dtype == dtype) return row.name;
  return "u1";
}

// Returns the dims of an array of bytes: elements below a byte are packed in one axis.
std::vector<int64_t> array_dims(DType dtype, const std::vector<int64_t>& dims) {
  if (dtype_bits(dtype) >= 8) return dims;
  return {static_cast<int64_t>(dtype_bytes(dtype, element_count(dims).value_or(0)))};
}

py::object view_of(DType dtype, const std::vector<int64_t>& dims, const std::byte* data,
                   bool is_splat, bool is_read_only, const py::object& owner) {
  const py::dtype type(array_name(dtype));
  std::vector<py::ssize_t> shape, strides;
  for (const int64_t dim : array_dims(dtype, dims)) shape.push_back(dim);
  py::ssize_t stride = type.itemsize();
  strides.assign(shape.size(), 0);
  for (size_t i = shape.size(); i-- > 0 && !is_splat;) {
    strides[i] = stride;
    stride *= std::max<py::ssize_t>(shape[i], 1);
  }
  py::array array(type, std::move(shape), std::move(strides), data, owner);
  if (is_read_only) array.attr("setflags")(false);
  return array;
}

py::object text_array(const Tensor& tensor) {
  py::list texts;
  const uint64_t count = element_count(tensor.dims).value_or(0);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view text = string_at(tensor, i);
    texts.append(py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
        text.data(), static_cast<py::ssize_t>(text.size()), "surrogateescape")));
  }
  const py::module_ numpy = py::module_::import("numpy");
  const py::object array =
      numpy.attr("array")(texts, py::arg("dtype") = py::module_::import("builtins").attr("object"));
  return array.attr("reshape")(py::tuple(py::cast(tensor.dims)));
}

DType dtype_of_array(const py::array& array) {
  const std::string name = py::cast<std::string>(array.dtype().attr("str"));
  for (const ArrayDType& row : kArrays)
    if (name.substr(1) == row.name || (row.dtype == DType::kBool && name == "|b1"))
      return row.dtype;
  fail(make_error(ErrorCode::kBadValue, "an array of {} is no tensor's", name)
           .with_hint("convert it: array.astype('float32')"));
}

Tensor text_tensor(const py::array& array) {
  std::vector<std::string> texts;
  for (const py::handle each : array.attr("reshape")(-1))
    texts.push_back(py::cast<std::string>(each));
  const std::vector<int64_t> dims(array.shape(), array.shape() + array.ndim());
  return make_string_tensor(dims, texts);
}

}  // namespace

py::object array_of(Tensor tensor) {
  if (tensor.dtype == DType::kString) return text_array(tensor);
  auto* kept = new Tensor(std::move(tensor));
  const py::capsule owner(kept, [](void* each) { delete static_cast<Tensor*>(each); });
  return view_of(kept->dtype, kept->dims, kept->bytes.data(), false, false, owner);
}

py::object constant_array(const Box& box, SegmentId id) {
  const Segment& segment = box->module.segment(id);
  const Type& type = box->module.type(segment.type);
  if (segment.kind == SegmentKind::kParameter)
    fail(make_error(ErrorCode::kBadValue,
                    "the constant is a parameter of its graph: the caller "
                    "has its bytes"));
  const bool is_view = segment.kind != SegmentKind::kExpression && type.dtype != DType::kString;
  if (!is_view) return array_of(check(evaluate_segment(box->module, id)));
  const auto dims = type.extents();
  const py::capsule owner(new Box(box), [](void* each) { delete static_cast<Box*>(each); });
  const bool is_splat = segment.kind == SegmentKind::kSplat && dtype_bits(type.dtype) >= 8;
  if (is_splat) return view_of(type.dtype, *dims, segment.data.data(), true, true, owner);
  if (segment.kind == SegmentKind::kSplat)
    return array_of(check(evaluate_segment(box->module, id)));
  return view_of(type.dtype, *dims, check(box->module.bytes(id)).data(), false, true, owner);
}

Tensor tensor_of_object(const py::object& given, const std::string& dtype) {
  const py::module_ numpy = py::module_::import("numpy");
  const auto wanted = dtype_from_name(dtype);
  if (!dtype.empty() && !wanted) fail(make_error(ErrorCode::kBadValue, "'{}' is no dtype", dtype));
  py::object data = given;
  const bool is_array = py::hasattr(given, "dtype");
  if (!is_array && wanted && *wanted != DType::kString)
    data = numpy.attr("asarray")(given, py::str(array_name(*wanted)));
  py::array array =
      numpy.attr("ascontiguousarray")(data).attr("reshape")(numpy.attr("shape")(data));
  const char kind = array.dtype().kind();
  if (kind == 'O' || kind == 'U' || kind == 'S') return text_tensor(array);
  if (!is_array && !wanted && kind == 'f') array = array.attr("astype")("f4");
  DType found = dtype_of_array(array);
  const bool is_bits = wanted && array_name(*wanted) == array_name(found);
  if (is_bits) found = *wanted;
  if (wanted && *wanted != found) {
    array = array.attr("astype")(array_name(*wanted));
    found = *wanted;
  }
  if (dtype_bits(found) < 8)
    fail(make_error(ErrorCode::kBadValue, "a constant of {} cannot be made of an array", dtype));
  Tensor tensor = make_unfilled_tensor(found, {array.shape(), array.shape() + array.ndim()});
  if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), array.data(), tensor.bytes.size());
  return tensor;
}

}  // namespace sluice::python
