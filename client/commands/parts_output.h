// What a command says of each of several sweeps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/session.h"

namespace longreach::client {

// As JSON in one document, {"parts": [...]}, where there are several.
class PartsOutput {
 public:
  // `several` is whether the user named a sweep of parts.
  PartsOutput(Session& session, bool several) : session_(session), several_(several) {}
  bool several() const { return several_; }
  // This is the first that is printed: true once.
  bool TakeFirst() { return std::exchange(first_, false); }
  // Before what is said of a sweep for people to read: its name, where there are several.
  void Begin(const std::string& sweep);
  // Members of a JSON object, whose values are JSON already.
  using Members = std::vector<std::pair<std::string, std::string>>;
  // A message is a document of its own where there is one sweep alone, and under `key` beside the sweep's name where there are more.
  void Add(const std::string& sweep, const std::string& key, const google::protobuf::Message& message);
  // The same of a message that is written already, as JsonOf() has it.
  void AddJson(const std::string& sweep, const std::string& key, const std::string& object);
  void Add(const Members& members);
  // After the last one.
  void Finish();

 private:
  Session& session_;
  bool several_;
  bool first_ = true;
  bool begun_ = false;
  std::vector<std::string> parts_;
};

}  // namespace longreach::client
