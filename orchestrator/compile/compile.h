// Compiles a model or a graph file: chooses the stages, gives each its options, runs the pipe and
// reports its progress.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/sandbox/sandbox.h"
#include "common/wire/security.h"
#include "orchestrator/compile/stage_options.h"
#include "orchestrator/farm/farm_client.h"
#include "orchestrator/store/remote_url.h"

namespace sluice {

enum class Transport { kPipe, kFiles, kZmq };
enum class GraphFormat { kGraphFile, kOnnx };

struct CompileRequest {
  std::string input;   // an ONNX model, or a .sg file
  std::string output;  // "-": standard output
  StageOptions options;
  std::string stop_after;  // "STAGE" or "STAGE:PASS": the last to run, whose graph is the output;
                           // empty: all
  GraphFormat format = GraphFormat::kGraphFile;  // of a graph that is the output
  std::string segments;  // --segments, for the stages that write graphs; empty: not given
  std::string model;     // --model, for the stages that read graphs; empty: not given
  std::string store;     // --store; empty: not given
  RemoteUrl remote;      // --remote; empty: not given
  FarmProvider farm;     // --farm; without endpoint: not given
  std::string cache_dir, graph_key;  // of the model cache, which is used when both are given
  std::string weights_beside;        // --weights-beside; empty: the output
  std::string dump_dir;              // empty: none
  std::string stats;                 // JSON file; empty: none
  std::string compile_stat;          // of --export-compile-stat; empty: none
  Transport transport = Transport::kPipe;
  ConnectorKeys service_keys;
  std::map<std::string, std::string> services;  // endpoint by stage, of workers that run already
  std::optional<Sandbox> sandbox;               // limits; empty: the stages run without
  bool shows_plan = false;                      // and runs no stage but, with a store, the import
  bool quiet = false;                           // no progress lines, no warnings
  bool error_json = false;                      // errors of the program itself as JSON
  bool progress_json = false;

  bool has_statistics() const { return !stats.empty() || !compile_stat.empty(); }
};

// Returns the exit code: 0, or that of the first stage that failed, whose error has then been
// printed. Errors of the program itself: kNotFound, kBadFile, kBadOption, kProgramMissing, kIo.
Result<int> compile(const CompileRequest& request);

}  // namespace sluice
