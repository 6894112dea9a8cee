#include "common/loop/testing/random_loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "common/base/half.h"
#include "common/loop/scalar_value.h"
#include "common/loop/testing/random_values.h"

namespace sluice::loop {
namespace {

constexpr int64_t kMaxOuterPoints = 400;
constexpr int64_t kMaxInnerPoints = 260;
constexpr int64_t kMaxInputElements = 3000;

// The dtypes of memory.
const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> kAll = {DType::kF32, DType::kF32, DType::kF32,  DType::kF32,
                                          DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                                          DType::kI16, DType::kI32, DType::kI64,  DType::kU8,
                                          DType::kU16, DType::kU32, DType::kU64,  DType::kBool};
  return kAll;
}

// A number of iterations: an expression over sizes, and its value.
struct Extent {
  ExpressionId id = -1;
  int64_t value = 0;
};

// An axis that can be used in indices.
struct Loop {
  ExpressionId index = -1;
  Extent extent;
};

// What fills a buffer.
struct Content {
  double bound = 0, error = 0;
  int fraction = 0;
  ExpressionId index_limit = -1;  // indices of an axis of this extent, also from its end
};

// An accumulator whose value is chosen at the end of its sweep.
struct Plan {
  AccumulatorId id = -1;
  Combine combine = Combine::kSum;
  DType dtype = DType::kF32;
  bool is_read = false;  // in its own sweep
};

// An access to a new buffer.
struct Place {
  std::vector<ExpressionId> index, dims;
  std::vector<Guard> guards;
};

class LoopMaker {
 public:
  LoopMaker(uint32_t seed, bool is_special) : dice_(seed), is_special_(is_special) {}
  RandomLoops make();

 private:
  // ---- sizes
  ExpressionTable& table() { return graph_.expressions; }
  ExpressionId number(int64_t value) { return table().constant(value); }
  int64_t value_of(ExpressionId id) { return *table().evaluate(id, values_); }
  void add_sizes();
  void add_size();
  Extent random_extent();
  Extent fixed_extent(int64_t value) { return {number(value), value}; }

  // ---- buffers
  BufferId add_buffer(DType dtype, std::vector<ExpressionId> dims, const Content& content);
  void choose_storage(Buffer& buffer);
  void split_stored_axis(Buffer& buffer);
  DType memory_dtype(DType value_dtype);

  // ---- nests
  void add_nest(bool is_first);
  std::vector<Extent> outer_extents(bool is_first);
  void add_carrier();
  Loop add_axis(const Extent& extent);
  void add_sweep();
  void add_last_sweep();
  void begin_sweep(const std::vector<Extent>& extents);
  void end_sweep();
  std::vector<Loop> loops() const;
  ValueMaker maker() { return {dice_, graph_.nests.back(), pool_}; }

  // ---- accesses
  Place random_place(bool is_simple);
  void add_dim(Place& place, bool may_gather);
  void add_gathered_dim(Place& place);
  void guard_dim(Place& place);
  void add_load();
  Known load(BufferId buffer, const Place& place);
  void add_index_value();
  void add_test();
  void store_somewhere();
  void store_locally(const Known& value);
  void load_locally();
  void store(BufferId buffer, Place place, const Known& value);

  // ---- accumulators
  void begin_accumulators();
  void read_running(const Plan& plan);
  void end_accumulator(const Plan& plan);
  void read_finals();

  // ---- the whole
  void put_in_order();
  RandomLoops filled();
  std::vector<std::byte> bytes_of(const Buffer& buffer, const Content& content);
  void fill_element(DType dtype, const Content& content, std::byte* element);

