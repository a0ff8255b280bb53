#include "scheduler/service/maintenance.h"

#include <algorithm>
#include <future>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/base/build_info.h"
#include "proto/base/text.h"
#include "proto/types/time.h"
#include "scheduler/service/check_members.h"
#include "scheduler/service/mend_members.h"
#include "store/artifacts.h"
#include "store/migrate.h"
#include "store/repair.h"

namespace longreach::service {
namespace {

store::AskParts PartsIn(store::Store& store) {
  return [&store](const store::NamedFile& file) -> absl::StatusOr<std::vector<store::NamedPart>> {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
    return store::PartsOf(snapshot.db(), file);
  };
}

absl::StatusOr<store::CheckReport> CheckNow(store::Store& store, bool read_artifacts, const std::stop_token& stop) {
  store::CheckReport report;
  store::ExpectedFiles expected;
  {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store.ReadToCheck());
    ASSIGN_OR_RETURN(report, store::CheckRows(snapshot.db(), expected, stop, CheckMembers));
  }
  RETURN_IF_ERROR(store::CheckFiles(store.artifacts(), std::move(expected), read_artifacts ? PartsIn(store) : store::AskParts(), stop, report));
  return report;
}

// "2 files of 30 bytes in 'b1.db.artifacts' ...", with the first few.
std::string RemarkOn(const std::vector<store::UnnamedFile>& unnamed, const std::filesystem::path& folder) {
  int64_t bytes = 0;
  std::vector<std::string> names;
  for (const store::UnnamedFile& file : unnamed) {
    bytes += file.bytes;
    names.push_back(fmt::format("{}/{}", file.sha256.substr(0, 2), file.sha256));
  }
  return fmt::format("{} of {} bytes in '{}' that this store does not name: {}; if no other copy of the store does, they can be removed. 'store check --repair' puts them aside",
                     unnamed.size() == 1 ? "1 file" : fmt::format("{} files", unnamed.size()), bytes, folder.string(), JoinSome(names, 3));
}

// What is at stake, and what to do: a remark for each kind of violations.
constexpr std::pair<store::Concern, std::string_view> kAdvice[] = {
    {store::Concern::kFile,
     "the database's file is damaged, or another program has written into it: whatever is read from it may lack something or be wrong, and no other store takes it over in a merge. Stop its "
     "scheduler and keep the file. 'store check --repair' makes indexes anew, where no more is damaged; otherwise put the last copy that is sound in its place (docs/OPERATIONS.md, "
     "Restore); jobs that ended after that copy run again"},
    {store::Concern::kResults,
     "values of these jobs in tables and figures may be lacking or wrong: 'longreach verify JOB' trains one of them again beside the store and compares, and changes nothing. Where they have to be right in "
     "this store, 'store check --repair' has jobs run again whose results are not whole; for values that contradict each other, put the last copy that is sound in its place "
     "(docs/OPERATIONS.md, Restore); jobs that ended after that copy run again"},
    {store::Concern::kMembers,
     "tables, figures and lists of these sweeps show values of jobs that are not theirs, or under another system's name, and may lack some. What jobs have measured is not touched: 'longreach job JOB' "
     "shows it with what the job was trained with. No other store takes this one over in a merge. 'store check --repair' puts a sweep's jobs where its specification has them, if all of them are in this "
     "store and none would be in no sweep after that. For what it leaves, put the last copy that is sound in its place (docs/OPERATIONS.md, Restore); jobs that ended after that copy run again"},
    {store::Concern::kWork,
     "what jobs have measured is not touched where only what is to run, runs or is counted is contradicted: then jobs may stand still, run without need or be counted wrongly, and no other store takes this one "
     "over in a merge. 'store check --repair' puts right what follows from the rest of the store. For what it leaves, put the last copy that is sound in its place (docs/OPERATIONS.md, "
     "Restore); jobs that ended after that copy run again"},
    {store::Concern::kArtifacts,
     "'longreach store merge OTHER' brings files back from a store that has them: a copy of this one, or one in which their jobs ran again with the same build and device. 'store check --repair' "
     "forgets checkpoints and logs whose files are lost, and their jobs go on without them"},
    {store::Concern::kParts,
     "these rows name another job's part of a file, or another file than they say: a worker refuses to begin with such a checkpoint or such weights, and what else reads the weights takes them for "
     "another job's. What jobs have measured is not touched. 'store check --repair' takes from the file itself where each job's part is"},
};

v1::CheckStoreResponse ToResponse(store::CheckReport report, const std::filesystem::path& folder) {
  store::CutFilesShort(report);
  v1::CheckStoreResponse response;
  for (const std::string& violation : report.violations) response.add_violations(report.Told(violation));
  for (const auto& [concern, advice] : kAdvice) {
    if (report.Has(concern)) response.add_remarks(std::string(advice));
  }
  for (const std::string& remark : report.remarks) response.add_remarks(remark);
  if (!report.unnamed.empty()) response.add_remarks(RemarkOn(report.unnamed, folder));
  response.set_sweeps(static_cast<int32_t>(report.sweeps));
  response.set_jobs(static_cast<int32_t>(report.jobs));
  response.set_attempts(static_cast<int32_t>(report.attempts));
  response.set_measurements(static_cast<double>(report.measurements));
  response.set_artifacts(static_cast<int32_t>(report.artifacts));
  return response;
}

// A name beside the store that nobody has.
std::filesystem::path BackupBeforeRepair(const std::filesystem::path& store) {
  std::error_code error;
  for (int number = 1;; ++number) {
    std::filesystem::path file = store.string() + fmt::format(".repair-{}.backup", number);
    if (!std::filesystem::exists(std::filesystem::symlink_status(file, error))) return file;
  }
}

// Asked before: a disk that is full is in the way of the store itself.
absl::Status CheckRoomForBackup(sql::Connection& db, const std::filesystem::path& backup) {
  ASSIGN_OR_RETURN(const double bytes, db.One<double>("SELECT CAST(page_count AS REAL) * page_size FROM pragma_page_count, pragma_page_size"));
  std::error_code unknown;
  const std::filesystem::space_info disk = std::filesystem::space(backup.parent_path(), unknown);
  if (unknown || bytes <= static_cast<double>(disk.available)) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format("there is no room for the backup '{}' that is made before anything is mended: it takes {:.1f} MB, and {:.1f} MB are free; make some room there. "
                                                  "Nothing was changed",
                                                  backup.string(), bytes / 1e6, static_cast<double>(disk.available) / 1e6));
}

