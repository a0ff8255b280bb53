// What `longreach doctor` makes of what was seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "client/doctor/check.h"
#include "client/doctor/data.h"
#include "client/doctor/devices.h"
#include "client/doctor/disk.h"
#include "client/doctor/limits.h"
#include "client/doctor/programs.h"
#include "client/doctor/scheduler.h"
#include "client/errors.h"
#include "proto/access/certificates.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using std::chrono::days;

constexpr const char* kOwnBuild = "0.1.0 (abc, GNU 12.2.0, Release)";

// ----- how findings add up

TEST(FindingsTest, TheWorstOfThemCountsAndAllIsSaid) {
  Findings findings("store");
  EXPECT_EQ(findings.check().state, CheckState::kNotAsked);
  findings.Add(CheckState::kOk, "a");
  findings.Add(CheckState::kFailed, "b", "mend b");
  findings.Add(CheckState::kWarning, "c", "mend c");

  EXPECT_EQ(findings.check().name, "store");
  EXPECT_EQ(findings.check().state, CheckState::kFailed);
  EXPECT_EQ(findings.check().seen, "a; b; c");
  EXPECT_EQ(findings.check().advice, "mend b; mend c");
  EXPECT_TRUE(AnyFailed({NotAsked("gpu", "why"), findings.check()}));
  EXPECT_FALSE(AnyFailed({NotAsked("gpu", "why")}));
}

TEST(FindingsTest, StatesHaveLastingWords) {
  EXPECT_EQ(WordOfCheck(CheckState::kNotAsked), "not_asked");
  EXPECT_EQ(WordOfCheck(CheckState::kOk), "ok");
  EXPECT_EQ(WordOfCheck(CheckState::kWarning), "warning");
  EXPECT_EQ(WordOfCheck(CheckState::kFailed), "failed");
  EXPECT_EQ(ShownCheck(CheckState::kNotAsked), "not asked");
}

// ----- programs

Check JudgeProgramOf(const std::string& check, const ProgramSeen& seen, const std::string& scheduler = "") {
  for (const ProgramNeed& need : NeededPrograms(scheduler)) {
    if (need.check == check) return JudgeProgram(need, seen, kOwnBuild);
  }
  return {};
}

TEST(DoctorProgramsTest, OneThatIsMissingFailsOnlyWhereItIsNeeded) {
  const ProgramSeen missing{.path = "/opt/longreach-worker"};
  const Check alone = JudgeProgramOf("worker_program", missing);
  EXPECT_EQ(alone.state, CheckState::kFailed);
  EXPECT_EQ(alone.seen, "there is no program /opt/longreach-worker");
  EXPECT_THAT(alone.advice, HasSubstr("LONGREACH_TRAINER=OFF"));
  EXPECT_EQ(JudgeProgramOf("scheduler_program", missing).state, CheckState::kFailed);
  EXPECT_EQ(JudgeProgramOf("tokenizer_program", missing).state, CheckState::kWarning);

  const Check elsewhere = JudgeProgramOf("worker_program", missing, "far:7070");
  EXPECT_EQ(elsewhere.state, CheckState::kNotAsked);
  EXPECT_EQ(elsewhere.seen, "there is no program /opt/longreach-worker, which commands to the scheduler at far:7070 do not need");
  EXPECT_EQ(elsewhere.advice, "");
}

TEST(DoctorProgramsTest, OneThatDoesNotStartFailsWithItsWords) {
  const ProgramSeen broken{.path = "/opt/longreach-worker", .there = true, .problem = "libtorch.so: cannot open"};
  const Check check = JudgeProgramOf("worker_program", broken);
  EXPECT_EQ(check.state, CheckState::kFailed);
  EXPECT_EQ(check.seen, "/opt/longreach-worker does not start: libtorch.so: cannot open");
  EXPECT_THAT(check.advice, HasSubstr("'longreach-worker --version'"));
  EXPECT_EQ(JudgeProgramOf("tokenizer_program", broken).state, CheckState::kWarning);
}

