// What commands that plan or submit a sweep say of its name and of its lengths.
#include <gmock/gmock.h>

#include "client/commands/other_tests.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using SweepCallsTest = WithFakeScheduler;

TEST_F(SweepCallsTest, ASecondSweepOfANameIsTold) {
  v1::Sweep before;
  before.set_id(std::string(64, '1'));
  before.set_name("other");
  scheduler_.other_sweeps = {before};
  for (const char* command : {"submit", "run"}) EXPECT_THAT(Run({command, "table-b1"}).err, Not(HasSubstr("called 'table-b1' too"))) << command;

  scheduler_.other_sweeps[0].set_name("table-b1");

  for (const char* command : {"submit", "run"}) {
    EXPECT_THAT(Run({command, "table-b1"}).err, HasSubstr("another sweep is called 'table-b1' too, so other commands need an id in place of the name: this one is aaaaaaaa, or 'last'; "
                                                          "the same command with '--set name=OTHER'"))
        << command;
  }
  EXPECT_EQ(Run({"submit", "table-b1", "-q"}).err, "");
  scheduler_.other_sweeps.push_back(scheduler_.other_sweeps[0]);
  scheduler_.other_sweeps[1].set_id(std::string(64, '2'));
  EXPECT_THAT(Run({"submit", "table-b1"}).err, HasSubstr("2 other sweeps are called 'table-b1' too"));
}

TEST_F(SweepCallsTest, ThatJobsWouldBeDoneWithOtherTestsIsTold) {
  const TempFolder folder;
  const std::string file = folder.Write("mine.yaml", "experiment: algorithmic\naxes: {task: even_pairs, encoding: rope, learning_rate: 0.001, seed: 0}\n"
                                                     "evaluation: {lengths: [50, 60], examples: 10}\n");
  v1::Sweep before;
  before.set_id(std::string(64, '1'));
  before.set_name("before");
  before.mutable_counts()->set_succeeded(9);
  before.mutable_spec()->set_experiment("algorithmic");
  before.mutable_spec()->mutable_evaluation()->add_lengths(70);
  before.mutable_spec()->mutable_evaluation()->set_examples(10);
  scheduler_.other_sweeps = {before};
  const std::string told = "with the evaluation of sweep 11111111 before, 9 of these 945 jobs are done: they differ in evaluation.lengths, and tests are part of a job";
  for (const char* command : {"plan", "submit", "run"}) {
    EXPECT_THAT(Run({command, file}).err, Not(HasSubstr("evaluation of sweep"))) << command << ": they differ in more than that";
  }
  scheduler_.when_planned = [](const v1::SubmitSweepRequest& request, v1::Plan& plan) {
    if (request.dry_run() && request.spec().evaluation().lengths(0) == 70) plan.set_done(9);
  };

  for (const char* command : {"plan", "submit", "run"}) EXPECT_THAT(Run({command, file}).err, HasSubstr(told)) << command;

  EXPECT_EQ(Run({"plan", file, "-q"}).err, "");
  scheduler_.state_before = "live";
  EXPECT_THAT(Run({"submit", file}).err, Not(HasSubstr("evaluation of sweep"))) << "it was told when the sweep was new";
  scheduler_.plan.set_jobs(1'000'000);
  EXPECT_THAT(Run({"plan", file}).err, Not(HasSubstr("evaluation of sweep"))) << "another plan of so many jobs takes long";
  scheduler_.plan.set_jobs(945);
  scheduler_.plan.set_done(945);
  EXPECT_THAT(Run({"plan", file}).err, Not(HasSubstr("evaluation of sweep"))) << "nothing is trained again";
}

