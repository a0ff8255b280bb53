// What every task of the catalog must keep, whatever it computes.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "proto/base/sha256.h"
#include "proto/catalog/catalog.h"
#include "worker/trainer/tasks/registry.h"
#include "worker/trainer/tasks/support/task.h"

namespace longreach::trainer::tasks {
namespace {

struct Batch {
  std::vector<uint8_t> inputs;
  std::vector<uint8_t> targets;
  std::vector<int32_t> valid;
  bool operator==(const Batch&) const = default;
};

Batch Empty(const Task& task, int length, size_t count) {
  const int input_length = task.InputLength(length);
  return {std::vector<uint8_t>(count * static_cast<size_t>(input_length), 0xEE),
          std::vector<uint8_t>(count * static_cast<size_t>(task.OutputLength(input_length)), 0xEE),
          std::vector<int32_t>(count, -1)};
}

Batch Fill(const Task& task, int length, const RandomStream& stream, size_t count) {
  Batch batch = Empty(task, length, count);
  EXPECT_TRUE(FillBatch(task, length, stream, 0, batch.inputs, batch.targets, batch.valid).ok());
  return batch;
}

class TaskContractTest : public ::testing::TestWithParam<std::string> {
 protected:
  const Task& task() const { return *FindTask(GetParam()); }
  const catalog::Task& known() const { return *catalog::FindTask(GetParam()); }
};

TEST(TaskRegistryTest, HasTheTasksOfTheCatalogInItsOrder) {
  ASSERT_EQ(Tasks().size(), catalog::Tasks().size());
  for (size_t i = 0; i < Tasks().size(); ++i) EXPECT_EQ(Tasks()[i].name, catalog::Tasks()[i].name);
  EXPECT_EQ(FindTask("parity"), nullptr);
}

TEST_P(TaskContractTest, HasTheLengthsOfTheCatalog) {
  for (int length = 1; length <= 600; ++length) {
    const int input_length = task().InputLength(length);
    EXPECT_EQ(input_length, known().InputTokens(length)) << length;
    EXPECT_EQ(task().OutputLength(input_length), known().OutputTokens(input_length)) << length;
    EXPECT_EQ(input_length + task().OutputLength(input_length), known().Tape(length)) << length;
  }
}

TEST_P(TaskContractTest, StaysWithinTheVocabulariesAndFillsEveryPosition) {
  std::set<int> inputs_seen;
  std::set<int> targets_seen;
  for (const int length : {1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 40, 41, 64, 65, 127, 500, kMaxInputLength}) {
    const Batch batch = Fill(task(), length, TrainingBatchStream(3, 14), length > 100 ? 8 : 200);
    inputs_seen.insert(batch.inputs.begin(), batch.inputs.end());
    targets_seen.insert(batch.targets.begin(), batch.targets.end());
  }
  EXPECT_GE(*inputs_seen.begin(), 0);
  EXPECT_LT(*inputs_seen.rbegin(), known().input_vocabulary);
  EXPECT_LT(*targets_seen.rbegin(), known().output_vocabulary);
  EXPECT_EQ(targets_seen.size(), static_cast<size_t>(known().output_vocabulary)) << "some class never occurs";
}

// Two sequences would else have draws in common, in every batch of long ones.
TEST_P(TaskContractTest, DrawsASequenceFromItsOwnRangeOfTheStream) {
  for (const int length : {1, 2, 3, 500, kMaxInputLength - 1, kMaxInputLength}) {
    std::vector<uint8_t> input(static_cast<size_t>(task().InputLength(length)));
    for (uint32_t sequence = 0; sequence < 50; ++sequence) {
      Draws draws(TestBatchStream(length), sequence);
      task().Sample(draws, input);
      ASSERT_LE(draws.next_block(), (sequence + 1) * Draws::kBlocksPerSequence) << length;
    }
  }
}

TEST_P(TaskContractTest, CountsTheLeadingPositionsUpToTheEnd) {
  constexpr uint8_t kEnd = 2;
  const bool ends = GetParam() == "stack_manipulation" || GetParam() == "binary_addition" ||
                    GetParam() == "binary_multiplication";
  for (const int length : {1, 2, 3, 8, 40, 41, 500}) {
    const Batch batch = Fill(task(), length, TrainingBatchStream(0, 5), 100);
    const size_t output_length = batch.targets.size() / 100;
    for (size_t i = 0; i < batch.valid.size(); ++i) {
      const uint8_t* target = &batch.targets[i * output_length];
      const size_t valid = static_cast<size_t>(batch.valid[i]);
      ASSERT_GE(valid, 1u);
      ASSERT_LE(valid, output_length);
      if (!ends) {
        ASSERT_EQ(valid, output_length);
        continue;
      }
      for (size_t k = 0; k < output_length; ++k) {
        ASSERT_EQ(target[k] == kEnd, k == valid - 1) << length << " " << k;
        if (k >= valid) {
          ASSERT_EQ(target[k], 0);
        }
      }
    }
  }
}

// A guess is right as often as one of the output tokens that there are is the target, whatever the targets are: so that is exact.
TEST_P(TaskContractTest, GuessingHasTheChanceOfTheCatalog) {
  for (const int length : {8, 40, 41, 500}) {
    const Batch batch = Fill(task(), length, TestBatchStream(length), 200);
    const size_t output_length = batch.targets.size() / batch.valid.size();
    std::set<int> tokens;
    for (size_t i = 0; i < batch.valid.size(); ++i) {
      const auto counted = batch.targets.begin() + static_cast<ptrdiff_t>(i * output_length);
      tokens.insert(counted, counted + batch.valid[i]);
    }
    EXPECT_DOUBLE_EQ(known().ChancePercent(), 100.0 / static_cast<double>(tokens.size())) << length;
  }
}

TEST_P(TaskContractTest, SolvesAnInputTheSameWayWheneverItIsAsked) {
  const Batch batch = Fill(task(), 41, TestBatchStream(41), 50);
  const size_t input_length = batch.inputs.size() / 50;
  const size_t output_length = batch.targets.size() / 50;
  for (size_t i = 0; i < 50; ++i) {
    std::vector<uint8_t> target(output_length, 0x55);
    const int valid = task().Solve({&batch.inputs[i * input_length], input_length}, target);
    EXPECT_EQ(valid, batch.valid[i]);
    EXPECT_TRUE(std::equal(target.begin(), target.end(), &batch.targets[i * output_length]));
  }
}

TEST_P(TaskContractTest, MakesTheSameBatchWholeInPartsAndOnThreads) {
  constexpr size_t kCount = 64;
  const RandomStream stream = TrainingBatchStream(9, 77);
  const Batch whole = Fill(task(), 40, stream, kCount);

  Batch parts = Empty(task(), 40, kCount);
  const size_t input_length = parts.inputs.size() / kCount;
  const size_t output_length = parts.targets.size() / kCount;
  std::vector<std::thread> threads;
  for (size_t begin = 0; begin < kCount; begin += 16) {
    threads.emplace_back([&, begin] {
      EXPECT_TRUE(FillBatch(task(), 40, stream, static_cast<uint32_t>(begin),
                            std::span(parts.inputs).subspan(begin * input_length, 16 * input_length),
                            std::span(parts.targets).subspan(begin * output_length, 16 * output_length),
                            std::span(parts.valid).subspan(begin, 16))
                      .ok());
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(parts, whole);
}

TEST_P(TaskContractTest, DrawsAnewForEveryStepSeedAndSequence) {
  const Batch batch = Fill(task(), 40, TrainingBatchStream(0, 1), 20);
  const size_t input_length = batch.inputs.size() / 20;

  EXPECT_NE(batch.inputs, Fill(task(), 40, TrainingBatchStream(0, 2), 20).inputs);
  EXPECT_NE(batch.inputs, Fill(task(), 40, TrainingBatchStream(1, 1), 20).inputs);
  EXPECT_NE(batch.inputs, Fill(task(), 40, TestBatchStream(40), 20).inputs);
  std::set<std::string> different;
  for (size_t i = 0; i < 20; ++i) {
    const auto begin = batch.inputs.begin() + static_cast<ptrdiff_t>(i * input_length);
    different.emplace(begin, begin + static_cast<ptrdiff_t>(input_length));
  }
  EXPECT_EQ(different.size(), 20u);
}

INSTANTIATE_TEST_SUITE_P(AllTasks, TaskContractTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const catalog::Task& task : catalog::Tasks()) names.emplace_back(task.name);
                           return names;
                         }()),
                         [](const auto& task) { return task.param; });

// Stored results were trained on these batches: a change here needs a higher revision of the task in proto/catalog.
TEST(TaskBatchTest, KeepsTheBatchesOfRevision1) {
  std::string all;
  for (const Task& task : Tasks()) {
    std::string bytes;
    for (const int length : {1, 2, 7, 40}) {
      const Batch batch = Fill(task, length, TrainingBatchStream(0, 12345), 32);
      bytes.append(batch.inputs.begin(), batch.inputs.end());
      bytes.append(batch.targets.begin(), batch.targets.end());
    }
    all += std::string(task.name) + " " + Sha256Of(bytes).substr(0, 16) + "\n";
  }
  EXPECT_EQ(all,
            "associative_recall 1a200ddcfac9053b\n"
            "binary_addition fbd02cfdae1ee56e\n"
            "binary_multiplication a9111e47ed785ae0\n"
            "bucket_sort 15b7de5f4231850c\n"
            "compute_sqrt 873c9f9bc01db68f\n"
            "copy_string 93dcc36760c9a341\n"
            "cycle_navigation 64be4c97bccfe20a\n"
            "duplicate_string 1b4ca8904fefc6bb\n"
            "dyck e267a1d24a6a8530\n"
            "even_pairs 630a620e4c07133f\n"
            "flip_flop e1fbd1d16773bb14\n"
            "majority 9a8bb1b3e4d315a0\n"
            "missing_duplicate_string 992856df939a11ba\n"
            "modular_arithmetic 0d0e2d41223aee1a\n"
            "modular_arithmetic_brackets dd4c3b1adca05466\n"
            "odds_first 41984f38f35c0756\n"
            "parity_check 94b8a1dc7de9e71c\n"
            "permutation_composition 1a494552323e9174\n"
            "reverse_string b5fc005eeb53fb8d\n"
            "solve_equation fe663a39eb7a3014\n"
            "stack_manipulation 8f46bcfa38978d2d\n");
}

TEST(TaskBatchTest, RefusesWhatDoesNotFit) {
  const Task& task = *FindTask("duplicate_string");
  Batch batch = Empty(task, 5, 2);
  const auto fill = [&](int length, uint32_t first, std::span<uint8_t> targets) {
    return FillBatch(task, length, TrainingBatchStream(0, 0), first, batch.inputs, targets, batch.valid);
  };

  EXPECT_EQ(fill(0, 0, batch.targets).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fill(kMaxInputLength + 1, 0, batch.targets).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fill(5, 0, std::span(batch.targets).first(19)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fill(5, Draws::kMaxSequences - 1, batch.targets).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(fill(5, Draws::kMaxSequences - 2, batch.targets).ok());
}

}  // namespace
}  // namespace longreach::trainer::tasks
