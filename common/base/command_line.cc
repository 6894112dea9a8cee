#include "common/base/command_line.h"

#include <docopt/docopt.h>

#include <algorithm>
#include <set>

#include "common/base/log.h"

namespace sluice {
namespace {

std::vector<std::string> texts_of(const docopt::value& value) {
  if (value.isString()) return {value.asString()};
  if (value.isStringList()) return value.asStringList();
  const bool set = (value.isBool() && value.asBool()) || (value.isLong() && value.asLong() > 0);
  return set ? std::vector<std::string>{""} : std::vector<std::string>{};
}

bool is_option_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

// The option names that a usage text contains, and those of them that take a value after '=' or '
// ', as written there.
struct KnownOptions {
  std::set<std::string, std::less<>> names;
  std::set<std::string, std::less<>> valued;
};

KnownOptions options_of(std::string_view usage) {
  KnownOptions known;
  for (size_t at = usage.find('-'); at != std::string_view::npos; at = usage.find('-', at)) {
    size_t end = at;
    while (end < usage.size() && is_option_char(usage[end])) ++end;
    const bool starts_word =
        at == 0 || std::string_view(" \n[(|,").find(usage[at - 1]) != std::string_view::npos;
    const std::string name(usage.substr(at, end - at));
    if (starts_word && name.find_first_not_of('-') != std::string::npos) {
      known.names.insert(name);
      const bool has_value =
          end + 1 < usage.size() &&
          (usage[end] == '=' || (usage[end] == ' ' && std::isupper(usage[end + 1]) != 0));
      if (has_value) known.valued.insert(name);
    }
    at = end;
  }
  return known;
}

// Returns the first argument that looks like an option and is none by docopt's rules, which accept
// a long option cut short. Returns an empty text when there is none.
std::string unknown_option(std::string_view usage, const std::vector<std::string>& arguments) {
  const KnownOptions known = options_of(usage);
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-') continue;
    const bool is_long = argument[1] == '-';
    const std::string name =
        is_long ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
    const auto found = known.names.lower_bound(name);
    const bool is_known =
        found != known.names.end() && (is_long ? found->starts_with(name) : *found == name);
    if (!is_known) return name;
    const bool value_is_next =
        known.valued.contains(*found) &&
        (is_long ? argument.find('=') == std::string::npos : argument.size() == 2);
    if (value_is_next) ++i;
  }
  return {};
}

// Returns the first option written as "--name=", for which docopt would take the next argument, or
// an empty text.
std::string option_without_value(std::string_view usage,
                                 const std::vector<std::string>& arguments) {
  const KnownOptions known = options_of(usage);
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--") || argument.find('=') != argument.size() - 1) continue;
    const std::string name = argument.substr(0, argument.size() - 1);
    const auto found = known.valued.lower_bound(name);
    if (found != known.valued.end() && found->starts_with(name)) return *found;
  }
  return {};
}

// Returns the lines of the "Usage:" section.
std::string usage_lines(std::string_view usage) {
  const size_t begin = usage.find("Usage:\n");
  if (begin == std::string_view::npos) return {};
  return std::string(usage.substr(begin + 7, usage.find("\n\n", begin) - begin - 7));
}

// Returns the options with their defaults but without their descriptions: docopt's regular
// expressions would take milliseconds for the sentences.
std::string option_lines(std::string_view usage) {
  constexpr std::string_view kDefault = "[default: ";
  std::string lines = "Options:\n";
  bool in_section = false;
  for (size_t at = 0, end = 0; at < usage.size(); at = end + 1) {
    end = std::min(usage.find('\n', at), usage.size());
    const std::string_view line = usage.substr(at, end - at);
    const size_t dash = line.find_first_not_of(' ');
    if (dash == std::string_view::npos || dash == 0)
      in_section = line.find("ptions:") != std::string_view::npos;
    if (!in_section || dash == 0 || dash == std::string_view::npos) continue;
    if (line[dash] == '-')
      lines += fmt::format("  {}\n", line.substr(dash, line.find("  ", dash) - dash));
    if (const size_t fallback = line.find(kDefault); fallback != std::string_view::npos) {
      lines.insert(
          lines.size() - 1,
          fmt::format("  {}", line.substr(fallback, line.find(']', fallback) + 1 - fallback)));
    }
  }
  return lines;
}

// Returns the text that docopt reads. "--", after which nothing is an option, is allowed wherever
// options are.
std::string grammar(std::string_view usage) {
  constexpr std::string_view kOptions = "[options]";
  std::string text = fmt::format("Usage:\n{}\n\n{}", usage_lines(usage), option_lines(usage));
  const size_t end = text.find("\n\n", text.find("Usage:\n"));
  for (size_t at = text.rfind(kOptions, end); at != std::string::npos;
       at = at == 0 ? std::string::npos : text.rfind(kOptions, at - 1)) {
    text.insert(at + kOptions.size(), " [--]");
  }
  return text;
}

Error wrong_arguments(std::string_view usage, const std::vector<std::string>& arguments,
                      const std::string& reason) {
  if (const std::string option = unknown_option(usage, arguments); !option.empty()) {
    return make_error(ErrorCode::kUsage, "unknown option '{}'", option)
        .with_hint("--help lists the options");
  }
  const bool is_vague = reason.empty() || reason.starts_with("Unexpected argument") ||
                        reason.starts_with("Arguments did not match");
  const char* const what =
      arguments.empty() ? "no argument is given" : "an argument is missing or too much";
  return make_error(ErrorCode::kUsage, "{}",
                    is_vague ? fmt::format("{}; expected\n{}", what, usage_lines(usage)) : reason)
      .with_hint("--help explains them");
}

}  // namespace

Result<CommandLine> CommandLine::parse(std::string_view usage, int argc, const char* const* argv) {
  CommandLine line;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const std::string option = option_without_value(usage, arguments); !option.empty()) {
    return make_error(ErrorCode::kBadOption, "{} is given without a value", option)
        .with_hint("leave the option out for its default");
  }
  try {
    for (const auto& [name, value] : docopt::docopt_parse(grammar(usage), arguments))
      line.values_[name] = texts_of(value);
  } catch (const docopt::DocoptExitHelp&) {
    line.request_ = Request::kHelp;
  } catch (const docopt::DocoptExitVersion&) {
    line.request_ = Request::kVersion;
  } catch (const docopt::DocoptArgumentError& error) {
    return wrong_arguments(usage, arguments, error.what());
  } catch (const std::exception& error) {
    return make_error(ErrorCode::kInternal, "the usage text cannot be read: {}", error.what());
  }
  if (line.flag("--quiet")) silence_log();
  return line;
}

void CommandLine::give(const std::string& name, std::string value) {
  values_[name] = {std::move(value)};
  if (flag("--quiet")) silence_log();
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
