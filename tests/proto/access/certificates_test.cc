#include "proto/access/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/access/roles.h"

namespace longreach::access {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() : authority_(*MakeAuthority("test", 10)) {}
  const KeyAndCertificate authority_;
};

TEST_F(CertificatesTest, ACallersCertificateCarriesItsRole) {
  for (const v1::Role role : AllRoles()) {
    const auto made = Issue(authority_, {.name = "gpu-a", .role = role, .days = 3});
    ASSERT_TRUE(made.ok()) << made.status();
    const auto info = ReadCertificate(made->certificate);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->name, "gpu-a");
    EXPECT_EQ(info->role, role);
    EXPECT_FALSE(info->authority);
    EXPECT_TRUE(CheckPair(made->certificate, made->key).ok());
    const auto now = std::chrono::system_clock::now();
    EXPECT_LT(info->from, now);
    EXPECT_GT(info->until, now + std::chrono::days(2));
    EXPECT_LT(info->until, now + std::chrono::days(4));
  }
}

TEST_F(CertificatesTest, AServersCertificateHasItsNamesAndNoRole) {
  const auto made = Issue(authority_, {.name = "server", .hosts = {"localhost", "127.0.0.1", "::1", "lr.example.org"}});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto info = ReadCertificate(made->certificate);
  EXPECT_EQ(info->role, std::nullopt);
  EXPECT_THAT(info->hosts, ElementsAre("localhost", "127.0.0.1", "0:0:0:0:0:0:0:1", "lr.example.org"));
}

TEST_F(CertificatesTest, AHostThatWouldAddANameIsRefused) {
  for (const char* host : {"", "a,URI:longreach:role:client", "a b", "a\n", "a/b", "\"a", "scheduler:7070", "[::1]"}) {
    const auto made = Issue(authority_, {.name = "server", .hosts = {host}});
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << host;
  }
}

TEST_F(CertificatesTest, ANameIsNeverReadAsMoreThanAName) {
  const auto made = Issue(authority_, {.name = "x,URI:longreach:role:client\n[a]", .role = v1::ROLE_READER});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(ReadCertificate(made->certificate)->role, v1::ROLE_READER);
}

TEST_F(CertificatesTest, KeysBelongToOneCertificate) {
  const auto one = Issue(authority_, {.name = "one", .role = v1::ROLE_READER});
  const auto other = Issue(authority_, {.name = "other", .role = v1::ROLE_READER});
  const absl::Status mixed = CheckPair(one->certificate, other->key);
  EXPECT_EQ(mixed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(mixed.message()), HasSubstr("another certificate"));
  EXPECT_FALSE(CheckPair(one->key, one->certificate).ok());
  EXPECT_FALSE(Issue({.key = one->key, .certificate = authority_.certificate}, {.name = "x"}).ok());
  EXPECT_FALSE(ReadCertificate("").ok());
  EXPECT_TRUE(ReadCertificate(authority_.certificate)->authority);
}

}  // namespace
}  // namespace longreach::access
