// Looking after a store: backup, check, merge.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "proto/types/artifact_kind.h"
#include "store/artifact_files.h"
#include "store/sql/connection.h"
#include "store/sweeps.h"

namespace longreach::store {

// All of these may take minutes. Once a stop is requested they end with UNAVAILABLE (sql::Stopped) and leave nothing half-written.

// Writes a consistent copy of the database to a new file, synced; its size. The artifacts are not copied.
// The copy goes elsewhere: its artifacts are in the folder beside it, wherever the store has its own. ALREADY_EXISTS: there is such a file; it is left alone.
absl::StatusOr<int64_t> Backup(sql::Connection& db, const std::filesystem::path& target, const std::stop_token& stop = {});
// The same to put back in the store's place: nothing of it is another.
absl::StatusOr<int64_t> CopyBeforeChange(sql::Connection& db, const std::filesystem::path& target, const std::stop_token& stop = {});

// A file in the artifacts folder that neither a row nor a mark knows.
struct UnnamedFile {
  std::string sha256{};
  int64_t bytes = 0;
};

// What a violation puts at stake, and so what is to be done about it.
enum class Concern {
  kFile,       // What SQLite itself and the schema's rules find, and ids: the database's file was damaged, or another program wrote into it.
  kResults,    // Values that tables show.
  kMembers,    // Whose values tables show where: members of sweeps.
  kWork,       // What is to run, runs, is counted and was attempted.
  kArtifacts,  // Files that are missing or not as their rows say.
  kParts,      // Files that are whole and, by what they say of themselves, not of the jobs whose rows name them.
};

// A row of a file that has a member axis.
struct NamedPart {
  int64_t job = 0;
  std::string id{};
  ArtifactKind kind = ArtifactKind::kCheckpoint;
  int step = 0;
  int64_t attempt = 0;
  int member = 0;
};
// A file that rows name.
struct NamedFile {
  std::string sha256{};
  int64_t bytes = 0;
  std::optional<ArtifactKind> kind{};  // Of those that its rows have, the first by its word; nothing: none that is known.
  int64_t rows = 0;
  // For people: "checkpoint 1f3a92c0 of 9 jobs".
  std::string What() const;
};
// What the rows of a file that has a member axis say of its parts; none: it has no such rows. Reads an index, and no more rows than these and others of this hash.
absl::StatusOr<std::vector<NamedPart>> PartsOf(sql::Connection& db, const NamedFile& file);
// Asks that of a store, for one file at a time: parts are as many as jobs, and files that are read may take hours, for which no snapshot is to stay open.
using AskParts = std::function<absl::StatusOr<std::vector<NamedPart>>(const NamedFile& file)>;
// A row that is not what its file says.
struct MisplacedPart {
  std::string sha256{};
  NamedPart part{};
  std::optional<int> member{};  // Where the file has that job; nothing: nowhere, or it is no such file.
};

struct CheckReport {
  // One line each; none: the store is sound. At most kMaxViolations of each kind, but of files each (CutFilesShort).
  std::vector<std::string> violations{};
  std::map<std::string, Concern> concerns{};  // Of these lines, but for those that count what there is no place for.
  // Of the lines that SQLite says alike of several rows: how often. No part of the line, as it may be another number in the next check.
  std::map<std::string, int64_t> times{};
  // One line each on what is no violation and worth a look.
  std::vector<std::string> remarks{};
  // Ascending by hash. No violation: such a file may be named by another copy of the database.
  std::vector<UnnamedFile> unnamed{};
  // What the lines on files are of, all of them but those of files that cannot be looked at now, for whoever mends it (repair.h).
  std::vector<NamedFile> lost{};
  std::vector<MisplacedPart> misplaced{};
  int64_t sweeps = 0;
  int64_t jobs = 0;
  int64_t attempts = 0;
  int64_t measurements = 0;
  int64_t artifacts = 0;

