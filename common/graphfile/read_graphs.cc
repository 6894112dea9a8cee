#include "common/base/work.h"
#include "common/graphfile/reader.h"
#include "common/ir/engine_fault.h"

namespace sluice::graphfile {
namespace {

using Facts = flatbuffers::Vector<const fb::ValueFact*>;

class GraphReader {
 public:
  GraphReader(const fb::File& file, const FileTables& tables, Module& module, Budget& budget,
              Budget& names_budget)
      : file_(file),
        tables_(tables),
        module_(module),
        budget_(budget),
        names_budget_(names_budget),
        text_budget_(0) {}

  Result<void> read(const fb::Names& names) {
    SLUICE_ASSIGN(const auto op_names, texts_of(file_.op_names(), budget_));
    for (const std::string_view name : op_names) {
      const auto op = op_from_name(name);
      if (!op)
        return make_error(ErrorCode::kBadFile,
                          "the graph file uses the op '{}', which this release does not know",
                          name);
      ops_.push_back(*op);
    }
    SLUICE_ASSIGN(attribute_names_, texts_of(file_.attribute_names(), budget_));
    SLUICE_ASSIGN(strings_, texts_of(file_.strings(), budget_));
    engines_.assign(strings_.size(), EngineId::kNone);
    if (file_.strings() != nullptr)
      text_budget_ = Budget(kTextReuse * (size_of(file_.strings()->bytes()) + (1 << 16)));
    SLUICE_ASSIGN(const auto onnx_nodes, texts_of(names.onnx_nodes(), names_budget_));
    for (const std::string_view name : onnx_nodes) origins_.push_back(module_.add_onnx_node(name));
    if (size_of(names.graphs()) != size_of(file_.graphs()))
      return bad_file("graphs and their names differ in number");
    for (GraphId id = 0; id < module_.graph_limit(); ++id) {
      const auto index = static_cast<uint32_t>(id);
      auto done =
          read_graph(*file_.graphs()->Get(index), *names.graphs()->Get(index), module_.graph(id));
      if (!done) return done;
    }
    return check_symbols();
  }

 private:
  // The average number of times that an attribute's text may be used.
  static constexpr uint64_t kTextReuse = 4096;

  Result<void> read_graph(const fb::Graph& row, const fb::GraphNames& names, Graph& graph) {
    const size_t value_count = size_of(row.types());
    const size_t node_count = size_of(row.nodes());
    SLUICE_TRY(budget_.charge(value_count + node_count, 4));
    SLUICE_ASSIGN(graph.engine, engine(row.engine_name()));
    SLUICE_ASSIGN(const auto value_names, texts_of(names.values(), names_budget_));
    SLUICE_ASSIGN(const auto node_names, texts_of(names.nodes(), names_budget_));
    if (value_names.size() != value_count || node_names.size() != node_count) {
      return bad_file("graph {} has {} values with {} names and {} nodes with {} names", graph.id(),
                      value_count, value_names.size(), node_count, node_names.size());
    }
    uint64_t results = 0;
    for (size_t i = 0; i < node_count; ++i)
      results += row.nodes()->Get(static_cast<uint32_t>(i))->outputs();
    const uint64_t inputs = row.inputs();
    if (inputs + results > value_count || row.captures() > inputs) {
      return bad_file("graph {} has {} values for {} inputs and {} results", graph.id(),
                      value_count, inputs, results);
    }
    SLUICE_TRY(add_sources(row, value_names, inputs, value_count - results, graph));
    for (size_t i = 0; i < node_count; ++i) {
      SLUICE_TRY(add_node(*row.nodes()->Get(static_cast<uint32_t>(i)), node_names[i], *row.types(),
                          value_names, graph));
    }
    SLUICE_TRY(add_facts(row, graph));
    SLUICE_TRY(read_schedule(row, strings_, tables_, graph, budget_, text_budget_));
    SLUICE_TRY(add_notes(names, graph));
    return add_origins(names, graph);
  }

  Result<TypeId> type(uint32_t id) const {
    if (id >= tables_.types.size())
      return bad_file("type {} is named, expected one of {}", id, tables_.types.size());
    return tables_.types[id];
  }