  Dice dice_;
  bool is_special_;               // some floats in memory are not numbers, or infinite
  std::vector<DType> favorites_;  // of most buffers, so that values meet
  LoopGraph graph_;
  std::vector<int64_t> values_;    // by SymbolId; axes and values are 0
  std::vector<Extent> sizes_;      // that are symbols
  std::vector<Content> contents_;  // by BufferId
  BufferId carrier_ = -1;          // an output whose dims are the outer axes of the nest
  // Of the nest.
  std::vector<Loop> outer_, inner_;
  std::vector<Known> pool_, visible_;
  std::vector<Plan> plans_;
  std::vector<Known> finals_;  // the final values of accumulators, by AccumulatorId
  std::vector<BufferId> locals_;
};

// ---- sizes

void LoopMaker::add_size() {
  static const std::vector<int64_t> kValues = {0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 20};
  Extent size;
  size.value = dice_.one_of(kValues);
  Symbol symbol;
  symbol.name = fmt::format("s{}", graph_.symbols.size());
  symbol.low = size.value == 0 ? 0 : dice_.pick(0, 1);
  symbol.high = dice_.chance(50) ? 64 : INT64_MAX;
  if (size.value % 4 == 0 && dice_.chance(50)) symbol.divisor = 4;
  size.id = table().symbol_expression(table().add_symbol(symbol));
  graph_.symbols.push_back({SymbolRole::kSize, -1, -1, dice_.pick(1, 64)});
  values_.push_back(size.value);
  sizes_.push_back(size);
}

void LoopMaker::add_sizes() {
  const int64_t count = dice_.chance(30) ? 0 : dice_.pick(1, 3);
  for (int64_t i = 0; i < count; ++i) add_size();
}

Extent LoopMaker::random_extent() {
  static const std::vector<int64_t> kFixed = {1,  2,  3,  4,  5,  7,  8,  9,   15,
                                              16, 17, 31, 33, 63, 64, 65, 127, 129};
  if (sizes_.empty() || dice_.chance(45)) return fixed_extent(dice_.one_of(kFixed));
  const ExpressionId size = dice_.one_of(sizes_).id;
  ExpressionId id = size;
  switch (dice_.pick(0, 7)) {
    case 0:
      id = table().multiply(size, number(2));
      break;
    case 1:
      id = table().add(size, number(1));
      break;
    case 2:
      id = table().ceil_divide(size, number(4));
      break;
    case 3:
      id = table().minimum(size, number(8));
      break;
    default:
      break;
  }
  return {id, value_of(id)};
}

// ---- buffers

// Cuts the last stored axis of a dim in two: n becomes n / k, …, n % k.
void LoopMaker::split_stored_axis(Buffer& buffer) {
  const auto which = static_cast<size_t>(dice_.pick(0, std::ssize(buffer.storage) - 1));
  StoredAxis part = buffer.storage[which];
  part.modulus = int64_t{1} << dice_.pick(1, 4);
  buffer.storage[which].divisor = part.modulus;
  const int64_t place = dice_.pick(static_cast<int64_t>(which) + 1, std::ssize(buffer.storage));
  buffer.storage.insert(buffer.storage.begin() + place, part);
}

void LoopMaker::choose_storage(Buffer& buffer) {
  buffer.capacity = buffer.dims;
  buffer.storage = dense_map(buffer.dims.size());
  if (dice_.chance(10)) {
    for (ExpressionId& dim : buffer.capacity) dim = table().add(dim, number(dice_.pick(0, 3)));
  }
  if (buffer.storage.empty() || dice_.chance(60)) return;
  for (size_t i = buffer.storage.size(); i-- > 1;)
    std::swap(buffer.storage[i], buffer.storage[static_cast<size_t>(dice_.pick(0, i))]);
  if (dice_.chance(50)) split_stored_axis(buffer);
}

BufferId LoopMaker::add_buffer(DType dtype, std::vector<ExpressionId> dims,
                               const Content& content) {
  Buffer buffer;
  buffer.dtype = dtype;
  buffer.dims = std::move(dims);
  choose_storage(buffer);
  graph_.buffers.push_back(std::move(buffer));
  contents_.push_back(content);
  return static_cast<BufferId>(graph_.buffers.size()) - 1;
}

// A dtype of memory whose elements are of this dtype in registers.
DType LoopMaker::memory_dtype(DType value_dtype) {
  if (value_dtype != DType::kF32 || dice_.chance(70)) return value_dtype;
  return dice_.chance(50) ? DType::kF16 : DType::kBF16;
}

// ---- nests

Loop LoopMaker::add_axis(const Extent& extent) {
  Nest& nest = graph_.nests.back();
  Symbol symbol = axis_symbol(table(), extent.id);
  symbol.name = fmt::format("a{}", graph_.symbols.size());
  const SymbolId id = table().add_symbol(std::move(symbol));
  graph_.symbols.push_back({SymbolRole::kAxis, static_cast<int32_t>(graph_.nests.size()) - 1,
                            static_cast<int32_t>(nest.axes.size())});
  values_.push_back(0);
  nest.axes.push_back({id, extent.id});
  return {table().symbol_expression(id), extent};
}

// The first nest goes over all sizes, so that its carrier has them as dims.
std::vector<Extent> LoopMaker::outer_extents(bool is_first) {
  std::vector<Extent> extents;
  if (is_first) extents = sizes_;
  int64_t points = 1;
  for (const Extent& extent : extents) points *= std::max<int64_t>(extent.value, 1);
  for (int64_t more = dice_.pick(is_first ? 0 : 1, 2); more > 0; --more) {
    const Extent extent = random_extent();
    points *= std::max<int64_t>(extent.value, 1);
    if (points > kMaxOuterPoints) break;
    extents.push_back(extent);
  }
  for (size_t i = extents.size(); i-- > 1;)
    std::swap(extents[i], extents[static_cast<size_t>(dice_.pick(0, i))]);
  return extents;
}

// The output that the last sweep of a nest writes at each point.
void LoopMaker::add_carrier() {
  std::vector<ExpressionId> dims;
  for (const Loop& loop : outer_) dims.push_back(loop.extent.id);
  carrier_ = add_buffer(DType::kF32, dims, {});
  graph_.buffers.back().is_written = true;
  if (carrier_ != 0) return;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Expression& dim = table()[dims[i]];
    if (dim.op == ExpressionOp::kSymbol && graph_.symbols[static_cast<size_t>(dim.value)].index < 0)
      graph_.symbols[static_cast<size_t>(dim.value)].index = static_cast<int32_t>(i);
  }
}

