#include <fmt/format.h>

#include <optional>

#include "client/commands/command.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/build_info.h"

namespace longreach::client {
namespace {

class VersionCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupMaintain,
            .summary = "Print the version of this client, and of a scheduler",
            .details = "With --scheduler HOST:PORT or --store FILE on the command line that scheduler's too; without, none is asked.",
            .examples = "longreach version -o json\n"
                        "longreach version --scheduler localhost:7070"};
  }

  absl::StatusOr<int> Run(Session& session) override {
    std::optional<v1::GetInfoResponse> scheduler;
    // Not the one of the environment: this is asked offline too.
    if (session.settings().place_by_flag) {
      ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
      ASSIGN_OR_RETURN(scheduler, connection->Call(&Connection::Stub::GetInfo, v1::GetInfoRequest()));
    }
    if (session.json()) {
      std::vector<std::pair<std::string, std::string>> members = {{"version", JsonText(Version())},
                                                                  {"build", JsonText(BuildDescription())},
                                                                  {"protocol", fmt::format("{}", kProtocolVersion)}};
      if (scheduler) members.emplace_back("scheduler", JsonOf(*scheduler));
      session.out() << JsonDocument(members);
    } else {
      session.out() << fmt::format("longreach {}\n", BuildDescription());
      if (scheduler) {
        session.out() << fmt::format("scheduler {}, protocol {}, store version {}\n", Printable(scheduler->build()), scheduler->protocol(),
                                     scheduler->store_version());
      }
    }
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> Make_version() { return std::make_unique<VersionCommand>(); }

}  // namespace longreach::client
