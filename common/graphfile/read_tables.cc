#include <algorithm>
#include <set>

#include "common/base/tensor.h"
#include "common/graphfile/reader.h"

namespace sluice::graphfile {
namespace {

constexpr uint64_t kExpressionSizeLimit = 20'000;  // nodes of one expression written out as a tree
constexpr uint64_t kExpressionTotalLimit = 64'000'000;  // of all together
constexpr size_t kTypeDepthLimit = 64;                  // sequences of sequences of …

class TableReader {
 public:
  TableReader(const fb::File& file, const std::vector<std::string_view>& symbol_names,
              Module& module, Budget& budget)
      : file_(file), symbol_names_(symbol_names), module_(module), budget_(budget) {}

  Result<FileTables> read() {
    const bool aligned =
        is_aligned(file_.symbols()) && is_aligned(file_.expressions()) && is_aligned(file_.ints());
    if (!aligned) return bad_file("its tables are not aligned");
    SLUICE_TRY(read_symbols());
    SLUICE_TRY(read_expressions());
    SLUICE_TRY(read_types());
    SLUICE_TRY(read_storages());
    SLUICE_TRY(read_segments());
    SLUICE_TRY(read_kernels());
    return std::move(tables_);
  }

 private:
  Result<void> read_symbols() {
    const size_t count = size_of(file_.symbols());
    if (symbol_names_.size() != count)
      return bad_file("{} symbols have {} names", count, symbol_names_.size());
    std::set<std::string_view> seen;
    for (size_t i = 0; i < count; ++i) {
      const fb::Symbol& row = *file_.symbols()->Get(static_cast<uint32_t>(i));
      if (symbol_names_[i].empty() || !seen.insert(symbol_names_[i]).second)
        return bad_file("symbol {} has no name of its own", i);
      const bool outer = row.graph() == -1 && row.value() == -1;
      if (row.origin() > static_cast<uint8_t>(SymbolOrigin::kOpenDim) ||
          (!outer && !module_.has_graph(row.graph())) || row.axis() < 0 || row.low() > row.high() ||
          row.divisor() < 1) {
        return bad_file("symbol '{}' makes no sense", symbol_names_[i]);
      }
      module_.expressions.add_symbol(
          {std::string(symbol_names_[i]), static_cast<SymbolOrigin>(row.origin()), row.graph(),
           row.value(), row.axis(), row.low(), row.high(), row.divisor()});
    }
    return {};
  }

  // The cost of normalizing is the written-out length of an expression, so the sharing of operands
  // in hostile files is limited.
  Result<void> read_expressions() {
    std::vector<uint64_t> sizes;
    uint64_t total = 0;
    for (size_t i = 0; i < size_of(file_.expressions()); ++i) {
      const fb::Expression& row = *file_.expressions()->Get(static_cast<uint32_t>(i));
      const auto op = static_cast<ExpressionOp>(row.op());
      if (row.op() > static_cast<uint8_t>(ExpressionOp::kMax))
        return bad_file("expression {} has operation {}", i, row.op());
      ExpressionId id = -1;
      if (op == ExpressionOp::kConstant) {
        id = module_.expressions.constant(row.value());
      } else if (op == ExpressionOp::kSymbol) {
        if (row.value() < 0 ||
            static_cast<uint64_t>(row.value()) >= module_.expressions.symbol_count()) {
          return bad_file("expression {} names symbol {}", i, row.value());
        }
        id = module_.expressions.symbol_expression(static_cast<SymbolId>(row.value()));
      } else {
        if (!is_operand(row.a(), i) || !is_operand(row.b(), i))
          return bad_file("expression {} has operands {} and {}", i, row.a(), row.b());
        const auto a = static_cast<size_t>(row.a()), b = static_cast<size_t>(row.b());
        sizes.push_back(1 + sizes[a] + sizes[b]);
        total += sizes[i];
        if (sizes[i] > kExpressionSizeLimit || total > kExpressionTotalLimit)
          return bad_file("expression {} is too long", i);
        if (op == ExpressionOp::kMul && (is_sum(a) || is_sum(b)))
          return bad_file("expression {} is not in normal form", i);
        tables_.expressions.push_back(
            module_.expressions.make(op, tables_.expressions[a], tables_.expressions[b]));
        continue;
      }
      sizes.push_back(1);
      tables_.expressions.push_back(id);
    }
    return {};
  }
  static bool is_operand(int32_t id, size_t below) {
    return id >= 0 && static_cast<size_t>(id) < below;
  }
  bool is_sum(size_t id) const {
    return module_.expressions[tables_.expressions[id]].op == ExpressionOp::kAdd;
  }

  Result<Dim> dim(const fb::Dim& row) const { return read_dim(row, tables_, module_); }

  Result<std::vector<Dim>> dims(const flatbuffers::Vector<const fb::Dim*>* rows) {
    SLUICE_TRY(budget_.charge(size_of(rows), sizeof(fb::Dim)));
    if (!is_aligned(rows)) return bad_file("dimensions are not aligned");
    std::vector<Dim> result;
    for (size_t i = 0; i < size_of(rows); ++i) {
      SLUICE_ASSIGN(const Dim each, dim(*rows->Get(static_cast<uint32_t>(i))));
      result.push_back(each);
    }
    return result;
  }

