#include "common/passes_host/protocol.h"

#include <unistd.h>

#include <cerrno>

#include "common/base/files.h"
#include "common/base/json.h"

namespace sluice {
namespace {

std::string text_of(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  const std::string* text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string() : *text;
}

uint64_t count_of(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  const int64_t* count = found == nullptr ? nullptr : found->as_int();
  return count == nullptr || *count < 0 ? 0 : static_cast<uint64_t>(*count);
}

bool is_true(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  const bool* value = found == nullptr ? nullptr : found->as_bool();
  return value != nullptr && *value;
}

const Json::Array& list_of(const Json& json, std::string_view key) {
  static const Json::Array none;
  const Json* found = json.find(key);
  const Json::Array* list = found == nullptr ? nullptr : found->as_array();
  return list == nullptr ? none : *list;
}

// Returns how many bytes were read before the end.
Result<size_t> read_all(int input, std::byte* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(input, to + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return make_error(ErrorCode::kIo, "a request cannot be read");
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

Error cut_off() { return make_error(ErrorCode::kBadReply, "a request is cut off"); }

Result<std::string> read_line(int input) {
  std::string line;
  for (std::byte each{}; line.size() < kMaxPassLine; line += static_cast<char>(each)) {
    SLUICE_ASSIGN(const size_t count, read_all(input, &each, 1));
    if (count == 0 && line.empty()) return line;
    if (count == 0) return cut_off();
    if (each == std::byte{'\n'}) return line + '\n';
  }
  return make_error(ErrorCode::kBadReply, "a request has no end");
}

Result<void> send(int output, const Json& json, std::span<const std::byte> graph) {
  const std::string line = json_dump(json) + "\n";
  SLUICE_TRY(write_descriptor(output, std::as_bytes(std::span(line))));
  return write_descriptor(output, graph);
}

Error error_of(const Json& json) {
  const uint64_t number = count_of(json, "code");
  const bool is_known = number <= UINT16_MAX && is_error_code(static_cast<uint16_t>(number));
  Error error = make_error(is_known ? static_cast<ErrorCode>(number) : ErrorCode::kPassFailed, "{}",
                           text_of(json, "message"));
  error.hint = text_of(json, "hint");
  return error;
}

}  // namespace

std::string request_line(const PassRequest& request, uint64_t bytes) {
  Json json;
  json.set("file", request.file);
  json.set("point", request.point);
  json.set("types", request.has_types);
  json.set("bytes", bytes);
  return json_dump(json) + "\n";
}

Result<std::optional<GraphRequest>> read_request(int input) {
  SLUICE_ASSIGN(const std::string line, read_line(input));
  if (line.empty()) return std::optional<GraphRequest>();
  SLUICE_ASSIGN(const Json json, json_parse(line));
  GraphRequest asked{.request = {.file = text_of(json, "file"),
                                 .point = text_of(json, "point"),
                                 .has_types = is_true(json, "types")},
                     .graph = std::vector<std::byte>(count_of(json, "bytes"))};
  SLUICE_ASSIGN(const size_t count, read_all(input, asked.graph.data(), asked.graph.size()));
  if (count < asked.graph.size()) return cut_off();
  return std::optional(std::move(asked));
}

Result<AnswerLine> parse_answer(std::string_view line) {
  const auto json = json_parse(line);
  AnswerLine parsed;
  const bool is_answer = json && (json->find("changed") != nullptr || json->find("error"));
  if (!is_answer) return make_error(ErrorCode::kBadReply, "answered what cannot be understood");
  if (const Json* error = json->find("error")) parsed.error = error_of(*error);
  parsed.bytes = count_of(*json, "bytes");
  parsed.answer.changed = is_true(*json, "changed");
  for (const Json& each : list_of(*json, "counts")) {
    RuleCount& count = parsed.answer.counts.emplace_back();
    count.rule = text_of(each, "pass");
    count.times = {.matches = count_of(each, "matches"), .effects = count_of(each, "effects")};
    count.obstacle = text_of(each, "obstacle");
  }
  for (const Json& note : list_of(*json, "notes"))
    if (note.as_string() != nullptr) parsed.answer.notes.push_back(*note.as_string());
  return parsed;
}

Result<void> send_answer(int output, const PassAnswer& answer, std::span<const std::byte> graph) {
  Json json;
  json.set("changed", answer.changed);
  Json counts{Json::Array{}};
  for (const RuleCount& count : answer.counts) {
    Json row;
    row.set("pass", count.rule);
    row.set("matches", count.times.matches);
    row.set("effects", count.times.effects);
    if (!count.obstacle.empty()) row.set("obstacle", count.obstacle);
    counts.push(std::move(row));
  }
  json.set("counts", std::move(counts));
  Json notes{Json::Array{}};
  for (const std::string& note : answer.notes) notes.push(note);
  json.set("notes", std::move(notes));
  json.set("bytes", static_cast<uint64_t>(graph.size()));
  return send(output, json, graph);
}

Result<void> send_error(int output, const Error& error) {
  Json fields;
  fields.set("code", static_cast<int64_t>(error.code));
  fields.set("message", error.message);
  if (!error.hint.empty()) fields.set("hint", error.hint);
  Json json;
  json.set("error", std::move(fields));
  return send(output, json, {});
}

}  // namespace sluice
