#include "scheduler/service/access/account.h"

#include <gtest/gtest.h>

namespace longreach::service {
namespace {

// A caller as the listener sees it.
class AccountTest : public ::testing::Test {
 public:  // The cases change it.
  std::optional<Sent> Read() {
    return account_.Read(traffic_, false, [this] { return ++counted_, calls_; });
  }

  Account account_;
  TcpTraffic traffic_;
  std::optional<CallCount> calls_ = CallCount{};
  int counted_ = 0;
};

TEST_F(AccountTest, WhoeverSendsLittleIsNotCounted) {
  traffic_.taken = Account::kBytesUncounted - 1;

  EXPECT_FALSE(Read().has_value());
  EXPECT_EQ(counted_, 0);
}

TEST_F(AccountTest, NothingIsHeldAgainstAConnectionThatGrpcDoesNotKnow) {
  calls_ = std::nullopt;
  traffic_.taken = uint64_t{1} << 40;

  EXPECT_FALSE(Read().has_value());
}

TEST_F(AccountTest, BytesCountFromTheLastProgress) {
  struct {
    const char* what;
    void (*get_on)(AccountTest&);
  } const cases[] = {
      {"a call begins", [](AccountTest& t) { ++t.calls_->begun; }},
      {"a call ends", [](AccountTest& t) { ++t.calls_->ended; }},
      {"a message is complete", [](AccountTest& t) { ++t.calls_->messages; }},
      {"gRPC writes", [](AccountTest& t) { ++t.traffic_.written; }},
  };
  traffic_.taken = 1 << 20;
  ASSERT_TRUE(Read().has_value());
  for (const auto& [what, get_on] : cases) {
    traffic_.taken += 1 << 20;
    EXPECT_EQ(Read()->bytes_without_progress, 1u << 20) << "before " << what;

    get_on(*this);
    traffic_.taken += 1 << 20;

    EXPECT_EQ(Read()->bytes_without_progress, 0u) << what;
  }
}

TEST_F(AccountTest, RemembersHowManyCallsWereOpenAtMost) {
  calls_ = CallCount{.begun = 20};
  traffic_.taken = 1 << 20;
  ASSERT_EQ(Read()->calls_open, 20u);

  calls_ = CallCount{.begun = 20, .ended = 20};
  traffic_.taken += 1 << 20;

  const std::optional<Sent> after = Read();
  EXPECT_EQ(after->calls_open, 0u);
  EXPECT_EQ(after->calls_at_most, 20u);
}

}  // namespace
}  // namespace longreach::service
