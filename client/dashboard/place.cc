#include "client/dashboard/place.h"

#include <filesystem>

#include <fmt/format.h>

#include "client/commands/suggestions.h"

namespace longreach::client {
namespace {

constexpr std::chrono::seconds kIdle{3};

// As flags, so that neither the environment nor a config file says otherwise.
std::vector<std::string> Words(const Settings& settings, const std::string& address) {
  std::vector<std::string> words = {"--scheduler=" + address};
  if (!settings.store.empty()) return words;
  const auto add = [&words](const char* name, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("{}={}", name, value));
  };
  add("--ca", settings.credentials.ca);
  add("--certificate", settings.credentials.certificate);
  add("--key", settings.credentials.key);
  add("--token-file", settings.credentials.token_file);
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
  ASSIGN_OR_RETURN(Connection * connection, door->session.Connect());
  door->words = Words(settings_, connection->address());
  state->door = door;
  return door;
}

bool Place::Leave(const std::shared_ptr<Door>& door) {
  auto state = state_.Lock();
  if (state->door == door) state->door.reset();
  return !settings_.store.empty();
}

void Place::LetGo() {
  auto state = state_.Lock();
  const bool ours = state->door != nullptr && state->door->session.embedded() != nullptr;
  if (!ours || state->door.use_count() > 1 || Clock::now() - state->used < kIdle) return;
  // Nobody enters meanwhile.
  state->door.reset();
  state->files = LookOfFiles();
}

Place::Standing Place::Look() {
  auto state = state_.Lock();
  if (settings_.store.empty()) return {.changing = true, .version = 0};
  if (state->door != nullptr) return {.changing = state->door->session.embedded() == nullptr, .version = state->version};
  if (std::string files = LookOfFiles(); files != state->files) {
    state->files = std::move(files);
    ++state->version;
  }
  return {.changing = false, .version = state->version};
}

std::string Place::Flags() const {
  if (!settings_.store.empty()) return " --store " + ShellWord(settings_.store);
  return settings_.scheduler_named ? " --scheduler " + ShellWord(settings_.scheduler) : "";
}

std::string Place::LookOfFiles() const {
  std::string look;
  for (const std::string& file : {settings_.store, settings_.store + "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    const auto time = std::filesystem::last_write_time(file, error);
    look += error ? "-;" : fmt::format("{} {};", size, time.time_since_epoch().count());
  }
  return look;
}

}  // namespace longreach::client
