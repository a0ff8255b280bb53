// Which settings the kernels can train.
#include <algorithm>

#include "proto/base/text.h"
#include "proto/catalog/catalog.h"
#include "worker/trainer/lanes/groups.h"
#include "worker/trainer/lanes/lanes_engine.h"
#include "worker/trainer/model/encoder.h"
#include "worker/trainer/tasks/registry.h"

namespace longreach::trainer {

namespace {

int64_t LongestTape(const std::string& task_name, const std::vector<int>& lengths) {
  const tasks::Task& task = *tasks::FindTask(task_name);
  int64_t longest = 0;
  for (const int length : lengths) {
    const int input_length = task.InputLength(length);
    longest = std::max<int64_t>(longest, input_length + task.OutputLength(input_length));
  }
  return longest;
}

// The first tape that has more biases by pair than may be in memory: in training each group has a gradient of them. 0: there is none.
int64_t TapeOfTooManyPairs(const PackSettings& settings) {
  const PackSettings::Model& model = settings.model;
  const int64_t trained = LongestTape(settings.task, settings.training.lengths), tested = LongestTape(settings.task, settings.evaluation.lengths);
  const int64_t tables = int64_t{model.layers} * model.heads;
  if (tables * trained * trained > kTableFloatsAtATime / Groups(settings.training.batch_size)) return trained;
  return tables * tested * tested > kTableFloatsAtATime ? tested : 0;
}

}  // namespace

std::string WhyNotLanes(const PackSettings& settings, const EngineOptions& options) {
  const PackSettings::Model& model = settings.model;
  if (options.cuda) return "a GPU";
  if (options.whole_pack) return "a pack as one unit";
  if (settings.experiment != "algorithmic") return Text("experiment ", settings.experiment);
  const catalog::Task& task = *catalog::FindTask(settings.task);
  const Encoder encoder(settings, task.TokensRead(model.causal), task.output_vocabulary);
  if (!encoder.encoding().TrainsWithoutAutograd()) return Text("encoding ", settings.encoding);
  if (model.embedding_dim != model.heads * lanes::kHeadDim) return Text("heads of ", model.embedding_dim / model.heads, " features instead of 8");
  if (model.embedding_dim % 16 != 0) return Text("model.embedding_dim ", model.embedding_dim, ", not a multiple of 16");
  if (model.mlp_dim % 8 != 0) return Text("model.mlp_dim ", model.mlp_dim, ", not a multiple of 8");
  if (model.layers > lanes::kMaxLayers) return Text("model.layers ", model.layers, ", more than ", lanes::kMaxLayers);
  if (encoder.encoding().NumbersOfPair() > 0) {
    const int64_t tape = TapeOfTooManyPairs(settings);
    if (tape > 0) return Text("encoding ", settings.encoding, " on tapes of ", tape, " tokens: biases of all pairs would take more than 1 GiB");
  }
  return "";
}

}  // namespace longreach::trainer
