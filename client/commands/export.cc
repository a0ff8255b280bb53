#include <fmt/format.h>

#include <filesystem>

#include "client/commands/arguments.h"
#include "client/commands/command.h"
#include "client/commands/suggestions.h"
#include "client/interrupt.h"
#include "client/new_file.h"
#include "client/output/json.h"
#include "client/output/text.h"
#include "client/private_folder.h"
#include "client/process.h"
#include "proto/base/text.h"
#include "proto/types/artifact_kind.h"

namespace longreach::client {
namespace {

class Export final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Write a llama job's weights as a folder that Hugging Face's transformers loads",
            .details =
                "Final weights of a finished job, else its newest checkpoint. DIR gets config.json, model.safetensors in float32 and,\n"
                "where the job began with a published model, that one's tokenizer.model; the model must then be among the data sets\n"
                "of this machine. Models without positions are written so that transformers computes them as they are. Scales of\n"
                "attention heads are tensors of their own, which transformers leaves out; with --fold-scales it computes with them.\n"
                "Runs 'longreach-worker export', which lies beside this program (docs/howto/published-models.md).",
            .examples = "longreach export 1f3a tuned\n"
                        "longreach export 1f3a tuned --fold-scales --store longreach.db"};
  }
  void AddOptions(CLI::App& app) override {
    AddJobArgument(app, job_);
    AddNewFolderArgument(app, folder_);
    app.add_flag("--fold-scales", fold_scales_, "Make scales of attention heads a part of the queries");
    AddDataFolderOption(app, data_folder_);
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(const std::filesystem::path target, CheckedNewFolder("DIR", folder_));
    ASSIGN_OR_RETURN(Connection * connection, session.Connect(StoreUse::kToRead));
    v1::GetJobRequest request;
    request.set_job(job_);
    ASSIGN_OR_RETURN(const v1::GetJobResponse job, connection->Call(&Connection::Stub::GetJob, request));
    ASSIGN_OR_RETURN(const v1::ArtifactInfo artifact, ParametersOf(session, job));
    std::vector<std::string> arguments = {"export"};
    if (!job.spec().model().folder().empty()) {
      ASSIGN_OR_RETURN(const std::string sha256, IdentityOf(*connection, job.spec().model().folder()));
      if (!sha256.empty()) arguments.push_back("--model-sha256=" + sha256);
    }

    InterruptScope interrupt;  // What was fetched goes away with us.
    ASSIGN_OR_RETURN(const PrivateFolder download, PrivateFolder::Beside(target));
    session.Say(fmt::format("fetching the {} of update {}, {}", artifact.kind(), artifact.step(), HumanBytes(artifact.bytes())));
    const absl::Status fetched = connection->DownloadTo(download / "parameters", artifact.sha256(), [&interrupt] { return interrupt.count() > 0; });
    if (interrupt.count() > 0) return interrupt.exit_code();
    RETURN_IF_ERROR(fetched);
    RETURN_IF_ERROR(WriteNewFile(download / "job.json", JsonDocument(job)));
    arguments.push_back("--job=" + (download / "job.json").string());
    arguments.push_back("--parameters=" + (download / "parameters").string());
    if (fold_scales_) arguments.emplace_back("--fold-scales");
    if (!data_folder_.empty()) arguments.push_back("--data-folder=" + data_folder_);
    if (session.json()) arguments.insert(arguments.end(), {"-o", "json"});
    arguments.insert(arguments.end(), {"--", target.string()});
    session.out().flush();
    // Its own words, on these very streams, are the answer.
    ASSIGN_OR_RETURN(const int code, RunAttached(session.environment().binaries / "longreach-worker", arguments));
    return interrupt.count() > 0 ? interrupt.exit_code() : code;
  }

 private:
  static absl::StatusOr<v1::ArtifactInfo> ParametersOf(Session& session, const v1::GetJobResponse& response) {
    const v1::Job& job = response.job();
    const std::string id = Printable(ShortId(job.id()));
    if (response.spec().experiment() != "llama") {
      return Error(absl::StatusCode::kInvalidArgument,
                   fmt::format("job {} is of the kind '{}', which has no form in transformers", id, Printable(response.spec().experiment())),
                   "jobs of the kind 'llama' have");
    }
    if (response.spec().model().attention_scale_from() > 0) {
      return Error(absl::StatusCode::kInvalidArgument,
                   fmt::format("job {} has model.attention_scale_from {}, a scale by position, for which transformers has no name", id,
                               response.spec().model().attention_scale_from()),
                   "export the job whose weights it tests");
    }
    const v1::ArtifactInfo* best = nullptr;
    for (const v1::ArtifactInfo& one : response.artifacts()) {
      if (one.kind() == Word(ArtifactKind::kWeights)) return one;
      if (one.kind() == Word(ArtifactKind::kCheckpoint) && (best == nullptr || one.step() >= best->step())) best = &one;
    }
    if (best != nullptr) return *best;
    return Error(absl::StatusCode::kFailedPrecondition,
                 fmt::format("job {} is {} and has neither weights nor a checkpoint", id, ShownState(job.state())),
                 fmt::format("'longreach explain {}{}' says what it waits for", id, WhereFlags(session)));
  }

  // Of a data set's bytes as the store knows them; "": it was never announced.
  static absl::StatusOr<std::string> IdentityOf(Connection& connection, const std::string& name) {
    ASSIGN_OR_RETURN(const v1::ListDataSetsResponse known, connection.Call(&Connection::Stub::ListDataSets, v1::ListDataSetsRequest()));
    for (const auto& one : known.data_sets()) {
      if (one.name() == name) return one.sha256();
    }
    return "";
  }

  std::string job_;
  std::string folder_;
  bool fold_scales_ = false;
  std::string data_folder_;
};

}  // namespace

std::unique_ptr<Command> Make_export() { return std::make_unique<Export>(); }

}  // namespace longreach::client
