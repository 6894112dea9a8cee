#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "common/graphfile/graphfile.h"
#include "common/graphfile/header.h"
#include "common/graphfile/reader.h"

namespace sluice {
namespace graphfile {

Result<void> Budget::charge(uint64_t count, uint64_t bytes_each) {
  if (count > left_ / bytes_each) return bad_file("it says more than its bytes can hold");
  left_ -= count * bytes_each;
  return {};
}

Result<std::vector<std::string_view>> texts_of(const fb::Texts* texts, Budget& budget) {
  std::vector<std::string_view> result;
  if (texts == nullptr) return result;
  SLUICE_TRY(budget.charge(size_of(texts->ends()), 4));
  SLUICE_TRY(budget.charge(size_of(texts->bytes()), 1));
  const auto size = static_cast<uint32_t>(size_of(texts->bytes()));
  const std::string_view bytes =
      size == 0 ? std::string_view()
                : std::string_view(reinterpret_cast<const char*>(texts->bytes()->data()), size);
  uint32_t first = 0;
  for (size_t i = 0; i < size_of(texts->ends()); ++i) {
    const uint32_t end = texts->ends()->Get(static_cast<uint32_t>(i));
    if (end < first || end > size) return bad_file("a text ends at {}", end);
    result.push_back(bytes.substr(first, end - first));
    first = end;
  }
  if (first != size) return bad_file("texts are left over");
  return result;
}

Result<void> read_locations(const fb::Locations& locations, const FileTables& tables,
                            std::span<const std::byte> inline_bytes,
                            const std::shared_ptr<const void>& owner, Module& module) {
  for (size_t i = 0; i < size_of(locations.entries()); ++i) {
    const fb::Location& row = *locations.entries()->Get(static_cast<uint32_t>(i));
    if (row.segment() >= tables.segments.size())
      return bad_file("a location is for constant {}", row.segment());
    Segment& segment = module.segment(tables.segments[row.segment()]);
    if (segment.kind != SegmentKind::kBytes)
      return bad_file("constant {} needs no location", row.segment());
    Location location;
    if (row.where() == fb::Where::here) {
      if (row.offset() > inline_bytes.size() || segment.size > inline_bytes.size() - row.offset()) {
        return bad_file("constant {} lies outside the file", row.segment());
      }
      location.where = Where::kHere;
      location.owner = owner;
      location.bytes = inline_bytes.subspan(row.offset(), segment.size);
    } else if (row.where() == fb::Where::file) {
      if (size_of(row.path()) == 0 || row.path()->Get(0) != '/')
        return bad_file("constant {} lies in a file without absolute path", row.segment());
      location.where = Where::kFile;
      location.path = row.path()->str();
      location.offset = row.offset();
      location.mtime_ns = row.mtime_ns();
    } else if (row.where() == fb::Where::store) {
      location.where = Where::kStore;
    } else {
      return bad_file("constant {} lies nowhere known", row.segment());
    }
    segment.location = std::move(location);
  }
  return {};
}

namespace {

constexpr uintptr_t kLoadAlignment = 8;  // of 64-bit fields in a FlatBuffer

struct Sections {
  std::span<const std::byte> graph, names, locations, segments;
};

Result<Sections> split(std::span<const std::byte> bytes, const GraphHeader& header) {
  uint64_t offset = kGraphHeaderBytes;
  const auto take = [&](uint64_t length, std::span<const std::byte>& section) {
    if (offset > bytes.size() || length > bytes.size() - offset) return false;
    section = bytes.subspan(offset, length);
    offset = graph_aligned(offset + length);
    return true;
  };
  Sections sections;
  const bool complete = take(header.graph_bytes, sections.graph) &&
                        take(header.names_bytes, sections.names) &&
                        take(header.locations_bytes, sections.locations) &&
                        take(header.segment_bytes, sections.segments);
  if (!complete)
    return make_error(ErrorCode::kBadFile, "the graph file is cut off: it has {} bytes",
                      bytes.size());
  if (bytes.size() > offset) return bad_file("{} bytes follow its end", bytes.size() - offset);
  return sections;
}

template <typename T>
Result<const T*> verified(std::span<const std::byte> bytes, const char* what) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size(), /*max_depth=*/16,
                                 /*max_tables=*/static_cast<uint32_t>(bytes.size() / 4 + 1));
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !verifier.VerifyBuffer<T>(nullptr))
    return bad_file("its {} cannot be read", what);
  return flatbuffers::GetRoot<T>(data);
}

