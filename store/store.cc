#include "store/store.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "store/artifacts.h"
#include "store/artifacts_folder.h"
#include "store/copy_to_read.h"
#include "store/database_file.h"

namespace longreach::store {
namespace {

constexpr size_t kIdleReaders = 16;

// TMPDIR, else /tmp.
std::filesystem::path FolderOfTemporaryFiles() {
  std::error_code error;
  return std::filesystem::temp_directory_path(error);
}

std::filesystem::path FolderInMemory() {
  std::filesystem::path folder = "/dev/shm";
  return access(folder.c_str(), W_OK) == 0 ? folder : FolderOfTemporaryFiles();
}

absl::StatusOr<std::filesystem::path> MakeTemporaryFolder(const std::filesystem::path& base) {
  std::string pattern = (base / "longreach-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return absl::UnavailableError(fmt::format("cannot make a folder in '{}': {}", base.string(), std::strerror(errno)));
  }
  return std::filesystem::path(pattern);
}

// The same of the file that the user has named. Where there is no room it is the copy's place that counts.
absl::Status ToldOfOriginal(const absl::Status& status, const std::filesystem::path& original, const std::filesystem::path& copy) {
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  std::string text(status.message());
  const std::string name = copy.string();
  if (const size_t at = text.find(name); at != std::string::npos) text.replace(at, name.size(), original.string());
  return absl::Status(status.code(), text);
}

// Where links to nothing lead: SQLite makes the file there, and the lock and the folder of artifacts are to be beside it from the beginning.
// weakly_canonical() stops at such a link.
std::filesystem::path BehindLinks(std::filesystem::path file) {
  constexpr int kMostLinks = 40;  // As the kernel has it; what goes on for ever is refused by whoever opens it.
  std::error_code error;
  for (int i = 0; i < kMostLinks && !std::filesystem::exists(file, error) && std::filesystem::is_symlink(std::filesystem::symlink_status(file, error)); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(file, error);
    if (error) break;
    file = target.is_absolute() ? target : file.parent_path() / target;
  }
  return file;
}

}  // namespace

Snapshot::Snapshot(Store* store, std::unique_ptr<sql::Connection> connection)
    : store_(store), connection_(std::move(connection)) {}
Snapshot::Snapshot(Snapshot&&) noexcept = default;
Snapshot::~Snapshot() {
  if (connection_ == nullptr) return;
  if (!connection_->Run("COMMIT").ok() || store_ == nullptr) return;  // Then a fresh one is opened next time.
  auto idle = store_->idle_readers_.Lock();
  if (idle->size() < kIdleReaders) idle->push_back(std::move(connection_));
}

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& file, const OpenOptions& options) {
  std::unique_ptr<Store> store(new Store());
  store->name_ = file;
  if (file == ":memory:") {
    ASSIGN_OR_RETURN(store->temporary_folder_, MakeTemporaryFolder(FolderInMemory()));
    store->file_ = store->temporary_folder_ / "store.db";
  } else {
    std::error_code error;
    store->file_ = std::filesystem::weakly_canonical(BehindLinks(std::filesystem::absolute(file, error)), error);
    if (error || file.empty()) return absl::InvalidArgumentError(fmt::format("'{}' is not a file's name", file));
  }
  RETURN_IF_ERROR(RefuseWhatIsNoDatabase(store->file_));
  if (options.copy == CopyWhen::kAlways) {
    if (IsEmpty(store->file_)) return absl::FailedPreconditionError(fmt::format("there is no store '{}' to be copied", store->file_.string()));
    RETURN_IF_ERROR(store->OpenCopy(std::filesystem::path(store->file_), options));
    return store;
  }
  LockToWrite to_write = LockToWrite::Take(store->file_);
  if (absl::IsPermissionDenied(to_write.status) && options.copy == CopyWhen::kReadOnly && !IsEmpty(store->file_)) {
    RETURN_IF_ERROR(store->OpenCopy(std::filesystem::path(store->file_), options));
    return store;
  }
  RETURN_IF_ERROR(to_write.status);
  store->lock_ = std::move(to_write.lock);
  // Nothing is made, or changed, before it is known that there is a folder for it.
  const bool is_new = IsEmpty(store->file_);
  ArtifactsFolder artifacts;
  if (is_new) {
    ASSIGN_OR_RETURN(artifacts, FindFolder(options.artifacts, store->file_, nullptr));
  }
  ASSIGN_OR_RETURN(sql::Connection writer, sql::Connection::Open(store->file_, sql::Mode::kReadWriteCreate));
  store->writer_ = std::make_unique<sql::Connection>(std::move(writer));
  RETURN_IF_ERROR(store->lock_->LockItself(store->file_));
  if (!is_new) {
    RETURN_IF_ERROR(FoundVersion(*store->writer_, static_cast<int>(options.migrations.size())).status());
    ASSIGN_OR_RETURN(artifacts, FindFolder(options.artifacts, store->file_, store->writer_.get()));
  }
  RETURN_IF_ERROR(store->BringUp(options));
  RETURN_IF_ERROR(RefuseUnmounted(artifacts, store->file_, *store->writer_));
  RETURN_IF_ERROR(KeepFolder(artifacts, store->file_, *store->writer_));
  ASSIGN_OR_RETURN(store->artifacts_, ArtifactFiles::Open(artifacts.path));
  return store;
}