void LoopMaker::add_nest(bool is_first) {
  graph_.nests.emplace_back();
  outer_.clear(), visible_.clear(), finals_.clear(), locals_.clear();
  for (const Extent& extent : outer_extents(is_first)) outer_.push_back(add_axis(extent));
  graph_.nests.back().outer = static_cast<int32_t>(outer_.size());
  add_carrier();
  for (int64_t sweeps = dice_.pick(1, 3); sweeps > 0; --sweeps) add_sweep();
  add_last_sweep();
}

std::vector<Loop> LoopMaker::loops() const {
  std::vector<Loop> all = outer_;
  all.insert(all.end(), inner_.begin(), inner_.end());
  return all;
}

void LoopMaker::begin_sweep(const std::vector<Extent>& extents) {
  Sweep& sweep = graph_.nests.back().sweeps.emplace_back();
  inner_.clear(), plans_.clear();
  for (const Extent& extent : extents) {
    sweep.axes.push_back(static_cast<AxisId>(graph_.nests.back().axes.size()));
    inner_.push_back(add_axis(extent));
  }
  pool_ = visible_;
}

void LoopMaker::end_sweep() {
  for (const Plan& plan : plans_) end_accumulator(plan);
  if (inner_.empty()) visible_ = pool_;
}

void LoopMaker::add_sweep() {
  std::vector<Extent> extents;
  int64_t points = 1;
  for (int64_t count = dice_.chance(25) ? 0 : dice_.chance(70) ? 1 : 2; count > 0; --count) {
    const Extent extent = random_extent();
    points *= std::max<int64_t>(extent.value, 1);
    if (points <= kMaxInnerPoints) extents.push_back(extent);
  }
  begin_sweep(extents);
  read_finals();
  if (!inner_.empty()) begin_accumulators();
  for (int64_t loads = dice_.pick(1, 3); loads > 0; --loads) add_load();
  load_locally();
  if (dice_.chance(30)) add_index_value();
  if (dice_.chance(20)) add_test();
  for (int64_t count = dice_.pick(1, 8); count > 0; --count) maker().add_random();
  end_sweep();
  if (dice_.chance(70)) store_somewhere();
}

