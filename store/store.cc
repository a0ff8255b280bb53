#include "store/store.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "store/artifacts.h"
#include "store/database_file.h"

namespace longreach::store {
namespace {

constexpr size_t kIdleReaders = 16;

absl::StatusOr<std::filesystem::path> MakeTemporaryFolder() {
  std::error_code error;
  std::filesystem::path base = "/dev/shm";
  if (access(base.c_str(), W_OK) != 0) base = std::filesystem::temp_directory_path(error);
  std::string pattern = (base / "longreach-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return absl::UnavailableError(fmt::format("cannot make a folder in '{}': {}", base.string(), std::strerror(errno)));
  }
  return std::filesystem::path(pattern);
}

// Behind the name of a store file: its folder of artifacts, unless another was named.
constexpr std::string_view kFolderSuffix = ".artifacts";

// A folder might be another store's, whose files would be removed as nobody's. One that was named for itself says whose it is, and of any
// other its name does.
constexpr const char* kNote = "store";

// The store that the folder belongs to; empty: none that is known.
std::filesystem::path OwnerOf(const std::filesystem::path& folder) {
  std::ifstream note(folder / kNote);
  std::string owner, noted;
  std::getline(note, owner);
  std::getline(note, noted);
  // In the copy of a folder the note is the original's.
  if (!owner.empty() && (noted.empty() || noted == folder.string())) return owner;
  const std::string name = folder.string();
  return name.ends_with(kFolderSuffix) ? name.substr(0, name.size() - kFolderSuffix.size()) : "";
}

struct Folder {
  std::filesystem::path path;
  bool noted = false;  // Whose it is must be said in it.
};

// The artifacts folder for `store`, whose file may not be there yet; nothing is written. `given` empty: the one beside it.
absl::StatusOr<Folder> FindFolder(const std::filesystem::path& given, const std::filesystem::path& store) {
  std::error_code error;
  Folder folder{.path = given.empty() ? std::filesystem::path(store.string() + std::string(kFolderSuffix)) : given};
  if (auto real = std::filesystem::weakly_canonical(std::filesystem::absolute(folder.path, error), error); !error) folder.path = std::move(real);
  const std::filesystem::path owner = OwnerOf(folder.path);
  const bool own = owner == store || std::filesystem::equivalent(owner, store, error);
  // A store that is not there any more (it was moved) counts for nothing,
  if (!own && std::filesystem::is_regular_file(owner, error)) {
    const std::filesystem::path note = folder.path / kNote;
    return absl::FailedPreconditionError(fmt::format("the artifacts folder '{}' belongs to the store '{}', and '{}' would remove its files; name another folder "
                                                     "with --artifacts{}",
                                                     folder.path.string(), owner.string(), store.string(),
                                                     std::filesystem::exists(note, error) ? fmt::format(", or remove '{}' if that is wrong", note.string()) : ""));
  }
  // but its files do: a new store would come to need some of them, and remove them when it does not any more.
  if (IsEmpty(store) && ArtifactFiles::OfOtherStore(folder.path)->HasAny()) {
    return absl::FailedPreconditionError(fmt::format("there is no store '{}', but files of one in its artifacts folder '{}'; if that store was moved, move the folder too "
                                                     "(NAME{}); if it was removed, remove the folder too",
                                                     store.string(), folder.path.string(), kFolderSuffix));
  }
  folder.noted = !given.empty() && !own;
  return folder;
}

// A folder that is there and has nothing in it, while the store names files in it, is most likely where a disk is to be mounted: jobs would begin
// anew, and their checkpoints would be forgotten.
absl::Status RefuseUnmounted(const std::filesystem::path& folder, const std::filesystem::path& store, sql::Connection& db) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error) || !std::filesystem::is_empty(folder, error)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t named, db.One<int64_t>("SELECT EXISTS (SELECT 1 FROM artifacts)"));
  if (named == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("the artifacts folder '{}' is empty, and the store '{}' has files there: is its disk mounted? To go on without them, "
                                                   "remove the empty folder",
                                                   folder.string(), store.string()));
}

absl::Status SayWhoseItIs(const std::filesystem::path& folder, const std::filesystem::path& store) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream out(folder / kNote, std::ios::trunc);
  out << store.string() << "\n" << folder.string() << "\n";
  out.close();
  if (out) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("cannot write '{}'; name another folder with --artifacts", (folder / kNote).string()));
}

}  // namespace

Snapshot::Snapshot(Store* store, std::unique_ptr<sql::Connection> connection)
    : store_(store), connection_(std::move(connection)) {}
Snapshot::Snapshot(Snapshot&&) noexcept = default;
Snapshot::~Snapshot() {
  if (connection_ == nullptr) return;
  if (!connection_->Run("COMMIT").ok()) return;  // Then a fresh one is opened next time.
  auto idle = store_->idle_readers_.Lock();
  if (idle->size() < kIdleReaders) idle->push_back(std::move(connection_));
}

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& file, const OpenOptions& options) {
  std::unique_ptr<Store> store(new Store());
  store->name_ = file;
  if (file == ":memory:") {
    ASSIGN_OR_RETURN(store->temporary_folder_, MakeTemporaryFolder());
    store->file_ = store->temporary_folder_ / "store.db";
  } else {
    std::error_code error;
    store->file_ = std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
    if (error || file.empty()) return absl::InvalidArgumentError(fmt::format("'{}' is not a file's name", file));
  }
  RETURN_IF_ERROR(RefuseWhatIsNoDatabase(store->file_));
  ASSIGN_OR_RETURN(store->lock_, FileLock::Take(store->file_));
  ASSIGN_OR_RETURN(const Folder artifacts, FindFolder(options.artifacts, store->file_));
  ASSIGN_OR_RETURN(sql::Connection writer, sql::Connection::Open(store->file_, sql::Mode::kReadWriteCreate));
  store->writer_ = std::make_unique<sql::Connection>(std::move(writer));
  RETURN_IF_ERROR(store->lock_->LockItself(store->file_));
  ASSIGN_OR_RETURN(store->version_found_, Migrate(*store->writer_, options.migrations));
  ASSIGN_OR_RETURN(std::string mode, store->writer_->One<std::string>("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return absl::FailedPreconditionError(fmt::format(
        "'{}' cannot be put into WAL mode (SQLite says '{}'); the store must lie on a local file system", file, mode));
  }
  // Most of what a group of events reads and writes is in this cache, and a checkpoint comes once for many groups; a
  // scheduler has a LogKeeper for it.
  RETURN_IF_ERROR(store->writer_->Execute("PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000"));
  if (!store->temporary_folder_.empty()) RETURN_IF_ERROR(store->writer_->Execute("PRAGMA synchronous = OFF"));

  RETURN_IF_ERROR(RefuseUnmounted(artifacts.path, store->file_, *store->writer_));
  if (artifacts.noted) RETURN_IF_ERROR(SayWhoseItIs(artifacts.path, store->file_));
  ASSIGN_OR_RETURN(store->artifacts_, ArtifactFiles::Open(artifacts.path));
  return store;
}

void Store::ListensAt(const std::string& address) { lock_->Say(address); }

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
  for (const std::string& hash : files.Unsettled()) {
    ASSIGN_OR_RETURN(const bool used, HashIsUsed(db, hash));
    if (!used) {
      ASSIGN_OR_RETURN(const bool gone, files.Remove(hash));
      if (!gone) continue;
      ++removed;
    }
    files.Settle(hash);
  }
  return removed;
}

}  // namespace longreach::store
