// Lets tasks that keep one thread busy run beside others, in streams of their own, where a model is
// then done sooner.
//
//   before:  %a = LSTM(%x)                   %b = LSTM(%z)              (each of one block)
//   after:   %a = LSTM(%x)                   %b = LSTM(%z) placement {chosen_stream = "side1"}
//
// The order of tasks is cut at those that all others come before or after. Between two cuts, tasks
// are scheduled on two streams for two threads, by the estimates of their kernels
// (list_schedule.h). The streams are taken where they save more than waiting for each other costs,
// kMinGain of the time of the whole, and let the bytes that are live grow by no more than the
// device profile's share; where bytes grow more, the cuts that save least go back to one stream.
// --multi-stream-parallel-mode=LoadBalance:N does so for N streams and threads wherever time is
// saved at all; MainStream:N keeps the longest path in the first stream, and the others out of it.
//
// Legal because insert-events orders what streams no longer do. Graphs with labels of the user, and
// device profiles that choose streams by engine, are left as they are.
//
// Must run after mark-no-task, which says what is a task, and before order-tasks, which keeps the
// order of each stream.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "common/base/count_text.h"
#include "common/ir/predecessors.h"
#include "common/ops/value_bytes.h"
#include "common/target/task_cost.h"
#include "stages/build/memory/task_orders.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"
#include "stages/build/streams/list_schedule.h"
#include "stages/build/streams/stream_options.h"

namespace sluice {
namespace {

constexpr double kMinGain = 0.02;
constexpr double kLine = 64;  // bytes

// Tasks between two cuts.
struct Region {
  uint32_t begin, end;
  ListSchedule schedule;
  double gain;  // cycles
};

uint64_t constant_bytes(const Graph& graph) {
  uint64_t bytes = 0;
  for (const Value& value : graph.values())
    if (!value.is_erased() && value.is_constant() && !value.uses().empty())
      bytes += nominal_bytes(value);
  return bytes;
}

class StreamBalancer {
 public:
  StreamBalancer(Graph& graph, const DeviceProfile& profile, const StreamBalance& mode)
      : graph_(graph),
        profile_(profile),
        mode_(mode),
        limits_{.streams = static_cast<uint32_t>(mode.streams),
                .threads = static_cast<uint32_t>(mode.streams),
                .sync = static_cast<double>(profile.streams.sync_cost) / 100,
                .keeps_main = mode.keeps_main} {}

  // Returns whether a task has another stream than the first.
  bool run(bool may_reorder) {
    for (Node& node : graph_.nodes()) nodes_.push_back(&node);
    find_tasks();
    find_regions();
    const double whole = serial_cycles(tasks_, limits_.threads);
    if (!is_enough(whole)) return false;  // in most graphs, and in little time
    const TaskOrders orders(graph_);
    const TaskOrders::Best best = orders.best();
    const bool is_given = !may_reorder || best.order.empty();
    const TaskOrders::Order order = is_given ? orders.given() : best.order;
    nodes_.clear();
    for (const uint32_t index : order) nodes_.push_back(&orders.node(index));
    if (!is_given) {
      find_tasks();
      find_regions();
    }
    const uint64_t peak = keep_within(orders, order, best.peak);
    if (!is_enough(whole)) {
      graph_.notes.push_back(fmt::format(
          "one stream: what a run holds would grow by more than stream_memory_percent {} in {}",
          profile_.streams.memory_percent, limits_.streams));
      return false;
    }
    place(may_reorder);
    graph_.notes.push_back(fmt::format(
        "{} of tasks in {} streams: {:.0f} thousand cycles estimated for {} threads, {:.0f} in one "
        "stream; at most {} bytes are live, {} in one stream",
        count_text(regions_.size(), "region"), count_streams(), (whole - gain()) / 1000,
        limits_.threads, whole / 1000, std::max(peak, best.peak), best.peak));
    return true;
  }

 private:
  bool is_enough(double whole) const {
    return !regions_.empty() && (!mode_.is_automatic || gain() >= kMinGain * whole);
  }

  double gain() const {
    return std::accumulate(regions_.begin(), regions_.end(), 0.0,
                           [](double sum, const Region& region) { return sum + region.gain; });
  }

  void find_tasks() {
    std::vector<uint32_t> index_of(graph_.node_limit(), 0);
    tasks_.assign(nodes_.size(), {});
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      index_of[static_cast<size_t>(nodes_[i]->id())] = i;
      if (!nodes_[i]->placement.no_task) {
        const TaskCost cost = estimate_task(*nodes_[i], profile_);
        tasks_[i].cycles = cost.cycles;
        tasks_[i].blocks = cost.blocks;
      }
      std::map<uint32_t, double> transfer;  // by task before this one
      for_each_predecessor(*nodes_[i], [&](const Node& node) {
        transfer.try_emplace(index_of[static_cast<size_t>(node.id())], 0);
      });
      for (size_t k = 0; k < nodes_[i]->input_count(); ++k) {
        const Value* read = nodes_[i]->input(k);
        if (read == nullptr || read->producer() == nullptr) continue;
        transfer[index_of[static_cast<size_t>(read->producer()->id())]] +=
            static_cast<double>(nominal_bytes(*read)) / kLine *
            static_cast<double>(profile_.streams.transfer_cost) / 100;
      }
      for (const auto& [before, cycles] : transfer) {
        tasks_[i].before.push_back(before);
        tasks_[i].transfer.push_back(cycles);
        tasks_[before].after.push_back(i);
      }
    }
  }

