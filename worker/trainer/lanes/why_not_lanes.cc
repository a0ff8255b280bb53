// Which settings the kernels can train.
#include "proto/base/text.h"
#include "proto/catalog/pair_tables.h"
#include "worker/trainer/lanes/lanes_engine.h"
#include "worker/trainer/model/encoder.h"
#include "worker/trainer/problems/kinds.h"
#include "worker/trainer/vocabulary.h"

namespace longreach::trainer {

namespace {

catalog::PairTables PairTablesOf(const PackSettings& settings) {
  return {.tables = static_cast<double>(settings.model.layers) * settings.model.heads,
          .trained = LongestTape(settings, settings.training.lengths),
          .tested = LongestTape(settings, settings.evaluation.lengths),
          .batch_size = settings.training.batch_size};
}

}  // namespace

std::string WhyNotLanes(const PackSettings& settings, const EngineOptions& options) {
  const PackSettings::Model& model = settings.model;
  if (options.cuda) return "a GPU";
  if (options.whole_pack) return "a pack as one unit";
  if (!FindExperimentKind(settings.experiment)->of_sequences) return Text("experiment ", settings.experiment);
  const Vocabulary vocabulary = VocabularyOf(settings);
  const Encoder encoder(settings, vocabulary.read, vocabulary.classes);
  if (!encoder.encoding().TrainsWithoutAutograd()) return Text("encoding ", settings.encoding);
  if (model.embedding_dim != model.heads * lanes::kHeadDim) return Text("heads of ", model.embedding_dim / model.heads, " features instead of 8");
  if (model.embedding_dim % 16 != 0) return Text("model.embedding_dim ", model.embedding_dim, ", not a multiple of 16");
  if (model.mlp_dim % 8 != 0) return Text("model.mlp_dim ", model.mlp_dim, ", not a multiple of 8");
  if (model.layers > lanes::kMaxLayers) return Text("model.layers ", model.layers, ", more than ", lanes::kMaxLayers);
  if (encoder.encoding().NumbersOfPair() > 0) {
    const int64_t tape = PairTablesOf(settings).TapeBeyond();
    if (tape > 0) return Text("encoding ", settings.encoding, " on tapes of ", tape, " tokens: biases of all pairs would take more than 1 GiB");
  }
  return "";
}

}  // namespace longreach::trainer
