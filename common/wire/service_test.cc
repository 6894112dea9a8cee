// A service in a separate process and its clients; then clients of misbehaving peers.
#include "common/wire/service.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/base/files.h"
#include "common/base/testing/test_folder.h"
#include "common/wire/client.h"
#include "common/wire/socket.h"

namespace sluice {
namespace {

using wire::Frames;

// A busy machine must not look like a dead peer.
constexpr uint32_t kBeatMs = 2000;

std::string setting(const pb::Job& job, const std::string& name) {
  for (const pb::Setting& each : job.options()) {
    if (each.name() == name) return each.value();
  }
  return {};
}

int jobs_seen = 0;  // state that would leak from job to job

// The option "do" selects what a job of these tests does.
pb::Result body(const pb::Job& job) {
  const std::string what = setting(job, "do");
  if (what == "crash") std::abort();
  if (what == "killed") ::raise(SIGKILL);
  if (what == "leave") ::_exit(0);
  if (what == "exhaust") ::_exit(5);
  if (what == "sleep") ::usleep(1000 * 1000);
  if (what == "hang") ::pause();
  if (what == "fail")
    return wire::failed_result(make_error(ErrorCode::kBadShape, "on purpose").with_hint("none"));
  if (what == "say") (void)!::write(STDERR_FILENO, "words\n", 6);
  if (what == "count") (void)!::write(STDOUT_FILENO, std::to_string(++jobs_seen).data(), 1);
  if (what == "pid")
    static_cast<void>(write_text(setting(job, "note"), std::to_string(::getpid())).ok());
  if (what == "pid") ::pause();
  if (what == "grow")
    static_cast<void>(write_descriptor(STDOUT_FILENO, std::vector<std::byte>(5001)).ok());
  if (what == "copy") {
    const auto input = read_descriptor(STDIN_FILENO);
    static_cast<void>(write_descriptor(STDOUT_FILENO, *input).ok());
  }
  return {};
}

void send_texts(zmq::socket_t& socket, const std::vector<std::string>& texts) {
  Frames frames;
  for (const std::string& text : texts) frames.push_back(wire::frame_of(std::string_view(text)));
  wire::send(socket, std::move(frames));
}

class ServiceTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (service_ > 0) {
      ::kill(service_, SIGKILL);
      ::waitpid(service_, nullptr, 0);
    }
  }
  void start(ServiceOptions options = {}) {
    options.endpoint = endpoint_;
    service_ = ::fork();
    if (service_ != 0) return;
    const auto served = serve(options, body);
    ::_exit(served ? 0 : static_cast<int>(exit_class(served.error().code)));
  }
  int stop(int signal = SIGTERM) {
    ::kill(service_, signal);
    return wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(service_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  static pb::Job job_to(const std::string& what, uint32_t beat_ms = kBeatMs) {
    pb::Job job;
    job.set_stage("test");
    job.set_heartbeat_ms(beat_ms);
    pb::Setting& setting = *job.add_options();
    setting.set_name("do");
    setting.set_value(what);
    return job;
  }
  Result<JobReply> ask(const std::string& what, std::string_view graph = "graph",
                       uint32_t beat_ms = kBeatMs) {
    return run_job(endpoint_, job_to(what, beat_ms), {std::as_bytes(std::span(graph)), nullptr});
  }
  ErrorCode code_of(const std::string& what, uint32_t beat_ms = kBeatMs) {
    auto reply = ask(what, "graph", beat_ms);
    if (!reply) return reply.error().code;
    return reply->result.has_error() ? failure_error(reply->result.error()).code : ErrorCode{};
  }
  void expect_alive() {
    auto reply = ask("copy", "still here");
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(text(reply->output), "still here");
  }
  static std::string text(const Payload& payload) {
    return {reinterpret_cast<const char*>(payload.bytes.data()), payload.bytes.size()};
  }

  const TestFolder folder_;
  const std::string endpoint_ = "ipc://" + folder_.file("socket");
  pid_t service_ = 0;
};

TEST_F(ServiceTest, AJobGetsItsGraphAndGivesItsOutput) {
  start();
  const std::string big(3'000'000, 'x');
  auto reply = ask("copy", big);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->result.exit_code(), 0u);
  EXPECT_EQ(text(reply->output), big);
  EXPECT_EQ(text(ask("copy", "")->output), "");
  EXPECT_EQ(ask("say")->result.messages(), "words\n");
}

TEST_F(ServiceTest, AnErrorTravelsAsFields) {
  start();
  auto reply = ask("fail");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->result.exit_code(), 3u);
  const Error error = failure_error(reply->result.error());
  EXPECT_EQ(error.code, ErrorCode::kBadShape);
  EXPECT_EQ(error.message, "on purpose");
  EXPECT_EQ(error.hint, "none");
}