// What would be done: all of it is taken back.
absl::StatusOr<store::Mended> TryToMend(store::Writer& writer, const store::CheckReport& found, const store::ArtifactFiles& files, WallTime now) {
  absl::StatusOr<store::Mended> mended = store::Mended();
  const absl::Status taken_back = writer.Run([&](sql::Transaction& tx) -> absl::Status {
    mended = store::Mend(tx, found, files, now, MendMembers);
    return mended.ok() ? absl::AbortedError("only to see what would be done") : mended.status();
  });
  return mended.ok() && !absl::IsAborted(taken_back) ? absl::StatusOr<store::Mended>(taken_back) : std::move(mended);
}

// Leaves those that cannot be moved: they are as good where they are.
void PutAside(store::ArtifactFiles& files, std::vector<store::UnnamedFile>& unnamed, v1::RepairStoreResponse& response) {
  std::vector<std::string> moved;
  std::erase_if(unnamed, [&](const store::UnnamedFile& file) {
    const absl::StatusOr<bool> is_moved = files.MoveAside(file.sha256);
    if (!is_moved.ok() || !*is_moved) return false;
    moved.push_back(file.sha256.substr(0, 8));
    return true;
  });
  if (moved.empty()) return;
  response.add_done(fmt::format("{} that nothing names {} now in '{}': {}", moved.size() == 1 ? "1 file" : fmt::format("{} files", moved.size()), moved.size() == 1 ? "is" : "are",
                                files.folder_aside().string(), JoinSome(moved, 3)));
}

// Adds what is done to the lines. By an index that is damaged the check finds files lost or unnamed that are neither: with one, it looks again once that is made anew.
absl::Status MendNow(store::Store& store, store::Writer& writer, WallTime now, bool indexes, store::CheckReport found, const std::stop_token& stop, v1::RepairStoreResponse& response) {
  store::Mended first, rest;
  if (indexes) {
    RETURN_IF_ERROR(writer.Run([&](sql::Transaction& tx) { return store::MendIndexes(tx, first); }));
    ASSIGN_OR_RETURN(found, CheckNow(store, /*read_artifacts=*/true, stop));
  }
  RETURN_IF_ERROR(writer.Run([&](sql::Transaction& tx) -> absl::Status {
    ASSIGN_OR_RETURN(rest, store::Mend(tx, found, store.artifacts(), now, MendMembers));
    return absl::OkStatus();
  }));
  for (const store::Mended* mended : {&first, &rest}) {
    for (const std::string& line : mended->done) response.add_done(line);
  }
  return absl::OkStatus();
}

