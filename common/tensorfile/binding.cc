#include "common/tensorfile/binding.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/base/shape_mismatch.h"
#include "common/tensorfile/tensorfile.h"
#include "fmt/format.h"

namespace sluice {
namespace {

// Packs sub-byte elements that a .npy stores one to a byte.
TensorBytes packed(const Tensor& wide, int bits) {
  const size_t per_byte = 8 / static_cast<size_t>(bits);
  TensorBytes bytes((wide.bytes.size() + per_byte - 1) / per_byte, std::byte{0});
  const unsigned mask = (1u << bits) - 1;
  for (size_t i = 0; i < wide.bytes.size(); ++i) {
    bytes[i / per_byte] |= static_cast<std::byte>((static_cast<unsigned>(wide.bytes[i]) & mask)
                                                  << (i % per_byte * static_cast<size_t>(bits)));
  }
  return bytes;
}

uint64_t splitmix64(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float unit(uint64_t& state) {
  return static_cast<float>(splitmix64(state) >> 40) * 0x1p-23f - 1.0f;
}

uint16_t bf16_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

// Returns the name of numpy's own dtypes; empty for others.
std::string_view numpy_name(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "float16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
    case DType::kI8:
      return "int8";
    case DType::kI16:
      return "int16";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kU8:
      return "uint8";
    case DType::kU16:
      return "uint16";
    case DType::kU32:
      return "uint32";
    case DType::kU64:
      return "uint64";
    case DType::kBool:
      return "bool";
    case DType::kC64:
      return "complex64";
    case DType::kC128:
      return "complex128";
    default:
      return "";
  }
}

std::string fitting_hint(const Tensor& given, const WantedTensor& wanted) {
  if (given.dtype != wanted.dtype) {
    const std::string_view dtype = numpy_name(wanted.dtype);
    if (dtype.empty()) return "give it as .pb, an ONNX TensorProto";
    return fmt::format("with numpy: np.save('{}.npy', array.astype('{}'))", wanted.name, dtype);
  }
  if (given.dims.size() != wanted.dims.size()) return "reshape the array";
  if (std::any_of(wanted.dims.begin(), wanted.dims.end(), [](int64_t dim) { return dim < 0; }))
    return "change the array: only open dims, those with a name or '?', may have any size";
  return "change the array, or compile the model for this size: --dim, --input-shape";
}

// Returns what a file holds in the notation of the wanted type: "f32 [5, 9]" beside "f32 [N, 7]",
// "f32[5, 9]" beside "f32[N, 7]", "f32 5x9" beside "f32 4x7".
std::string given_text(const Tensor& given, const std::string& wanted) {
  const size_t bracket = wanted.find('[');
  const std::string_view dtype = dtype_name(given.dtype);
  if (bracket == std::string::npos) return fmt::format("{} {}", dtype, dims_text(given.dims));
  const bool has_blank = bracket > 0 && wanted[bracket - 1] == ' ';
  return fmt::format("{}{}[{}]", dtype, has_blank ? " " : "", fmt::join(given.dims, ", "));
}

template <typename T, typename Make>
void fill(Tensor& tensor, Make make) {
  for (T& element : tensor.as<T>()) element = make();
}

}  // namespace

Result<Tensor> read_member(const std::string& path, const std::string& name) {
  if (!path.ends_with(".npz")) return read_tensor(path);
  SLUICE_ASSIGN(std::vector<Tensor> members, read_npz(path));
  for (Tensor& member : members) {
    if (member.name == name) return std::move(member);
  }
  std::vector<std::string> names;
  for (const Tensor& member : members) names.push_back(member.name);
  return make_error(ErrorCode::kBadBinding, "'{}' has no member '{}'", path, name)
      .with_hint("its members are " + listed(names));
}

bool is_npz_alone(const std::string& binding) {
  return binding.ends_with(".npz") &&
         (binding.find('=') == std::string::npos || ::access(binding.c_str(), F_OK) == 0);
}

Error unknown_input(const std::string& binding, const std::vector<std::string>& inputs) {
  const std::string known =
      inputs.empty() ? "the model has no inputs" : "the model's inputs are " + listed(inputs);
  const size_t equal = binding.find('=');
  if (equal == std::string::npos) {
    return make_error(ErrorCode::kBadBinding, "--input {}: expected NAME=FILE, or a .npz file",
                      binding)
        .with_hint(known);
  }
  return make_error(ErrorCode::kBadBinding, "--input {}: no input is called '{}'", binding,
                    binding.substr(0, equal))
      .with_hint(known);
}

Error mismatch_error(const Tensor& given, const WantedTensor& wanted, const std::string& path) {
  const std::string where =
      given.dtype != wanted.dtype || !wanted.ranked ? "" : shape_mismatch(wanted.dims, given.dims);
  return make_error(ErrorCode::kBadBinding, "input '{}' takes {}, '{}' holds {}{}{}", wanted.name,
                    wanted.type, path, given_text(given, wanted.type), where.empty() ? "" : ": ",
                    where)
      .with_hint(fitting_hint(given, wanted));
}

void adopt_dtype(Tensor& tensor, DType dtype) {
  const int bits = dtype_bits(dtype);
  const bool stands_for = (tensor.dtype == DType::kU16 && dtype == DType::kBF16) ||
                          (tensor.dtype == DType::kU8 && dtype_is_float(dtype) && bits == 8);
  if (stands_for) tensor.dtype = dtype;
  if (tensor.dtype == DType::kU8 && bits < 8 && bits > 0) {
    tensor.bytes = packed(tensor, bits);
    tensor.dtype = dtype;
  }
}

void fill_random(Tensor& tensor, uint64_t seed) {
  uint64_t state = seed;
  auto bit = [&] { return splitmix64(state) >> 63; };
  switch (tensor.dtype) {
    case DType::kF32:
    case DType::kC64:
      return fill<float>(tensor, [&] { return unit(state); });
    case DType::kF64:
    case DType::kC128:
      return fill<double>(tensor, [&] { return static_cast<double>(unit(state)); });
    case DType::kF16:
      return fill<_Float16>(tensor, [&] { return static_cast<_Float16>(unit(state)); });
    case DType::kBF16:
      return fill<uint16_t>(tensor, [&] { return bf16_of(unit(state)); });
    case DType::kU16:
    case DType::kI16:
      return fill<uint16_t>(tensor, [&] { return static_cast<uint16_t>(bit()); });
    case DType::kU32:
    case DType::kI32:
      return fill<uint32_t>(tensor, [&] { return static_cast<uint32_t>(bit()); });
    case DType::kU64:
    case DType::kI64:
      return fill<uint64_t>(tensor, bit);
    default:  // bytes and what is packed into them: lowest bit of each
      return fill<uint8_t>(tensor, [&] { return static_cast<uint8_t>(bit()); });
  }
}

}  // namespace sluice