TEST(DoctorProgramsTest, WhoOnlyAsksASchedulerElsewhereIsWarnedOfOthersAtMost) {
  const ProgramSeen broken{.path = "/opt/longreach-worker", .there = true, .problem = "libtorch.so: cannot open"};
  const ProgramSeen older{.path = "/opt/longreach-worker", .there = true, .build = "0.0.9 (abc)"};
  for (const ProgramSeen& seen : {broken, older}) {
    EXPECT_EQ(JudgeProgramOf("worker_program", seen).state, CheckState::kFailed) << seen.problem;
    EXPECT_EQ(JudgeProgramOf("worker_program", seen, "far:7070").state, CheckState::kWarning) << seen.problem;
  }
}

TEST(DoctorProgramsTest, BuildsAreCompared) {
  const auto judged = [](const std::string& build) { return JudgeProgramOf("scheduler_program", {.path = "/opt/s", .there = true, .build = build}); };
  EXPECT_EQ(judged(kOwnBuild).state, CheckState::kOk);
  EXPECT_EQ(judged(kOwnBuild).seen, kOwnBuild);
  EXPECT_EQ(judged("0.1.0 (def, GNU 12.2.0, Release)").state, CheckState::kWarning);
  EXPECT_THAT(judged("0.1.0 (def, GNU 12.2.0, Release)").seen, HasSubstr("of another build"));
  EXPECT_EQ(judged("0.2.0 (abc, GNU 12.2.0, Release)").state, CheckState::kFailed);
  EXPECT_THAT(judged("0.2.0 (abc, GNU 12.2.0, Release)").seen, HasSubstr("of another version"));
  EXPECT_EQ(judged("").state, CheckState::kWarning);
}

// ----- devices

std::string DevicesDocument(const std::string& gpus, const std::string& no_gpu, bool driver, const std::string& cpu_problem = "") {
  return R"({"libtorch": "2.11.0", "cpu": {"model": "A Processor", "registers": "AVX2", "threads": 2, "memory_bytes": 8e9, "engine": "lanes-avx2", "problem": ")" + cpu_problem +
         R"("}, "gpus": )" + gpus + R"(, "no_gpu": ")" + no_gpu + R"(", "cuda": "", "driver": {"present": )" + (driver ? "true" : "false") +
         R"(, "version": ""}, "visible_devices": null})";
}

TEST(DoctorDevicesTest, AProcessorIsNamedWithItsEngine) {
  const Check cpu = JudgeDevices(DevicesDocument("[]", "none here", false))[0];
  EXPECT_EQ(cpu.name, "cpu");
  EXPECT_EQ(cpu.state, CheckState::kOk);
  EXPECT_EQ(cpu.seen, "LibTorch 2.11.0, A Processor, AVX2, 2 threads, 8.0 GB, engine lanes-avx2");

  const Check broken = JudgeDevices(DevicesDocument("[]", "none here", false, "LibTorch: no"))[0];
  EXPECT_EQ(broken.state, CheckState::kFailed);
  EXPECT_THAT(broken.seen, HasSubstr("it does not compute: LibTorch: no"));
  EXPECT_THAT(broken.advice, Not(IsEmpty()));
}

TEST(DoctorDevicesTest, NoGpuIsWorthAWarningOnlyWhereOneWasGiven) {
  const Check without = JudgeDevices(DevicesDocument("[]", "no CUDA plugin", false))[1];
  EXPECT_EQ(without.name, "gpu");
  EXPECT_EQ(without.state, CheckState::kOk);
  EXPECT_EQ(without.seen, "none: no CUDA plugin");
  EXPECT_EQ(without.advice, "");

  const Check given = JudgeDevices(DevicesDocument("[]", "no CUDA plugin", true))[1];
  EXPECT_EQ(given.state, CheckState::kWarning);
  EXPECT_THAT(given.advice, Not(IsEmpty()));
}

