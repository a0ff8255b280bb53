#include "proto/access/current_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>
#include <vector>

#include "proto/access/certificates.h"
#include "tests/support/temporary_folder.h"

namespace longreach::access {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CurrentCredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(files_.ca, authority_.certificate);
    Write(files_.key, before_.key);
    Write(files_.certificate, before_.certificate);
    Write(files_.token_file, "longreach_1\n");
  }

  KeyAndCertificate Issued(const std::string& name, int days = 10) const { return *Issue(authority_, {.name = name, .role = v1::ROLE_WORKER, .days = days}); }

  // As a new file, which a change of the same size in the same tick of the clock is too.
  static void Write(const std::string& path, const std::string& text) {
    const std::string beside = path + ".new";
    std::ofstream(beside) << text;
    std::filesystem::permissions(beside, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::rename(beside, path);
  }

  std::unique_ptr<CurrentCredentials> Open() {
    CurrentCredentials::Told told{.renewed = [this](const Credentials& before, const Credentials& after) { renewed_.push_back({before, after}); },
                                  .wrong = [this](const std::string& why) { wrong_.push_back(why); }};
    absl::StatusOr<std::unique_ptr<CurrentCredentials>> opened = CurrentCredentials::Open(files_, std::move(told));
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *std::move(opened) : nullptr;
  }

  testing::TemporaryFolder folder_;
  const CredentialFiles files_{.ca = folder_ / "ca.crt", .certificate = folder_ / "own.crt", .key = folder_ / "own.key", .token_file = folder_ / "token"};
  const KeyAndCertificate authority_ = *MakeAuthority("authority", 10);
  const KeyAndCertificate before_ = Issued("before");
  std::vector<std::pair<Credentials, Credentials>> renewed_;
  std::vector<std::string> wrong_;
};

TEST_F(CurrentCredentialsTest, WhatIsRenewedIsShownFromTheNextLookOn) {
  const auto current = Open();
  ASSERT_NE(current, nullptr);
  const std::shared_ptr<const Credentials> first = current->Now();
  EXPECT_EQ(first->certificate, before_.certificate);
  current->Look();
  EXPECT_EQ(current->Now(), first) << "the very same, where nothing has changed";

  const KeyAndCertificate after = Issued("after");
  const KeyAndCertificate other = *MakeAuthority("another", 10);
  Write(files_.key, after.key);
  Write(files_.certificate, after.certificate);
  Write(files_.ca, other.certificate);
  Write(files_.token_file, "longreach_2");
  EXPECT_EQ(current->Now(), first);
  current->Look();

  EXPECT_EQ(*current->Now(), (Credentials{.ca = other.certificate, .certificate = after.certificate, .key = after.key, .token = "longreach_2"}));
  EXPECT_EQ(first->certificate, before_.certificate) << "who shows what was there before goes on with it";
  ASSERT_EQ(renewed_.size(), 1u);
  EXPECT_EQ(renewed_[0].first, *first);
  EXPECT_EQ(renewed_[0].second, *current->Now());
  EXPECT_THAT(wrong_, IsEmpty());
}

TEST_F(CurrentCredentialsTest, AKeyWithoutItsCertificateChangesNothingAndIsToldOnce) {
  const auto current = Open();
  ASSERT_NE(current, nullptr);
  const std::shared_ptr<const Credentials> first = current->Now();
  const KeyAndCertificate after = Issued("after");
  Write(files_.key, after.key);
  current->Look();
  EXPECT_THAT(wrong_, IsEmpty()) << "its certificate may come at once";
  for (int i = 0; i < 3; ++i) current->Look();
  EXPECT_THAT(wrong_, ElementsAre(HasSubstr("the key belongs to another certificate")));
  EXPECT_EQ(current->Now(), first);

  // Half of it is no certificate.
  Write(files_.certificate, after.certificate.substr(0, after.certificate.size() / 2));
  for (int i = 0; i < 3; ++i) current->Look();
  EXPECT_THAT(wrong_, ElementsAre(HasSubstr("the key belongs to another certificate"), HasSubstr("no certificate in PEM form")));
  EXPECT_EQ(current->Now(), first);

  Write(files_.certificate, after.certificate);
  current->Look();
  EXPECT_EQ(current->Now()->certificate, after.certificate);
  EXPECT_EQ(current->Now()->key, after.key);
  EXPECT_EQ(wrong_.size(), 2u);
}

TEST_F(CurrentCredentialsTest, AnExpiredOrMissingCertificateAndAnEmptyTokenChangeNothing) {
  const auto current = Open();
  ASSERT_NE(current, nullptr);
  const std::shared_ptr<const Credentials> first = current->Now();
  const KeyAndCertificate expired = Issued("expired", -1);
  Write(files_.key, expired.key);
  Write(files_.certificate, expired.certificate);
  for (int i = 0; i < 2; ++i) current->Look();
  std::filesystem::remove(files_.certificate);
  for (int i = 0; i < 2; ++i) current->Look();
  Write(files_.key, before_.key);
  Write(files_.certificate, before_.certificate);
  Write(files_.token_file, "");
  for (int i = 0; i < 2; ++i) current->Look();
  EXPECT_THAT(wrong_, ElementsAre(HasSubstr("expired on"), HasSubstr("No such file"), HasSubstr("there is no token in it")));
  EXPECT_EQ(current->Now(), first);
  EXPECT_THAT(renewed_, IsEmpty());

  Write(files_.token_file, "longreach_2");
  current->Look();
  EXPECT_EQ(current->Now()->token, "longreach_2");
}

TEST_F(CurrentCredentialsTest, TheSameBytesAnewAreNoChange) {
  const auto current = Open();
  ASSERT_NE(current, nullptr);
  const std::shared_ptr<const Credentials> first = current->Now();
  Write(files_.certificate, before_.certificate);
  current->Look();
  EXPECT_EQ(current->Now(), first);
  EXPECT_THAT(renewed_, IsEmpty());
}

TEST_F(CurrentCredentialsTest, CallsLookByThemselves) {
  auto current = Open();
  ASSERT_NE(current, nullptr);
  Write(files_.token_file, "longreach_2");
  // As often as calls come: one of them looks.
  while (current->Now()->token != "longreach_2") {
    current->LookIfDue();
    std::this_thread::yield();
  }
  current.reset();  // What is new is shown before it is told of: the look has ended now.
  EXPECT_EQ(renewed_.size(), 1u);
}

TEST_F(CurrentCredentialsTest, WhatIsWrongFromTheStartIsAnError) {
  Write(files_.key, authority_.key);
  EXPECT_THAT(std::string(CurrentCredentials::Open(files_, {}).status().message()), HasSubstr("the key belongs to another certificate"));
}

}  // namespace
}  // namespace longreach::access
