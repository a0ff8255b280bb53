// The part of a merge that writes: inside of the store only; callers use MergeSource (maintenance.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "store/artifact_files.h"
#include "store/jobs.h"
#include "store/maintenance.h"

namespace longreach::store {

// FAILED_PRECONDITION: what the two have cannot be in one store, or `theirs` is not at rest. DATA_LOSS: rows of `theirs` cannot be taken over.
absl::Status CheckMerge(sql::Connection& theirs, sql::Connection& ours);

// Hashes of files that rows of the other store name.
struct FilesOfMerge {
  std::set<std::string> lacking{};  // Whole neither there nor here. What rows say of them is taken over, so that another merge can bring them, but no checkpoint.
  // They came for this merge, or for one that was not recorded: those that no row comes to name go again. Others that were here before may be named by a copy of the database.
  std::set<std::string> unsettled{};
  // By the ids of jobs that have a result with the same values there and here, and other files of weights: whether these say the same. What is not here could not be compared.
  std::map<std::string, bool> same_weights{};
};

// How the result of a job over there differs from ours: the first value that does, and how many more do. Empty: in none.
absl::StatusOr<std::string> DifferenceOfResults(sql::Connection& theirs, const JobRow& job, sql::Connection& ours, const JobRow& own);

// Weights of one job that two runs have left. A pack's file has the weights of all of its jobs, so that two may be other files and have the same of this one.
struct TwoFiles {
  std::string theirs{};  // Hashes.
  std::string ours{};
};
// Nothing: they are the same file's same part, or one of the two has none.
absl::StatusOr<std::optional<TwoFiles>> OtherFilesOfWeights(sql::Connection& theirs, int64_t job, sql::Connection& ours, int64_t own);
// By the ids of jobs whose results do not differ.
absl::StatusOr<std::map<std::string, TwoFiles>> WeightsToCompare(sql::Connection& theirs, sql::Connection& ours);
// Adds which of them say the same. `files` has what there is of both. Reads the files, as far as they are of these jobs by what they say themselves: a row may name another job's part.
absl::Status CompareWeights(const std::map<std::string, TwoFiles>& pairs, const ArtifactFiles& files, const std::stop_token& stop, std::map<std::string, bool>& same);

// The jobs with a result that were made of another run of `source` than the one which is here.
absl::StatusOr<std::vector<int64_t>> MadeOfAnotherRun(sql::Connection& db, int64_t source);

// Everything of `theirs` that `ours` lacks. The rows of `theirs` are sound (CheckRows) and not written while this runs. As CheckMerge. `tell` is given the jobs.
absl::StatusOr<MergeReport> MergeRows(sql::Connection& theirs, sql::Transaction& ours, const FilesOfMerge& files, const TellMerge& tell = {});

}  // namespace longreach::store
