// The memory checker against one that goes byte by byte, on random schedules of small values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "common/omcheck/memory_checker.h"
#include "common/omfile/testing/model_builder.h"

namespace sluice {
namespace {

using testing::ModelBuilder;

constexpr uint64_t kArena = 2048;

using Bytes = std::set<uint64_t>;

// Remembers for each byte of a region when it was written last. Values are remembered with those
// times, and are intact while they are the same.
class ByteChecker {
 public:
  ByteChecker(const pb::ModelDef& model, const pb::FixedPart& part) : model_(model), part_(part) {
    for (uint32_t v = 0; v < values(); ++v) bytes_.push_back(bytes_of(v));
    int operand = 0;
    for (int t = 0; t < part.task_kind_size(); ++t) {
      for (uint32_t i = 0; i < part.task_outputs(t); ++i)
        results_.insert(part.operand(operand + static_cast<int>(i)));
      operand = static_cast<int>(part.task_operand_end(t));
    }
  }

  bool is_right() {
    if (!places_are_right()) return false;
    for (int t = 0; t < part_.task_kind_size(); ++t) {
      if (!run(t)) return false;
    }
    return output_is_full();
  }

 private:
  uint32_t values() const { return static_cast<uint32_t>(part_.value_type_size()); }
  uint32_t region(uint32_t v) const { return part_.value_region(static_cast<int>(v)); }
  bool is_constant(uint32_t v) const { return region(v) == pb::REGION_FIRST_BINDING; }  // input x

  // All values are dense f32 matrices.
  Bytes bytes_of(uint32_t v) const {
    const int index = static_cast<int>(v);
    const uint32_t capacity = part_.value_capacity_size() == 0 ? 0 : part_.value_capacity(index);
    const auto& dims = model_.types(static_cast<int>(part_.value_type(index))).dims();
    const int64_t wide =
        capacity == 0 ? dims[1] : model_.types(static_cast<int>(capacity) - 1).dims(1);
    Bytes bytes;
    for (int64_t row = 0; row < dims[0]; ++row) {
      for (int64_t byte = 0; byte < 4 * dims[1]; ++byte)
        bytes.insert(part_.value_offset(index) + static_cast<uint64_t>(row * wide * 4 + byte));
    }
    return bytes;
  }

  uint64_t region_bytes(uint32_t region) const {
    if (region == pb::REGION_ARENA) return kArena;
    const auto& binding = region == pb::REGION_FIRST_BINDING ? model_.inputs(0) : model_.outputs(0);
    const auto& dims = model_.types(static_cast<int>(binding.type())).dims();
    return static_cast<uint64_t>(dims[0] * dims[1] * 4);
  }

  bool overlap(uint32_t a, uint32_t b) const {
    return region(a) == region(b) &&
           std::ranges::any_of(bytes_[a], [&](uint64_t byte) { return bytes_[b].contains(byte); });
  }
  bool covers(uint32_t whole, uint32_t piece) const {
    return region(whole) == region(piece) && std::ranges::includes(bytes_[whole], bytes_[piece]);
  }

  bool places_are_right() {
    const uint64_t alignment = part_.piece_value_size() > 0 ? 4 : 64;
    for (uint32_t v = 0; v < values(); ++v) {
      if (*bytes_[v].begin() % alignment != 0) return false;
      if (*bytes_[v].rbegin() >= region_bytes(region(v))) return false;
    }
    for (int i = 0; i < part_.piece_value_size(); ++i) {
      if (!covers(part_.piece_of(i), part_.piece_value(i))) return false;
    }
    for (uint32_t v = 0; v < values(); ++v) {
      if (!divide(v)) return false;
    }
    return true;
  }

