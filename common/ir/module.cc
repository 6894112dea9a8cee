#include "common/ir/module.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "common/base/files.h"
#include "common/base/store.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"", "typed", "partitioned", "lowered",
                                                     "scheduled"};
constexpr std::array<std::string_view, 6> kStages = {"none",      "preprocess",        "optimize",
                                                     "partition", "subgraph-optimize", "build"};

// Returns true when all of `bytes` repeat one element. element: bytes of one element.
bool is_repeated(std::span<const std::byte> bytes, size_t element) {
  return bytes.size() > element &&
         std::memcmp(bytes.data(), bytes.data() + element, bytes.size() - element) == 0;
}

void renumber_bodies(Node& node, const std::vector<GraphId>& renumbered) {
  if (node.bodies().empty()) return;
  const std::vector<Attribute> attributes = node.attributes();
  for (const Attribute& attribute : attributes) {
    if (const auto* body = std::get_if<GraphRef>(&attribute.value)) {
      node.set_attribute(attribute.name, GraphRef{renumbered[static_cast<size_t>(body->id)]});
    } else if (const auto* bodies = std::get_if<std::vector<GraphRef>>(&attribute.value)) {
      std::vector<GraphRef> changed;
      for (const GraphRef ref : *bodies)
        changed.push_back({renumbered[static_cast<size_t>(ref.id)]});
      node.set_attribute(attribute.name, std::move(changed));
    }
  }
}

}  // namespace

std::string_view level_name(Level level) { return kLevels[static_cast<size_t>(level)]; }
std::string_view stage_name(StageId stage) { return kStages[static_cast<size_t>(stage)]; }

std::optional<Level> level_from_name(std::string_view name) {
  const auto* found = std::find(kLevels.begin() + 1, kLevels.end(), name);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<Level>(found - kLevels.begin());
}

std::optional<StageId> stage_from_name(std::string_view name) {
  const auto* found = std::find(kStages.begin(), kStages.end(), name);
  if (found == kStages.end()) return std::nullopt;
  return static_cast<StageId>(found - kStages.begin());
}

namespace {

Error changed_file(const Segment& segment) {
  const bool in_store = segment.location.where == Where::kStore;
  return make_error(in_store ? ErrorCode::kBadFile : ErrorCode::kMissingSegment,
                    "'{}' changed since the graph that refers to it was made",
                    segment.location.path)
      .with_hint(in_store
                     ? "delete that file, and run sluice-preprocess again with --store"
                     : "run sluice-preprocess again, or give an unchanged copy with --model FILE");
}

}  // namespace

// Files that contain constants, mapped on first use.
struct Module::Files {
  std::mutex mutex;
  std::map<std::string, MappedFile> maps;
};

Module::Module() : files_(std::make_shared<Files>()) { intern(Type{}); }
Module::~Module() = default;

Module::Module(Module&& other) noexcept { *this = std::move(other); }

Module& Module::operator=(Module&& other) noexcept {
  expressions = std::move(other.expressions);
  requirements = std::move(other.requirements);
  level = other.level;
  last_stage = other.last_stage;
  passes = std::move(other.passes);
  passes_done = other.passes_done;
  options = std::move(other.options);
  made_from = std::move(other.made_from);
  producer = std::move(other.producer);
  source = std::move(other.source);
  declared_outputs = std::move(other.declared_outputs);
  warnings = std::move(other.warnings);
  graphs_ = std::move(other.graphs_);
  types_ = std::move(other.types_);
  type_index_ = std::move(other.type_index_);
  storages_ = std::move(other.storages_);
  storage_index_ = std::move(other.storage_index_);
  segments_ = std::move(other.segments_);
  segment_index_ = std::move(other.segment_index_);
  kernels_ = std::move(other.kernels_);
  onnx_nodes_ = std::move(other.onnx_nodes_);
  onnx_node_index_ = std::move(other.onnx_node_index_);
  files_ = std::move(other.files_);
  for (const auto& graph : graphs_) {
    if (graph != nullptr) graph->module_ = this;
  }
  return *this;
}

