// JSON values. Only json.cc includes the JSON library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/result.h"

namespace sluice {

// A JSON value. Objects keep the order of their members.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  Json(bool value) : value_(value) {}                            // NOLINT: implicit on purpose
  Json(int value) : value_(static_cast<int64_t>(value)) {}       // NOLINT
  Json(int64_t value) : value_(value) {}                         // NOLINT
  Json(uint64_t value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  Json(double value) : value_(value) {}                          // NOLINT
  Json(std::string value) : value_(std::move(value)) {}          // NOLINT
  Json(const char* value) : value_(std::string(value)) {}        // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}   // NOLINT
  Json(Array value) : value_(std::move(value)) {}                // NOLINT
  Json(Object value) : value_(std::move(value)) {}               // NOLINT

  bool is_null() const { return value_.index() == 0; }
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&value_); }
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }
  std::optional<double> number() const;  // integer or real

  const Json* find(std::string_view key) const;  // null unless this is an object with that member
  void set(std::string key, Json value);         // appends a member; makes a null an object
  void push(Json value);                         // appends an element; makes a null an array

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

Result<Json> json_parse(std::string_view text);
std::string json_dump(const Json& json, int indent = -1);  // indent < 0: one line
// Returns the text with quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

}  // namespace sluice
