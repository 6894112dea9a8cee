#include "stages/subgraph-optimize/listed_kernels.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "common/base/failure_header.h"
#include "common/base/file_kind.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "common/base/parallel.h"
#include "common/base/program.h"
#include "common/base/work.h"
#include "common/stage/arguments.h"
#include "common/stage/rebind.h"
#include "common/stage/run_stage.h"
#include "common/stage/stats.h"
#include "stages/subgraph-optimize/codegen/emit/llvm_memory.h"
#include "stages/subgraph-optimize/kernel_list.h"
#include "stages/subgraph-optimize/subgraph_optimize.h"
#include "stages/subgraph-optimize/subgraphs.h"

namespace sluice {
namespace {

struct WantedKernel {
  Digest key;
  KernelRequests::Wanted kernel;
};

// What one graph file wants, in the order of the specifications.
struct ListedGraph {
  std::string path;
  std::unique_ptr<const GeneratorOptions> options = {};  // of the kernels, which refer to it
  std::vector<WantedKernel> wanted = {};

  const WantedKernel* find(const Digest& key) const {
    const auto found = std::ranges::find(wanted, key, &WantedKernel::key);
    return found == wanted.end() ? nullptr : &*found;
  }
};

Result<Module> read_listed(const std::string& path, Options& options) {
  SLUICE_ASSIGN(Module module, read_stage_graph(Level::kPartitioned, path));
  SLUICE_TRY(find_constants(module, options.text("store"), options.text("model")));
  SLUICE_TRY(inherit_options(options, StageId::kSubgraphOptimize, module.options));
  // All passes but the last, which lowers subgraphs and generates their kernels.
  const auto passes = subgraph_optimize_passes();
  SLUICE_TRY(run_passes(module, passes.first(passes.size() - 1), options));
  return module;
}

// Chooses the kernels of a graph as the stage does, and generates none.
Result<void> choose(Module& module, const GeneratorOptions& options, KernelRequests& kernels,
                    int64_t threads) {
  if (is_subgraph_alone(module.root())) return lower_for_engine(module.root(), options, kernels);
  SLUICE_ASSIGN(Subgraphs subgraphs, distinct_subgraphs(module.root()));
  return choose_kernels(subgraphs, options, kernels, threads);
}

class ListedKernels {
 public:
  ListedKernels(const StageArgs& args, std::string name, KernelStore store, int64_t threads)
      : args_(args), name_(std::move(name)), store_(std::move(store)), threads_(threads) {}

  Result<void> run() {
    SLUICE_ASSIGN(const std::string text, read_list());
    SLUICE_ASSIGN(const std::vector<KernelLine> lines, parse_kernel_list(text, name_));
    SLUICE_TRY(choose_all(lines));
    SLUICE_TRY(generate(lines));
    SLUICE_ASSIGN(const std::string missing, list(lines));
    SLUICE_TRY(write_text(args_.output, missing));
    report();
    return {};
  }

