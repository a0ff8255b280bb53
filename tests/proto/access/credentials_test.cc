#include "proto/access/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "proto/access/certificates.h"
#include "proto/access/channel.h"
#include "tests/support/temporary_folder.h"

namespace longreach::access {
namespace {

using ::testing::HasSubstr;

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() : authority_(*MakeAuthority("test", 10)), reader_(*Issue(authority_, {.name = "ann", .role = v1::ROLE_READER})) {}

  std::string Write(const std::string& name, const std::string& text, bool for_all = false) {
    const std::filesystem::path path = folder_.path() / name;
    std::ofstream(path) << text;
    using std::filesystem::perms;
    permissions(path, for_all ? perms::owner_read | perms::others_read : perms::owner_read);
    return path.string();
  }

  testing::TemporaryFolder folder_;
  const KeyAndCertificate authority_;
  const KeyAndCertificate reader_;
};

TEST_F(CredentialsTest, ReadsWhatIsNamed) {
  const auto read = ReadCredentials({.ca = Write("ca", authority_.certificate, true),
                                     .certificate = Write("crt", reader_.certificate, true),
                                     .key = Write("key", reader_.key),
                                     .token_file = Write("token", "longreach_1\n")});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->ca, authority_.certificate);
  EXPECT_EQ(read->key, reader_.key);
  EXPECT_EQ(read->token, "longreach_1");
  EXPECT_EQ(ReadCredentials({.token_file = "/nowhere", .token = "of-the-environment"})->token, "of-the-environment");
}

TEST_F(CredentialsTest, ASecretThatEverybodyCanReadIsRefused) {
  const std::string token = Write("token", "longreach_1", true);
  const auto read = ReadCredentials({.token_file = token});
  EXPECT_EQ(read.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("chmod 600 " + token));
}

TEST_F(CredentialsTest, WhatEverybodyCanWriteIsTrustedByNobody) {
  const std::string ca = Write("ca", authority_.certificate);
  std::filesystem::permissions(ca, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  const auto read = ReadSmallFile(ca);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("chmod o-w " + ca));
}

TEST_F(CredentialsTest, HalvesAndForeignKeysAndExpiredOnesAreRefusedWithTheFile) {
  const std::string ca = Write("ca", authority_.certificate);
  const std::string certificate = Write("crt", reader_.certificate);
  const auto refusal = [](const CredentialFiles& files) { return std::string(ReadCredentials(files).status().message()); };
  EXPECT_THAT(refusal({.ca = ca, .certificate = certificate}), HasSubstr("set key too"));
  EXPECT_THAT(refusal({.certificate = certificate, .key = Write("key", reader_.key)}), HasSubstr("no ca"));
  EXPECT_THAT(refusal({.ca = ca, .certificate = certificate, .key = Write("other", authority_.key)}), HasSubstr("another certificate"));
  const KeyAndCertificate old = *Issue(authority_, {.name = "old", .role = v1::ROLE_READER, .days = -1});
  EXPECT_THAT(refusal({.ca = ca, .certificate = Write("old.crt", old.certificate), .key = Write("old.key", old.key)}), HasSubstr("expired on"));
  EXPECT_THAT(refusal({.ca = folder_.path() / "nothing"}), HasSubstr("nothing"));
  EXPECT_THAT(refusal({.ca = folder_.path()}), HasSubstr("no file"));
  EXPECT_THAT(refusal({.token_file = Write("two", "a b")}), HasSubstr("not one token"));
  EXPECT_THAT(refusal({.token_file = Write("none", "\n")}), HasSubstr("none: there is no token in it"));
}

TEST_F(CredentialsTest, TheEndOfACertificateIsToldWhileThereIsTimeToRenewIt) {
  using std::chrono::days;
  const auto end = [this](int good_for, days later) {
    const KeyAndCertificate made = *Issue(authority_, {.name = "server", .hosts = {"localhost"}, .days = good_for});
    return EndOfCertificate(made.certificate, "certificate it", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + later);
  };
  EXPECT_EQ(end(365, days(330)), "");
  EXPECT_THAT(end(365, days(340)), ::testing::MatchesRegex("certificate it expires on 20..-..-..; make a new one with 'longreach certs issue' before"));
  EXPECT_EQ(end(10, days(7)), "") << "a fifth of its time, where that is less than a month";
  EXPECT_THAT(end(10, days(9)), HasSubstr("expires on"));
  EXPECT_THAT(end(10, days(11)), HasSubstr("expired on"));
  EXPECT_EQ(EndOfCertificate("nothing", "certificate it", {}), "");
  const CertificateInfo authority = *ReadCertificate(authority_.certificate);
  EXPECT_THAT(EndOfCertificate(authority_.certificate, "the authority", authority.until + days(1)), HasSubstr("with all certificates anew, with 'longreach certs init'"));
}

TEST_F(CredentialsTest, NothingGoesToAnotherMachineInTheClear) {
  for (const char* address : {"gpu.example.org:7070", "10.0.0.1:7070", "localhost.example.org:7070", "[2001:db8::1]:7070"}) {
    const auto channel = OpenChannel(address, {.token = "longreach_1"}, {});
    EXPECT_EQ(channel.status().code(), absl::StatusCode::kFailedPrecondition) << address;
    EXPECT_THAT(std::string(channel.status().message()), HasSubstr("LONGREACH_CA"));
    EXPECT_TRUE(OpenChannel(address, {.ca = authority_.certificate}, {}).ok()) << address;
  }
  for (const char* address : {"localhost:7070", "127.0.0.1:7070", "[::1]:7070", "unix:/tmp/x"}) {
    EXPECT_TRUE(OpenChannel(address, {}, {}).ok()) << address;
  }
}

}  // namespace
}  // namespace longreach::access
