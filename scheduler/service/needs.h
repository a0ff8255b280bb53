// What a job asks of a worker, with the bytes that the store binds its data set to. Leases are given by it and
// explained by it, so that the two cannot disagree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "longreach/v1/spec.pb.h"
#include "proto/base/status.h"
#include "scheduler/core/packs.h"
#include "store/jobs.h"
#include "store/workers.h"

namespace longreach::service {

// The data sets that a job reads, by name; empty: none.
struct DataSetNames {
  std::string corpus;
  std::string model = {};                 // That it begins with.
  std::string longbench = {};             // Whose tasks a model is asked: never without one.
  std::vector<std::string> mixture = {};  // That it is trained on.

  bool operator==(const DataSetNames&) const = default;
};
DataSetNames DataSetNamesOf(const v1::JobSpec& spec);
// As one text, which a requirement has under `data`: the names with a blank between them, those that there are; first corpus, model and
// LongBench, in this order, then those of the mixture, each with a '+' in front. No name has a blank or a '+' in it.
std::string JoinDataSets(const DataSetNames& names);
DataSetNames SplitDataSets(std::string_view data);
// Those that there are, corpus first.
std::vector<std::string> AllOf(const DataSetNames& names);

// The most jobs like this one that fit into a pack: core::MembersOfMessage() of what it is and measures. One of a kind that this program
// does not know is alone. Packs are leased and planned by it.
int MostInPack(const v1::JobSpec& spec);

absl::StatusOr<core::Needs> NeedsOf(sql::Connection& db, const store::Requirement& requirement);

// False: it begins, and calls before it knows itself.
bool SaysWhatItCanDo(const v1::Abilities& abilities);
// What a worker has told that it can do; nullopt: this program cannot read it.
std::optional<v1::Abilities> AbilitiesOf(const store::WorkerRow& worker);
// The data sets that it has told to have found damaged.
std::vector<v1::DamagedDataSet> DamagedDataSetsOf(const store::WorkerRow& worker);
// core::WhyUnable() of a worker as it has told; empty: it is able.
std::string WhyUnable(const core::Needs& needs, const store::WorkerRow& worker);
// core::LacksOnlyData() of the same.
bool LacksOnlyData(const core::Needs& needs, const store::WorkerRow& worker);

}  // namespace longreach::service
