#include <functional>

#include <fmt/format.h>

#include "proto/base/shell_word.h"
#include "store/artifacts_folder.h"
#include "store/database_file.h"
#include "store/file_lock.h"
#include "store/maintenance.h"
#include "store/merge.h"
#include "store/migrate.h"
#include "store/store.h"

namespace longreach::store {
namespace {

constexpr size_t kReadAtOnce = size_t{1} << 20;

// NOT_FOUND, DATA_LOSS: `from` has no such file, or not with these bytes. `tell` is given the bytes that are copied of it.
absl::Status CopyFile(const ArtifactFiles& from, ArtifactFiles& to, const std::string& hash, int64_t bytes,
                      const std::stop_token& stop, std::vector<Pin>& pins, const std::function<void(double)>& tell) {
  if (std::optional<Pin> pin = to.FindAndPin(hash, bytes); pin.has_value()) {
    pins.push_back(*std::move(pin));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(ArtifactReader reader, ArtifactReader::Open(from, hash));
  ASSIGN_OR_RETURN(ArtifactWriter writer, to.Create(hash, bytes));
  for (double copied = 0;; tell(copied)) {
    if (stop.stop_requested()) return sql::Stopped();
    ASSIGN_OR_RETURN(std::string chunk, reader.Next(kReadAtOnce));
    if (chunk.empty()) break;
    RETURN_IF_ERROR(writer.Append(chunk));
    copied += static_cast<double>(chunk.size());
  }
  ASSIGN_OR_RETURN(Pin pin, writer.Commit());
  pins.push_back(std::move(pin));
  return absl::OkStatus();
}

// Whoever asks its scheduler, as one does otherwise, asks that one to merge itself.
absl::Status HeldElsewhere(const absl::Status& refused, const std::filesystem::path& file) {
  const auto address = refused.GetPayload(kHeldAt);
  if (!address.has_value()) return refused;
  const std::string at(*address);
  const auto soon_free = refused.GetPayload(kSoonFree);
  absl::Status held = absl::FailedPreconditionError(
      fmt::format("the store '{}' is held by another scheduler{}, and is merged while nobody has it open; {}, or merge a copy that it writes, which has all results but no files: "
                  "'longreach store backup FILE{}'",
                  file.string(), at.empty() ? "" : ", at " + at,
                  soon_free.has_value() ? "it is that of a command, as 'longreach store check': try again when that has ended" : "stop that one",
                  at.empty() ? "" : " --scheduler " + ShellWord(at)));
  held.SetPayload(kHeldAt, *address);
  if (soon_free.has_value()) held.SetPayload(kSoonFree, *soon_free);
  held.SetPayload(kIsMerged, absl::Cord());
  return held;
}

// Files that say otherwise than their rows whose parts they are.
struct Misplaced {
  std::string first{};
  size_t rows = 0;

  void Look(const ArtifactFiles& files, const NamedFile& file, const std::vector<NamedPart>& parts, const std::stop_token& stop) {
    CheckReport found;
    CheckParts(files, file, parts, found);
    // A damaged one may say anything, and does not come.
    if (found.violations.empty() || !files.Verify(file.sha256, stop).ok()) return;
    if (rows == 0) first = fmt::format("{} (the file '{}')", found.Told(found.violations.front()), files.PathOf(file.sha256).string());
    rows += found.violations.size();
  }

  // Here it would take the place of a checkpoint that can be gone on from, and `job` would say of another one's weights that they are this job's.
  absl::Status Refusal(const std::filesystem::path& store) const {
    if (rows == 0) return absl::OkStatus();
    return absl::DataLossError(fmt::format("'{0}' is not sound, nothing was merged: {1}{2}; 'longreach store check --repair --store {3}' takes from such files whose parts they are. If it leaves some, "
                                           "merge a copy that 'longreach store backup FILE --store {3}' writes, which has all results but no files",
                                           store.string(), first, rows > 1 ? fmt::format(" (and {} more)", rows - 1) : "", ShellWord(store.string())));
  }
};

// Lines on rows of ours that are as they were found: the merge itself takes the place of some, as of a checkpoint.
absl::StatusOr<std::vector<std::string>> StillMisplaced(const CheckReport& found, sql::Connection& ours) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < found.misplaced.size(); ++i) {
    const auto& [sha256, part, _] = found.misplaced[i];
    ASSIGN_OR_RETURN(const bool is_there, ours.One<bool>("SELECT EXISTS (SELECT 1 FROM artifacts WHERE job = ? AND kind = ? AND step = ? AND attempt = ? AND member = ? AND sha256 = ?)", part.job,
                                                         Word(part.kind), part.step, part.attempt, part.member, sha256));
    if (is_there) lines.push_back(found.violations[i]);
  }
  return lines;
}

}  // namespace

