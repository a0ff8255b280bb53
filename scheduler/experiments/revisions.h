// The revisions of what jobs use, and how a sweep's text says them: a raised one makes another sweep of the same specification, as it
// makes other jobs of those that use it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "longreach/v1/spec.pb.h"

namespace longreach::experiments {

// Only those above 1: what is not named here has its first revision.
struct Revisions {
  std::map<std::string, int, std::less<>> task{};
  std::map<std::string, int, std::less<>> encoding{};
  int model = 1;

  bool operator==(const Revisions&) const = default;
  bool AllAreFirst() const { return *this == Revisions{}; }
  // Of a job with this task and encoding.
  v1::Revisions Of(std::string_view task_name, std::string_view encoding_name) const;
  // Takes in what a complete job uses.
  void Add(const v1::JobSpec& job);
};

// Those of proto/catalog: what is submitted today is computed by them.
Revisions CatalogRevisions();

// "revisions.encoding.rope=2\n": a line for each, ascending; none if all are first ones, so that the first release's ids stay.
std::string ToLines(const Revisions& revisions);

// A sweep's stored text in its two parts. Lines of another form stay where they are, for whoever reads the specification to refuse.
struct SweepText {
  std::string specification{};
  Revisions revisions{};
};
SweepText SplitSweepText(std::string_view canonical);

}  // namespace longreach::experiments
