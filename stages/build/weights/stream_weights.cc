#include "stages/build/weights/stream_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "common/base/files.h"
#include "common/base/memory.h"
#include "common/base/parallel.h"
#include "common/eval/tiled_evaluation.h"

namespace sluice {
namespace {

// A tile and its intermediate values fit in a second-level cache.
constexpr uint64_t kTileBytes = 1 << 20;
constexpr size_t kAhead = 8;  // tiles for each thread that are evaluated and not yet written

bool is_evaluated(const Segment& segment) {
  return segment.kind == SegmentKind::kExpression || segment.kind == SegmentKind::kSplat;
}

// Unmaps the whole pages of the file that a constant's bytes are mapped from; they are read again
// on the next access. Otherwise all weights would stay in memory until the end, when one thread has
// to unmap them.
void let_go(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)),
             from = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = (from + page - 1) / page * page,
                  end = (from + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

// Releases a constant in a file, or those that an expression reads.
void let_go(const Module& module, SegmentId id) {
  std::vector<SegmentId> left = {id};
  for (std::set<SegmentId> seen; !left.empty();) {
    const SegmentId next = left.back();
    left.pop_back();
    if (!seen.insert(next).second) continue;
    const Segment& segment = module.segment(next);
    left.insert(left.end(), segment.inputs.begin(), segment.inputs.end());
    const bool mapped = segment.kind == SegmentKind::kBytes && !segment.location.path.empty() &&
                        !is_special_file(segment.location.path);
    if (const auto bytes = mapped ? module.bytes(next) : std::span<const std::byte>(); bytes)
      let_go(*bytes);
  }
}

// Constants that threads evaluate in tiles and one consumer takes in order.
class TileQueue {
 public:
  TileQueue(const Module& module, std::vector<SegmentId> segments, size_t threads)
      : module_(module),
        segments_(std::move(segments)),
        plans_ahead_(threads),
        items_(segments_.size()),
        made_(kAhead * threads) {}

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  // Runs in each thread until everything is done.
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopped_ || all_begun() || can_plan() || can_evaluate(); });
      if (stopped_ || all_begun()) return;
      if (can_plan()) {
        plan(lock);
      } else {
        evaluate(lock);
      }
      changed_.notify_all();
    }
  }

  // Returns the number of tiles of an item, once it is planned.
  Result<size_t> tiles(size_t item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return items_[item].tiles.has_value(); });
    if (!*items_[item].tiles) return items_[item].tiles->error();
    return **items_[item].tiles;
  }

  // Returns the next tile, in the order of items.
  Result<TensorBytes> take() {
    std::unique_lock lock(mutex_);
    std::optional<Result<TensorBytes>>& slot = made_[taken_ % made_.size()];
    changed_.wait(lock, [&] { return slot.has_value(); });
    Result<TensorBytes> bytes = std::move(*slot);
    slot.reset();
    ++taken_;
    changed_.notify_all();
    return bytes;
  }

  void finish(size_t item) {
    const std::lock_guard lock(mutex_);
    items_[item].evaluation.reset();
  }

 private:
  struct Item {
    std::optional<TiledEvaluation> evaluation;
    std::optional<Result<size_t>> tiles;
    size_t begun = 0;
    size_t made = 0;
  };

  bool all_begun() const { return current_ == items_.size(); }
  bool can_plan() const { return planned_ < items_.size() && planned_ <= current_ + plans_ahead_; }
  bool can_evaluate() const {
    return !all_begun() && items_[current_].tiles && items_[current_].tiles->ok() &&
           begun_ < taken_ + made_.size();
  }

  void plan(std::unique_lock<std::mutex>& lock) {
    const size_t item = planned_++;
    lock.unlock();
    Result<TiledEvaluation> made =
        within_memory([&] { return TiledEvaluation::make(module_, segments_[item], kTileBytes); });
    lock.lock();
    items_[item].tiles =
        made ? Result<size_t>(made->tiles()) : Result<size_t>(std::move(made.error()));
    if (made) items_[item].evaluation = std::move(made).value();
    skip_done();
  }

  void evaluate(std::unique_lock<std::mutex>& lock) {
    const size_t item = current_;
    const size_t tile = items_[item].begun++;
    const TiledEvaluation& evaluation = *items_[item].evaluation;
    std::optional<Result<TensorBytes>>& slot = made_[begun_++ % made_.size()];
    skip_done();
    lock.unlock();
    Result<TensorBytes> bytes = within_memory([&] { return evaluation.evaluate(tile); });
    lock.lock();
    slot = std::move(bytes);
    if (++items_[item].made < **items_[item].tiles) return;
    changed_.notify_all();
    lock.unlock();
    let_go(module_, segments_[item]);
    lock.lock();
  }

  void skip_done() {
    while (!all_begun() && items_[current_].tiles && items_[current_].tiles->ok() &&
           items_[current_].begun == **items_[current_].tiles) {
      ++current_;
    }
  }

  const Module& module_;
  const std::vector<SegmentId> segments_;
  const size_t plans_ahead_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Item> items_;  // by index of segments_
  // Tile n of all is in slot n modulo the size, from its completion until it is taken.
  std::vector<std::optional<Result<TensorBytes>>> made_;
  size_t planned_ = 0;  // items that a thread has begun to plan
  size_t current_ = 0;  // item whose tiles are being evaluated
  size_t begun_ = 0;    // tiles that a thread has begun to evaluate
  size_t taken_ = 0;    // tiles that the consumer has taken
  bool stopped_ = false;
};

struct StopAtEnd {
  TileQueue& queue;
  ~StopAtEnd() { queue.stop(); }
};

Result<void> give_evaluated(TileQueue& queue, size_t item, uint64_t offset, uint64_t size,
                            const OmOutput& output) {
  SLUICE_ASSIGN(const size_t tiles, queue.tiles(item));
  const uint64_t end = offset + size;
  for (size_t tile = 0; tile < tiles; ++tile) {
    SLUICE_ASSIGN(const TensorBytes bytes, queue.take());
    SLUICE_TRY(output({offset, bytes}));
    offset += bytes.size();
  }
  queue.finish(item);
  if (offset != end)
    return make_error(ErrorCode::kInternal, "a constant of {} bytes ends {} bytes early", size,
                      end - offset);
  return {};
}

}  // namespace

Result<void> stream_weights(const Module& module, const std::vector<SegmentId>& constants,
                            const WeightLayout& layout, int64_t threads, const OmOutput& output) {
  std::vector<SegmentId> evaluated;
  for (const SegmentId id : constants) {
    if (is_evaluated(module.segment(id))) evaluated.push_back(id);
  }
  const size_t workers = std::min(static_cast<size_t>(std::max<int64_t>(threads, 1)),
                                  std::max<size_t>(evaluated.size(), 1));
  TileQueue queue(module, evaluated, workers);
  Threads pool;
  const StopAtEnd stop{queue};  // before the pool waits for its threads
  for (size_t i = 0; i < workers && !evaluated.empty(); ++i)
    SLUICE_TRY(pool.start([&queue] { queue.work(); }));
  size_t item = 0;
  for (const SegmentId id : constants) {
    const Segment& segment = module.segment(id);
    const uint64_t offset = layout.offsets[static_cast<size_t>(id)];
    if (is_evaluated(segment)) {
      SLUICE_TRY(give_evaluated(queue, item++, offset, segment.size, output));
      continue;
    }
    SLUICE_ASSIGN(const std::span<const std::byte> bytes, module.bytes(id));
    SLUICE_TRY(output({offset, bytes}));
    let_go(module, id);
  }
  return {};
}

}  // namespace sluice