struct MergeSource::Impl {
  std::filesystem::path file;   // As it was named.
  bool is_read = false;
  std::unique_ptr<Store> copy;  // Of a store that may not be written.
  std::unique_ptr<FileLock> lock;
  std::unique_ptr<ArtifactFiles> files;
  std::unique_ptr<sql::Connection> db;
  std::vector<NamedFile> named;   // By its rows, in the order of hashes.
  FilesOfMerge files_of_merge;    // What CopyFiles() has made of them.
  CheckReport here;               // What it has found of our rows: lines, and the rows that they are of.
  std::map<std::string, TwoFiles> weights;  // That it is to compare.
  std::stop_token stop;
  std::unique_ptr<sql::StopQueries> stopping;
};

MergeSource::MergeSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MergeSource::MergeSource(MergeSource&&) noexcept = default;
MergeSource::~MergeSource() = default;

absl::StatusOr<MergeSource> MergeSource::Hold(const std::filesystem::path& file, const std::filesystem::path& artifacts) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    return absl::NotFoundError(fmt::format("'{}' is a folder, and no store to merge; name the file of the store in it", file.string()));
  }
  const bool is_file = std::filesystem::is_regular_file(file, error);
  if (error == std::errc::permission_denied) {
    return absl::FailedPreconditionError(fmt::format("cannot look at '{}': {}: nothing was merged; merge it as a user who may look into its folder, or name a copy of it", file.string(), error.message()));
  }
  if (!is_file) {
    return absl::NotFoundError(fmt::format("there is no store '{}' to merge; name the file of the store to take over", file.string()));
  }
  auto impl = std::make_unique<Impl>();
  impl->file = file;
  std::filesystem::path real = std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
  if (const absl::Status database = RefuseWhatIsNoDatabase(real); !database.ok()) {
    if (absl::IsPermissionDenied(database)) {
      return absl::FailedPreconditionError(fmt::format("{}: nothing was merged; merge it as a user who may read it, or name a copy of it", std::string(database.message())));
    }
    return absl::FailedPreconditionError(fmt::format("'{}' is no store: nothing was merged, and it was left as it is; name the file of the store to take over", file.string()));
  }
  LockToWrite to_write = LockToWrite::Take(real);
  std::filesystem::path folder = artifacts;
  if (absl::IsPermissionDenied(to_write.status)) {
    to_write.lock.reset();  // Store::Open() takes it.
    ASSIGN_OR_RETURN(impl->copy, Store::Open(real.string(), {.artifacts = artifacts, .copy = CopyWhen::kReadOnly}));
    real = impl->copy->file();
    folder = impl->copy->artifacts().folder();
  } else {
    if (!to_write.status.ok()) return HeldElsewhere(to_write.status, file);
    impl->lock = std::move(to_write.lock);
  }
  // Not read-only: after a crash its log must be taken in before it can be read.
  ASSIGN_OR_RETURN(sql::Connection db, sql::Connection::Open(real, sql::Mode::kReadWrite));
  impl->db = std::make_unique<sql::Connection>(std::move(db));
  ASSIGN_OR_RETURN(int version, FoundVersion(*impl->db));
  if (version != SchemaVersion()) {
    return absl::FailedPreconditionError(
        version == 0 ? fmt::format("'{}' is empty: there is nothing to merge", file.string())
                     : fmt::format("'{}' has store version {}, this one {}; run 'longreach store migrate --store {}' first",
                                   file.string(), version, SchemaVersion(), ShellWord(file.string())));
  }
  if (folder.empty()) {
    ASSIGN_OR_RETURN(folder, FolderToRead(real, *impl->db));
  }
  impl->files = ArtifactFiles::OfOtherStore(folder);
  return MergeSource(std::move(impl));
}

absl::StatusOr<MergeSource> MergeSource::Open(const std::filesystem::path& file, const std::filesystem::path& artifacts,
                                              const std::stop_token& stop, const CheckMore& more) {
  ASSIGN_OR_RETURN(MergeSource source, Hold(file, artifacts));
  RETURN_IF_ERROR(source.Read(stop, more));
  source.StopWith(stop);
  return source;
}

