// Emits the code of one nest: its loops, and its instructions for vectors of lanes.
//
// Include it only in files that emit IR: it brings LLVM's headers.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "common/loop/real_range.h"
#include "stages/subgraph-optimize/codegen/emit/scalar.h"
#include "stages/subgraph-optimize/codegen/loop/index_emitter.h"
#include "stages/subgraph-optimize/codegen/loop/nest_plan.h"

namespace sluice {

// The addresses of all buffers; the elements of row-local ones, one for each lane that is computed
// at once.
using BufferAddresses = std::vector<llvm::Value*>;

llvm::Align alignment_of(DType dtype);  // of elements in memory

class NestEmitter {
 public:
  NestEmitter(KernelBuilder& builder, loop::LoopGraph& graph, FlatNest nest, const NestPlan& plan,
              const BufferAddresses& buffers, MathPrecision precision);

  // Emits part `block` of `blocks` of the nest.
  void emit(llvm::Value* block, llvm::Value* blocks);

 private:
  // The points that are computed at once: `copies` vectors of `lanes`; of the last copy the lanes
  // of `mask` are there (null: all).
  struct Piece {
    Piece(int lane_count, int copy_count) : lanes(lane_count), copies(copy_count) {}
    int lanes;
    int copies;
    llvm::Value* mask = nullptr;
    bool is_tile = false;  // copies are along the tile axis
    // Of a tile of which a part is there: the number of its lanes, the mask of its copies, and for
    // each copy whether it is there and the mask of its lanes.
    llvm::Value *rows = nullptr, *columns = nullptr;
    IrValues is_there = {}, masks = {};
  };
  struct Carried {  // of an accumulator: by copy
    IrValues value, position;
    IrValues nan;  // whether there was one; see notes_nan
  };

  // ---- loops (nest_loops.cc)
  void choose_loops();
  llvm::Value* emit_units(llvm::Value*& chunk, llvm::Value*& chunks);
  void emit_unit(llvm::Value* unit, llvm::Value* chunk, llvm::Value* chunks);
  void emit_inner_axes(size_t axis, llvm::Value* begin, llvm::Value* end);
  void emit_lane_axis(llvm::Value* begin, llvm::Value* end, const std::function<void()>& point);
  bool is_cut_evenly() const;
  bool shares_by_lane() const;
  void emit_tiles(llvm::Value* begin, llvm::Value* end);
  void set_part(llvm::Value* rows, llvm::Value* columns);
  // Runs `body` for pieces that cover [begin, end) of an axis, with `carried` values through all.
  // is_even: no piece is smaller than the others.
  IrValues emit_pieces(SymbolId symbol, llvm::Value* begin, llvm::Value* end, IrValues carried,
                       const std::function<IrValues(const IrValues& carried)>& body,
                       bool is_even = false);
  bool masks_remainders() const;
  void emit_guarded_point();
  // Guards that hold for the piece at hand.
  enum class IgnoredGuards : uint8_t { kNone, kUniform, kAll };
  void emit_without(IgnoredGuards ignored);
  void emit_version(llvm::Value* condition, const std::function<void()>& version,
                    const std::function<void()>& otherwise);
  struct PlainOffsets {
    std::vector<ExpressionId> offsets;       // of loads, by instruction; see without_limits
    std::vector<ExpressionId> non_negative;  // of all of them
  };
  PlainOffsets plain_offsets();
  llvm::Value* none_is_negative(const std::vector<ExpressionId>& expressions);
  std::vector<loop::Guard> guards_of_nest() const;
  llvm::Value* all_hold(const std::vector<loop::Guard>& guards);
  bool is_ignored(const loop::Guard& guard) const {
    return ignored_guards_ == IgnoredGuards::kAll ||
           (ignored_guards_ == IgnoredGuards::kUniform && !differs(guard.value) &&
            !differs(guard.limit));
  }
  std::optional<std::pair<llvm::Value*, llvm::Value*>> extremes(ExpressionId id);
  void emit_point();  // all sweeps
  void emit_sweep(size_t sweep);
  IrValues emit_sweep_axes(size_t sweep, size_t axis, const IrValues& carried);
  bool is_written_out(size_t sweep, size_t number);
  IrValues emit_iteration(size_t sweep, const IrValues& carried);