// Writes the carrier, from what the sweeps left.
void LoopMaker::add_last_sweep() {
  begin_sweep({});
  read_finals();
  for (int64_t count = dice_.pick(0, 4); count > 0; --count) maker().add_random();
  if (pool_.empty()) add_load();
  const Known value = dice_.one_of(pool_);
  Place place;
  for (const Loop& loop : outer_) place.index.push_back(loop.index);
  graph_.buffers[static_cast<size_t>(carrier_)].dtype = memory_dtype(value.dtype);
  store(carrier_, std::move(place), value);
  end_sweep();
}

// ---- accesses

// A value in [0, limit) from an index in memory, by which a dim can be accessed.
void LoopMaker::add_gathered_dim(Place& place) {
  const Extent base = random_extent();
  const ExpressionId limit = table().add(base.id, number(1));  // so that there is an element
  const Place at = random_place(true);
  const DType dtype = dice_.chance(60) ? DType::kI64 : DType::kI32;
  Content content;
  content.index_limit = limit;
  const BufferId buffer = add_buffer(dtype, at.dims, content);
  InstructionId id = load(buffer, at).id;
  ValueMaker make = maker();
  if (dtype != DType::kI64) id = make.scalar(ScalarOp::kCast, DType::kI64, {id});
  Instruction extent;
  extent.kind = InstructionKind::kIndex;
  extent.dtype = DType::kI64;
  extent.index = limit;
  const InstructionId count = make.append(std::move(extent));
  id = make.scalar(ScalarOp::kCheckIndex, DType::kI64, {id, count});
  Symbol symbol = axis_symbol(table(), limit);
  symbol.name = fmt::format("v{}", graph_.symbols.size());
  const SymbolId added = table().add_symbol(std::move(symbol));
  graph_.symbols.push_back({SymbolRole::kValue, static_cast<int32_t>(graph_.nests.size()) - 1, id});
  values_.push_back(0);
  place.index.push_back(table().symbol_expression(added));
  place.dims.push_back(limit);
}

void LoopMaker::add_dim(Place& place, bool may_gather) {
  const std::vector<Loop> all = loops();
  const int64_t kind = all.empty() ? 0 : dice_.pick(0, 10);
  if (kind == 10 && may_gather) return add_gathered_dim(place);
  if (kind == 0) {
    const int64_t at = dice_.pick(0, 2);
    place.index.push_back(number(at));
    place.dims.push_back(number(at + dice_.pick(1, 2)));
    return;
  }
  const Loop a = dice_.one_of(all), b = dice_.one_of(all);
  ExpressionId index = a.index, dim = a.extent.id;
  if (kind == 6) {  // strided
    const int64_t stride = dice_.pick(2, 3), first = dice_.pick(0, 2);
    index = table().add(table().multiply(index, number(stride)), number(first));
    dim = table().add(table().multiply(dim, number(stride)), number(first));
  } else if (kind == 7) {  // from the end
    index = table().subtract(table().subtract(dim, number(1)), index);
  } else if (kind == 8) {  // two axes in one dim
    index = table().add(table().multiply(index, b.extent.id), b.index);
    dim = table().multiply(dim, b.extent.id);
  } else if (kind == 9) {  // a part of an axis
    const ExpressionId divisor = number(dice_.pick(2, 5));
    const bool is_quotient = dice_.chance(50);
    index = is_quotient ? table().floor_divide(index, divisor) : table().modulo(index, divisor);
    dim = is_quotient ? table().ceil_divide(dim, divisor) : divisor;
  }
  place.index.push_back(index);
  place.dims.push_back(dim);
}

