// The extents of a compiled model's types: those that are numbers, and those that are bound, for
// one run, from the dims of its inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "model.pb.h"

namespace sluice {

// expressions: the value of each of ModelDef.sizes; empty: not bound, then only fixed dims have an
// extent. nullopt: a dim without one. Error: kBadCompiledModel for a type of impossibly many
// elements, kUnsupportedPart for what is no tensor of some rank.
Result<std::optional<uint64_t>> dense_bytes(const pb::TypeDef& type,
                                            std::span<const int64_t> expressions);

class TypeSizes {
 public:
  // Types of fixed dims alone. model outlives this.
  explicit TypeSizes(const pb::ModelDef& model) : model_(&model) {}
  // symbols: a value for each of ModelDef.sizes.symbols. Error: kBadBinding when a dim would be
  // negative or beyond 64 bits.
  static Result<TypeSizes> bind(const pb::ModelDef& model, std::span<const int64_t> symbols);

  // nullopt: a dim that is known only when the model runs. A negative extent is answered as
  // nullopt, too. Indices were verified.
  std::optional<int64_t> extent(uint32_t type, int dim) const;
  std::optional<std::vector<int64_t>> extents(uint32_t type) const;
  // As dense_bytes.
  Result<std::optional<uint64_t>> bytes(uint32_t type) const;
  bool is_fixed(uint32_t type) const;  // without binding
  bool is_told(uint32_t type) const;   // by binding: each dim is a number or an expression

 private:
  const pb::ModelDef* model_;
  std::vector<int64_t> expressions_;  // the value of each; empty: not bound
};

// Rules of ModelDef.sizes and of what refers to it: kBadCompiledModel.
Result<void> verify_sizes(const pb::ModelDef& model);

}  // namespace sluice