Result<void> add_graphs(const fb::File& file, const std::vector<std::string_view>& names,
                        Module& module) {
  if (size_of(file.graphs()) == 0) return bad_file("it has no graph");
  if (names.size() != size_of(file.graphs()))
    return bad_file("{} graphs have {} names", size_of(file.graphs()), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const fb::Graph& row = *file.graphs()->Get(static_cast<uint32_t>(i));
    if (row.role() > static_cast<uint8_t>(GraphRole::kExpression) ||
        row.shapes() > static_cast<uint8_t>(ShapeClass::kDynamic)) {
      return bad_file("graph {} makes no sense", i);
    }
    Graph& graph = module.add_graph(std::string(names[i]), static_cast<GraphRole>(row.role()));
    graph.captures = row.captures();
    graph.shapes = static_cast<ShapeClass>(row.shapes());
  }
  const GraphRole first = module.root().role;  // a split-off subgraph stays one
  if (first != GraphRole::kRoot && first != GraphRole::kPart && first != GraphRole::kSubgraph)
    return bad_file("its first graph is a body");
  return {};
}

Result<void> read_passes(const fb::Names& names, const GraphHeader& header, Module& module,
                         Budget& budget) {
  SLUICE_ASSIGN(const auto passes, texts_of(names.passes(), budget));
  module.passes.assign(passes.begin(), passes.end());
  module.passes_done = names.passes_done();
  if (header.mid_stage && passes.empty()) {
    return make_error(ErrorCode::kBadFile,
                      "the graph file stopped half-way in an earlier release, which did not record "
                      "its passes")
        .with_hint("run the stage again on what it read");
  }
  const bool is_whole = passes.empty() && module.passes_done == 0;
  const bool is_mid_stage = module.passes_done > 0 && module.passes_done < passes.size();
  if (header.mid_stage ? is_mid_stage : is_whole) return {};
  return bad_file("its header and its names do not agree on the passes that ran");
}

Result<void> read_options(const fb::Texts* names, const fb::Texts* values, Module& module,
                          Budget& budget) {
  SLUICE_ASSIGN(const auto option_names, texts_of(names, budget));
  SLUICE_ASSIGN(const auto option_values, texts_of(values, budget));
  if (option_names.size() != option_values.size())
    return bad_file("options and their values differ in number");
  for (size_t i = 0; i < option_names.size(); ++i)
    module.options.emplace(option_names[i], option_values[i]);
  return {};
}

Result<void> read_facts(const fb::Names& names, const GraphHeader& header, Module& module,
                        Budget& budget) {
  if (header.level < static_cast<uint8_t>(Level::kTyped) ||
      header.level > static_cast<uint8_t>(Level::kScheduled) ||
      header.last_stage > static_cast<uint8_t>(StageId::kBuild)) {
    return bad_file("it has level {} and last stage {}", header.level, header.last_stage);
  }
  module.level = static_cast<Level>(header.level);
  module.last_stage = static_cast<StageId>(header.last_stage);
  SLUICE_TRY(read_passes(names, header, module, budget));
  if (names.producer() != nullptr) module.producer = names.producer()->str();
  // A file stopped half-way is not in made_from, nor is one after partition, so that the product is
  // the same whether or not it was resumed from that file, and however the graph was split.
  if (!module.is_mid_stage() && module.level == Level::kTyped)
    module.made_from.push_back(header.file_digest);
  for (size_t i = 0; i < size_of(names.made_from()); ++i) {
    Digest& digest = module.made_from.emplace_back();
    std::memcpy(digest.bytes.data(),
                names.made_from()->Get(static_cast<uint32_t>(i))->bytes()->data(),
                digest.bytes.size());
  }
  return read_options(names.option_names(), names.option_values(), module, budget);
}

