#include "orchestrator/compile_all/manifest.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "common/base/command_line.h"
#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/options.h"
#include "fmt/ranges.h"
#include "orchestrator/compile/arguments.h"
#include "orchestrator/compile/usage.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using OptionMap = std::map<std::string, Json>;

Error wrong(const std::string& place, const std::string& what) {
  return make_error(ErrorCode::kBadJson, "{}: {}", place, what);
}

Result<void> check_members(const Json& json, const std::string& place,
                           std::initializer_list<std::string_view> known) {
  if (json.as_object() == nullptr) return wrong(place, "this is no object");
  for (const auto& [name, value] : *json.as_object()) {
    if (std::ranges::find(known, name) == known.end())
      return wrong(place,
                   fmt::format("unknown member '{}', expected {}", name, fmt::join(known, ", ")));
  }
  return {};
}

Result<std::string> text_member(const Json& json, const char* name, const std::string& place) {
  const Json* member = json.find(name);
  if (member == nullptr || member->as_string() == nullptr)
    return wrong(place, fmt::format("'{}' must be a text", name));
  return *member->as_string();
}

// The options that a manifest may have: those that change the product, and those of the import.
// Files beside a model are not in the store.
bool is_of_manifest(const OptionRow& row) {
  if (row.name == "external-weight") return false;
  return row.kind != OptionKind::kNonSemantic || row.name == "strict" ||
         row.name == "unchecked-rules" || row.name == "max-constant-bytes";
}

Result<void> add_options(const Json* json, const std::string& place, OptionMap& options) {
  if (json == nullptr) return {};
  if (json->as_object() == nullptr) return wrong(place, "options are an object");
  for (const auto& [name, value] : *json->as_object()) {
    const OptionRow* row = find_option(name);
    if (row == nullptr || !is_of_manifest(*row)) {
      return make_error(ErrorCode::kBadOption, "{}: '{}' is no option of a compile in a manifest",
                        place, name)
          .with_hint("those that change the product are; sluice compile --help lists them");
    }
    options.insert_or_assign(name, value);
  }
  return {};
}

std::string scalar_text(const Json& value) {
  if (value.as_string() != nullptr) return *value.as_string();
  return json_dump(value);
}

void add_argument(const std::string& name, const Json& value, std::vector<std::string>& arguments) {
  if (const bool* flag = value.as_bool(); flag != nullptr && find_option(name)->is_flag) {
    if (*flag) arguments.push_back("--" + name);
  } else if (value.as_array() != nullptr) {
    for (const Json& each : *value.as_array()) add_argument(name, each, arguments);
  } else {
    arguments.push_back(fmt::format("--{}={}", name, scalar_text(value)));
  }
}

class Manifest {
 public:
  Manifest(const std::string& path, const std::string& output_folder)
      : folder_(fs::path(path).parent_path()),
        output_folder_(output_folder.empty() ? folder_ : fs::path(output_folder)),
        manifest_(whole(path)) {}

  Result<std::vector<CompileRequest>> read(const Json& json) {
    SLUICE_TRY(check_members(json, "the manifest", {"options", "compiles", "matrix"}));
    SLUICE_TRY(add_options(json.find("options"), "options", common_));
    if (const Json* compiles = json.find("compiles")) SLUICE_TRY(read_compiles(*compiles));
    if (const Json* matrix = json.find("matrix")) SLUICE_TRY(read_matrix(*matrix));
    if (requests_.empty()) return wrong("the manifest", "it has no compiles");
    SLUICE_TRY(check_inputs());
    return std::move(requests_);
  }

 private:
  // Returns the path that two names of one file have in common.
  static std::string whole(const fs::path& path) {
    std::error_code failed;
    const fs::path found = fs::weakly_canonical(fs::absolute(path), failed);
    return failed ? path.lexically_normal().string() : found.string();
  }

  // No output may take the place of what is read.
  Result<void> check_inputs() const {
    const auto check = [&](const std::string& path) -> Result<void> {
      const auto output = outputs_.find(path);
      if (output == outputs_.end()) return {};
      return make_error(ErrorCode::kBadOption, "the output of {} would replace '{}', which is read",
                        output->second, path)
          .with_hint("name another file in \"output\", or another folder with -o");
    };
    SLUICE_TRY(check(manifest_));
    for (const CompileRequest& request : requests_) SLUICE_TRY(check(whole(request.input)));
    return {};
  }

  Result<void> read_compiles(const Json& json) {
    if (json.as_array() == nullptr) return wrong("compiles", "this is no list");
    for (size_t i = 0; i < json.as_array()->size(); ++i) {
      const Json& entry = (*json.as_array())[i];
      const std::string place = fmt::format("compiles[{}]", i);
      SLUICE_TRY(check_members(entry, place, {"model", "output", "options"}));
      SLUICE_ASSIGN(const std::string model, text_member(entry, "model", place));
      std::string output = fs::path(model).stem().string() + ".om";
      if (entry.find("output") != nullptr) {
        SLUICE_ASSIGN(output, text_member(entry, "output", place));
      }
      OptionMap options = common_;
      SLUICE_TRY(add_options(entry.find("options"), place + ".options", options));
      SLUICE_TRY(add(model, output, options, place));
    }
    return {};
  }

