// Orders of the tasks of a graph, compared by the bytes that are live at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ir/graph.h"

namespace sluice {

// Orders are indices of nodes in the graph's list, nodes without a task among them: these stand
// right after what they show is there. Sizes that are not fixed count with their nominal ones.
class TaskOrders {
 public:
  // keeps_streams: every order keeps that of the tasks with one stream label, and of those without.
  explicit TaskOrders(const Graph& graph, bool keeps_streams = false);

  using Order = std::vector<uint32_t>;

  Order given() const;
  // The given order, or one of the others where at least 1/32 fewer bytes are live.
  struct Best {
    Order order;  // empty: the given one
    uint64_t peak;
  };
  Best best() const;
  // Of the tasks that can run, takes the one after which fewest bytes more are live: list
  // scheduling. O((N + E) log N).
  Order min_live() const;
  // Runs what a task reads right before it, operands that need most memory for less result first:
  // Sethi and Ullman, The Generation of Optimal Code for Arithmetic Expressions, 1970, where values
  // that are read twice count once. O((N + E) log N).
  Order depth_first() const;

  // Returns the most bytes of the arena that are live at a time.
  uint64_t peak(const Order& order) const;
  // Nodes of an order from `begin` to `end`, with the stream of each.
  struct Region {
    uint32_t begin, end;
    std::span<const uint32_t> streams;
  };
  // Returns for each region, which follow each other, the most bytes that can be live in it
  // whichever tasks of its streams run at the same time: no less than if none waited for another.
  std::vector<uint64_t> peaks(const Order& order, std::span<const Region> regions) const;

  Node& node(uint32_t index) const { return *nodes_[index]; }

 private:
  class Walk;
  uint64_t peak_of(const Order& order, const Region& region, const Walk& before) const;

  // A node with the groups of bytes that it writes and reads, each once.
  struct Touched {
    std::vector<uint32_t> groups;
    std::vector<uint32_t> before, after;  // nodes that run before and after it, once for each edge
  };

  void find_groups(const Graph& graph);
  void find_edges(const Graph& graph);
  void keep_streams();

  std::vector<Node*> nodes_;
  std::vector<Touched> touched_;  // by node
  std::vector<uint64_t> bytes_;   // by group; 0 where the caller gives the memory
  std::vector<uint32_t> users_;   // by group: the nodes that touch it
};

}  // namespace sluice
