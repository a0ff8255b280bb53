// The axes of a results table: what a job's place on one is called, in which order places stand, and how they are labelled. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"
#include "proto/types/settings.h"
#include "store/jobs.h"

namespace longreach::service {

// One job as a table sees it.
struct TableJob {
  std::string task;
  std::string encoding;  // NAME or NAME:randomized.
  double learning_rate = 0;
  uint32_t seed = 0;
  store::State state = store::State::kQueued;
  bool diverged = false;
  // As stored, before the metric's factor. Of succeeded jobs that have this measurement, and losses of training of all others too.
  std::optional<double> value;
  std::string builds;  // Which trained it, one a line; looked at when there is a value.
  int length = 0;     // Of the value: looked at where lengths are an axis.
  std::vector<int> lengths = {};  // Over which the value is a mean; none: it is no mean.
  // The same job came before, at another length: it is not counted twice.
  bool again = false;
  // The same job came before in the same cell, with another slice of its measurements: it is not counted twice there.
  bool more = false;
  std::string system = {};  // Empty where its sweep has none.
  std::string data = {};    // Its corpus; empty: none.
  // Of the value, by axis: looked at where axes of slices are asked for.
  std::map<std::string, std::string, std::less<>> slice = {};
  // Its own, by path: those that are asked for. nullptr: of none.
  const SettingValues* settings = nullptr;
  std::string engines = {};  // As `builds`; an empty line: nobody knows.
};

// INVALID_ARGUMENT unless it is one of `known`, of catalog::TableAxes(), or a setting's path.
absl::Status CheckAxis(std::string_view field, const std::string& axis, const std::vector<std::string>& known);

// Of the values of a job rather than of the job: lengths and slices.
bool IsOfValues(std::string_view axis);

// `axis` is as CheckAxis() admits it.
std::string KeyOf(const TableJob& job, std::string_view axis);
bool SameKey(const TableJob& a, const TableJob& b, std::string_view axis);

// Keys that `order` lists as it lists them, then the others: tasks by level, encodings plain before randomized, numbers by size,
// systems by their names and the numbers in them, settings by size or as words.
std::vector<std::string> InOrder(std::string_view axis, const std::set<std::string>& keys,
                                 const google::protobuf::RepeatedPtrField<std::string>& order);

// A key of a setting in texts for people: "" is "not set".
std::string ShownKey(const std::string& key);

// Label, group and mark of a key.
v1::TableAxisEntry EntryOf(std::string_view axis, const std::string& key);

// INVALID_ARGUMENT, "FIELD: unknown WHAT 'VALUE'", with the word that is nearest and all that are known.
absl::Status RefuseWord(std::string_view field, std::string_view what, std::string_view value, const std::vector<std::string>& known);

}  // namespace longreach::service
