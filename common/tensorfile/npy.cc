// NumPy's .npy, versions 1 to 3 (numpy.lib.format): magic, version, length, a Python dictionary as
// text, elements.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "common/tensorfile/bad_file.h"
#include "common/tensorfile/tensorfile.h"
#include "common/tensorfile/utf.h"

namespace sluice {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;
constexpr uint64_t kMaxTextBytes = uint64_t{1} << 32;

struct NpyHeader {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> dims;
};

// Scans the dictionary's text. Each function returns false on unexpected text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool take(char c) {
    skip_spaces();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_spaces();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool take_quoted(std::string& out) {
    skip_spaces();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return false;
    const size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool take_number(int64_t& out) {
    skip_spaces();
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
    if (code != std::errc()) return false;
    text_.remove_prefix(end - text_.data());
    take('L');  // the suffix of long integers in Python 2
    return true;
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

bool take_shape(Cursor& cursor, std::vector<int64_t>& dims) {
  if (!cursor.take('(')) return false;
  while (!cursor.take(')')) {
    if (!dims.empty() && !cursor.take(',')) return false;
    if (cursor.take(')')) return true;
    int64_t dim = 0;
    if (dims.size() == kMaxRank || !cursor.take_number(dim)) return false;
    dims.push_back(dim);
  }
  return true;
}

bool take_dictionary(std::string_view text, NpyHeader& header) {
  Cursor cursor(text);
  if (!cursor.take('{')) return false;
  bool descr = false, order = false, shape = false;
  while (!cursor.take('}')) {
    std::string key;
    if (!cursor.take_quoted(key) || !cursor.take(':')) return false;
    if (key == "descr") {
      descr = cursor.take_quoted(header.descr);
      if (!descr) return false;
    } else if (key == "fortran_order") {
      header.fortran = cursor.take_word("True");
      order = header.fortran || cursor.take_word("False");
      if (!order) return false;
    } else if (key == "shape") {
      header.dims.clear();
      shape = take_shape(cursor, header.dims);
      if (!shape) return false;
    } else {
      return false;
    }
    cursor.take(',');
  }
  return descr && order && shape;
}

struct NpyType {
  DType dtype = DType::kUndefined;
  uint64_t bytes = 0;  // of one element in the file
  // The bytes that byte order applies to: half of a complex element, one character of a text.
  uint64_t part = 0;
  char kind = 0;
};

std::optional<NpyType> element_type(std::string_view descr) {
  if (descr.size() < 3) return std::nullopt;
  uint64_t number = 0;
  const auto [end, code] = std::from_chars(descr.data() + 2, descr.data() + descr.size(), number);
  if (code != std::errc() || end != descr.data() + descr.size() || number > (uint64_t{1} << 32))
    return std::nullopt;
  const char kind = descr[1];
  if (kind == 'U') return NpyType{DType::kString, number * 4, 4, kind};
  if (kind == 'S') return NpyType{DType::kString, number, 1, kind};
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"f4", DType::kF32}, {"f8", DType::kF64},  {"f2", DType::kF16}, {"b1", DType::kBool},
      {"u1", DType::kU8},  {"i1", DType::kI8},   {"u2", DType::kU16}, {"i2", DType::kI16},
      {"u4", DType::kU32}, {"i4", DType::kI32},  {"u8", DType::kU64}, {"i8", DType::kI64},
      {"c8", DType::kC64}, {"c16", DType::kC128}};
  for (const auto& [name, dtype] : kTypes) {
    if (descr.substr(1) == name)
      return NpyType{dtype, number, kind == 'c' ? number / 2 : number, kind};
  }
  return std::nullopt;
}

void reverse_parts(std::vector<std::byte>& bytes, uint64_t part) {
  for (uint64_t at = 0; at + part <= bytes.size(); at += part)
    std::reverse(bytes.begin() + at, bytes.begin() + at + part);
}

// Converts Fortran's order (first axis fastest) to row-major.
std::vector<std::byte> row_major(std::span<const std::byte> from, std::span<const int64_t> dims,
                                 uint64_t element) {
  std::vector<std::byte> to(from.size());
  std::vector<uint64_t> stride(dims.size(), element);
  for (size_t axis = 1; axis < dims.size(); ++axis)
    stride[axis] = stride[axis - 1] * dims[axis - 1];
  std::vector<int64_t> index(dims.size(), 0);
  uint64_t source = 0;
  for (uint64_t at = 0; at < to.size(); at += element) {
    std::memcpy(to.data() + at, from.data() + source, element);
    for (size_t axis = dims.size(); axis-- > 0;) {
      source += stride[axis];
      if (++index[axis] < dims[axis]) break;
      source -= stride[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return to;
}

// Converts texts, which NumPy pads with zeros to one length.
Tensor text_tensor(std::span<const std::byte> bytes, const NpyType& type, std::vector<int64_t> dims,
                   uint64_t count) {
  std::vector<std::string> texts(count);
  for (uint64_t i = 0; i < count; ++i) {
    const std::span<const std::byte> element = bytes.subspan(i * type.bytes, type.bytes);
    if (type.kind == 'S') {
      texts[i].assign(reinterpret_cast<const char*>(element.data()), element.size());
      texts[i].erase(texts[i].find_last_not_of('\0') + 1);
    } else {
      texts[i] = utf8_of_utf32(element);
    }
  }
  return make_string_tensor(std::move(dims), texts);
}

Result<std::span<const std::byte>> split_header(std::span<const std::byte> bytes,
                                                const std::string& path, NpyHeader& header) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || bytes.size() < 10)
    return bad_file(path, "the file does not start as a .npy file does");
  const auto byte_at = [&](size_t i) { return static_cast<uint32_t>(bytes[i]); };
  const uint32_t version = byte_at(6);
  if (version < 1 || version > 3)
    return bad_file(path, "version {} of .npy is unknown, expected 1, 2 or 3", version);
  const size_t prefix = version == 1 ? 10 : 12;
  if (bytes.size() < prefix) return bad_file(path, "the file ends within its header");
  uint64_t length = byte_at(8) | byte_at(9) << 8;
  if (version > 1) length |= byte_at(10) << 16 | static_cast<uint64_t>(byte_at(11)) << 24;
  if (length > bytes.size() - prefix)
    return bad_file(path, "the file ends within its header of {} bytes", length);
  if (!take_dictionary(text.substr(prefix, length), header)) {
    return bad_file(
        path, "the header is not the dictionary of a plain array (descr, fortran_order, shape)");
  }
  return bytes.subspan(prefix + length);
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& path) {
  NpyHeader header;
  SLUICE_ASSIGN(const std::span<const std::byte> elements, split_header(bytes, path, header));
  const std::optional<NpyType> type = element_type(header.descr);
  if (!type) return bad_file(path, "elements of NumPy type '{}' cannot be read", header.descr);
  const std::optional<uint64_t> count = element_count(header.dims);
  const bool fits = count && (type->bytes == 0 || *count <= elements.size() / type->bytes) &&
                    (type->bytes != 0 || *count <= bytes.size());
  if (!fits || elements.size() != *count * type->bytes) {
    return bad_file(path, "the file holds {} bytes of elements, expected those of '{}' of shape {}",
                    elements.size(), header.descr, dims_text(header.dims));
  }
  std::vector<std::byte> data(elements.begin(), elements.end());
  if (header.descr[0] == '>') reverse_parts(data, type->part);
  if (header.fortran && header.dims.size() > 1 && type->bytes != 0)
    data = row_major(data, header.dims, type->bytes);
  if (type->dtype == DType::kString)
    return text_tensor(data, *type, std::move(header.dims), *count);
  return Tensor{{}, type->dtype, std::move(header.dims), {data.begin(), data.end()}};
}

namespace {

// Unpacks elements narrower than a byte, one to a byte; signed ones keep their bit pattern.
std::string unpacked(const Tensor& tensor, uint64_t count) {
  const int bits = dtype_bits(tensor.dtype);
  std::string text(count, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bit = i * bits;
    text[i] = static_cast<char>((static_cast<uint32_t>(tensor.bytes[bit / 8]) >> (bit % 8)) &
                                ((1u << bits) - 1));
  }
  return text;
}

std::string padded_texts(const Tensor& tensor, uint64_t count, uint64_t length) {
  std::string text(count * length, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view element = string_at(tensor, i);
    std::copy(element.begin(), element.end(), text.begin() + i * length);
  }
  return text;
}

std::string descr_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kI8:
      return "|i1";
    case DType::kF16:
      return "<f2";
    case DType::kF32:
      return "<f4";
    case DType::kF64:
      return "<f8";
    case DType::kI16:
      return "<i2";
    case DType::kI32:
      return "<i4";
    case DType::kI64:
      return "<i8";
    case DType::kU16:
      return "<u2";
    case DType::kU32:
      return "<u4";
    case DType::kU64:
      return "<u8";
    case DType::kC64:
      return "<c8";
    case DType::kC128:
      return "<c16";
    case DType::kBF16:
      return "<u2";
    default:
      return "|u1";
  }
}

std::string npy_header(std::string_view descr, std::span<const int64_t> dims) {
  std::string shape;
  for (int64_t dim : dims) shape += std::to_string(dim) + ", ";
  if (dims.size() > 1) shape.resize(shape.size() - 2);
  if (dims.size() == 1) shape.resize(shape.size() - 1);
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const size_t unpadded = kMagic.size() + 4 + dictionary.size() + 1;
  dictionary.append((64 - unpadded % 64) % 64, ' ');  // the elements start 64-byte aligned
  dictionary += '\n';
  std::string text(kMagic);
  text += '\x01';
  text += '\0';
  text += static_cast<char>(dictionary.size() & 0xff);
  text += static_cast<char>(dictionary.size() >> 8);
  return text + dictionary;
}

}  // namespace