// Moves the index of one dim, so that it may leave the buffer, and guards it.
void LoopMaker::guard_dim(Place& place) {
  const auto which = static_cast<size_t>(dice_.pick(0, std::ssize(place.index) - 1));
  const std::vector<Loop> all = loops();
  ExpressionId& index = place.index[which];
  index = table().add(index, number(dice_.pick(-2, 2)));
  if (!all.empty() && dice_.chance(30)) index = table().subtract(index, dice_.one_of(all).index);
  place.guards.push_back({index, place.dims[which]});
}

// A simple place has neither guards nor values from memory.
Place LoopMaker::random_place(bool is_simple) {
  Place place;
  int64_t elements = 1;
  for (int64_t rank = dice_.pick(0, 3); rank > 0; --rank) {
    add_dim(place, !is_simple);
    elements *= std::max<int64_t>(value_of(place.dims.back()), 1);
    if (elements <= kMaxInputElements) continue;
    place.index.pop_back();
    place.dims.pop_back();
    break;
  }
  if (!is_simple && !place.index.empty() && dice_.chance(25)) guard_dim(place);
  return place;
}

Known LoopMaker::load(BufferId buffer, const Place& place) {
  const Content& content = contents_[static_cast<size_t>(buffer)];
  Instruction instruction;
  instruction.kind = InstructionKind::kLoad;
  instruction.dtype = register_dtype(graph_.buffers[static_cast<size_t>(buffer)].dtype);
  instruction.access = {buffer, place.index};
  instruction.guards = place.guards;
  Known result{-1, instruction.dtype, content.bound, content.error, content.fraction};
  if (!place.guards.empty()) {
    const Known other = maker().choose(instruction.dtype);
    instruction.operands[0] = other.id;
    result.bound = std::max(result.bound, other.bound);
    result.error = std::max(result.error, other.error);
    result.fraction = std::max(result.fraction, other.fraction);
  }
  result.id = maker().append(std::move(instruction));
  return result;
}

void LoopMaker::add_load() {
  const DType dtype = dice_.chance(70) ? dice_.one_of(favorites_) : dice_.one_of(all_dtypes());
  Content content{kIntegerBound, 0, 0, -1};
  if (is_real(register_dtype(dtype))) content = {kInputBound, 0, kInputFraction, -1};
  if (dtype == DType::kBool) content.bound = 1;
  const Place place = random_place(false);
  const BufferId buffer = add_buffer(dtype, place.dims, content);
  pool_.push_back(load(buffer, place));
}

void LoopMaker::add_index_value() {
  const std::vector<Loop> all = loops();
  Instruction instruction;
  instruction.kind = InstructionKind::kIndex;
  instruction.dtype = DType::kI64;
  instruction.index = number(dice_.pick(-3, 3));
  for (const Loop& loop : all)
    instruction.index =
        table().add(instruction.index, table().multiply(loop.index, number(dice_.pick(-2, 2))));
  const InstructionId id = maker().append(std::move(instruction));
  pool_.push_back({id, DType::kI64, 1000, 0, 0});
}

void LoopMaker::add_test() {
  const std::vector<Loop> all = loops();
  if (all.empty()) return;
  const Loop a = dice_.one_of(all), b = dice_.one_of(all);
  Instruction instruction;
  instruction.kind = InstructionKind::kTest;
  instruction.dtype = DType::kBool;
  instruction.guards.push_back({table().subtract(a.index, b.index), number(dice_.pick(1, 5))});
  if (dice_.chance(50))
    instruction.guards.push_back({table().subtract(b.index, number(1)), a.extent.id});
  pool_.push_back({maker().append(std::move(instruction)), DType::kBool, 1, 0, 0});
}

void LoopMaker::store(BufferId buffer, Place place, const Known& value) {
  Buffer& into = graph_.buffers[static_cast<size_t>(buffer)];
  into.is_written = true;
  Content& content = contents_[static_cast<size_t>(buffer)];
  content = {value.bound, value.error, value.fraction, -1};
  if (register_dtype(into.dtype) != into.dtype) {
    const double epsilon = epsilon_of(into.dtype);
    if (value.error > 0) content.error += value.bound * epsilon;
  }
  graph_.nests.back().sweeps.back().stores.push_back(
      {{buffer, std::move(place.index)}, value.id, std::move(place.guards)});
}

