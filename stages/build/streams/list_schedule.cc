#include "stages/build/streams/list_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

constexpr uint32_t kIdle = std::numeric_limits<uint32_t>::max();
constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr size_t kMaxLookedAt = 16;  // tasks that can run, of which a stream takes one

double alone_cycles(const CostedTask& task, uint32_t threads) {
  return task.cycles / std::min(task.blocks, threads);
}

// When the operands of a task are there: the latest end in a stream, and that of another one.
struct Arrival {
  double last = kNever, other = kNever;
  uint32_t last_stream = kIdle, other_stream = kIdle;

  void add(double time, uint32_t stream) {
    if (stream == kIdle) return;
    if (stream == last_stream) {
      last = std::max(last, time);
    } else if (time > last) {
      if (last_stream != kIdle) std::tie(other, other_stream) = std::tuple(last, last_stream);
      std::tie(last, last_stream) = std::tuple(time, stream);
    } else if (time > other) {
      std::tie(other, other_stream) = std::tuple(time, stream);
    }
  }
  void add(const Arrival& arrival) {
    add(arrival.last, arrival.last_stream);
    add(arrival.other, arrival.other_stream);
  }
  // Returns when a task of the stream can begin.
  double in(uint32_t stream, double sync) const {
    if (last_stream == kIdle) return kNever;
    return last_stream == stream ? std::max(last, other + sync) : last + sync;
  }
  bool is_of_several() const { return other_stream != kIdle; }
  bool is_from_other(uint32_t stream) const {
    return (last_stream != kIdle && last_stream != stream) ||
           (other_stream != kIdle && other_stream != stream);
  }
};

class ListScheduler {
 public:
  ListScheduler(std::span<const CostedTask> tasks, uint32_t begin, uint32_t end,
                std::span<const double> paths, const ScheduleLimits& limits)
      : tasks_(tasks),
        begin_(begin),
        end_(end),
        paths_(paths),
        limits_(limits),
        arrivals_(end - begin),
        waiting_(end - begin, 0),
        is_main_(end - begin, false),
        running_(limits.streams, kIdle),
        remaining_(limits.streams, 0) {
    schedule_.stream.assign(end - begin, 0);
  }

  ListSchedule run() {
    if (limits_.keeps_main) find_main_path();
    for (uint32_t task = begin_; task < end_; ++task) {
      for (const uint32_t before : tasks_[task].before) {
        if (before < begin_) {
          arrivals_[task - begin_].add(0, 0);
        } else {
          ++waiting_[task - begin_];
        }
      }
    }
    for (uint32_t task = begin_; task < end_; ++task)
      if (waiting_[task - begin_] == 0) waits_for_nothing_.push_back(task);
    for (const uint32_t task : std::exchange(waits_for_nothing_, {})) enter(task);
    while (true) {
      begin_tasks();
      if (count_running() == 0) break;
      finish_first();
    }
    schedule_.cycles = std::max(0.0, end_arrival_.in(0, limits_.sync));
    if (end_arrival_.is_from_other(0)) ++schedule_.waits;
    return std::move(schedule_);
  }

 private:
  // The path from the task with the longest one on.
  void find_main_path() {
    uint32_t task = begin_;
    for (uint32_t each = begin_; each < end_; ++each)
      if (paths_[each] > paths_[task]) task = each;
    while (task != kIdle) {
      is_main_[task - begin_] = true;
      uint32_t next = kIdle;
      for (const uint32_t after : tasks_[task].after)
        if (after < end_ && (next == kIdle || paths_[after] > paths_[next])) next = after;
      task = next;
    }
  }

  uint32_t count_running() const {
    return static_cast<uint32_t>(
        std::ranges::count_if(running_, [](uint32_t task) { return task != kIdle; }));
  }

  // The threads that work on a task while so many run.
  double rate(uint32_t task, uint32_t running) const {
    return std::min<double>(tasks_[task].blocks,
                            std::max(1.0, double{1} * limits_.threads / running));
  }

  // The task's operands are there.
  void enter(uint32_t task) {
    if (tasks_[task].cycles == 0) {
      schedule_.order.push_back(task - begin_);
      pass_on(task, arrivals_[task - begin_]);
    } else {
      ready_.insert({-paths_[task], task});
    }
  }

  void pass_on(uint32_t task, const Arrival& arrival) {
    bool is_last = true;
    for (const uint32_t after : tasks_[task].after) {
      if (after >= end_) continue;
      is_last = false;
      arrivals_[after - begin_].add(arrival);
      if (--waiting_[after - begin_] == 0) waits_for_nothing_.push_back(after);
    }
    if (is_last) end_arrival_.add(arrival);
    // Not by recursion: a row of tasks that are none can be long.
    if (is_passing_) return;
    is_passing_ = true;
    while (!waits_for_nothing_.empty()) {
      const uint32_t next = waits_for_nothing_.back();
      waits_for_nothing_.pop_back();
      enter(next);
    }
    is_passing_ = false;
  }