  void Add(std::string line, Concern concern);
  // Behind those of one kind: that there are more than kMaxViolations of them, if that is so.
  void SayHowManyMore(int64_t count);
  // Whether one of the violations is of that.
  bool Has(Concern concern) const;
  // One of them as people are told it: with how often it is so, if that is more than once.
  std::string Told(const std::string& violation) const;
};
inline constexpr int kMaxViolations = 20;
// So many faults SQLite is asked for: each row with a value that the schema does not admit is one.
inline constexpr int64_t kMostFaults = 100'000;
// What CheckRows() finds out of the files that there should be.
struct ExpectedFiles {
  std::vector<NamedFile> named{};     // Ascending by hash. There may be one for each job, so that what is kept of one is little.
  std::vector<std::string> unused{};  // Hashes of those that are to be removed, ascending.
};
// What of the rows this library cannot know, as it knows no experiments: adds that to the report. Its queries are those that a stop ends. Empty: it is not looked at.
using CheckMore = std::function<absl::Status(sql::Connection&, CheckReport&)>;
// The two halves of Check(): files may take hours, and a snapshot that is open for so long has the store's log grow.
absl::StatusOr<CheckReport> CheckRows(sql::Connection& db, ExpectedFiles& expected, const std::stop_token& stop = {}, const CheckMore& more = {});
// `parts_of` is asked of each file that is read; empty: none is.
absl::Status CheckFiles(const ArtifactFiles& files, ExpectedFiles expected, const AskParts& parts_of, const std::stop_token& stop, CheckReport& report);
// Adds what a file says of its parts otherwise than these rows that name it. Reads no more than its header: of one that is not whole it means nothing. Its name is a hash.
void CheckParts(const ArtifactFiles& files, const NamedFile& file, const std::vector<NamedPart>& parts, CheckReport& report);
// Runs the ledger checks of schema/check.sql and SQLite's own, and looks whether each artifact's file is there with its size, and with
// `read_artifacts` whether it still has its hash, whether our trainer's say that they are of the jobs whose rows name them, and which files nobody knows. Changes nothing. While a scheduler writes, a file that
// comes in between is among these: what two checks find is so.
absl::StatusOr<CheckReport> Check(sql::Connection& db, const ArtifactFiles& files, bool read_artifacts, const std::stop_token& stop = {}, const CheckMore& more = {});
// Of what is wrong with files, the first kMaxViolations stay and the others are counted: without its folder a store lacks all of them. For what people are shown,
// once it is known which of two checks agree.
void CutFilesShort(CheckReport& report);

struct MergeReport {
  int sweeps_added = 0;
  int jobs_added = 0;
  int results_added = 0;
  int artifacts_added = 0;  // Rows: one for each job that a file belongs to.
  int results_in_both = 0;
  // One line per job whose results differ, if only in their weights, of which ours stay; and per job whose result came though it was made of another one than ours, or is here and was made of
  // another one than came.
  std::vector<std::string> differences{};
  int weights_not_compared = 0;  // Jobs with the same values here and there whose weights are of other files, which could not be read or are of another trainer.
  int lacking = 0;  // Files that are missing or damaged over there, and were not here either.
  // One line per row of ours that names another job's part of a file which both stores name and which is here now, or another file than it says.
  std::vector<std::string> misplaced{};
  // Jobs that were leased here and have their result now; they are no members of their attempts any more. The caller ends
  // attempts that have no member left, and tells their workers.
  std::vector<DroppedJob> dropped{};
};

// How far a merge is.
struct MergeStep {
  enum class Part {
    kFiles,  // Bytes of files, also of those that are here already.
    kJobs,
  };
  Part part = Part::kFiles;
  double done = 0;
  double of = 0;
};
// Told by what takes long, often, on the thread that does it. Empty: nobody listens.
using TellMerge = std::function<void(const MergeStep&)>;

// Another store's file, held and read for a merge.
class MergeSource {
 public:
  // `artifacts` empty: where that store has them (FolderToRead(), artifacts_folder.h).
  // One that may not be written is read as it is at this moment (copy_to_read.h), whoever works on it and of whatever older version it is.
  // NOT_FOUND; FAILED_PRECONDITION: open in a scheduler, of another version (an older one: migrate it first), not one of ours;
  // DATA_LOSS: not a database, or CheckRows finds violations in it, or a file there that is whole says that it is not of the job whose row names it.
  // Reading the rows of a large one takes minutes. A stop also ends what is done with it later.
  static absl::StatusOr<MergeSource> Open(const std::filesystem::path& file, const std::filesystem::path& artifacts = {},
                                          const std::stop_token& stop = {}, const CheckMore& more = {});
  // What Open() does but for reading the rows, which Read() then does, once: neither takes over what is not sound.
  static absl::StatusOr<MergeSource> Hold(const std::filesystem::path& file, const std::filesystem::path& artifacts = {});
  absl::Status Read(const std::stop_token& stop, const CheckMore& more = {});
  MergeSource(MergeSource&&) noexcept;
  ~MergeSource();

  // From now on this stop ends what is done with it, in the place of the one that it was opened with.
  void StopWith(const std::stop_token& stop);
  // What Apply would refuse, before anything is copied; it also finds whose weights CopyFiles() is to compare. It and what follows come after Read().
  absl::Status Check(sql::Connection& ours);
  // Copies the artifact files that `files` lacks and that are whole over there. Takes long; call it before Apply and not on the writer's thread. The pins keep
  // the files until rows name them; they are to be settled after the commit, or noted (NoteUnnamed) when nothing came of it, also when this
  // fails. DATA_LOSS: a file that is missing there and is here says that it is not of the job whose row over there names it.
  // `ours` is asked what our rows say of each file that is here then: of one that was lacking nobody could tell before.
  absl::Status CopyFiles(ArtifactFiles& files, const AskParts& ours, std::vector<Pin>& pins, const TellMerge& tell = {});
  // Takes over jobs, results, attempts (under new numbers), sweeps, workers, data sets and artifacts. A job that both have keeps the
  // result it has; one that is unfinished here and finished there gets that result; one that is unfinished in both goes on from the
  // later checkpoint, unless it runs. The same merge again adds nothing.
  // FAILED_PRECONDITION: a data set's name stands for other bytes there, or a sweep there is not all there or not at rest yet.
  absl::StatusOr<MergeReport> Apply(sql::Transaction& tx, const TellMerge& tell = {});

 private:
  struct Impl;
  explicit MergeSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace longreach::store
