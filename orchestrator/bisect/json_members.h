// Members of JSON that another program printed; one that is missing or of another kind is empty.
#pragma once

#include <string>

#include "common/base/json.h"

namespace sluice {

inline std::string text_in(const Json& json, const char* name) {
  const Json* member = json.find(name);
  const std::string* text = member == nullptr ? nullptr : member->as_string();
  return text == nullptr ? std::string() : *text;
}

inline const Json::Array& list_in(const Json& json, const char* name) {
  static const Json::Array kNone;
  const Json* member = json.find(name);
  const Json::Array* list = member == nullptr ? nullptr : member->as_array();
  return list == nullptr ? kNone : *list;
}

}  // namespace sluice
