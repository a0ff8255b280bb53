#include "client/spec/tests_of_sweep.h"

#include <algorithm>

#include <google/protobuf/util/message_differencer.h>

#include "proto/types/sweep_parts.h"

namespace longreach::client {
namespace {

using google::protobuf::util::MessageDifferencer;

// Where attention goes by how long the tapes of the training were.
bool GoesByTrainedLengths(const v1::SweepSpec& whole) {
  const auto is_on = [](const std::string& word) { return !word.empty() && word != "none"; };
  return is_on(whole.model().length_scaling()) || is_on(whole.positions().rope_scaling());
}

// `whole` is without systems.
v1::SweepSpec TestsOfPart(const v1::SweepSpec& whole) {
  v1::SweepSpec tests = whole;
  v1::Evaluation& evaluation = *tests.mutable_evaluation();
  evaluation.clear_attention_lengths();
  evaluation.clear_output_lengths();
  evaluation.clear_curve_every();
  evaluation.clear_curve_lengths();
  if (whole.training().has_steps() && whole.training().steps() == 0) return tests;
  tests.clear_training();
  tests.mutable_training()->set_steps(0);
  if (GoesByTrainedLengths(whole)) *tests.mutable_training()->mutable_lengths() = whole.training().lengths();
  if (whole.training().scale_bound() == "relu") tests.mutable_training()->set_scale_bound("relu");  // A part of the forward pass.
  tests.clear_inputs();
  v1::Input& weights = *tests.add_inputs();
  weights.set_name("weights");
  weights.set_artifact("weights");
  // Groups that are there, be they empty, are not those of the sweep that needs them.
  v1::SweepSpec& from = *weights.mutable_from();
  *from.mutable_model() = whole.model();
  *from.mutable_positions() = whole.positions();
  *from.mutable_training() = whole.training();
  *from.mutable_evaluation() = whole.evaluation();
  *from.mutable_inputs() = whole.inputs();
  return tests;
}

}  // namespace

v1::SweepSpec TestsOfSweep(const v1::SweepSpec& sweep) {
  v1::SweepSpec plain = sweep;
  plain.clear_systems();
  if (sweep.systems().empty()) return TestsOfPart(plain);
  v1::SweepSpec tests;
  tests.set_name(sweep.name());
  tests.set_experiment(sweep.experiment());
  tests.set_data(sweep.data());
  for (const v1::System& system : sweep.systems()) {
    // All of it: what the sweep has for all would else be said of inputs, too.
    v1::System& tested = *tests.add_systems();
    tested.set_name(system.name());
    *tested.mutable_with() = TestsOfPart(WithSystem(plain, system));
    v1::SweepSpec& with = *tested.mutable_with();
    with.clear_name();
    if (with.experiment() == tests.experiment()) with.clear_experiment();
    if (with.data() == tests.data()) with.clear_data();
  }
  // One for all is one to change.
  const v1::Evaluation first = tests.systems(0).with().evaluation();
  const bool alike = std::ranges::all_of(tests.systems(), [&](const v1::System& one) { return MessageDifferencer::Equals(one.with().evaluation(), first); });
  if (!alike) return tests;
  *tests.mutable_evaluation() = first;
  for (v1::System& one : *tests.mutable_systems()) one.mutable_with()->clear_evaluation();
  return tests;
}

}  // namespace longreach::client