  bool is_made(uint32_t v) const { return is_constant(v) || results_.contains(v); }
  std::vector<uint32_t> pieces_of(uint32_t whole) const {
    std::vector<uint32_t> pieces;
    for (int i = 0; i < part_.piece_value_size(); ++i) {
      if (part_.piece_of(i) == whole) pieces.push_back(part_.piece_value(i));
    }
    return pieces;
  }
  bool is_grounded(uint32_t v) const {
    return is_made(v) ||
           std::ranges::any_of(pieces_of(v), [&](uint32_t piece) { return is_grounded(piece); });
  }
  bool is_slice(uint32_t v) const {
    for (int i = 0; i < part_.piece_value_size(); ++i) {
      const uint32_t whole = part_.piece_of(i);
      if (part_.piece_value(i) == v && !is_grounded(v) &&
          (may_show(whole) || std::ranges::count(members_of(whole), v) == 0))
        return true;
    }
    return false;
  }
  // Whether a value may be a view of another one, although it has pieces.
  bool may_show(uint32_t whole) const {
    return std::ranges::count(part_.alias_value(), whole) > 0 && !is_grounded(whole) &&
           !is_slice(whole);
  }
  bool fill(const std::vector<uint32_t>& members, uint32_t whole) const {
    Bytes all;
    size_t count = 0;
    for (const uint32_t member : members) {
      all.insert(bytes_[member].begin(), bytes_[member].end());
      count += bytes_[member].size();
    }
    return count == all.size() && all == bytes_[whole];
  }
  std::vector<uint32_t> members_of(uint32_t whole) const {
    if (is_made(whole) || is_slice(whole)) return {};
    std::vector<uint32_t> members, others;
    for (const uint32_t piece : pieces_of(whole))
      (is_grounded(piece) ? members : others).push_back(piece);
    size_t filled = 0;
    for (const uint32_t member : members) filled += bytes_[member].size();
    for (const uint32_t other : others) {
      if (filled >= bytes_[whole].size()) break;
      members.push_back(other);
      filled += bytes_[other].size();
    }
    return may_show(whole) && !fill(members, whole) ? std::vector<uint32_t>() : members;
  }

  bool divide(uint32_t whole) {
    members_.push_back(members_of(whole));
    slices_.push_back(pieces_of(whole));
    std::erase_if(slices_.back(), [&](uint32_t piece) {
      return is_grounded(piece) ||
             (!may_show(whole) && std::ranges::count(members_.back(), piece) > 0);
    });
    return members_.back().empty() || fill(members_.back(), whole);
  }

  struct Time {
    std::map<uint64_t, int> written;  // by byte
    int task;
  };

  std::map<uint64_t, int> times(uint32_t v) {
    std::map<uint64_t, int> times;
    for (const uint64_t byte : bytes_[v]) times[byte] = written_[{region(v), byte}];
    return times;
  }
  bool is_intact(uint32_t v) {
    if (is_constant(v)) return true;
    const auto made = made_.find(v);
    return made != made_.end() && made->second.written == times(v);
  }

  bool run(int t) {
    const uint32_t begin = t == 0 ? 0 : part_.task_operand_end(t - 1);
    const auto operand = [&](uint32_t i) { return part_.operand(static_cast<int>(i)); };
    const uint32_t inputs = begin + part_.task_outputs(t), end = part_.task_operand_end(t);
    for (uint32_t i = inputs; i < end; ++i) {
      if (!is_intact(operand(i))) return false;
    }
    for (uint32_t i = begin; i < inputs; ++i) {
      const uint32_t result = operand(i);
      for (uint32_t j = i + 1; j < end; ++j) {
        const bool is_equal = j >= inputs && part_.task_kind(t) == pb::TASK_TEST &&
                              bytes_[result] == bytes_[operand(j)];
        if (!is_equal && overlap(result, operand(j))) return false;
      }
    }
    for (uint32_t i = begin; i < inputs; ++i) {
      if (is_constant(operand(i)) || made_.contains(operand(i))) return false;
      ++clock_;
      for (const uint64_t byte : bytes_[operand(i)]) written_[{region(operand(i)), byte}] = clock_;
      make(t, operand(i));
    }
    for (int i = 0; i < part_.alias_value_size(); ++i) {
      if (part_.alias_after_task(i) == static_cast<uint32_t>(t) && !show(t, part_.alias_value(i)))
        return false;
    }
    return true;
  }

  void make(int t, uint32_t value) {
    made_[value] = {times(value), t};
    for (bool more = true; more;) {
      more = false;
      for (uint32_t v = 0; v < values(); ++v) {
        const bool is_complete =
            !members_[v].empty() &&
            std::ranges::all_of(members_[v], [&](uint32_t member) { return is_intact(member); });
        if (is_complete && !made_.contains(v)) {
          made_[v] = {times(v), t};
          more = true;
        }
        if (!made_.contains(v) || made_[v].task != t || !is_intact(v)) continue;
        for (const uint32_t slice : slices_[v]) {
          if (made_.contains(slice)) continue;
          made_[slice] = {times(slice), t};
          more = true;
        }
      }
    }
  }

  bool show(int t, uint32_t view) {
    if (is_intact(view)) return true;
    if (made_.contains(view)) return false;
    for (uint32_t v = 0; v < values(); ++v) {
      if (!made_.contains(v) || made_[v].task != t || !is_intact(v)) continue;
      if (*bytes_[v].begin() != *bytes_[view].begin() || !covers(v, view)) continue;
      make(t, view);
      return true;
    }
    return false;
  }

