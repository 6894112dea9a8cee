#include "common/omcheck/place_checker.h"

#include <algorithm>

#include "common/base/dtype.h"
#include "common/omfile/in_place_append.h"
#include "common/omfile/om_bindings.h"
#include "common/omfile/om_names.h"
#include "fmt/format.h"

namespace sluice {
namespace {

constexpr uint64_t kAlignment = 64, kPieceAlignment = 4;

class PlaceChecker {
 public:
  PlaceChecker(const pb::ModelDef& model, const pb::FixedPart& part, uint64_t weights_bytes)
      : model_(model), part_(part), value_names_(part) {
    places_.region_bytes = {part.memory().arena_bytes(), weights_bytes};
    for (const Bindings* bindings : {&part_inputs(model, part), &part_outputs(model, part)}) {
      for (const pb::BindingDef& binding : *bindings)
        places_.region_bytes.push_back(
            dense_bytes_of(model.types(static_cast<int>(memory_type(model, binding)))));
    }
    places_.first_output =
        pb::REGION_FIRST_BINDING + static_cast<uint32_t>(part_inputs(model, part).size());
  }

  Places check() {
    const auto values = static_cast<uint32_t>(part_.value_type_size());
    const uint64_t alignment = part_.piece_value_size() > 0 ? kPieceAlignment : kAlignment;
    for (uint32_t v = 0; v < values; ++v) {
      check_place(v, alignment);
      check_rows(v);
    }
    if (!places_.faults.empty()) return std::move(places_);
    find_results();
    std::vector<bool> is_made = places_.is_result;
    for (uint32_t v = 0; v < values; ++v) {
      if (places_.is_read_only(places_.footprints[v].region)) is_made[v] = true;
    }
    places_.pieces = build_piece_graph(part_, places_.footprints, is_made,
                                       [this](uint32_t v) { return name(v); });
    places_.faults = places_.pieces.faults;
    return std::move(places_);
  }

 private:
  template <typename... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    places_.faults.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  std::string name(uint32_t v) const { return fmt::format("value {} ('{}')", v, value_names_[v]); }

  const pb::TypeDef& type_of(uint32_t v) const {
    return model_.types(static_cast<int>(part_.value_type(static_cast<int>(v))));
  }

  void check_place(uint32_t v, uint64_t alignment) {
    const uint64_t begin = part_.value_offset(static_cast<int>(v)),
                   bytes = part_.value_bytes(static_cast<int>(v)),
                   region = places_.region_bytes[part_.value_region(static_cast<int>(v))];
    const uint64_t dense = dense_bytes_of(type_of(v));
    if (begin % alignment != 0)
      fault("{} begins at byte {}, no multiple of {}", name(v), begin, alignment);
    if (begin > region || bytes > region - begin)
      fault("{} at bytes {} + {} leaves its region of {}", name(v), begin, bytes, region);
    if (bytes < dense) fault("{} has {} bytes, its type needs {}", name(v), bytes, dense);
  }

  // Checks the capacity of a value and finds its footprint.
  void check_rows(uint32_t v) {
    const std::string narrow = narrow_dim(v);
    const auto footprint = narrow.empty() ? footprint_of(model_, part_, v) : Footprint();
    const uint64_t end =
        part_.value_offset(static_cast<int>(v)) + part_.value_bytes(static_cast<int>(v));
    if (!narrow.empty()) {
      fault("{} has a capacity narrower than its {}", name(v), narrow);
    } else if (!footprint) {
      fault("{} has rows at unequal distances", name(v));
    } else if (footprint->end() > end) {
      fault("{} ends at byte {}, its rows at byte {}", name(v), end, footprint->end());
    }
    places_.footprints.push_back(footprint.value_or(Footprint()));
  }

  // Returns what of a value its capacity is too narrow for; empty: nothing.
  std::string narrow_dim(uint32_t v) const {
    const uint32_t capacity =
        part_.value_capacity_size() == 0 ? 0 : part_.value_capacity(static_cast<int>(v));
    if (capacity == 0) return {};
    const pb::TypeDef &own = type_of(v), &wider = model_.types(static_cast<int>(capacity) - 1);
    if (own.dtype() != wider.dtype() || own.dims_size() != wider.dims_size()) return "type";
    for (int dim = 0; dim < own.dims_size(); ++dim) {
      if (own.dims(dim) > wider.dims(dim)) return fmt::format("dim {}", dim);
    }
    return {};
  }

  void find_results() {
    places_.is_result.assign(places_.footprints.size(), false);
    for (int t = 0; t < part_.task_kind_size(); ++t) {
      const uint32_t begin = t == 0 ? 0 : part_.task_operand_end(t - 1);
      for (uint32_t i = begin; i < begin + part_.task_outputs(t); ++i) {
        const uint32_t result = part_.operand(static_cast<int>(i));
        if (result < places_.is_result.size()) places_.is_result[result] = true;
      }
    }
  }

  const pb::ModelDef& model_;
  const pb::FixedPart& part_;
  const ValueNames value_names_;
  Places places_;
};

}  // namespace

uint64_t dense_bytes_of(const pb::TypeDef& type) {
  uint64_t count = 1;
  for (const int64_t dim : type.dims()) count *= static_cast<uint64_t>(std::max<int64_t>(dim, 0));
  return dtype_bytes(static_cast<DType>(type.dtype()), count);
}

Places check_places(const pb::ModelDef& model, const pb::FixedPart& part, uint64_t weights_bytes) {
  return PlaceChecker(model, part, weights_bytes).check();
}

}  // namespace sluice
