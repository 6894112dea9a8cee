#include "orchestrator/compile/in_order.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "common/base/files.h"
#include "common/base/scratch_folder.h"
#include "common/base/store.h"
#include "common/graphfile/header.h"
#include "common/store/store_pins.h"
#include "orchestrator/compile/stage_process.h"
#include "orchestrator/compile/stages.h"
#include "orchestrator/plan/kernel_job.h"
#include "orchestrator/plan/stage_job.h"
#include "orchestrator/process/programs.h"

namespace sluice {
namespace {

void note_bytes(const std::string& file, StageReport& report) {
  std::error_code failed;
  const uint64_t bytes = std::filesystem::file_size(file, failed);
  if (!failed) report.bytes = bytes;
}

class InOrder {
 public:
  InOrder(const OrderedStages& work, OutputFile& output, const StageDone& done)
      : work_(work),
        output_(output),
        done_(done),
        pins_(work.store != nullptr ? work.store->path() : std::string()) {}

  // A product of the store that turns out to be lost or unfit is no reason to fail: then every
  // stage runs.
  Result<bool> run(std::optional<GraphProduct> input) {
    const GraphProduct first = first_product(std::move(input));
    SLUICE_ASSIGN(const bool succeeded, run_all(first));
    if (succeeded) return true;
    if (found_any_ && !interrupted()) {
      uses_found_ = false;
      SLUICE_ASSIGN(const bool succeeded_now, run_all(imported_ ? *imported_ : first));
      if (succeeded_now) return true;
    }
    if (failure_) done_(failed_stage_, *failure_);
    return false;
  }

 private:
  GraphProduct first_product(std::optional<GraphProduct> input) const {
    if (input) return *std::move(input);
    return {.file = work_.stages[0].input, .is_own_input = true};
  }

  bool is_import(size_t i) const { return work_.stages[i].name == kStageNames[0]; }
  bool is_last(size_t i) const { return i + 1 == work_.stages.size(); }
  bool makes_graph(size_t i) const { return work_.stages[i].name != kStageNames.back(); }

