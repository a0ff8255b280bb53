#include "client/commands/suggestions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <vector>

#include "client/output/text.h"
#include "client/store_file.h"
#include "proto/base/text.h"

namespace longreach::client {

namespace {

// Whether a command, without the program's name, is one of a store, and does not say of which.
bool AsksAStore(std::string_view command) {
  constexpr std::string_view kOthers[] = {"data", "list", "certs", "completion", "config", "version", "reference"};
  const std::string_view word = command.substr(0, command.find(' '));
  return !word.starts_with('-') && std::ranges::find(kOthers, word) == std::end(kOthers) && command.find("--store") == command.npos &&
         command.find("--scheduler") == command.npos;
}

// Of one that was typed: another may hold without it, with credentials that do not belong there.
std::string ContextFlag(const Settings& settings) { return settings.context_by_flag ? " --context " + settings.context : ""; }

}  // namespace

std::vector<std::pair<std::string_view, std::string>> CredentialFlags(const Settings& settings) {
  const access::CredentialFiles& files = settings.credentials;
  std::vector<std::pair<std::string_view, std::string>> flags = {{"--ca", files.ca}, {"--certificate", files.certificate}, {"--key", files.key}};
  if (files.token.empty()) flags.emplace_back("--token-file", files.token_file);
  std::erase_if(flags, [](const auto& flag) { return flag.second.empty(); });
  return flags;
}

std::string WhereFlags(const Settings& settings) {
  if (!settings.store.empty()) return " --store " + ShellWord(settings.store);
  std::string flags = ContextFlag(settings);
  // A scheduler named by the environment or the config file is found again without a flag, but a flag does
  // no harm.
  if (!settings.scheduler_named) return flags;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!settings.said_by_context.contains(std::string(flag))) flags += fmt::format(" {} {}", flag, ShellWord(value));
  };
  add("--scheduler", settings.scheduler);
  for (const auto& [flag, value] : CredentialFlags(settings)) add(flag, value);
  return flags;
}

std::string WhereFlags(Session& session) {
  // One that is not there yet was looked into as an empty one in memory.
  const bool on_disk = !session.store().empty() && session.store() != ":memory:";
  return on_disk ? " --store " + ShellWord(session.store()) : WhereFlags(session.settings());
}

std::string WorkerToStart(const Settings& settings) {
  const access::CredentialFiles& files = settings.credentials;
  const bool shows = !files.ca.empty() || !files.token_file.empty() || !files.token.empty();
  return fmt::format("'longreach-worker run --scheduler {}{}'{}", ShellWord(settings.scheduler), files.ca.empty() ? "" : " --ca " + ShellWord(files.ca),
                     shows ? ", with a worker's certificate or token" : "");
}

std::string PausedSentence(const v1::Sweep& sweep, Session& session) {
  return fmt::format("the sweep is paused; 'longreach resume {}{}' lets it go on", ShortId(sweep.id()), WhereFlags(session));
}

std::string WithFlags(std::string_view sentence, Session& session) {
  constexpr std::string_view kBegin = "'longreach ", kWorker = "'longreach-worker run'";
  const std::string flags = WhereFlags(session);
  std::string text;
  if (const size_t worker = sentence.find(kWorker); worker != std::string_view::npos) {
    // A store has none but that of a run.
    text = fmt::format("{}{}", sentence.substr(0, worker), session.store().empty() ? WorkerToStart(session.settings()) : fmt::format("'longreach run SPEC{}'", flags));
    sentence.remove_prefix(worker + kWorker.size());
  }
  while (true) {
    const size_t begin = sentence.find(kBegin);
    const size_t end = begin == std::string_view::npos ? begin : sentence.find('\'', begin + 1);
    if (end == std::string_view::npos) return text + std::string(sentence);
    text += sentence.substr(0, end);
    if (AsksAStore(sentence.substr(begin + kBegin.size(), end - begin - kBegin.size()))) text += flags;
    text += '\'';
    sentence.remove_prefix(end + 1);
  }
}

std::string NameInPlaceOfFile(std::string_view sentence) {
  constexpr std::string_view kBegin = "there is no sweep '", kEnd = "';";
  const size_t end = sentence.rfind(kEnd);
  if (!sentence.starts_with(kBegin) || end == sentence.npos || end < kBegin.size()) return std::string(sentence);
  const std::string word(sentence.substr(kBegin.size(), end - kBegin.size()));
  if (IsStoreFile(word)) {
    return fmt::format("there is no sweep '{}', which is a store's file\n'--store {}' looks into it, and the command diff compares results with those of another store", word, ShellWord(word));
  }
  std::error_code error;
  const bool is_there = std::filesystem::is_regular_file(word, error);
  if (!is_there && !word.ends_with(".yaml") && !word.ends_with(".yml")) return std::string(sentence);
  // Of one with parts the sweeps have names of their own.
  const absl::StatusOr<SweepFile> file = is_there ? LoadSweep(LooksLikePath(word) ? word : "./" + word) : absl::NotFoundError("");
  const std::string hint = file.ok() && file->parts.empty() ? fmt::format("that is '{}' here; 'longreach sweeps' shows all of them", Printable(file->spec.name()))
                                                            : std::string(Trim(sentence.substr(end + kEnd.size())));
  return fmt::format("there is no sweep '{}', which is a file's name: a sweep goes by the 'name:' in its file, or by the file's name without the ending\n{}", word, hint);
}

std::string RepeatCommand(Session& session, const v1::Job& job) {
  const std::string id = Printable(ShortId(job.id()));
  return fmt::format("longreach job {0} --spec{1} | longreach run /dev/stdin --store repeat-{0}.db", id, WhereFlags(session));
}

std::string RunLine(const SweepSource& source, std::string_view where) {
  std::error_code error;
  const bool is_piped = source.spec.starts_with("/dev/") || std::filesystem::is_fifo(source.spec, error);
  const std::string spec = (source.spec.starts_with('-') ? "./" : "") + source.spec;  // A file, and no option.
  std::string line = fmt::format("{}longreach run {}", is_piped ? "... | " : "", ShellWord(spec));
  for (const std::string& one : source.overrides) line += " --set " + ShellWord(one);
  return line + std::string(where);
}

}  // namespace longreach::client