Graph& Module::add_graph(std::string name, GraphRole role) {
  graphs_.push_back(
      std::make_unique<Graph>(*this, static_cast<GraphId>(graphs_.size()), std::move(name)));
  graphs_.back()->role = role;
  return *graphs_.back();
}

void Module::erase_graph(GraphId id) { graphs_[static_cast<size_t>(id)].reset(); }

void Module::erase_unowned() {
  std::vector<bool> wanted(graphs_.size(), false);
  std::vector<GraphId> queue;
  const auto want = [&](GraphId id) {
    if (!has_graph(id) || wanted[static_cast<size_t>(id)]) return;
    wanted[static_cast<size_t>(id)] = true;
    queue.push_back(id);
  };
  std::vector<bool> seen(segments_.size(), false);
  std::vector<SegmentId> segment_queue;
  const auto want_segment = [&](SegmentId id) {
    if (id < 0 || seen[static_cast<size_t>(id)]) return;
    seen[static_cast<size_t>(id)] = true;
    segment_queue.push_back(id);
  };
  want(0);
  for (const auto& graph : graphs_) {
    if (graph != nullptr && graph->role == GraphRole::kRoot) want(graph->id());
  }
  while (!queue.empty() || !segment_queue.empty()) {
    if (!segment_queue.empty()) {
      const Segment& segment = segments_[static_cast<size_t>(segment_queue.back())];
      segment_queue.pop_back();
      if (segment.kind == SegmentKind::kExpression) want(segment.graph);
      for (const SegmentId input : segment.inputs) want_segment(input);
      continue;
    }
    Graph& graph = *graphs_[static_cast<size_t>(queue.back())];
    queue.pop_back();
    for (const Value& value : graph.values()) {
      const bool is_kept = value.is_input() || value.producer() != nullptr || value.is_used();
      if (!value.is_erased() && is_kept) want_segment(value.segment());
    }
    if (!graph.may_have_bodies()) continue;
    for (const Node& node : graph.nodes()) {
      for (const GraphId body : node.bodies()) want(body);
    }
  }
  for (size_t i = 0; i < graphs_.size(); ++i) {
    if (!wanted[i]) graphs_[i].reset();
  }
}

// Computes the order that compact() produces: roots, then bodies by first mention, then each
// expression graph with its bodies.
std::vector<GraphId> Module::compact_order() const {
  std::vector<GraphId> order;
  std::vector<bool> placed(graphs_.size(), false);
  size_t next = 0;
  const auto place = [&](GraphId id) {
    if (!placed[static_cast<size_t>(id)]) order.push_back(id);
    placed[static_cast<size_t>(id)] = true;
  };
  const auto place_bodies = [&] {
    for (; next < order.size(); ++next) {
      if (!graph(order[next]).may_have_bodies()) continue;
      for (const Node& node : graph(order[next]).nodes()) {
        for (const GraphId body : node.bodies()) place(body);
      }
    }
  };
  for (GraphId id = 0; id < graph_limit(); ++id) {
    if (has_graph(id) && (id == 0 || graph(id).role == GraphRole::kRoot)) place(id);
  }
  place_bodies();
  for (GraphId id = 0; id < graph_limit(); ++id) {
    if (has_graph(id) && graph(id).role == GraphRole::kExpression) place(id);
    place_bodies();
  }
  return order;
}

