// The parts of that set, each by its own file; without torch.
#pragma once

#include "tests/golden/check/nope/set.h"

namespace longreach::golden {

// models/: every folder loads and, written and read again, has the same bits. cases/ and manifest.json: logits, losses,
// entropies, attention weights, gradients of the head factors.
void CheckNopeModels(NopeSet& set, Report& report);

// rope_tables: frequencies and magnitudes of all scalings at all lengths.
void CheckRopeTables(NopeSet& set, Report& report);

// ppl/, generation.json, train_hs, correlation.json: what the models are used for.
void CheckNopeRuns(NopeSet& set, Report& report);

// fit.json: the growth of the best scale, moving averages.
void CheckNopeFits(NopeSet& set, Report& report);

// passkey.json, passkey_landmark.json, longbench/metrics.json, packed/.
void CheckNopeTexts(NopeSet& set, Report& report);

// tokenizer/, longbench/truncation.json, ids in passkey.json. longreach-tokenizer lies beside the program.
void CheckNopeTokenizer(NopeSet& set, Report& report);

}  // namespace longreach::golden