Result<Module> read_sections(const Sections& sections, const GraphHeader& header,
                             const std::shared_ptr<const void>& owner) {
  SLUICE_ASSIGN(const fb::File* file, verified<fb::File>(sections.graph, "graphs"));
  SLUICE_ASSIGN(const fb::Names* names, verified<fb::Names>(sections.names, "names"));
  SLUICE_ASSIGN(const fb::Locations* locations,
                verified<fb::Locations>(sections.locations, "locations"));
  Module module;
  Budget budget(sections.graph.size());
  Budget names_budget(sections.names.size());
  SLUICE_TRY(read_facts(*names, header, module, names_budget));
  Budget options_budget(sections.locations.size());
  SLUICE_TRY(
      read_options(locations->option_names(), locations->option_values(), module, options_budget));
  SLUICE_ASSIGN(const auto graph_names, texts_of(names->graph_names(), names_budget));
  SLUICE_TRY(add_graphs(*file, graph_names, module));
  SLUICE_ASSIGN(const auto symbol_names, texts_of(names->symbols(), names_budget));
  SLUICE_ASSIGN(const FileTables tables, read_tables(*file, symbol_names, module, budget));
  SLUICE_ASSIGN(const auto words, texts_of(names->requirements(), names_budget));
  SLUICE_TRY(read_requirements(*file, words, tables, module));
  SLUICE_TRY(read_graphs(*file, *names, tables, module, budget, names_budget));
  SLUICE_TRY(check_ownership(module));
  SLUICE_TRY(read_locations(*locations, tables, sections.segments, owner, module));
  return module;
}

}  // namespace
}  // namespace graphfile

Result<Module> read_graph(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name) {
  const auto failed = [&](Error error) {
    error.file = name;
    return error;
  };
  auto header = parse_graph_header(bytes);
  if (!header) return failed(std::move(header).error());
  if (reinterpret_cast<uintptr_t>(bytes.data()) % graphfile::kLoadAlignment != 0) {
    auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    bytes = *copy;
    owner = std::move(copy);
  }
  auto sections = graphfile::split(bytes, *header);
  if (!sections) return failed(std::move(sections).error());
  auto module = graphfile::read_sections(*sections, *header, owner);
  if (!module) return failed(std::move(module).error());
  module->source = name;
  return module;
}

Result<Module> read_graph(std::shared_ptr<const std::vector<std::byte>> bytes,
                          const std::string& name) {
  const std::span<const std::byte> span = *bytes;
  return read_graph(span, std::move(bytes), name);
}

namespace {

// Returns true for a regular file at its beginning, as after "<" of a shell: it need not be copied.
bool is_whole_file(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ::lseek(fd, 0, SEEK_CUR) == 0;
}

}  // namespace

Result<Module> read_graph_file(const std::string& path) {
  if (path != "-") {
    SLUICE_ASSIGN(const MappedFile file, MappedFile::open(path));
    return read_graph(file.bytes(), std::make_shared<const MappedFile>(file), path);
  }
  if (is_whole_file(STDIN_FILENO)) {
    SLUICE_ASSIGN(const MappedFile file, MappedFile::open("/proc/self/fd/0"));
    return read_graph(file.bytes(), std::make_shared<const MappedFile>(file), "standard input");
  }
  SLUICE_ASSIGN(std::vector<std::byte> bytes, read_file(path));
  return read_graph(std::make_shared<const std::vector<std::byte>>(std::move(bytes)),
                    "standard input");
}

}  // namespace sluice