  // Adds inputs and constants: the values before the first result.
  Result<void> add_sources(const fb::Graph& row, const std::vector<std::string_view>& names,
                           uint64_t inputs, uint64_t end, Graph& graph) {
    for (uint64_t i = 0; i < inputs; ++i) {
      SLUICE_ASSIGN(const TypeId id, type(row.types()->Get(static_cast<uint32_t>(i))));
      graph.add_input(id, std::string(names[i]));
    }
    const Facts* segments = row.segments();
    SLUICE_TRY(budget_.charge(size_of(segments), sizeof(fb::ValueFact)));
    size_t next = 0;
    for (uint64_t i = inputs; i < end; ++i) {
      while (next < size_of(segments) && segments->Get(static_cast<uint32_t>(next))->value() < i)
        ++next;
      const fb::ValueFact* fact =
          next < size_of(segments) ? segments->Get(static_cast<uint32_t>(next)) : nullptr;
      if (fact == nullptr || fact->value() != i || fact->id() >= tables_.segments.size()) {
        return bad_file("value {} of graph {} is neither input, constant nor result", i,
                        graph.id());
      }
      SLUICE_ASSIGN(const TypeId id, type(row.types()->Get(static_cast<uint32_t>(i))));
      graph.add_constant(tables_.segments[fact->id()], std::string(names[i])).set_type(id);
    }
    return {};
  }

  Result<void> add_facts(const fb::Graph& row, Graph& graph) {
    SLUICE_TRY(budget_.charge(size_of(row.storages()), sizeof(fb::ValueFact)));
    SLUICE_TRY(budget_.charge(size_of(row.outputs()), 4));
    for (size_t i = 0; i < size_of(row.segments()); ++i) {
      const fb::ValueFact& fact = *row.segments()->Get(static_cast<uint32_t>(i));
      if (fact.value() >= graph.value_limit() || fact.id() >= tables_.segments.size())
        return bad_file("a constant has no value");
      graph.values()[fact.value()].set_segment(tables_.segments[fact.id()]);
    }
    for (size_t i = 0; i < size_of(row.storages()); ++i) {
      const fb::ValueFact& fact = *row.storages()->Get(static_cast<uint32_t>(i));
      if (fact.value() >= graph.value_limit() || fact.id() >= tables_.storages.size())
        return bad_file("a storage has no value");
      graph.values()[fact.value()].set_storage(tables_.storages[fact.id()]);
    }
    for (size_t i = 0; i < size_of(row.outputs()); ++i) {
      const uint32_t output = row.outputs()->Get(static_cast<uint32_t>(i));
      if (output >= graph.value_limit())
        return bad_file("graph {} has output {}", graph.id(), output);
      graph.add_output(graph.values()[output]);
    }
    return {};
  }

  Result<void> add_node(const fb::Node& row, std::string_view name,
                        const flatbuffers::Vector<uint32_t>& types,
                        const std::vector<std::string_view>& names, Graph& graph) {
    if (row.op() >= ops_.size()) return bad_file("a node has op {}", row.op());
    SLUICE_TRY(budget_.charge(size_of(row.inputs()), 4));
    inputs_.clear();
    for (size_t i = 0; i < size_of(row.inputs()); ++i) {
      const int32_t input = row.inputs()->Get(static_cast<uint32_t>(i));
      if (input < -1 || input >= static_cast<int64_t>(graph.value_limit())) {
        return bad_file("node {} of graph {} reads value {} before it is there", graph.node_count(),
                        graph.id(), input);
      }
      inputs_.push_back(input < 0 ? nullptr : &graph.values()[static_cast<size_t>(input)]);
    }
    Node& node = graph.add_node(ops_[row.op()], inputs_, 0);
    for (uint32_t i = 0; i < row.outputs(); ++i) {
      const auto next = static_cast<uint32_t>(graph.value_limit());
      SLUICE_ASSIGN(const TypeId id, type(types.Get(next)));
      node.add_output(id, std::string(names[next]));
    }
    node.set_name(std::string(name));
    nodes_.resize(static_cast<size_t>(node.id()));
    SLUICE_TRY(add_after(row, node));
    nodes_.push_back(&node);
    for (size_t i = 0; i < size_of(row.attributes()); ++i)
      SLUICE_TRY(add_attribute(*row.attributes()->Get(static_cast<uint32_t>(i)), node));
    return row.placement() == nullptr ? Result<void>() : add_placement(*row.placement(), node);
  }

