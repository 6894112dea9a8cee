// Jobs that wait for a worker: those of higher priority first, of one priority each owner in turn,
// of one owner in the order of arrival. Putting and taking cost nothing that grows with the number
// of jobs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "common/base/digest.h"

namespace sluice {

class ReadyQueue {
 public:
  struct Place {
    int32_t priority = 0;
    std::string owner;
    std::string needs;  // jobs of equal needs fit the same workers
    std::string kind;   // jobs of equal kinds can be taken together
  };

  void put(const Digest& key, const Place& place);
  // Takes up to `count` jobs of one owner, needs and kind, or none. fits: whether the worker
  // satisfies needs. count: how many to take of a kind.
  std::vector<Digest> take(const std::function<bool(const std::string& needs)>& fits,
                           const std::function<size_t(const std::string& kind)>& count);
  // Calls the function with an owner, needs, and how many jobs have both.
  void for_each(const std::function<void(const std::string& owner, const std::string& needs,
                                         size_t jobs)>& function) const;
  size_t size() const { return size_; }

 private:
  struct Line {  // jobs of one owner, needs and kind
    std::string needs, kind;
    std::deque<Digest> keys;
  };
  struct Owner {
    std::string name;
    std::list<Line> lines;  // the one that was served last is last
  };
  using Owners = std::list<Owner>;  // the one that was served last is last

  std::map<int32_t, Owners, std::greater<>> by_priority_;
  size_t size_ = 0;
};

}  // namespace sluice