  bool output_is_full() {
    const uint32_t output = pb::REGION_FIRST_BINDING + 1;
    size_t filled = 0;
    for (uint32_t v = 0; v < values(); ++v) {
      if (region(v) != output || !is_intact(v)) continue;
      if (bytes_[v].size() == region_bytes(output)) return true;
      if (results_.contains(v)) filled += bytes_[v].size();
    }
    return filled == region_bytes(output);
  }

  const pb::ModelDef& model_;
  const pb::FixedPart& part_;
  std::vector<Bytes> bytes_;  // by value
  std::set<uint32_t> results_;
  std::vector<std::vector<uint32_t>> members_, slices_;   // by value
  std::map<std::pair<uint32_t, uint64_t>, int> written_;  // by region and byte
  int clock_ = 0;
  std::map<uint32_t, Time> made_;
};

// A random model: groups of tasks about one matrix, which is written as a whole and split, or
// concatenated of pieces, or of pieces that have pieces. Groups take turns, which makes most
// schedules right where their places do not meet.
class RandomSchedule {
 public:
  explicit RandomSchedule(uint32_t seed) : random_(seed) {
    x_ = b.input("x", b.type(DType::kF32, {kRows, wide_}));
    b.output("y", b.type(DType::kF32, {kRows, wide_}));
    b.stream("main");
    kernel_ = b.test_kernel("k", 1);
    b.part().mutable_memory()->set_arena_bytes(kArena);
    const int groups = 2 + below(3);
    for (int i = 0; i < groups; ++i) {
      wide_ = below(3) == 0 ? 8 : 16;
      groups_.push_back(group(pb::REGION_ARENA, place()));
    }
    wide_ = 16;
    groups_.push_back(group(pb::REGION_FIRST_BINDING + 1, 0));
    for (int i = 0; i < below(3) - 1; ++i) damage();
    interleave();
  }

  ModelBuilder b;

 private:
  static constexpr int64_t kRows = 4;

  struct Step {
    std::vector<uint32_t> results, operands;
    std::vector<uint32_t> views;
    bool copies = false;
  };
  using Group = std::vector<Step>;

  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }
  uint64_t place() { return 256 * static_cast<uint64_t>(below(static_cast<int>(kArena / 256))); }

  uint32_t matrix(int64_t rows, int64_t columns, uint32_t region, uint64_t offset) {
    const uint32_t value = b.value("v", b.type(DType::kF32, {rows, columns}), region, offset);
    if (columns < wide_) b.set_capacity(value, 0, b.type(DType::kF32, {rows, wide_}));
    return value;
  }

  void copy_capacity(uint32_t to, int from) {
    if (b.part().value_capacity_size() > 0 && b.part().value_capacity(from) != 0)
      b.set_capacity(to, 0, b.part().value_capacity(from) - 1);
  }

  // Cuts a matrix of full width into two lines or columns of values.
  std::vector<uint32_t> cut(uint32_t whole, int64_t rows, uint32_t region, uint64_t offset) {
    std::vector<uint32_t> pieces;
    if (rows > 1 && below(2) == 0) {
      const int64_t top = 1 + below(static_cast<int>(rows) - 1);
      pieces = {matrix(top, wide_, region, offset),
                matrix(rows - top, wide_, region, offset + static_cast<uint64_t>(top * wide_ * 4))};
      rows_of_[pieces[0]] = top;
      rows_of_[pieces[1]] = rows - top;
    } else {
      const int64_t left = 1 + below(static_cast<int>(wide_) - 1);
      pieces = {matrix(rows, left, region, offset),
                matrix(rows, wide_ - left, region, offset + static_cast<uint64_t>(left * 4))};
    }
    for (const uint32_t piece : pieces) b.piece(piece, whole);
    return pieces;
  }

  void write(Group& group, uint32_t value) {
    group.push_back({{value}, {x_}, {}});
    if (below(6) == 0) {  // a value over the first one, and a view of it
      const int index = static_cast<int>(value);
      const uint32_t view = b.value("view", b.part().value_type(index),
                                    b.part().value_region(index), b.part().value_offset(index));
      copy_capacity(view, index);
      group.back().views.push_back(view);
      if (b.part().value_offset(index) % 64 == 0) group.push_back({{}, {view}, {}});
    }
  }

  // Writes a value that no task writes by its pieces, or pieces of these.
  void concat(Group& group, uint32_t whole, int64_t rows, uint32_t region, uint64_t offset) {
    for (const uint32_t piece : cut(whole, rows, region, offset)) {
      const uint64_t begin = b.part().value_offset(static_cast<int>(piece));
      if (rows_of_.contains(piece) && below(3) == 0) {
        concat(group, piece, rows_of_[piece], region, begin);
      } else {
        write(group, piece);
      }
    }
  }

