#include "scheduler/service/access/checked_tls_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "proto/access/certificates.h"
#include "tests/scheduler/service/access/silent_log.h"
#include "tests/support/temporary_folder.h"

namespace longreach::service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string Pair(const access::KeyAndCertificate& made) { return fmt::format("{}\n{}", made.key, made.certificate); }

class CheckedTlsFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<access::KeyAndCertificate> made = access::MakeAuthority("authority", 30);
    ASSERT_TRUE(made.ok()) << made.status();
    authority_ = *std::move(made);
    before_ = Issued(30);
    Write(files_.client_ca, authority_.certificate);
    Write(files_.key, before_.key);
    Write(files_.certificate, before_.certificate);
  }

  access::KeyAndCertificate Issued(int days) const {
    absl::StatusOr<access::KeyAndCertificate> made = access::Issue(authority_, {.name = "server", .hosts = {"localhost"}, .days = days});
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : access::KeyAndCertificate{};
  }

  // As a new file, which a change of the same size in the same tick of the clock is too.
  void Write(const std::string& path, const std::string& text) {
    const std::string beside = path + ".new";
    std::ofstream(beside) << text;
    std::filesystem::permissions(beside, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::rename(beside, path);
  }

  testing::TemporaryFolder folder_;
  const TlsFiles files_{.certificate = folder_ / "server.crt", .key = folder_ / "server.key", .client_ca = folder_ / "ca.crt"};
  access::KeyAndCertificate authority_, before_;
  SystemClock clock_;
  SilentLog log_{clock_};
};

TEST_F(CheckedTlsFilesTest, ARenewedPairAndAnotherAuthorityAreTakenUp) {
  std::vector<std::string> told;
  const auto checked = CheckedTlsFiles::Open(files_, log_, {.renewed = [&told](const std::string& line) { told.push_back(line); }});
  ASSERT_TRUE(checked.ok()) << checked.status();
  const std::string pair = (*checked)->pair();
  EXPECT_EQ(Contents(pair), Pair(before_));
  EXPECT_EQ(Contents((*checked)->client_ca()), authority_.certificate);

  const access::KeyAndCertificate after = Issued(60);
  const access::KeyAndCertificate other = *access::MakeAuthority("another", 30);
  Write(files_.key, after.key);
  Write(files_.certificate, after.certificate);
  EXPECT_THAT(told, ::testing::IsEmpty());
  (*checked)->Look();
  EXPECT_EQ((*checked)->pair(), pair) << "the path stays";
  EXPECT_EQ(Contents(pair), Pair(after));
  EXPECT_EQ(Contents((*checked)->client_ca()), authority_.certificate);
  EXPECT_THAT(told, ElementsAre(AllOf(HasSubstr("certificate "), HasSubstr("server.crt (good until "))));

  Write(files_.client_ca, other.certificate);
  for (int i = 0; i < 2; ++i) (*checked)->Look();
  EXPECT_EQ(Contents((*checked)->client_ca()), other.certificate);
  EXPECT_THAT(told, ElementsAre(HasSubstr("server.crt"), AllOf(HasSubstr("client authority "), HasSubstr("ca.crt (good until ")))) << "each once";
  EXPECT_EQ(log_.lines, 0);
}

TEST_F(CheckedTlsFilesTest, AKeyWithoutItsCertificateIsLoggedOnceAndChangesNothing) {
  std::vector<std::string> told;
  const auto checked = CheckedTlsFiles::Open(files_, log_, {.renewed = [&told](const std::string& line) { told.push_back(line); }});
  ASSERT_TRUE(checked.ok()) << checked.status();
  const access::KeyAndCertificate after = Issued(60);
  Write(files_.key, after.key);
  (*checked)->Look();
  EXPECT_EQ(log_.lines, 0) << "its certificate may come at once";
  for (int i = 0; i < 3; ++i) (*checked)->Look();
  EXPECT_EQ(log_.lines, 1);
  EXPECT_THAT(log_.last, HasSubstr("the key belongs to another certificate; those of before still serve"));
  EXPECT_EQ(Contents((*checked)->pair()), Pair(before_));
  EXPECT_THAT(told, ::testing::IsEmpty());

  Write(files_.certificate, after.certificate);
  (*checked)->Look();
  EXPECT_EQ(Contents((*checked)->pair()), Pair(after));
  EXPECT_THAT(told, ::testing::SizeIs(1));
}

TEST_F(CheckedTlsFilesTest, AWrongAuthorityKeepsAGoodPairOutToo) {
  const auto checked = CheckedTlsFiles::Open(files_, log_);
  ASSERT_TRUE(checked.ok()) << checked.status();
  Write(files_.client_ca, "nothing");
  for (int i = 0; i < 2; ++i) (*checked)->Look();
  EXPECT_THAT(log_.last, HasSubstr("client authority"));
  EXPECT_EQ(Contents((*checked)->client_ca()), authority_.certificate);
  std::filesystem::remove(files_.certificate);
  for (int i = 0; i < 2; ++i) (*checked)->Look();
  EXPECT_EQ(log_.lines, 2);
  EXPECT_EQ(Contents((*checked)->pair()), Pair(before_));
}

TEST_F(CheckedTlsFilesTest, WhatServesAndExpiresIsToldOnceADayUntilItIsRenewed) {
  std::vector<std::string> told;
  const auto checked = CheckedTlsFiles::Open(files_, log_, {.ends = [&told](const std::string& line) { told.push_back(line); }});
  ASSERT_TRUE(checked.ok()) << checked.status();
  // Noon, so that a minute later is the same day.
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()) + std::chrono::hours(12);
  const auto look = [&](int days, int minutes = 0) {
    told.clear();
    (*checked)->Look(today + std::chrono::days(days) + std::chrono::minutes(minutes));
    return told;
  };
  EXPECT_THAT(look(20), ::testing::IsEmpty());
  // A fifth of 30 days is six; the authority ends with it.
  EXPECT_THAT(look(26), ::testing::ElementsAre(HasSubstr("server.crt expires on"), HasSubstr("ca.crt expires on")));
  EXPECT_THAT(look(26, 1), ::testing::IsEmpty());
  EXPECT_THAT(look(27), ::testing::SizeIs(2));
  EXPECT_THAT(look(33), ::testing::ElementsAre(HasSubstr("server.crt expired on"), HasSubstr("ca.crt expired on")));

  const access::KeyAndCertificate after = Issued(365);
  Write(files_.key, after.key);
  Write(files_.certificate, after.certificate);
  EXPECT_THAT(look(34), ::testing::ElementsAre(HasSubstr("ca.crt expired on")));
  EXPECT_EQ(log_.lines, 0);
}

TEST_F(CheckedTlsFilesTest, WhatIsWrongFromTheStartIsAnError) {
  Write(files_.key, Issued(30).key);
  const auto checked = CheckedTlsFiles::Open(files_, log_);
  EXPECT_THAT(checked.status().message(), HasSubstr("server.key: the key belongs to another certificate"));
  std::filesystem::permissions(files_.key, std::filesystem::perms::others_read, std::filesystem::perm_options::add);
  EXPECT_THAT(CheckedTlsFiles::Open(files_, log_).status().message(), HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace longreach::service
