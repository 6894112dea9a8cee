#include "orchestrator/store/explain.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <map>

#include "common/base/store.h"
#include "common/graphfile/header.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/store/file_system.h"
#include "orchestrator/store/find_record.h"

namespace sluice {
namespace {

constexpr size_t kMaxStages = 64;       // a store that was tampered with may have a circle
constexpr size_t kMaxCandidates = 100;  // records of one graph: many options may make the same

// The kinds whose input is what sluice-preprocess made.
bool has_imported_input(const std::string& kind) {
  return kind == kStageNames[1] || kind == "compile";
}

struct Pair {
  Digest keys[2];
  Record records[2];
};

class Chain {
 public:
  explicit Chain(const StoreContent& content) : content_(content) {
    for (const StoreRecord& record : content.records)
      if (record.graph) makers_[*record.graph].push_back(&record);
    for (auto& [graph, records] : makers_)
      std::ranges::sort(records, std::greater(), [](const StoreRecord* record) {
        return std::pair(record->file.use, record->file.digest);
      });
  }

  Explanation follow(Pair pair) const {
    Explanation found;
    if (pair.keys[0] == pair.keys[1]) return found;
    for (size_t stage = 0; stage < kMaxStages; ++stage) {
      const auto& [a, b] = pair.records;
      if (a.kind != b.kind) {
        found.end = Explanation::End::kKinds;
        found.kinds[0] = a.kind, found.kinds[1] = b.kind;
        return found;
      }
      found.stages.push_back({.kind = a.kind,
                              .keys = {pair.keys[0], pair.keys[1]},
                              .differences = differences_of(a, b)});
      compare_structure(pair, found);
      const auto input_a = a.fields.find_digest("input"), input_b = b.fields.find_digest("input");
      found.end = Explanation::End::kItself;
      if (!input_a || !input_b || input_a == input_b) return found;
      std::optional<Pair> makers = makers_of(*input_a, *input_b);
      if (!makers) {
        found.end =
            has_imported_input(a.kind) ? Explanation::End::kImported : Explanation::End::kLost;
        found.inputs[0] = *input_a, found.inputs[1] = *input_b;
        return found;
      }
      pair = *std::move(makers);
    }
    return found;
  }

 private:
  std::vector<Record> records_of(const Digest& graph, std::vector<Digest>& keys) const {
    std::vector<Record> records;
    const auto found = makers_.find(graph);
    if (found == makers_.end()) return records;
    for (const StoreRecord* row : found->second) {
      std::optional<Record> record = find_record(content_, row->file.digest);
      if (!record || records.size() == kMaxCandidates) continue;
      keys.push_back(row->file.digest);
      records.push_back(*std::move(record));
    }
    return records;
  }

  // Of the records that have made the two graphs, returns two that differ least: the others are
  // about options that make no difference.
  std::optional<Pair> makers_of(const Digest& graph_a, const Digest& graph_b) const {
    std::vector<Digest> keys_a, keys_b;
    const std::vector<Record> all_a = records_of(graph_a, keys_a);
    const std::vector<Record> all_b = records_of(graph_b, keys_b);
    std::optional<Pair> nearest;
    std::pair<bool, size_t> distance;
    for (size_t i = 0; i < all_a.size(); ++i) {
      for (size_t j = 0; j < all_b.size(); ++j) {
        const std::pair now(all_a[i].kind != all_b[j].kind,
                            differences_of(all_a[i], all_b[j]).size());
        if (nearest && now >= distance) continue;
        distance = now;
        nearest = Pair{{keys_a[i], keys_b[j]}, {all_a[i], all_b[j]}};
      }
    }
    return nearest;
  }

  void compare_structure(const Pair& pair, Explanation& found) const {
    std::optional<Digest> structures[2];
    for (size_t i = 0; i < 2; ++i) {
      const auto output = pair.records[i].results.find_digest("output");
      if (output) structures[i] = structure_of(*output);
    }
    found.have_equal_structure.reset();
    if (structures[0] && structures[1]) found.have_equal_structure = structures[0] == structures[1];
  }

  std::optional<Digest> structure_of(const Digest& artifact) const {
    const std::string path = store_path(content_.path, artifact);
    const Descriptor file = open_unnoticed(AT_FDCWD, path.c_str());
    std::array<std::byte, kGraphHeaderBytes> bytes;
    if (!file || ::read(file.get(), bytes.data(), bytes.size()) != kGraphHeaderBytes)
      return std::nullopt;
    const Result<GraphHeader> header = parse_graph_header(bytes);
    return header ? std::optional(header->structure_digest) : std::nullopt;
  }

  const StoreContent& content_;
  std::map<Digest, std::vector<const StoreRecord*>> makers_;  // by graph, those used last first
};

Result<Pair> read_pair(const StoreContent& content, const std::string& a, const std::string& b) {
  Pair pair;
  for (const size_t i : {0, 1}) {
    SLUICE_ASSIGN(pair.keys[i], find_key(content, i == 0 ? a : b));
    std::optional<Record> record = find_record(content, pair.keys[i]);
    if (!record)
      return make_error(ErrorCode::kBadFile, "the record {} of the store '{}' is damaged",
                        digest_hex(pair.keys[i]), content.path)
          .with_hint("sluice cache verify --delete deletes what is damaged");
    pair.records[i] = *std::move(record);
  }
  return pair;
}

}  // namespace

Result<Explanation> explain(const std::string& store, const std::string& a, const std::string& b) {
  SLUICE_ASSIGN(const StoreContent content, read_content(store));
  SLUICE_ASSIGN(Pair pair, read_pair(content, a, b));
  return Chain(content).follow(std::move(pair));
}

}  // namespace sluice