// The rows that name copied files are on disk, or it is on disk that nothing came of it.
absl::Status SettleCopies(store::Writer& writer, std::vector<store::Pin>& pins, bool merged) {
  const auto note = [&pins](sql::Transaction& tx) -> absl::Status {
    for (const store::Pin& pin : pins) {
      if (pin.is_new()) RETURN_IF_ERROR(store::NoteUnnamed(tx, pin.sha256()));
    }
    return absl::OkStatus();
  };
  if (!merged) RETURN_IF_ERROR(writer.Run(note));
  for (store::Pin& pin : pins) pin.Settle();
  return absl::OkStatus();
}

absl::StatusOr<store::MergeReport> MergeRows(store::MergeSource& source, store::Writer& writer, Engine& engine, std::string_view path, std::string_view by,
                                             const store::TellMerge& tell) {
  store::MergeReport report;
  Effects effects;
  auto committed = std::make_shared<std::promise<absl::Status>>();  // Shared: it outlives the writer's last touch.
  writer.Submit({.apply = [&](sql::Transaction& tx) -> absl::Status {
                   ASSIGN_OR_RETURN(report, source.Apply(tx, tell));
                   RETURN_IF_ERROR(engine.DropMembers(tx, report.dropped, effects));
                   effects.work = true;
                   effects.news.push_back(StoreMerged(path, report, by));
                   return absl::OkStatus();
                 },
                 .done =
                     [&engine, &effects, committed](const absl::Status& status) {
                       if (status.ok()) engine.Carry(effects);
                       committed->set_value(status);
                     }});
  RETURN_IF_ERROR(committed->get_future().get());
  return report;
}