TEST(DoctorDevicesTest, EachGpuIsLookedAt) {
  const auto judged = [](const std::string& gpus) { return JudgeDevices(DevicesDocument(gpus, "", true))[1]; };
  const std::string good = R"({"device": "cuda:0", "name": "A GPU", "memory_bytes": 100e9, "memory_free_bytes": 90e9, "engine": "spread-fp16", "problem": ""})";
  EXPECT_EQ(judged("[" + good + "]").state, CheckState::kOk);
  EXPECT_EQ(judged("[" + good + "]").seen, "cuda:0 A GPU, 100 GB, 90.0 GB free, engine spread-fp16");

  const Check taken = judged(R"([{"device": "cuda:0", "name": "A GPU", "memory_bytes": 100e9, "memory_free_bytes": 10e9, "engine": "spread-fp16", "problem": ""}])");
  EXPECT_EQ(taken.state, CheckState::kWarning);
  EXPECT_THAT(taken.advice, HasSubstr("cuda:0"));
  // One that does not tell has not been taken.
  EXPECT_EQ(judged(R"([{"device": "cuda:0", "name": "A GPU", "memory_bytes": 100e9, "memory_free_bytes": null, "engine": "spread-fp16", "problem": ""}])").state, CheckState::kOk);

  const Check broken = judged("[" + good + R"(, {"device": "cuda:1", "name": "Another", "problem": "no kernel image"}])");
  EXPECT_EQ(broken.state, CheckState::kFailed);
  EXPECT_THAT(broken.seen, HasSubstr("cuda:1 Another does not compute: no kernel image"));
}

TEST(DoctorDevicesTest, WhoCannotBeAskedIsNotTheSameAsWhoFails) {
  const std::vector<Check> nobody = JudgeDevices(absl::UnavailableError("there is no longreach-worker to ask"));
  EXPECT_EQ(nobody[0].state, CheckState::kNotAsked);
  EXPECT_EQ(nobody[1].state, CheckState::kNotAsked);
  const std::vector<Check> died = JudgeDevices(absl::InternalError("longreach-worker was killed by signal 4"));
  EXPECT_EQ(died[0].state, CheckState::kFailed);
  EXPECT_EQ(died[0].seen, "longreach-worker was killed by signal 4");
  EXPECT_EQ(died[1].state, CheckState::kNotAsked);
  for (const char* other : {"", "text", "[]", "{}", R"({"cpu": 1})"}) {
    EXPECT_EQ(JudgeDevices(std::string(other))[0].state, CheckState::kWarning) << other;
  }
}

// ----- data

FolderSeen UsualFolder(const std::string& path) {
  return {.path = path, .exists = true, .is_folder = true, .readable = true, .writable = true, .free_bytes = 1e12, .file_system = FileSystemOf(0xEF53)};
}

TEST(DoctorDataTest, DamagedDataSetsFailByName) {
  const absl::StatusOr<DataSeen> seen = ParseDataList(R"({"folder": "/data", "data_sets": [{"name": "a"}, {"name": "b"}], "damaged": ["c: /data/c/x is missing; remove it"]})");
  ASSERT_TRUE(seen.ok()) << seen.status();
  const std::vector<Check> checks = JudgeData(seen, UsualFolder("/data"));
  EXPECT_EQ(checks[0].name, "data_folder");
  EXPECT_EQ(checks[0].state, CheckState::kOk);
  EXPECT_EQ(checks[1].name, "data_sets");
  EXPECT_EQ(checks[1].state, CheckState::kFailed);
  EXPECT_THAT(checks[1].seen, HasSubstr("2 data sets; damaged: c: /data/c/x is missing"));

  DataSeen sound = *seen;
  sound.damaged.clear();
  EXPECT_EQ(JudgeData(sound, UsualFolder("/data"))[1].state, CheckState::kOk);
}

TEST(DoctorDataTest, AFolderThatIsNotThereYetIsNoFailureAndOneThatMayNotBeReadIs) {
  const DataSeen seen{.folder = "/data", .damaged = {}};
  FolderSeen folder{.path = "/data"};
  EXPECT_EQ(JudgeData(seen, folder)[0].state, CheckState::kOk);
  folder = UsualFolder("/data");
  folder.readable = false;
  EXPECT_EQ(JudgeData(seen, folder)[0].state, CheckState::kFailed);
  // Others' data sets are there to be read; who does not import needs no room.
  folder = UsualFolder("/data");
  folder.writable = false;
  folder.free_bytes = 0;
  EXPECT_EQ(JudgeData(seen, folder)[0].state, CheckState::kOk);
  folder.writable = true;
  EXPECT_EQ(JudgeData(seen, folder)[0].state, CheckState::kFailed);
}

TEST(DoctorDataTest, ARefusalOfTheWorkersIsAFailure) {
  EXPECT_EQ(JudgeData(absl::UnavailableError("nobody"), {})[0].state, CheckState::kNotAsked);
  const std::vector<Check> refused = JudgeData(absl::InternalError("'/data' is a file"), {});
  EXPECT_EQ(refused[0].state, CheckState::kFailed);
  EXPECT_EQ(refused[0].seen, "'/data' is a file");
  EXPECT_EQ(refused[1].state, CheckState::kNotAsked);
  EXPECT_FALSE(ParseDataList("text").ok());
  EXPECT_FALSE(ParseDataList(R"({"folder": "/data", "data_sets": {}, "damaged": []})").ok());
}

