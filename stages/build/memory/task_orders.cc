#include "stages/build/memory/task_orders.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/ir/module.h"
#include "common/ir/predecessors.h"
#include "common/ops/pieces.h"
#include "common/ops/value_bytes.h"

namespace sluice {
namespace {

constexpr uint64_t kMinGain = 32;  // of the bytes, one in so many

void keep_once(std::vector<uint32_t>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

TaskOrders::TaskOrders(const Graph& graph, bool keeps_streams) {
  for (Node& node : graph.nodes()) nodes_.push_back(&node);
  touched_.resize(nodes_.size());
  find_groups(graph);
  find_edges(graph);
  if (keeps_streams) keep_streams();
}

void TaskOrders::keep_streams() {
  std::unordered_map<std::string_view, uint32_t> last;  // by label
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->placement.no_task) continue;
    const auto [found, is_first] = last.try_emplace(nodes_[i]->placement.stream_label.text, i);
    if (is_first) continue;
    const uint32_t before = std::exchange(found->second, i);
    touched_[i].before.push_back(before);
    touched_[before].after.push_back(i);
  }
}

// Values that share bytes whatever the order is, views and pieces of one whole, are a group.
void TaskOrders::find_groups(const Graph& graph) {
  Pieces pieces(graph);
  for (const Node& node : graph.nodes()) pieces.add(node);
  std::vector<int64_t> group_of(graph.value_limit(), -1);
  std::vector<bool> is_given;
  const auto group = [&](const Value& value) {
    int64_t& id = group_of[static_cast<size_t>(pieces.find(value))];
    if (id < 0) {
      id = static_cast<int64_t>(bytes_.size());
      bytes_.push_back(0);
      is_given.push_back(false);
    }
    const auto index = static_cast<size_t>(id);
    bytes_[index] = std::max(bytes_[index], nominal_bytes(value));
    if (value.producer() == nullptr || value.is_output()) is_given[index] = true;
    return static_cast<uint32_t>(id);
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    std::vector<uint32_t>& groups = touched_[i].groups;
    for (size_t k = 0; k < node.output_count(); ++k) groups.push_back(group(node.output(k)));
    for (size_t k = 0; k < node.input_count(); ++k) {
      if (node.input(k) != nullptr) groups.push_back(group(*node.input(k)));
    }
    if (node.placement.no_task || copied_output(node)) groups.clear();
    keep_once(groups);
  }
  users_.resize(bytes_.size(), 0);
  for (size_t id = 0; id < bytes_.size(); ++id) {
    if (is_given[id]) bytes_[id] = 0;
  }
  for (const Touched& each : touched_) {
    for (const uint32_t id : each.groups) ++users_[id];
  }
}

void TaskOrders::find_edges(const Graph& graph) {
  std::vector<uint32_t> index_of(graph.node_limit(), 0);
  for (uint32_t i = 0; i < nodes_.size(); ++i) index_of[static_cast<size_t>(nodes_[i]->id())] = i;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    for_each_predecessor(*nodes_[i], [&](const Node& before) {
      const uint32_t other = index_of[static_cast<size_t>(before.id())];
      touched_[i].before.push_back(other);
      touched_[other].after.push_back(i);
    });
  }
}

