// JSON as scripts read it: proto3 JSON of the protocol's messages with the proto's field names and defaults
// printed, and "schema" as the first key. NaN and infinities are the texts "NaN", "Infinity", "-Infinity",
// as proto3 JSON has them.
#pragma once

#include <google/protobuf/message.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace longreach::client {

inline constexpr std::string_view kJsonSchema = "longreach/v1";

// A quoted JSON string; broken UTF-8 becomes U+FFFD.
std::string JsonText(std::string_view text);

// A JSON number, or the text that proto3 JSON writes where there is none.
std::string JsonNumber(double value);

// A message without the schema key, on one line.
std::string JsonOf(const google::protobuf::Message& message);

// An object, in which each of these members that is a number is null: nobody knows it, and its message has no other word for that than 0.
std::string WithNulls(std::string object, std::initializer_list<std::string_view> members);

// A message with the schema key first. Ends with a line feed.
std::string JsonDocument(const google::protobuf::Message& message);

// The same of a message that is written already, as JsonOf() has it.
std::string JsonDocumentOf(const std::string& object);

// {"schema":..., NAME: VALUE, ...}; the values are JSON already. Ends with a line feed.
std::string JsonDocument(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace longreach::client