  // ---- what the points of an axis share (nest_repeat.cc)
  // Which instructions are emitted: those before the innermost loop, or those inside (inside_).
  enum class Part : uint8_t { kAll, kBefore, kInside };
  struct SharedLoad {                  // of one copy of a load
    llvm::Value* condition = nullptr;  // of its guards; null: there are none, or they differ
    ExpressionId stride = -1;          // along the repeat axis; -1: indices differ
    llvm::Value* index = nullptr;      // by lane, of the axis's point 0
    llvm::Value* low = nullptr;        // the least index
    llvm::Value* window = nullptr;     // mask of the neighbours from `low` on; null: no window
    llvm::Value* places = nullptr;     // of the lanes in the window
  };
  void emit_repeated_point(llvm::Value* begin, llvm::Value* end);
  void emit_repeated_points(llvm::Value* begin, llvm::Value* end);
  llvm::Value* find_windows();
  llvm::Value* find_window(SharedLoad& shared, const loop::Buffer& buffer, llvm::Value* there);
  llvm::Value* share_load(loop::InstructionId id, int copy);
  const SharedLoad* shared_load(loop::InstructionId id, int copy) const;
  llvm::Value* load_shared(const SharedLoad& shared, const loop::Access& access, llvm::Value* mask);

  // ---- accumulators (nest_accumulators.cc)
  bool is_vector(const loop::Accumulator& accumulator) const;
  llvm::Value* initial_value(const loop::Accumulator& accumulator, int copy);
  IrValues initial_values(size_t sweep);
  void read_carried(size_t sweep, const IrValues& carried);
  IrValues combined(size_t sweep);
  void finish_accumulators(size_t sweep, const IrValues& carried);
  bool notes_nan(const loop::Accumulator& accumulator) const;
  llvm::Type* note_type(const loop::Accumulator& accumulator, int lanes);
  size_t note_count(const loop::Accumulator& accumulator, int copies) const;
  void note_nan(Carried& own, const IrValues& fresh);
  llvm::Value* with_nan(llvm::Value* value, llvm::Value* note);
  llvm::Value* extreme(const loop::Accumulator& accumulator, llvm::Value* so_far,
                       llvm::Value* fresh);
  llvm::Value* number_extreme(const loop::Accumulator& accumulator, llvm::Value* so_far,
                              llvm::Value* fresh);
  llvm::Value* combine(const loop::Accumulator& accumulator, llvm::Value* a, llvm::Value* b);
  llvm::Value* neutral(const loop::Accumulator& accumulator);
  llvm::Value* is_better(const loop::Accumulator& accumulator, llvm::Value* key,
                         llvm::Value* position, llvm::Value* best, llvm::Value* best_position);
  llvm::Value* is_first_nan(size_t sweep, const loop::Accumulator& accumulator, llvm::Value* key,
                            int copy);
  llvm::Value* widened(llvm::Value* value);  // to all lanes

