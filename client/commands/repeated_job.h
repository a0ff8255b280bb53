// What a job has measured, beside what the same job measured when it was trained once more: on one processor and build with one engine these
// are the same bits (DESIGN section 3).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/connection.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/status.h"

namespace longreach::client {

// All that a job left to compare, and by what it was computed.
struct JobRecord {
  v1::GetJobResponse job;
  std::vector<v1::Measurement> measurements;
  std::vector<v1::Measurement> losses;             // Of training, by step.
  std::map<std::string, std::string> data_sets{};  // Name and SHA-256 of those that it reads.

  // The attempt whose result was accepted; nullptr: none was.
  const v1::AttemptInfo* Accepted() const;
};

// NOT_FOUND: there is no such job. INVALID_ARGUMENT: there are several.
absl::StatusOr<JobRecord> ReadRecord(Connection& connection, const std::string& job);
// Of what was asked for already.
JobRecord RecordOf(v1::GetJobResponse job, std::vector<v1::Measurement> measurements, std::vector<v1::Measurement> losses, const v1::ListDataSetsResponse& sets);

// A value that is not the same, bit for bit, or that one side lacks.
struct DifferentValue {
  std::string metric;
  int length = 0;
  std::string slice;
  std::optional<double> recorded;
  std::optional<double> again;
};

struct RepeatedJob {
  int measurements = 0;  // That either has.
  int losses = 0;
  // Ascending by metric, length and slice. Of losses the first step alone: all that follow have other parameters.
  std::vector<DifferentValue> different;
  int losses_different = 0;
  bool series_differ = false;
  bool diverged_differs = false;

  bool Same() const { return different.empty() && !series_differ && !diverged_differs; }
};

// Losses are compared at the steps that both have.
RepeatedJob Compare(const JobRecord& recorded, const JobRecord& again);

// Why the bits may well be others; none: nothing that is recorded explains it.
std::vector<std::string> WhyDifferent(const JobRecord& recorded, const JobRecord& again);

// "lanes-avx512 on AMD EPYC, AVX-512, 2 threads; 0.1.0 (...)".
std::string ComputedBy(const JobRecord& record);

}  // namespace longreach::client
