// The data sets of a job as a requirement's text.
#include "scheduler/service/needs.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace longreach::service {
namespace {

// What stores hold: a form that is there once is there for good.
const std::vector<std::pair<std::string, DataSetNames>> kTexts = {
    {"", {}},
    {"pg19", {.corpus = "pg19"}},
    {"pg19 tinyllama", {.corpus = "pg19", .model = "tinyllama"}},
    {"pg19 tinyllama bench", {.corpus = "pg19", .model = "tinyllama", .longbench = "bench"}},
    {"pg19 +code", {.corpus = "pg19", .mixture = {"code"}}},
    {"pg19 +code +pg19", {.corpus = "pg19", .mixture = {"code", "pg19"}}},
    {"pg19 tinyllama +code +prose", {.corpus = "pg19", .model = "tinyllama", .mixture = {"code", "prose"}}},
    {"pg19 tinyllama bench +code", {.corpus = "pg19", .model = "tinyllama", .longbench = "bench", .mixture = {"code"}}},
};

TEST(DataSetNamesTest, AreOneTextThatSaysWhichIsWhich) {
  for (const auto& [text, names] : kTexts) {
    EXPECT_EQ(JoinDataSets(names), text);
    EXPECT_EQ(SplitDataSets(text), names) << text;
  }
}

}  // namespace
}  // namespace longreach::service
