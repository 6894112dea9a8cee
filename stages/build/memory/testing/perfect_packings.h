// Random instances that are known to fit: a rectangle of time and bytes is cut into buffers that
// cover it, so that at every time all of its bytes are live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "common/omfile/buffer.h"

namespace sluice {

// How pieces are cut. Numbers are percentages.
struct CutMix {
  const char* name;
  uint32_t lower_time_cuts;  // cuts at a time, not at an offset, of pieces of the lower half
  uint32_t upper_time_cuts;  // and of the upper half
  uint32_t pinwheels;        // cuts into five, none of which goes across the piece
};

inline constexpr CutMix kCutMixes[] = {
    {"even", 50, 50, 0}, {"long lives", 35, 35, 0}, {"short lives", 65, 65, 0},
    {"both", 25, 75, 0}, {"pinwheels", 50, 50, 10},
};

class PerfectPacking {
 public:
  static constexpr uint64_t kUnit = 1024;  // of bytes
  static constexpr uint64_t kUnits = 1024;
  static constexpr uint64_t kCapacity = kUnits * kUnit;
  static constexpr int64_t kTasks = 1024;

  PerfectPacking(const CutMix& mix, uint32_t seed) : mix_(mix), random_(seed) {}

  // Returns `count` buffers, or up to 3 more, in a random order.
  std::vector<Buffer> cut(size_t count) {
    pieces_ = {{0, kTasks, 0, kUnits}};
    while (pieces_.size() < count) cut_piece(below(pieces_.size()));
    for (size_t i = pieces_.size(); i > 1; --i) std::swap(pieces_[i - 1], pieces_[below(i)]);
    std::vector<Buffer> buffers;
    for (const Piece& piece : pieces_)
      buffers.push_back({piece.begin, piece.end - 1, (piece.top - piece.bottom) * kUnit});
    return buffers;
  }

 private:
  struct Piece {  // in tasks and units
    int64_t begin, end;
    uint64_t bottom, top;
  };

  uint64_t below(uint64_t end) { return random_() % end; }
  bool happens(uint32_t percentage) { return below(100) < percentage; }

  // Returns a number between two that have some between them.
  template <typename T>
  T between(T low, T high) {
    return low + 1 + static_cast<T>(below(static_cast<uint64_t>(high - low) - 1));
  }

  // Leaves a piece that is too small for the cut that is drawn.
  void cut_piece(size_t index) {
    const Piece piece = pieces_[index];
    const auto units = piece.top - piece.bottom;
    const bool is_lower = piece.top <= kUnits / 2;
    const bool has_time = piece.end - piece.begin > 2, has_units = units > 2;
    if (happens(mix_.pinwheels)) {
      if (has_time && has_units) cut_pinwheel(index);
    } else if (happens(is_lower ? mix_.lower_time_cuts : mix_.upper_time_cuts)) {
      if (has_time) cut_at_time(index, between(piece.begin, piece.end));
    } else if (has_units) {
      cut_at_offset(index, between(piece.bottom, piece.top));
    }
  }

  void cut_at_time(size_t index, int64_t time) {
    pieces_.push_back(pieces_[index]);
    pieces_[index].end = pieces_.back().begin = time;
  }

  void cut_at_offset(size_t index, uint64_t offset) {
    pieces_.push_back(pieces_[index]);
    pieces_[index].top = pieces_.back().bottom = offset;
  }

  //   left | top    top
  //   left | middle | right
  //   bottom bottom | right
  void cut_pinwheel(size_t index) {
    const Piece all = pieces_[index];
    const int64_t right = between(all.begin + 1, all.end), left = between(all.begin, right);
    const uint64_t top = between(all.bottom + 1, all.top), middle = between(all.bottom, top);
    pieces_[index] = {all.begin, left, middle, all.top};
    pieces_.push_back({all.begin, right, all.bottom, middle});
    pieces_.push_back({right, all.end, all.bottom, top});
    pieces_.push_back({left, all.end, top, all.top});
    pieces_.push_back({left, right, middle, top});
  }

  CutMix mix_;
  std::mt19937 random_;
  std::vector<Piece> pieces_;
};

// Returns instance `index` of an endless sequence that takes turns with the mixes: 200 to 450
// buffers.
inline std::vector<Buffer> perfect_packing(uint32_t index) {
  constexpr size_t kMixes = std::size(kCutMixes);
  std::mt19937 random(index);
  return PerfectPacking(kCutMixes[index % kMixes], index).cut(200 + random() % 248);
}

}  // namespace sluice
