// Runs or measures a model with ONNX Runtime. See kUsage; scripts/bench/ort fetches the library and
// builds this program.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "common/base/files.h"
#include "common/base/json.h"
#include "common/tensorfile/tensorfile.h"
#include "scripts/bench/ort_session.h"

namespace {

using sluice::ErrorCode;
using sluice::Json;
using sluice::Result;
using sluice::Tensor;
using sluice::bench::OrtLibrary;
using sluice::bench::OrtSession;

constexpr char kUsage[] = R"(usage: ort-run [--library FILE] MODEL.onnx [run options]
       ort-run [--library FILE] --batch LIST

  --input NAME=FILE   one input, .npy or .pb; once for each input of the model
  --output-dir DIR    write each output to DIR/NAME.npy ('/' in a name becomes '_')
  --threads T         threads inside a node                                  [default: 1]
  --bench N           after 3 runs to warm up, time N runs
  --batch LIST        each line of the file LIST is one "MODEL.onnx [run options]"
  --library FILE      libonnxruntime.so.1
                      [default: the one that scripts/bench/ort fetched]

Prints one line of JSON for each model: model, threads, load_ms, first_ms and with --bench min_ms,
median_ms, p90_ms, runs, peak_rss_mb.
)";

struct Job {
  std::string model, output_dir;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, file
  int threads = 1, runs = 0;
};

Result<int> parse_count(const std::string& option, const std::string& text) {
  int value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc() && end == text.data() + text.size() && value > 0) return value;
  return sluice::make_error(ErrorCode::kUsage, "{} needs a positive number, got '{}'", option,
                            text);
}

Result<Job> parse_job(const std::vector<std::string>& words) {
  Job job;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      job.model = words[i];
      continue;
    }
    const std::string& option = words[i];
    if (++i == words.size())
      return sluice::make_error(ErrorCode::kUsage, "{} needs a value", option);
    if (option == "--output-dir") {
      job.output_dir = words[i];
    } else if (option == "--threads") {
      SLUICE_ASSIGN(job.threads, parse_count(option, words[i]));
    } else if (option == "--bench") {
      SLUICE_ASSIGN(job.runs, parse_count(option, words[i]));
    } else if (size_t split = words[i].find('=');
               option == "--input" && split != std::string::npos) {
      job.inputs.emplace_back(words[i].substr(0, split), words[i].substr(split + 1));
    } else {
      return sluice::make_error(ErrorCode::kUsage, "'{} {}' is not understood", option, words[i]);
    }
  }
  if (job.model.empty()) return sluice::make_error(ErrorCode::kUsage, "no model given");
  return job;
}

// Milliseconds that `action` takes.
template <typename Action>
Result<double> timed(Action action) {
  auto start = std::chrono::steady_clock::now();
  SLUICE_TRY(action());
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Of this program alone: getrusage would count what its parent held when it started it.
double peak_rss_mb() {
  constexpr std::string_view kKey = "VmHWM:";
  const auto text = sluice::read_text("/proc/self/status");
  const size_t at = text ? text->find(kKey) : std::string::npos;
  if (at == std::string::npos) return 0;
  return std::strtod(text->c_str() + at + kKey.size(), nullptr) / 1024;
}

Result<void> measure(OrtSession& session, int runs, Json& report) {
  std::vector<double> times;
  for (int i = 0; i < runs + 3; ++i) {
    SLUICE_ASSIGN(double ms, timed([&] { return session.run(); }));
    if (i >= 3) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  report.set("min_ms", times.front());
  report.set("median_ms", times[times.size() / 2]);
  report.set("p90_ms", times[times.size() * 9 / 10]);
  report.set("runs", runs);
  report.set("peak_rss_mb", peak_rss_mb());
  return {};
}

Result<void> write_outputs(const OrtSession& session, const std::string& folder) {
  SLUICE_TRY(sluice::make_directories(folder));
  SLUICE_ASSIGN(std::vector<Tensor> outputs, session.outputs());
  for (const Tensor& output : outputs) {
    std::string file = output.name;
    std::replace(file.begin(), file.end(), '/', '_');
    SLUICE_TRY(sluice::write_tensor(folder + "/" + file + ".npy", output));
  }
  return {};
}

Result<void> run_job(const OrtLibrary& library, const Job& job) {
  std::vector<Tensor> inputs;
  for (const auto& [name, file] : job.inputs) {
    SLUICE_ASSIGN(Tensor tensor, sluice::read_tensor(file));
    tensor.name = name;
    inputs.push_back(std::move(tensor));
  }
  auto start = std::chrono::steady_clock::now();
  SLUICE_ASSIGN(OrtSession session, OrtSession::open(library, job.model, job.threads));
  double load_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  SLUICE_TRY(session.bind(inputs));
  SLUICE_ASSIGN(double first_ms, timed([&] { return session.run(); }));
  Json report;
  report.set("model", job.model);
  report.set("version", library.version());
  report.set("threads", job.threads);
  report.set("load_ms", load_ms);
  report.set("first_ms", first_ms);
  if (!job.output_dir.empty()) {
    SLUICE_TRY(write_outputs(session, job.output_dir));
  }
  if (job.runs > 0) {
    SLUICE_TRY(measure(session, job.runs, report));
  }
  std::printf("%s\n", sluice::json_dump(report).c_str());
  std::fflush(stdout);
  return {};
}

Result<void> run_batch(const OrtLibrary& library, const std::string& list) {
  SLUICE_ASSIGN(std::string text, sluice::read_text(list));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty()) continue;
    SLUICE_ASSIGN(Job job, parse_job(words));
    if (Result<void> done = run_job(library, job); !done)
      return std::move(done).error().within(job.model);
  }
  return {};
}

// out/ort beside the build folder that holds this program.
std::string default_library() {
  std::error_code ignored;
  auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path().parent_path().parent_path() / "ort" / "libonnxruntime.so.1")
      .string();
}

// Removes "option VALUE" from words and returns VALUE, or nothing.
std::string take(std::vector<std::string>& words, const std::string& option) {
  auto found = std::find(words.begin(), words.end(), option);
  if (found == words.end() || found + 1 == words.end()) return {};
  std::string value = *(found + 1);
  words.erase(found, found + 2);
  return value;
}

Result<void> run(std::vector<std::string> words) {
  std::string path = take(words, "--library"), batch = take(words, "--batch");
  Job job;
  if (batch.empty()) {
    SLUICE_ASSIGN(job, parse_job(words));
  }
  SLUICE_ASSIGN(OrtLibrary library, OrtLibrary::open(path.empty() ? default_library() : path));
  return batch.empty() ? run_job(library, job) : run_batch(library, batch);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "--help") {
    std::fputs(kUsage, words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  Result<void> done = run(words);
  if (done) return 0;
  std::fprintf(stderr, "ort-run: error %s\n", sluice::error_text(done.error()).c_str());
  return static_cast<int>(sluice::exit_class(done.error().code));
}