void Module::compact() {
  erase_unowned();
  const std::vector<GraphId> order = compact_order();
  std::vector<GraphId> renumbered(graphs_.size(), -1);
  std::vector<std::unique_ptr<Graph>> ordered;
  for (const GraphId id : order) {
    renumbered[static_cast<size_t>(id)] = static_cast<GraphId>(ordered.size());
    ordered.push_back(std::move(graphs_[static_cast<size_t>(id)]));
  }
  graphs_ = std::move(ordered);
  for (size_t i = 0; i < graphs_.size(); ++i) {
    graphs_[i]->id_ = static_cast<GraphId>(i);
    if (!graphs_[i]->may_have_bodies()) continue;
    for (Node& node : graphs_[i]->nodes()) renumber_bodies(node, renumbered);
  }
  for (Segment& segment : segments_) {
    // Nothing refers to one whose graph is erased.
    if (segment.kind == SegmentKind::kExpression && segment.graph >= 0)
      segment.graph = renumbered[static_cast<size_t>(segment.graph)];
  }
  std::vector<std::vector<int32_t>> values;  // by new graph id: new value id by old one
  for (const auto& graph : graphs_) values.push_back(graph->compact());
  for (SymbolId id = 0; static_cast<size_t>(id) < expressions.symbol_count(); ++id) {
    Symbol& symbol = expressions.symbol(id);
    const auto lookup = [](const auto& table, int32_t index) {
      return index >= 0 && static_cast<size_t>(index) < table.size()
                 ? table[static_cast<size_t>(index)]
                 : -1;
    };
    symbol.graph = lookup(renumbered, symbol.graph);
    symbol.value =
        symbol.graph < 0 ? -1 : lookup(values[static_cast<size_t>(symbol.graph)], symbol.value);
    if (symbol.value < 0) symbol.graph = -1;
  }
}

TypeId Module::intern(const Type& type) {
  const auto [found, inserted] = type_index_.try_emplace(type, static_cast<TypeId>(types_.size()));
  if (inserted) types_.emplace_back(Type(type));
  return found->second;
}

StorageId Module::intern(const Storage& storage) {
  const auto [found, inserted] =
      storage_index_.try_emplace(storage, static_cast<StorageId>(storages_.size()));
  if (inserted) storages_.emplace_back(Storage(storage));
  return found->second;
}

Dim Module::make_dim(ExpressionId id) const {
  const auto constant = expressions.as_constant(id);
  if (constant) return Dim::fixed(*constant);
  return expressions.is_small(id) ? Dim::expression(id) : Dim::unknown();
}

std::optional<ExpressionId> Module::dim_expression(const Dim& dim) {
  if (dim.is_unknown()) return std::nullopt;
  return dim.is_fixed() ? expressions.constant(dim.value) : static_cast<ExpressionId>(dim.value);
}

SegmentId Module::add_segment(Segment segment) {
  const auto [found, inserted] = segment_index_.try_emplace(
      {segment.kind, segment.type, segment.digest}, static_cast<SegmentId>(segments_.size()));
  if (inserted) segments_.emplace_back(std::move(segment));
  return found->second;
}

SegmentId Module::make_constant(TypeId type_id, std::vector<std::byte> bytes) {
  const int bits = dtype_bits(type(type_id).dtype);
  Segment segment;
  segment.type = type_id;
  segment.size = bytes.size();
  segment.digest = sha256(bytes);
  if (bytes.size() <= kSmallSegmentBytes) {
    segment.kind = SegmentKind::kSmall;
    segment.data = std::move(bytes);
  } else if (bits >= 8 && is_repeated(bytes, static_cast<size_t>(bits) / 8)) {
    return make_splat(type_id, std::span(bytes).first(static_cast<size_t>(bits) / 8));
  } else {
    segment.kind = SegmentKind::kBytes;
    auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    segment.location.where = Where::kHere;
    segment.location.bytes = *owner;
    segment.location.owner = std::move(owner);
  }
  return add_segment(std::move(segment));
}

SegmentId Module::make_splat(TypeId type_id, std::span<const std::byte> element) {
  Segment segment;
  segment.kind = SegmentKind::kSplat;
  segment.type = type_id;
  segment.size = type(type_id).dense_bytes().value_or(0);
  segment.data.assign(element.begin(), element.end());
  segment.digest = sha256(element);
  return add_segment(std::move(segment));
}

