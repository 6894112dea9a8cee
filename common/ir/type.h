// Types, storages and dims of values. Types and storages are interned in the Module: equal ones
// have equal ids.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/storage_map.h"
#include "common/symbolic/expression.h"

namespace sluice {

using TypeId = int32_t;     // into Module::type; 0 is the unknown type
using StorageId = int32_t;  // into Module::storage; -1: dense row-major
using SegmentId = int32_t;  // into Module::segment; -1: none
using GraphId = int32_t;    // into Module::graph
using KernelId = int32_t;   // into Module::kernel; -1: none

enum class DimKind : uint8_t { kFixed, kExpression, kUnknown };

struct Dim {
  DimKind kind = DimKind::kUnknown;
  int64_t value = 0;  // the extent, or an ExpressionId of the Module's table

  static Dim fixed(int64_t extent) { return {DimKind::kFixed, extent}; }
  // Module::make_dim turns constants into fixed dims.
  static Dim expression(ExpressionId id) { return {DimKind::kExpression, id}; }
  static Dim unknown() { return {}; }
  bool is_fixed() const { return kind == DimKind::kFixed; }
  bool is_expression() const { return kind == DimKind::kExpression; }
  bool is_unknown() const { return kind == DimKind::kUnknown; }
  auto operator<=>(const Dim&) const = default;
};

enum class TypeKind : uint8_t { kUnknown, kTensor, kSequence, kOptional, kMap };

struct Type {
  TypeKind kind = TypeKind::kUnknown;
  // For kTensor: the dtype of the elements (kUndefined: not inferred yet). For kMap: the dtype of
  // the keys.
  DType dtype = DType::kUndefined;
  bool ranked = false;    // kTensor: false means even the rank is unknown
  std::vector<Dim> dims;  // kTensor
  TypeId element = 0;     // kSequence, kOptional, kMap

  static Type tensor(DType dtype, std::vector<Dim> dims) {
    return {TypeKind::kTensor, dtype, true, std::move(dims), 0};
  }
  static Type fixed_tensor(DType dtype, const std::vector<int64_t>& extents);
  static Type unranked(DType dtype) { return {TypeKind::kTensor, dtype, false, {}, 0}; }
  static Type sequence(TypeId element) {
    return {TypeKind::kSequence, DType::kUndefined, false, {}, element};
  }
  static Type optional(TypeId element) {
    return {TypeKind::kOptional, DType::kUndefined, false, {}, element};
  }
  static Type map(DType key, TypeId element) { return {TypeKind::kMap, key, false, {}, element}; }

  bool is_tensor() const { return kind == TypeKind::kTensor; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }  // of a ranked tensor
  bool is_fixed() const;                                // a ranked tensor, every dim fixed
  bool has_unknown() const;                             // unranked, or some dim unknown
  std::optional<std::vector<int64_t>> extents() const;  // of a fixed tensor
  // Returns the number of elements of a fixed tensor; nullopt when not fixed or above 2^62.
  std::optional<int64_t> element_count() const;
  std::optional<uint64_t> dense_bytes() const;  // of a fixed tensor that is not of strings
  auto operator<=>(const Type&) const = default;
};

// The layout of a value's bytes, which never changes its type. Absent: dense row-major.
struct Storage {
  StorageMap map;
  std::vector<Dim> dims;      // extents of the stored axes; a state's are those of its bound
  Dim bytes = Dim::fixed(0);  // whole size
  auto operator<=>(const Storage&) const = default;
};

}  // namespace sluice