TEST_F(SweepCallsTest, WhatIsAskedForTheSakeOfANoteFailsNothing) {
  const TempFolder folder;
  const std::string file = folder.Write("mine.yaml", "experiment: algorithmic\naxes: {task: even_pairs, encoding: rope, learning_rate: 0.001, seed: 0}\n"
                                                     "evaluation: {lengths: [50, 60], examples: 10}\n");
  for (const int length : {70, 80}) {
    v1::Sweep& before = scheduler_.other_sweeps.emplace_back();
    before.set_id(std::string(64, length == 70 ? '1' : '2'));
    before.set_name("before");
    before.mutable_counts()->set_succeeded(9);
    before.mutable_spec()->set_experiment("algorithmic");
    before.mutable_spec()->mutable_evaluation()->add_lengths(length);
    before.mutable_spec()->mutable_evaluation()->set_examples(10);
  }
  grpc::Status answer_of_70;
  int asked = 0;
  scheduler_.when_planned = [&](const v1::SubmitSweepRequest& request, v1::Plan& plan) {
    scheduler_.refusals.erase("SubmitSweep");
    const int first = request.spec().evaluation().lengths(0);
    if (first == 50) return;
    ++asked;
    if (first == 70) scheduler_.refusals["SubmitSweep"] = answer_of_70;
    else plan.set_done(9);
  };

  answer_of_70 = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "evaluation.lengths: 70");
  for (const char* command : {"plan", "submit", "run"}) {
    const Outcome outcome = Run({command, file});
    EXPECT_EQ(outcome.code, kDone) << command << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("with the evaluation of sweep 22222222 before, 9 of these 945 jobs are done")) << command << ": the next is asked";
  }

  answer_of_70 = grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "too much to do");
  asked = 0;
  for (const char* command : {"plan", "submit", "run"}) {
    const Outcome outcome = Run({command, file});
    EXPECT_EQ(outcome.code, kDone) << command << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("evaluation of sweep"))) << command;
  }
  EXPECT_EQ(asked, 3) << "a scheduler that has much to do is asked no more";
  scheduler_.refusals["GetSweep"] = grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "too much to do");
  EXPECT_EQ(Run({"plan", file}).code, kDone);
  scheduler_.refusals["ListSweeps"] = grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "no role");
  EXPECT_EQ(Run({"plan", file}).code, kDone);
  EXPECT_EQ(asked, 3);
}

TEST_F(SweepCallsTest, OfOtherTestsThoseWithTheMostDoneAreTold) {
  const TempFolder folder;
  const std::string file = folder.Write("mine.yaml", "experiment: algorithmic\naxes: {task: even_pairs, encoding: rope, learning_rate: 0.001, seed: 0}\n"
                                                     "evaluation: {lengths: [50, 60]}\n");
  // The newest first, as the scheduler lists them.
  for (const auto& [name, length] : {std::pair("few", 70), std::pair("most", 80), std::pair("some", 90)}) {
    v1::Sweep& before = scheduler_.other_sweeps.emplace_back();
    before.set_id(std::string(63, '1') + std::to_string(length / 10));
    before.set_name(name);
    before.mutable_counts()->set_succeeded(9);
    before.mutable_spec()->set_experiment("algorithmic");
    before.mutable_spec()->mutable_evaluation()->add_lengths(length);
  }
  scheduler_.when_planned = [](const v1::SubmitSweepRequest& request, v1::Plan& plan) {
    const int length = request.dry_run() ? request.spec().evaluation().lengths(0) : 0;
    if (length >= 70) plan.set_done(length == 70 ? 4 : length == 80 ? 9 : 5);
  };

  const std::string said = Run({"plan", file}).err;

  EXPECT_THAT(said, HasSubstr("with the evaluation of sweep 11111111 most, 9 of these 945 jobs are done"));
  EXPECT_THAT(said, Not(HasSubstr("11111111 few,"))) << "one note is enough";
}

TEST_F(SweepCallsTest, OfManySweepsThoseOfTheNameAreLookedAtFirst) {
  v1::ListSweepsResponse all;
  for (int i = 0; i < 20; ++i) {
    v1::Sweep& sweep = *all.add_sweeps();
    sweep.set_id(std::to_string(i));
    sweep.set_name(i == 7 || i > 15 ? "mine" : "another");
    sweep.mutable_counts()->set_succeeded(i == 18 ? 0 : 1);
  }
  EXPECT_THAT(SweepsWithTests(all, "mine", "16"), ::testing::ElementsAre("7", "17", "19", "0", "1", "2", "3", "4"));
}

TEST(OtherTestsTest, ASweepThatTestsWeightsAloneTrainsNothingAgain) {
  v1::SweepSpec sweep;
  EXPECT_FALSE(TrainsNothing(sweep)) << "updates by default";
  sweep.mutable_training()->set_steps(0);
  EXPECT_TRUE(TrainsNothing(sweep));
  sweep.add_systems()->mutable_with()->mutable_model()->set_attention_scale(1.2);
  EXPECT_TRUE(TrainsNothing(sweep));
  sweep.add_systems()->mutable_with()->mutable_training()->set_steps(200);
  EXPECT_FALSE(TrainsNothing(sweep)) << "one system does";
  sweep.mutable_training()->set_steps(200);
  sweep.mutable_systems(1)->mutable_with()->mutable_training()->set_steps(0);
  EXPECT_FALSE(TrainsNothing(sweep)) << "the first has the sweep's own";
  sweep.mutable_systems(0)->mutable_with()->mutable_training()->set_steps(0);
  EXPECT_TRUE(TrainsNothing(sweep));
}

