// The settings of a sweep's systems as their jobs have them. A specification leaves out what is a default, which the scheduler knows, and
// says what some of the encodings do not use.
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

  // From a table whose rows are systems, tasks and values of this setting, and whose columns are encodings: jobs have the value of the row that
  // they are in.
  void Learn(const std::string& path, const v1::Table& table);

  const v1::SweepSpec& spec() const { return spec_; }
  // Of the first of its tasks and encodings that have it. Empty: its jobs do not have this setting; or nobody was asked, and neither system nor
  // sweep says it.
  std::string Of(const v1::System& system, const std::string& path) const;
  // Empty: this job does not have the setting, is of no system, or nobody was asked.
  std::string OfJob(const v1::Job& job, const std::string& path) const;
  // Of all systems, as jobs have it; where they do not have it, nothing.
  std::set<std::string> AllOf(const std::string& path) const;
  // Its jobs have a value as --only asks for it of a setting. What nobody was asked for and nobody says may be any.
  bool MayBe(const v1::System& system, const AxisChoice& asked) const;

 private:
  struct Values {
    std::string first;                                             // Of what has one.
    std::map<std::pair<std::string, std::string>, std::string> of;  // By task and encoding.
  };

  const Values* Learnt(const std::string& system, const std::string& path) const;

  v1::SweepSpec spec_;
  std::map<std::pair<std::string, std::string>, Values> learnt_;  // By the name of a system and a setting's path.
};

}  // namespace longreach::client
