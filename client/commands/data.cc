#include <fmt/format.h>

#include "client/commands/common.h"
#include "client/output/json.h"
#include "client/output/text.h"

namespace longreach::client {
namespace {

class Data final : public Command {
 public:
  CommandInfo Info() const override {
    return {
        .group = kGroupMaintain,
        .summary = "Import a data set for the worker on this machine",
        .details =
            "Runs 'longreach-worker data import', which lies beside this program: data lies where workers are.",
        .examples = "longreach data import enwik8 ./enwik8.zip --name enwik8"};
  }
  void AddOptions(CLI::App& app) override {
    app.require_subcommand(1);
    CLI::App& import = *app.add_subcommand("import", "Import files as a data set");
    import.add_option("KIND", kind_, "What the files are, as the worker calls it")->required();
    import.add_option("PATH", path_, "A file or a folder")->required();
    import.add_option("--name", name_, "The data set's name, as sweeps call it under 'data'")
        ->type_name("NAME")
        ->required();
  }

  absl::StatusOr<int> Run(Session& session) override {
    std::vector<std::string> arguments = {"data", "import", kind_, path_, "--name", name_};
    if (session.json()) arguments.insert(arguments.end(), {"-o", "json"});
    session.out().flush();
    ASSIGN_OR_RETURN(const int code,
                     RunAttached(session.environment().binaries / "longreach-worker", arguments));
    if (code == 0) return kDone;
    return Error(
        absl::StatusCode::kFailedPrecondition,
        fmt::format("longreach-worker did not import '{}' as {} (exit code {})", Printable(path_),
                    Printable(kind_), code),
        "what it said stands above; 'longreach-worker data import --help' shows what this build can import");
  }

 private:
  std::string kind_;
  std::string path_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> Make_data() { return std::make_unique<Data>(); }

}  // namespace longreach::client