  Result<bool> run_all(GraphProduct product) {
    for (size_t i = imported_ ? 1 : 0; i < work_.stages.size(); ++i) {
      SLUICE_ASSIGN(const bool succeeded, make(i, product));
      if (!succeeded) return false;
      if (is_import(i)) imported_ = product;
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
  Result<bool> make(size_t i, GraphProduct& product) {
    const StoreUse use = work_.stages[i].store_use;
    if (work_.store == nullptr || use == StoreUse::kNone) return run_stage(i, nullptr, product);
    SLUICE_ASSIGN(Record record, stage_record(work_.stages[i], work_.profile, product.graph));
    if (use != StoreUse::kTake) return run_stage(i, &record, product);
    pins_.add(record.key());
    if (take_found(i, record, product)) return true;
    const StoreLock lock = work_.store->lock(record.key(), interrupted);
    if (take_found(i, record, product)) return true;  // somebody else has just made it
    return run_stage(i, &record, product);
  }

  bool take_found(size_t i, const Record& wanted, GraphProduct& product) {
    if (!uses_found_) return false;
    const auto found = work_.store->find(wanted.key());
    if (!found) return false;
    const auto artifact = found->results.find_digest("output");
    const auto graph = found->results.find_digest("graph");
    if (!artifact || (makes_graph(i) && !graph)) return false;
    if (is_last(i) && !fetch_output(*artifact)) return false;
    StageReport report;
    report.found = true;
    report.key = digest_hex(wanted.key());
    if (const std::string* messages = found->results.find("messages")) report.messages = *messages;
    done_(i, report);
    product = {.artifact = *artifact, .graph = graph.value_or(Digest{}), .is_of_earlier = true};
    found_any_ = true;
    return true;
  }

  bool fetch_output(const Digest& artifact) {
    const auto file = work_.store->find_artifact(artifact);
    return file && output_.take(*file).ok();
  }

  // record: of its product, without the results; null: the store has nothing to do with it.
  Result<bool> run_stage(size_t i, Record* record, GraphProduct& product) {
    if (!fetch(product)) return false;
    const StageRun& stage = work_.stages[i];
    if (work_.make_kernels && stage.name == "subgraph-optimize")
      SLUICE_TRY(make_kernels(i, product.file));
    const std::string file =
        is_last(i) ? output_.path_for_others() : fmt::format("{}/{}.sg", work_.folder, stage.name);
    SLUICE_ASSIGN(StageReport report, start(i, product, file));
    if (record != nullptr && stage.store_use != StoreUse::kCompare)
      report.key = digest_hex(record->key());
    if (!report.ending.clean()) return take_report(i, std::move(report));
    if (work_.store == nullptr && !product.is_own_input) ::unlink(product.file.c_str());
    product = {.file = file};
    if (work_.store != nullptr && makes_graph(i)) {
      SLUICE_ASSIGN(product.graph, graph_digest(file));
    }
    if (!is_last(i)) note_bytes(file, report);
    if (record != nullptr) SLUICE_TRY(keep(i, *record, product, report));
    if (!stage.dump.empty()) SLUICE_TRY(copy_dump(i, file));
    return take_report(i, std::move(report));
  }

  Result<StageReport> start(size_t i, const GraphProduct& product, const std::string& file) const {
    const StageRun& stage = work_.stages[i];
    std::vector<std::string> more;
    if (product.is_of_earlier && !work_.model.empty()) more.push_back("--model=" + work_.model);
    const std::string input = product.is_own_input ? std::string() : product.file;
    if (work_.start) {
      StageRun whole = stage;
      whole.options.insert(whole.options.end(), more.begin(), more.end());
      return work_.start(whole, {.input = input, .output = file});
    }
    return is_last(i) ? run_over_file(stage, more, input, output_.descriptor())
                      : run_to_file(stage, more, input, file);
  }

  // The dump is its owner's, who may write into it: it shares no bytes with a store.
  Result<void> copy_dump(size_t i, const std::string& file) const {
    SLUICE_ASSIGN(const MappedFile graph, MappedFile::open(file));
    return write_file(work_.stages[i].dump, graph.bytes());
  }

  // A graph whose kernels cannot be listed is left to the stage, which says why.
  Result<void> make_kernels(size_t i, const std::string& graph) {
    SLUICE_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
    const Result<std::vector<Digest>> keys = missing_kernels(work_.stages[i], graph, folder.path());
    if (!keys || keys->empty()) return {};
    for (const Digest& key : *keys) pins_.add(key);
    return work_.make_kernels(*keys);
  }

  // Returns false when the store has lost the product.
  bool fetch(GraphProduct& product) {
    if (!product.file.empty()) return true;
    if (!work_.store->find_artifact(product.artifact)) return false;
    product.file = store_path(work_.store->path(), product.artifact);
    return true;
  }

  Result<void> keep(size_t i, Record& record, const GraphProduct& product,
                    const StageReport& report) {
    if (work_.stages[i].store_use != StoreUse::kTake) SLUICE_TRY(compare(i, record.key(), product));
    if (work_.stages[i].store_use == StoreUse::kCompare) return {};
    const auto artifact = work_.store->keep_file(product.file);
    if (!artifact) return {};
    record.results.add("output", *artifact);
    if (!product.graph.is_zero()) record.results.add("graph", product.graph);
    const std::string messages = messages_of_product(report.messages);
    if (!messages.empty()) record.results.add("messages", messages);
    work_.store->keep(record);
    return {};
  }

  // Compares with what an earlier compile made for the same key.
  Result<void> compare(size_t i, const Digest& key, const GraphProduct& product) const {
    const auto found = work_.store->find(key);
    const auto wanted =
        found ? found->results.find_digest(makes_graph(i) ? "graph" : "output") : std::nullopt;
    if (!wanted) return {};
    Digest made = product.graph;
    if (!makes_graph(i)) {
      SLUICE_ASSIGN(const MappedFile file, MappedFile::open(product.file));
      made = sha256(file.bytes());
    }
    if (made == *wanted) return {};
    return make_error(ErrorCode::kInternal,
                      "sluice-{} made sha256:{} where the store '{}' has sha256:{} for the same "
                      "work, {}",
                      work_.stages[i].name, digest_hex(made).substr(0, 16), work_.store->path(),
                      digest_hex(*wanted).substr(0, 16), digest_hex(key).substr(0, 16))
        .with_hint("sluice cache explain shows the entry; please report it with the model");
  }

  // Returns the lines without those about the store, which are of this compile alone.
  std::string messages_of_product(const std::string& messages) const {
    std::string kept;
    for (size_t begin = 0, end = 0; begin < messages.size(); begin = end) {
      end = std::min(messages.find('\n', begin), messages.size() - 1) + 1;
      const std::string line = messages.substr(begin, end - begin);
      if (line.find(work_.store->path()) == std::string::npos) kept += line;
    }
    return kept;
  }

  const OrderedStages& work_;
  OutputFile& output_;
  const StageDone& done_;
  StorePins pins_;  // what is found or made is not deleted before the end
  std::optional<GraphProduct> imported_;
  size_t failed_stage_ = 0;
  std::optional<StageReport> failure_;
  bool uses_found_ = true;
  bool found_any_ = false;
};

}  // namespace

Result<Digest> graph_digest(const std::string& file) {
  SLUICE_ASSIGN(const MappedFile map, MappedFile::open(file));
  SLUICE_ASSIGN(const GraphHeader header, parse_graph_header(map.bytes()));
  return header.file_digest;
}

Result<Record> stage_record(const StageRun& stage, const std::string& profile,
                            const Digest& input) {
  SLUICE_ASSIGN(Fields fields, fields_of({.stage = stage.name,
                                          .program = stage.program,
                                          .options = stage.semantic,
                                          .profile = profile,
                                          .input = input}));
  return Record{stage.name, std::move(fields), {}};
}

Result<std::vector<Digest>> missing_kernels(const StageRun& stage, const std::string& graph,
                                            const std::string& folder) {
  SLUICE_ASSIGN(std::string partition, find_program("sluice-partition"));
  return make_kernel_jobs(graph, {.partition = std::move(partition),
                                  .subgraph_optimize = stage.program,
                                  .options = stage.options,
                                  .folder = folder});
}

Result<bool> run_in_order(const OrderedStages& work, std::optional<GraphProduct> input,
                          OutputFile& output, const StageDone& done) {
  return InOrder(work, output, done).run(std::move(input));
}

}  // namespace sluice
