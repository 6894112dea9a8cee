// The three FlatBuffers of a .sg file, made from a compacted module. Internal to common/graphfile.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/ir/module.h"
#include "graph_generated.h"

namespace sluice::graphfile {

// Texts in the order of first mention, each once.
class TextTable {
 public:
  uint32_t id(std::string_view text);
  flatbuffers::Offset<fb::Texts> build(flatbuffers::FlatBufferBuilder& builder) const;
  size_t size() const { return texts_.size(); }

 private:
  std::map<std::string, uint32_t, std::less<>> index_;
  std::vector<std::string_view> texts_;  // views of the keys of index_
};

// Texts in a given order, including repeated ones.
class TextRun {
 public:
  void add(std::string_view text) {
    bytes_ += text;
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  flatbuffers::Offset<fb::Texts> build(flatbuffers::FlatBufferBuilder& builder) const;

 private:
  std::string bytes_;
  std::vector<uint32_t> ends_;
};

// Adds the options of the module that a stage has read, or those that none has.
enum class OptionUse : uint8_t { kRead, kUnread };
void add_options(const Module& module, OptionUse use, TextRun& names, TextRun& values);

// Maps ids of the module's tables to ids of the file's, which are assigned in order of first
// mention.
class FileIds {
 public:
  explicit FileIds(size_t limit) : ids_(limit, -1) {}
  int32_t operator[](int32_t id) const { return id < 0 ? -1 : ids_[static_cast<size_t>(id)]; }
  bool has(int32_t id) const { return ids_[static_cast<size_t>(id)] >= 0; }
  void add(int32_t id) {
    ids_[static_cast<size_t>(id)] = static_cast<int32_t>(order_.size());
    order_.push_back(id);
  }
  // Ids of the module, by id of the file.
  const std::vector<int32_t>& order() const { return order_; }

 private:
  std::vector<int32_t> ids_;
  std::vector<int32_t> order_;
};

// The entries of the module's tables that the graphs mention. Expressions and symbols keep the
// order in which they were made, because the normal form sorts by it.
struct Mentioned {
  explicit Mentioned(const Module& module);

  FileIds expressions;
  FileIds symbols;
  FileIds types;
  FileIds storages;
  FileIds segments;
  FileIds kernels;

 private:
  void dim(const Dim& dim);
  void place(const MemoryPlace& place);
  void expression(ExpressionId id);
  void type(TypeId id);
  void storage(StorageId id);
  void segment(SegmentId id);
  void node(const Node& node);

  const Module& module_;
  std::vector<bool> used_expressions_;
};

flatbuffers::DetachedBuffer build_graph_buffer(const Module& module, const Mentioned& mentioned);
flatbuffers::DetachedBuffer build_names_buffer(const Module& module, const Mentioned& mentioned);

}  // namespace sluice::graphfile