  Group group(uint32_t region, uint64_t offset) {
    Group group;
    const uint32_t whole = matrix(kRows, wide_, region, offset);
    std::vector<uint32_t> slices;
    const int kind = below(5);
    if (kind == 0) {
      write(group, whole);
    } else if (kind == 4) {  // the whole is a view that is split
      group.push_back({{matrix(kRows, wide_, region, offset)}, {x_}, {whole}});
      slices = cut(whole, kRows, region, offset);
    } else if (kind == 1) {
      slices = cut(whole, kRows, region, offset);
      write(group, whole);
    } else {
      concat(group, whole, kRows, region, offset);
      if (kind == 3) slices = cut(whole, kRows, region, offset);
    }
    if (below(3) == 0) group.back().views.push_back(whole);
    if (below(2) == 0) group.push_back({{}, {whole}, {}});
    for (const uint32_t slice : slices) {
      if (below(3) == 0 && region == pb::REGION_ARENA) overwrite(group, slice);
    }
    for (const uint32_t slice : slices) {
      if (below(4) > 0) group.push_back({{}, {slice}, {}});
    }
    if (below(3) == 0) group.push_back({{}, {whole}, {}});
    return group;
  }

  // Reads the slices first, then writes over one of them.
  void overwrite(Group& group, uint32_t slice) {
    const int index = static_cast<int>(slice);
    const uint64_t offset = b.part().value_offset(index);
    if (offset % 64 != 0) return;
    const uint32_t over = b.value("over", b.part().value_type(index), pb::REGION_ARENA, offset);
    copy_capacity(over, index);
    group.push_back({{over}, {slice}, {}, below(8) == 0});
    group.push_back({{}, {over}, {}});
  }

  template <typename Column>
  void swap_with_last(Column& values, Column& wholes) {
    const int chosen = below(values.size());
    values.SwapElements(chosen, values.size() - 1);
    wholes.SwapElements(chosen, wholes.size() - 1);
  }

  // Makes one thing wrong, perhaps.
  void damage() {
    const int v = below(b.part().value_type_size());
    const uint64_t offset = b.part().value_offset(v);
    switch (below(5)) {
      case 0:
        return b.part().set_value_offset(v, offset + 4);
      case 1:
        return b.part().set_value_offset(v, offset + static_cast<uint64_t>(wide_) * 4);
      case 2:
        return b.part().set_value_offset(v, place());
      case 3:
        if (b.part().piece_value_size() == 0) return;
        swap_with_last(*b.part().mutable_piece_value(), *b.part().mutable_piece_of());
        b.part().mutable_piece_value()->RemoveLast();
        b.part().mutable_piece_of()->RemoveLast();
        return;
      default:
        Group& group = groups_[static_cast<size_t>(below(static_cast<int>(groups_.size())))];
        std::swap(group.front(), group.back());
    }
  }

  void interleave() {
    std::vector<size_t> next(groups_.size(), 0);
    size_t current = 0, left = 0;
    for (const Group& group : groups_) left += group.size();
    for (; left > 0; --left) {
      while (next[current] == groups_[current].size() || below(5) == 0)
        current = static_cast<size_t>(below(static_cast<int>(groups_.size())));
      const Step& step = groups_[current][next[current]++];
      const uint32_t task = b.task(step.copies ? pb::TASK_COPY : pb::TASK_TEST, "t", 0, kernel_,
                                   step.results, step.operands);
      for (const uint32_t view : step.views) b.alias(view, task);
    }
  }

  std::mt19937 random_;
  int64_t wide_ = 16;  // columns of the current group's matrix
  uint32_t kernel_ = 0, x_ = 0;
  std::map<uint32_t, int64_t> rows_of_;  // of pieces of full width
  std::vector<Group> groups_;
};

TEST(MemoryRandom, AgreesWithACheckerOfBytes) {
  int right = 0, wrong = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomSchedule schedule(seed);
    ByteChecker bytes(schedule.b.model, schedule.b.part());
    const auto faults = find_memory_faults(schedule.b.model, schedule.b.part(), 0);
    const bool expected = bytes.is_right();
    ++(expected ? right : wrong);
    ASSERT_EQ(faults.empty(), expected)
        << "seed " << seed << ": " << (faults.empty() ? "no fault" : faults.front());
  }
  EXPECT_GT(right, 600);
  EXPECT_GT(wrong, 600);
}

}  // namespace
}  // namespace sluice