TEST_F(ServiceTest, LivesOnWhateverAJobDiesOf) {
  start();
  EXPECT_EQ(code_of("crash"), ErrorCode::kStageFailed);
  EXPECT_EQ(code_of("killed"), ErrorCode::kStageKilled);
  EXPECT_EQ(code_of("leave"), ErrorCode::kStageFailed);
  EXPECT_EQ(code_of("exhaust"), ErrorCode::kLimit);
  expect_alive();
}

TEST_F(ServiceTest, KeepsNothingFromJobToJob) {
  start();
  EXPECT_EQ(text(ask("count")->output), "1");
  EXPECT_EQ(text(ask("count")->output), "1");
}

TEST_F(ServiceTest, JobsRunAtOnceUpToTheLimitAndOthersWait) {
  for (const size_t jobs : {4, 1}) {
    start({.jobs = jobs});
    expect_alive();
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i)
      clients.emplace_back([&] { EXPECT_EQ(code_of("sleep", 500), ErrorCode{}); });
    for (std::thread& client : clients) client.join();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // With one job at a time, 4 s is more than five heartbeats: waiting clients get heartbeats,
    // too.
    EXPECT_GE(seconds, jobs == 1 ? 4 : 1);
    EXPECT_EQ(stop(), 0);
  }
}

TEST_F(ServiceTest, MoreJobsThanMayWaitAreRefused) {
  start({.jobs = 1});
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.connect(endpoint_);
  for (int i = 0; i < 80; ++i) {
    Frames frames;
    frames.push_back(wire::frame_of(std::to_string(i + 1)));
    frames.push_back(wire::frame_of(job_to("hang").SerializeAsString()));
    frames.push_back(wire::frame_of(std::string_view("graph")));
    ASSERT_EQ(wire::send(socket, std::move(frames)), wire::Sent::kDone);
  }
  int refused = 0;
  socket.set(zmq::sockopt::rcvtimeo, 5000);
  for (int i = 0; i < 5000 && refused < 15; ++i) {
    zmq::message_t id, answer;
    ASSERT_TRUE(socket.recv(id) && socket.recv(answer));
    pb::Reply reply;
    ASSERT_TRUE(reply.ParseFromArray(answer.data(), static_cast<int>(answer.size())));
    if (!reply.has_result()) continue;
    EXPECT_EQ(reply.result().error().code(), static_cast<uint32_t>(ErrorCode::kLimit));
    ++refused;
  }
  EXPECT_EQ(refused, 15);  // one runs, 64 wait
}

TEST_F(ServiceTest, GarbageGetsOneErrorEachAndHarmsNobody) {
  start();
  expect_alive();
  const std::string good = job_to("copy").SerializeAsString();
  pb::Job by_path = job_to("copy");
  by_path.set_input("/x");
  const std::vector<std::vector<std::string>> requests = {
      {""},
      {"1"},
      {"1", "2"},
      {"1", good},
      {"1", good, "g", "more"},
      {"1", good, "g", "m", "o", "r", "e"},
      {"", good, "g"},
      {std::string(65, 'i'), good, "g"},
      {"1", std::string("\xff\xff\xff\xff", 4), "g"},
      {"1", good.substr(0, good.size() - 1), "g"},
      {"1", std::string((1 << 20) + 1, 0), "g"},
      {"1", by_path.SerializeAsString(), "g"}};
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 5000);
  socket.connect(endpoint_);
  for (size_t i = 0; i < requests.size(); ++i) {
    send_texts(socket, requests[i]);
    zmq::message_t id, answer;
    ASSERT_TRUE(socket.recv(id) && socket.recv(answer)) << "request " << i;
    EXPECT_FALSE(answer.more());
    pb::Reply reply;
    ASSERT_TRUE(reply.ParseFromArray(answer.data(), static_cast<int>(answer.size())));
    ASSERT_TRUE(reply.has_result()) << "request " << i;
    EXPECT_EQ(reply.result().exit_code(), 3u);
    EXPECT_EQ(reply.result().error().code(), static_cast<uint32_t>(ErrorCode::kBadRequest))
        << "request " << i;
  }
  expect_alive();
}

