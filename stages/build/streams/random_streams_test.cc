// The passes of streams on drawn graphs, against what all walks over their streams can do.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "common/text/text.h"
#include "stages/build/parts.h"
#include "stages/build/passes/passes.h"

namespace sluice {
namespace {

constexpr char kProfile[] = R"({"name": "few", "isa": "generic", "llvm_cpu": "x86-64",
 "llvm_features": "", "vector_bits": 128, "vector_registers": 16, "fused_multiply_add": false,
 "l2_bytes": 262144, "scratch_limit": 1048576, "engines": ["host_cpu"], "tasks_per_node": 3,
 "max_tasks_per_stream": )";

using Relation = std::vector<std::vector<bool>>;

// A drawn graph of up to eight tasks. Which of them depend on which is known from the drawing.
struct DrawnGraph {
  std::string text;
  Relation before;  // [a][b]: b depends on a, or comes after it in its stream

  explicit DrawnGraph(std::mt19937& random) {
    const size_t tasks = 2 + random() % 7, streams = 1 + random() % 4;
    before.assign(tasks, std::vector<bool>(tasks, false));
    std::map<size_t, size_t> last_of_group, last_of_stream;
    std::string nodes;
    for (size_t task = 0; task < tasks; ++task) {
      const auto earlier = [&] {
        const size_t other = random() % (task + 1);
        if (other < task) before[other][task] = true;
        return other < task ? "%v" + std::to_string(other) : std::string("%x");
      };
      const std::string a = earlier(), b = earlier();
      std::string after;
      if (task > 0 && random() % 5 == 0) after = " after " + before_of(task, random);
      const size_t stream = random() % streams;
      std::string group;
      if (random() % 3 == 0) {
        const size_t number = random() % 2;
        group = ", parallel_group = " + std::to_string(number);
        follow(last_of_group, number, task);
      }
      follow(last_of_stream, stream, task);
      nodes += "  %v" + std::to_string(task) + ": f32[4] = Add(" + a + ", " + b + ")" + after +
               " placement {engine = host_cpu, stream_label = \"s" + std::to_string(stream) + "\"" +
               group + "}\n";
    }
    text = "sluice 1 lowered\ngraph @main(%x: f32[4]) -> (%v" + std::to_string(tasks - 1) +
           ") {\n" + nodes + "}\n";
    close();
  }

  // Returns the pairs of the transitive reduction.
  std::set<std::pair<size_t, size_t>> reduction() const {
    std::set<std::pair<size_t, size_t>> pairs;
    for (size_t a = 0; a < before.size(); ++a) {
      for (size_t b = a + 1; b < before.size(); ++b) {
        bool is_needed = before[a][b];
        for (size_t c = a + 1; c < b; ++c) is_needed = is_needed && !(before[a][c] && before[c][b]);
        if (is_needed) pairs.emplace(a, b);
      }
    }
    return pairs;
  }

 private:
  std::string before_of(size_t task, std::mt19937& random) {
    const size_t other = random() % task;
    before[other][task] = true;
    return "%v" + std::to_string(other);
  }

  void follow(std::map<size_t, size_t>& last, size_t key, size_t task) {
    const auto [found, is_first] = last.try_emplace(key, task);
    if (!is_first) before[std::exchange(found->second, task)][task] = true;
  }

  void close() {
    for (size_t c = 0; c < before.size(); ++c)
      for (size_t a = 0; a < c; ++a)
        for (size_t b = c + 1; b < before.size(); ++b)
          before[a][b] = before[a][b] || (before[a][c] && before[c][b]);
  }
};

class Scheduled {
 public:
  Scheduled(const DrawnGraph& drawn, const std::string& sync, int max_tasks)
      : module_(parse_module(drawn.text, "drawn").value()) {
    Options options;
    EXPECT_TRUE(options.set("sync", sync).ok());
    EXPECT_TRUE(options.set("profile", kProfile + std::to_string(max_tasks) + "}").ok());
    for (auto* pass : {assign_streams, insert_events, split_streams, reuse_events})
      EXPECT_TRUE(pass(module_.root(), options).ok());
    tasks_ = tasks_of(module_.root());
    streams_.resize(module_.root().streams.size());
    for (size_t task = 0; task < tasks_.size(); ++task)
      streams_[static_cast<size_t>(of(task).stream)].push_back(task);
  }

  const Placement& of(size_t task) const { return tasks_[task]->placement; }
  size_t streams() const { return streams_.size(); }

  size_t waits() const {
    size_t count = 0;
    for (size_t task = 0; task < tasks_.size(); ++task) count += of(task).waits.size();
    return count;
  }

  size_t events() const {
    std::set<uint32_t> events;
    for (size_t task = 0; task < tasks_.size(); ++task)
      events.insert(of(task).records.begin(), of(task).records.end());
    return events.size();
  }