  Result<void> read_types() {
    std::vector<size_t> depths;
    for (size_t i = 0; i < size_of(file_.types()); ++i) {
      const fb::Type& row = *file_.types()->Get(static_cast<uint32_t>(i));
      Type type;
      type.kind = static_cast<TypeKind>(row.kind());
      if (row.kind() > static_cast<uint8_t>(TypeKind::kMap))
        return bad_file("type {} has kind {}", i, row.kind());
      if (row.dtype() >= kDTypeCount)
        return bad_file("type {} has element type {}", i, row.dtype());
      size_t depth = 1;
      if (type.kind == TypeKind::kTensor) {
        type.dtype = static_cast<DType>(row.dtype());
        type.ranked = row.ranked();
        SLUICE_ASSIGN(type.dims, dims(row.dims()));
        if (!type.ranked && !type.dims.empty())
          return bad_file("type {} has dimensions but no rank", i);
      } else if (type.kind != TypeKind::kUnknown) {
        if (row.element() >= i) return bad_file("type {} has element {}", i, row.element());
        if (type.kind == TypeKind::kMap) type.dtype = static_cast<DType>(row.dtype());
        type.element = tables_.types[row.element()];
        depth = depths[row.element()] + 1;
      }
      if (depth > kTypeDepthLimit) return bad_file("type {} is nested too deep", i);
      depths.push_back(depth);
      tables_.types.push_back(module_.intern(type));
    }
    return {};
  }

  Result<void> read_storages() {
    for (size_t i = 0; i < size_of(file_.storages()); ++i) {
      const fb::Storage& row = *file_.storages()->Get(static_cast<uint32_t>(i));
      Storage storage;
      for (size_t axis = 0; axis < size_of(row.map()); ++axis) {
        const fb::StoredAxis& own = *row.map()->Get(static_cast<uint32_t>(axis));
        storage.map.push_back({own.dim(), own.divisor(), own.modulus()});
      }
      SLUICE_ASSIGN(storage.dims, dims(row.dims()));
      if (reinterpret_cast<uintptr_t>(row.bytes()) % alignof(fb::Dim) != 0)
        return bad_file("storage {} is not aligned", i);
      if (row.bytes() != nullptr) {
        SLUICE_ASSIGN(storage.bytes, dim(*row.bytes()));
      }
      if (storage.map.size() != storage.dims.size())
        return bad_file("storage {} has {} axes and {} extents", i, storage.map.size(),
                        storage.dims.size());
      tables_.storages.push_back(module_.intern(storage));
    }
    return {};
  }

  Result<void> read_segments() {
    for (size_t i = 0; i < size_of(file_.segments()); ++i) {
      const fb::Segment& row = *file_.segments()->Get(static_cast<uint32_t>(i));
      if (row.type() >= tables_.types.size())
        return bad_file("constant {} has type {}", i, row.type());
      const TypeId type = tables_.types[row.type()];
      if (row.kind() == fb::SegmentKind::parameter) {
        tables_.segments.push_back(module_.make_parameter(type, row.parameter()));
        continue;
      }
      SLUICE_ASSIGN(Segment segment, read_segment(row, type, i));
      tables_.segments.push_back(module_.add_segment(std::move(segment)));
    }
    return {};
  }

  Result<Segment> read_segment(const fb::Segment& row, TypeId type_id, size_t i) {
    const Type& type = module_.type(type_id);
    const auto dense = type.dense_bytes();
    const auto count = type.element_count();
    if (!count || (type.dtype != DType::kString && !dense))
      return bad_file("constant {} is no tensor of fixed shape", i);
    if (row.kind() > fb::SegmentKind::parameter)
      return bad_file("constant {} has kind {}", i, static_cast<int>(row.kind()));
    Segment segment;
    segment.kind = static_cast<SegmentKind>(row.kind());
    segment.type = type_id;
    segment.size = dense.value_or(row.size());
    if (segment.size != row.size())
      return bad_file("constant {} has {} bytes, its type has {}", i, row.size(), segment.size);
    if (row.digest() != nullptr)
      std::copy_n(row.digest()->bytes()->data(), segment.digest.bytes.size(),
                  segment.digest.bytes.begin());
    SLUICE_TRY(budget_.charge(size_of(row.data()), 1));
    SLUICE_TRY(budget_.charge(size_of(row.inputs()), sizeof(uint32_t)));
    if (row.data() != nullptr) {
      const auto* first = reinterpret_cast<const std::byte*>(row.data()->data());
      segment.data.assign(first, first + row.data()->size());
    }
    SLUICE_TRY(check_data(segment, type, i));
    if (segment.kind != SegmentKind::kExpression) return segment;
    segment.graph = row.graph();
    if (!module_.has_graph(row.graph()) ||
        module_.graph(row.graph()).role != GraphRole::kExpression) {
      return bad_file("constant {} is made by graph {}", i, row.graph());
    }
    for (size_t k = 0; k < size_of(row.inputs()); ++k) {
      const uint32_t input = row.inputs()->Get(static_cast<uint32_t>(k));
      if (input >= i) return bad_file("constant {} is made from constant {}", i, input);
      segment.inputs.push_back(tables_.segments[input]);
    }
    return segment;
  }

