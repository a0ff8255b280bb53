#include "client/commands/command.h"
#include "client/commands/listings.h"
#include "client/output/json.h"

namespace longreach::client {
namespace {

class Sweeps final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "List all sweeps, the one that was asked for last first",
            .details = "",
            .examples = "longreach sweeps\nlongreach sweeps --store longreach.db -o json",
            .more_formats = kAllFormats};
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    ASSIGN_OR_RETURN(const v1::ListSweepsResponse response,
                     connection->Call(&Connection::Stub::ListSweeps, v1::ListSweepsRequest()));
    if (session.json()) {
      session.out() << JsonDocument(response);
      return kDone;
    }
    if (session.settings().quiet) {
      for (const v1::Sweep& sweep : response.sweeps()) session.out() << sweep.id() << "\n";
      return kDone;
    }
    session.Print(SweepsGrid({response.sweeps().begin(), response.sweeps().end()}, session.settings().format == Format::kCsv), "sweeps");
    if (response.sweeps().empty()) {
      session.Say("no sweep was submitted yet; 'longreach list presets' names some to start with");
    }
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> Make_sweeps() { return std::make_unique<Sweeps>(); }

}  // namespace longreach::client