TEST_F(SweepCallsTest, TestsOfLengthsThatAreTrainedOnAreTold) {
  const std::vector<std::string> tests_5_to_14 = {"--set", "training.lengths=1..10", "--set", "evaluation.lengths=5..14"};
  for (const char* command : {"plan", "submit", "run"}) {
    std::vector<std::string> line = {command, "table-b1"};
    EXPECT_THAT(Run(line).err, Not(HasSubstr("within the training lengths"))) << command;
    line.insert(line.end(), tests_5_to_14.begin(), tests_5_to_14.end());
    EXPECT_THAT(Run(line).err, HasSubstr("6 of 10 test lengths are within the training lengths, 1 to 10: a value over all lengths is of both\n")) << command;
  }
  EXPECT_THAT(Run({"plan", "table-b1", "--set", "evaluation.lengths=40..42"}).err, HasSubstr("1 of 3 test lengths is within the training lengths, 1 to 40"));
  EXPECT_THAT(Run({"plan", "table-b1", "--set", "evaluation.lengths=39..40"}).err,
              HasSubstr("2 of 2 test lengths are within the training lengths, 1 to 40: nothing is tested beyond them\n"));
  EXPECT_THAT(Run({"plan", "table-b1", "--set", "training.lengths=1..50"}).err, HasSubstr("10 of 460 test lengths are within"));
  EXPECT_THAT(Run({"plan", "quickstart-language", "--set", "axes.seed=0"}).err, Not(HasSubstr("within the training lengths"))) << "it is shown by length";
}

TEST_F(SweepCallsTest, ASystemsOwnLengthsAreLookedAt) {
  EXPECT_THAT(Run({"plan", "table-b1", "--set", "training.lengths=1..10", "--set", "evaluation.lengths=11..20", "--set", "model.layers=1,2"}).err,
              Not(HasSubstr("within the training lengths")));
  TempFolder folder;
  const std::string file = folder.Write("own.yaml", R"(experiment: algorithmic
axes: {task: even_pairs, encoding: rope, learning_rate: 0.001, seed: 0}
training: {lengths: 1..10}
evaluation: {lengths: 11..20}
systems:
  - {name: long, with: {training: {lengths: 1..12}}}
  - {name: short, with: {training: {lengths: 1..5}}}
)");
  EXPECT_THAT(Run({"plan", file}).err, HasSubstr("system 'long': 2 of 10 test lengths are within the training lengths, 1 to 12"));
  const auto told = [&](const std::string& systems) {
    return Run({"plan", folder.Write("tests.yaml", "experiment: algorithmic\naxes: {task: even_pairs, encoding: rope, learning_rate: 0.001, seed: 0}\nsystems:\n" + systems)}).err;
  };
  const std::string within = "  - {name: within, with: {evaluation: {lengths: 11..20}}}\n", beyond = "  - {name: beyond, with: {evaluation: {lengths: 91..95}}}\n";
  for (const std::string& systems : {within + beyond, beyond + within}) {
    EXPECT_THAT(told(systems), HasSubstr("system 'within': 10 of 10 test lengths are within the training lengths, 1 to 40: nothing is tested beyond them\n")) << "which the other one is";
  }
  EXPECT_THAT(told(within + "  - {name: deep, with: {evaluation: {lengths: 11..20}, model: {layers: 2}}}\n"), Not(HasSubstr("system '"))) << "all of them";
}

TEST_F(SweepCallsTest, OfPairsOfSequencesTestsWithinTheTrainingLengthsAreTold) {
  TempFolder folder;
  const auto told = [&](const std::string& tests) {
    return Run({"plan", folder.Write("own.yaml", "experiment: sequences\naxes: {task: pairs, encoding: rope, learning_rate: 0.001, seed: 0}\n"
                                                 "training: {lengths: 5..10}\nevaluation: {lengths: " + tests + "}\n")}).err;
  };
  EXPECT_THAT(told("9..12"), HasSubstr("2 of 4 test lengths are within the training lengths, 5 to 10: a value over all lengths is of both\n"));
  EXPECT_THAT(told("11..12"), Not(HasSubstr("within the training lengths")));
}

TEST_F(SweepCallsTest, APlanSaysWhichVocabularyItCounts) {
  constexpr const char* kSaid = "compute, memory and checkpoints are those of a vocabulary of 32,000 tokens";
  EXPECT_THAT(Run({"plan", "nope-passkey"}).err, Not(HasSubstr("vocabulary"))) << "nothing is counted where the sizes are not known";
  scheduler_.plan.set_pack_memory_bytes(1e9);
  EXPECT_THAT(Run({"plan", "nope-passkey"}).err, HasSubstr(kSaid)) << "its systems have folders";
  EXPECT_THAT(Run({"plan", "nope-small"}).err, Not(HasSubstr("vocabulary")));
  EXPECT_THAT(Run({"plan", "nope-small", "--set", "model.folder=mine"}).err, HasSubstr(kSaid));
  const std::string parts = Run({"plan", "nope-tinyllama"}).err;
  EXPECT_EQ(parts.find(kSaid), parts.rfind(kSaid)) << "once of all parts: " << parts;
  EXPECT_THAT(parts, HasSubstr(kSaid));
}

