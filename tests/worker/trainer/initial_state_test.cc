// What members begin with: their seed's values, whoever else is in the pack.
#include <gtest/gtest.h>

#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/model/model.h"

namespace longreach::trainer {

namespace {

ParameterLayout SomeLayout() {
  PackSettings settings;
  settings.experiment = "algorithmic";
  settings.task = "even_pairs";
  settings.encoding = "log_kerple";
  settings.model = {.layers = 2, .embedding_dim = 16, .heads = 2, .mlp_dim = 16};
  return MakeModel(settings)->layout();
}

TEST(InitialStateTest, IsThatOfAMemberAloneWhateverTheOthersAre) {
  const ParameterLayout layout = SomeLayout();
  std::vector<Member> members(5);
  for (size_t m = 0; m < members.size(); ++m) {
    members[m].learning_rate = 1e-4 * static_cast<double>(m + 1);
    members[m].seed = m == 1 || m == 4 ? 8 : 7;
  }
  members[3].weights = MemberFile{"elsewhere", 0};
  const PackState together = InitialState(layout, members);
  for (size_t m = 0; m < members.size(); ++m) {
    EXPECT_TRUE(at::equal(together.parameters[static_cast<int64_t>(m)], InitialState(layout, {members[m]}).parameters[0])) << m;
  }
  EXPECT_TRUE(at::equal(together.parameters[0], together.parameters[2]));
  EXPECT_FALSE(at::equal(together.parameters[0], together.parameters[1]));
  EXPECT_TRUE(together.parameters[3].eq(0).all().item<bool>()) << "what is read from a file is not drawn";
}

}  // namespace

}  // namespace longreach::trainer
