// Of what kind members of commands' JSON are, and cells of their CSV: one word for one thing in all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "client/output/json.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::HasSubstr;

class JsonMembersTest : public WithFakeScheduler {
 protected:
  nlohmann::json Json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-o", "json"});
    const Outcome outcome = Run(arguments);
    std::istringstream lines(outcome.out);
    std::string first;
    std::getline(lines, first);
    return nlohmann::json::parse(first, nullptr, /*allow_exceptions=*/false);
  }
};

TEST_F(JsonMembersTest, SecondsThatAreLeftAreNullUntilSomebodyKnowsThem) {
  v1::SweepUpdate update;
  *update.mutable_sweep() = scheduler_.sweep;
  update.mutable_sweep()->mutable_counts()->set_queued(1);
  scheduler_.updates = {update};
  scheduler_.watch_stays_open = true;
  EXPECT_TRUE(Json({"status"})["seconds_left"].is_null());
  EXPECT_TRUE(Json({"wait", "--timeout", "0"})["seconds_left"].is_null());
  scheduler_.updates.front().set_seconds_left(90);
  EXPECT_EQ(Json({"status"})["seconds_left"], 90);
  for (const char* end : {"seconds_left_low", "seconds_left_high"}) EXPECT_TRUE(Json({"status"})[end].is_null()) << end;
  scheduler_.updates.front().set_seconds_left_low(60);
  scheduler_.updates.front().set_seconds_left_high(120);
  EXPECT_EQ(Json({"status"})["seconds_left_low"], 60);
  EXPECT_EQ(Json({"status"})["seconds_left_high"], 120);
  scheduler_.updates.front().clear_seconds_left_low();
  scheduler_.updates.front().clear_seconds_left_high();

  // Of one that is finished it is known that there are none.
  scheduler_.watch_stays_open = false;
  scheduler_.updates.front().set_seconds_left(0);
  scheduler_.updates.front().set_finished(true);
  for (const char* command : {"status", "wait", "watch"}) {
    const nlohmann::json json = Json({command});
    for (const char* left : {"seconds_left", "seconds_left_low", "seconds_left_high"}) EXPECT_EQ(json[left], 0) << command << ": " << json;
  }
}

TEST_F(JsonMembersTest, WhatAnotherWorkerWouldBeGoodForIsThereOnceItIsKnown) {
  v1::SweepUpdate update;
  *update.mutable_sweep() = scheduler_.sweep;
  update.set_seconds_left(7200);
  scheduler_.updates = {update};
  scheduler_.watch_stays_open = true;
  EXPECT_FALSE(Json({"status"}).contains("another_worker"));
  EXPECT_THAT(Run({"status"}).out, ::testing::Not(HasSubstr("one more worker")));

  v1::AnotherWorker& another = *scheduler_.updates.front().mutable_another_worker();
  another.set_like("box\x1b[2J");
  another.set_seconds_saved(1800);
  EXPECT_EQ(Json({"status"})["another_worker"]["seconds_saved"], 1800);
  EXPECT_THAT(Run({"status"}).out, HasSubstr("\none more worker like 'box\\x1b[2J' would save about 30 min\n"));
  another.set_seconds_saved(60);
  EXPECT_THAT(Run({"status"}).out, ::testing::Not(HasSubstr("one more worker"))) << "a minute of two hours is next to nothing";
}

TEST_F(JsonMembersTest, OnlyNumbersOfThatNameBecomeNull) {
  EXPECT_EQ(WithNulls(R"({"name":"\"hours\":3,","hours":0,"hours_low":1})", {"hours", "minutes"}), R"({"name":"\"hours\":3,","hours":null,"hours_low":1})");
  EXPECT_EQ(WithNulls(R"({"jobs":1,"hours":0})", {"hours"}), R"({"jobs":1,"hours":null})");
}

TEST_F(JsonMembersTest, EachPartHasTheNameOfItsSweepWhicheverCommandPrintsIt) {
  const nlohmann::json submitted = Json({"submit", "nope-tinyllama"}), planned = Json({"plan", "nope-tinyllama"}), run = Json({"run", "nope-tinyllama"});
  for (const nlohmann::json& json : {submitted, planned}) EXPECT_EQ(json["parts"][1]["name"], "nope-table-1-proof-pile") << json;
  EXPECT_EQ(run["parts"][1]["name"], scheduler_.sweep.name());
  EXPECT_EQ(run["parts"][1]["sweep"]["name"], scheduler_.sweep.name());
}

TEST_F(JsonMembersTest, TimesAreIso8601InCsvAsInJson) {
  scheduler_.sweep.mutable_submitted_at()->set_seconds(1'800'000'000);
  scheduler_.sweep.mutable_submitted_at()->set_nanos(250'000'000);
  EXPECT_EQ(Json({"sweeps"})["sweeps"][0]["submitted_at"], "2027-01-15T08:00:00.250Z");
  EXPECT_THAT(Run({"sweeps", "-o", "csv"}).out, HasSubstr(",2027-01-15T08:00:00.250Z\n"));
  EXPECT_THAT(Run({"sweeps"}).out, HasSubstr("  2027-01-15 08:00:00Z\n")) << "for people";
  EXPECT_THAT(Run({"sweeps", "-o", "markdown"}).out, HasSubstr(" 2027-01-15 08:00:00Z |\n"));
  // One that is not known is no word.
  EXPECT_THAT(Run({"workers", "-o", "csv"}).out, HasSubstr("\n0123456789,gpu-1,active,,0,0,,,,\n"));
}

TEST_F(JsonMembersTest, WhetherTheClientIsQuietIsNoText) {
  const auto quiet = [this](const std::vector<std::string>& arguments) {
    const nlohmann::json shown = Json(arguments);
    for (const nlohmann::json& one : shown["settings"]) {
      if (one["name"] == "quiet") return one["value"];
    }
    return nlohmann::json();
  };
  EXPECT_EQ(quiet({"config", "show"}), false);
  EXPECT_EQ(quiet({"config", "show", "-q"}), true);
}

}  // namespace
}  // namespace longreach::client
