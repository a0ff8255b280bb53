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
    RETURN_IF_ERROR(StartEmbedded(use));
    ASSIGN_OR_RETURN(connection_, Connection::Open(embedded_->address(), {}));
  } else {
    ASSIGN_OR_RETURN(connection_, Connection::Open(settings_.scheduler, settings_.credentials));
  }
  return connection_.get();
}

absl::Status Session::StartEmbedded(StoreUse use) {
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
  ASSIGN_OR_RETURN(embedded_, EmbeddedScheduler::Start(environment_.binaries, store_,
                                                       environment_.variable("XDG_RUNTIME_DIR")));
  return absl::OkStatus();
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
