#include "common/omfile/bind_part.h"

#include <algorithm>

#include "common/base/dtype.h"
#include "common/base/tensor.h"
#include "common/omfile/in_place_append.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_format.h"
#include "common/omfile/om_names.h"
#include "common/omfile/pieces.h"
#include "common/omfile/place_buffers.h"
#include "common/omfile/verify_model.h"

namespace sluice {
namespace {

constexpr uint32_t kNoBuffer = 0xffffffff;

uint64_t aligned(uint64_t bytes) {
  return (bytes + kOmValueAlignment - 1) / kOmValueAlignment * kOmValueAlignment;
}

// Checks the inputs of computed dims, such as "past + seq".
Result<void> check_computed(const pb::ModelDef& model, const TypeSizes& sizes,
                            std::span<const std::span<const int64_t>> shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    const pb::BindingDef& input = model.inputs(static_cast<int>(i));
    const pb::TypeDef& type = model.types(static_cast<int>(input.type()));
    for (int dim = 0; dim < type.dim_expression_size() && dim < static_cast<int>(shapes[i].size());
         ++dim) {
      if (type.dim_expression(dim) == 0) continue;
      const auto wanted = sizes.extent(input.type(), dim);
      if (wanted == shapes[i][static_cast<size_t>(dim)]) continue;
      return make_error(
          ErrorCode::kBadBinding,
          "dim {} ('{}') of input '{}' is {}, the dims of the other inputs make it {}", dim,
          dim < type.dim_names_size() ? type.dim_names(dim) : "", input.name(),
          shapes[i][static_cast<size_t>(dim)], wanted ? fmt::format("{}", *wanted) : "negative");
    }
  }
  return {};
}

// Checks what nodes need of the sizes.
Result<void> check_required(const pb::SizesDef& def, const TypeSizes& sizes) {
  for (int i = 0; i < def.required_a_size(); ++i) {
    const int64_t a = sizes.expression(def.required_a(i)), b = sizes.expression(def.required_b(i));
    if (a == b) continue;
    return make_error(ErrorCode::kBadBinding, "{} differ: {} and {}", def.required_words(i), a, b)
        .with_hint(
            "give inputs whose sizes fit; random ones take theirs from --dim NAME=SIZE of the run");
  }
  return {};
}

class PartBinder {
 public:
  PartBinder(const pb::ModelDef& model, const pb::PartDef& def, const TypeSizes& sizes)
      : model_(model), symbolic_(def.symbolic()), sizes_(sizes), part_(def.fixed()) {}

  Result<pb::FixedPart> bind() {
    SLUICE_TRY(check_states());
    SLUICE_TRY(size_values());
    SLUICE_TRY(check_views());
    SLUICE_TRY(place_values());
    if (auto verified = verify_fixed_part(model_, part_, sizes_, true); !verified) {
      return make_error(ErrorCode::kBadBinding, "the sizes of the inputs do not fit each other: {}",
                        verified.error().message)
          .with_hint("sluice eval names the node");
    }
    return std::move(part_);
  }

 private:
  // Checks that states that are written in place have capacity for the result of this run.
  Result<void> check_states() const {
    for (const pb::BindingDef& output : part_outputs(model_, part_)) {
      if (output.state() == 0) continue;
      const auto extents = sizes_.extents(output.type()),
                 capacity = sizes_.extents(memory_type(model_, output));
      for (size_t dim = 0; extents && capacity && dim < capacity->size(); ++dim) {
        if ((*extents)[dim] <= (*capacity)[dim]) continue;
        const pb::StateDef& state = model_.states(static_cast<int>(output.state()) - 1);
        const pb::BindingDef& input = model_.inputs(static_cast<int>(state.input()));
        const pb::TypeDef& type = model_.types(static_cast<int>(input.type()));
        return make_error(
                   ErrorCode::kBadBinding,
                   "state '{}' would grow to {} along axis {}, the model was compiled for {}",
                   input.name(), (*extents)[dim], dim, (*capacity)[dim])
            .with_hint(
                fmt::format("reset the state, or compile with a larger bound: --dim {}=0..SIZE",
                            static_cast<int>(dim) < type.dim_names_size()
                                ? type.dim_names(static_cast<int>(dim))
                                : "NAME"));
      }
    }
    return {};
  }

  // Returns the type that decides the bytes of a value: its own, or that of the state's memory that
  // it is in.
  uint32_t memory_type_of(int value) const {
    const uint32_t state = state_of(model_, part_, part_.value_region(value));
    return state == 0 ? part_.value_type(value)
                      : model_.states(static_cast<int>(state) - 1).storage() - 1;
  }

