#include "proto/catalog/other_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/catalog/catalog.h"

namespace longreach::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OtherNamesTest, NamesAndLabelsGoByThemselvesHoweverTheyAreWritten) {
  for (const char* word : {"sin_cos", "Sin-Cos", "sin/cos", "SINCOS"}) EXPECT_THAT(EncodingsCalled(word), ElementsAre("sin_cos")) << word;
  EXPECT_THAT(TasksCalled("Even Pairs"), ElementsAre("even_pairs"));
  EXPECT_THAT(TasksCalled("Modular Arithmetic (Simple)"), ElementsAre("modular_arithmetic"));
  EXPECT_THAT(TasksCalled("ImageNet"), ElementsAre("imagenet"));
}

TEST(OtherNamesTest, PeopleHaveOtherNames) {
  for (const auto& [word, meant] : {std::pair("nopos", "none"), std::pair("no_pe", "none"), std::pair("No-PE", "none"), std::pair("no position", "none"), std::pair("sinusoidal", "sin_cos"),
                                    std::pair("rotary", "rope"), std::pair("learnt", "learned"), std::pair("t5-bias", "t5"), std::pair("relative_bias", "t5"), std::pair("xl", "relative"),
                                    std::pair("Transformer-XL", "relative"), std::pair("rpe", "relative"), std::pair("kerple", "log_kerple"), std::pair("kerple-power", "power_kerple")}) {
    EXPECT_THAT(EncodingsCalled(word), ElementsAre(meant)) << word;
  }
  for (const auto& [word, meant] : {std::pair("parity", "parity_check"), std::pair("copy", "copy_string"), std::pair("string_duplication", "duplicate_string"), std::pair("word problem", "permutation_composition"), std::pair("square root", "compute_sqrt"), std::pair("string_reversal", "reverse_string")}) {
    EXPECT_THAT(TasksCalled(word), ElementsAre(meant)) << word;
  }
}

TEST(OtherNamesTest, AWordThatIsUsedOfSeveralNamesThemAll) {
  EXPECT_THAT(EncodingsCalled("absolute"), ElementsAre("learned", "sin_cos"));
  EXPECT_THAT(TasksCalled("mod_arith"), ElementsAre("modular_arithmetic", "modular_arithmetic_brackets"));
}

TEST(OtherNamesTest, RandomizedPositionsAreSaidBeforeOrBehind) {
  for (const char* word : {"rope_randomized", "Randomized RoPE", "randomized:rope", "noisy_rotary"}) EXPECT_THAT(EncodingsCalled(word), ElementsAre("rope:randomized")) << word;
  EXPECT_THAT(EncodingsCalled("randomized_absolute"), ElementsAre("learned:randomized", "sin_cos:randomized"));
  EXPECT_THAT(EncodingsCalled("randomized_nope"), IsEmpty()) << "it has no positions";
}

TEST(OtherNamesTest, OtherWordsAreNobodys) {
  for (const char* word : {"", "...", "roep", "randomized", "noisy", "\xff\xfe", "ö"}) {
    EXPECT_THAT(EncodingsCalled(word), IsEmpty()) << word;
    EXPECT_THAT(TasksCalled(word), IsEmpty()) << word;
  }
}

// A name that is there needs no other; one that is not is of something that was removed.
TEST(OtherNamesTest, TheListIsSortedAndOfNamesThatAreThere) {
  const std::vector<std::pair<std::string_view, std::string_view>> list = {
#define X(name, other) {#name, other},
#include "proto/catalog/other_names.def"
#undef X
  };
  EXPECT_TRUE(std::ranges::is_sorted(list));
  EXPECT_EQ(std::ranges::adjacent_find(list), list.end());
  for (const auto& [name, other] : list) {
    const std::vector<std::string> called = FindEncoding(name) != nullptr ? EncodingsCalled(other) : TasksCalled(other);
    EXPECT_NE(std::ranges::find(called, name), called.end()) << name << ": " << other;
    EXPECT_EQ(FindEncoding(other), nullptr) << other;
    EXPECT_EQ(FindTask(other), nullptr) << other;
    EXPECT_EQ(FindDataTask(other), nullptr) << other;
  }
}

}  // namespace
}  // namespace longreach::catalog
