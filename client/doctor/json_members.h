// A document of another program, which may be of any version: what is not there, or is of another type, is empty.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace longreach::client {

// null where it is no JSON object.
inline nlohmann::json ParsedObject(std::string_view text) {
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_object() ? parsed : nlohmann::json();
}

inline nlohmann::json Member(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto at = object.find(name);
  return at == object.end() ? nlohmann::json() : *at;
}

inline std::string TextOf(const nlohmann::json& object, const char* name) {
  const nlohmann::json member = Member(object, name);
  return member.is_string() ? member.get<std::string>() : "";
}

inline double NumberOf(const nlohmann::json& object, const char* name) {
  const nlohmann::json member = Member(object, name);
  return member.is_number() ? member.get<double>() : 0;
}

}  // namespace longreach::client
