#include "client/commands/suggestions.h"

#include <fmt/format.h>

#include "client/output/text.h"

namespace longreach::client {

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string WhereFlags(Session& session) {
  if (!session.store().empty()) return " --store " + ShellWord(session.store());
  // A scheduler named by the environment or the config file is found again without a flag, but a flag does
  // no harm.
  if (!session.settings().scheduler_named) return "";
  std::string flags = " --scheduler " + ShellWord(session.settings().scheduler);
  const access::CredentialFiles& files = session.settings().credentials;
  for (const auto& [flag, file] : {std::pair("--ca", &files.ca), std::pair("--certificate", &files.certificate), std::pair("--key", &files.key),
                                   std::pair("--token-file", &files.token_file)}) {
    if (!file->empty()) flags += fmt::format(" {} {}", flag, ShellWord(*file));
  }
  return flags;
}

std::string RepeatCommand(Session& session, const v1::Job& job) {
  const std::string id = Printable(ShortId(job.id()));
  return fmt::format("longreach job {0} --spec{1} | longreach run /dev/stdin --store repeat-{0}.db", id, WhereFlags(session));
}

std::string CommandLine(const SweepSource& source) {
  std::string line = ShellWord(source.spec);
  for (const std::string& one : source.overrides) line += " --set " + ShellWord(one);
  return line;
}

}  // namespace longreach::client