// ----- disks

StoreSeen UsualStore() {
  return {.file = "b1.db", .named = true, .exists = true, .is_file = true, .readable = true, .writable = true, .folder = UsualFolder("/srv")};
}

TEST(DoctorStoreTest, AStoreOnALocalDiskWithRoomIsWell) {
  const Check check = JudgeStore(UsualStore());
  EXPECT_EQ(check.state, CheckState::kOk) << check.seen;
  EXPECT_EQ(check.seen, "b1.db; 1.0 TB free; ext4");
  EXPECT_EQ(check.advice, "");
}

TEST(DoctorStoreTest, ANetworksFileSystemIsNoPlaceForAStore) {
  for (const uint32_t magic : {0x6969u, 0x517Bu, 0xFF534D42u, 0xFE534D42u, 0x0BD00BD0u, 0x47504653u}) {
    StoreSeen store = UsualStore();
    store.folder.file_system = FileSystemOf(magic);
    EXPECT_EQ(JudgeStore(store).state, CheckState::kFailed) << magic;
    EXPECT_THAT(JudgeStore(store).advice, HasSubstr("--store FILE")) << magic;
    // Nobody has said that one shall be there.
    store.named = store.exists = false;
    EXPECT_EQ(JudgeStore(store).state, CheckState::kWarning) << magic;
  }
  for (const uint32_t magic : {0x65735546u, 0x01021997u, 0x01021994u}) {
    StoreSeen store = UsualStore();
    store.folder.file_system = FileSystemOf(magic);
    EXPECT_EQ(JudgeStore(store).state, CheckState::kWarning) << magic;
  }
  EXPECT_EQ(FileSystemOf(0x12345678).kind, FileSystem::Kind::kLocal);
  EXPECT_EQ(FileSystemOf(0x12345678).name, "0x12345678");
}

TEST(DoctorStoreTest, LittleRoomIsAWarningAndNoneAFailure) {
  StoreSeen store = UsualStore();
  store.folder.free_bytes = 1e9;
  EXPECT_EQ(JudgeStore(store).state, CheckState::kWarning);
  EXPECT_THAT(JudgeStore(store).advice, HasSubstr("make room in /srv"));
  store.folder.free_bytes = 1e6;
  EXPECT_EQ(JudgeStore(store).state, CheckState::kFailed);
  // Nobody has said that one shall be there.
  store.named = store.exists = false;
  EXPECT_EQ(JudgeStore(store).state, CheckState::kWarning);
}

TEST(DoctorStoreTest, WhereNothingIsWrittenNeitherRoomNorFileSystemMatter) {
  for (const bool of_file : {true, false}) {
    StoreSeen read_only = UsualStore();
    (of_file ? read_only.writable : read_only.folder.writable) = false;
    read_only.folder.free_bytes = 0;  // As on a snapshot, or a read-only mount of a network's.
    read_only.folder.file_system = FileSystemOf(0x6969);
    EXPECT_EQ(JudgeStore(read_only).state, CheckState::kWarning) << of_file;
    EXPECT_EQ(JudgeStore(read_only).seen, "b1.db may not be written by this user") << of_file;
  }
}

TEST(DoctorStoreTest, WhatThisUserMayDoThereIsSaid) {
  StoreSeen read_only = UsualStore();
  read_only.writable = false;
  EXPECT_EQ(JudgeStore(read_only).state, CheckState::kWarning) << "commands that look read a copy";
  read_only.readable = false;
  EXPECT_EQ(JudgeStore(read_only).state, CheckState::kFailed);

  StoreSeen folder = UsualStore();
  folder.is_file = false;
  EXPECT_EQ(JudgeStore(folder).state, CheckState::kFailed);

  StoreSeen other = UsualStore();
  other.may_be_store = false;
  EXPECT_EQ(JudgeStore(other).state, CheckState::kFailed);
  EXPECT_THAT(JudgeStore(other).seen, HasSubstr("b1.db is no store"));
  EXPECT_THAT(JudgeStore(other).advice, HasSubstr("name another store with --store FILE"));

  StoreSeen to_come = UsualStore();
  to_come.exists = to_come.is_file = to_come.readable = to_come.writable = false;
  EXPECT_EQ(JudgeStore(to_come).state, CheckState::kOk);
  to_come.folder.writable = false;
  EXPECT_EQ(JudgeStore(to_come).state, CheckState::kFailed);
  to_come.named = false;
  EXPECT_EQ(JudgeStore(to_come).state, CheckState::kWarning);

  StoreSeen nowhere = to_come;
  nowhere.named = true;
  nowhere.folder = {.path = "/nowhere"};
  EXPECT_EQ(JudgeStore(nowhere).state, CheckState::kFailed);
  EXPECT_EQ(JudgeStore(nowhere).seen, "there is no folder /nowhere");
}

