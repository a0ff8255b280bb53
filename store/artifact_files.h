// The artifacts folder: files named by their SHA-256 (ab/abcd...), written beside, synced, renamed, and only then named by a row.
// A file that got its name and may not have a row is unsettled: a mark with its hash lies in tmp/ until it is known. So a crash leaves
// nothing that is never removed, and a file without mark or row is nobody's to remove: it may be named by another copy of the database.
// A process on the same disk that has a file already links it into inbox/ instead of sending its bytes.
// Safe to use from several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "proto/base/sha256.h"
#include "proto/base/status.h"
#include "proto/base/synchronized.h"
#include "store/unfinished_file.h"

namespace longreach::store {

class ArtifactFiles;

// Keeps a file from being removed while no row names it yet. Hold it until a row that names it, or one of `unused_files`, is committed,
// and then settle it; one that goes unsettled leaves the file, unless it was settled before, to RemoveUnsettledFiles (store.h).
class Pin {
 public:
  Pin() = default;
  Pin(Pin&& other) noexcept;
  Pin& operator=(Pin&& other) noexcept;
  ~Pin();
  const std::string& sha256() const { return sha256_; }
  // The file came with this pin: without a row it is nobody's. One that was there before may be somebody's.
  bool is_new() const { return is_new_; }
  void Settle();

 private:
  friend class ArtifactFiles;
  friend class ArtifactWriter;
  Pin(ArtifactFiles* files, std::string sha256) : files_(files), sha256_(std::move(sha256)) {}
  ArtifactFiles* files_ = nullptr;
  std::string sha256_;
  bool is_new_ = false;
  bool settled_ = false;
};

// A file in the making, by Create(), GoOn() or TakeLinked(). Dropped without Commit() or Leave(), it leaves nothing behind.
class ArtifactWriter {
 public:
  ArtifactWriter(ArtifactWriter&& other) noexcept;
  ArtifactWriter& operator=(ArtifactWriter&&) = delete;
  ~ArtifactWriter();

  // What was announced or, of a linked file without an announcement, what it has once it was read.
  const std::string& sha256() const { return sha256_; }
  // Of a linked file: reads on, so many bytes at most. True: that was all of it. FAILED_PRECONDITION: it cannot be read.
  absl::StatusOr<bool> ReadOn(int64_t limit);
  // Of GoOn(): reads on in what was there, so many bytes at most, since they are to be hashed once more. True: that was all of it, and more may be
  // appended. DATA_LOSS: it cannot be read.
  absl::StatusOr<bool> ReadBack(int64_t limit);
  // Bytes that were announced and have not come.
  int64_t missing() const { return announced_ - written_; }
  // RESOURCE_EXHAUSTED: no space. DATA_LOSS: more bytes than announced.
  absl::Status Append(std::string_view bytes);
  // Of one by Create() or GoOn(): what it has by now, for GoOn() later. This writer is at its end.
  absl::StatusOr<UnfinishedFile> Leave();
  // Compares hash and size with what was announced, syncs, renames and syncs the folder; the file is unsettled then.
  // DATA_LOSS: they differ; nothing stays.
  absl::StatusOr<Pin> Commit();

 private:
  friend class ArtifactFiles;
  ArtifactWriter(ArtifactFiles* files, std::string sha256, int64_t bytes, std::filesystem::path temporary, int fd);
  ArtifactFiles* files_;
  std::string sha256_;
  int64_t announced_;
  int64_t written_ = 0;  // And hashed.
  int64_t there_ = 0;    // Of GoOn(): so many bytes were there before.
  std::filesystem::path temporary_;
  int fd_;
  Sha256 hash_;
  std::string found_;  // The hash of what was written, once it is whole.
};

class ArtifactFiles {
 public:
  // Of what is half-written: process and number.
  static bool IsUnfinishedName(std::string_view text);
  // Makes the folder if it is not there, and removes what an earlier process left half-written; what it left unsettled stays, and what has no name of ours.
  static absl::StatusOr<std::unique_ptr<ArtifactFiles>> Open(const std::filesystem::path& folder);