  Result<void> add_after(const fb::Node& row, Node& node) {
    SLUICE_TRY(budget_.charge(size_of(row.after()), 4));
    for (size_t i = 0; i < size_of(row.after()); ++i) {
      const uint32_t before = row.after()->Get(static_cast<uint32_t>(i));
      if (before >= nodes_.size() ||
          (i > 0 && before <= row.after()->Get(static_cast<uint32_t>(i - 1)))) {
        return bad_file("node {} runs after node {}", node.id(), before);
      }
      node.add_after(*nodes_[before]);
    }
    return {};
  }

  Result<void> add_placement(const fb::Placement& row, Node& node) {
    const bool kernel_fits =
        row.kernel() >= -1 && row.kernel() < static_cast<int64_t>(tables_.kernels.size());
    const auto is_text = [&](int32_t id) {
      return id >= -1 && id < static_cast<int64_t>(strings_.size());
    };
    const bool precision_fits = row.precision() <= static_cast<uint8_t>(Precision::kBF16);
    if (!kernel_fits || !is_text(row.stream_label()) || !is_text(row.super_kernel_scope()) ||
        !is_text(row.memory_class()) || !is_text(row.layouts()) || !precision_fits)
      return bad_file("the placement of node {} makes no sense", node.id());
    Placement& placement = node.placement;
    SLUICE_ASSIGN(placement.engine, engine(row.engine_name()));
    if (row.kernel() >= 0) placement.kernel = tables_.kernels[static_cast<size_t>(row.kernel())];
    const std::pair<int32_t, std::string*> texts[] = {
        {row.stream_label(), &placement.stream_label.text},
        {row.super_kernel_scope(), &placement.super_kernel_scope},
        {row.memory_class(), &placement.memory_class},
        {row.layouts(), &placement.layouts}};
    for (const auto& [id, text] : texts) {
      if (id < 0) continue;
      SLUICE_ASSIGN(*text, string(id));
    }
    placement.stage_level = row.stage_level();
    placement.parallel_group = row.parallel_group();
    placement.precision = static_cast<Precision>(row.precision());
    placement.no_task = row.no_task();
    placement.keep = row.keep();
    placement.no_fold = row.no_fold();
    placement.stream = row.stream();
    placement.stream_label.is_chosen = row.is_stream_chosen();
    SLUICE_TRY(add_waits(row, node));
    SLUICE_TRY(budget_.charge(size_of(row.records()), sizeof(uint32_t)));
    if (row.records() != nullptr)
      placement.records.assign(row.records()->begin(), row.records()->end());
    placement.complete_after = row.complete_after();
    return {};
  }

  Result<void> add_waits(const fb::Placement& row, Node& node) {
    SLUICE_TRY(budget_.charge(size_of(row.waits()), sizeof(EventWait)));
    const uint32_t records = size_of(row.wait_records());
    if (records > 0 && records != size_of(row.waits()))
      return bad_file("node {} has {} waits, and records of {}", node.id(), size_of(row.waits()),
                      records);
    for (uint32_t i = 0; i < size_of(row.waits()); ++i) {
      node.placement.waits.push_back(
          {row.waits()->Get(i), records > 0 ? row.wait_records()->Get(i) : 1});
    }
    return {};
  }

  // Remembers the engine of each text: nodes are many, engines are few.
  Result<EngineId> engine(int32_t id) {
    if (id == -1) return EngineId::kNone;
    if (id < 0 || static_cast<size_t>(id) >= strings_.size())
      return bad_file("text {} is no engine's name", id);
    EngineId& engine = engines_[static_cast<size_t>(id)];
    if (engine != EngineId::kNone) return engine;
    const std::string_view name = strings_[static_cast<size_t>(id)];
    engine = intern_engine(name);
    if (engine == EngineId::kNone)
      return make_error(ErrorCode::kBadFile, "the graph file names the engine '{}', {}", name,
                        engine_fault(name));
    return engine;
  }