// The system would read it up to the NUL.
absl::Status CheckPath(const std::string& path, std::string_view what) {
  if (path.empty()) return absl::InvalidArgumentError(fmt::format("path: empty; {}", what));
  if (path.find('\0') != path.npos) return absl::InvalidArgumentError(fmt::format("path: there is a NUL byte in it; {}", what));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::BackupStoreResponse> BackupStore(store::Store& store, const v1::BackupStoreRequest& request, const std::stop_token& stop) {
  RETURN_IF_ERROR(CheckPath(request.path(), "name the file to write"));
  ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
  ASSIGN_OR_RETURN(int64_t bytes, store::Backup(snapshot.db(), request.path(), stop));
  v1::BackupStoreResponse response;
  response.set_bytes(static_cast<double>(bytes));
  return response;
}

absl::StatusOr<v1::CheckStoreResponse> CheckStore(store::Store& store, const v1::CheckStoreRequest& request, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(store::CheckReport report, CheckNow(store, request.artifacts(), stop));
  if (!report.violations.empty() || !report.unnamed.empty()) {
    ASSIGN_OR_RETURN(store::CheckReport again, CheckNow(store, request.artifacts(), stop));
    // All files of a store may be away, so neither is looked for one by one.
    const std::set<std::string_view> before(report.violations.begin(), report.violations.end());
    std::erase_if(again.violations, [&](const std::string& line) { return !before.contains(line); });
    std::erase_if(again.unnamed, [&](const store::UnnamedFile& file) {
      return !std::ranges::binary_search(report.unnamed, file.sha256, {}, &store::UnnamedFile::sha256);
    });
    report = std::move(again);
  }
  return ToResponse(std::move(report), store.artifacts().folder());
}

absl::StatusOr<v1::RepairStoreResponse> RepairStore(store::Store& store, store::Writer& writer, WallTime now, const std::stop_token& stop) {
  v1::RepairStoreResponse response;
  ASSIGN_OR_RETURN(store::CheckReport found, CheckNow(store, /*read_artifacts=*/true, stop));
  ASSIGN_OR_RETURN(const store::Mended planned, TryToMend(writer, found, store.artifacts(), now));
  if (!planned.done.empty()) {
    const std::filesystem::path backup = BackupBeforeRepair(store.file());
    {
      ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
      RETURN_IF_ERROR(CheckRoomForBackup(snapshot.db(), backup));
      RETURN_IF_ERROR(store::CopyBeforeChange(snapshot.db(), backup, stop).status());
    }
    response.set_backup(backup.string());
    RETURN_IF_ERROR(MendNow(store, writer, now, planned.indexes, std::move(found), stop, response));
  }
  ASSIGN_OR_RETURN(store::CheckReport left, CheckNow(store, /*read_artifacts=*/true, stop));
  PutAside(store.artifacts(), left.unnamed, response);
  *response.mutable_check() = ToResponse(std::move(left), store.artifacts().folder());
  return response;
}

absl::StatusOr<v1::MergeStoreResponse> MergeStore(store::Store& store, store::Writer& writer, Engine& engine,
                                                  const v1::MergeStoreRequest& request, const std::stop_token& stop, std::string_view by,
                                                  std::unique_ptr<store::MergeSource> looked_at, const store::TellMerge& tell) {
  RETURN_IF_ERROR(CheckPath(request.path(), "name the file of the other store"));
  std::error_code no_file;  // Which opening it tells.
  if (std::filesystem::equivalent(request.path(), store.file(), no_file)) {
    return absl::FailedPreconditionError(fmt::format("'{}' is this store itself; name another one", request.path()));
  }
  std::unique_ptr<store::MergeSource> source = std::move(looked_at);
  if (source == nullptr) {
    ASSIGN_OR_RETURN(store::MergeSource opened, store::MergeSource::Open(request.path(), {}, stop, CheckMembers));
    source = std::make_unique<store::MergeSource>(std::move(opened));
  }
  RETURN_IF_ERROR(source->Read(stop, CheckMembers));  // If it was only held.
  source->StopWith(stop);
  {
    ASSIGN_OR_RETURN(store::Snapshot snapshot, store.Read());
    RETURN_IF_ERROR(source->Check(snapshot.db()));
  }
  std::vector<store::Pin> pins;  // Held until the rows that name the files are committed.
  const absl::Status copied = source->CopyFiles(store.artifacts(), PartsIn(store), pins, tell);
  absl::StatusOr<store::MergeReport> merged = copied.ok() ? MergeRows(*source, writer, engine, request.path(), by, tell) : absl::StatusOr<store::MergeReport>(copied);
  const absl::Status settled = SettleCopies(writer, pins, merged.ok());
  ASSIGN_OR_RETURN(store::MergeReport report, std::move(merged));
  RETURN_IF_ERROR(settled);
  v1::MergeStoreResponse response;
  response.set_sweeps_added(report.sweeps_added);
  response.set_jobs_added(report.jobs_added);
  response.set_results_added(report.results_added);
  response.set_artifacts_added(report.artifacts_added);
  response.set_results_in_both(report.results_in_both);
  for (std::string& difference : report.differences) response.add_differences(std::move(difference));
  if (report.weights_not_compared > 0) {
    response.add_differences(fmt::format("{} with the same values here and there left other files of weights, which could not be compared: they are missing, damaged or of another trainer. Ours stay",
                                         report.weights_not_compared == 1 ? "1 job" : fmt::format("{} jobs", report.weights_not_compared)));
  }
  if (!report.misplaced.empty()) {
    const size_t more = report.misplaced.size() - 1;
    response.add_differences(fmt::format("here, {}{}: such a row of this store names another job's part of a file that both have, or another file than it says. It stays, and a worker refuses to begin "
                                         "with that part; 'longreach store check --repair' of this store takes from the files where each job's part is",
                                         report.misplaced.front(), more > 0 ? fmt::format(" (and {} more such {})", more, more == 1 ? "row" : "rows") : ""));
  }
  if (report.lacking > 0) {
    response.add_differences(fmt::format("{} of its files {} missing or damaged over there and not here either; a merge of a store that has {} brings {}", report.lacking,
                                         report.lacking == 1 ? "is" : "are", report.lacking == 1 ? "it" : "them", report.lacking == 1 ? "it" : "them"));
  }
  return response;
}

absl::StatusOr<std::unique_ptr<store::MergeSource>> LookBeforeMerge(const std::string& path, const std::stop_token& stop) {
  RETURN_IF_ERROR(CheckPath(path, "name the file of the other store"));
  ASSIGN_OR_RETURN(store::MergeSource source, store::MergeSource::Open(path, {}, stop, CheckMembers));
  ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> empty, store::Store::Open(":memory:", {}));
  ASSIGN_OR_RETURN(store::Snapshot snapshot, empty->Read());
  RETURN_IF_ERROR(source.Check(snapshot.db()));
  return std::make_unique<store::MergeSource>(std::move(source));
}

absl::StatusOr<std::unique_ptr<store::MergeSource>> HoldForMerge(const std::string& path, const store::Store& store) {
  std::unique_ptr<store::MergeSource> held;
  std::error_code no_file;
  if (!CheckPath(path, "").ok() || std::filesystem::equivalent(path, store.file(), no_file)) return held;
  absl::StatusOr<store::MergeSource> source = store::MergeSource::Hold(path);
  if (source.ok()) held = std::make_unique<store::MergeSource>(*std::move(source));
  else if (source.status().GetPayload(store::kHeldAt).has_value()) return source.status();
  return held;
}

absl::StatusOr<v1::GetInfoResponse> GetInfo(const store::Store& store, WallTime now) {
  v1::GetInfoResponse response;
  response.set_build(BuildDescription());
  response.set_protocol(kProtocolVersion);
  response.set_store_version(store::SchemaVersion());
  response.set_store_path(store.name());
  response.set_store_version_found(store.version_found());
  *response.mutable_now() = ToTimestamp(now);
  return response;
}

}  // namespace longreach::service