Result<std::string> npy_bytes(const Tensor& tensor) {
  if (!is_consistent(tensor) || tensor.dims.size() > kMaxRank) {
    return make_error(ErrorCode::kInternal,
                      "tensor '{}' has {} bytes, which do not fit {} of shape {}", tensor.name,
                      tensor.bytes.size(), dtype_name(tensor.dtype), dims_text(tensor.dims));
  }
  const uint64_t count = *element_count(tensor.dims);
  if (tensor.dtype == DType::kString) {
    uint64_t length = 1;  // NumPy has no texts of length 0
    for (uint64_t i = 0; i < count; ++i)
      length = std::max<uint64_t>(length, string_at(tensor, i).size());
    if (count > kMaxTextBytes / length) {
      return make_error(ErrorCode::kLimit,
                        "tensor '{}' has {} texts, the longest of {} bytes: too much for .npy, "
                        "which pads all to one length: {} bytes at most",
                        tensor.name, count, length, kMaxTextBytes)
          .with_hint("write .pb: --format=pb");
    }
    return npy_header(fmt::format("|S{}", length), tensor.dims) +
           padded_texts(tensor, count, length);
  }
  std::string text = npy_header(descr_of(tensor.dtype), tensor.dims);
  if (dtype_bits(tensor.dtype) < 8) return text + unpacked(tensor, count);
  return text.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
}

}  // namespace sluice
