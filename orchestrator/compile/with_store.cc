#include "orchestrator/compile/with_store.h"

#include <algorithm>
#include <filesystem>

#include "common/base/files.h"
#include "common/base/scratch_folder.h"
#include "common/base/store.h"
#include "common/graphfile/header.h"
#include "common/store/store_pins.h"
#include "orchestrator/compile/files.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/plan/kernel_job.h"
#include "orchestrator/plan/stage_job.h"

namespace sluice {
namespace {

constexpr size_t kBuild = kStageNames.size() - 1, kSubgraphOptimize = kBuild - 1;

// The product of a stage: a file, or an artifact of the store that has not been fetched.
struct Product {
  std::string file;  // empty while it is only in the store
  Digest artifact;
  Digest graph;                // file digest of a graph
  bool is_of_earlier = false;  // of an earlier compile, whose model may have been elsewhere
};

Result<Digest> graph_digest(const std::string& file) {
  SLUICE_ASSIGN(const MappedFile map, MappedFile::open(file));
  SLUICE_ASSIGN(const GraphHeader header, parse_graph_header(map.bytes()));
  return header.file_digest;
}

std::string file_of(const StoredWork& work, size_t stage) {
  return fmt::format("{}/{}.sg", work.folder, work.stages[stage].name);
}

void note_bytes(const std::string& file, StageReport& report) {
  std::error_code failed;
  const uint64_t bytes = std::filesystem::file_size(file, failed);
  if (!failed) report.bytes = bytes;
}

class StoredStages {
 public:
  StoredStages(const StoredWork& work, const ImportedGraph& graph, Store& store, OutputFile& output,
               const StageDone& done)
      : work_(work),
        imported_{graph.file, graph.artifact, graph.graph, graph.file.empty()},
        store_(store),
        output_(output),
        done_(done),
        pins_(store.path()) {}

  // A product of the store that turns out to be lost or unfit is no reason to fail: then every
  // stage runs.
  Result<bool> run() {
    SLUICE_ASSIGN(const bool succeeded, run_all());
    if (succeeded) return true;
    if (found_any_ && !interrupted()) {
      uses_found_ = false;
      SLUICE_ASSIGN(const bool succeeded_now, run_all());
      if (succeeded_now) return true;
    }
    if (failure_) done_(failed_stage_, *failure_);
    return false;
  }

 private:
  Result<bool> run_all() {
    Product product = imported_;
    for (size_t i = 1; i <= kBuild; ++i) {
      SLUICE_ASSIGN(const bool succeeded, make(i, product));
      if (!succeeded) return false;
    }
    return true;
  }

  // Returns whether the stage succeeded; a failure is reported when nothing else can be tried.
  bool take_report(size_t i, StageReport report) {
    if (report.ending.clean()) {
      done_(i, report);
      return true;
    }
    failed_stage_ = i;
    failure_ = std::move(report);
    return false;
  }

  // Finds or makes the product of a stage from that of the stage before it.
  Result<bool> make(size_t i, Product& product) {
    SLUICE_ASSIGN(Fields fields, fields_of({.stage = work_.stages[i].name,
                                            .program = work_.stages[i].program,
                                            .options = work_.arguments[i],
                                            .profile = work_.profile,
                                            .input = product.graph}));
    Record record{work_.stages[i].name, std::move(fields), {}};
    if (i == kBuild && !work_.keeps_model) return run_stage(i, record, product);
    pins_.add(record.key());
    if (take_found(i, record, product)) return true;
    const StoreLock lock = store_.lock(record.key(), interrupted);
    if (take_found(i, record, product)) return true;  // somebody else has just made it
    return run_stage(i, record, product);
  }

  bool take_found(size_t i, const Record& wanted, Product& product) {
    if (!uses_found_) return false;
    const auto found = store_.find(wanted.key());
    if (!found) return false;
    const auto artifact = found->results.find_digest("output");
    const auto graph = found->results.find_digest("graph");
    if (!artifact || (i < kBuild && !graph)) return false;
    if (i == kBuild && !fetch_model(*artifact)) return false;
    StageReport report;
    report.found = true;
    report.key = digest_hex(wanted.key());
    if (const std::string* messages = found->results.find("messages")) report.messages = *messages;
    done_(i, report);
    product = {.file = {},
               .artifact = *artifact,
               .graph = graph.value_or(Digest{}),
               .is_of_earlier = true};
    found_any_ = true;
    return true;
  }