  // A list of the matrix; one that is absent has one element, which changes nothing.
  static Result<Json::Array> axis(const Json& matrix, const char* name) {
    const Json* member = matrix.find(name);
    if (member == nullptr) return Json::Array{Json()};
    if (member->as_array() == nullptr || member->as_array()->empty())
      return wrong("matrix", fmt::format("'{}' must be a list of at least one", name));
    return *member->as_array();
  }

  Result<void> read_matrix(const Json& json) {
    SLUICE_TRY(check_members(json, "matrix", {"models", "dims", "profiles", "options", "output"}));
    SLUICE_ASSIGN(const Json::Array models, axis(json, "models"));
    SLUICE_ASSIGN(const Json::Array dims, axis(json, "dims"));
    SLUICE_ASSIGN(const Json::Array profiles, axis(json, "profiles"));
    SLUICE_ASSIGN(const Json::Array options, axis(json, "options"));
    SLUICE_ASSIGN(const std::string output, text_member(json, "output", "matrix"));
    for (const Json& model : models) {
      if (model.as_string() == nullptr) return wrong("matrix", "'models' must be a list of texts");
      for (const Json& dim : dims)
        for (const Json& profile : profiles)
          for (size_t i = 0; i < options.size(); ++i)
            SLUICE_TRY(add_cell(*model.as_string(), dim, profile, options[i], i, output));
    }
    return {};
  }

  Result<void> add_cell(const std::string& model, const Json& dims, const Json& profile,
                        const Json& more, size_t number, std::string output) {
    const std::string place = fmt::format("matrix, model {}", model);
    OptionMap options = common_;
    if (!more.is_null()) SLUICE_TRY(add_options(&more, place + ", options", options));
    if (!dims.is_null()) options.insert_or_assign("dim", dims);
    if (!profile.is_null()) options.insert_or_assign("profile", profile);
    std::vector<std::string> dim_texts, profile_texts;
    if (!dims.is_null()) add_argument("dim", dims, dim_texts);
    for (std::string& text : dim_texts) text = text.substr(sizeof("--dim=") - 1);
    replace(output, "{model}", fs::path(model).stem().string());
    replace(output, "{dims}", file_name_of(fmt::format("{}", fmt::join(dim_texts, "-"))));
    replace(output, "{profile}",
            fs::path(profile.is_null() ? "native" : scalar_text(profile)).stem());
    replace(output, "{options}", fmt::format("{}", number));
    if (output.find('{') != std::string::npos)
      return wrong("matrix", fmt::format("'output' is '{}', expected no braces but {{model}}, "
                                         "{{dims}}, {{profile}} and {{options}}",
                                         output));
    return add(model, output, options, place);
  }

  static void replace(std::string& text, const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }

  Result<void> add(const std::string& model, const std::string& output, const OptionMap& options,
                   const std::string& place) {
    std::vector<std::string> arguments = {"sluice-compile"};
    for (const auto& [name, value] : options) add_argument(name, value, arguments);
    arguments.insert(arguments.end(),
                     {"-o", (output_folder_ / output).string(), "--", (folder_ / model).string()});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    auto request = [&]() -> Result<CompileRequest> {
      SLUICE_ASSIGN(
          const CommandLine line,
          CommandLine::parse(compile_usage(), static_cast<int>(pointers.size()), pointers.data()));
      return request_from(line);
    }();
    if (!request) return std::move(request).error().within(place);
    if (output.find('\0') != std::string::npos) return wrong(place, "'output' contains a byte 0");
    const auto [other, is_new] = outputs_.emplace(whole(request->output), place);
    if (!is_new) {
      return make_error(ErrorCode::kBadOption, "{} and {} have one output, '{}'", other->second,
                        place, request->output)
          .with_hint("name what differs in \"output\": {model}, {dims}, {profile}, {options}");
    }
    requests_.push_back(*std::move(request));
    return {};
  }

  const fs::path folder_, output_folder_;
  const std::string manifest_;
  OptionMap common_;
  std::vector<CompileRequest> requests_;
  std::map<std::string, std::string> outputs_;  // to the place that has it
};

}  // namespace

Result<std::vector<CompileRequest>> read_manifest(const std::string& path,
                                                  const std::string& output_folder) {
  SLUICE_ASSIGN(const std::string text, read_text(path));
  auto requests = [&]() -> Result<std::vector<CompileRequest>> {
    SLUICE_ASSIGN(const Json json, json_parse(text));
    return Manifest(path, output_folder).read(json);
  }();
  if (!requests) requests.error().file = path;
  return requests;
}

}  // namespace sluice
