#include <algorithm>
#include <map>

#include "common/base/store.h"
#include "common/base/store_size.h"
#include "common/graphfile/graphfile.h"
#include "common/graphfile/header.h"
#include "common/graphfile/writer.h"

namespace sluice {
namespace {

// Nodes and values; FlatBuffers stop at 2 GiB.
constexpr size_t kItemLimit = size_t{24} * 1000 * 1000;

constexpr size_t kMaxGathered = 1 << 20;  // written at once: each write to a pipe wakes its reader

std::span<const std::byte> bytes_of(const flatbuffers::DetachedBuffer& buffer) {
  return std::as_bytes(std::span(buffer.data(), buffer.size()));
}

// The constants that follow the buffers, each digest once, and the rows with the location of every
// constant.
struct SegmentPlacement {
  std::vector<std::span<const std::byte>> inline_bytes;
  uint64_t inline_size = 0;
  flatbuffers::DetachedBuffer locations;
};

// Keeps constants in a store, and counts the bytes that it adds.
class SegmentKeeper {
 public:
  explicit SegmentKeeper(const std::string& store) : store_(store) {}
  ~SegmentKeeper() { add_to_store_size(store_, added_); }
  SegmentKeeper(const SegmentKeeper&) = delete;
  SegmentKeeper& operator=(const SegmentKeeper&) = delete;

  bool keep(const Module& module, SegmentId id) {
    if (store_.empty()) return false;
    const auto bytes = module.bytes(id);
    if (!bytes) return false;
    const auto added = put_in_store(store_, module.segment(id).digest, *bytes);
    if (added) added_ += *added;
    return added.ok();
  }

 private:
  const std::string& store_;
  uint64_t added_ = 0;
};

Result<SegmentPlacement> place_segments(const Module& module, const graphfile::Mentioned& mentioned,
                                        const WriteGraphOptions& options) {
  SegmentPlacement placement;
  std::map<Digest, uint64_t> placed;
  flatbuffers::FlatBufferBuilder builder(1 << 12);
  std::vector<flatbuffers::Offset<fb::Location>> rows;
  SegmentKeeper keeper(options.store);
  for (const int32_t id : mentioned.segments.order()) {
    const Segment& segment = module.segment(id);
    if (segment.kind != SegmentKind::kBytes || segment.location.where == Where::kNone) continue;
    const auto file_id = static_cast<uint32_t>(mentioned.segments[id]);
    const Location& location = segment.location;
    if (location.where == Where::kFile && !options.inline_segments) {
      const auto path = builder.CreateString(location.path);
      rows.push_back(fb::CreateLocation(builder, file_id, fb::Where::file, path, location.offset,
                                        location.mtime_ns));
      continue;
    }
    const bool is_stored = location.where == Where::kStore && !options.inline_segments;
    // A store that takes no more is no reason to fail: the bytes are then in the file.
    if (is_stored || keeper.keep(module, id)) {
      rows.push_back(fb::CreateLocation(builder, file_id, fb::Where::store));
      continue;
    }
    const auto [found, inserted] = placed.try_emplace(segment.digest, placement.inline_size);
    if (inserted) {
      SLUICE_ASSIGN(const auto bytes, module.bytes(id));
      placement.inline_bytes.push_back(bytes);
      placement.inline_size = graph_aligned(placement.inline_size + bytes.size());
    }
    rows.push_back(fb::CreateLocation(builder, file_id, fb::Where::here, 0, found->second));
  }
  graphfile::TextRun option_names, option_values;
  graphfile::add_options(module, graphfile::OptionUse::kUnread, option_names, option_values);
  const auto rows_offset = builder.CreateVector(rows);
  const auto names_offset = option_names.build(builder);
  builder.Finish(
      fb::CreateLocations(builder, rows_offset, names_offset, option_values.build(builder)));
  placement.locations = builder.Release();
  return placement;
}

Result<void> check_size(const Module& module) {
  size_t items = 0;
  for (GraphId id = 0; id < module.graph_limit(); ++id)
    items += module.graph(id).node_count() * 2 + module.graph(id).value_limit();
  if (items <= kItemLimit) return {};
  return make_error(ErrorCode::kLimit,
                    "the graph is too large for a graph file: {} nodes and values, at most {}",
                    items, kItemLimit)
      .with_hint("compile it in pieces: --out-nodes");
}

// Passes the pieces of the file to `put` in order.
template <typename Put>
Result<void> emit(Module& module, const WriteGraphOptions& options, Put put) {
  if (!options.is_compact) module.compact();
  SLUICE_TRY(check_size(module));
  const graphfile::Mentioned mentioned(module);
  const flatbuffers::DetachedBuffer graph = graphfile::build_graph_buffer(module, mentioned);
  const flatbuffers::DetachedBuffer names = graphfile::build_names_buffer(module, mentioned);
  SLUICE_ASSIGN(const SegmentPlacement placement, place_segments(module, mentioned, options));
  GraphHeader header;
  header.level = static_cast<uint8_t>(module.level);
  header.last_stage = static_cast<uint8_t>(module.last_stage);
  header.mid_stage = module.is_mid_stage();
  header.graph_bytes = graph.size();
  header.names_bytes = names.size();
  header.locations_bytes = placement.locations.size();
  header.segment_bytes = placement.inline_size;
  header.structure_digest = sha256(bytes_of(graph));
  Sha256 file_hash;
  file_hash.add(bytes_of(graph));
  file_hash.add(bytes_of(names));
  header.file_digest = file_hash.finish();
  std::array<std::byte, kGraphHeaderBytes> header_bytes;
  print_graph_header(header, header_bytes);
  SLUICE_TRY(put(header_bytes));
  SLUICE_TRY(put(bytes_of(graph)));
  SLUICE_TRY(put(bytes_of(names)));
  SLUICE_TRY(put(bytes_of(placement.locations)));
  for (const auto bytes : placement.inline_bytes) SLUICE_TRY(put(bytes));
  return {};
}

}  // namespace

Result<void> write_graph(Module& module, FileWriter& writer, const WriteGraphOptions& options) {
  std::vector<std::byte> gathered;
  SLUICE_TRY(emit(module, options, [&](std::span<const std::byte> bytes) -> Result<void> {
    if (gathered.size() + bytes.size() > kMaxGathered) {
      SLUICE_TRY(writer.write(gathered));
      gathered.clear();
    }
    if (bytes.size() > kMaxGathered) {
      SLUICE_TRY(writer.write(bytes));
      return writer.pad_to(kGraphAlignment);
    }
    gathered.insert(gathered.end(), bytes.begin(), bytes.end());
    gathered.resize(graph_aligned(gathered.size()));
    return {};
  }));
  return writer.write(gathered);
}

Result<void> write_graph_file(Module& module, const std::string& path,
                              const WriteGraphOptions& options) {
  SLUICE_ASSIGN(FileWriter writer, FileWriter::create(path));
  SLUICE_TRY(write_graph(module, writer, options));
  return writer.commit();
}

Result<std::vector<std::byte>> graph_bytes(Module& module, const WriteGraphOptions& options) {
  std::vector<std::byte> result;
  SLUICE_TRY(emit(module, options, [&](std::span<const std::byte> bytes) -> Result<void> {
    result.insert(result.end(), bytes.begin(), bytes.end());
    result.resize(graph_aligned(result.size()));
    return {};
  }));
  return result;
}

Result<Digest> structure_digest(Module& module) {
  module.compact();
  SLUICE_TRY(check_size(module));
  return sha256(bytes_of(graphfile::build_graph_buffer(module, graphfile::Mentioned(module))));
}

}  // namespace sluice