TEST_F(ServiceTest, AFloodOfRequestsKeepsNobodyFromTheirAnswers) {
  start();
  expect_alive();
  std::atomic<bool> enough = false;
  std::vector<std::thread> peers;
  for (int i = 0; i < 3; ++i) {
    peers.emplace_back([&] {
      zmq::context_t context;
      zmq::socket_t socket(context, zmq::socket_type::dealer);
      socket.set(zmq::sockopt::linger, 0);
      socket.connect(endpoint_);
      while (!enough) send_texts(socket, {"1", "no job"});
    });
  }
  // The job takes a second; the client would fail after 1.5 s without a heartbeat.
  EXPECT_EQ(code_of("sleep", 300), ErrorCode{});
  enough = true;
  for (std::thread& peer : peers) peer.join();
  expect_alive();
}

TEST_F(ServiceTest, OversizedFramesBreakTheConnectionAlone) {
  start({.max_frame = 100'000});
  expect_alive();
  const std::string big(200'000, 'x');
  auto reply = ask("copy", big);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kPeerLost);
  auto refused = run_job(endpoint_, job_to("copy"), {std::as_bytes(std::span(big)), nullptr},
                         {.max_frame = 100'000});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  expect_alive();
}

TEST_F(ServiceTest, AnOutputBeyondAFrameIsAnError) {
  start({.max_frame = 5000});
  EXPECT_EQ(code_of("grow"), ErrorCode::kLimit);
  expect_alive();
}

TEST_F(ServiceTest, EndsCleanlyAndTellsItsClients) {
  start();
  expect_alive();
  EXPECT_TRUE(std::filesystem::exists(folder_.file("socket")));
  std::thread client([&] { EXPECT_EQ(code_of("hang"), ErrorCode::kStageKilled); });
  ::usleep(200 * 1000);
  EXPECT_EQ(stop(), 0);
  client.join();
  EXPECT_FALSE(std::filesystem::exists(folder_.file("socket")));
}

TEST_F(ServiceTest, AnEndpointInUseIsLeftAlone) {
  start();
  expect_alive();
  const pid_t first = std::exchange(service_, 0);
  start();
  EXPECT_EQ(wait(), 5);
  service_ = first;
  expect_alive();
}

TEST_F(ServiceTest, AnEndpointLeftBehindIsTakenOver) {
  start();
  expect_alive();
  EXPECT_EQ(stop(SIGKILL), -SIGKILL);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("socket")));
  start();
  expect_alive();
}

TEST_F(ServiceTest, AJobWhoseClientHasGoneIsKilled) {
  start();
  pb::Job job = job_to("pid");
  pb::Setting& note = *job.add_options();
  note.set_name("note");
  note.set_value(folder_.file("pid"));
  int asked = 0;
  const ClientOptions options{
      .interrupted = [&] { return ++asked > 1 && std::filesystem::exists(folder_.file("pid")); }};
  EXPECT_FALSE(run_job(endpoint_, job, {}, options).ok());
  const pid_t pid = std::stoi(*read_text(folder_.file("pid")));
  for (int i = 0; i < 500 && ::kill(pid, 0) == 0; ++i) ::usleep(10 * 1000);
  EXPECT_NE(::kill(pid, 0), 0);
  expect_alive();
}

TEST_F(ServiceTest, AKilledServiceIsNoticedAtOnce) {
  start();
  expect_alive();
  const auto begin = std::chrono::steady_clock::now();
  std::thread killer([&] { ::usleep(200 * 1000), ::kill(service_, SIGKILL); });
  pb::Job job = job_to("hang");
  job.set_heartbeat_ms(10000);
  auto reply = run_job(endpoint_, job, {});
  killer.join();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kPeerLost);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(ServiceTest, AStoppedServiceIsGivenFiveHeartbeats) {
  start();
  expect_alive();
  std::thread stopper([&] { ::usleep(100 * 1000), ::kill(service_, SIGSTOP); });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of("hang", 200), ErrorCode::kPeerLost);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5 * 200));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  stopper.join();
}

