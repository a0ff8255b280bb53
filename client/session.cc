#include "client/session.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "client/commands/suggestions.h"
#include "client/doctor/variables.h"
#include "client/errors.h"
#include "client/holder.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/store_wait.h"
#include "client/turn.h"

namespace longreach::client {
namespace {

// That a command waits is said behind this.
constexpr std::chrono::seconds kSilent{1};
constexpr std::string_view kUnix = "unix:";
constexpr const char* kMemory = ":memory:";

// Behind this the scheduler of one that is soon done is asked: it is about to end, but what only looks is lightly asked again. One that would make the store asks nobody.
std::optional<std::chrono::seconds> AskBehind(StoreUse use) {
  if (use == StoreUse::kCreate) return std::nullopt;
  return use == StoreUse::kExisting ? StoreWait::kSoonFree : std::chrono::seconds(5);
}

}  // namespace

// The scheduler of this command ends while the connection to it is closed: either takes some milliseconds.
Session::~Session() {
  if (embedded_ != nullptr) embedded_->process().CloseInput();
}

void Session::Tell(std::string_view text, std::string_view lead) { out() << Prose(lead, text, environment_.out_width()) << "\n"; }

void Session::Say(std::string_view line) {
  if (!settings_.quiet) *environment_.err << Prose("", line, environment_.err_width()) << std::endl;
}

void Session::SayProgress() {
  constexpr std::string_view kProgress = "progress: ";
  while (const std::optional<std::string> line = embedded_->process().ReadLine(std::chrono::milliseconds(0))) {
    if (line->starts_with(kProgress)) Say(Printable(line->substr(kProgress.size())));
  }
}

// What else may have been meant where neither scheduler nor store is named: a line for each.
std::string Session::WhyNoneIsNamed() const {
  std::string lines;
  for (const UnknownVariable& one : UnknownVariables(environment_.variable_names())) {
    if (!one.meant.empty()) lines += fmt::format("{}: {}\n", WhatIsUnknown(one), AdviceOn(one));
  }
  if (std::error_code error; std::filesystem::exists(kDefaultStore, error)) {
    lines += fmt::format("there is a {0} here, as 'longreach run' makes it: --store {0} looks into it\n", kDefaultStore);
  }
  return lines;
}

absl::StatusOr<Connection*> Session::Connect(StoreUse use, bool embed_by_default) {
  if (connection_ != nullptr) return connection_.get();
  if (OpensStore(embed_by_default)) {
    ASSIGN_OR_RETURN(connection_, ConnectToStore(use));
  } else {
    absl::StatusOr<std::unique_ptr<Connection>> opened = Connection::Open(settings_.scheduler, settings_.credentials);
    if (absl::IsUnavailable(opened.status()) && !settings_.scheduler_named) {
      const ErrorText text = SplitError(opened.status());
      return Error(absl::StatusCode::kUnavailable, text.message, WhyNoneIsNamed() + text.hint);
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
  StoreWait wait(AskBehind(use), began);
  bool is_told = false, is_told_again = false;
  std::optional<Turn> turn;
  while (true) {
    held_ = absl::OkStatus();
    holder_ = {};
    absl::StatusOr<std::string> address = StartEmbedded(use);
    bool listens = Listens(holder_.address);
    wait.Found(holder_, listens, Steady::now());
    absl::Status refused = address.status();
    if (!wait.IsWorthIt(listens, Steady::now())) {
      if (!address.ok()) return refused;
      absl::StatusOr<std::unique_ptr<Connection>> opened = Connection::Open(*address, {});
      if (opened.ok() || held_.ok()) return opened;
    }
    if (!held_.ok()) refused = held_;
    if (wait.IsOver(Steady::now()) || stop_()) return refused;
    if (!turn.has_value()) turn.emplace(store_);
    do {
      // Those that look now and then wait now and then.
      const bool says = holder_.for_a_moment && holding_ != Holding::kForAMoment;
      if (says && Steady::now() - began >= kSilent && !std::exchange(is_told, true)) SayWhoHasIt("waiting", "has for a moment");
      if (says && wait.IsLong(listens, Steady::now()) && !std::exchange(is_told_again, true)) SayWhoHasIt("still waiting, for as long as it takes,", "works on");
      std::this_thread::sleep_for(wait.Pause(Steady::now()));
      listens = Listens(holder_.address);
      wait.StillThere(listens, Steady::now());
      // Which costs less than to start a scheduler. One who never gets its turn tries all the same: the holder may be another one by then.
    } while (holder_.for_a_moment && (listens || !turn->IsOurs()) && wait.IsEarly(Steady::now()) && !stop_());
  }
}

void Session::SayWhoHasIt(std::string_view waiting, std::string_view how_long) {
  const std::string who = CommandAt(holder_.address);
  Say(fmt::format("{} for the store '{}', which another command {}{}", waiting, Printable(holder_.is_merged ? merges_ : store_), how_long, who.empty() ? "" : ": " + who));
}

absl::StatusOr<std::string> Session::StartEmbedded(StoreUse use) {
  store_ = settings_.store;
  if (store_.empty()) store_ = use == StoreUse::kExistingOrNone ? kMemory : kDefaultStore;
  if (use == StoreUse::kCreate && store_ == kMemory) {
    return UsageError(fmt::format("--store: '{}' ends with this command, and all that it is to keep", kMemory), "name a file; 'longreach plan' needs none");
  }
  std::error_code error;
  const bool lacks = store_ != kMemory && !std::filesystem::exists(store_, error);
  if (lacks && error && use != StoreUse::kCreate) {  // Which says it when it makes one.
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot look at the store '{}': {}", Printable(store_), error.message()),
                 "name another file, or work as a user who may look into its folder");
  }
  if (lacks) {
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
  const auto say_far = [this, use](const std::string& far) {
    if (use != StoreUse::kCopy) Say(Printable(far));  // Which is of a shell that completes a word.
  };
  absl::StatusOr<std::unique_ptr<EmbeddedScheduler>> started =
      EmbeddedScheduler::Start(environment_.binaries, store_, environment_.variable("XDG_RUNTIME_DIR"), &holder_,
                               {.holding = holding_, .copy = copy, .merges = merges_, .repairs = repairs_, .when_slow = [this] { SayThatItIsSlow(); }, .when_far = say_far});
  // A socket is that of another command here; who listens for other machines may ask for more than this one was told.
  if (use != StoreUse::kCreate && holder_.address.starts_with(kUnix)) {
    held_ = started.status();
    return holder_.address;
  }
  // Whoever would train there has started no scheduler, and is told whose it is.
  if (!started.ok() && !holder_.is_merged) {
    if (const std::string who = CommandAt(holder_.address); !who.empty()) {
      return Error(started.status().code(), std::string(started.status().message()), fmt::format("{} has it open: wait until that has ended", who));
    }
  }
  ASSIGN_OR_RETURN(embedded_, std::move(started));
  return embedded_->address();
}

void Session::Print(const Grid& grid, std::string_view json_key) {
  switch (settings_.format) {
    case Format::kTable: out() << GridAsTable(grid, settings_.color_out, environment_.out_width()); break;
    case Format::kCsv: out() << GridAsCsv(grid); break;
    case Format::kJson: out() << JsonDocument({{std::string(json_key), GridAsJson(grid)}}); break;
    case Format::kMarkdown: out() << GridAsMarkdown(grid); break;
    case Format::kLatex: out() << GridAsLatex(grid); break;
  }
}

}  // namespace longreach::client