 private:
  Result<std::string> read_list() const {
    SLUICE_ASSIGN(const std::vector<std::byte> bytes, read_file(name_));
    if (file_kind(bytes) == FileKind::kFailure) return failure_read(bytes);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  // Chooses for each graph of the list once. One graph has all threads for its subgraphs.
  Result<void> choose_all(const std::vector<KernelLine>& lines) {
    for (const KernelLine& line : lines) {
      if (graph_of_.try_emplace(line.graph, graphs_.size()).second)
        graphs_.push_back({.path = line.graph});
    }
    const int64_t inner = graphs_.size() == 1 ? threads_ : 1;
    return parallel_for(graphs_.size(), threads_, [&](size_t i) -> Result<void> {
      auto chosen = choose_one(graphs_[i], inner);
      if (chosen || !chosen.error().file.empty()) return chosen;
      Error error = std::move(chosen).error();
      error.file = graphs_[i].path;
      return error;
    });
  }

  Result<void> choose_one(ListedGraph& graph, int64_t threads) const {
    Options options = args_.options;
    SLUICE_ASSIGN(Module module, read_listed(graph.path, options));
    SLUICE_ASSIGN(GeneratorOptions generator, generator_options(options));
    graph.options = std::make_unique<const GeneratorOptions>(std::move(generator));
    KernelRequests kernels;
    SLUICE_TRY(choose(module, *graph.options, kernels, threads));
    for (KernelRequests::Wanted& wanted : kernels.take_wanted())
      graph.wanted.push_back({store_.key(wanted.specification), std::move(wanted)});
    return {};
  }

  const ListedGraph& graph_of(const KernelLine& line) const {
    return graphs_[graph_of_.at(line.graph)];
  }

  // ---- lines with keys

  Result<void> generate(const std::vector<KernelLine>& lines) {
    SLUICE_ASSIGN(const std::vector<const KernelRequests::Wanted*> wanted, wanted_by_key(lines));
    return parallel_for(wanted.size(), threads_, [&](size_t i) { return make(*wanted[i]); });
  }

  // Finds all kernels that are to be generated, each once, before any is.
  Result<std::vector<const KernelRequests::Wanted*>> wanted_by_key(
      const std::vector<KernelLine>& lines) const {
    std::vector<const KernelRequests::Wanted*> kernels;
    std::set<Digest> keys;
    for (const KernelLine& line : lines) {
      for (const Digest& key : line.keys) {
        const WantedKernel* wanted = graph_of(line).find(key);
        if (wanted == nullptr) {
          return make_error(ErrorCode::kBadFile, "{}:{}: the graph '{}' wants no kernel {}", name_,
                            line.number, line.graph, digest_hex(key))
              .with_hint(
                  "another build, or other options, give kernels other keys: list them again");
        }
        if (keys.insert(key).second) kernels.push_back(&wanted->kernel);
      }
    }
    return kernels;
  }

  Result<void> make(const KernelRequests::Wanted& kernel) const {
    if (store_.find(kernel.specification)) {
      add_work(Work::kKernelsFound);
      return {};
    }
    const LlvmMemory memory;
    SLUICE_ASSIGN(const GeneratedKernel made, kernel.generate());
    add_work(Work::kKernels);
    store_.keep(kernel.specification, made);
    if (store_.hands_over()) return {};
    return store_.find(kernel.specification) ? Result<void>() : not_kept();
  }

  Error not_kept() const {
    return make_error(ErrorCode::kIo, "{}",
                      store_.fault().value_or("the store lost what was put into it"));
  }

  // ---- lines without keys

  // Returns the lines of what the store does not have.
  Result<std::string> list(const std::vector<KernelLine>& lines) {
    std::string text;
    for (const KernelLine& line : lines) {
      if (!line.keys.empty()) continue;
      KernelLine missing{.number = 0, .keys = {}, .graph = line.graph};
      SLUICE_TRY(take_missing(graph_of(line), missing.keys));
      if (!missing.keys.empty()) text += kernel_line_text(missing);
    }
    return text;
  }

  Result<void> take_missing(const ListedGraph& graph, std::vector<Digest>& keys) {
    std::optional<Digest> file;
    for (const WantedKernel& wanted : graph.wanted) {
      if (!seen_.insert(wanted.key).second) continue;
      if (store_.find(wanted.kernel.specification)) {
        add_work(Work::kKernelsFound);
        continue;
      }
      if (!file) {
        SLUICE_ASSIGN(const MappedFile bytes, MappedFile::open(graph.path));
        file = store_.keep_graph(bytes.bytes());
      }
      if (!file || !store_.keep_job(wanted.kernel.specification, *file)) return not_kept();
      keys.push_back(wanted.key);
      ++listed_;
    }
    return {};
  }

  void report() const {
    const WorkCounts done = work_done();
    log_line(stage_program(StageId::kSubgraphOptimize), "kernels:",
             fmt::format("{} found, {} generated, {} listed",
                         done[static_cast<size_t>(Work::kKernelsFound)],
                         done[static_cast<size_t>(Work::kKernels)], listed_));
  }

  const StageArgs& args_;
  const std::string name_;  // of the list
  const KernelStore store_;
  const int64_t threads_;
  std::vector<ListedGraph> graphs_;
  std::map<std::string, size_t> graph_of_;  // by path
  std::set<Digest> seen_;                   // keys
  size_t listed_ = 0;
};

Result<void> check_alone(const StageArgs& args, const std::string& list) {
  if (args.input != "-")
    return make_error(ErrorCode::kUsage, "--kernels names its graphs in a list and reads no other");
  for (const char* other : {"kernel", "kernels-from"}) {
    if (!args.options.text(other).empty())
      return make_error(ErrorCode::kUsage, "--kernels and --{} exclude each other", other);
  }
  if (args.options.text("store").empty()) {
    return make_error(ErrorCode::kUsage, "--kernels keeps kernels and has no store")
        .with_hint("give --store DIR");
  }
  return check_output_is_no_input(args.output, list);
}

}  // namespace

Result<bool> make_listed_kernels(const StageArgs& args) {
  const std::string list = args.options.text("kernels");
  if (list.empty()) return false;
  SLUICE_TRY(check_alone(args, list));
  SLUICE_ASSIGN(StatsFile stats, StatsFile::create(args.options.text("stats")));
  SLUICE_ASSIGN(const int64_t threads, args.options.threads());
  SLUICE_ASSIGN(KernelStore store,
                KernelStore::open(args.options.text("store"), args.options.text("new-kernels"),
                                  KernelStore::Faults::kAsked));
  WorkReport work("listed-kernels");
  SLUICE_TRY(ListedKernels(args, list, std::move(store), threads).run());
  const std::vector<PassReport> report{work.done(Module(), false)};
  StageTimes times;
  times.total = times.work = report.front().seconds;
  SLUICE_TRY(stats.write(stage_name(StageId::kSubgraphOptimize), report, times));
  return true;
}

}  // namespace sluice