  bool may_run_in(uint32_t task, uint32_t stream) const {
    if (!limits_.chosen.empty()) return limits_.chosen[task - begin_] == stream;
    return !limits_.keeps_main || limits_.streams == 1 || is_main_[task - begin_] == (stream == 0);
  }

  // Returns the time that the task takes in a stream to read what others made.
  double transfer(uint32_t task, uint32_t stream) const {
    const CostedTask& own = tasks_[task];
    double time = 0;
    for (size_t i = 0; i < own.before.size(); ++i) {
      const uint32_t before = own.before[i];
      if (before < begin_) {
        time += stream == 0 ? 0 : own.transfer[i];
      } else if (tasks_[before].cycles > 0) {
        time += schedule_.stream[before - begin_] == stream ? 0 : own.transfer[i];
      } else if (arrivals_[before - begin_].is_from_other(stream)) {  // some of it, of several
        time += own.transfer[i] / (arrivals_[before - begin_].is_of_several() ? 2 : 1);
      }
    }
    return time;
  }

  // Returns the idle stream in which the task begins first.
  std::optional<uint32_t> idle_stream(uint32_t task) const {
    std::optional<uint32_t> best;
    double best_begin = 0;
    for (uint32_t stream = 0; stream < limits_.streams; ++stream) {
      if (running_[stream] != kIdle || !may_run_in(task, stream)) continue;
      const double begin = std::max(now_, arrivals_[task - begin_].in(stream, limits_.sync)) +
                           transfer(task, stream);
      if (best && begin >= best_begin) continue;
      best = stream;
      best_begin = begin;
    }
    return best;
  }

  // Returns whether the task, begun in the idle stream, is done with what runs sooner than after
  // what runs.
  bool is_worth(uint32_t task, uint32_t stream) const {
    const uint32_t running = count_running();
    if (running == 0 || limits_.keeps_main || !limits_.chosen.empty()) return true;
    uint32_t first = kIdle;  // the stream that is done first
    double first_end = 0;
    for (uint32_t each = 0; each < limits_.streams; ++each) {
      if (running_[each] == kIdle) continue;
      const double end = remaining_[each] / rate(running_[each], running);
      if (first == kIdle || end < first_end) std::tie(first, first_end) = std::tuple(each, end);
    }
    const uint32_t other = running_[first];
    const double cost = tasks_[task].cycles + transfer(task, stream);
    const double serial = first_end + tasks_[task].cycles / rate(task, running);
    double a = remaining_[first], b = cost;
    const double both = std::min(a / rate(other, running + 1), b / rate(task, running + 1));
    a -= both * rate(other, running + 1);
    b -= both * rate(task, running + 1);
    // It may wait for others, and others outside stream 0 are waited for.
    const int waits =
        (arrivals_[task - begin_].is_from_other(stream) ? 1 : 0) + (stream != 0 ? 1 : 0);
    return both + std::max(a / rate(other, running), b / rate(task, running)) +
               waits * limits_.sync <
           serial;
  }

  void begin_tasks() {
    std::vector<Ready> later;
    uint32_t running = count_running();
    while (running < limits_.streams && !ready_.empty() && later.size() < kMaxLookedAt) {
      const Ready next = *ready_.begin();
      ready_.erase(ready_.begin());
      const std::optional<uint32_t> stream = idle_stream(next.second);
      if (!stream || !is_worth(next.second, *stream)) {
        later.push_back(next);
        continue;
      }
      begin_task(next.second, *stream);
      ++running;
    }
    ready_.insert(later.begin(), later.end());
  }

  void begin_task(uint32_t task, uint32_t stream) {
    const Arrival& arrival = arrivals_[task - begin_];
    const double delay =
        std::max(0.0, arrival.in(stream, limits_.sync) - now_) + transfer(task, stream);
    running_[stream] = task;
    remaining_[stream] = tasks_[task].cycles + delay;
    schedule_.stream[task - begin_] = stream;
    schedule_.order.push_back(task - begin_);
    if (arrival.is_from_other(stream)) ++schedule_.waits;
  }

  // Lets time pass until a task is done.
  void finish_first() {
    const uint32_t running = count_running();
    uint32_t first = kIdle;
    double elapsed = 0;
    for (uint32_t stream = 0; stream < limits_.streams; ++stream) {
      if (running_[stream] == kIdle) continue;
      const double time = remaining_[stream] / rate(running_[stream], running);
      if (first == kIdle || time < elapsed) std::tie(first, elapsed) = std::tuple(stream, time);
    }
    now_ += elapsed;
    for (uint32_t stream = 0; stream < limits_.streams; ++stream)
      if (running_[stream] != kIdle)
        remaining_[stream] -= elapsed * rate(running_[stream], running);
    const uint32_t task = std::exchange(running_[first], kIdle);
    Arrival arrival;
    arrival.add(now_, first);
    pass_on(task, arrival);
  }

  using Ready = std::pair<double, uint32_t>;  // less the path that is left, the task