  // ---- instructions (nest_body.cc), loads (nest_loads.cc) and stores (nest_stores.cc)
  void emit_instructions(size_t sweep);
  void emit_stores(size_t sweep);
  llvm::Value* emit_instruction(loop::InstructionId id, int copy);
  llvm::Value* emit_scalar(const loop::Instruction& instruction, int copy);
  bool is_within_i32(loop::InstructionId id) const;
  llvm::Value* emit_load(loop::InstructionId id, int copy);
  llvm::Value* load_elements(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                             int copy, llvm::Value* mask);
  void emit_store(const loop::Store& store, ExpressionId offset, int copy);
  void store_elements(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset, int copy,
                      llvm::Value* value, llvm::Value* mask);
  int stored_vector_bytes(size_t sweep, size_t number);
  bool is_worth_aligning();
  bool store_past_caches(size_t sweep, size_t number);
  llvm::Value* emit_until_aligned(llvm::Value* begin, llvm::Value* end,
                                  const std::function<void()>& point);
  bool reads_buffer(loop::BufferId buffer) const;
  bool load_tile(loop::InstructionId id);
  llvm::Value* load_tile_row(const loop::Instruction& own, llvm::Value* first, llvm::Value* stride,
                             int lane);
  llvm::Value* load_guarded(loop::InstructionId id, int copy);
  llvm::Value* load_pattern(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                            int copy, llvm::Value* mask);
  llvm::Value* neighbours_below(const loop::Guard& guard, int copy, int count);
  llvm::Value* load_strided(llvm::Type* type, llvm::Value* from, int64_t stride, llvm::Align align);
  llvm::Value* load_repeated(llvm::Type* type, llvm::Value* from, int64_t times, llvm::Align align,
                             llvm::Value* mask);
  int64_t times_repeated(ExpressionId offset);
  llvm::Value* guard_condition(const std::vector<loop::Guard>& guards, int copy);
  llvm::Value* expression_lanes(ExpressionId id, int copy);
  llvm::Value* expression_number(ExpressionId id, int copy);
  llvm::Value* both(llvm::Value* a, llvm::Value* b);  // of masks, null: all
  llvm::Value* present(int copy) const {              // the lanes of a copy that are there
    if (!piece_.masks.empty()) return piece_.masks[static_cast<size_t>(copy)];
    return copy == piece_.copies - 1 ? piece_.mask : nullptr;
  }
  llvm::Value* value(loop::InstructionId id, int copy);
  llvm::Value* from_memory(DType dtype, llvm::Value* value);
  llvm::Value* to_memory(DType dtype, llvm::Value* value);
  llvm::Type* memory_type(DType dtype);
  // A row-local buffer has its elements once for each lane of an outer axis, side by side.
  bool has_rows_by_lane(const loop::Buffer& buffer) const {
    return buffer.is_local && plan_.vector == NestPlan::Vector::kOuter;
  }
  llvm::Value* address(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                       int copy);
  bool has_whole_vectors(const loop::Buffer& buffer, ExpressionId offset) const;
  bool is_row(const loop::Buffer& buffer, ExpressionId offset);
  llvm::Value* addresses(const loop::Buffer& buffer, loop::BufferId id, ExpressionId offset,
                         int copy);
  bool differs(ExpressionId id) const;
  bool differs_by_copy(ExpressionId id) const;
  llvm::Value* under(llvm::Value* condition, const std::function<llvm::Value*()>& value,
                     llvm::Value* otherwise);

  const loop::Axis& axis(loop::AxisId id) const { return flat_.nest.axes[static_cast<size_t>(id)]; }
  const loop::Instruction& instruction(loop::InstructionId id) const {
    return flat_.nest.instructions[static_cast<size_t>(id)];
  }
  llvm::Value* extent(loop::AxisId id) { return index_.number(axis(id).extent); }
  bool has_masks() const { return b_.profile().vector_bits >= 512; }  // for all types
  bool has_masks_of(DType dtype) const {
    return has_masks() || (b_.profile().vector_bits >= 256 && dtype_bits(dtype) >= 32);
  }

  KernelBuilder& b_;
  loop::LoopGraph& graph_;
  FlatNest flat_;
  NestPlan plan_;
  const BufferAddresses& buffers_;
  ScalarEmitter scalar_;
  IndexEmitter index_;
  std::vector<loop::RealRange> ranges_;   // by instruction
  std::vector<loop::AxisId> block_axes_;  // whose points are split over the blocks
  std::vector<loop::AxisId> inner_axes_;  // loops inside
  loop::AxisId split_axis_ = -1;          // split into chunks when block_axes_ have few points

  // Of the code that is being emitted.
  Piece piece_{1, 1};
  SymbolId lane_symbol_ = -1;
  SymbolId copy_symbol_ = -1;  // along which copies lie: the lane symbol, or the tile axis
  int copy_in_hand_ = 0;
  IgnoredGuards ignored_guards_ = IgnoredGuards::kNone;
  Part part_ = Part::kAll;
  bool uses_windows_ = false;
  std::map<std::pair<loop::InstructionId, int>, SharedLoad> shared_;  // and by copy
  // By instruction: differs between lanes, tile copies, any of both, points of the repeat axis.
  std::vector<bool> by_lane_, by_tile_, by_square_, by_repeat_;
  std::vector<bool> inside_;      // by instruction: depends on the axis of the innermost loop
  std::vector<IrValues> values_;  // by instruction: one, or one a copy
  std::map<ExpressionId, int64_t> repeated_;  // looked up only
  std::vector<Carried> accumulators_;         // present, or final, values
};

}  // namespace sluice
