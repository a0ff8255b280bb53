// What `longreach doctor` says of one thing that it looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace longreach::client {

// The worse, the larger.
enum class CheckState {
  kNotAsked,  // It cannot apply here.
  kOk,
  kWarning,  // Work can go on, and something should be known.
  kFailed,   // Something cannot be done.
};

// As it stands in JSON: "ok", "not_asked".
std::string_view WordOfCheck(CheckState state);
// And for people: "not asked".
std::string_view ShownCheck(CheckState state);

struct Check {
  std::string name;    // Lasting, for scripts: "worker_program".
  CheckState state = CheckState::kNotAsked;
  std::string seen;    // What was found, or why it was not asked.
  std::string advice;  // What to do about it; empty: nothing.
};

bool AnyFailed(const std::vector<Check>& checks);

Check NotAsked(std::string_view name, std::string_view why);

// A check that looks at several things: the worst of their states, all that was seen, and what to do about each.
class Findings {
 public:
  explicit Findings(std::string_view name) { check_.name = name; }

  void Add(CheckState state, std::string_view seen, std::string_view advice = {});
  const Check& check() const { return check_; }

 private:
  Check check_;
};

}  // namespace longreach::client