  std::span<const CostedTask> tasks_;
  const uint32_t begin_, end_;
  std::span<const double> paths_;
  const ScheduleLimits limits_;
  // By task of the region.
  std::vector<Arrival> arrivals_;
  std::vector<uint32_t> waiting_;  // for so many tasks
  std::vector<bool> is_main_;
  // By stream: its task, or kIdle, and the cycles of one thread that it has left.
  std::vector<uint32_t> running_;
  std::vector<double> remaining_;
  std::set<Ready> ready_;
  std::vector<uint32_t> waits_for_nothing_;
  bool is_passing_ = false;
  double now_ = 0;
  Arrival end_arrival_;  // of the region's results
  ListSchedule schedule_;
};

}  // namespace

std::vector<double> longest_paths(std::span<const CostedTask> tasks, uint32_t threads) {
  std::vector<double> paths(tasks.size());
  for (size_t task = tasks.size(); task-- > 0;) {
    for (const uint32_t after : tasks[task].after)
      paths[task] = std::max(paths[task], paths[after]);
    paths[task] += alone_cycles(tasks[task], threads);
  }
  return paths;
}

std::vector<uint32_t> spread_components(std::span<const CostedTask> tasks, uint32_t begin,
                                        uint32_t end, const ScheduleLimits& limits) {
  std::vector<uint32_t> root(end - begin);  // of the task's component
  std::iota(root.begin(), root.end(), 0u);
  const auto find = [&](uint32_t task) {
    while (root[task] != task) task = root[task] = root[root[task]];
    return task;
  };
  for (uint32_t task = begin; task < end; ++task) {
    for (const uint32_t before : tasks[task].before)
      if (before >= begin) root[find(task - begin)] = find(before - begin);
  }
  std::map<uint32_t, double> cycles;  // by root
  for (uint32_t task = begin; task < end; ++task)
    cycles[find(task - begin)] += alone_cycles(tasks[task], limits.threads);
  std::vector<std::pair<double, uint32_t>> longest;
  for (const auto& [component, own] : cycles) longest.emplace_back(-own, component);
  std::ranges::sort(longest);
  std::vector<double> load(limits.streams, 0);
  std::map<uint32_t, uint32_t> stream_of;
  for (const auto& [own, component] : longest) {
    const auto shortest = std::ranges::min_element(load);
    stream_of[component] = static_cast<uint32_t>(shortest - load.begin());
    *shortest -= own;
  }
  std::vector<uint32_t> streams(end - begin);
  for (uint32_t task = 0; task < end - begin; ++task) streams[task] = stream_of[find(task)];
  return streams;
}

std::vector<uint32_t> spread_chains(std::span<const CostedTask> tasks, uint32_t begin, uint32_t end,
                                    const ScheduleLimits& limits) {
  std::vector<CostedTask> chains;
  std::vector<double> alone;  // by chain: its time on all threads that can share its tasks
  std::vector<uint32_t> chain_of(end - begin);
  for (uint32_t task = begin; task < end; ++task) {
    const std::vector<uint32_t>& before = tasks[task].before;
    const bool goes_on =
        before.size() == 1 && before.front() >= begin && tasks[before.front()].after.size() == 1;
    const auto chain =
        goes_on ? chain_of[before.front() - begin] : static_cast<uint32_t>(chains.size());
    chain_of[task - begin] = chain;
    if (!goes_on) {
      chains.push_back({.cycles = 0, .before = {}, .after = {}, .transfer = {}});
      alone.push_back(0);
      for (size_t i = 0; i < before.size(); ++i) {
        if (before[i] < begin) continue;
        const uint32_t other = chain_of[before[i] - begin];
        chains[chain].before.push_back(other);
        chains[chain].transfer.push_back(tasks[task].transfer[i]);
        chains[other].after.push_back(chain);
      }
    }
    chains[chain].cycles += tasks[task].cycles;
    alone[chain] += alone_cycles(tasks[task], limits.threads);
  }
  for (size_t chain = 0; chain < chains.size(); ++chain) {
    if (alone[chain] > 0)
      chains[chain].blocks =
          static_cast<uint32_t>(std::lround(chains[chain].cycles / alone[chain]));
  }
  const std::vector<uint32_t> streams =
      schedule_list(chains, 0, static_cast<uint32_t>(chains.size()),
                    longest_paths(chains, limits.threads), limits)
          .stream;
  for (uint32_t& each : chain_of) each = streams[each];
  return chain_of;
}

double serial_cycles(std::span<const CostedTask> tasks, uint32_t threads) {
  double cycles = 0;
  for (const CostedTask& task : tasks) cycles += alone_cycles(task, threads);
  return cycles;
}

ListSchedule schedule_list(std::span<const CostedTask> tasks, uint32_t begin, uint32_t end,
                           std::span<const double> paths, const ScheduleLimits& limits) {
  return ListScheduler(tasks, begin, end, paths, limits).run();
}

}  // namespace sluice