  Result<std::string> string(int64_t id) {
    if (id < 0 || static_cast<uint64_t>(id) >= strings_.size())
      return bad_file("text {} is named, expected one of {}", id, strings_.size());
    const std::string_view text = strings_[static_cast<size_t>(id)];
    SLUICE_TRY(text_budget_.charge(text.size(), 1));
    return std::string(text);
  }

  Result<GraphRef> body(int64_t id) const {
    if (id < 0 || id >= module_.graph_limit())
      return bad_file("graph {} is named, expected one of {}", id, module_.graph_limit());
    const GraphRole role = module_.graph(static_cast<GraphId>(id)).role;
    const bool fits = id != 0 && role != GraphRole::kRoot && role != GraphRole::kExpression &&
                      module_.graph(static_cast<GraphId>(id)).owner() == nullptr;
    if (!fits) return bad_file("graph {} is named, which is no body of its own", id);
    return GraphRef{static_cast<GraphId>(id)};
  }

  // Checks that `count` values from the attribute's first are in the pool of its kind.
  static Result<void> check_pool(const fb::Attribute& row, uint64_t count, std::string_view pool,
                                 size_t size) {
    const uint64_t end = row.first() + count;
    if (end <= size) return {};
    return bad_file("its values are at [{}, {}) of the file's {}, expected in [0, {})", row.first(),
                    end, pool, size);
  }

  // Returns `count` elements of the pool of ints.
  Result<std::vector<int64_t>> ints(const fb::Attribute& row) {
    SLUICE_TRY(check_pool(row, row.count(), "ints", size_of(file_.ints())));
    SLUICE_TRY(budget_.charge(row.count(), sizeof(int64_t)));
    if (row.count() == 0) return std::vector<int64_t>();
    const auto first = file_.ints()->begin() + row.first();
    return std::vector<int64_t>(first, first + row.count());
  }

  Result<std::vector<float>> floats(const fb::Attribute& row) {
    SLUICE_TRY(check_pool(row, row.count(), "floats", size_of(file_.floats())));
    SLUICE_TRY(budget_.charge(row.count(), sizeof(float)));
    if (row.count() == 0) return std::vector<float>();
    const auto first = file_.floats()->begin() + row.first();
    return std::vector<float>(first, first + row.count());
  }

  Result<AttributeValue> attribute(const fb::Attribute& row) {
    using Kind = fb::AttributeKind;
    switch (row.kind()) {
      case Kind::int_:
        SLUICE_TRY(check_pool(row, 1, "ints", size_of(file_.ints())));
        return AttributeValue(file_.ints()->Get(row.first()));
      case Kind::float_:
        SLUICE_TRY(check_pool(row, 1, "floats", size_of(file_.floats())));
        return AttributeValue(file_.floats()->Get(row.first()));
      case Kind::string_: {
        SLUICE_ASSIGN(std::string text, string(row.first()));
        return AttributeValue(std::move(text));
      }
      case Kind::ints: {
        SLUICE_ASSIGN(std::vector<int64_t> values, ints(row));
        return AttributeValue(std::move(values));
      }
      case Kind::floats: {
        SLUICE_ASSIGN(std::vector<float> values, floats(row));
        return AttributeValue(std::move(values));
      }
      case Kind::strings: {
        SLUICE_ASSIGN(const std::vector<int64_t> ids, ints(row));
        std::vector<std::string> values;
        for (const int64_t id : ids) {
          SLUICE_ASSIGN(std::string text, string(id));
          values.push_back(std::move(text));
        }
        return AttributeValue(std::move(values));
      }
      case Kind::type: {
        SLUICE_ASSIGN(const TypeId id, type(row.first()));
        return AttributeValue(TypeRef{id});
      }
      case Kind::segment:
        if (row.first() >= tables_.segments.size())
          return bad_file("constant {} is named, expected one of {}", row.first(),
                          tables_.segments.size());
        return AttributeValue(SegmentRef{tables_.segments[row.first()]});
      case Kind::graph: {
        SLUICE_ASSIGN(const GraphRef ref, body(row.first()));
        return AttributeValue(ref);
      }
      case Kind::graphs: {
        SLUICE_ASSIGN(const std::vector<int64_t> ids, ints(row));
        std::vector<GraphRef> refs;
        for (const int64_t id : ids) {
          SLUICE_ASSIGN(const GraphRef ref, body(id));
          for (const GraphRef other : refs) {
            if (other == ref) return bad_file("graph {} is named twice", id);
          }
          refs.push_back(ref);
        }
        return AttributeValue(std::move(refs));
      }
    }
    return bad_file("its kind is {}, expected at most {}", static_cast<int>(row.kind()),
                    static_cast<int>(Kind::MAX));
  }