  static Result<void> check_data(const Segment& segment, const Type& type, size_t i) {
    uint64_t expected = 0;
    if (segment.kind == SegmentKind::kSmall) expected = segment.size;
    if (segment.kind == SegmentKind::kSplat)
      expected = static_cast<uint64_t>(dtype_bits(type.dtype)) / 8;
    const bool repeatable = segment.kind != SegmentKind::kSplat || expected > 0;
    if (segment.data.size() != expected || expected > kSmallSegmentBytes || !repeatable) {
      return bad_file("constant {} holds {} bytes of {}", i, segment.data.size(), expected);
    }
    if (type.dtype != DType::kString || segment.kind == SegmentKind::kExpression) return {};
    if (segment.size / 8 <= static_cast<uint64_t>(*type.element_count())) {
      return bad_file("constant {} of strings has no room for their offsets", i);
    }
    if (segment.kind != SegmentKind::kSmall) return {};
    Tensor strings{
        {}, type.dtype, *type.extents(), TensorBytes(segment.data.begin(), segment.data.end())};
    if (!is_consistent(strings))
      return bad_file("constant {} holds strings whose offsets make no sense", i);
    return {};
  }

  Result<void> read_kernels() {
    for (size_t i = 0; i < size_of(file_.kernels()); ++i) {
      const fb::Kernel& row = *file_.kernels()->Get(static_cast<uint32_t>(i));
      if (row.object() >= tables_.segments.size())
        return bad_file("kernel {} lies in constant {}", i, row.object());
      if (row.scratch_more() != 0)
        return bad_file("kernel {} is of an earlier release: its scratch grows with its sizes", i);
      SLUICE_TRY(budget_.charge(size_of(row.entry()) + size_of(row.isa()), 1));
      SLUICE_TRY(budget_.charge(size_of(row.multiply_add_symbols()), sizeof(uint32_t)));
      Kernel kernel;
      kernel.object = tables_.segments[row.object()];
      if (row.entry() != nullptr) kernel.entry = row.entry()->str();
      if (row.isa() != nullptr) kernel.isa = row.isa()->str();
      kernel.blocks = row.blocks();
      kernel.scratch_bytes = row.scratch_bytes();
      kernel.multiply_adds = row.multiply_adds();
      kernel.symbolic = row.symbolic();
      if (row.multiply_add_symbols() != nullptr)
        kernel.multiply_add_symbols.assign(row.multiply_add_symbols()->begin(),
                                           row.multiply_add_symbols()->end());
      kernel.multiply_adds_per_block = row.multiply_adds_per_block();
      kernel.cycles = row.cycles();
      kernel.nominal_multiply_adds = row.nominal_multiply_adds();
      tables_.kernels.push_back(module_.add_kernel(kernel));
    }
    return {};
  }

  const fb::File& file_;
  const std::vector<std::string_view>& symbol_names_;
  Module& module_;
  Budget& budget_;
  FileTables tables_;
};

}  // namespace

Result<Dim> read_dim(const fb::Dim& row, const FileTables& tables, const Module& module) {
  switch (static_cast<DimKind>(row.kind())) {
    case DimKind::kFixed:
      if (row.value() < 0) return bad_file("a dimension is {}", row.value());
      return Dim::fixed(row.value());
    case DimKind::kExpression:
      if (row.value() < 0 || static_cast<uint64_t>(row.value()) >= tables.expressions.size())
        return bad_file("a dimension names expression {}", row.value());
      return module.make_dim(tables.expressions[static_cast<size_t>(row.value())]);
    case DimKind::kUnknown:
      return Dim::unknown();
  }
  return bad_file("a dimension has kind {}", row.kind());
}

Result<void> read_requirements(const fb::File& file, const std::vector<std::string_view>& words,
                               const FileTables& tables, Module& module) {
  const auto* rows = file.requirements();
  if (size_of(rows) != words.size())
    return bad_file("{} requirements have {} texts", size_of(rows), words.size());
  const auto exists = [&](int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < tables.expressions.size();
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const fb::Requirement& row = *rows->Get(static_cast<uint32_t>(i));
    if (!exists(row.a()) || !exists(row.b()))
      return bad_file("requirement {} names expressions {} and {}", i, row.a(), row.b());
    module.requirements.add(tables.expressions[static_cast<size_t>(row.a())],
                            tables.expressions[static_cast<size_t>(row.b())],
                            std::string(words[i]));
  }
  return {};
}

Result<FileTables> read_tables(const fb::File& file,
                               const std::vector<std::string_view>& symbol_names, Module& module,
                               Budget& budget) {
  return TableReader(file, symbol_names, module, budget).read();
}

}  // namespace sluice::graphfile
