#include "common/passes_host/pass_rows.h"

#include <algorithm>

#include "common/passes_host/pass_hosts.h"

namespace sluice {
namespace {

constexpr const char* kKinds[] = {"program", "Python", "plugin"};

}  // namespace

struct PassRows::Entry {
  PassFile file;
  std::string sentence;
  std::function<Result<bool>(Module& module, std::vector<RuleCount>& counts)> run;

  Pass pass() const {
    return {file.option.name, sentence, nullptr, PassLevel::kO0, {}, {file.digest, &run}};
  }
};

PassRows::PassRows() = default;
PassRows::PassRows(PassRows&&) noexcept = default;
PassRows::~PassRows() = default;

Result<PassRows> PassRows::load(std::span<const Pass> table, StageId stage,
                                const Options& options) {
  PassRows rows;
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(table, name, &Pass::name) != table.end() ||
           std::ranges::any_of(rows.entries_,
                               [&](const auto& entry) { return entry->file.option.name == name; });
  };
  for (const std::string& value : options.list("pass", ';')) {
    SLUICE_ASSIGN(const PassOption option, parse_pass_option(value));
    if (option.point->stage != stage_name(stage)) continue;
    if (is_taken(option.name)) {
      return make_error(ErrorCode::kBadOption, "sluice-{} has two passes called '{}'",
                        stage_name(stage), option.name)
          .with_hint("their rows are named by the files: give one another name");
    }
    if (!rows.hosts_) {
      SLUICE_ASSIGN(PassHosts hosts, PassHosts::make(options));
      rows.hosts_ = std::make_unique<PassHosts>(std::move(hosts));
    }
    auto entry = std::make_unique<Entry>();
    SLUICE_ASSIGN(entry->file, rows.hosts_->add(value));
    entry->sentence = fmt::format("{} of {}", kKinds[static_cast<size_t>(entry->file.kind)],
                                  entry->file.option.path);
    entry->run = [hosts = rows.hosts_.get(), own = entry.get()](Module& module,
                                                                std::vector<RuleCount>& counts) {
      return hosts->run(own->file, module, counts);
    };
    rows.entries_.push_back(std::move(entry));
  }
  const auto add = [&](std::string_view pass, bool is_before) {
    for (const auto& entry : rows.entries_) {
      const PassPoint& point = *entry->file.option.point;
      if (point.pass == pass && point.is_before == is_before) rows.passes_.push_back(entry->pass());
    }
  };
  std::string_view last;  // of the table's own rows: those of rules follow it
  for (const Pass& pass : table) {
    if (pass.rules.digest.empty()) {
      add(last, false);
      add(pass.name, true);
      last = pass.name;
    }
    rows.passes_.push_back(pass);
  }
  add(last, false);
  return rows;
}

}  // namespace sluice
