#include "common/passes_host/inherited_hosts.h"

#include <charconv>

namespace sluice {

std::string print_inherited(const InheritedHosts& hosts) {
  std::string text = fmt::format("{},{},{},{}", hosts.programs_to, hosts.programs_from,
                                 hosts.code_to, hosts.code_from);
  for (const auto& [name, digest] : hosts.digests) text += fmt::format(";{}={}", name, digest);
  return text;
}

Result<InheritedHosts> parse_inherited(std::string_view text) {
  const Error wrong = make_error(ErrorCode::kBadOption, "--pass-host is '{}'", text);
  InheritedHosts hosts;
  std::string_view numbers = text.substr(0, text.find(';'));
  for (int* each : {&hosts.programs_to, &hosts.programs_from, &hosts.code_to, &hosts.code_from}) {
    const auto [end, code] =
        std::from_chars(numbers.data(), numbers.data() + numbers.size(), *each);
    if (code != std::errc()) return wrong;
    numbers.remove_prefix(static_cast<size_t>(end - numbers.data()));
    if (numbers.starts_with(',')) numbers.remove_prefix(1);
  }
  for (size_t at = text.find(';'); at != std::string_view::npos;) {
    const size_t end = text.find(';', at + 1);
    const std::string_view row = text.substr(at + 1, end == text.npos ? end : end - at - 1);
    const size_t equals = row.rfind('=');
    if (equals == std::string_view::npos) return wrong;
    hosts.digests.emplace(row.substr(0, equals), row.substr(equals + 1));
    at = end;
  }
  return hosts;
}

}  // namespace sluice