TaskOrders::Order TaskOrders::given() const {
  Order order(nodes_.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

// The bytes that are live while nodes run one after the other.
class TaskOrders::Walk {
 public:
  explicit Walk(const TaskOrders& orders)
      : orders_(orders), is_live_(orders.bytes_.size(), false), left_(orders.users_) {}

  void run(uint32_t node) {
    for (const uint32_t id : orders_.touched_[node].groups) {
      if (!is_live_[id]) live_ += orders_.bytes_[id];
      is_live_[id] = true;
    }
    peak_ = std::max(peak_, live_);
    for (const uint32_t id : orders_.touched_[node].groups) {
      if (--left_[id] == 0) live_ -= orders_.bytes_[id];
    }
  }

  // Returns by how many bytes more are live after the node than before it.
  int64_t added_bytes(uint32_t node) const {
    int64_t added_bytes = 0;
    for (const uint32_t id : orders_.touched_[node].groups) {
      const auto bytes = static_cast<int64_t>(orders_.bytes_[id]);
      added_bytes += (is_live_[id] ? 0 : bytes) - (left_[id] == 1 ? bytes : 0);
    }
    return added_bytes;
  }

  // Returns whether one node is all that a group still waits for.
  bool is_last_use(uint32_t id) const { return left_[id] == 1; }
  bool is_live(uint32_t id) const { return is_live_[id] && left_[id] > 0; }
  uint64_t live() const { return live_; }
  uint64_t peak() const { return peak_; }

 private:
  const TaskOrders& orders_;
  std::vector<bool> is_live_;
  std::vector<uint32_t> left_;  // by group: the nodes that will touch it
  uint64_t live_ = 0, peak_ = 0;
};

uint64_t TaskOrders::peak(const Order& order) const {
  Walk walk(*this);
  for (const uint32_t node : order) walk.run(node);
  return walk.peak();
}

// What a stream alone touches is live as its tasks say; what several touch, or what is there before
// or after the region, is live all the time.
uint64_t TaskOrders::peak_of(const Order& order, const Region& region, const Walk& before) const {
  constexpr uint32_t kSeveral = UINT32_MAX;
  struct Use {
    uint32_t stream, left;
  };
  std::unordered_map<uint32_t, Use> uses;  // by group
  for (uint32_t at = region.begin; at < region.end; ++at) {
    for (const uint32_t id : touched_[order[at]].groups) {
      const uint32_t stream = region.streams[at - region.begin];
      Use& use = uses.try_emplace(id, Use{stream, 0}).first->second;
      if (use.stream != stream) use.stream = kSeveral;
      ++use.left;
    }
  }
  uint64_t bytes = before.live();
  for (auto& [id, use] : uses) {
    if (use.left < users_[id]) use.stream = kSeveral;
    if (use.stream == kSeveral && !before.is_live(id)) bytes += bytes_[id];
  }
  std::unordered_map<uint32_t, std::pair<uint64_t, uint64_t>> own;  // by stream: live now, at most
  std::unordered_set<uint32_t> begun;
  for (uint32_t at = region.begin; at < region.end; ++at) {
    auto& [live, max_live] = own[region.streams[at - region.begin]];
    const auto is_own = [&](uint32_t id) { return uses.at(id).stream != kSeveral; };
    for (const uint32_t id : touched_[order[at]].groups)
      if (is_own(id) && begun.insert(id).second) live += bytes_[id];
    max_live = std::max(max_live, live);
    for (const uint32_t id : touched_[order[at]].groups)
      if (is_own(id) && --uses.at(id).left == 0) live -= bytes_[id];
  }
  for (const auto& [stream, peak] : own) bytes += peak.second;
  return bytes;
}

std::vector<uint64_t> TaskOrders::peaks(const Order& order, std::span<const Region> regions) const {
  Walk walk(*this);
  std::vector<uint64_t> peaks;
  uint32_t at = 0;
  for (const Region& region : regions) {
    for (; at < region.begin; ++at) walk.run(order[at]);
    peaks.push_back(peak_of(order, region, walk));
  }
  return peaks;
}

TaskOrders::Best TaskOrders::best() const {
  const uint64_t given_peak = peak(given());
  Best best{{}, given_peak};
  Order candidates[] = {depth_first(), min_live()};
  for (Order& each : candidates) {
    const uint64_t own = peak(each);
    const bool is_enough = own < given_peak - given_peak / kMinGain;
    if (is_enough && own < best.peak) best = {std::move(each), own};
  }
  return best;
}

TaskOrders::Order TaskOrders::min_live() const {
  // Nodes without a task come first, then by added_bytes, then as given.
  using Key = std::tuple<bool, int64_t, uint32_t>;
  Walk walk(*this);
  std::vector<uint32_t> waiting(nodes_.size());
  std::vector<Key> keys(nodes_.size());
  std::vector<bool> is_ready(nodes_.size(), false);
  std::vector<std::vector<uint32_t>> readers(bytes_.size());
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    for (const uint32_t id : touched_[node].groups) readers[id].push_back(node);
  }
  std::set<Key> ready;
  const auto enter = [&](uint32_t node) {
    keys[node] = {!nodes_[node]->placement.no_task, walk.added_bytes(node), node};
    ready.insert(keys[node]);
    is_ready[node] = true;
  };
  const auto update = [&](uint32_t node) {
    if (!is_ready[node]) return;
    ready.erase(keys[node]);
    enter(node);
  };
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    waiting[node] = static_cast<uint32_t>(touched_[node].before.size());
    if (waiting[node] == 0) enter(node);
  }
  Order order;
  std::vector<bool> is_begun(bytes_.size(), false);
  while (!ready.empty()) {
    const uint32_t node = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    is_ready[node] = false;
    order.push_back(node);
    walk.run(node);
    for (const uint32_t id : touched_[node].groups) {
      // The added_bytes of others changes where the group begins to be live, or waits for one
      // alone.
      if (is_begun[id] && !walk.is_last_use(id)) continue;
      is_begun[id] = true;
      for (const uint32_t reader : readers[id]) update(reader);
    }
    for (const uint32_t next : touched_[node].after) {
      if (--waiting[next] == 0) enter(next);
    }
  }
  return order;
}

TaskOrders::Order TaskOrders::depth_first() const {
  // By node, as if its operands were a tree: the most bytes live until it is done, and those after.
  std::vector<uint64_t> max_live(nodes_.size(), 0), result(nodes_.size(), 0);
  std::vector<std::vector<uint32_t>> operands(nodes_.size());
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    operands[node] = touched_[node].before;
    keep_once(operands[node]);
    std::ranges::stable_sort(operands[node], [&](uint32_t a, uint32_t b) {
      return max_live[a] - result[a] > max_live[b] - result[b];
    });
    uint64_t held = 0;
    for (const uint32_t operand : operands[node]) {
      max_live[node] = std::max(max_live[node], held + max_live[operand]);
      held += result[operand];
    }
    const Node& made = *nodes_[node];
    for (size_t k = 0; k < made.output_count(); ++k) result[node] += nominal_bytes(made.output(k));
    max_live[node] = std::max(max_live[node], held + result[node]);
  }
  Order order;
  enum class Visit : uint8_t { kNew, kOpen, kPlaced };  // kOpen: its operands are placed first
  std::vector<Visit> state(nodes_.size(), Visit::kNew);
  std::vector<uint32_t> open;
  for (uint32_t last = 0; last < nodes_.size(); ++last) {
    if (!touched_[last].after.empty()) continue;
    open.push_back(last);
    while (!open.empty()) {
      const uint32_t node = open.back();
      if (state[node] == Visit::kNew) {
        state[node] = Visit::kOpen;
        for (auto it = operands[node].rbegin(); it != operands[node].rend(); ++it) {
          if (state[*it] == Visit::kNew) open.push_back(*it);
        }
        continue;
      }
      open.pop_back();
      if (state[node] == Visit::kOpen) order.push_back(node);
      state[node] = Visit::kPlaced;
    }
  }
  return order;
}

}  // namespace sluice
