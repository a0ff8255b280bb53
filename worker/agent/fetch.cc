#include "worker/agent/fetch.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "proto/base/sha256.h"
#include "worker/agent/log.h"

namespace longreach::agent {
namespace {

// Fetches files for one lease; several members usually name the same one.
class Fetcher {
 public:
  Fetcher(const std::filesystem::path& folder, const FileCache& cache, Transfers& transfers, std::stop_token stop)
      : folder_(folder), cache_(cache), transfers_(transfers), stop_(std::move(stop)) {}

  absl::StatusOr<v1::MemberPath> Get(const v1::ArtifactRef& artifact) {
    const std::filesystem::path file = folder_ / fmt::format("fetched-{}.safetensors", artifact.sha256());
    if (!there_.contains(artifact.sha256())) {
      if (!IsSha256(artifact.sha256())) {
        return absl::DataLossError(fmt::format("'{}' is not a SHA-256", artifact.sha256().substr(0, 80)));
      }
      if (!cache_.Take(artifact.sha256(), file).ok()) {
        RETURN_IF_ERROR(Download(artifact, file));
        cache_.Keep(file, artifact.sha256());
      }
      there_.insert(artifact.sha256());
    }
    v1::MemberPath path;
    path.set_path(file.string());
    path.set_member(artifact.member());
    return path;
  }

 private:
  // Where it finds no room, once more without what is kept for later.
  absl::Status Download(const v1::ArtifactRef& artifact, const std::filesystem::path& file) {
    const absl::Status status = transfers_.Download(artifact.sha256(), artifact.bytes(), file, stop_);
    if (!IsOfThisDisk(status) || !cache_.MakeRoom()) return status;
    return transfers_.Download(artifact.sha256(), artifact.bytes(), file, stop_);
  }

  const std::filesystem::path& folder_;
  const FileCache& cache_;
  Transfers& transfers_;
  std::stop_token stop_;
  std::set<std::string> there_;
};

using Reference = bool (*)(const v1::LeasedJob&, v1::ArtifactRef&);

bool Newest(const v1::LeasedJob& job, v1::ArtifactRef& artifact) {
  artifact = job.checkpoint();
  return job.has_checkpoint();
}

bool Before(const v1::LeasedJob& job, v1::ArtifactRef& artifact) {
  artifact = job.checkpoint_before();
  return job.has_checkpoint_before();
}

// One checkpoint for each member, in order, or why not.
absl::StatusOr<std::vector<v1::MemberPath>> GetAll(const v1::Lease& lease, Reference reference, Fetcher& fetcher) {
  std::vector<v1::MemberPath> paths;
  for (const v1::LeasedJob& job : lease.jobs()) {
    v1::ArtifactRef artifact;
    if (!reference(job, artifact)) return absl::NotFoundError("there is none");
    ASSIGN_OR_RETURN(paths.emplace_back(), fetcher.Get(artifact));
  }
  return paths;
}

}  // namespace

absl::StatusOr<v1::StartPack> Fetch(const v1::Lease& lease, const std::filesystem::path& folder, const FileCache& cache,
                                    Transfers& transfers, std::stop_token stop) {
  Fetcher fetcher(folder, cache, transfers, stop);
  v1::StartPack start;
  start.set_attempt(lease.attempt());
  start.set_folder(folder.string());
  start.set_data_sha256(lease.data().sha256());
  start.set_model_sha256(lease.model().sha256());
  start.set_longbench_sha256(lease.longbench().sha256());
  for (const v1::DataSet& data : lease.mixture()) start.add_mixture_sha256(data.sha256());
  for (const v1::LeasedJob& job : lease.jobs()) {
    v1::PackMember& member = *start.add_members();
    member.set_job(job.id());
    *member.mutable_spec() = job.spec();
    for (const v1::ResolvedInput& input : job.inputs()) {
      if (input.name() == "attention_scale" && input.has_metric()) member.set_attention_scale(input.metric());
      if (input.name() != "weights" || !input.has_artifact()) continue;
      absl::StatusOr<v1::MemberPath> path = fetcher.Get(input.artifact());
      if (!path.ok()) {
        return absl::Status(path.status().code(),
                            fmt::format("input weights of job {}: {}", job.id(), std::string(path.status().message())));
      }
      *member.mutable_weights() = *std::move(path);
    }
  }
  for (const Reference reference : {&Newest, &Before}) {
    absl::StatusOr<std::vector<v1::MemberPath>> paths = GetAll(lease, reference, fetcher);
    if (stop.stop_requested()) return absl::CancelledError("called off");
    // It is there, and elsewhere it is gone on from: an attempt that begins anew would push it out of the store.
    if (!paths.ok() && !IsGone(paths.status())) return paths.status();
    if (paths.ok()) {
      for (int i = 0; i < start.members_size(); ++i) *start.mutable_members(i)->add_checkpoints() = (*paths)[i];
      break;
    }
    if (lease.jobs(0).has_checkpoint()) {
      LogWarning(fmt::format("attempt {}: no use of {} checkpoint: {}", lease.attempt(),
                             reference == &Newest ? "the newest" : "an older", std::string(paths.status().message())));
    }
  }
  return start;
}

}  // namespace longreach::agent