  Result<void> add_attribute(const fb::Attribute& row, Node& node) {
    SLUICE_TRY(budget_.charge(1, sizeof(fb::Attribute)));
    if (row.name() >= attribute_names_.size())
      return bad_file("an attribute has name {}", row.name());
    const std::string_view name = attribute_names_[row.name()];
    if (!node.attributes().empty() && node.attributes().back().name >= name)
      return bad_file("attributes of {} are not sorted", node.label());
    auto value = attribute(row);
    if (!value) {
      return std::move(value).error().within(
          fmt::format("graph '{}': {}: attribute '{}'", node.graph().name(), node.label(), name));
    }
    node.set_attribute(name, *std::move(value));
    return {};
  }

  Result<void> add_notes(const fb::GraphNames& names, Graph& graph) {
    if (names.notes() == nullptr) return {};
    SLUICE_ASSIGN(const auto notes, texts_of(names.notes(), names_budget_));
    graph.notes.assign(notes.begin(), notes.end());
    return {};
  }

  Result<void> add_origins(const fb::GraphNames& names, Graph& graph) {
    if (size_of(names.origin_ends()) == 0) return {};
    if (size_of(names.origin_ends()) != graph.node_count())
      return bad_file("nodes and their origins differ in number");
    SLUICE_TRY(names_budget_.charge(size_of(names.origins()) + graph.node_count(), 4));
    uint32_t first = 0, index = 0;
    add_work(Work::kNodeVisits, graph.node_count());
    for (Node& node : graph.nodes()) {
      const uint32_t end = names.origin_ends()->Get(index++);
      if (end < first || end > size_of(names.origins()))
        return bad_file("the origins of {} make no sense", node.label());
      std::vector<uint32_t> origins;
      for (uint32_t i = first; i < end; ++i) {
        const uint32_t origin = names.origins()->Get(i);
        if (origin >= origins_.size() || (i > first && origins_[origin] <= origins.back()))
          return bad_file("origin {} is out of order", origin);
        origins.push_back(origins_[origin]);
      }
      node.add_origins(origins);
      first = end;
    }
    return {};
  }

  Result<void> check_symbols() const {
    for (size_t i = 0; i < module_.expressions.symbol_count(); ++i) {
      const Symbol& symbol = module_.expressions.symbol(static_cast<SymbolId>(i));
      if (symbol.graph < 0) continue;
      const auto limit = static_cast<int64_t>(module_.graph(symbol.graph).value_limit());
      if (symbol.value < 0 || symbol.value >= limit)
        return bad_file("symbol '{}' is read from value {}", symbol.name, symbol.value);
    }
    return {};
  }

  const fb::File& file_;
  const FileTables& tables_;
  Module& module_;
  Budget& budget_;
  Budget& names_budget_;
  Budget text_budget_;
  std::vector<Op> ops_;
  std::vector<std::string_view> attribute_names_;
  std::vector<std::string_view> strings_;
  std::vector<EngineId> engines_;  // by text; none: not read yet
  std::vector<uint32_t> origins_;
  std::vector<Value*> inputs_;  // of the current node
  std::vector<Node*> nodes_;    // of the current graph
};

}  // namespace

Result<void> read_graphs(const fb::File& file, const fb::Names& names, const FileTables& tables,
                         Module& module, Budget& budget, Budget& names_budget) {
  return GraphReader(file, tables, module, budget, names_budget).read(names);
}

}  // namespace sluice::graphfile
