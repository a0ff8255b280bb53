#include "worker/agent/state_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "proto/base/names.h"
#include "proto/base/nearest_there.h"
#include "proto/base/text.h"
#include "worker/agent/file_cache.h"
#include "worker/agent/files.h"
#include "worker/agent/finished.h"

namespace longreach::agent {
namespace {

// Of what does not belong in a file, so many bytes are told.
constexpr size_t kMostTold = 60;

// A line that this folder keeps; nothing where there is no such file. A link to nowhere is none: whoever made it wanted what is not there.
absl::StatusOr<std::optional<std::string>> ReadLine(const std::filesystem::path& file, std::string_view what_to_do) {
  constexpr uint64_t kMostBytes = 4096;
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::symlink_status(file, error).type();
  if (type == std::filesystem::file_type::not_found) return std::nullopt;
  const absl::StatusOr<std::string> text = ReadFile(file, kMostBytes);
  if (text.ok()) return std::string(Trim(*text));
  const bool leads_nowhere = type == std::filesystem::file_type::symlink && absl::IsNotFound(text.status());
  return absl::DataLossError(fmt::format("{}; {}", leads_nowhere ? fmt::format("{} is a link to nothing", file.string()) : std::string(text.status().message()), what_to_do));
}

absl::Status PutLine(const std::filesystem::path& file, std::string_view line) {
  // Where it is written first. A pipe without a reader would be waited for.
  std::filesystem::path beside = file;
  beside += ".new";
  if (std::error_code error; std::filesystem::is_fifo(beside, error)) return absl::DataLossError(fmt::format("{} is a pipe; remove it", beside.string()));
  return WriteFileSynced(file, fmt::format("{}\n", line));
}

absl::StatusOr<std::optional<std::string>> ReadId(const std::filesystem::path& file) {
  constexpr std::string_view kWhatToDo = "remove the file to make this a new worker";
  ASSIGN_OR_RETURN(std::optional<std::string> id, ReadLine(file, kWhatToDo));
  if (!id.has_value()) return id;
  try {
    boost::uuids::string_generator()(*id);
  } catch (const std::runtime_error&) {
    return absl::DataLossError(fmt::format("{} holds no UUID but '{}'; {}", file.string(), id->substr(0, kMostTold), kWhatToDo));
  }
  return id;
}

absl::StatusOr<std::string> ReadOrDrawId(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::optional<std::string> id, ReadId(file));
  if (id.has_value()) return *id;
  const std::string drawn = boost::uuids::to_string(boost::uuids::random_generator()());
  RETURN_IF_ERROR(PutLine(file, drawn));
  return drawn;
}

absl::StatusOr<std::optional<int64_t>> ReadLastIncarnation(const std::filesystem::path& file) {
  constexpr std::string_view kWhatToDo = "remove the file, and the time of now is taken";
  ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadLine(file, kWhatToDo));
  const std::optional<int64_t> last = text.has_value() ? ParseInteger(*text) : std::nullopt;
  if (last == std::numeric_limits<int64_t>::max()) return absl::DataLossError(fmt::format("{} holds {}, and none comes after that; {}", file.string(), *last, kWhatToDo));
  return last;
}

absl::StatusOr<uint64_t> NextIncarnation(const std::filesystem::path& file, WallTime now) {
  int64_t incarnation = std::max<int64_t>(1, now.time_since_epoch().count());
  ASSIGN_OR_RETURN(const std::optional<int64_t> last, ReadLastIncarnation(file));
  if (last.has_value()) incarnation = std::max(incarnation, *last + 1);
  RETURN_IF_ERROR(PutLine(file, fmt::format("{}", incarnation)));
  return static_cast<uint64_t>(incarnation);
}

