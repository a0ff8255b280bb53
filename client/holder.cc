#include "client/holder.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "client/output/text.h"
#include "proto/base/shell_word.h"
#include "proto/base/text.h"

namespace longreach::client {
namespace {

constexpr std::string_view kSocketScheme = "unix:";
// A command's words may name hundreds of files.
constexpr size_t kMostWords = 12;

// A connection to it, to be closed; -1: there is none. `listens`: somebody takes them there, though he may not get to it: where he is stopped, those that wait for him become too
// many, and one more would wait without end.
int ConnectTo(const std::string& address, bool& listens) {
  listens = false;
  sockaddr_un at{};
  if (!address.starts_with(kSocketScheme)) return -1;
  const std::string path = address.substr(kSocketScheme.size());
  if (path.size() >= sizeof at.sun_path) return -1;
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return -1;
  const bool is_connected = connect(probe, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  listens = is_connected || errno == EAGAIN;
  if (is_connected) return probe;
  close(probe);
  return -1;
}

// Of whom the system says that he listens there.
std::optional<pid_t> ProcessAt(const std::string& address) {
  bool listens = false;
  const int probe = ConnectTo(address, listens);
  if (probe < 0) return std::nullopt;
  ucred listener{};
  socklen_t size = sizeof listener;
  const bool is_known = getsockopt(probe, SOL_SOCKET, SO_PEERCRED, &listener, &size) == 0 && listener.pid > 0;  // 0: in another container.
  close(probe);
  return is_known ? std::optional(listener.pid) : std::nullopt;
}

std::string FileOf(pid_t process, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/{}", process, name), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Its program and arguments.
std::vector<std::string> WordsOf(pid_t process) {
  std::vector<std::string> words;
  for (const std::string& word : Split(FileOf(process, "cmdline"), '\0')) words.push_back(word);
  if (!words.empty() && words.back().empty()) words.pop_back();  // A NUL ends each.
  return words;
}

bool IsProgram(const std::vector<std::string>& words, std::string_view name) {
  return !words.empty() && std::filesystem::path(words.front()).filename() == name;
}

std::optional<pid_t> ParentOf(pid_t process) {
  constexpr std::string_view kParent = "PPid:";
  for (const std::string& line : Split(FileOf(process, "status"), '\n')) {
    if (!line.starts_with(kParent)) continue;
    const auto parent = static_cast<pid_t>(std::strtol(line.c_str() + kParent.size(), nullptr, 10));
    return parent > 0 ? std::optional(parent) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool Listens(const std::string& address) {
  bool listens = false;
  const int probe = ConnectTo(address, listens);
  if (probe >= 0) close(probe);
  return listens;
}

std::string CommandAt(const std::string& address) {
  const std::optional<pid_t> scheduler = ProcessAt(address);
  if (!scheduler || !IsProgram(WordsOf(*scheduler), "longreach-scheduler")) return "";
  const std::optional<pid_t> parent = ParentOf(*scheduler);
  if (!parent) return "";
  const std::vector<std::string> words = WordsOf(*parent);
  if (!IsProgram(words, "longreach")) return "";
  std::string line = "longreach";
  for (size_t i = 1; i < words.size() && i < kMostWords; ++i) line += " " + ShellWord(words[i]);
  return fmt::format("'{}{}' (process {})", Printable(line), words.size() > kMostWords ? " ..." : "", *parent);
}

}  // namespace longreach::client