absl::Status Store::OpenCopy(const std::filesystem::path& original, const OpenOptions& options) {
  ASSIGN_OR_RETURN(temporary_folder_, MakeTemporaryFolder(FolderOfTemporaryFiles()));
  file_ = temporary_folder_ / original.filename();
  RETURN_IF_ERROR(CopyToRead(original, file_, options.say_of_copy));
  ASSIGN_OR_RETURN(lock_, FileLock::Take(file_));
  const auto bring_up = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(sql::Connection writer, sql::Connection::Open(file_, sql::Mode::kReadWrite));
    writer_ = std::make_unique<sql::Connection>(std::move(writer));
    return BringUp(options);
  };
  RETURN_IF_ERROR(ToldOfOriginal(bring_up(), original, file_));
  // Results are to be had without any file.
  const absl::StatusOr<std::filesystem::path> folder = options.artifacts.empty() ? FolderToRead(original, *writer_) : options.artifacts;
  artifacts_ = ArtifactFiles::OfOtherStore(folder.ok() ? *folder : FolderBeside(original));
  return absl::OkStatus();
}

absl::Status Store::BringUp(const OpenOptions& options) {
  ASSIGN_OR_RETURN(version_found_, Migrate(*writer_, options.migrations));
  ASSIGN_OR_RETURN(std::string mode, writer_->One<std::string>("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return absl::FailedPreconditionError(fmt::format(
        "'{}' cannot be put into WAL mode (SQLite says '{}'); the store must lie on a local file system", name_, mode));
  }
  // Most of what a group of events reads and writes is in this cache, and a checkpoint comes once for many groups; a
  // scheduler has a LogKeeper for it. A log that has grown beyond what it needs, by a merge or while somebody read for long, is cut back to 256 MiB when it begins
  // anew: else its room on the disk would be gone for as long as the scheduler runs.
  RETURN_IF_ERROR(writer_->Execute("PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 268435456"));
  if (!temporary_folder_.empty()) RETURN_IF_ERROR(writer_->Execute("PRAGMA synchronous = OFF"));
  return absl::OkStatus();
}

void Store::ListensAt(const std::string& address, bool soon_free) { lock_->Say(address, soon_free); }

Store::~Store() {
  idle_readers_.Lock()->clear();
  writer_.reset();
  lock_.reset();
  if (!temporary_folder_.empty()) {
    std::error_code error;
    std::filesystem::remove_all(temporary_folder_, error);
  }
}

absl::StatusOr<Snapshot> Store::Read() {
  std::unique_ptr<sql::Connection> connection;
  {
    auto idle = idle_readers_.Lock();
    if (!idle->empty()) {
      connection = std::move(idle->back());
      idle->pop_back();
    }
  }
  if (connection == nullptr) {
    ASSIGN_OR_RETURN(sql::Connection opened, sql::Connection::Open(file_, sql::Mode::kReadOnly));
    connection = std::make_unique<sql::Connection>(std::move(opened));
  }
  RETURN_IF_ERROR(connection->Run("BEGIN").status());
  return Snapshot(this, std::move(connection));
}

absl::StatusOr<Snapshot> Store::ReadToCheck() {
  ASSIGN_OR_RETURN(sql::Connection opened, sql::Connection::Open(file_, sql::Mode::kReadWrite));
  RETURN_IF_ERROR(opened.Execute("PRAGMA query_only = ON"));
  auto connection = std::make_unique<sql::Connection>(std::move(opened));
  RETURN_IF_ERROR(connection->Run("BEGIN").status());
  return Snapshot(nullptr, std::move(connection));
}

absl::StatusOr<int> RemoveUnusedFiles(sql::Connection& writer, ArtifactFiles& files, int limit, std::string* from) {
  ASSIGN_OR_RETURN(std::vector<std::string> hashes, UnusedHashes(writer, limit, from == nullptr ? "" : *from));
  if (hashes.empty()) return 0;
  if (from != nullptr) *from = hashes.back() + "g";  // Behind it, whatever follows.
  // The files go first: a row of unused_files without a file is harmless, a file that nobody remembers is not.
  int removed = 0;
  std::vector<std::string> done;
  absl::Status trouble;
  for (const std::string& hash : hashes) {
    ASSIGN_OR_RETURN(bool used, HashIsUsed(writer, hash));
    if (used) {
      done.push_back(hash);
      continue;
    }
    const absl::StatusOr<bool> gone = files.Remove(hash);
    trouble.Update(gone.status());
    if (!gone.ok() || !*gone) continue;  // Pinned: about to be used again, or looked at later.
    ++removed;
    done.push_back(hash);
  }
  if (!done.empty()) {
    ASSIGN_OR_RETURN(sql::Transaction tx, sql::Transaction::Begin(writer));
    for (const std::string& hash : done) RETURN_IF_ERROR(ForgetUnused(tx, hash));
    RETURN_IF_ERROR(tx.Commit());
  }
  if (!trouble.ok()) return trouble;
  return removed;
}

absl::StatusOr<int> RemoveUnsettledFiles(sql::Connection& db, ArtifactFiles& files) {
  int removed = 0;
  absl::Status trouble;
  for (const std::string& hash : files.Unsettled()) {
    ASSIGN_OR_RETURN(const bool used, HashIsUsed(db, hash));
    if (used) {
      files.Settle(hash);
      continue;
    }
    const absl::StatusOr<bool> gone = files.Remove(hash);
    trouble.Update(gone.status());
    if (gone.ok() && *gone) ++removed;  // Else it is pinned, and its pin will say what becomes of it.
  }
  if (!trouble.ok()) return trouble;
  return removed;
}

}  // namespace longreach::store