// Which store the folder's reports are of; empty: not known.
absl::StatusOr<std::string> ReadStore(const std::filesystem::path& file) {
  constexpr std::string_view kWhatToDo = "remove the file if all that waits here is for the scheduler that this worker calls";
  ASSIGN_OR_RETURN(const std::optional<std::string> store, ReadLine(file, kWhatToDo));
  // Each call names it, and one that is no text would be refused without a word of this file.
  if (!store.has_value() || store->empty() || IsOfNameCharacters(*store)) return store.value_or("");
  return absl::DataLossError(fmt::format("{} holds no store's id but '{}'; {}", file.string(), store->substr(0, kMostTold), kWhatToDo));
}

// `make`: O_CREAT, or 0; then it is NOT_FOUND where there is none.
absl::StatusOr<int> OpenLock(const std::filesystem::path& file, int make) {
  const int lock = open(file.c_str(), O_RDWR | make | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (lock < 0 && make == 0 && errno == ENOENT) return absl::NotFoundError(file.string());
  if (lock < 0) return absl::InternalError(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
  struct stat found {};
  if (fstat(lock, &found) == 0 && S_ISREG(found.st_mode)) return lock;
  close(lock);
  return absl::DataLossError(fmt::format("{} is not a regular file; remove it", file.string()));
}

bool LockWithin(int file, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kBetweenTries(50);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return true;
}

absl::Status WithNextStep(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  return absl::ResourceExhaustedError(fmt::format("{}; make room on its disk, and start this worker again", std::string(status.message())));
}

// Whether what is locked is what others would lock now: whoever held it before may have removed the folder (GoIfNew()).
bool IsStillThere(int lock, const std::filesystem::path& file) {
  struct stat held {}, named {};
  return fstat(lock, &held) == 0 && stat(file.c_str(), &named) == 0 && held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

// Makes the folder, if it is not there, and locks it.
absl::StatusOr<int> Lock(const std::filesystem::path& folder, std::chrono::milliseconds patience) {
  constexpr int kTries = 10;  // One is enough unless others begin there at the same moment, and cannot.
  for (int i = 0; i < kTries; ++i) {
    RETURN_IF_ERROR(MakeFolder(folder));
    const absl::StatusOr<int> lock = OpenLock(folder / "lock", O_CREAT);
    if (std::error_code error; !lock.ok() && !std::filesystem::exists(folder, error) && !error) continue;
    RETURN_IF_ERROR(lock.status());
    const bool is_ours = LockWithin(*lock, patience);
    if (is_ours && IsStillThere(*lock, folder / "lock")) return lock;
    close(*lock);
    if (!is_ours) break;
  }
  return absl::FailedPreconditionError(fmt::format(
      "the state folder {} is in use by another worker; give each worker its own with --state", folder.string()));
}

// A worker makes the lock first, and then the folders, in which it removes what it does not need: in somebody else's of these names it would remove theirs.
absl::Status RefuseForeign(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder / "lock", error) || std::filesystem::exists(folder / "id", error)) return absl::OkStatus();
  for (const char* part : {"outbox", "cache", "attempts"}) {
    if (!std::filesystem::is_directory(folder / part, error) || std::filesystem::is_empty(folder / part, error)) continue;
    return absl::FailedPreconditionError(
        fmt::format("{} is no worker's state folder: it has '{}' with something in it, and no 'id'; name a new or an empty one with --state", folder.string(), part));
  }
  return absl::OkStatus();
}

// Of what a start would open or make there, the first that is something else. Nothing is made where something is.
absl::Status LookAtLockAndFolders(const std::filesystem::path& folder) {
  const absl::StatusOr<int> lock = OpenLock(folder / "lock", 0);
  if (lock.ok()) close(*lock);
  else if (!absl::IsNotFound(lock.status())) return lock.status();
  for (const char* part : {"outbox", "cache", "attempts"}) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(folder / part, error))) RETURN_IF_ERROR(MakeFolder(folder / part));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StateFolder> StateFolder::Open(const std::filesystem::path& folder, WallTime now, std::chrono::milliseconds patience) {
  StateFolder state;
  state.folder_ = folder;
  std::error_code unknown;  // Then it is none of ours.
  const bool was_there = std::filesystem::symlink_status(folder, unknown).type() != std::filesystem::file_type::not_found;
  RETURN_IF_ERROR(RefuseForeign(folder));
  ASSIGN_OR_RETURN(state.lock_, Lock(folder, patience));
  state.is_new_ = !was_there && !std::filesystem::exists(folder / "id", unknown);
  RemoveUnfinished(state.attempts());
  for (const std::filesystem::path& part : {state.outbox(), state.cache(), state.attempts()}) {
    RETURN_IF_ERROR(MakeFolder(part));
  }
  absl::StatusOr<std::string> worker = ReadOrDrawId(folder / "id");
  if (!worker.ok()) return WithNextStep(worker.status());
  state.worker_ = *std::move(worker);
  absl::StatusOr<uint64_t> incarnation = NextIncarnation(folder / "incarnation", now);
  // On a full disk what is kept for later goes first: else results that wait here would never be handed in.
  const bool is_full = incarnation.status().code() == absl::StatusCode::kResourceExhausted;
  if (is_full && FileCache(state.cache()).MakeRoom()) incarnation = NextIncarnation(folder / "incarnation", now);
  if (!incarnation.ok()) return WithNextStep(incarnation.status());
  state.incarnation_ = *incarnation;
  ASSIGN_OR_RETURN(state.store_, ReadStore(folder / "store"));
  return state;
}

