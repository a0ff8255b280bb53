#include "worker/agent/state_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "proto/base/nearest_there.h"
#include "proto/base/text.h"
#include "worker/agent/file_cache.h"
#include "worker/agent/files.h"
#include "worker/agent/finished.h"

namespace longreach::agent {
namespace {

absl::StatusOr<std::string> ReadOrDrawId(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) {
    const std::string id = boost::uuids::to_string(boost::uuids::random_generator()());
    RETURN_IF_ERROR(WriteFileSynced(file, id + "\n"));
    return id;
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  const std::string id(Trim(text));
  try {
    boost::uuids::string_generator()(id);
  } catch (const std::runtime_error&) {
    return absl::DataLossError(fmt::format("{} holds no UUID but '{}'; remove the file to make this a new worker",
                                           file.string(), id.substr(0, 60)));
  }
  return id;
}

absl::StatusOr<uint64_t> NextIncarnation(const std::filesystem::path& file, WallTime now) {
  int64_t incarnation = std::max<int64_t>(1, now.time_since_epoch().count());
  if (std::filesystem::exists(file)) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    const std::optional<int64_t> last = ParseInteger(Trim(text));
    if (last.has_value()) incarnation = std::max(incarnation, *last + 1);
  }
  RETURN_IF_ERROR(WriteFileSynced(file, fmt::format("{}\n", incarnation)));
  return static_cast<uint64_t>(incarnation);
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

}  // namespace

absl::StatusOr<StateFolder> StateFolder::Open(const std::filesystem::path& folder, WallTime now, std::chrono::milliseconds patience) {
  StateFolder state;
  state.folder_ = folder;
  RETURN_IF_ERROR(MakeFolder(folder));
  const std::filesystem::path lock = folder / "lock";
  state.lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (state.lock_ < 0) {
    return absl::InternalError(fmt::format("cannot write {}: {}", lock.string(), std::strerror(errno)));
  }
  if (!LockWithin(state.lock_, patience)) {
    return absl::FailedPreconditionError(fmt::format(
        "the state folder {} is in use by another worker; give each worker its own with --state", folder.string()));
  }
  RemoveUnfinished(state.attempts());
  for (const std::filesystem::path& part : {state.outbox(), state.cache(), state.attempts()}) {
    RETURN_IF_ERROR(MakeFolder(part));
  }
  ASSIGN_OR_RETURN(state.worker_, ReadOrDrawId(folder / "id"));
  absl::StatusOr<uint64_t> incarnation = NextIncarnation(folder / "incarnation", now);
  // On a full disk what is kept for later goes first: else results that wait here would never be handed in.
  const bool is_full = incarnation.status().code() == absl::StatusCode::kResourceExhausted;
  if (is_full && FileCache(state.cache()).MakeRoom()) incarnation = NextIncarnation(folder / "incarnation", now);
  ASSIGN_OR_RETURN(state.incarnation_, std::move(incarnation));
  if (const std::filesystem::path file = folder / "store"; std::filesystem::exists(file)) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    state.store_ = Trim(text);
  }
  return state;
}

absl::Status StateFolder::Look(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path there = NearestThere(folder);
  const bool is_there = there == std::filesystem::absolute(folder, error);
  if (!std::filesystem::is_directory(there, error)) {
    return absl::InternalError(fmt::format("cannot make the folder {}: {}", folder.string(), std::strerror(ENOTDIR)));
  }
  if (::access(there.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  const std::string why = std::strerror(errno);
  if (is_there) return absl::InternalError(fmt::format("cannot write {}: {}", (folder / "lock").string(), why));
  return absl::InternalError(fmt::format("cannot make the folder {}: {}", folder.string(), why));
}

absl::Status StateFolder::SetStore(const std::string& store) {
  // Once it is written: what could not be is tried again at the next answer.
  RETURN_IF_ERROR(WriteFileSynced(folder_ / "store", store + "\n"));
  store_ = store;
  return absl::OkStatus();
}

std::filesystem::path StateFolder::trainer_log(int slot) const {
  return folder_ / (slot == 0 ? "trainer.log" : fmt::format("trainer-{}.log", slot + 1));
}

StateFolder::StateFolder(StateFolder&& other) noexcept
    : folder_(std::move(other.folder_)),
      lock_(std::exchange(other.lock_, -1)),
      worker_(std::move(other.worker_)),
      incarnation_(other.incarnation_),
      store_(std::move(other.store_)) {}

StateFolder::~StateFolder() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace longreach::agent
