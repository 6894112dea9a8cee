#include "common/python/filter.h"

#include <unistd.h>

#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/graphfile/graphfile.h"
#include "common/stage/failure.h"
#include "common/verify/verify.h"

namespace sluice::python {
namespace {

using Bytes = std::shared_ptr<const std::vector<std::byte>>;

int end_with(const std::string& program, Error error, const std::string& input,
             const std::string& output) {
  const Error earliest = earliest_failure(std::move(error), input);
  return end_failed(program, earliest, false, fails_into_pipe(output));
}

Result<void> write_bytes(const std::vector<std::byte>& bytes, const std::string& output) {
  if (output == "-" && ::isatty(STDOUT_FILENO) != 0) {
    return make_error(ErrorCode::kUsage, "standard output is a terminal and the result is binary")
        .with_hint("give -o FILE, or pipe into sluice-show");
  }
  SLUICE_ASSIGN(FileWriter writer, FileWriter::create(output));
  SLUICE_TRY(writer.write(bytes));
  return writer.commit();
}

Result<void> write_changed(ModuleBox& box, const Bytes& before, const std::string& output,
                           const std::string& digest) {
  box.compact();
  SLUICE_TRY(verify(box.module, box.module.level));
  SLUICE_ASSIGN(std::vector<std::byte> after, graph_bytes(box.module, {.is_compact = true}));
  if (after == *before) return write_bytes(*before, output);
  if (const auto own = digest_from_hex(digest)) box.module.made_from.push_back(*own);
  SLUICE_ASSIGN(after, graph_bytes(box.module, {.is_compact = true}));
  return write_bytes(after, output);
}

// Standard output is the graph's.
class Redirected {
 public:
  Redirected() : output_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~Redirected() { ::dup2(output_.get(), STDOUT_FILENO); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  Descriptor output_;
};

Result<Bytes> read_input(const std::string& input) {
  if (input == "-" && ::isatty(STDIN_FILENO) != 0)
    return make_error(ErrorCode::kUsage, "standard input is a terminal").with_hint("try --help");
  SLUICE_ASSIGN(std::vector<std::byte> bytes, read_file(input));
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

}  // namespace

int run_filter(const std::string& program, const std::string& input, const std::string& output,
               const std::string& digest, const std::function<void(Box)>& pass) {
  auto bytes = read_input(input);
  if (!bytes) return end_with(program, std::move(bytes).error(), input, output);
  auto module = read_graph(*bytes, input);
  if (!module) return end_with(program, std::move(module).error(), "", output);
  const auto box = std::make_shared<ModuleBox>(std::move(module).value());
  {
    const Redirected redirected;
    pass(box);
  }
  try {
    auto written = box->edits == 0 ? write_bytes(**bytes, output)
                                   : write_changed(*box, *bytes, output, digest);
    return written ? 0 : end_with(program, std::move(written).error(), "", output);
  } catch (const Failure& failure) {
    return end_with(program, failure.error, "", output);
  }
}

int end_filter(const std::string& program, const std::string& output, bool is_usage,
               const std::string& message, const std::string& hint) {
  const ErrorCode code = is_usage ? ErrorCode::kUsage : ErrorCode::kPassFailed;
  return end_with(program, Error(code, message, hint), "", output);
}

}  // namespace sluice::python
