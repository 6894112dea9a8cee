#include "common/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace sluice {
namespace {

using External = nlohmann::ordered_json;

constexpr int kMaxDepth = 100;  // nesting of values: reading, printing and destroying them recurse

// Finds a key that one object has twice. The library would keep the last value, and nobody would
// know which of the two was meant.
struct RepeatedKey {
  void look(size_t depth, External::parse_event_t event, const External& parsed) {
    if (event == External::parse_event_t::object_start) {
      keys.resize(std::max(keys.size(), depth + 2));
      keys[depth + 1].clear();  // those of this object, which are one deeper
    } else if (event == External::parse_event_t::key && !key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!keys[depth].insert(name).second) key = name;
    }
  }
  std::optional<std::string> key;
  std::vector<std::unordered_set<std::string>> keys;  // by depth
};

Json from_external(const External& external) {
  switch (external.type()) {
    case External::value_t::boolean:
      return Json(external.get<bool>());
    case External::value_t::number_unsigned:  // int64 or, for larger numbers, real
      if (external.get<uint64_t>() > uint64_t{INT64_MAX}) return Json(external.get<double>());
      return Json(external.get<int64_t>());
    case External::value_t::number_integer:
      return Json(external.get<int64_t>());
    case External::value_t::number_float:
      return Json(external.get<double>());
    case External::value_t::string:
      return Json(external.get<std::string>());
    case External::value_t::array: {
      Json::Array array;
      for (const External& element : external) array.push_back(from_external(element));
      return Json(std::move(array));
    }
    case External::value_t::object: {
      Json::Object object;
      for (const auto& [key, value] : external.items())
        object.emplace_back(key, from_external(value));
      return Json(std::move(object));
    }
    default:
      return Json();
  }
}

External to_external(const Json& json) {
  if (const bool* value = json.as_bool()) return External(*value);
  if (const int64_t* value = json.as_int()) return External(*value);
  if (const std::string* value = json.as_string()) return External(*value);
  if (const auto value = json.number()) return External(*value);
  if (const Json::Array* array = json.as_array()) {
    External external = External::array();
    for (const Json& element : *array) external.push_back(to_external(element));
    return external;
  }
  if (const Json::Object* object = json.as_object()) {
    External external = External::object();
    for (const auto& [key, value] : *object) external[key] = to_external(value);
    return external;
  }
  return External();
}

}  // namespace

std::optional<double> Json::number() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  return std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const auto& [name, value] : *object) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Json::set(std::string key, Json value) {
  if (is_null()) value_ = Object{};
  std::get<Object>(value_).emplace_back(std::move(key), std::move(value));
}

void Json::push(Json value) {
  if (is_null()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(value));
}

Result<Json> json_parse(std::string_view text) {
  bool too_deep = false;
  RepeatedKey repeated;
  // The library does not keep the members of a value that is not kept, so memory and, in the
  // functions above, the stack stay bounded.
  const auto keep = [&](int depth, External::parse_event_t event, External& parsed) {
    too_deep = too_deep || depth > kMaxDepth;
    if (depth <= kMaxDepth) repeated.look(static_cast<size_t>(depth), event, parsed);
    return depth <= kMaxDepth;
  };
  try {
    const External external = External::parse(text, keep);
    if (too_deep)
      return make_error(ErrorCode::kBadJson,
                        "lists and objects lie more than {} deep in each other", kMaxDepth);
    if (repeated.key)
      return make_error(ErrorCode::kBadJson,
                        "the key '{}' is there twice in one object, expected once", *repeated.key);
    return from_external(external);
  } catch (const nlohmann::json::exception& failure) {
    return make_error(ErrorCode::kBadJson, "not valid JSON: {}", failure.what());
  }
}

std::string json_dump(const Json& json, int indent) {
  return to_external(json).dump(indent, ' ', false, External::error_handler_t::replace);
}

std::string json_quote(std::string_view text) {
  return External(std::string(text)).dump(-1, ' ', false, External::error_handler_t::replace);
}

}  // namespace sluice
