// What LongBench's tasks are asked in, letter by letter.
#include <gtest/gtest.h>

#include "proto/base/sha256.h"
#include "worker/trainer/longbench/prompts.h"

namespace longreach::longbench {
namespace {

// SHA-256 of the templates in config/dataset2prompt.json of THUDM/LongBench.
constexpr std::pair<std::string_view, std::string_view> kPublished[] = {
    {"narrativeqa", "aada7ed24b06abace5b0045ac3bcfe06fc831a6cf434f0ecfd99fb7b3d299e1c"},
    {"qasper", "0fbdd123fe7f83d6d6a9c583ca28cb29d68e523bf8fec01a0cf2dcd11037775d"},
    {"multifieldqa_en", "20b4666a2de8a1f701bdb6c4e015fa9f8758d64b361d841f7766df6c9ceba770"},
    {"hotpotqa", "9ec4ae308865bd0c62af20b3dc7b12b31f2b447f55684bd88c1aa40f2f636deb"},
    {"2wikimqa", "9ec4ae308865bd0c62af20b3dc7b12b31f2b447f55684bd88c1aa40f2f636deb"},
    {"musique", "9ec4ae308865bd0c62af20b3dc7b12b31f2b447f55684bd88c1aa40f2f636deb"},
    {"gov_report", "91c25d585b189ced91c9280efcb4ecb5dcff9548cd4e3bfae66c68025b569e95"},
    {"qmsum", "dca23b678fe0183bbd9555b57947022aed1b85739da5ad7e1b4708dd0c71c409"},
    {"multi_news", "2af3f28c40b902e6535d4910510d51653613c49de9b2fc287c5958395061101d"},
    {"trec", "0eff8bebdba99d91e9d7d91b6ab39455ac74648bea92c9255c9f68c62175b2db"},
    {"triviaqa", "00a802e6377e72fca39b169cf6c28893bedf23ba7286b03ecd15867c3e27a7c4"},
    {"samsum", "a68d884234907eefcaa0eacf7b2997f60fa46603988dceae6a44f9b49f045b3f"},
    {"passage_count", "986550b6c61009c629a4535766d94b7b51e2b2b9e1ed169e4ecb54417466e964"},
    {"passage_retrieval_en", "39b96b7fa52bdd2aa2bde34ea199158505201b9a0a2c3ce94e80249293f60431"},
    {"lcc", "6a1f24cf0bb83cd90f1fca8f0dd24801626c2aaea29db834ddc83b950e71190e"},
    {"repobench-p", "ee9ec182ea5ffeb70a7140d55baea97264a8612d88226d323afa90859c36240c"}};

TEST(LongBenchPromptsTest, TheWordsAreThosePublished) {
  EXPECT_EQ(std::size(kPublished), catalog::kLongBenchTasks.size());
  for (const auto& [name, sha256] : kPublished) {
    const Task* const task = catalog::FindLongBenchTask(name);
    ASSERT_NE(task, nullptr) << name;
    EXPECT_EQ(Sha256Of(MakePrompt(*task, "{context}", "{input}")), sha256) << name;
  }
}

TEST(LongBenchPromptsTest, BracesOfASampleStayAsTheyAre) {
  const Task& task = *catalog::FindLongBenchTask("repobench-p");
  EXPECT_EQ(MakePrompt(task, "f = {input}{}\n", "{context}\n"), "Please complete the code given below. \nf = {input}{}\n{context}\nNext line of code:\n");
}

}  // namespace
}  // namespace longreach::longbench
