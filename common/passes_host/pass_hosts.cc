#include "common/passes_host/pass_hosts.h"

#include <filesystem>
#include <set>

#include "common/base/log.h"
#include "common/graphfile/graphfile.h"
#include "common/passes_host/take_graph.h"

namespace sluice {
namespace {

constexpr int64_t kMaxLimit = int64_t{1} << 60;

// Returns the folders of the files that hold constants of the module.
std::set<std::string> constant_folders(const Module& module) {
  std::set<std::string> folders;
  for (SegmentId id = 0; static_cast<size_t>(id) < module.segment_count(); ++id) {
    const Location& place = module.segment(id).location;
    if (place.where == Where::kFile)
      folders.insert(std::filesystem::path(place.path).parent_path().string());
  }
  return folders;
}

// An error of a pass is no bug of ours, whatever it calls itself.
Error of_user(Error error) {
  const ExitClass exit = exit_class(error.code);
  const bool is_plausible = exit == ExitClass::kBadInput || exit == ExitClass::kResource ||
                            exit == ExitClass::kUnsupported;
  if (!is_plausible) error.code = ErrorCode::kPassFailed;
  return error;
}

// A graph that the import is about is one that stops half-way: its values may have no types.
class MarkedImport {
 public:
  MarkedImport(Module& module, const std::string& pass) : module_(module) {
    is_marked_ = module.last_stage == StageId::kNone && !module.is_mid_stage();
    if (!is_marked_) return;
    module.passes = {"import-model", pass};
    module.passes_done = 1;
  }
  MarkedImport(const MarkedImport&) = delete;
  MarkedImport& operator=(const MarkedImport&) = delete;
  ~MarkedImport() {
    if (!is_marked_) return;
    module_.passes.clear();
    module_.passes_done = 0;
  }

 private:
  Module& module_;
  bool is_marked_ = false;
};

}  // namespace

Result<PassHosts> PassHosts::make(const Options& options) {
  PassHosts hosts;
  SLUICE_ASSIGN(const int64_t seconds, options.integer("pass-seconds", 1, kMaxLimit));
  SLUICE_ASSIGN(const int64_t memory, options.integer("pass-memory", 1, kMaxLimit));
  hosts.seconds_ = static_cast<uint64_t>(seconds);
  hosts.memory_bytes_ = static_cast<uint64_t>(memory);
  hosts.store_ = options.text("store");
  if (const std::string inherited = options.text("pass-host"); !inherited.empty()) {
    SLUICE_ASSIGN(hosts.inherited_, parse_inherited(inherited));
  }
  return hosts;
}

Result<PassFile> PassHosts::add(const std::string& option) {
  PassFile pass;
  SLUICE_ASSIGN(pass.option, parse_pass_option(option));
  const bool is_known = inherited_ && inherited_->digests.contains(pass.option.name);
  if (is_known) {
    SLUICE_ASSIGN(pass.kind, pass_kind(pass.option.path));
    pass.digest = inherited_->digests.at(pass.option.name);
  } else {
    SLUICE_ASSIGN(pass, read_pass_file(option));
  }
  (pass.kind == PassKind::kProgram ? programs_ : code_).push_back(pass.option.path);
  return pass;
}

Result<PassHost*> PassHosts::host_of(PassKind kind, const Module& module) {
  const bool is_program = kind == PassKind::kProgram;
  std::optional<PassHost>& host = is_program ? program_host_ : code_host_;
  if (host) return &*host;
  if (inherited_) {
    const int to = is_program ? inherited_->programs_to : inherited_->code_to;
    const int from = is_program ? inherited_->programs_from : inherited_->code_from;
    host.emplace(Descriptor(to), Descriptor(from));
    return &*host;
  }
  const std::set<std::string> folders = constant_folders(module);
  PassLimits limits{memory_bytes_, {folders.begin(), folders.end()}};
  if (!store_.empty()) limits.readable.push_back(store_);
  SLUICE_ASSIGN(PassHost started, PassHost::start(is_program ? programs_ : code_, limits));
  host.emplace(std::move(started));
  return &*host;
}

Result<bool> PassHosts::ask(const PassFile& pass, Module& module, std::vector<RuleCount>& counts) {
  const MarkedImport marked(module, pass.option.name);
  SLUICE_ASSIGN(const std::vector<std::byte> sent, graph_bytes(module));
  SLUICE_ASSIGN(PassHost * host, host_of(pass.kind, module));
  const PassRequest request{.file = pass.option.path,
                            .point = std::string(pass.option.point->name),
                            .has_types = pass.option.point->has_types};
  SLUICE_ASSIGN(AnsweredPass answered, host->ask(request, sent, seconds_, memory_bytes_));
  counts = std::move(answered.answer.counts);
  for (const std::string& note : answered.answer.notes) log_line(pass.option.name, "note", note);
  if (!answered.answer.changed) return false;
  return take_graph(module, sent, std::move(answered.graph));
}

Result<bool> PassHosts::run(const PassFile& pass, Module& module, std::vector<RuleCount>& counts) {
  auto ran = ask(pass, module, counts);
  if (ran) return ran;
  return of_user(std::move(ran).error()).within(fmt::format("at {}", pass.option.point->name));
}

}  // namespace sluice
