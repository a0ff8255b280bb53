#include "store/artifact_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "proto/base/sha256.h"
#include "store/sql/connection.h"

namespace longreach::store {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

absl::Status IsAway(std::string_view sha256, const std::filesystem::path& folder) {
  return absl::UnavailableError(fmt::format("artifact {}: the folder {} is away; is its disk mounted?", sha256, folder.string()));
}

absl::Status IsLacking(std::string_view sha256, const std::filesystem::path& folder) {
  return absl::NotFoundError(fmt::format("there is no artifact {} in the store's folder {}; 'store backup' copies the database alone: if this is a copy, put what the "
                                         "original's folder of artifacts holds into this one, or ask the original",
                                         sha256, folder.string()));
}

bool IsOfSpace(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

absl::Status FileError(std::string_view what, const std::filesystem::path& file, int error) {
  const std::string text = fmt::format("cannot {} '{}': {}", what, file.string(), std::strerror(error));
  if (IsOfSpace(error)) return absl::ResourceExhaustedError(text);
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

absl::Status SyncFolder(const std::filesystem::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError("open", folder, errno);
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : FileError("sync", folder, error);
}

// OK when it is there already.
absl::Status MakeFolder(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return absl::OkStatus();
  return FileError("make", folder, errno);
}

std::filesystem::path FolderOf(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

absl::Status CannotTake(const std::filesystem::path& file, std::string_view why) {
  return absl::FailedPreconditionError(fmt::format("'{}' cannot be taken: {}", file.string(), why));
}

// What is in a folder, in any order; of one that cannot be read to its end what was read. A loop over the folder itself would throw where its disk
// fails in the middle of it, and end the process.
std::vector<std::filesystem::path> EntriesOf(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error); !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

// Unique within the process; what an earlier process left is removed at start.
std::filesystem::path TemporaryName(const std::filesystem::path& folder) {
  static std::atomic<uint64_t> counter = 0;
  return folder / "tmp" / fmt::format("{}-{}", getpid(), counter++);
}

}  // namespace

Pin::Pin(Pin&& other) noexcept
    : files_(std::exchange(other.files_, nullptr)), sha256_(std::move(other.sha256_)), is_new_(other.is_new_), settled_(other.settled_) {}

Pin& Pin::operator=(Pin&& other) noexcept {
  std::swap(files_, other.files_);
  std::swap(sha256_, other.sha256_);
  std::swap(is_new_, other.is_new_);
  std::swap(settled_, other.settled_);
  return *this;
}

void Pin::Settle() {
  if (is_new_) files_->Settle(sha256_);
  settled_ = true;
}

Pin::~Pin() {
  if (files_ == nullptr) return;
  {
    auto pinned = files_->pinned_.Lock();
    pinned->erase(pinned->find(sha256_));
  }
  // After that: whoever is told finds the file without its pin. One that was found may be another upload's, which could not be recorded either.
  if (!settled_ && (is_new_ || files_->IsUnsettled(sha256_))) files_->left_unsettled_ = true;
}

ArtifactWriter::ArtifactWriter(ArtifactFiles* files, std::string sha256, int64_t bytes, std::filesystem::path temporary, int fd)
    : files_(files), sha256_(std::move(sha256)), announced_(bytes), temporary_(std::move(temporary)), fd_(fd) {}

ArtifactWriter::ArtifactWriter(ArtifactWriter&& other) noexcept
    : files_(other.files_),
      sha256_(std::move(other.sha256_)),
      announced_(other.announced_),
      written_(other.written_),
      there_(other.there_),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      hash_(std::move(other.hash_)),
      found_(std::move(other.found_)) {}

ArtifactWriter::~ArtifactWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

absl::Status ArtifactWriter::Append(std::string_view bytes) {
  if (written_ + static_cast<int64_t>(bytes.size()) > announced_) {
    return absl::DataLossError(fmt::format("the file {} has more than the announced {} bytes", sha256_, announced_));
  }
  hash_.Update(bytes);
  written_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count < 0) {
      const int error = errno;
      if (error == EINTR || files_->MadeSpace(error)) continue;
      return FileError("write", temporary_, error);
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ArtifactWriter::ReadOn(int64_t limit) {
  std::string chunk(kChunk, '\0');
  for (const int64_t end = written_ + limit; written_ < end;) {
    const ssize_t count = read(fd_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotTake(temporary_, std::strerror(errno));
    hash_.Update(std::string_view(chunk).substr(0, static_cast<size_t>(count)));
    written_ += count;
    if (count > 0) continue;
    found_ = hash_.Finish();
    if (sha256_.empty()) sha256_ = found_;
    return true;
  }
  return false;
}

absl::StatusOr<bool> ArtifactWriter::ReadBack(int64_t limit) {
  std::string chunk(kChunk, '\0');
  for (const int64_t end = std::min(there_, written_ + limit); written_ < end;) {
    const ssize_t count = read(fd_, chunk.data(), static_cast<size_t>(std::min(std::ssize(chunk), there_ - written_)));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::DataLossError(fmt::format("of the part of the file {} that was there, byte {} cannot be read: {}", sha256_, written_,
                                             count < 0 ? std::strerror(errno) : "it ends before"));
    }
    hash_.Update(std::string_view(chunk).substr(0, static_cast<size_t>(count)));
    written_ += count;
  }
  return written_ == there_;
}

// The file's own size counts: not all that was there may have been read back yet.
absl::StatusOr<UnfinishedFile> ArtifactWriter::Leave() {
  struct stat found = {};
  if (fstat(fd_, &found) != 0) return FileError("ask for", temporary_, errno);
  close(std::exchange(fd_, -1));
  return UnfinishedFile(std::move(temporary_), found.st_size);
}

absl::StatusOr<Pin> ArtifactWriter::Commit() {
  if (written_ != announced_) {
    return absl::DataLossError(fmt::format("the file {} has {} bytes, {} were announced", sha256_, written_, announced_));
  }
  if (found_.empty()) found_ = hash_.Finish();
  if (found_ != sha256_) return absl::DataLossError(fmt::format("the file announced as {} has the hash {}", sha256_, found_));
  if (fsync(fd_) != 0) return FileError("sync", temporary_, errno);
  const std::filesystem::path target = files_->PathOf(sha256_);
  RETURN_IF_ERROR(MakeFolder(target.parent_path()));
  // Pinned before it is there: else it could be removed between the two.
  Pin pin = files_->PinOf(sha256_);
  pin.is_new_ = true;
  RETURN_IF_ERROR(files_->Mark(sha256_));
  if (rename(temporary_.c_str(), target.c_str()) != 0) return FileError("make", target, errno);
  close(std::exchange(fd_, -1));
  RETURN_IF_ERROR(files_->SyncName(sha256_));
  return pin;
}

bool ArtifactFiles::IsUnfinishedName(std::string_view text) {
  const size_t dash = text.find('-');
  const auto is_number = [](std::string_view part) { return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; }); };
  return dash != text.npos && is_number(text.substr(0, dash)) && is_number(text.substr(dash + 1));
}

absl::StatusOr<std::unique_ptr<ArtifactFiles>> ArtifactFiles::Open(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path temporary = folder / "tmp";
  std::filesystem::create_directories(FolderOf(folder), error);
  if (error) return FileError("make", FolderOf(folder), error.value());
  RETURN_IF_ERROR(MakeFolder(folder));
  RETURN_IF_ERROR(MakeFolder(temporary));
  RETURN_IF_ERROR(SyncFolder(FolderOf(folder)));
  for (const std::filesystem::path& entry : EntriesOf(temporary)) {
    if (IsUnfinishedName(entry.filename().string())) std::filesystem::remove(entry, error);
  }
  std::unique_ptr<ArtifactFiles> files(new ArtifactFiles(folder, /*only_to_read=*/false));
  RETURN_IF_ERROR(MakeFolder(files->inbox()));
  for (const std::filesystem::path& entry : EntriesOf(files->inbox())) {
    if (IsInboxName(entry.filename().string())) std::filesystem::remove(entry, error);
  }
  return files;
}

std::unique_ptr<ArtifactFiles> ArtifactFiles::OfOtherStore(const std::filesystem::path& folder) {
  return std::unique_ptr<ArtifactFiles>(new ArtifactFiles(folder, /*only_to_read=*/true));
}

bool ArtifactFiles::IsThere() const {
  std::error_code ignored;
  return std::filesystem::is_directory(folder_ / "tmp", ignored);
}

std::filesystem::path ArtifactFiles::PathOf(std::string_view sha256) const { return folder_ / sha256.substr(0, 2) / sha256; }

Pin ArtifactFiles::PinOf(std::string_view sha256) {
  pinned_.Lock()->insert(std::string(sha256));
  return Pin(this, std::string(sha256));
}

std::optional<Pin> ArtifactFiles::FindAndPin(std::string_view sha256, int64_t bytes) {
  if (!IsSha256(sha256)) return std::nullopt;
  Pin pin = PinOf(sha256);
  std::error_code error;
  const auto size = std::filesystem::file_size(PathOf(sha256), error);
  if (error || static_cast<int64_t>(size) != bytes) return std::nullopt;
  // A damaged file is made anew by whoever has its bytes, and its name may be somebody else's who has not synced it yet.
  if (!Verify(sha256).ok() || !SyncName(sha256).ok()) return std::nullopt;
  return pin;
}

absl::Status ArtifactFiles::SyncName(std::string_view sha256) {
  const std::filesystem::path folder = PathOf(sha256).parent_path();
  RETURN_IF_ERROR(SyncFolder(folder));
  const std::string name = folder.filename().string();
  if (synced_folders_.Lock()->contains(name)) return absl::OkStatus();
  RETURN_IF_ERROR(SyncFolder(folder_));
  synced_folders_.Lock()->insert(name);
  return absl::OkStatus();
}

absl::StatusOr<ArtifactWriter> ArtifactFiles::Create(std::string_view sha256, int64_t bytes) {
  if (!IsSha256(sha256)) {
    return absl::InvalidArgumentError(fmt::format("'{}' is not a SHA-256 (64 lower-case hexadecimal digits)", sha256));
  }
  if (bytes < 0) return absl::InvalidArgumentError(fmt::format("a file of {} bytes", bytes));
  std::filesystem::path temporary = TemporaryName(folder_);
  while (true) {
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0) return ArtifactWriter(this, std::string(sha256), bytes, std::move(temporary), fd);
    if (const int error = errno; !MadeSpace(error)) return FileError("make", temporary, error);
  }
}

absl::StatusOr<ArtifactWriter> ArtifactFiles::GoOn(UnfinishedFile part, std::string_view sha256, int64_t bytes, int64_t from) {
  const int fd = open(part.path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return FileError("open", part.path_, errno);
  ArtifactWriter writer(this, std::string(sha256), bytes, std::exchange(part.path_, {}), fd);
  writer.there_ = from;
  if (ftruncate(fd, from) != 0) return FileError("cut", writer.temporary_, errno);
  return writer;
}

bool ArtifactFiles::MadeSpace(int error) const { return IsOfSpace(error) && make_space_ && make_space_(); }

bool ArtifactFiles::IsInboxName(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; });
}

