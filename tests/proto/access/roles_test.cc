#include "proto/access/roles.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "longreach/v1/api.pb.h"
#include "longreach/v1/worker.pb.h"

namespace longreach::access {
namespace {

// Every method of every service of ours, as paths.
std::vector<std::string> AllPaths() {
  std::vector<std::string> paths;
  for (const auto* file : {v1::SweepSpec::descriptor()->file(), v1::Sweep::descriptor()->file(), v1::Lease::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        paths.push_back("/" + file->service(s)->full_name() + "/" + file->service(s)->method(m)->name());
      }
    }
  }
  return paths;
}

TEST(RolesTest, EveryMethodAdmitsSomebodyAndNobodyAdmitsThoseWithoutARole) {
  ASSERT_GE(AllPaths().size(), 20u);
  for (const std::string& path : AllPaths()) {
    EXPECT_TRUE(AdmissionOf(path).known) << path;
    EXPECT_NE(AdmittedRoles(AdmissionOf(path)), "nobody") << path;
    EXPECT_FALSE(Admits(AdmissionOf(path), v1::ROLE_UNSPECIFIED)) << path;
  }
}

TEST(RolesTest, AClientMayDoAllThatAReaderMayAndNotTheOtherWayRound) {
  int only_client = 0;
  for (const std::string& path : AllPaths()) {
    const Admission admission = AdmissionOf(path);
    EXPECT_TRUE(!Admits(admission, v1::ROLE_READER) || Admits(admission, v1::ROLE_CLIENT)) << path;
    only_client += Admits(admission, v1::ROLE_CLIENT) && !Admits(admission, v1::ROLE_READER) ? 1 : 0;
  }
  EXPECT_GE(only_client, 5);
}

TEST(RolesTest, AWorkerMayDoAWorkersCallsAndNoOther) {
  std::vector<std::string> admitted;
  for (const std::string& path : AllPaths()) {
    if (Admits(AdmissionOf(path), v1::ROLE_WORKER)) admitted.push_back(path);
  }
  EXPECT_EQ(admitted, (std::vector<std::string>{"/longreach.v1.Worker/Synchronize", "/longreach.v1.Artifacts/Upload",
                                                "/longreach.v1.Artifacts/FindUpload", "/longreach.v1.Artifacts/Download"}));
}

TEST(RolesTest, WhatIsNotDescribedIsClosed) {
  for (const char* path : {"", "/", "//", "GetInfo", "/longreach.v1.Longreach", "/longreach.v1.Longreach/", "/longreach.v1.Longreach/Nope",
                           "longreach.v1.Longreach/GetInfo", "/longreach.v1.Longreach/GetInfo/", "/grpc.health.v1.HealthX/Check"}) {
    EXPECT_FALSE(AdmissionOf(path).known) << path;
    for (const v1::Role role : AllRoles()) EXPECT_FALSE(Admits(AdmissionOf(path), role)) << path;
  }
}

TEST(RolesTest, HealthIsForEveryRoleAndReflectionForReaders) {
  EXPECT_EQ(AdmittedRoles(AdmissionOf("/grpc.health.v1.Health/Check")), "client or reader or worker");
  EXPECT_EQ(AdmittedRoles(AdmissionOf("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")), "client or reader");
}

TEST(RolesTest, NamesAndUrisReadBack) {
  for (const v1::Role role : AllRoles()) {
    EXPECT_EQ(ParseRole(RoleName(role)), role);
    EXPECT_EQ(RoleOfUri(RoleUri(role)), role);
  }
  for (const char* name : {"", "Client", "nobody", "client ", "admin"}) EXPECT_EQ(ParseRole(name), std::nullopt) << name;
  for (const char* uri : {"", "client", "longreach:role:", "longreach:role:admin", "x-longreach:role:client", "longreach:role:client/"}) {
    EXPECT_EQ(RoleOfUri(uri), std::nullopt) << uri;
  }
}

}  // namespace
}  // namespace longreach::access
