// A program's command line, parsed by its own usage text (docopt), so that help and behaviour
// cannot differ. The docopt library is included by command_line.cc alone: it throws, and left to
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
  enum class Wish { kRun, kHelp, kVersion };

  // -q, --quiet, where the usage text has it, silences the log (common/base/log.h). Wrong
  // arguments: kUsage; "--name=" without a value: kBadOption. A usage text that docopt cannot read:
  // kInternal. "-" is an ordinary argument.
  static Result<CommandLine> parse(std::string_view usage, int argc, const char* const* argv);

  Wish wish() const { return wish_; }
  bool has(std::string_view name) const {
    return !list(name).empty();
  }  // given, or has a default in the usage text
  bool flag(std::string_view name) const;         // an option without value, or a command word
  std::string text(std::string_view name) const;  // the last value; empty when absent
  const std::vector<std::string>& list(
      std::string_view name) const;  // all values of a repeatable option or argument

 private:
  Wish wish_ = Wish::kRun;
  std::map<std::string, std::vector<std::string>, std::less<>>
      values_;  // "--name", "-o" or "<name>"; flags hold one empty text
};

}  // namespace sluice