  // Another store's folder, only to be read: nothing is made, and Remove() and Settle() leave everything as it is.
  static std::unique_ptr<ArtifactFiles> OfOtherStore(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  // Where a file lies or would lie. `sha256` must be one (IsSha256()).
  std::filesystem::path PathOf(std::string_view sha256) const;
  // The folder is where Open() found or made it: not that of a disk which is not mounted now.
  bool IsThere() const;

  // A pin on the file if it is there, whole (it is read) and for certain after a power loss too.
  std::optional<Pin> FindAndPin(std::string_view sha256, int64_t bytes);
  // INVALID_ARGUMENT: not a hash, negative size.
  absl::StatusOr<ArtifactWriter> Create(std::string_view sha256, int64_t bytes);
  // A file whose first `from` bytes are those of `part`, which has as many: to be read back to there before anything is appended.
  absl::StatusOr<ArtifactWriter> GoOn(UnfinishedFile part, std::string_view sha256, int64_t bytes, int64_t from);
  // What is asked where the disk has no space for a file, as often as it says that it has made some. Set before any file is written.
  void MakeSpaceBy(std::function<bool()> make_space) { make_space_ = std::move(make_space); }
  // Where links to files may be put for TakeLinked(). What an earlier process left there is removed by Open().
  std::filesystem::path inbox() const { return folder_ / "inbox"; }
  // The file of this name in the inbox, of so many bytes, to be read to its end before Commit(). `sha256` is empty where its hash is not known
  // before. FAILED_PRECONDITION: it cannot be had (not there, no regular file, another size). INVALID_ARGUMENT: the name is none, as IsInboxName.
  absl::StatusOr<ArtifactWriter> TakeLinked(std::string_view name, std::string_view sha256, int64_t bytes);
  // 1 to 128 letters, digits and '-'.
  static bool IsInboxName(std::string_view text);
  // Reads the whole file and compares its hash. NOT_FOUND, DATA_LOSS; UNAVAILABLE once a stop is requested.
  absl::Status Verify(std::string_view sha256, const std::stop_token& stop = {}) const;
  // The text of a small file, verified. NOT_FOUND, DATA_LOSS; RESOURCE_EXHAUSTED when larger than `limit`.
  absl::StatusOr<std::string> Read(std::string_view sha256, int64_t limit) const;
  // What is known, without reading it, to be wrong with a file that a row names: "is missing", "has 3 bytes instead of 9"; "is damaged" when
  // a reader has come upon other bytes than its hash's and the file has not been replaced since. Empty: nothing, or the folder is away.
  std::string WhyLost(std::string_view sha256, int64_t bytes) const;
  // The hashes of all files in the folder, ascending.
  std::vector<std::string> List() const;
  bool HasAny() const { return !List().empty(); }
  // Of those that are unsettled, in any order.
  std::vector<std::string> Unsettled() const;
  bool IsUnsettled(std::string_view sha256) const;
  // Whether pins of unsettled files have gone since this was asked last: there may be something for RemoveUnsettledFiles (store.h).
  bool LeftUnsettled() { return left_unsettled_.exchange(false); }
  // It is known whose the file is, or it is gone.
  void Settle(std::string_view sha256);
  // Removes a file unless it is pinned, or the folder only to be read; true: it is gone, and so is what says that it is unsettled.
  absl::StatusOr<bool> Remove(std::string_view sha256);
  // Where MoveAside() puts files, which nobody looks into.
  std::filesystem::path folder_aside() const { return folder_ / "aside"; }
  // Moves a file there, whatever its bytes are, and replaces none that is there; true: it is there now. False: there is no such file, it is pinned, or the folder is only
  // to be read.
  absl::StatusOr<bool> MoveAside(std::string_view sha256);

 private:
  friend class ArtifactReader;
  friend class ArtifactWriter;
  friend class Pin;
  // Which file it was: one that is put in its place is another.
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t changed_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  static Identity IdentityOf(const struct stat& found);
  ArtifactFiles(std::filesystem::path folder, bool only_to_read) : folder_(std::move(folder)), only_to_read_(only_to_read) {}
  Pin PinOf(std::string_view sha256);
  // After this error of a call it is worth a second try.
  bool MadeSpace(int error) const;
  std::filesystem::path MarkOf(std::string_view sha256) const;
  absl::Status Mark(std::string_view sha256);
  // After it a power loss does not take the file's name any more.
  absl::Status SyncName(std::string_view sha256);

  std::filesystem::path folder_;
  const bool only_to_read_;
  std::function<bool()> make_space_;
  Synchronized<std::set<std::string>> synced_folders_;  // The folders below whose own names are on disk.
  Synchronized<std::multiset<std::string>> pinned_;
  std::atomic<bool> left_unsettled_ = false;
  mutable Synchronized<std::map<std::string, Identity>> damaged_;
};

// Opens an artifact for reading in chunks; the hash is compared at the end. Its folder's object outlives it.
class ArtifactReader {
 public:
  // NOT_FOUND when there is no such file; UNAVAILABLE when the folder itself is away, as then nobody knows.
  static absl::StatusOr<ArtifactReader> Open(const ArtifactFiles& files, std::string_view sha256);
  ArtifactReader(ArtifactReader&& other) noexcept;
  ArtifactReader& operator=(ArtifactReader&&) = delete;
  ~ArtifactReader();
  // The next at most `limit` bytes; empty at the end. DATA_LOSS, at the end: the bytes do not have the file's hash.
  absl::StatusOr<std::string> Next(size_t limit);

 private:
  ArtifactReader(const ArtifactFiles& files, std::string sha256, int fd) : files_(&files), sha256_(std::move(sha256)), fd_(fd) {}
  const ArtifactFiles* files_;
  std::string sha256_;
  int fd_;
  Sha256 hash_;
  bool finished_ = false;
};

}  // namespace longreach::store
