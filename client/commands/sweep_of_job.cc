#include "client/commands/sweep_of_job.h"

#include "client/spec/sweep_writer.h"

namespace longreach::client {

absl::StatusOr<v1::SweepSpec> SweepOfJob(Connection& connection, const v1::JobSpec& job, int depth) {
  constexpr int kMaxDepth = 8;  // Inputs of inputs.
  if (depth > kMaxDepth) return absl::InternalError("the job's inputs need each other");
  v1::SweepSpec sweep = SweepOf(job);
  for (const v1::JobInput& one : job.inputs()) {
    v1::GetJobRequest request;
    request.set_job(one.job());
    ASSIGN_OR_RETURN(const v1::GetJobResponse source, connection.Call(&Connection::Stub::GetJob, request));
    v1::Input& input = *sweep.add_inputs();
    input.set_name(one.name());
    input.set_artifact(one.artifact());
    input.set_metric(one.metric());
    ASSIGN_OR_RETURN(*input.mutable_from(), SweepOfJob(connection, source.spec(), depth + 1));
  }
  return sweep;
}

}  // namespace longreach::client