  // Returns for each task whether all others come before it or after it: those before it have no
  // other last task, those after it no other first one.
  std::vector<bool> find_cuts() const {
    const auto count = static_cast<uint32_t>(tasks_.size());
    std::vector<int64_t> open(count + 1,
                              0);  // by position: tasks up to it that nothing there reads
    std::vector<int64_t> first(count + 1, 0);  // tasks from it on that read nothing there
    for (uint32_t i = 0; i < count; ++i) {
      const CostedTask& task = tasks_[i];
      ++open[i];
      --open[task.after.empty() ? count : task.after.front()];
      ++first[task.before.empty() ? 0 : task.before.back() + 1];
      --first[i + 1];
    }
    std::partial_sum(open.begin(), open.end(), open.begin());
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<bool> is_cut(count);
    for (uint32_t i = 0; i < count; ++i) is_cut[i] = open[i] == 1 && first[i] == 1;
    return is_cut;
  }

  void find_regions() {
    regions_.clear();
    const std::vector<double> paths = longest_paths(tasks_, limits_.threads);
    const std::vector<bool> is_cut = find_cuts();
    for (uint32_t begin = 0, end = 0; begin < is_cut.size(); begin = end + 1) {
      for (end = begin; end < is_cut.size() && !is_cut[end];) ++end;
      if (end - begin < 2) continue;
      ListSchedule schedule = schedule_region(begin, end, paths);
      const double serial =
          serial_cycles(std::span(tasks_).subspan(begin, end - begin), limits_.threads);
      const double gain = serial - schedule.cycles;
      const double sync = schedule.waits * limits_.sync;
      if (schedule.waits == 0 || gain <= (mode_.is_automatic ? sync : 0)) continue;
      regions_.push_back({begin, end, std::move(schedule), gain});
    }
  }

  // Each task runs where it begins first, or with all of its chain, or with all that depend on each
  // other: what takes less with all waits counted once more.
  ListSchedule schedule_region(uint32_t begin, uint32_t end, std::span<const double> paths) const {
    ListSchedule best = schedule_list(tasks_, begin, end, paths, limits_);
    if (limits_.keeps_main) return best;
    const auto cost = [&](const ListSchedule& made) {
      return made.cycles + made.waits * limits_.sync;
    };
    for (const auto spread : {spread_chains, spread_components}) {
      const std::vector<uint32_t> streams = spread(tasks_, begin, end, limits_);
      ScheduleLimits limits = limits_;
      limits.chosen = streams;
      ListSchedule made = schedule_list(tasks_, begin, end, paths, limits);
      if (made.waits > 0 && (best.waits == 0 || cost(made) <= cost(best))) best = std::move(made);
    }
    return best;
  }

  // Leaves only the regions in which no more bytes can be live than the profile allows. Returns the
  // most of those that are left.
  uint64_t keep_within(const TaskOrders& orders, const TaskOrders::Order& order, uint64_t peak) {
    std::vector<TaskOrders::Order> streams;
    std::vector<TaskOrders::Region> places;
    TaskOrders::Order begun = order;  // as tasks begin
    for (const Region& region : regions_) {
      const std::vector<uint32_t>& own = region.schedule.order;
      TaskOrders::Order& stream = streams.emplace_back();
      for (size_t k = 0; k < own.size(); ++k) {
        begun[region.begin + k] = order[region.begin + own[k]];
        stream.push_back(region.schedule.stream[own[k]]);
      }
    }
    for (size_t r = 0; r < regions_.size(); ++r)
      places.push_back({regions_[r].begin, regions_[r].end, streams[r]});
    const std::vector<uint64_t> peaks = orders.peaks(begun, places);
    const uint64_t percent = static_cast<uint64_t>(profile_.streams.memory_percent);
    const uint64_t limit = peak + (peak + constant_bytes(graph_)) / 100 * percent;
    std::vector<Region> kept;
    uint64_t highest = 0;
    for (size_t r = 0; r < regions_.size(); ++r) {
      if (mode_.is_automatic && peaks[r] > limit) continue;
      highest = std::max(highest, peaks[r]);
      kept.push_back(std::move(regions_[r]));
    }
    regions_ = std::move(kept);
    return highest;
  }

  // Gives tasks of the regions their streams.
  void place(bool may_reorder) {
    std::vector<Node*> order = nodes_;
    for (const Region& region : regions_) {
      for (uint32_t i = region.begin; i < region.end; ++i) {
        const uint32_t stream = region.schedule.stream[i - region.begin];
        if (stream > 0 && tasks_[i].cycles > 0)
          nodes_[i]->placement.stream_label = {fmt::format("side{}", stream), true};
      }
      for (size_t k = 0; k < region.schedule.order.size(); ++k)
        order[region.begin + k] = nodes_[region.begin + region.schedule.order[k]];
    }
    if (!may_reorder) return;
    for (Node* node : order) graph_.move_before(*node, nullptr);
  }

  size_t count_streams() const {
    std::set<std::string_view> labels;
    for (const Node* node : nodes_) labels.insert(node->placement.stream_label.text);
    return labels.size();
  }

  Graph& graph_;
  const DeviceProfile& profile_;
  const StreamBalance mode_;
  const ScheduleLimits limits_;
  std::vector<Node*> nodes_;
  std::vector<CostedTask> tasks_;  // of nodes_
  std::vector<Region> regions_;    // that gain, in order
};

bool has_labels(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const Node& node) { return !node.placement.stream_label.empty(); });
}

}  // namespace

Result<bool> balance_streams(Graph& root, const Options& options) {
  SLUICE_ASSIGN(const DeviceProfile profile, get_profile(options.text("profile")));
  const std::optional<StreamBalance> mode = stream_balance(options, profile);
  if (!mode) return false;
  bool changed = false;
  for (Graph* graph : scheduled_graphs(root)) {
    if (has_labels(*graph)) continue;
    changed = StreamBalancer(*graph, profile, *mode).run(!options.flag("stable-order")) || changed;
  }
  return changed;
}

}  // namespace sluice
