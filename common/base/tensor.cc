#include "common/base/tensor.h"

#include <cassert>
#include <cstring>
#include <new>

#include "common/base/memory.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxTensorElements = uint64_t{1} << 60;

// The heap as a memory resource whose error says how many bytes were asked for.
class Heap : public std::pmr::memory_resource {
  void* do_allocate(size_t bytes, size_t alignment) override {
    void* memory = ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    return memory != nullptr ? memory : throw MemoryRanOut(bytes);
  }
  void do_deallocate(void* memory, size_t bytes, size_t alignment) override {
    ::operator delete(memory, bytes, std::align_val_t(alignment));
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

std::pmr::memory_resource* heap() {
  static Heap& heap = *new Heap();  // never destroyed: tensors may end after main
  return &heap;
}

thread_local std::pmr::memory_resource* chosen_memory = nullptr;

}  // namespace

std::pmr::memory_resource* tensor_memory() {
  return chosen_memory != nullptr ? chosen_memory : heap();
}

UseTensorMemory::UseTensorMemory(std::pmr::memory_resource* memory) : before_(chosen_memory) {
  chosen_memory = memory;
}

UseTensorMemory::~UseTensorMemory() { chosen_memory = before_; }

std::optional<uint64_t> element_count(std::span<const int64_t> dims) {
  bool empty = false;
  uint64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
    } else if (count > kMaxTensorElements / static_cast<uint64_t>(dim)) {
      return std::nullopt;
    } else {
      count *= static_cast<uint64_t>(dim);
    }
  }
  return empty ? 0 : count;
}

Tensor make_unfilled_tensor(DType dtype, std::vector<int64_t> dims, std::string name) {
  const std::optional<uint64_t> count = element_count(dims);
  assert(count.has_value());
  Tensor tensor{std::move(name), dtype, std::move(dims), {}};
  const uint64_t bytes =
      dtype == DType::kString ? (*count + 1) * sizeof(uint64_t) : dtype_bytes(dtype, *count);
  tensor.bytes.resize(bytes);
  return tensor;
}

Tensor make_tensor(DType dtype, std::vector<int64_t> dims, std::string name) {
  Tensor tensor = make_unfilled_tensor(dtype, std::move(dims), std::move(name));
  if (!tensor.bytes.empty()) std::memset(tensor.bytes.data(), 0, tensor.bytes.size());
  return tensor;
}

Tensor make_string_tensor(std::vector<int64_t> dims, std::span<const std::string> texts,
                          std::string name) {
  Tensor tensor = make_tensor(DType::kString, std::move(dims), std::move(name));
  assert(tensor.bytes.size() == (texts.size() + 1) * sizeof(uint64_t));
  std::vector<uint64_t> offsets = {0};
  for (const std::string& text : texts) offsets.push_back(offsets.back() + text.size());
  std::memcpy(tensor.bytes.data(), offsets.data(), offsets.size() * sizeof(uint64_t));
  for (const std::string& text : texts) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    tensor.bytes.insert(tensor.bytes.end(), begin, begin + text.size());
  }
  return tensor;
}

std::string_view string_at(const Tensor& tensor, uint64_t index) {
  const std::optional<uint64_t> count = element_count(tensor.dims);
  if (!count || index >= *count || (*count + 1) * sizeof(uint64_t) > tensor.bytes.size()) return {};
  const uint64_t base = (*count + 1) * sizeof(uint64_t);
  const uint64_t begin = tensor.as<uint64_t>()[index];
  const uint64_t end = tensor.as<uint64_t>()[index + 1];
  if (begin > end || end > tensor.bytes.size() - base) return {};
  return {reinterpret_cast<const char*>(tensor.bytes.data()) + base + begin, end - begin};
}

bool is_consistent(const Tensor& tensor) {
  const std::optional<uint64_t> count = element_count(tensor.dims);
  if (!count) return false;
  if (tensor.dtype != DType::kString)
    return tensor.bytes.size() == dtype_bytes(tensor.dtype, *count);
  const uint64_t table = *count + 1;
  if (table > tensor.bytes.size() / sizeof(uint64_t)) return false;
  const auto offsets = tensor.as<uint64_t>();
  for (uint64_t i = 0; i < *count; ++i) {
    if (offsets[i] > offsets[i + 1]) return false;
  }
  return offsets[0] == 0 && offsets[*count] == tensor.bytes.size() - table * sizeof(uint64_t);
}

std::string dims_text(std::span<const int64_t> dims) {
  if (dims.empty()) return "scalar";
  std::string text;
  for (int64_t dim : dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

}  // namespace sluice
