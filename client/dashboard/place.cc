#include "client/dashboard/place.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "client/commands/suggestions.h"
#include "client/holder.h"

namespace longreach::client {
namespace {

constexpr std::chrono::seconds kIdle{1};

// As flags, so that neither the environment nor a config file says otherwise.
std::vector<std::string> Words(const Settings& settings, const std::string& address) {
  std::vector<std::string> words = {"--scheduler=" + address};
  // Else another one might hold there, with credentials where this one has none. One that nobody typed is found there again.
  if (settings.context_by_flag) words.push_back("--context=" + settings.context);
  if (!settings.store.empty()) return words;
  for (const auto& [name, value] : CredentialFlags(settings)) words.push_back(fmt::format("{}={}", name, value));
  return words;
}

}  // namespace

Place::~Place() {
  auto state = state_.Lock();
  state->door.reset();
}

absl::StatusOr<std::shared_ptr<Place::Door>> Place::Enter() {
  auto state = state_.Lock();
  state->used = Clock::now();
  if (state->door != nullptr) return state->door;
  auto door = std::make_shared<Door>(environment_, settings_);
  door->session.OpenForAMoment();
  ASSIGN_OR_RETURN(Connection * connection, door->session.Connect(StoreUse::kToRead));
  door->words = Words(settings_, connection->address());
  state->door = door;
  return door;
}

bool Place::Leave(const std::shared_ptr<Door>& door) {
  auto state = state_.Lock();
  if (state->door == door) {
    if (door->session.embedded() == nullptr) ++state->version;  // Whatever it did last.
    state->door.reset();
  }
  return !settings_.store.empty();
}

void Place::LetGo() {
  auto state = state_.Lock();
  const bool ours = state->door != nullptr && state->door->session.embedded() != nullptr;
  if (!ours || state->door.use_count() > 1 || Clock::now() - state->used < kIdle) return;
  // Nobody enters meanwhile.
  state->door.reset();
  state->look = LookOfFile();
}

Place::Standing Place::Look() {
  auto state = state_.Lock();
  if (settings_.store.empty()) return {.changing = true, .version = 0};
  if (state->door != nullptr) return {.changing = state->door->session.embedded() == nullptr, .version = state->version};
  if (std::string look = LookOfFile(); look != state->look) {
    state->look = std::move(look);
    ++state->version;
  }
  return {.changing = IsHeldByAnother(), .version = state->version};
}

std::string Place::Store() const {
  std::error_code ignored;
  return settings_.store.empty() ? "" : std::filesystem::absolute(settings_.store, ignored).string();
}

std::string Place::Flags() const {
  Settings settings = settings_;
  settings.store = Store();
  return WhereFlags(settings);
}

// Of the file itself: whoever opens it and changes nothing leaves it as it was.
std::string Place::LookOfFile() const {
  std::error_code error;
  const auto size = std::filesystem::file_size(settings_.store, error);
  const auto time = std::filesystem::last_write_time(settings_.store, error);
  return error ? "" : fmt::format("{} {}", size, time.time_since_epoch().count());
}

// By what its holder says beside it (store/file_lock.h); who has it for a moment only, as another dashboard, says nothing.
bool Place::IsHeldByAnother() const {
  std::ifstream lock(settings_.store + ".lock");
  std::string address;
  return std::getline(lock, address) && Listens(address);
}

}  // namespace longreach::client