  bool fetch_model(const Digest& artifact) {
    const auto file = store_.find_artifact(artifact);
    return file && output_.take(*file).ok();
  }

  Result<bool> run_stage(size_t i, Record& record, Product& product) {
    if (!fetch(product)) return false;
    if (i == kSubgraphOptimize && work_.make_kernels) SLUICE_TRY(make_kernels(product.file));
    const bool is_last = i == kBuild;
    const std::string file = is_last ? output_.path_for_others() : file_of(work_, i);
    std::vector<std::string> options = work_.arguments[i];
    if (product.is_of_earlier && !work_.model.empty()) options.push_back("--model=" + work_.model);
    SLUICE_ASSIGN(StageReport report,
                  is_last
                      ? run_over_file(work_.stages[i], options, product.file, output_.descriptor())
                      : run_to_file(work_.stages[i], options, product.file, file));
    const bool is_kept = !is_last || work_.keeps_model;
    if (is_kept) report.key = digest_hex(record.key());
    if (!report.ending.clean()) return take_report(i, std::move(report));
    product = {.file = file, .artifact = {}, .graph = {}};
    if (!is_last) {
      SLUICE_ASSIGN(product.graph, graph_digest(file));
      note_bytes(file, report);
    }
    if (is_kept) keep(record, product, report);
    return take_report(i, std::move(report));
  }

  // A graph whose kernels cannot be listed is left to the stage, which says why.
  Result<void> make_kernels(const std::string& graph) {
    SLUICE_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
    const StageRun& stage = work_.stages[kSubgraphOptimize];
    KernelPlanning planning{.partition = work_.stages[kSubgraphOptimize - 1].program,
                            .subgraph_optimize = stage.program,
                            .options = stage.options,
                            .folder = folder.path()};
    const std::vector<std::string>& semantic = work_.arguments[kSubgraphOptimize];
    planning.options.insert(planning.options.end(), semantic.begin(), semantic.end());
    const Result<std::vector<Digest>> keys = make_kernel_jobs(graph, planning);
    if (!keys || keys->empty()) return {};
    for (const Digest& key : *keys) pins_.add(key);
    return work_.make_kernels(*keys);
  }

  // Returns false when the store has lost the product.
  bool fetch(Product& product) {
    if (!product.file.empty()) return true;
    if (!store_.find_artifact(product.artifact)) return false;
    product.file = store_path(store_.path(), product.artifact);
    return true;
  }

  void keep(Record& record, const Product& product, const StageReport& report) {
    const auto artifact = store_.keep_file(product.file);
    if (!artifact) return;
    record.results.add("output", *artifact);
    if (!product.graph.is_zero()) record.results.add("graph", product.graph);
    const std::string messages = messages_of_product(report.messages);
    if (!messages.empty()) record.results.add("messages", messages);
    store_.keep(record);
  }

  // Returns the lines without those about the store, which are of this compile alone.
  std::string messages_of_product(const std::string& messages) const {
    std::string kept;
    for (size_t begin = 0, end = 0; begin < messages.size(); begin = end) {
      end = std::min(messages.find('\n', begin), messages.size() - 1) + 1;
      const std::string line = messages.substr(begin, end - begin);
      if (line.find(store_.path()) == std::string::npos) kept += line;
    }
    return kept;
  }

  const StoredWork& work_;
  const Product imported_;
  Store& store_;
  OutputFile& output_;
  const StageDone& done_;
  StorePins pins_;  // what is found or made is not deleted before the end
  size_t failed_stage_ = 0;
  std::optional<StageReport> failure_;
  bool uses_found_ = true;
  bool found_any_ = false;
};

}  // namespace

Result<std::optional<ImportedGraph>> import_model(const StoredWork& work, const StageDone& done) {
  ImportedGraph imported{.file = file_of(work, 0), .artifact = {}, .graph = {}};
  SLUICE_ASSIGN(StageReport report,
                run_to_file(work.stages[0], work.arguments[0], {}, imported.file));
  note_bytes(imported.file, report);
  const bool succeeded = report.ending.clean();
  done(0, report);
  if (!succeeded) return std::optional<ImportedGraph>();
  SLUICE_ASSIGN(imported.graph, graph_digest(imported.file));
  return std::optional<ImportedGraph>(std::move(imported));
}

Result<bool> compile_graph(const StoredWork& work, const ImportedGraph& graph, Store& store,
                           OutputFile& output, const StageDone& done) {
  return StoredStages(work, graph, store, output, done).run();
}

}  // namespace sluice