TEST(DoctorStoreTest, AFolderThatIsNotThereAndThatThisUserMayNotMakeIsAWarning) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("longreach-doctor-test-" + std::to_string(getpid()));
  std::ofstream(file) << "no folder";
  const FolderSeen below = LookAtFolder(file / "state" / "worker"), beside = LookAtFolder(file.parent_path() / (file.filename().string() + "-absent") / "worker");
  std::filesystem::remove(file);

  EXPECT_FALSE(below.exists);
  EXPECT_FALSE(below.can_be_made);
  EXPECT_TRUE(beside.can_be_made);
  EXPECT_FALSE(std::filesystem::exists(beside.path.parent_path())) << "a look makes nothing";
  EXPECT_EQ(JudgeStateFolder(below).state, CheckState::kWarning);
  EXPECT_THAT(JudgeStateFolder(below).seen, HasSubstr("and this user may not make it"));
  EXPECT_EQ(JudgeStateFolder(beside).state, CheckState::kOk);
  const std::vector<Check> data = JudgeData(DataSeen(), below);
  EXPECT_EQ(data[0].state, CheckState::kWarning);
  EXPECT_THAT(data[0].advice, HasSubstr("LONGREACH_DATA"));
}

TEST(DoctorStoreTest, AStoreWithoutItsFolderOfArtifactsIsAWarning) {
  const std::string file = (std::filesystem::temp_directory_path() / ("longreach-doctor-test-" + std::to_string(getpid()) + ".db")).string();
  const std::string link = file + ".link", folder = file + ".artifacts";
  std::ofstream(file, std::ios::binary) << std::string("SQLite format 3\0", 16) + std::string(52, 'x') + "LRch and more";
  std::filesystem::create_symlink(file, link);
  const Check without = JudgeStore(LookAtStore(file, /*named=*/true));
  std::filesystem::create_directory(folder);
  const StoreSeen with = LookAtStore(file, /*named=*/true), by_link = LookAtStore(link, /*named=*/true);
  std::ofstream(file, std::ios::trunc).close();
  std::filesystem::remove(folder);
  const StoreSeen empty = LookAtStore(file, /*named=*/true), absent = LookAtStore(file + ".absent", /*named=*/true);
  std::filesystem::remove(link);
  std::filesystem::remove(file);

  EXPECT_NE(without.state, CheckState::kOk);
  EXPECT_THAT(without.seen, HasSubstr("there is no folder " + std::filesystem::weakly_canonical(folder).string()));
  EXPECT_THAT(without.advice, HasSubstr("bring it back"));
  EXPECT_FALSE(with.lacks_artifacts);
  EXPECT_FALSE(by_link.lacks_artifacts);
  EXPECT_FALSE(empty.lacks_artifacts) << "it is a store to come";
  EXPECT_FALSE(absent.lacks_artifacts);
  StoreSeen usual = UsualStore();
  usual.lacks_artifacts = true;
  EXPECT_EQ(JudgeStore(usual).state, CheckState::kWarning);
}

