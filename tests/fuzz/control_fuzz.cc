// Takes control frames: a request as a service reads it, an answer as a client reads it, and a
// failure header as the next program of a pipe reads it. The first byte of the input selects one;
// each frame has its length before it, in two bytes.
#include <vector>

#include "common/base/failure_header.h"
#include "common/base/memory.h"
#include "common/base/options.h"
#include "common/wire/client.h"
#include "common/wire/messages.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace sluice;

std::vector<Payload> frames_of(std::span<const std::byte> bytes) {
  std::vector<Payload> frames;
  while (bytes.size() >= 2 && frames.size() < 5) {
    const size_t length = static_cast<size_t>(bytes[0]) | static_cast<size_t>(bytes[1]) << 8;
    bytes = bytes.subspan(2);
    frames.push_back({bytes.first(std::min(length, bytes.size())), nullptr});
    bytes = bytes.subspan(frames.back().bytes.size());
  }
  return frames;
}

void read_request(std::vector<Payload> frames) {
  const auto request = within_memory([&] { return wire::parse_request(std::move(frames)); });
  if (!request) return fuzz::expect_unsupported_reason(request.error());
  Options options;
  for (const pb::Setting& setting : request->job.options()) {
    if (auto set = options.set(setting.name(), setting.value()); !set)
      fuzz::expect_unsupported_reason(set.error());
  }
}

void read_answer(std::vector<Payload> frames) {
  const auto answer = within_memory([&] { return wire::parse_answer(std::move(frames), "1"); });
  if (!answer) return fuzz::expect_unsupported_reason(answer.error());
  if (!answer->reply.has_result()) return;
  const Error error =
      failure_error(answer->reply.result().error());  // printed by the client, whatever it contains
  if (error_text(error).find('\x1b') != std::string::npos)
    fuzz::finding("a peer writes to the terminal", error_text(error));
  static_cast<void>(error_json(error));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = fuzz::bytes_of(data, size).subspan(1);
  if (data[0] == 0) {
    read_request(frames_of(bytes));
  } else if (data[0] == 1) {
    read_answer(frames_of(bytes));
  } else {
    static_cast<void>(error_text(failure_read(bytes)));
  }
  return 0;
}
