#include "scheduler/experiments/for_older_workers.h"

namespace longreach::experiments {

void LeaveOutForOlderWorkers(v1::JobSpec& job) {
  if (job.model().length_scaling() == "none") job.mutable_model()->clear_length_scaling();
  if (job.positions().has_data_rows() && job.positions().data_rows() == 0) job.mutable_positions()->clear_data_rows();
  if (job.positions().has_none_every() && job.positions().none_every() == 0) job.mutable_positions()->clear_none_every();
  if (job.model().norm() == "post") job.mutable_model()->clear_norm();
  // Such a worker knows the field of a warm-up, and has one for LLaMA decoders alone: by the schedule it finds out that others have it now.
  const v1::Training& training = job.training();
  const bool is_as_before = job.experiment() == "llama" ? training.schedule() == "cosine" : training.schedule() == "constant" && training.warmup_steps() == 0;
  if (is_as_before) job.mutable_training()->clear_schedule();
}

}  // namespace longreach::experiments
