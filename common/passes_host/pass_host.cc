#include "common/passes_host/pass_host.h"

#include <csignal>
#include <optional>

#include "common/passes_host/child.h"
#include "common/passes_host/exchange.h"
#include "common/passes_host/protocol.h"

namespace sluice {
namespace {

constexpr const char* kHostProgram = "sluice-pass-host";
constexpr int kEndMs = 5000;  // for a host that ends what it runs

// Looks for the end of an answer among the bytes that came so far.
class AnswerReader {
 public:
  bool is_complete(std::span<const std::byte> received) {
    if (!line_) {
      const std::string_view text(reinterpret_cast<const char*>(received.data()), received.size());
      size_ = text.find('\n');
      if (size_ == std::string_view::npos) return received.size() > kMaxPassLine;
      line_ = parse_answer(text.substr(0, size_++));
    }
    return !*line_ || (*line_)->error || received.size() >= size_ + (*line_)->bytes;
  }

  Result<AnsweredPass> take(std::span<const std::byte> received) {
    if (!line_ || !*line_) return make_error(ErrorCode::kPassFailed, "answered what is no answer");
    if ((*line_)->error) return *(*line_)->error;
    const auto graph = received.subspan(size_);
    if (graph.size() != (*line_)->bytes)
      return make_error(ErrorCode::kPassFailed, "answered more than it announced");
    return AnsweredPass{std::move((*line_)->answer), {graph.begin(), graph.end()}};
  }

 private:
  std::optional<Result<AnswerLine>> line_;
  size_t size_ = 0;  // of the line
};

}  // namespace

Result<PassHost> PassHost::start(const std::vector<std::string>& files, const PassLimits& limits) {
  SLUICE_ASSIGN(const std::string program, own_program(kHostProgram));
  SLUICE_ASSIGN(PipeEnds requests, make_pipe_ends());
  SLUICE_ASSIGN(PipeEnds answers, make_pipe_ends());
  std::vector<std::string> command = {program, fmt::format("--memory={}", limits.memory_bytes)};
  for (const std::string& path : limits.readable) command.push_back("--readable=" + path);
  command.insert(command.end(),
                 {"--", std::to_string(requests.read.get()), std::to_string(answers.write.get())});
  command.insert(command.end(), files.begin(), files.end());
  ChildSetup setup;
  setup.out = STDERR_FILENO;
  setup.ends_with_us = false;  // it sees its pipe closed, and ends all that it runs
  setup.kept = {requests.read.get(), answers.write.get()};
  SLUICE_ASSIGN(const pid_t process, start_child(command, setup));
  PassHost host(std::move(requests.write), std::move(answers.read));
  host.process_ = process;
  return host;
}

PassHost::PassHost(PassHost&& other) noexcept
    : to_(std::move(other.to_)),
      from_(std::move(other.from_)),
      process_(std::exchange(other.process_, 0)) {}

PassHost::~PassHost() {
  to_.reset();
  from_.reset();
  if (process_ == 0) return;
  int status = 0;
  if (has_ended_within(process_, kEndMs, status)) return;
  ::kill(-process_, SIGKILL);
  wait_for_child(process_);
}

Error PassHost::ended() const {
  return make_error(ErrorCode::kPassFailed, "its process ended before it had answered");
}

Result<AnsweredPass> PassHost::ask(const PassRequest& request, std::span<const std::byte> graph,
                                   uint64_t seconds, uint64_t max_bytes) {
  const std::string line = request_line(request, graph.size());
  AnswerReader reader;
  Exchange exchange;
  exchange.to = &to_;
  exchange.keeps_open = true;
  exchange.head = std::as_bytes(std::span(line));
  exchange.body = graph;
  exchange.from = from_.get();
  exchange.is_complete = [&](auto received) { return reader.is_complete(received); };
  exchange.deadline = Exchange::Clock::now() + std::chrono::seconds(seconds);
  exchange.max_bytes = max_bytes + kMaxPassLine;
  std::vector<std::byte> received;
  switch (exchange.run(received)) {
    case Exchange::End::kComplete:
      return reader.take(received);
    case Exchange::End::kTime:
      return make_error(ErrorCode::kLimit,
                        "has not ended after the {} seconds that --pass-seconds allows", seconds)
          .with_hint(fmt::format("allow more with --pass-seconds={}", seconds * 2));
    case Exchange::End::kTooMuch:
      return make_error(ErrorCode::kLimit,
                        "makes a graph of more than the {} bytes that --pass-memory allows",
                        max_bytes)
          .with_hint(fmt::format("allow more with --pass-memory={}", max_bytes * 2));
    default:
      return ended();
  }
}

}  // namespace sluice
