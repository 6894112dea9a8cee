// Converts verified FlatBuffers to a module. Internal to common/graphfile. FlatBuffers' own
// verifier has proved that every offset is inside; this code checks the values of all numbers: ids,
// orders, counts, sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/ir/module.h"
#include "graph_generated.h"

namespace sluice::graphfile {

template <typename... Args>
[[nodiscard]] Error bad_file(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kBadFile, "the graph file is damaged: {}",
                    fmt::format(format, std::forward<Args>(args)...));
}

// A FlatBuffer may refer to the same bytes many times, so that a small file unfolds into a huge
// module. Copied bytes are charged to a budget of the buffer's size, which a valid file, referring
// to everything once, cannot exceed.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : left_(bytes) {}
  Result<void> charge(uint64_t count, uint64_t bytes_each);

 private:
  uint64_t left_;
};

template <typename Vector>
size_t size_of(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// FlatBuffers' verifier does not check the alignment of rows of 8-byte fields. Empty vectors need
// not be aligned.
template <typename Vector>
bool is_aligned(const Vector* vector) {
  return size_of(vector) == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % 8 == 0;
}

// Returns the texts of a table; an absent one has none.
Result<std::vector<std::string_view>> texts_of(const fb::Texts* texts, Budget& budget);

// The tables of the file as ids of the module, by id of the file.
struct FileTables {
  std::vector<ExpressionId> expressions;
  std::vector<TypeId> types;
  std::vector<StorageId> storages;
  std::vector<SegmentId> segments;
  std::vector<KernelId> kernels;
};

// Reads the tables. The (empty) graphs must have been added; segments refer to them.
Result<FileTables> read_tables(const fb::File& file,
                               const std::vector<std::string_view>& symbol_names, Module& module,
                               Budget& budget);

// words: of each requirement.
Result<void> read_requirements(const fb::File& file, const std::vector<std::string_view>& words,
                               const FileTables& tables, Module& module);

// Returns the dim of a row, whose expression is one of the table.
Result<Dim> read_dim(const fb::Dim& row, const FileTables& tables, const Module& module);

// Reads the facts of a graph's schedule: streams, buffers and places of values. strings: the
// file's, which text_budget is of. The nodes' own are read with them.
Result<void> read_schedule(const fb::Graph& row, const std::vector<std::string_view>& strings,
                           const FileTables& tables, Graph& graph, Budget& budget,
                           Budget& text_budget);

// Fills the graphs. Names: by graph, null for none.
Result<void> read_graphs(const fb::File& file, const fb::Names& names, const FileTables& tables,
                         Module& module, Budget& budget, Budget& names_budget);

// Checks that every graph has its owner, and that neither graphs nor expressions contain
// themselves.
Result<void> check_ownership(const Module& module);

// Sets the locations of segments. inline_bytes are those of the file, kept alive by owner.
Result<void> read_locations(const fb::Locations& locations, const FileTables& tables,
                            std::span<const std::byte> inline_bytes,
                            const std::shared_ptr<const void>& owner, Module& module);

}  // namespace sluice::graphfile
