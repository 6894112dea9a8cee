// The command line of a program, parsed by the program's own usage text (docopt), so that help and
// behaviour cannot differ. Only command_line.cc includes the docopt library: docopt throws, and by
// itself it exits with codes that Sluice does not use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace sluice {

class CommandLine {
 public:
  enum class Request { kRun, kHelp, kVersion };

  // Parses the arguments. -q, --quiet, where the usage text has it, silences the log
  // (common/base/log.h). Errors: kUsage for wrong arguments, kBadOption for "--name=" without a
  // value, kInternal for a usage text that docopt cannot read. "-" is an ordinary argument.
  static Result<CommandLine> parse(std::string_view usage, int argc, const char* const* argv);

  Request request() const { return request_; }
  // Returns true when it was given, or has a default in the usage text.
  bool has(std::string_view name) const { return !list(name).empty(); }
  // Returns whether the usage text has the option.
  bool knows(std::string_view name) const { return values_.contains(name); }
  // Adds an option that was given elsewhere, with the effect of one that was typed; the value of a
  // flag is empty.
  void give(const std::string& name, std::string value);
  bool flag(std::string_view name) const;         // an option without value, or a command word
  std::string text(std::string_view name) const;  // the last value; empty when absent
  // Returns all values of a repeatable option or argument.
  const std::vector<std::string>& list(std::string_view name) const;

 private:
  Request request_ = Request::kRun;
  // By "--name", "-o" or "<name>"; a flag has one empty text.
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

}  // namespace sluice
