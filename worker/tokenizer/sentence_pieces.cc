#include "worker/tokenizer/sentence_pieces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <utility>

#include "worker/tokenizer/contract.h"

namespace longreach::tokenizer {
namespace {

constexpr int64_t kMostPieces = 1 << 24;

// Standard input and output are the one end of the socket; signals of the terminal are for whoever started us.
absl::StatusOr<pid_t> Spawn(const std::filesystem::path& program, const std::filesystem::path& model, int end) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
  // Whoever waits for the end of a pipe of ours must not wait for the program too.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&blocked, signal);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string name = program.filename().string(), file = std::filesystem::absolute(model).string();
  char* const argv[] = {name.data(), file.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return absl::UnavailableError(fmt::format("cannot start {}: {}; it belongs beside longreach-worker", program.string(), std::strerror(error)));
}

// Both: false when the other end is closed.
bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool ReceiveAll(int socket, char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t got = recv(socket, bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

std::optional<int64_t> IdOrNone(std::string_view bytes, size_t at) {
  const auto id = static_cast<int32_t>(NumberAt(bytes, at));
  if (id < 0) return std::nullopt;
  return id;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> Tokenizer::EncodeWithBos(std::string_view text) {
  ASSIGN_OR_RETURN(std::vector<int64_t> ids, Encode(text));
  if (bos().has_value()) ids.insert(ids.begin(), *bos());
  return ids;
}

std::filesystem::path TokenizerProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "longreach-tokenizer";
}

absl::StatusOr<std::unique_ptr<SentencePieces>> SentencePieces::Start(const std::filesystem::path& model, const std::filesystem::path& program) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(model, error)) return absl::NotFoundError(fmt::format("there is no file {}", model.string()));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::UnavailableError(fmt::format("cannot make the tokenizer's socket: {}", std::strerror(errno)));
  }
  const absl::StatusOr<pid_t> pid = Spawn(program, model, ends[1]);
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  std::unique_ptr<SentencePieces> pieces(new SentencePieces(model, *pid, ends[0]));
  RETURN_IF_ERROR(pieces->ReadAbout());
  return pieces;
}

SentencePieces::~SentencePieces() {
  close(socket_);
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);  // It has nothing to lose, and must not be waited for if it hangs.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

absl::Status SentencePieces::ReadAbout() {
  const absl::StatusOr<std::string> about = Receive();
  if (absl::IsInvalidArgument(about.status())) {
    return absl::DataLossError(fmt::format("{}: {}", model_.string(), std::string(about.status().message())));
  }
  RETURN_IF_ERROR(about.status());
  if (about->size() != 5 * kNumberBytes) return absl::UnavailableError("longreach-tokenizer speaks another protocol; install the one of this version");
  vocabulary_ = NumberAt(*about, 0);
  bos_ = IdOrNone(*about, kNumberBytes);
  eos_ = IdOrNone(*about, 2 * kNumberBytes);
  unknown_ = IdOrNone(*about, 3 * kNumberBytes);
  if (vocabulary_ >= 1 && vocabulary_ <= kMostPieces) return absl::OkStatus();
  return absl::DataLossError(fmt::format("{}: a tokenizer does not have {} pieces", model_.string(), vocabulary_));
}

absl::StatusOr<std::vector<int64_t>> SentencePieces::Encode(std::string_view text) {
  if (text.size() > kMostText) {
    return absl::InvalidArgumentError(fmt::format("a text of {} bytes is too long to tokenize at once; at most {}", text.size(), kMostText));
  }
  ASSIGN_OR_RETURN(const std::string answer, Ask(kEncode, text));
  std::vector<int64_t> ids;
  ids.reserve(answer.size() / kNumberBytes);
  for (size_t at = 0; at + kNumberBytes <= answer.size(); at += kNumberBytes) ids.push_back(NumberAt(answer, at));
  return ids;
}

absl::StatusOr<std::string> SentencePieces::Decode(std::span<const int64_t> ids) {
  std::string bytes;
  if (ids.size() > kMostText) return absl::InvalidArgumentError(fmt::format("{} ids are too many at once; at most {}", ids.size(), kMostText));
  for (const int64_t id : ids) {
    if (id < 0 || id >= vocabulary_) {
      return absl::InvalidArgumentError(fmt::format("{}: there is no id {}; there are 0 to {}", model_.string(), id, vocabulary_ - 1));
    }
    AppendNumber(bytes, static_cast<uint32_t>(id));
  }
  return Ask(kDecode, bytes);
}

absl::StatusOr<std::vector<Piece>> SentencePieces::Pieces() {
  ASSIGN_OR_RETURN(const std::string answer, Ask(kPieces, {}));
  constexpr size_t kHead = 1 + 2 * kNumberBytes;
  std::vector<Piece> pieces;
  for (size_t at = 0; at + kHead <= answer.size();) {
    const size_t length = NumberAt(answer, at + 1 + kNumberBytes);
    if (length > answer.size() - at - kHead) break;
    pieces.push_back({.text = answer.substr(at + kHead, length), .kind = answer[at], .score = std::bit_cast<float>(NumberAt(answer, at + 1))});
    at += kHead + length;
  }
  if (static_cast<int64_t>(pieces.size()) != vocabulary_) return absl::UnavailableError("longreach-tokenizer sent pieces that are cut off");
  return pieces;
}

absl::StatusOr<std::string> SentencePieces::Ask(char request, std::string_view what) {
  if (pid_ < 0) return absl::UnavailableError("longreach-tokenizer has ended");
  std::string head;
  AppendNumber(head, static_cast<uint32_t>(what.size() + 1));
  head += request;
  if (!SendAll(socket_, head) || !SendAll(socket_, what)) return Ended();
  return Receive();
}

absl::StatusOr<std::string> SentencePieces::Receive() {
  char length[kNumberBytes];
  if (!ReceiveAll(socket_, length, sizeof(length))) return Ended();
  const uint32_t size = NumberAt({length, sizeof(length)}, 0);
  std::string answer(size <= kMostContent ? size : 0, '\0');
  if (answer.empty()) kill(pid_, SIGKILL);
  if (answer.empty() || !ReceiveAll(socket_, answer.data(), size)) return Ended();
  const char kind = answer.front();
  answer.erase(0, 1);
  if (kind == kRefused) return absl::InvalidArgumentError(answer);
  return answer;
}

// Closed, or not to be understood: in both cases there is nothing more to ask.
absl::Status SentencePieces::Ended() {
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  shutdown(socket_, SHUT_RDWR);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string how = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : fmt::format("exit code {}", WEXITSTATUS(status));
  return absl::UnavailableError(fmt::format("longreach-tokenizer ended with {} while it worked with {}", how, model_.string()));
}

absl::StatusOr<std::unique_ptr<SentencePieces>> TokenizerOfFolder(const std::filesystem::path& folder, const ModelTokens& model,
                                                                  const std::filesystem::path& program) {
  const std::filesystem::path file = folder / "tokenizer.model";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    if (!std::filesystem::exists(folder / "tokenizer.json", error)) {
      return absl::NotFoundError(fmt::format("{} has no tokenizer.model; put the one that the model was trained with there", folder.string()));
    }
    return absl::FailedPreconditionError(
        fmt::format("{} has its tokenizer as tokenizer.json alone, which is not read; put the SentencePiece file that it was made from, tokenizer.model, beside it",
                    folder.string()));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SentencePieces> pieces, SentencePieces::Start(file, program));
  if (pieces->vocabulary() != model.vocabulary) {
    return absl::InvalidArgumentError(fmt::format("{} has {} ids and the model's vocabulary {}: it is another model's tokenizer, or cut off, or the model has ids that "
                                                  "no text has; a folder without tokenizer.model can be imported for tests of tokens (data import tokens --vocabulary {}), which "
                                                  "are all but passkeys and LongBench",
                                                  file.string(), pieces->vocabulary(), model.vocabulary, model.vocabulary));
  }
  if (model.bos.has_value() && pieces->bos() != model.bos) {
    return absl::InvalidArgumentError(fmt::format("{} has {} as BOS and the model's config.json {}: it is another model's tokenizer, or bos_token_id is wrong",
                                                  file.string(), pieces->bos().has_value() ? fmt::format("id {}", *pieces->bos()) : "none", *model.bos));
  }
  return pieces;
}

}  // namespace longreach::tokenizer
