#include "common/tools/diff.h"

#include <algorithm>
#include <map>

#include "common/tools/diff_entries.h"

namespace sluice {
namespace {

class Comparison {
 public:
  std::vector<std::string> run(const Module& a, const Module& b, bool ignores_constants) {
    if (a.level != b.level)
      lines_.push_back(fmt::format("~ level: {} | {}", level_name(a.level), level_name(b.level)));
    const DiffSide left(a, ignores_constants), right(b, ignores_constants);
    for (const auto& [id, name] : in_order(left)) {
      const auto other = right.graphs().find(name);
      if (other == right.graphs().end()) {
        lines_.push_back(fmt::format("- {}", name));
      } else {
        compare(name, left.entries(id), right.entries(other->second));
      }
    }
    for (const auto& [id, name] : in_order(right)) {
      if (!left.graphs().contains(name)) lines_.push_back(fmt::format("+ {}", name));
    }
    return std::move(lines_);
  }

 private:
  static std::vector<std::pair<GraphId, std::string>> in_order(const DiffSide& side) {
    std::vector<std::pair<GraphId, std::string>> result;
    for (const auto& [name, id] : side.graphs()) result.emplace_back(id, name);
    std::sort(result.begin(), result.end());
    return result;
  }

  // Compares both lists; an entry of only one list is reported at its position.
  void compare(const std::string& graph, const std::vector<DiffEntry>& a,
               const std::vector<DiffEntry>& b) {
    std::map<std::string_view, size_t> in_a, in_b;
    for (size_t i = 0; i < a.size(); ++i) in_a.emplace(a[i].name, i);
    for (size_t i = 0; i < b.size(); ++i) in_b.emplace(b[i].name, i);
    size_t next = 0;
    const auto report_added = [&](size_t end) {
      for (; next < end; ++next) {
        if (!in_a.contains(b[next].name))
          lines_.push_back(fmt::format("+ {}: {}", graph, b[next].text));
      }
    };
    for (const DiffEntry& entry : a) {
      const auto found = in_b.find(entry.name);
      if (found == in_b.end()) {
        lines_.push_back(fmt::format("- {}: {}", graph, entry.text));
        continue;
      }
      report_added(found->second);
      compare_facts(entry.name.empty() ? graph : fmt::format("{}: {}", graph, entry.name), entry,
                    b[found->second]);
    }
    report_added(b.size());
  }

  void compare_facts(const std::string& where, const DiffEntry& a, const DiffEntry& b) {
    const std::map<std::string_view, std::string_view> ours(a.facts.begin(), a.facts.end());
    const std::map<std::string_view, std::string_view> theirs(b.facts.begin(), b.facts.end());
    for (const auto& [what, value] : a.facts) {
      const auto other = theirs.find(what);
      const std::string_view right = other == theirs.end() ? "none" : other->second;
      if (right != value)
        lines_.push_back(fmt::format("~ {}: {}: {} | {}", where, what, value, right));
    }
    for (const auto& [what, value] : b.facts) {
      if (!ours.contains(what))
        lines_.push_back(fmt::format("~ {}: {}: none | {}", where, what, value));
    }
  }

  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> find_differences(const Module& a, const Module& b,
                                          bool ignores_constants) {
  return Comparison().run(a, b, ignores_constants);
}

}  // namespace sluice