TEST_F(ServiceTest, NobodyThereIsAnErrorToo) {
  EXPECT_EQ(code_of("copy", 50), ErrorCode::kPeerLost);
}

// A peer that answers each request by calling `misbehave` with its socket and the client's name and
// job id.
class BadPeer {
 public:
  using Behaviour =
      std::function<void(zmq::socket_t&, const std::string& client, const std::string& id)>;
  BadPeer(const std::string& endpoint, Behaviour behaviour)
      : socket_(context_, zmq::socket_type::router), behaviour_(std::move(behaviour)) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, 5000);
    socket_.bind(endpoint);
    thread_ = std::thread([this] {
      zmq::message_t client, id, remaining;
      if (!socket_.recv(client) || !socket_.recv(id)) return;
      while (id.more() && socket_.recv(remaining) && remaining.more()) {
      }
      behaviour_(socket_, client.to_string(), id.to_string());
    });
  }
  ~BadPeer() { thread_.join(); }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_;
  Behaviour behaviour_;
  std::thread thread_;
};

std::string heartbeat() {
  pb::Reply reply;
  reply.mutable_heartbeat();
  return reply.SerializeAsString();
}

std::string result_of(uint32_t code, bool error) {
  pb::Reply reply;
  reply.mutable_result()->set_exit_code(code);
  if (error) reply.mutable_result()->mutable_error()->set_code(1003);
  return reply.SerializeAsString();
}

TEST_F(ServiceTest, GarbageOfAPeerIsOneError) {
  const std::vector<std::vector<std::string>> answers = {{""},
                                                         {"1"},
                                                         {"1", ""},
                                                         {"1", "\xff\xff"},
                                                         {"2", heartbeat()},
                                                         {"1", heartbeat(), "more"},
                                                         {"1", heartbeat(), "more", "and more"},
                                                         {"1", result_of(0, false)},
                                                         {"1", result_of(1, true)},
                                                         {"1", result_of(3, false)},
                                                         {"1", result_of(3, true), "output"},
                                                         {"1", result_of(0, true), "output"},
                                                         {"1", result_of(200, true)}};
  for (size_t i = 0; i < answers.size(); ++i) {
    const BadPeer peer(endpoint_,
                       [&](zmq::socket_t& socket, const std::string& client, const std::string&) {
                         std::vector<std::string> frames = answers[i];
                         frames.insert(frames.begin(), client);
                         send_texts(socket, frames);
                         ::usleep(50 * 1000);
                       });
    EXPECT_EQ(code_of("copy"), ErrorCode::kBadReply) << "answer " << i;
  }
}

TEST_F(ServiceTest, AFloodOfHeartbeatsIsAnError) {
  const BadPeer peer(endpoint_,
                     [](zmq::socket_t& socket, const std::string& client, const std::string& id) {
                       for (int i = 0; i < 2000; ++i) send_texts(socket, {client, id, heartbeat()});
                       ::usleep(500 * 1000);
                     });
  EXPECT_EQ(code_of("copy"), ErrorCode::kBadReply);
}

TEST_F(ServiceTest, AnOversizedAnswerIsAnError) {
  const BadPeer peer(
      endpoint_, [](zmq::socket_t& socket, const std::string& client, const std::string& id) {
        send_texts(socket, {client, id, result_of(0, false), std::string(200'000, 'x')});
        ::usleep(300 * 1000);
      });
  auto reply = run_job(endpoint_, job_to("copy"), {}, {.max_frame = 100'000});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kPeerLost);
}

}  // namespace
}  // namespace sluice
