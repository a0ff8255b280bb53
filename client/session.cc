#include "client/session.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "client/commands/suggestions.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/turn.h"

namespace longreach::client {
namespace {

// For so long whoever has been killed may still hold its store.
constexpr std::chrono::seconds kStillHeld{2};
// For so long one that is soon done with it is waited for, and for so long at most one after the other, as a script may start many commands at once.
constexpr std::chrono::seconds kSoonFree{60};
constexpr std::chrono::minutes kTakeTurns{10};
// That they wait is said behind this.
constexpr std::chrono::seconds kSilent{1};
constexpr std::chrono::milliseconds kBetween{100};
constexpr std::string_view kUnix = "unix:";
constexpr const char* kMemory = ":memory:";

// Behind this the scheduler of one that is soon done is asked, where that can be: it is about to end, but what only looks is lightly asked again.
std::chrono::seconds AskBehind(StoreUse use) { return use == StoreUse::kExisting || use == StoreUse::kCreate ? kSoonFree : std::chrono::seconds(5); }

}  // namespace

bool Listens(const std::string& address) {
  sockaddr_un at{};
  if (!address.starts_with(kUnix)) return false;
  const std::string path = address.substr(kUnix.size());
  if (path.size() >= sizeof at.sun_path) return false;
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const bool listens = connect(probe, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  close(probe);
  return listens;
}

void Session::Say(std::string_view line) {
  if (!settings_.quiet) *environment_.err << line << std::endl;
}

absl::StatusOr<Connection*> Session::Connect(StoreUse use, bool embed_by_default) {
  if (connection_ != nullptr) return connection_.get();
  if (OpensStore(embed_by_default)) {
    ASSIGN_OR_RETURN(connection_, ConnectToStore(use));
  } else {
    absl::StatusOr<std::unique_ptr<Connection>> opened = Connection::Open(settings_.scheduler, settings_.credentials);
    if (std::error_code error; absl::IsUnavailable(opened.status()) && !settings_.scheduler_named && std::filesystem::exists(kDefaultStore, error)) {
      const ErrorText text = SplitError(opened.status());
      return Error(absl::StatusCode::kUnavailable, text.message,
                   fmt::format("there is a {0} here, as 'longreach run' makes it: --store {0} looks into it\n{1}", kDefaultStore, text.hint));
    }
    ASSIGN_OR_RETURN(connection_, std::move(opened));
  }
  connection_->SetWording([this](std::string_view text) { return WithFlags(NameInPlaceOfFile(text), *this); });
  return connection_.get();
}

bool Session::WouldMakeStore(bool embed_by_default) const {
  const std::string store = settings_.store.empty() ? kDefaultStore : settings_.store;
  std::error_code error;
  return OpensStore(embed_by_default) && store != kMemory && !std::filesystem::exists(store, error);
}

absl::StatusOr<std::unique_ptr<Connection>> Session::ConnectToStore(StoreUse use) {
  using Steady = std::chrono::steady_clock;
  const Steady::time_point began = Steady::now();
  Steady::time_point since = began;  // When whoever has it was first seen.
  std::string seen;
  bool is_told = false;
  std::optional<Turn> turn;
  while (true) {
    held_ = absl::OkStatus();
    holder_ = {};
    absl::StatusOr<std::string> address = StartEmbedded(use);
    if (holder_.address != seen) since = Steady::now();
    seen = holder_.address;
    absl::Status refused = address.status();
    if (!IsWorthWaiting(use, Steady::now() - since)) {
      if (!address.ok()) return refused;
      absl::StatusOr<std::unique_ptr<Connection>> opened = Connection::Open(*address, {});
      if (opened.ok() || held_.ok()) return opened;
    }
    if (!held_.ok()) refused = held_;
    if (Steady::now() - since > (holder_.for_a_moment ? kSoonFree : kStillHeld) || Steady::now() - began > kTakeTurns || stop_()) return refused;
    if (!turn.has_value()) turn.emplace(store_);
    do {
      // Those that look now and then wait now and then.
      if (holder_.for_a_moment && holding_ != Holding::kForAMoment && Steady::now() - began >= kSilent && !std::exchange(is_told, true)) {
        Say(fmt::format("waiting for the store '{}', which another command has for a moment", Printable(holder_.is_merged ? merges_ : store_)));
      }
      std::this_thread::sleep_for(kBetween);
      // Which costs less than to start a scheduler. One who never gets its turn tries all the same: the holder may be another one by then.
    } while (holder_.for_a_moment && (Listens(holder_.address) || !turn->IsOurs()) && Steady::now() - since < AskBehind(use) && !stop_());
  }
}

bool Session::IsWorthWaiting(StoreUse use, std::chrono::steady_clock::duration held) const {
  const bool listens = Listens(holder_.address);
  if (!holder_.for_a_moment) return holder_.address.starts_with(kUnix) && !listens;  // Or it is not to be reached from here.
  return !listens || use == StoreUse::kCreate || held < AskBehind(use);
}

absl::StatusOr<std::string> Session::StartEmbedded(StoreUse use) {
  store_ = settings_.store;
  if (store_.empty()) store_ = use == StoreUse::kExistingOrNone ? kMemory : kDefaultStore;
  std::error_code error;
  if (store_ != kMemory && !std::filesystem::exists(store_, error)) {
    if (use == StoreUse::kExisting || use == StoreUse::kToRead || use == StoreUse::kCopy) {
      return Error(absl::StatusCode::kNotFound, fmt::format("there is no store '{}'", Printable(store_)),
                   fmt::format("'longreach run SPEC --store {}' makes one", ShellWord(store_)));
    }
    if (use == StoreUse::kExistingOrNone) store_ = kMemory;
  }
  if (use != StoreUse::kCreate && store_ != kMemory && std::filesystem::is_regular_file(store_, error) && std::filesystem::file_size(store_, error) == 0) {
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("'{}' is empty, and no store", Printable(store_)),
                 fmt::format("name another file; 'longreach run SPEC --store {}' makes it one", ShellWord(store_)));
  }
  const bool only_reads = use == StoreUse::kToRead || use == StoreUse::kExistingOrNone;
  const CopyWhen copy = store_ == kMemory ? CopyWhen::kNever : use == StoreUse::kCopy ? CopyWhen::kAlways : only_reads ? CopyWhen::kReadOnly : CopyWhen::kNever;
  absl::StatusOr<std::unique_ptr<EmbeddedScheduler>> started =
      EmbeddedScheduler::Start(environment_.binaries, store_, environment_.variable("XDG_RUNTIME_DIR"), &holder_,
                               {.holding = holding_, .copy = copy, .merges = merges_, .when_slow = [this] { SayThatItIsSlow(); }});
  // A socket is that of another command here; who listens for other machines may ask for more than this one was told.
  if (use != StoreUse::kCreate && holder_.address.starts_with(kUnix)) {
    held_ = started.status();
    return holder_.address;
  }
  ASSIGN_OR_RETURN(embedded_, std::move(started));
  return embedded_->address();
}

void Session::Print(const Grid& grid, std::string_view json_key) {
  switch (settings_.format) {
    case Format::kTable: out() << GridAsTable(grid, settings_.color_out); break;
    case Format::kCsv: out() << GridAsCsv(grid); break;
    case Format::kJson: out() << JsonDocument({{std::string(json_key), GridAsJson(grid)}}); break;
    case Format::kMarkdown: out() << GridAsMarkdown(grid); break;
    case Format::kLatex: out() << GridAsLatex(grid); break;
  }
}

}  // namespace longreach::client