  // Returns the bytes of a value in memory; see TypeSizes::bytes.
  Result<std::optional<uint64_t>> bytes_of(int value) const {
    if (has_rows_apart(part_, static_cast<uint32_t>(value)))
      return bytes_of_rows(model_, part_, sizes_, static_cast<uint32_t>(value));
    const uint32_t type = memory_type_of(value), storage = part_.value_storage(value);
    SLUICE_ASSIGN(const std::optional<uint64_t> dense, sizes_.bytes(type));
    const auto extents = sizes_.extents(type);
    if (storage == 0 || !dense || !extents) return dense;
    const pb::StorageDef& def = model_.storages(static_cast<int>(storage) - 1);
    const auto elements = stored_elements(storage_map_of(def), *extents);
    if (!elements) return make_error(ErrorCode::kBadBinding, "too many elements");
    const auto dtype = static_cast<DType>(model_.types(static_cast<int>(type)).dtype());
    return std::optional<uint64_t>(*elements * (dtype_bits(dtype) / 8));
  }

  bool is_sized(int value) const {
    return sizes_.is_fixed(part_.value_type(value)) &&
           (!has_rows_apart(part_, static_cast<uint32_t>(value)) ||
            sizes_.is_fixed(part_.value_capacity(value) - 1));
  }

  Result<void> size_values() {
    for (int v = 0; v < part_.value_type_size(); ++v) {
      if (is_sized(v)) continue;
      const auto sized = bytes_of(v);
      if (!sized) {
        return make_error(ErrorCode::kBadBinding,
                          "{}with these inputs value '{}' has a size that no process can have",
                          maker(v), ValueNames(part_)[static_cast<uint32_t>(v)]);
      }
      const std::optional<uint64_t> bytes = *sized;
      if (!bytes) {
        return make_error(ErrorCode::kBadBinding,
                          "{}with these inputs value '{}' would have a negative size", maker(v),
                          ValueNames(part_)[static_cast<uint32_t>(v)])
            .with_hint("the sizes of the inputs do not fit the model; sluice eval says why");
      }
      part_.set_value_bytes(v, *bytes);
    }
    return {};
  }

  // Returns "node 'conv1': " for the node that makes a value.
  std::string maker(int value) const {
    const std::string node = maker_text(model_, part_, value);
    return node.empty() ? node : node + ": ";
  }

  // Checks that a view has exactly as many bytes as the value that it shows.
  Result<void> check_views() const {
    for (int i = 0; i < symbolic_.view_value_size(); ++i) {
      const uint32_t view = symbolic_.view_value(i), whole = symbolic_.view_of(i);
      if (part_.value_bytes(static_cast<int>(view)) == part_.value_bytes(static_cast<int>(whole)))
        continue;
      const ValueNames names(part_);
      return make_error(ErrorCode::kBadShape,
                        "value '{}' of shape {} cannot be reshaped to {}, as value '{}'",
                        names[whole], shape_text(whole), shape_text(view), names[view])
          .with_hint("the sizes of the inputs do not fit the model; sluice eval names the node");
    }
    return {};
  }

  std::string shape_text(uint32_t value) const {
    return dims_text(*sizes_.extents(part_.value_type(static_cast<int>(value))));
  }

  // Returns the bytes from the start of a value's buffer, or region, to the value.
  Result<uint64_t> distance_of(int value) const {
    const uint64_t fixed = part_.value_offset(value);
    const uint32_t expression =
        symbolic_.value_distance_size() == 0 ? 0 : symbolic_.value_distance(value);
    if (expression == 0) return fixed;
    const int64_t distance = sizes_.expression(expression - 1);
    uint64_t whole = 0;
    if (distance >= 0 && distance % static_cast<int64_t>(kOmPieceAlignment) == 0 &&
        !__builtin_add_overflow(fixed, static_cast<uint64_t>(distance), &whole))
      return whole;
    return make_error(ErrorCode::kBadBinding,
                      "{}with these inputs value '{}' would begin {} bytes into its buffer",
                      maker(value), ValueNames(part_)[static_cast<uint32_t>(value)], distance);
  }