SegmentId Module::make_expression(TypeId type_id, GraphId graph_id, std::vector<SegmentId> inputs) {
  Sha256 hash;
  hash.add("expression");
  hash.add_value(graph_digest(graph(graph_id)).bytes);
  for (const SegmentId input : inputs) {
    hash.add_value(segment(input).kind);
    hash.add_value(segment(input).digest.bytes);
  }
  Segment segment;
  segment.kind = SegmentKind::kExpression;
  segment.type = type_id;
  segment.size = type(type_id).dense_bytes().value_or(0);
  segment.digest = hash.finish();
  segment.graph = graph_id;
  segment.inputs = std::move(inputs);
  const SegmentId id = add_segment(std::move(segment));
  if (segments_[static_cast<size_t>(id)].graph != graph_id) erase_graph(graph_id);
  return id;
}

SegmentId Module::make_parameter(TypeId type_id, uint32_t index) {
  Segment segment;
  segment.kind = SegmentKind::kParameter;
  segment.type = type_id;
  segment.size = type(type_id).dense_bytes().value_or(0);
  segment.digest = sha256(fmt::format("parameter {}", index));
  segment.parameter = index;
  return add_segment(std::move(segment));
}

Result<std::span<const std::byte>> Module::bytes(SegmentId id) const {
  const Segment& wanted = segment(id);
  if (wanted.kind == SegmentKind::kSmall) return std::span<const std::byte>(wanted.data);
  if (wanted.kind != SegmentKind::kBytes || wanted.location.where == Where::kNone) {
    return make_error(ErrorCode::kMissingSegment, "the bytes of constant sha256:{} are not at hand",
                      digest_hex(wanted.digest).substr(0, 16))
        .with_hint(
            "the graph was made from text, which has only digests of large constants: sluice as "
            "TEXT --with FILE.sg takes their bytes "
            "from the graph file that the text was printed from");
  }
  if (wanted.location.where == Where::kHere) return wanted.location.bytes;
  if (wanted.location.path.empty()) {
    return make_error(ErrorCode::kMissingSegment, "constant sha256:{} lies in a store",
                      digest_hex(wanted.digest).substr(0, 16))
        .with_hint("give the folder that the graph was written with: --store DIR");
  }
  const bool in_store = wanted.location.where == Where::kStore;
  if (in_store && is_no_entry(wanted.location.path)) {
    return make_error(ErrorCode::kMissingSegment, "'{}' in the store is no regular file",
                      wanted.location.path)
        .with_hint("delete it");
  }
  const std::lock_guard lock(files_->mutex);
  auto found = files_->maps.find(wanted.location.path);
  if (found == files_->maps.end()) {
    auto map = MappedFile::open(wanted.location.path);
    if (!map && map.error().code == ErrorCode::kLimit) return std::move(map).error();
    if (!map) {
      return make_error(ErrorCode::kMissingSegment, "{}", map.error().message)
          .with_hint(in_store ? "is --store the folder that the graph was written with?"
                              : "if the model file moved, give its new place with --model FILE "
                                "(sluice compile, eval, verify, diff, and every stage)");
    }
    // Whoever shares a store can damage it: its bytes are compared when they are read first.
    if (in_store && sha256(map->bytes()) != wanted.digest) return changed_file(wanted);
    found = files_->maps.emplace(wanted.location.path, std::move(map).value()).first;
  }
  const MappedFile& map = found->second;
  if (wanted.location.offset > map.bytes().size() ||
      wanted.size > map.bytes().size() - wanted.location.offset ||
      (wanted.location.mtime_ns != 0 && wanted.location.mtime_ns != map.mtime_ns()))
    return changed_file(wanted);
  return map.bytes().subspan(wanted.location.offset, wanted.size);
}

KernelId Module::add_kernel(const Kernel& kernel) {
  const auto found = std::find(kernels_.begin(), kernels_.end(), kernel);
  if (found != kernels_.end()) return static_cast<KernelId>(found - kernels_.begin());
  kernels_.push_back(kernel);
  return static_cast<KernelId>(kernels_.size() - 1);
}

uint32_t Module::add_onnx_node(std::string_view name) {
  const auto found = onnx_node_index_.find(name);
  if (found != onnx_node_index_.end()) return found->second;
  onnx_nodes_.emplace_back(name);
  const auto index = static_cast<uint32_t>(onnx_nodes_.size() - 1);
  onnx_node_index_.emplace(name, index);
  return index;
}

}  // namespace sluice
