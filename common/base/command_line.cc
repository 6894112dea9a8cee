#include "common/base/command_line.h"

#include <docopt/docopt.h>

namespace sluice {
namespace {

std::vector<std::string> texts_of(const docopt::value& value) {
  if (value.isString()) return {value.asString()};
  if (value.isStringList()) return value.asStringList();
  const bool set = (value.isBool() && value.asBool()) || (value.isLong() && value.asLong() > 0);
  return set ? std::vector<std::string>{""} : std::vector<std::string>{};
}

}  // namespace

Result<CommandLine> CommandLine::parse(std::string_view usage, int argc, const char* const* argv) {
  CommandLine line;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    for (const auto& [name, value] : docopt::docopt_parse(std::string(usage), arguments)) line.values_[name] = texts_of(value);
  } catch (const docopt::DocoptExitHelp&) {
    line.wish_ = Wish::kHelp;
  } catch (const docopt::DocoptExitVersion&) {
    line.wish_ = Wish::kVersion;
  } catch (const docopt::DocoptArgumentError& error) {
    const std::string text = error.what();
    return make_error(ErrorCode::kUsage, "{}", text.empty() ? "the arguments fit none of the usages" : text).with_hint("see --help");
  } catch (const std::exception& error) {
    return make_error(ErrorCode::kInternal, "the usage text cannot be read: {}", error.what());
  }
  return line;
}

bool CommandLine::flag(std::string_view name) const { return has(name); }

std::string CommandLine::text(std::string_view name) const {
  const std::vector<std::string>& all = list(name);
  return all.empty() ? std::string() : all.back();
}

const std::vector<std::string>& CommandLine::list(std::string_view name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

}  // namespace sluice
