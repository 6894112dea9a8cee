// The extents of a compiled model's types: those that are numbers, and those that are bound, for
// one run, to the dims of its inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/base/storage_map.h"
#include "model.pb.h"

namespace sluice {

// Returns the bytes of a dense tensor of the type. expressions: the value of each of
// ModelDef.sizes; empty: not bound, then only fixed dims have an extent. nullopt: a dim has no
// extent. Errors: kBadCompiledModel for a type of impossibly many elements, kUnsupportedPart for a
// type that is no tensor of known rank.
Result<std::optional<uint64_t>> dense_bytes(const pb::TypeDef& type,
                                            std::span<const int64_t> expressions);

StorageMap storage_map_of(const pb::StorageDef& def);  // its columns are of one length

class TypeSizes {
 public:
  // Knows the extents of fixed dims alone. model outlives this.
  explicit TypeSizes(const pb::ModelDef& model) : model_(&model) {}
  // Binds the symbols: a value for each of ModelDef.sizes.symbols. Error: kBadBinding when a dim
  // would be negative or beyond 64 bits.
  static Result<TypeSizes> bind(const pb::ModelDef& model, std::span<const int64_t> symbols);

  // Returns the extent of a dim; nullopt for a dim that is known only when the model runs, and for
  // a negative extent. Indices were verified.
  std::optional<int64_t> extent(uint32_t type, int dim) const;
  std::optional<std::vector<int64_t>> extents(uint32_t type) const;
  // Returns the value of an expression of ModelDef.sizes. The symbols are bound.
  int64_t expression(uint32_t index) const { return expressions_[index]; }
  // See dense_bytes.
  Result<std::optional<uint64_t>> bytes(uint32_t type) const;
  bool is_fixed(uint32_t type) const;     // without binding
  bool is_bindable(uint32_t type) const;  // by binding: each dim is a number or an expression

 private:
  const pb::ModelDef* model_;
  std::vector<int64_t> expressions_;  // the value of each; empty: not bound
};

// Checks the rules of ModelDef.sizes and of the fields that refer to it: kBadCompiledModel.
Result<void> verify_sizes(const pb::ModelDef& model);

}  // namespace sluice