TEST(DoctorStoreTest, AFileThatIsNoStoreFails) {
  const std::string file = (std::filesystem::temp_directory_path() / ("longreach-doctor-test-" + std::to_string(getpid()) + ".db")).string();
  const auto judged = [&file](const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    return JudgeStore(LookAtStore(file, /*named=*/true));
  };
  const std::string sqlite = std::string("SQLite format 3\0", 16) + std::string(52, 'x');
  for (const std::string& none : {std::string("name: mine\n"), std::string("SQLite format"), std::string(4096, '\0'), sqlite, sqlite + "GPKG"}) {
    const Check check = judged(none);
    EXPECT_EQ(check.state, CheckState::kFailed) << none;
    EXPECT_THAT(check.seen, HasSubstr(file + " is no store")) << none;
  }
  EXPECT_THAT(judged(sqlite + "LRch and more").seen, Not(HasSubstr("is no store")));
  EXPECT_THAT(judged("").seen, Not(HasSubstr("is no store"))) << "'longreach run' makes it one";
  // What is not in the file yet is in its log.
  std::ofstream(file + "-wal") << "pages";
  EXPECT_THAT(judged("not yet").seen, Not(HasSubstr("is no store")));
  std::filesystem::remove(file);
  std::filesystem::remove(file + "-wal");
}

TEST(DoctorStoreTest, AStateFolderIsTheWorkersOrNotThereYet) {
  FolderSeen folder{.path = "b1.db.worker"};
  EXPECT_EQ(JudgeStateFolder(folder).state, CheckState::kOk);
  folder = UsualFolder("b1.db.worker");
  EXPECT_EQ(JudgeStateFolder(folder).state, CheckState::kOk);
  folder.writable = false;
  EXPECT_EQ(JudgeStateFolder(folder).state, CheckState::kFailed);
  folder = UsualFolder("b1.db.worker");
  folder.is_folder = false;
  EXPECT_EQ(JudgeStateFolder(folder).state, CheckState::kFailed);
}

// ----- the scheduler

SchedulerSeen AnsweringScheduler() {
  SchedulerSeen seen{.address = "far:7070", .named = true, .answered = {}, .info = {}, .seconds = 0.0015};
  seen.info.set_build(kOwnBuild);
  seen.info.set_protocol(1);
  seen.info.set_store_version(11);
  return seen;
}

TEST(DoctorSchedulerTest, OneOfThisBuildIsWell) {
  const std::vector<Check> checks = JudgeScheduler(AnsweringScheduler(), kOwnBuild, 1);
  EXPECT_EQ(checks[0].name, "scheduler");
  EXPECT_EQ(checks[0].state, CheckState::kOk);
  EXPECT_EQ(checks[0].seen, "far:7070 answers, a call takes 1.5 ms");
  EXPECT_EQ(checks[1].name, "scheduler_build");
  EXPECT_EQ(checks[1].state, CheckState::kOk);
  EXPECT_THAT(checks[1].seen, HasSubstr("protocol 1, store version 11"));
}

TEST(DoctorSchedulerTest, AnotherProtocolFailsAndAnotherVersionWarns) {
  EXPECT_EQ(JudgeScheduler(AnsweringScheduler(), kOwnBuild, 2)[1].state, CheckState::kFailed);
  EXPECT_EQ(JudgeScheduler(AnsweringScheduler(), "0.2.0 (abc)", 1)[1].state, CheckState::kWarning);
  EXPECT_EQ(JudgeScheduler(AnsweringScheduler(), "0.1.0 (def)", 1)[1].state, CheckState::kOk);
  EXPECT_THAT(JudgeScheduler(AnsweringScheduler(), "0.1.0 (def)", 1)[1].seen, HasSubstr("the client is 0.1.0 (def)"));

  SchedulerSeen slow = AnsweringScheduler();
  slow.seconds = 5;
  EXPECT_EQ(JudgeScheduler(slow, kOwnBuild, 1)[0].state, CheckState::kWarning);
}

TEST(DoctorSchedulerTest, OneThatWasNamedHasToAnswer) {
  SchedulerSeen seen = AnsweringScheduler();
  seen.answered = Error(absl::StatusCode::kUnavailable, "no scheduler at far:7070", "start one");
  EXPECT_EQ(JudgeScheduler(seen, kOwnBuild, 1)[0].state, CheckState::kFailed);
  EXPECT_EQ(JudgeScheduler(seen, kOwnBuild, 1)[0].seen, "no scheduler at far:7070");
  EXPECT_EQ(JudgeScheduler(seen, kOwnBuild, 1)[0].advice, "start one");
  EXPECT_EQ(JudgeScheduler(seen, kOwnBuild, 1)[1].state, CheckState::kNotAsked);

  seen.named = false;
  EXPECT_EQ(JudgeScheduler(seen, kOwnBuild, 1)[0].state, CheckState::kNotAsked) << "where none need be";
  seen.answered = absl::PermissionDeniedError("no certificate and no token");
  EXPECT_EQ(JudgeScheduler(seen, kOwnBuild, 1)[0].state, CheckState::kWarning);
}

