#include "common/passes_host/take_graph.h"

#include <algorithm>
#include <map>

#include "common/graphfile/graphfile.h"
#include "common/ir/clone.h"
#include "common/text/text.h"
#include "common/verify/verify.h"

namespace sluice {
namespace {

Error wrong_graph(const std::string& why) { return make_error(ErrorCode::kPassFailed, "{}", why); }

Result<Module> read(std::vector<std::byte> made) {
  if (made.empty()) return wrong_graph("wrote nothing where a graph should be");
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(made));
  auto module = read_graph(bytes, {});
  if (module) return module;
  const Error& error = module.error();
  if (!error.reported_by.empty())
    return wrong_graph(fmt::format("{} in it has failed", error.reported_by));
  return wrong_graph(fmt::format("wrote what is no whole graph: {}", error.message));
}

void keep_places(const Module& from, Module& to) {
  std::map<Digest, const Location*> places;
  for (SegmentId id = 0; static_cast<size_t>(id) < from.segment_count(); ++id) {
    const Segment& segment = from.segment(id);
    if (segment.kind == SegmentKind::kBytes && segment.location.where != Where::kNone)
      places.emplace(segment.digest, &segment.location);
  }
  for (SegmentId id = 0; static_cast<size_t>(id) < to.segment_count(); ++id) {
    Segment& segment = to.segment(id);
    const auto place = places.find(segment.digest);
    if (segment.kind == SegmentKind::kBytes && place != places.end())
      segment.location = *place->second;
  }
}

void keep_facts(Module& from, Module& to) {
  ModuleMapper mapper(from, to);
  for (const auto& [output, type] : from.declared_outputs)
    to.declared_outputs.emplace(output, mapper.type(type));
  to.last_stage = from.last_stage;
  to.passes = from.passes;
  to.passes_done = from.passes_done;
  to.options = from.options;
  to.made_from = from.made_from;
  to.producer = from.producer;
  to.source = from.source;
}

// Returns "an input 'x' of type f32[1, 3]".
std::string described(const Module& module, const Value& value, const char* kind) {
  return fmt::format("{} '{}' of type {}", kind, value.name(), print_type(module, value.type_id()));
}

Result<void> check_same(const Module& before, const Module& after, std::span<Value* const> old,
                        std::span<Value* const> now, const char* kind) {
  for (size_t i = 0; i < std::max(old.size(), now.size()); ++i) {
    const std::string was = i < old.size() ? described(before, *old[i], kind) : "nothing";
    const std::string is = i < now.size() ? described(after, *now[i], kind) : "nothing";
    if (was == is) continue;
    return wrong_graph(fmt::format("{} {} of the model was {}, and is {} now", kind, i, was, is));
  }
  return {};
}

}  // namespace

Result<bool> take_graph(Module& module, const std::vector<std::byte>& sent,
                        std::vector<std::byte> made) {
  SLUICE_ASSIGN(Module taken, read(std::move(made)));
  if (taken.level != module.level) {
    return wrong_graph(fmt::format("made a graph of level '{}' of one of level '{}'",
                                   level_name(taken.level), level_name(module.level)));
  }
  keep_places(module, taken);
  keep_facts(module, taken);
  const Graph &before = module.root(), &after = taken.root();
  SLUICE_TRY(check_same(module, taken, before.inputs(), after.inputs(), "input"));
  SLUICE_TRY(check_same(module, taken, before.outputs(), after.outputs(), "output"));
  if (auto verified = verify(taken, taken.level); !verified) {
    return wrong_graph(
        fmt::format("made a graph that does not verify: {}", verified.error().message));
  }
  SLUICE_ASSIGN(const std::vector<std::byte> again, graph_bytes(taken));
  if (again == sent) return false;
  taken.warnings = std::move(module.warnings);
  module = std::move(taken);
  return true;
}

}  // namespace sluice
