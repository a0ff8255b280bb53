// Commands that are told to the user: each can be pasted into a shell as it is.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/session.h"
#include "client/spec/spec_reader.h"
#include "longreach/v1/api.pb.h"
#include "proto/base/shell_word.h"

namespace longreach::client {

// "longreach run table-b1 --set training.steps=2", for the shell, with WhereFlags(): what to type to get the same again. Before it "... | " where
// the sweep came through a pipe.
std::string RunLine(const SweepSource& source, std::string_view where);

// What to type to run a job again, alone and in a store of its own, wherever one likes.
std::string RepeatCommand(Session& session, const v1::Job& job);

// What a scheduler is shown, as options. A token of the environment is found there again, and wins over a file.
std::vector<std::pair<std::string_view, std::string>> CredentialFlags(const Settings& settings);

// " --store FILE" or " --scheduler ADDR" with credentials, where the settings name one: what a suggested command needs. Of a context that was typed its name stands
// for all that it says.
std::string WhereFlags(const Settings& settings);
// The same of a session, which may have found a store that nobody named.
std::string WhereFlags(Session& session);

// 'longreach-worker run --scheduler ADDR', and what a worker there has to show beside it.
std::string WorkerToStart(const Settings& settings);

// What to say of a paused sweep, and how it goes on.
std::string PausedSentence(const v1::Sweep& sweep, Session& session);

// A sentence of the scheduler's, which does not know where the user asked: each command that it quotes ('longreach logs 1f3a') gets WhereFlags()
// at its end, and a worker the scheduler's address. What is not of a store ('longreach data', 'longreach list') does not, nor what names one.
std::string WithFlags(std::string_view sentence, Session& session);

// That a sweep is not known, as the scheduler says it, of a word that is a sweep's file here: what the sweep is called. Other sentences stay.
std::string NameInPlaceOfFile(std::string_view sentence);

}  // namespace longreach::client