// ----- certificates

TEST(DoctorCertificateTest, TheTimeUntilItsEndDecides) {
  const absl::StatusOr<access::KeyAndCertificate> authority = access::MakeAuthority("an authority", /*days=*/365);
  ASSERT_TRUE(authority.ok()) << authority.status();
  const access::CertificateInfo info = *access::ReadCertificate(authority->certificate);
  const auto judged = [&](std::chrono::sys_seconds at) { return JudgeCertificate({.check = "authority", .what = "the authority a; b.crt", .text = authority->certificate}, at); };

  const Check well = judged(info.from + days(1));
  EXPECT_EQ(well.state, CheckState::kOk);
  EXPECT_EQ(well.name, "authority");
  EXPECT_EQ(well.seen, "the authority a; b.crt is of 'an authority', valid until " + access::Day(info.until));
  const Check soon = judged(info.until - days(5));
  EXPECT_EQ(soon.state, CheckState::kWarning);
  EXPECT_EQ(soon.seen, "the authority a; b.crt expires on " + access::Day(info.until));
  EXPECT_THAT(soon.advice, HasSubstr("longreach certs init"));
  const Check late = judged(info.until + days(1));
  EXPECT_EQ(late.state, CheckState::kFailed);
  EXPECT_EQ(late.seen, "the authority a; b.crt expired on " + access::Day(info.until));
  const Check early = judged(info.from - days(1));
  EXPECT_EQ(early.state, CheckState::kFailed);
  EXPECT_THAT(early.advice, HasSubstr("clock"));
}

TEST(DoctorCertificateTest, WhatIsNoneFails) {
  const std::chrono::sys_seconds now{};
  EXPECT_EQ(JudgeCertificate({.check = "certificate", .what = "certificate x", .text = "text"}, now).state, CheckState::kFailed);
  const Check unread = JudgeCertificate({.check = "certificate", .what = "certificate x", .text = absl::FailedPreconditionError("cannot use x: No such file")}, now);
  EXPECT_EQ(unread.state, CheckState::kFailed);
  EXPECT_EQ(unread.seen, "cannot use x: No such file");
}

TEST(DoctorCertificateTest, CredentialsAreAskedForWhereSomeAreNamed) {
  EXPECT_EQ(JudgeCredentials({}, absl::OkStatus()).state, CheckState::kNotAsked);
  EXPECT_EQ(JudgeCredentials({.ca = "ca.crt"}, absl::OkStatus()).state, CheckState::kOk);
  const access::CredentialFiles both{.ca = "ca.crt", .certificate = "a.crt", .key = "a.key", .token = "secret"};
  EXPECT_EQ(JudgeCredentials(both, absl::OkStatus()).seen, "a certificate and its key and a token can be shown");
  EXPECT_EQ(JudgeCredentials(both, absl::FailedPreconditionError("the key belongs to another certificate")).state, CheckState::kFailed);
  EXPECT_THAT(JudgeCredentials(both, absl::FailedPreconditionError("the key belongs to another certificate")).seen, Not(HasSubstr("secret")));
}

// ----- limits

TEST(DoctorLimitsTest, FewOpenFilesAreAWarning) {
  EXPECT_EQ(JudgeOpenFiles({.soft = 1024, .hard = 4096}).state, CheckState::kOk);
  EXPECT_EQ(JudgeOpenFiles({.soft = RLIM_INFINITY, .hard = RLIM_INFINITY}).seen, "any number of files may be open");
  const Check low = JudgeOpenFiles({.soft = 256, .hard = 4096});
  EXPECT_EQ(low.state, CheckState::kWarning);
  EXPECT_EQ(low.seen, "256 files may be open");
  EXPECT_THAT(low.advice, HasSubstr("ulimit -n 1024"));
  const Check bound = JudgeOpenFiles({.soft = 256, .hard = 512});
  EXPECT_EQ(bound.state, CheckState::kWarning);
  EXPECT_THAT(bound.advice, HasSubstr("512 is the most"));
}

}  // namespace
}  // namespace longreach::client