  Result<void> place_values() {
    std::vector<Buffer> buffers(static_cast<size_t>(symbolic_.buffer_first_size()));
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].first = symbolic_.buffer_first(static_cast<int>(i));
      buffers[i].last = symbolic_.buffer_last(static_cast<int>(i));
    }
    for (int v = 0; v < part_.value_type_size(); ++v) {
      SLUICE_ASSIGN(const uint64_t distance, distance_of(v));
      part_.set_value_offset(v, distance);
      if (symbolic_.value_buffer(v) == kNoBuffer) continue;
      uint64_t& bytes = buffers[symbolic_.value_buffer(v)].bytes;
      if (distance > kOmArenaLimit) return too_large(distance);
      bytes = std::max(bytes, aligned(distance + part_.value_bytes(v)));
    }
    SLUICE_TRY(place(buffers));
    for (int v = 0; v < part_.value_type_size(); ++v) {
      if (symbolic_.value_buffer(v) == kNoBuffer) continue;
      const uint64_t offset = buffers[symbolic_.value_buffer(v)].offset;
      part_.set_value_offset(v, offset + part_.value_offset(v));
    }
    return {};
  }

  Result<void> place(std::vector<Buffer>& buffers) {
    if (symbolic_.buffer_offset_size() > 0) {
      for (size_t i = 0; i < buffers.size(); ++i)
        buffers[i].offset = symbolic_.buffer_offset(static_cast<int>(i));
      return {};
    }
    uint64_t total = 0;
    for (const Buffer& buffer : buffers) {
      if (__builtin_add_overflow(total, buffer.bytes, &total)) return too_large(UINT64_MAX);
    }
    const uint64_t arena = place_buffers(buffers);
    if (arena > kOmArenaLimit) return too_large(arena);
    part_.mutable_memory()->set_arena_bytes(arena);
    return {};
  }

  Error too_large(uint64_t bytes) const {
    const std::string largest = maker_of_largest(model_, part_);
    return make_error(
               ErrorCode::kLimit,
               "{}{}with these inputs the values of its part need {} bytes, a run may have {}",
               largest, largest.empty() ? "" : ": ", bytes, kOmArenaLimit)
        .with_hint("make the inputs smaller");
  }

  const pb::ModelDef& model_;
  const pb::SymbolicPart& symbolic_;
  const TypeSizes& sizes_;
  pb::FixedPart part_;
};

template <typename Symbols>
bool multiply(uint64_t factor, const Symbols& symbols, std::span<const int64_t> dims,
              uint64_t& product) {
  product = factor;
  return std::all_of(symbols.begin(), symbols.end(), [&](uint32_t symbol) {
    return symbol < dims.size() &&
           !__builtin_mul_overflow(product, static_cast<uint64_t>(dims[symbol]), &product);
  });
}

}  // namespace

Result<std::vector<int64_t>> bind_symbols(const pb::ModelDef& model,
                                          std::span<const std::span<const int64_t>> shapes) {
  std::vector<int64_t> values;
  for (const pb::SymbolDef& symbol : model.sizes().symbols()) {
    const std::span<const int64_t> shape = shapes[symbol.input()];
    if (symbol.axis() >= shape.size())
      return make_error(ErrorCode::kBadBinding, "no input gives the dim '{}'", symbol.name());
    values.push_back(shape[symbol.axis()]);
  }
  SLUICE_ASSIGN(const TypeSizes sizes, TypeSizes::bind(model, values));
  SLUICE_TRY(check_computed(model, sizes, shapes));
  SLUICE_TRY(check_required(model.sizes(), sizes));
  return values;
}

Result<pb::FixedPart> bind_part(const pb::ModelDef& model, int part, const TypeSizes& sizes) {
  return PartBinder(model, model.parts(part), sizes).bind();
}

Result<LaunchSize> size_launch(const pb::KernelDef& kernel, std::span<const int64_t> dims) {
  LaunchSize size{kernel.blocks(), static_cast<uint32_t>(kernel.scratch_bytes()),
                  static_cast<double>(kernel.cycles())};
  if (!kernel.symbolic()) return size;
  uint64_t multiply_adds = 0;
  if (!multiply(kernel.multiply_adds(), kernel.multiply_add_symbols(), dims, multiply_adds)) {
    return make_error(ErrorCode::kBadBinding, "kernel '{}': its work cannot be counted",
                      kernel.entry());
  }
  size.cycles *= static_cast<double>(multiply_adds) /
                 static_cast<double>(std::max<uint64_t>(kernel.nominal_multiply_adds(), 1));
  if (kernel.multiply_adds_per_block() > 0) {
    size.blocks = static_cast<uint32_t>(
        std::clamp<uint64_t>(multiply_adds / kernel.multiply_adds_per_block(), 1, kernel.blocks()));
  }
  return size;
}

}  // namespace sluice
