// Of the trainer's program alone.
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "longreach/v1/api.pb.h"
#include "proto/base/text.h"
#include "worker/agent/spec_to_settings.h"
#include "worker/data/files.h"
#include "worker/export_command.h"
#include "worker/refused.h"

namespace longreach {
namespace {

constexpr int64_t kMaxJob = 64 << 20;

using Json = nlohmann::ordered_json;

}  // namespace

absl::StatusOr<trainer::ExportedModel> ExportCommand::Export() const {
  ASSIGN_OR_RETURN(const std::string text, data::ReadFile(job_, kMaxJob));
  v1::GetJobResponse job;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // The document says its schema too.
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, &job, options);
  if (!parsed.ok() || job.job().id().empty() || job.spec().experiment().empty()) {
    return absl::InvalidArgumentError(fmt::format("{}: it is not what 'longreach job ID -o json' prints", job_.string()));
  }
  trainer::ExportRequest request = request_;
  request.job = job.job().id();
  request.settings.experiment = job.spec().experiment();
  // Of other kinds no more is looked at.
  if (request.settings.experiment == "llama") {
    ASSIGN_OR_RETURN(request.settings, agent::SettingsOf(job.spec()));
  }
  return trainer::ExportModel(request);
}

int ExportCommand::Run() const {
  const absl::StatusOr<trainer::ExportedModel> exported = Export();
  if (!exported.ok()) return Refused(exported.status(), json());
  const std::string folder = request_.target.string();
  if (json()) {
    const Json document = {{"schema", "longreach/v1"}, {"folder", folder},        {"files", exported->files},
                           {"step", exported->step},   {"nope", exported->nope}, {"head_scales", exported->scales}};
    fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  fmt::print("{}: {}, after {} updates\n", folder, Join(exported->files, ", "), exported->step);
  if (exported->nope) {
    fmt::print("  no positions: 'nope' says so in config.json, and its rope_scaling makes transformers rotate by nothing\n");
  }
  if (exported->scales > 0) {
    fmt::print("  {} scales of attention heads are tensors of their own (scale_param), which transformers by itself leaves out;\n"
               "  --fold-scales makes them a part of the queries\n", exported->scales);
  }
  return 0;
}

}  // namespace longreach
