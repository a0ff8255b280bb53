// Dropout's factors, drawn run by run as a GPU does: the bits that the host draws.
#include "worker/trainer/random/drop_factors.h"

#include <gtest/gtest.h>

#include "proto/base/text.h"
#include "worker/trainer/engine/batch.h"

namespace longreach::trainer {

namespace {

DrawingDevice RunByRun() {
  return {.device = at::kCPU, .fill = [](const DropFactors& factors) {
            for (int64_t run = 0; run < RunsOf(factors); ++run) FillFactorRun(factors, run);
          }};
}

Batch BatchOf(int64_t size, int64_t tape, int64_t outputs) {
  Batch batch;
  batch.size = size;
  batch.tape = tape;
  batch.outputs = outputs;
  batch.source = {.key = 7, .step = 12};
  return batch;
}

PackSettings Algorithmic(int dim) {
  PackSettings settings;
  settings.task = "reverse_string";
  settings.encoding = "sin_cos";
  settings.model.embedding_dim = dim;
  settings.model.heads = 2;
  settings.model.layers = 2;
  return settings;
}

TEST(DropFactorsTest, AreTheBitsOfTheHostForEveryPlaceOfAModel) {
  PackSettings language = Algorithmic(16);
  language.experiment = "language";
  language.task = "enwik8";
  language.model.decoder_layers = 2;
  for (const PackSettings& settings : {Algorithmic(64), Algorithmic(20), language}) {
    const std::unique_ptr<Model> model = MakeModel(settings);
    const Batch batch = BatchOf(5, 9, 3);
    for (const auto& [first, count] : {std::pair(0, 5), std::pair(3, 2)}) {
      SCOPED_TRACE(Text(settings.experiment, " ", settings.model.embedding_dim, ", from ", first));
      const std::vector<Tensor> expected = DropoutFactors(settings, *model, batch, first, count);
      const std::vector<Tensor> drawn = DropoutFactors(settings, *model, batch, first, count, RunByRun());
      ASSERT_EQ(drawn.size(), expected.size());
      int64_t dropped = 0;
      for (size_t place = 0; place < expected.size(); ++place) {
        ASSERT_EQ(drawn[place].defined(), expected[place].defined()) << place;
        if (!expected[place].defined()) continue;
        EXPECT_TRUE(drawn[place].equal(expected[place])) << place;
        dropped += expected[place].numel() - expected[place].count_nonzero().item<int64_t>();
      }
      EXPECT_GT(dropped, 0);
    }
  }
}

TEST(DropFactorsTest, AreNoneWhereNothingIsDropped) {
  PackSettings settings = Algorithmic(64);
  settings.model.dropout = 0;

  EXPECT_TRUE(DropoutFactors(settings, *MakeModel(settings), BatchOf(5, 9, 3), 0, 5, RunByRun()).empty());
}

}  // namespace

}  // namespace longreach::trainer