// Stores a value at every point of the sweep, in a new output or in a row-local buffer.
void LoopMaker::store_somewhere() {
  if (pool_.empty()) return;
  const Known value = dice_.one_of(pool_);
  const bool is_fixed = std::ranges::all_of(
      inner_, [&](const Loop& loop) { return table().as_constant(loop.extent.id).has_value(); });
  if (!inner_.empty() && is_fixed && dice_.chance(50)) return store_locally(value);
  std::vector<Loop> all = loops();
  for (size_t i = all.size(); i-- > 1;)
    std::swap(all[i], all[static_cast<size_t>(dice_.pick(0, i))]);
  Place place;
  for (const Loop& loop : all) {
    const bool is_strided = dice_.chance(15);
    const ExpressionId factor = number(is_strided ? 2 : 1);
    place.index.push_back(table().multiply(loop.index, factor));
    place.dims.push_back(table().multiply(loop.extent.id, factor));
  }
  if (!place.index.empty() && dice_.chance(20))
    place.guards.push_back({table().subtract(place.index[0], number(1)), place.dims[0]});
  const BufferId buffer = add_buffer(memory_dtype(value.dtype), place.dims, {});
  store(buffer, std::move(place), value);
}

void LoopMaker::store_locally(const Known& value) {
  Place place;
  for (const Loop& loop : inner_) {
    place.index.push_back(loop.index);
    place.dims.push_back(loop.extent.id);
  }
  const BufferId buffer = add_buffer(value.dtype, place.dims, {});
  Buffer& local = graph_.buffers.back();
  local.is_local = true;
  local.capacity = local.dims;
  local.storage = dense_map(local.dims.size());
  locals_.push_back(buffer);
  store(buffer, std::move(place), value);
}

// Reads what an earlier sweep stored in the row, if the axes of this one go over it.
void LoopMaker::load_locally() {
  for (const BufferId buffer : locals_) {
    const std::vector<ExpressionId> dims = graph_.buffers[static_cast<size_t>(buffer)].dims;
    Place place;
    for (const ExpressionId dim : dims) {
      const auto fits =
          std::ranges::find(inner_, dim, [](const Loop& loop) { return loop.extent.id; });
      const int64_t last = *table().as_constant(dim) - 1;
      const bool is_reversed = dice_.chance(30);
      ExpressionId index = number(dice_.pick(0, last));
      if (fits != inner_.end())
        index = is_reversed ? table().subtract(number(last), fits->index) : fits->index;
      place.index.push_back(index);
    }
    if (dice_.chance(70)) pool_.push_back(load(buffer, place));
  }
}

// ---- accumulators

void LoopMaker::begin_accumulators() {
  Nest& nest = graph_.nests.back();
  for (int64_t count = dice_.pick(0, 2); count > 0; --count) {
    Plan plan;
    plan.combine = static_cast<Combine>(dice_.pick(0, 6));
    if (is_arg(plan.combine) && inner_.size() > 1) plan.combine = Combine::kMax;
    plan.dtype = register_dtype(dice_.chance(70) ? dice_.one_of(favorites_) : DType::kF32);
    if (plan.dtype == DType::kBool) plan.dtype = DType::kI64;
    plan.id = static_cast<AccumulatorId>(nest.accumulators.size());
    plan.is_read = plan.combine == Combine::kCarry;
    Accumulator own;
    own.combine = plan.combine;
    own.dtype = plan.dtype;
    own.sweep = static_cast<int32_t>(nest.sweeps.size()) - 1;
    own.initial = is_arg(plan.combine)
                      ? maker().extreme_constant(plan.dtype, plan.combine == Combine::kArgMin).id
                      : maker().random_constant(plan.dtype).id;
    nest.accumulators.push_back(own);
    nest.sweeps.back().accumulators.push_back(plan.id);
    finals_.emplace_back();
    plans_.push_back(plan);
    if (plan.is_read) read_running(plan);
  }
}

