#include <fmt/format.h>

#include "client/commands/common.h"
#include "client/output/json.h"
#include "proto/base/build_info.h"

namespace longreach::client {
namespace {

class VersionCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupMaintain,
            .summary = "Print the version of this client",
            .details = "",
            .examples = "longreach version -o json"};
  }

  absl::StatusOr<int> Run(Session& session) override {
    if (session.json()) {
      session.out() << JsonDocument({{"version", JsonText(Version())},
                                     {"build", JsonText(BuildDescription())},
                                     {"protocol", fmt::format("{}", kProtocolVersion)}});
    } else {
      session.out() << fmt::format("longreach {}\n", BuildDescription());
    }
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> Make_version() { return std::make_unique<VersionCommand>(); }

}  // namespace longreach::client
