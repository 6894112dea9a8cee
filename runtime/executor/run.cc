#include "runtime/executor/run.h"

#include <algorithm>
#include <cstring>

#include "common/omfile/om_names.h"
#include "common/omfile/sub_memories.h"

namespace sluice {

Run::Run(std::shared_ptr<const StaticModel> model, std::shared_ptr<Device> device)
    : model_(std::move(model)),
      device_(std::move(device)),
      addresses_(model_->places().size(), nullptr),
      bindings_(model_->binding_operands().size()),
      walk_(model_->queue()) {}

std::byte* Run::address_of(const OperandPlace& place) const {
  if (place.region == pb::REGION_ARENA) {
    const std::vector<uint64_t>& ends = model_->arena_ends();
    const size_t index = allocation_of(ends, place.offset);
    return arenas_[index] + (place.offset - (index == 0 ? 0 : ends[index - 1]));
  }
  if (place.region == pb::REGION_WEIGHTS)  // verified: never an output
    return const_cast<std::byte*>(model_->weights().data()) + place.offset;
  return bindings_[place.region - pb::REGION_FIRST_BINDING].address + place.offset;
}

void Run::use(size_t binding, std::byte* address) {
  bindings_[binding].address = address;
  for (const uint32_t operand : model_->binding_operands()[binding])
    addresses_[operand] = address + model_->places()[operand].offset;
}

Result<void> Run::use_own(size_t binding) {
  Arena& own = bindings_[binding].own;
  if (own.data() == nullptr) {
    auto memory = Arena::allocate(model_->binding_bytes(binding));
    if (!memory)
      return std::move(memory).error().with_hint(
          fmt::format("bind memory that is aligned to {} bytes", kOmValueAlignment));
    own = std::move(*memory);
  }
  use(binding, own.data());
  return {};
}

Result<void> Run::bind(size_t binding, std::byte* memory, size_t bytes, const char* what,
                       const std::string& name) {
  if (bytes != model_->binding_bytes(binding)) {
    return make_error(ErrorCode::kBadBinding, "{} '{}' has {} bytes, got {}", what, name,
                      model_->binding_bytes(binding), bytes);
  }
  if (bytes == 0) {  // any address will do; user marks it as bound
    SLUICE_TRY(use_own(binding));
    bindings_[binding].user = bindings_[binding].address;
    return {};
  }
  if (memory == nullptr)
    return make_error(ErrorCode::kBadBinding, "{} '{}' is bound to null", what, name);
  bindings_[binding].user = memory;
  if (reinterpret_cast<uintptr_t>(memory) % kOmValueAlignment != 0) return use_own(binding);
  use(binding, memory);
  return {};
}

Result<void> Run::bind_input(size_t index, std::span<const std::byte> memory) {
  if (index >= inputs())
    return make_error(ErrorCode::kBadBinding, "input {} of {}", index, inputs());
  const std::string& name = model_->inputs()[static_cast<int>(index)].name();
  return bind(index, const_cast<std::byte*>(memory.data()), memory.size(), "input",
              name);  // inputs are only read: verified
}

Result<void> Run::bind_output(size_t index, std::span<std::byte> memory) {
  const int outputs = model_->outputs().size();
  if (index >= static_cast<size_t>(outputs))
    return make_error(ErrorCode::kBadBinding, "output {} of {}", index, outputs);
  return bind(inputs() + index, memory.data(), memory.size(), "output",
              model_->outputs()[static_cast<int>(index)].name());
}

Result<void> Run::prepare() {
  for (size_t i = 0; i < bindings_.size(); ++i) {
    if (bindings_[i].address != nullptr) continue;
    if (i < inputs())
      return make_error(ErrorCode::kBadBinding, "input '{}' is not bound",
                        model_->inputs()[static_cast<int>(i)].name());
    SLUICE_TRY(use_own(i));
  }
  if (ready_) return {};
  if (arenas_.empty()) {
    SLUICE_ASSIGN(own_arenas_, allocate_arenas(*model_));
    use_arenas(own_arenas_);
  }
  place_operands();
  return {};
}

void Run::place_operands() {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const OperandPlace& place = model_->places()[i];
    if (place.region != kAbsentRegion) addresses_[i] = address_of(place);
  }
  ready_ = true;
}

void Run::use_arenas(std::span<const Arena> arenas) {
  if (std::ranges::equal(arenas, arenas_, {}, &Arena::data)) return;
  arenas_.clear();
  for (const Arena& arena : arenas) arenas_.push_back(arena.data());
  ready_ = false;
}

// Adds the node's name to an error. A generated kernel fails when there is no scratch memory or
// an index is out of range, and has no names.
Error Run::name_node(Error error) const {
  const uint32_t task = walk_.failed_task();
  const bool is_kernels = error.code == ErrorCode::kLimit || error.code == ErrorCode::kBadValue;
  if (!is_kernels || task >= model_->queue().tasks.size() ||
      model_->queue().tasks[task].kernel == nullptr)
    return error;
  const uint32_t node = model_->part().task_node(static_cast<int>(task));
  return std::move(error).within(node_text(model_->def(), node));
}

Result<void> Run::execute(const WalkObserver& observer) {
  SLUICE_TRY(prepare());
  for (size_t i = 0; i < inputs(); ++i) {
    const Binding& binding = bindings_[i];
    if (binding.address != binding.user)
      std::memcpy(binding.address, binding.user, model_->binding_bytes(i));
  }
  if (auto done = walk_.run(*device_, addresses_.data(), observer); !done)
    return name_node(std::move(done).error());
  for (size_t i = inputs(); i < bindings_.size(); ++i) {
    const Binding& binding = bindings_[i];
    if (binding.user != nullptr && binding.address != binding.user)
      std::memcpy(binding.user, binding.address, model_->binding_bytes(i));
  }
  return {};
}

std::span<const std::byte> Run::output(size_t index) const {
  const Binding& binding = bindings_[inputs() + index];
  return {binding.user != nullptr ? binding.user : binding.address,
          model_->binding_bytes(inputs() + index)};
}

std::span<const std::byte> Run::value(int value) const {
  const pb::FixedPart& part = model_->part();
  return {address_of({part.value_region(value), part.value_offset(value)}),
          part.value_bytes(value)};
}

}  // namespace sluice