InstructionId read_accumulator(ValueMaker maker, InstructionKind kind, AccumulatorId id,
                               DType dtype) {
  Instruction instruction;
  instruction.kind = kind;
  instruction.dtype = dtype;
  instruction.accumulator = id;
  return maker.append(std::move(instruction));
}

// What is known about a carried value: end_accumulator keeps to it. A float is half of itself
// plus a number of at most 8 without error.
Known carried(const Plan& plan) {
  if (!is_real(plan.dtype)) return {-1, plan.dtype, HUGE_VAL, 0, 0};
  return {-1, plan.dtype, 18, 64 * epsilon_of(plan.dtype), 0};
}

void LoopMaker::read_running(const Plan& plan) {
  Known value = carried(plan);
  value.id = read_accumulator(maker(), InstructionKind::kAccumulator, plan.id, plan.dtype);
  pool_.push_back(value);
}

// Chooses what is combined, and says what is known about the result.
void LoopMaker::end_accumulator(const Plan& plan) {
  ValueMaker make = maker();
  double points = 1;
  for (const Loop& loop : inner_) points *= static_cast<double>(loop.extent.value);
  const bool is_carry = plan.combine == Combine::kCarry;
  const bool is_float = is_real(plan.dtype);
  Known value =
      is_arg(plan.combine) || is_carry ? make.choose_exact(plan.dtype) : make.choose(plan.dtype);
  Known final = value;
  final.bound = std::max(value.bound, 9.0);  // of the initial value
  final.fraction = std::max(value.fraction, kInputFraction);
  if (is_arg(plan.combine) && points == 0) final.bound = HUGE_VAL;
  if (is_float && is_carry) {
    value = make.clipped(value, 8);
    const InstructionId before =
        read_accumulator(maker(), InstructionKind::kAccumulator, plan.id, plan.dtype);
    const InstructionId half =
        make.scalar(ScalarOp::kMul, plan.dtype, {before, make.constant(plan.dtype, 0.5).id});
    value.id = make.scalar(ScalarOp::kAdd, plan.dtype, {half, value.id});
  } else if (is_float && plan.combine == Combine::kSum) {
    final.bound = final.bound + points * value.bound;
    final.error = value.error * points;
    if (std::ldexp(final.bound, final.fraction) > 1 / epsilon_of(plan.dtype) || value.error > 0)
      final.error += points * final.bound * epsilon_of(plan.dtype);
  } else if (is_float && plan.combine == Combine::kProduct) {
    value = make.clipped(value, 1);
    final.error = 9 * points * (value.error + 2 * epsilon_of(plan.dtype));
  } else if (!is_float && !is_arg(plan.combine) && plan.combine != Combine::kMax &&
             plan.combine != Combine::kMin) {
    final.bound = HUGE_VAL;
  }
  if (is_carry) final = carried(plan);
  final.dtype = plan.dtype;
  Accumulator& own = graph_.nests.back().accumulators[static_cast<size_t>(plan.id)];
  own.value = value.id;
  if (is_arg(plan.combine)) {
    Instruction position;
    position.kind = InstructionKind::kIndex;
    position.dtype = DType::kI64;
    position.index = inner_[0].index;
    own.position = maker().append(std::move(position));
    own.is_last = dice_.chance(40);
  }
  finals_[static_cast<size_t>(plan.id)] = final;
}

// Reads some of the accumulators of the sweeps before.
void LoopMaker::read_finals() {
  for (size_t i = 0; i < finals_.size(); ++i) {
    const auto id = static_cast<AccumulatorId>(i);
    const Combine combine = graph_.nests.back().accumulators[i].combine;
    if (dice_.chance(60)) {
      Known value = finals_[i];
      value.id = read_accumulator(maker(), InstructionKind::kAccumulator, id, value.dtype);
      if (is_real(value.dtype)) value = maker().clipped(value, 0x1p14);
      if (value.error <= 1e-3 * std::max(value.bound, 1.0)) pool_.push_back(value);
    }
    if (is_arg(combine) && dice_.chance(70))
      pool_.push_back({read_accumulator(maker(), InstructionKind::kPosition, id, DType::kI64),
                       DType::kI64, HUGE_VAL, 0, 0});
  }
}

