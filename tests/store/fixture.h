// A store in a folder of its own, and short ways to fill it.
#pragma once

#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "store/artifacts.h"
#include "store/attempts.h"
#include "store/jobs.h"
#include "store/maintenance.h"
#include "store/measurements.h"
#include "store/store.h"
#include "store/sweeps.h"
#include "store/workers.h"
#include "tests/store/store_folder.h"
#include "tests/support/status.h"
#include "tests/support/temporary_folder.h"

namespace longreach::store {

inline WallTime At(int64_t seconds) { return WallTime(std::chrono::seconds(1'700'000'000 + seconds)); }

inline NewJob MakeJob(const std::string& task, const std::string& encoding, bool randomized, double learning_rate, uint32_t seed) {
  NewJob job;
  job.spec = "longreach-job/1\ntask=" + task + "\nencoding=" + encoding + (randomized ? "\nrandomized=true" : "") +
             "\nlearning_rate=" + std::to_string(learning_rate) + "\nseed=" + std::to_string(seed) + "\n";
  job.id = Sha256Of(job.spec);
  job.requirement = {.experiment = "algorithmic", .task = task, .encoding = encoding, .data = ""};
  job.randomized = randomized;
  job.learning_rate = learning_rate;
  job.seed = seed;
  job.steps = 100;
  job.pack_key = Sha256Of(task + encoding + (randomized ? "r" : ""));
  return job;
}

// Jobs of one pack: seeds 0, 1, ...
inline std::vector<NewJob> MakePack(int count, const std::string& task = "even_pairs", const std::string& encoding = "rope") {
  std::vector<NewJob> jobs;
  for (int seed = 0; seed < count; ++seed) jobs.push_back(MakeJob(task, encoding, false, 0.001, static_cast<uint32_t>(seed)));
  return jobs;
}

// Numbers of a sweep's members in order of expansion.
inline std::vector<int64_t> SweepMembers(sql::Connection& db, int64_t sweep) {
  std::vector<int64_t> members;
  absl::StatusOr<sql::Rows> rows = db.Query("SELECT job FROM sweep_jobs WHERE sweep = ? AND role = 'member' ORDER BY position", sweep);
  EXPECT_OK(rows);
  while (rows.ok() && rows->Next()) members.push_back(rows->Get<int64_t>(0));
  EXPECT_TRUE(!rows.ok() || rows->status().ok());
  return members;
}

struct TestStore {
  // One in a folder of its own.
  TestStore() : folder(std::make_unique<StoreFolder>()) { Open(folder->file()); }
  // That at `file`, which is made where nothing is.
  explicit TestStore(const std::filesystem::path& file) { Open(file); }

  void Open(const std::filesystem::path& file) {
    if (file != ":memory:" && !std::filesystem::exists(file)) std::ofstream(file, std::ios::binary) << EmptyStore();
    absl::StatusOr<std::unique_ptr<Store>> opened = Store::Open(file.string());
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) store = *std::move(opened);
  }

  sql::Connection& db() { return store->writer_connection(); }

  // Runs `body` in a transaction of its own.
  absl::Status Write(const std::function<absl::Status(sql::Transaction&)>& body) {
    ASSIGN_OR_RETURN(sql::Transaction tx, sql::Transaction::Begin(db()));
    RETURN_IF_ERROR(body(tx));
    return tx.Commit();
  }

  // Adds a live sweep with these jobs as members; the jobs' numbers.
  std::vector<int64_t> AddSweep(const std::string& name, const std::vector<NewJob>& jobs, int priority = 0, int64_t at = 0) {
    std::vector<int64_t> nums;
    const absl::Status status = Write([&](sql::Transaction& tx) -> absl::Status {
      ASSIGN_OR_RETURN(InsertedJobs inserted, InsertJobs(tx, jobs));
      const std::string spec = "longreach-sweep/1\nname=" + name + "\n";
      ASSIGN_OR_RETURN(int64_t sweep, InsertSweep(tx, {.id = Sha256Of(spec), .name = name, .spec = spec, .priority = priority,
                                                       .submitted_at = At(at), .jobs = std::ssize(jobs)}));
      RETURN_IF_ERROR(AddSweepJobs(tx, sweep, inserted.nums, {}));
      RETURN_IF_ERROR(RefreshWanted(tx, sweep));
      RETURN_IF_ERROR(ReviveCancelledJobs(tx, sweep).status());
      nums = inserted.nums;
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return nums;
  }

  void AddWorker(const std::string& id) {
    EXPECT_OK(Write([&](sql::Transaction& tx) {
      return PutWorker(tx, {.id = id, .name = "name of " + id, .incarnation = 7, .abilities = "{}", .build = "build 1",
                            .device = "cpu", .threads = 2, .pack_limit = 9, .first_seen_at = At(1), .seen_at = At(2), .device_id = "device of " + id});
    }));
  }

  int64_t Start(const std::string& worker, const std::vector<int64_t>& jobs, int64_t at = 10) {
    int64_t attempt = 0;
    EXPECT_OK(Write([&](sql::Transaction& tx) -> absl::Status {
      ASSIGN_OR_RETURN(attempt, StartAttempt(tx, {.worker = worker, .incarnation = 7, .started_at = At(at), .build = "build 1",
                                                  .device = "cpu", .threads = 2, .device_id = "device of " + worker},
                                             jobs));
      return absl::OkStatus();
    }));
    return attempt;
  }

  // Ends an attempt well: each of its jobs has accuracy `score` over all lengths and at length 41.
  void Succeed(int64_t attempt, double score, int64_t at = 20) {
    EXPECT_OK(Write([&](sql::Transaction& tx) -> absl::Status {
      ASSIGN_OR_RETURN(std::vector<JobRow> jobs, JobsOfAttempt(tx, attempt));
      for (const JobRow& job : jobs) {
        RETURN_IF_ERROR(CompleteJob(tx, job.num, attempt,
                                    {.measurements = {{"accuracy", 0, "", score}, {"accuracy", 41, "", score}}}));
      }
      return EndAttempt(tx, attempt, Outcome::kSucceeded, "", "libtorch", At(at));
    }));
  }

  // Puts a file into the artifacts folder, unsettled; its hash. Its row is AddArtifact's.
  std::string PutFile(const std::string& content) {
    const std::string hash = Sha256Of(content);
    absl::StatusOr<ArtifactWriter> writer = store->artifacts().Create(hash, static_cast<int64_t>(content.size()));
    EXPECT_OK(writer);
    EXPECT_OK(writer->Append(content));
    EXPECT_OK(writer->Commit());
    return hash;
  }

  void AddFile(int64_t job, const std::string& kind, int step, int64_t attempt, const std::string& content, int member = 0) {
    const std::string hash = PutFile(content);
    EXPECT_OK(Write([&](sql::Transaction& tx) {
      return AddArtifact(tx, {.job = job, .kind = ParseArtifactKind(kind).value(), .step = step, .attempt = attempt, .member = member, .sha256 = hash,
                              .bytes = static_cast<int64_t>(content.size()), .created_at = At(15)});
    }));
    store->artifacts().Settle(hash);
  }

  JobRow Job(int64_t num) {
    absl::StatusOr<JobRow> job = GetJob(db(), num);
    EXPECT_OK(job);
    return job.ok() ? *job : JobRow{};
  }

  Counts SweepCounts(int64_t sweep) {
    absl::StatusOr<SweepRow> row = GetSweep(db(), sweep);
    EXPECT_OK(row);
    return row.ok() ? row->counts : Counts{};
  }

  std::vector<std::string> Violations(bool read_artifacts = false) {
    absl::StatusOr<CheckReport> report = Check(db(), store->artifacts(), read_artifacts);
    EXPECT_OK(report);
    return report.ok() ? report->violations : std::vector<std::string>{"the check failed"};
  }

  std::unique_ptr<StoreFolder> folder;  // Null: the store lies where a test wants it.
  std::unique_ptr<Store> store;
};

// What MergeSource::CopyFiles() asks of the store that takes over the other.
inline AskParts PartsIn(TestStore& test) {
  return [&test](const NamedFile& file) { return PartsOf(test.db(), file); };
}

// As our trainer writes a checkpoint or weights, with one parameter of one value for each of these jobs: 0 where none is given.
inline std::string PackFileBytes(const std::string& kind, int step, const std::vector<std::string>& jobs, std::vector<float> values = {}) {
  values.resize(jobs.size());
  std::string payload(values.size() * sizeof(float), '\0');
  std::memcpy(payload.data(), values.data(), payload.size());
  std::string joined;
  for (const std::string& job : jobs) joined += (joined.empty() ? "" : "\\n") + job;
  std::string header = R"({"__metadata__":{"format":"longreach-trainer/1","kind":")" + kind + R"(","step":")" + std::to_string(step) + R"(","jobs":")" + joined +
                       R"("},"x":{"dtype":"F32","shape":[)" + std::to_string(values.size()) + R"(],"data_offsets":[0,)" + std::to_string(payload.size()) + "]}}";
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string length(8, '\0');
  for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return length + header + payload;
}

inline void WriteFile(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

inline std::string ReadWhole(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace longreach::store
