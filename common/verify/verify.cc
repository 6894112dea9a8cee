#include "common/verify/verify.h"

#include "common/verify/findings.h"

namespace sluice {

using verifying::Findings;

Result<void> verify(const Module& module, Level level) {
  if (!module.has_graph(0)) return make_error(ErrorCode::kVerifyFailed, "the module has no graph");
  Findings findings;
  verifying::check_typed(module, findings);
  if (level == Level::kTyped && module.root().engine != EngineId::kNone) {
    findings.add("{} is given to an engine, which is for subgraphs",
                 verifying::graph_label(module.root()));
  }
  if (level >= Level::kPartitioned) verifying::check_partitioned(module, findings);
  if (level >= Level::kLowered) verifying::check_lowered(module, findings);
  verifying::check_schedule(module, level, findings);
  return findings.result(fmt::format("the graph is not {}", level_name(level)));
}

Result<void> verify_segments(const Module& module) {
  Findings findings;
  for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
    const Segment& segment = module.segment(id);
    const bool has_bytes =
        segment.kind == SegmentKind::kSmall ||
        (segment.kind == SegmentKind::kBytes && segment.location.where != Where::kNone);
    if (!has_bytes) continue;
    const auto bytes = module.bytes(id);
    const bool is_damaged = !bytes && bytes.error().code == ErrorCode::kBadFile;
    if (!bytes && !is_damaged) return bytes.error();
    if (is_damaged || bytes->size() != segment.size || sha256(*bytes) != segment.digest) {
      findings.add("constant sha256:{}… has other bytes than its digest says",
                   digest_hex(segment.digest).substr(0, 16));
    }
  }
  return findings.result("damaged constants");
}

}  // namespace sluice