absl::StatusOr<ArtifactWriter> ArtifactFiles::TakeLinked(std::string_view name, std::string_view sha256, int64_t bytes) {
  if (!IsInboxName(name)) return absl::InvalidArgumentError(fmt::format("'{}' is no name of a link: 1 to 128 letters, digits and '-'", name));
  const std::filesystem::path link = inbox() / name;
  // A link to elsewhere is not followed, a pipe not waited for.
  const int fd = open(link.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return CannotTake(link, std::strerror(errno));
  ArtifactWriter writer(this, std::string(sha256), bytes, link, fd);
  struct stat found = {};
  if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return CannotTake(link, "it is no regular file");
  if (found.st_size != bytes) return CannotTake(link, fmt::format("it has {} bytes, {} were announced", found.st_size, bytes));
  return writer;
}

absl::Status ArtifactFiles::Verify(std::string_view sha256, const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(ArtifactReader reader, ArtifactReader::Open(*this, sha256));
  while (true) {
    if (stop.stop_requested()) return sql::Stopped();
    ASSIGN_OR_RETURN(std::string chunk, reader.Next(kChunk));
    if (chunk.empty()) return absl::OkStatus();
  }
}

absl::StatusOr<std::string> ArtifactFiles::Read(std::string_view sha256, int64_t limit) const {
  ASSIGN_OR_RETURN(ArtifactReader reader, ArtifactReader::Open(*this, sha256));
  std::string text;
  while (true) {
    ASSIGN_OR_RETURN(std::string chunk, reader.Next(kChunk));
    if (chunk.empty()) return text;
    text += chunk;
    if (static_cast<int64_t>(text.size()) > limit) {
      return absl::ResourceExhaustedError(fmt::format("the file {} is larger than {} bytes", sha256, limit));
    }
  }
}

ArtifactFiles::Identity ArtifactFiles::IdentityOf(const struct stat& found) {
  constexpr int64_t kNanoseconds = 1'000'000'000;
  return {.device = found.st_dev, .inode = found.st_ino, .changed_ns = found.st_ctim.tv_sec * kNanoseconds + found.st_ctim.tv_nsec};
}

std::string ArtifactFiles::WhyLost(std::string_view sha256, int64_t bytes) const {
  struct stat found = {};
  if (stat(PathOf(sha256).c_str(), &found) != 0) return errno == ENOENT && IsThere() ? "is missing" : "";
  if (found.st_size != bytes) return fmt::format("has {} bytes instead of {}", found.st_size, bytes);
  auto damaged = damaged_.Lock();
  const auto known = damaged->find(std::string(sha256));
  if (known == damaged->end()) return "";
  if (known->second == IdentityOf(found)) return "is damaged";
  damaged->erase(known);
  return "";
}

std::vector<std::string> ArtifactFiles::List() const {
  std::vector<std::string> hashes;
  for (const std::filesystem::path& folder : EntriesOf(folder_)) {
    if (folder.filename().string().size() != 2) continue;
    for (const std::filesystem::path& file : EntriesOf(folder)) {
      std::string name = file.filename().string();
      if (IsSha256(name)) hashes.push_back(std::move(name));
    }
  }
  std::ranges::sort(hashes);
  return hashes;
}

std::vector<std::string> ArtifactFiles::Unsettled() const {
  std::vector<std::string> hashes;
  for (const std::filesystem::path& entry : EntriesOf(folder_ / "tmp")) {
    std::string name = entry.filename().string();
    if (IsSha256(name)) hashes.push_back(std::move(name));
  }
  return hashes;
}

bool ArtifactFiles::IsUnsettled(std::string_view sha256) const {
  std::error_code ignored;
  return std::filesystem::exists(MarkOf(sha256), ignored);
}

std::filesystem::path ArtifactFiles::MarkOf(std::string_view sha256) const { return folder_ / "tmp" / sha256; }

// Not synced: file systems that keep a journal put it on disk before the file's name, which is synced; elsewhere a power loss between
// the two costs the room of a file.
absl::Status ArtifactFiles::Mark(std::string_view sha256) {
  const std::filesystem::path mark = MarkOf(sha256);
  const int fd = open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return FileError("make", mark, errno);
  close(fd);
  return absl::OkStatus();
}

void ArtifactFiles::Settle(std::string_view sha256) {
  if (!only_to_read_) unlink(MarkOf(sha256).c_str());
}

absl::StatusOr<bool> ArtifactFiles::Remove(std::string_view sha256) {
  if (!IsSha256(sha256)) return absl::InvalidArgumentError(fmt::format("'{}' is not a SHA-256", sha256));
  if (only_to_read_) return false;
  // Under the lock: no pin can come between the look and the removal.
  auto pinned = pinned_.Lock();
  if (pinned->contains(std::string(sha256))) return false;
  const std::filesystem::path file = PathOf(sha256);
  if (unlink(file.c_str()) != 0) {
    if (const int error = errno; error != ENOENT) return FileError("remove", file, error);
    if (!IsThere()) return IsAway(sha256, folder_);
  }
  // Under the lock too: the next upload of these bytes makes a mark of its own, which would be taken for this one.
  Settle(sha256);
  return true;
}

absl::StatusOr<bool> ArtifactFiles::MoveAside(std::string_view sha256) {
  if (!IsSha256(sha256)) return absl::InvalidArgumentError(fmt::format("'{}' is not a SHA-256", sha256));
  if (only_to_read_) return false;
  auto pinned = pinned_.Lock();
  const std::filesystem::path file = PathOf(sha256);
  std::error_code error;
  if (pinned->contains(std::string(sha256)) || !std::filesystem::exists(file, error)) return false;
  RETURN_IF_ERROR(MakeFolder(folder_aside()));
  std::filesystem::path target = folder_aside() / sha256;
  for (int copy = 2; std::filesystem::exists(target, error); ++copy) target = folder_aside() / fmt::format("{}.{}", sha256, copy);
  if (rename(file.c_str(), target.c_str()) != 0) return FileError("move", file, errno);
  // In its new folder before it is gone from the old one for certain.
  RETURN_IF_ERROR(SyncFolder(folder_aside()));
  RETURN_IF_ERROR(SyncFolder(file.parent_path()));
  RETURN_IF_ERROR(SyncFolder(folder_));
  return true;
}

absl::StatusOr<ArtifactReader> ArtifactReader::Open(const ArtifactFiles& files, std::string_view sha256) {
  if (!IsSha256(sha256)) {
    return absl::InvalidArgumentError(fmt::format("'{}' is not a SHA-256 (64 lower-case hexadecimal digits)", sha256));
  }
  const std::filesystem::path file = files.PathOf(sha256);
  // A pipe without a writer would be waited for.
  const int fd = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    if (error == ENOENT && !files.IsThere()) {
      return IsAway(sha256, files.folder());
    }
    if (error == ENOENT) return IsLacking(sha256, files.folder());
    return FileError("open", file, error);
  }
  return ArtifactReader(files, std::string(sha256), fd);
}

ArtifactReader::ArtifactReader(ArtifactReader&& other) noexcept
    : files_(other.files_),
      sha256_(std::move(other.sha256_)),
      fd_(std::exchange(other.fd_, -1)),
      hash_(std::move(other.hash_)),
      finished_(other.finished_) {}

ArtifactReader::~ArtifactReader() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::string> ArtifactReader::Next(size_t limit) {
  std::string bytes;
  if (finished_) return bytes;
  bytes.resize(limit);
  ssize_t count = 0;
  do {
    count = read(fd_, bytes.data(), limit);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return absl::DataLossError(fmt::format("cannot read artifact {}: {}", sha256_, std::strerror(errno)));
  bytes.resize(static_cast<size_t>(count));
  if (count > 0) {
    hash_.Update(bytes);
    return bytes;
  }
  finished_ = true;
  const std::string found = hash_.Finish();
  if (found != sha256_) {
    if (struct stat file = {}; fstat(fd_, &file) == 0) files_->damaged_.Lock()->insert_or_assign(sha256_, ArtifactFiles::IdentityOf(file));
    return absl::DataLossError(fmt::format("artifact {} is damaged: its bytes have the hash {}", sha256_, found));
  }
  return bytes;
}

}  // namespace longreach::store