absl::Status StateFolder::Look(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path there = NearestThere(folder);
  const bool is_there = there == std::filesystem::absolute(folder, error);
  if (!std::filesystem::is_directory(there, error)) {
    return absl::InternalError(fmt::format("cannot make the folder {}: {}", folder.string(), std::strerror(ENOTDIR)));
  }
  if (::access(there.c_str(), W_OK | X_OK) == 0) {
    if (!is_there) return absl::OkStatus();
    RETURN_IF_ERROR(RefuseForeign(folder));
    RETURN_IF_ERROR(LookAtLockAndFolders(folder));
    RETURN_IF_ERROR(ReadId(folder / "id").status());
    RETURN_IF_ERROR(ReadLastIncarnation(folder / "incarnation").status());
    return ReadStore(folder / "store").status();
  }
  const std::string why = std::strerror(errno);
  if (is_there) return absl::InternalError(fmt::format("cannot write {}: {}", (folder / "lock").string(), why));
  return absl::InternalError(fmt::format("cannot make the folder {}: {}", folder.string(), why));
}

absl::Status StateFolder::SetStore(const std::string& store) {
  if (store == store_ && store_is_written_) return absl::OkStatus();
  store_ = store;
  const absl::Status written = PutLine(folder_ / "store", store);
  store_is_written_ = written.ok();
  // The one before, whose scheduler alone the next start would hand in to what is of this one. That needs no room.
  std::error_code ignored;
  if (!written.ok()) std::filesystem::remove(folder_ / "store", ignored);
  return written;
}

std::filesystem::path StateFolder::trainer_log(int slot) const {
  return folder_ / (slot == 0 ? "trainer.log" : fmt::format("trainer-{}.log", slot + 1));
}

StateFolder::StateFolder(StateFolder&& other) noexcept
    : folder_(std::move(other.folder_)),
      lock_(std::exchange(other.lock_, -1)),
      is_new_(other.is_new_),
      goes_(other.goes_),
      worker_(std::move(other.worker_)),
      incarnation_(other.incarnation_),
      store_(std::move(other.store_)),
      store_is_written_(other.store_is_written_) {}

// Aside first: whoever comes meanwhile makes it anew, and has nothing of it removed.
void StateFolder::Remove() const {
  std::filesystem::path aside = folder_.has_filename() ? folder_ : folder_.parent_path();  // "state/" is "state".
  aside += ".gone";
  std::error_code error;
  std::filesystem::rename(folder_, aside, error);
  if (!error) std::filesystem::remove_all(aside, error);
}

StateFolder::~StateFolder() {
  if (lock_ < 0) return;
  if (goes_) Remove();
  close(lock_);
}

}  // namespace longreach::agent
