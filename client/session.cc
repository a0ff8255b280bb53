#include "client/session.h"

#include <fmt/format.h>

#include <filesystem>

#include "client/output/json.h"
#include "client/output/text.h"

namespace longreach::client {

void Session::Say(std::string_view line) {
  if (!settings_.quiet) *environment_.err << line << std::endl;
}

absl::StatusOr<Connection*> Session::Connect(StoreUse use, bool embed_by_default) {
  if (connection_ != nullptr) return connection_.get();
  if (!settings_.store.empty() || (embed_by_default && !settings_.scheduler_named)) {
    ASSIGN_OR_RETURN(const std::string address, StartEmbedded(use));
    absl::StatusOr<std::unique_ptr<Connection>> opened = Connection::Open(address, {});
    // The holder has ended meanwhile, or is not to be reached from here.
    if (!opened.ok() && !held_.ok()) return held_;
    ASSIGN_OR_RETURN(connection_, std::move(opened));
  } else {
    absl::StatusOr<std::unique_ptr<Connection>> opened = Connection::Open(settings_.scheduler, settings_.credentials);
    if (std::error_code error; absl::IsUnavailable(opened.status()) && !settings_.scheduler_named && std::filesystem::exists(kDefaultStore, error)) {
      const ErrorText text = SplitError(opened.status());
      return Error(absl::StatusCode::kUnavailable, text.message,
                   fmt::format("there is a {0} here, as 'longreach run' makes it: --store {0} looks into it\n{1}", kDefaultStore, text.hint));
    }
    ASSIGN_OR_RETURN(connection_, std::move(opened));
  }
  return connection_.get();
}

absl::StatusOr<std::string> Session::StartEmbedded(StoreUse use) {
  constexpr const char* kMemory = ":memory:";
  store_ = settings_.store;
  if (store_.empty()) store_ = use == StoreUse::kExistingOrNone ? kMemory : kDefaultStore;
  std::error_code error;
  if (store_ != kMemory && !std::filesystem::exists(store_, error)) {
    if (use == StoreUse::kExisting) {
      return Error(absl::StatusCode::kNotFound, fmt::format("there is no store '{}'", Printable(store_)),
                   fmt::format("'longreach run SPEC --store {}' makes one", Printable(store_)));
    }
    if (use == StoreUse::kExistingOrNone) store_ = kMemory;
  }
  std::string held_at;
  absl::StatusOr<std::unique_ptr<EmbeddedScheduler>> started =
      EmbeddedScheduler::Start(environment_.binaries, store_, environment_.variable("XDG_RUNTIME_DIR"), &held_at);
  // A socket is that of another command here; who listens for other machines may ask for more than this one was told.
  if (use != StoreUse::kCreate && held_at.starts_with("unix:")) {
    held_ = started.status();
    return held_at;
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