TEST_F(SweepCallsTest, APlanSaysThatItCountsFiresPairs) {
  constexpr const char* kSaid = "memory has what FIRE's biases keep of each pair of positions";
  scheduler_.plan.set_pack_memory_bytes(1e9);
  EXPECT_THAT(Run({"plan", "quickstart"}).err, Not(HasSubstr(kSaid)));
  EXPECT_THAT(Run({"plan", "quickstart", "--set", "encoding=rope,fire:randomized"}).err, HasSubstr(kSaid));
  scheduler_.plan.set_pack_memory_bytes(0);
  EXPECT_THAT(Run({"plan", "quickstart", "--set", "encoding=fire"}).err, Not(HasSubstr(kSaid))) << "nothing is counted";
}

TEST_F(SweepCallsTest, WhatTrainsNothingIsTestedBesideTheLengthsThatItsWeightsWereTrainedAt) {
  TempFolder folder;
  const auto said = [&](const std::string& more) {
    const std::string file = folder.Write("again.yaml", "experiment: algorithmic\naxes: {task: even_pairs, encoding: rope, learning_rate: 0.001, seed: 0}\n"
                                                        "evaluation: {lengths: 21..30}\n" + more);
    return Run({"plan", file}).err;
  };
  const std::string untrained = "training: {steps: 0}\n";
  const std::string until = "inputs: [{name: weights, artifact: weights, from: {training: {steps: 10, lengths: 1..";
  EXPECT_THAT(said(untrained + until + "20}}}]\n"), Not(HasSubstr("within the training lengths")));
  EXPECT_THAT(said(untrained + until + "25}}}]\n"), HasSubstr("5 of 10 test lengths are within the training lengths, 1 to 25"));
  EXPECT_THAT(said(untrained + "inputs: [{name: weights, artifact: weights}]\n"), HasSubstr("10 of 10 test lengths are within the training lengths, 1 to 40")) << "the default";
  EXPECT_THAT(said("training: {lengths: 1..22}\n" + until + "20}}}]\n"), HasSubstr("2 of 10 test lengths are within")) << "it is trained on";
  EXPECT_THAT(said("training: {lengths: 1..20}\nsystems: [{name: again, with: {training: {steps: 0}, inputs: [{name: weights, artifact: weights}]}}]\n"),
              Not(HasSubstr("within the training lengths"))) << "the weights are the sweep's";
}

TEST_F(SweepCallsTest, DynamicNtkThatNeverBeginsIsTold) {
  constexpr const char* kPlain = "no test is longer than positions.original_length, so that 'dynamic' is rope without scaling in all of them\n";
  TempFolder folder;
  const auto said = [&](const std::string& command, const std::string& more, const std::string& lengths) {
    const std::string file = folder.Write("dynamic.yaml", "name: dynamic\nexperiment: llama\ndata: words\naxes: {task: bytes, encoding: rope, learning_rate: 0.001, seed: 0}\n"
                                                          "evaluation: {lengths: " + lengths + "}\n" + more);
    return Run({command, file}).err;
  };
  const std::string dynamic = "positions: {rope_scaling: dynamic, rope_factor: 4, original_length: 128}\n";
  for (const char* command : {"plan", "submit"}) {
    EXPECT_THAT(said(command, dynamic, "[64, 128]"), HasSubstr(kPlain)) << command;
    EXPECT_THAT(said(command, dynamic, "[64, 129]"), Not(HasSubstr("original_length"))) << command;
  }
  EXPECT_THAT(said("plan", "positions: {rope_scaling: yarn, rope_factor: 4, original_length: 128}\n", "128"), Not(HasSubstr("original_length")))
      << "YaRN is another encoding at any length";
  EXPECT_THAT(said("plan", "positions: {rope_scaling: dynamic, rope_factor: 4}\n", "128"), Not(HasSubstr("original_length"))) << "it is the folder's";
  // A system's own settings, and what it has of all.
  const std::string systems = "systems:\n  - {name: plain, with: {positions: {rope_scaling: none, rope_factor: 1}}}\n"
                              "  - {name: longer, with: {evaluation: {lengths: 256}}}\n  - {name: early, with: {positions: {original_length: 32}}}\n"
                              "  - {name: never, with: {positions: {rope_scaling: dynamic}}}\n";
  EXPECT_THAT(said("plan", dynamic + systems, "128"), HasSubstr(std::string("system never: ") + kPlain));
  EXPECT_THAT(said("plan", dynamic + systems + "  - {name: nor, with: {evaluation: {lengths: 64}}}\n", "128"),
              HasSubstr(std::string("system never and 1 other system: ") + kPlain));
}

}  // namespace
}  // namespace longreach::client