  // Walks every interleaving that streams and events allow: no task begins before those that it
  // depends on, and each walk comes to its end.
  void walk_all(const Relation& before) const {
    std::set<std::vector<size_t>> seen;
    std::vector<std::vector<size_t>> open = {std::vector<size_t>(streams_.size(), 0)};
    while (!open.empty()) {
      std::vector<size_t> heads = std::move(open.back());
      open.pop_back();
      if (!seen.insert(heads).second) continue;
      bool moves = false, is_end = true;
      for (size_t stream = 0; stream < streams_.size(); ++stream) {
        if (heads[stream] == streams_[stream].size()) continue;
        is_end = false;
        const size_t task = streams_[stream][heads[stream]];
        if (!may_begin(task, heads)) continue;
        for (size_t other = 0; other < task; ++other)
          ASSERT_TRUE(!before[other][task] || is_done(other, heads)) << other << ", " << task;
        moves = true;
        open.push_back(heads);
        ++open.back()[stream];
      }
      ASSERT_TRUE(moves || is_end);
    }
  }

 private:
  bool is_done(size_t task, const std::vector<size_t>& heads) const {
    const auto stream = static_cast<size_t>(of(task).stream);
    const auto& order = streams_[stream];
    return std::find(order.begin(), order.begin() + static_cast<ptrdiff_t>(heads[stream]), task) !=
           order.begin() + static_cast<ptrdiff_t>(heads[stream]);
  }

  bool may_begin(size_t task, const std::vector<size_t>& heads) const {
    for (const EventWait& wait : of(task).waits) {
      size_t records = 0;
      for (size_t other = 0; other < tasks_.size(); ++other)
        if (is_done(other, heads)) records += std::ranges::count(of(other).records, wait.event);
      if (records < wait.record) return false;
    }
    return true;
  }

  Module module_;
  std::vector<Node*> tasks_;
  std::vector<std::vector<size_t>> streams_;
};

constexpr int kRounds = 300, kNoLimit = 1'000'000;

TEST(RandomStreams, WaitsAreTheTransitiveReduction) {
  std::mt19937 random(11);
  for (int round = 0; round < kRounds; ++round) {
    const DrawnGraph drawn(random);
    const Scheduled scheduled(drawn, "event", kNoLimit);
    size_t waits = 0;
    for (const auto& [a, b] : drawn.reduction())
      waits += scheduled.of(a).stream != scheduled.of(b).stream ? 1 : 0;
    EXPECT_EQ(scheduled.waits(), waits) << "round " << round << "\n" << drawn.text;
    scheduled.walk_all(drawn.before);
  }
}

// Records can share an event where each comes after the one before it; tried are all partitions.
TEST(RandomStreams, EventsAreAsFewAsCanBe) {
  std::mt19937 random(12);
  for (int round = 0; round < kRounds; ++round) {
    const DrawnGraph drawn(random);
    const Scheduled scheduled(drawn, "event", kNoLimit);
    std::set<size_t> recording;
    for (const auto& [a, b] : drawn.reduction())
      if (scheduled.of(a).stream != scheduled.of(b).stream) recording.insert(a);
    const std::vector<size_t> records(recording.begin(), recording.end());
    size_t min_events = records.size();
    const auto try_all = [&](const auto& self, size_t next, std::vector<size_t> ends) -> void {
      if (next == records.size()) return void(min_events = std::min(min_events, ends.size()));
      for (size_t& end : ends) {
        if (!drawn.before[end][records[next]]) continue;
        const size_t kept = std::exchange(end, records[next]);
        self(self, next + 1, ends);
        end = kept;
      }
      ends.push_back(records[next]);
      self(self, next + 1, ends);
    };
    try_all(try_all, 0, {});
    EXPECT_EQ(scheduled.events(), min_events) << "round " << round << "\n" << drawn.text;
  }
}

TEST(RandomStreams, NotifiesAreForOneTaskEach) {
  std::mt19937 random(13);
  size_t reused = 0;
  for (int round = 0; round < kRounds; ++round) {
    const DrawnGraph drawn(random);
    const Scheduled scheduled(drawn, "notify", kNoLimit);
    std::set<EventWait> taken;
    for (size_t task = 0; task < drawn.before.size(); ++task) {
      for (const EventWait& wait : scheduled.of(task).waits) {
        EXPECT_TRUE(taken.insert(wait).second) << "round " << round << "\n" << drawn.text;
        reused += wait.record > 1 ? 1 : 0;
      }
    }
    EXPECT_EQ(scheduled.waits(), Scheduled(drawn, "event", kNoLimit).waits());
    scheduled.walk_all(drawn.before);
  }
  EXPECT_GT(reused, 20u);
}

TEST(RandomStreams, SplitStreamsKeepTheirOrder) {
  std::mt19937 random(14);
  size_t split = 0;
  for (int round = 0; round < kRounds; ++round) {
    const DrawnGraph drawn(random);
    const std::string sync = round % 2 == 0 ? "event" : "notify";
    const size_t streams = Scheduled(drawn, sync, kNoLimit).streams();
    const Scheduled scheduled(drawn, sync, 27 + 10);
    split += scheduled.streams() > streams ? 1 : 0;
    scheduled.walk_all(drawn.before);
  }
  EXPECT_GT(split, 20u);
}

}  // namespace
}  // namespace sluice
