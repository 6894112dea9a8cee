#include "common/tools/om_text.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/base/files.h"
#include "common/base/scratch_folder.h"
#include "common/omfile/om_file.h"
#include "common/omfile/om_writer.h"

extern char** environ;

namespace sluice {
namespace {

constexpr char kModelSchema[] = {
#include "model_schema.inc"
};

// Returns the schema with names in place of bytes, so that the text shows them: bytes that contain
// a message and the message have the same encoding.
std::string readable_schema() {
  std::string schema(kModelSchema, sizeof(kModelSchema));
  for (const auto& [bytes, message] :
       {std::pair("bytes node_names", "NodeNamesDef node_names"),
        std::pair("bytes value_names", "ValueNamesDef value_names")}) {
    schema.replace(schema.find(bytes), std::strlen(bytes), message);
  }
  return schema;
}

// Runs protoc with files as its three streams. Returns its exit status, 127 when there is none.
int run_protoc(const ScratchFolder& folder, const char* mode) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string in = folder.file("in"), out = folder.file("out"),
                    errors = folder.file("errors");
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::string arguments[] = {"protoc", fmt::format("--{}=sluice.pb.ModelDef", mode),
                             "-I" + folder.path(), "model.proto"};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), nullptr};
  pid_t pid = 0;
  int status = 0;
  const int failed = ::posix_spawnp(&pid, "protoc", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0 || ::waitpid(pid, &status, 0) != pid) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

// mode: "decode" or "encode".
Result<std::string> through_protoc(const char* mode, std::span<const std::byte> input,
                                   ErrorCode refused) {
  SLUICE_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  SLUICE_TRY(write_text(folder.file("model.proto"), readable_schema()));
  SLUICE_TRY(write_file(folder.file("in"), input));
  const int status = run_protoc(folder, mode);
  if (status == 127) {
    return make_error(ErrorCode::kProgramMissing,
                      "protoc, which turns compiled models into text and back, is not installed")
        .with_hint("apt-get install protobuf-compiler");
  }
  if (status != 0) {
    SLUICE_ASSIGN(std::string errors, read_text(folder.file("errors")));
    errors.resize(errors.find_last_not_of('\n') + 1);
    for (size_t at = errors.find('\n'); at != std::string::npos; at = errors.find('\n', at + 1))
      errors.insert(at + 1, "  ");
    return make_error(refused, "{}", errors);
  }
  return read_text(folder.file("out"));
}

std::string plain_text(std::span<const char> zero_filled) {
  return std::string(zero_filled.data(), strnlen(zero_filled.data(), zero_filled.size()));
}

Result<std::span<const std::byte>> model_of(std::span<const std::byte> bytes,
                                            const OmHeader& header) {
  if (header.model_offset > bytes.size() ||
      header.model_bytes > bytes.size() - header.model_offset) {
    return make_error(ErrorCode::kBadCompiledModel, "the compiled model is cut off");
  }
  return bytes.subspan(header.model_offset, header.model_bytes);
}

}  // namespace

bool is_model_text(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  const auto skip_blanks = [&] {
    text.remove_prefix(std::min<size_t>(
        std::find_if_not(text.begin(), text.end(), is_blank) - text.begin(), text.size()));
  };
  for (skip_blanks(); text.starts_with('#'); skip_blanks())
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  const size_t word = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (word == 0 || word == std::string_view::npos) return false;
  text.remove_prefix(word);
  skip_blanks();
  return text.starts_with(':') || text.starts_with('{');
}

Result<std::string> model_text(std::span<const std::byte> model) {
  return through_protoc("decode", model, ErrorCode::kBadCompiledModel);
}

Result<std::string> model_bytes_of_text(std::string_view text, const std::string& name) {
  auto bytes = through_protoc("encode", std::as_bytes(std::span(text)), ErrorCode::kBadText);
  if (bytes || bytes.error().code != ErrorCode::kBadText) return bytes;
  // The error has the form of our own texts' errors, "input:1:8: what is wrong"; the lines after it
  // add nothing.
  std::string& message = bytes.error().message;
  message.resize(std::min(message.find('\n'), message.size()));
  if (constexpr std::string_view input = "input:"; message.starts_with(input))
    message.replace(0, input.size() - 1, name);
  return bytes;
}

Result<std::string> om_text(std::span<const std::byte> bytes, bool header_lines) {
  SLUICE_ASSIGN(const OmHeader header, read_om_header(bytes));
  SLUICE_TRY(check_om_size(header, bytes.size()));
  SLUICE_ASSIGN(const auto model, model_of(bytes, header));
  SLUICE_ASSIGN(const std::string text, model_text(model));
  if (!header_lines) return text;
  return fmt::format(
             "# compiled model, format {}, {} bytes\n# profile {}\n# isa {}\n# version {}\n",
             header.format, header.file_bytes, plain_text(header.profile), plain_text(header.isa),
             plain_text(header.version)) +
         text;
}

Result<void> write_om_of_text(std::string_view text, const std::string& name,
                              const std::string& with_path, const std::string& path) {
  SLUICE_ASSIGN(const std::string bytes, model_bytes_of_text(text, name));
  pb::ModelDef model;
  if (!model.ParseFromString(bytes))
    return make_error(ErrorCode::kBadText, "the text makes no ModelDef");
  std::vector<OmSegment> segments;
  OmFile from;
  if (!with_path.empty()) {
    SLUICE_ASSIGN(OmBytes with, OmBytes::open(with_path));
    SLUICE_ASSIGN(
        from, read_om(std::move(with), {.weights = false, .machine = false, .test_tasks = true}));
  }
  if (model.segments_size() > 0 && from.model == nullptr) {
    return make_error(ErrorCode::kMissingSegment,
                      "the model has {} segments, whose bytes are not in the text",
                      model.segments_size())
        .with_hint("give the compiled model that has them with --with FILE.om");
  }
  for (int i = 0; i < model.segments_size(); ++i) {
    const pb::SegmentDef& wanted = model.segments(i);
    if (i >= from.model->segments_size() || from.model->segments(i).kind() != wanted.kind()) {
      return make_error(ErrorCode::kMissingSegment, "segment {} of the text is not in '{}'", i,
                        with_path);
    }
    const auto content = from.segment(i);
    OmSegment& segment = segments.emplace_back();
    segment.kind = wanted.kind();
    segment.bytes = content.size();
    segment.pieces.push_back({0, content});
  }
  return write_om(path, std::move(model), segments);
}

}  // namespace sluice