// ---- the whole

// Outputs come first, row-local buffers last.
void LoopMaker::put_in_order() {
  const auto rank = [&](size_t i) {
    const Buffer& buffer = graph_.buffers[i];
    return buffer.is_local ? 2 : buffer.is_written ? 0 : 1;
  };
  std::vector<size_t> order(graph_.buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, rank);
  std::vector<BufferId> renamed(order.size());
  std::vector<Buffer> buffers;
  std::vector<Content> contents;
  for (const size_t i : order) {
    renamed[i] = static_cast<BufferId>(buffers.size());
    buffers.push_back(graph_.buffers[i]);
    contents.push_back(contents_[i]);
  }
  graph_.buffers = std::move(buffers), contents_ = std::move(contents);
  for (Nest& nest : graph_.nests) {
    for (Instruction& own : nest.instructions)
      if (own.access.buffer >= 0)
        own.access.buffer = renamed[static_cast<size_t>(own.access.buffer)];
    for (Sweep& sweep : nest.sweeps)
      for (Store& own : sweep.stores)
        own.access.buffer = renamed[static_cast<size_t>(own.access.buffer)];
  }
}

void LoopMaker::fill_element(DType dtype, const Content& content, std::byte* element) {
  const DType own = register_dtype(dtype);
  if (is_real(own)) {
    static const std::vector<double> kSpecial = {NAN, HUGE_VAL, -HUGE_VAL, -0.0, -0.0};
    const double value = is_special_ && dice_.chance(10)
                             ? dice_.one_of(kSpecial)
                             : static_cast<double>(dice_.pick(-32, 32)) / 8;
    bool fault = false;
    uint64_t bits = std::bit_cast<uint64_t>(value);
    if (own == DType::kF32)
      bits = compute_scalar(ScalarOp::kCast, DType::kF64, DType::kF32, {bits, 0, 0}, fault);
    return store_value(dtype, bits, element);
  }
  const auto bound = static_cast<int64_t>(content.bound);
  int64_t low = dtype_is_signed(dtype) ? -bound : 0, high = bound;
  if (content.index_limit >= 0) {
    const int64_t limit = value_of(content.index_limit);
    low = -limit, high = limit - 1;
  }
  store_value(dtype, static_cast<uint64_t>(dice_.pick(low, high)), element);
}

std::vector<std::byte> LoopMaker::bytes_of(const Buffer& buffer, const Content& content) {
  const int64_t elements = value_of(stored_elements(graph_, buffer));
  const size_t width = static_cast<size_t>(dtype_bits(buffer.dtype)) / 8;
  std::vector<std::byte> bytes(static_cast<size_t>(elements) * width, std::byte{0x25});
  if (buffer.is_written) return bytes;
  for (size_t at = 0; at < bytes.size(); at += width)
    fill_element(buffer.dtype, content, bytes.data() + at);
  return bytes;
}

RandomLoops LoopMaker::filled() {
  RandomLoops result;
  for (size_t i = 0; i < graph_.buffers.size(); ++i) {
    const Buffer& buffer = graph_.buffers[i];
    if (buffer.is_local) continue;
    for (const ExpressionId dim : buffer.dims) result.sizes.push_back(value_of(dim));
    result.operands.push_back(bytes_of(buffer, contents_[i]));
    result.tolerance.push_back(contents_[i].error);
  }
  result.graph = std::move(graph_);
  return result;
}

RandomLoops LoopMaker::make() {
  for (int i = 0; i < 2; ++i) favorites_.push_back(dice_.one_of(all_dtypes()));
  add_sizes();
  const int64_t nests = dice_.chance(70) ? 1 : dice_.pick(2, 3);
  for (int64_t i = 0; i < nests; ++i) add_nest(i == 0);
  put_in_order();
  return filled();
}

}  // namespace

RandomLoops random_loops(uint32_t seed) { return LoopMaker(seed, false).make(); }
RandomLoops random_special_loops(uint32_t seed) { return LoopMaker(seed, true).make(); }

}  // namespace sluice::loop
