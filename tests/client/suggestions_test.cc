#include "client/commands/suggestions.h"

#include <gtest/gtest.h>

namespace longreach::client {
namespace {

TEST(SuggestionsTest, WordsThatNeedQuotesHaveThem) {
  EXPECT_EQ(RunLine({.spec = "my sweep.yaml", .overrides = {"name=a b"}}, " --store b1.db"), "longreach run \"my sweep.yaml\" --set \"name=a b\" --store b1.db");
}

TEST(SuggestionsTest, AFileWhoseNameBeginsWithADashIsNotTakenForAnOption) {
  EXPECT_EQ(RunLine({.spec = "-mine.yaml", .overrides = {}}, ""), "longreach run ./-mine.yaml");
}

// As the dashboard asks: the address is that of a moment.
TEST(SuggestionsTest, OfAStoresSchedulerCommandsNameTheStore) {
  Environment environment;
  Settings settings;
  settings.scheduler = "unix:/tmp/moment.sock";
  settings.scheduler_named = true;
  Session of_scheduler(environment, settings);
  environment.store = "/srv/b1.db";
  Session of_store(environment, settings);
  const std::string sentence = "There is none; start one with 'longreach-worker run'. 'longreach logs 1f3a' shows more.";

  EXPECT_EQ(WithFlags(sentence, of_scheduler), "There is none; start one with 'longreach-worker run --scheduler unix:/tmp/moment.sock'. "
                                               "'longreach logs 1f3a --scheduler unix:/tmp/moment.sock' shows more.");
  EXPECT_EQ(WithFlags(sentence, of_store), "There is none; start one with 'longreach run SPEC --store /srv/b1.db'. 'longreach logs 1f3a --store /srv/b1.db' shows more.");
}

// Without it another context might hold, with credentials that do not belong there.
TEST(SuggestionsTest, AContextThatWasTypedIsPartOfTheCommand) {
  Settings settings;
  settings.scheduler = "head:7070";
  settings.scheduler_named = true;
  settings.credentials.ca = "my certs/ca.crt";
  settings.context = "cluster";
  EXPECT_EQ(WhereFlags(settings), " --scheduler head:7070 --ca \"my certs/ca.crt\"") << "it is found again";
  settings.context_by_flag = true;
  EXPECT_EQ(WhereFlags(settings), " --context cluster --scheduler head:7070 --ca \"my certs/ca.crt\"");
}

TEST(SuggestionsTest, WhatAContextSaysIsNotSaidAgainBesideIt) {
  Settings settings;
  settings.scheduler = "head:7070";
  settings.scheduler_named = true;
  settings.credentials.ca = "ca.crt";
  settings.credentials.token_file = "mine.token";
  settings.context = "cluster";
  settings.context_by_flag = true;
  settings.said_by_context = {"--scheduler", "--ca"};

  EXPECT_EQ(WhereFlags(settings), " --context cluster --token-file mine.token");
}

// Whatever context holds, a store that is typed is the one that is opened, and takes no credentials.
TEST(SuggestionsTest, OfAStoreNoContextIsPartOfTheCommand) {
  Settings settings;
  settings.context = "laptop";
  settings.context_by_flag = true;
  settings.store = "my runs/b1.db";
  EXPECT_EQ(WhereFlags(settings), " --store \"my runs/b1.db\"");
}

}  // namespace
}  // namespace longreach::client
