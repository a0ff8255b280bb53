// The settings of a sweep's systems as their jobs have them. A specification leaves out what is a default, which the scheduler knows.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/types/axis_choice.h"
#include "proto/types/settings.h"

namespace longreach::client {

class SystemSettings {
 public:
  // As far as the specification says them.
  explicit SystemSettings(v1::SweepSpec spec) : spec_(std::move(spec)) {}

  // With the values of each setting that a system sets and of those in `others`, from the scheduler: a question for each. Without systems
  // none.
  static absl::StatusOr<SystemSettings> Fetch(Connection& connection, const v1::Sweep& sweep, const std::vector<std::string>& others);
  // The same where settings are among the axes that are `shown` or that `only` (as TableSpec::only) names; for all else the specification
  // does.
  static absl::StatusOr<SystemSettings> FetchFor(Connection& connection, const v1::Sweep& sweep, const std::vector<std::string>& shown,
                                                 const std::vector<std::string>& only);

  // From a table of systems by this setting: a system has the value of the column in which its jobs are.
  void Learn(const std::string& path, const v1::Table& table);

  const v1::SweepSpec& spec() const { return spec_; }
  // Empty: its jobs do not have this setting; or nobody was asked, and neither system nor sweep says it.
  std::string Of(const v1::System& system, const std::string& path) const;
  // Of all systems, as jobs have it; where they do not have it, nothing.
  std::set<std::string> AllOf(const std::string& path) const;
  // Its jobs have a value as --only asks for it of a setting. What nobody was asked for and nobody says may be any.
  bool MayBe(const v1::System& system, const AxisChoice& asked) const;

 private:
  const std::string* Learnt(const v1::System& system, const std::string& path) const;

  v1::SweepSpec spec_;
  std::map<std::string, SettingValues, std::less<>> learnt_;  // By the names of systems.
};

}  // namespace longreach::client