absl::Status MergeSource::Read(const std::stop_token& stop, const CheckMore& more) {
  if (impl_->is_read) return absl::OkStatus();
  const std::string file = impl_->file.string();
  impl_->stopping.reset();  // The check stops its connection itself.
  // Results do not hang on files: which of these are whole CopyFiles() finds out.
  ExpectedFiles expected;
  const absl::StatusOr<CheckReport> read = CheckRows(*impl_->db, expected, stop, more);
  if (absl::IsDataLoss(read.status())) return absl::DataLossError(fmt::format("'{}': nothing was merged: {}", file, std::string(read.status().message())));
  ASSIGN_OR_RETURN(const CheckReport report, read);
  if (!report.violations.empty()) {
    return absl::DataLossError(fmt::format("'{0}' is not sound, nothing was merged: {1}{2}; merge a copy of it from before, or run again here what it has\n"
                                           "'longreach store check --store {3}' says what is at stake",
                                           file, report.Told(report.violations[0]), report.violations.size() > 1 ? fmt::format(" (and {} more)", report.violations.size() - 1) : "",
                                           ShellWord(file)));
  }
  Misplaced misplaced;  // Before hours of copying.
  for (const NamedFile& named : expected.named) {
    if (stop.stop_requested()) return sql::Stopped();
    if (!IsSha256(named.sha256)) continue;
    ASSIGN_OR_RETURN(const std::vector<NamedPart> parts, PartsOf(*impl_->db, named));
    misplaced.Look(*impl_->files, named, parts, stop);
  }
  RETURN_IF_ERROR(misplaced.Refusal(impl_->file));
  impl_->named = std::move(expected.named);
  impl_->is_read = true;
  return absl::OkStatus();
}

void MergeSource::StopWith(const std::stop_token& stop) {
  impl_->stopping.reset();  // Of a connection one at a time.
  impl_->stop = stop;
  impl_->stopping = std::make_unique<sql::StopQueries>(*impl_->db, stop);
}

absl::Status MergeSource::Check(sql::Connection& ours) {
  RETURN_IF_ERROR(CheckMerge(*impl_->db, ours));
  ASSIGN_OR_RETURN(impl_->weights, WeightsToCompare(*impl_->db, ours));
  return absl::OkStatus();
}

absl::Status MergeSource::CopyFiles(ArtifactFiles& files, const AskParts& ours, std::vector<Pin>& pins, const TellMerge& tell) {
  ASSIGN_OR_RETURN(const double all, impl_->db->One<double>("SELECT total(bytes) FROM (SELECT DISTINCT sha256, bytes FROM artifacts)"));
  double done = 0;
  Misplaced misplaced;  // Also of files that are missing there and are here.
  const auto tell_of = [&](double of_file) {
    if (tell) tell({.part = MergeStep::Part::kFiles, .done = done + of_file, .of = all});
  };
  for (const NamedFile& file : impl_->named) {
    if (impl_->stop.stop_requested()) return sql::Stopped();
    const std::string& hash = file.sha256;
    if (!IsSha256(hash)) return absl::DataLossError(fmt::format("an artifact over there has the hash '{}', which is none; nothing was merged", hash));
    const absl::Status copied = CopyFile(*impl_->files, files, hash, file.bytes, impl_->stop, pins, tell_of);
    done += static_cast<double>(file.bytes);
    tell_of(0);
    if (copied.ok()) {
      ASSIGN_OR_RETURN(const std::vector<NamedPart> parts, PartsOf(*impl_->db, file));
      misplaced.Look(files, file, parts, impl_->stop);
      // It is whole: it was read, here or on its way.
      ASSIGN_OR_RETURN(const std::vector<NamedPart> own, ours(file));
      CheckParts(files, file, own, impl_->here);
      if (pins.back().is_new() || files.IsUnsettled(hash)) impl_->files_of_merge.unsettled.insert(hash);
      continue;
    }
    const bool is_away = absl::IsUnavailable(copied) && !impl_->files->IsThere();  // The whole folder.
    if (!absl::IsNotFound(copied) && !absl::IsDataLoss(copied) && !is_away) return copied;
    impl_->files_of_merge.lacking.insert(hash);
  }
  RETURN_IF_ERROR(misplaced.Refusal(impl_->file));
  return CompareWeights(impl_->weights, files, impl_->stop, impl_->files_of_merge.same_weights);
}

absl::StatusOr<MergeReport> MergeSource::Apply(sql::Transaction& tx, const TellMerge& tell) {
  if (impl_->stop.stop_requested()) return sql::Stopped();
  ASSIGN_OR_RETURN(MergeReport report, MergeRows(*impl_->db, tx, impl_->files_of_merge, tell));
  report.lacking = static_cast<int>(impl_->files_of_merge.lacking.size());
  ASSIGN_OR_RETURN(report.misplaced, StillMisplaced(impl_->here, tx));
  return report;
}

}  // namespace longreach::store
