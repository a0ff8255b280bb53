// longreach-tokenizer FILE: SentencePiece as a process (contract.h). Nothing else of ours is linked into it, but which build it is.
#include <sentencepiece_processor.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/build_info.h"
#include "worker/tokenizer/contract.h"

namespace longreach::tokenizer {
namespace {

// False at the end of the input, or when it cannot be read.
bool ReadAll(char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t got = read(STDIN_FILENO, bytes, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool Send(char kind, std::string_view what) {
  std::string head;
  AppendNumber(head, static_cast<uint32_t>(what.size() + 1));
  head += kind;
  return WriteAll(head) && WriteAll(what);
}

void AppendId(std::string& bytes, int id) { AppendNumber(bytes, static_cast<uint32_t>(id)); }

char Kind(const sentencepiece::SentencePieceProcessor& pieces, int id) {
  if (pieces.IsUnknown(id)) return kUnknownPiece;
  if (pieces.IsControl(id)) return kControlPiece;
  if (pieces.IsUnused(id)) return kUnusedPiece;
  return pieces.IsByte(id) ? kBytePiece : kNormalPiece;
}

bool AnswerEncode(const sentencepiece::SentencePieceProcessor& pieces, std::string_view text) {
  std::vector<int> ids;
  const sentencepiece::util::Status status = pieces.Encode(text, &ids);
  if (!status.ok()) return Send(kRefused, status.ToString());
  std::string answer;
  for (const int id : ids) AppendId(answer, id);
  return Send(kDone, answer);
}

bool AnswerDecode(const sentencepiece::SentencePieceProcessor& pieces, std::string_view bytes) {
  if (bytes.size() % kNumberBytes != 0) return Send(kRefused, "an id has 4 bytes");
  std::vector<int> ids;
  for (size_t at = 0; at < bytes.size(); at += kNumberBytes) {
    const int id = static_cast<int>(NumberAt(bytes, at));
    if (id < 0 || id >= pieces.GetPieceSize()) {
      return Send(kRefused, "there is no id " + std::to_string(id) + ": the last one is " + std::to_string(pieces.GetPieceSize() - 1));
    }
    ids.push_back(id);
  }
  std::string text;
  const sentencepiece::util::Status status = pieces.Decode(ids, &text);
  return status.ok() ? Send(kDone, text) : Send(kRefused, status.ToString());
}

bool AnswerPieces(const sentencepiece::SentencePieceProcessor& pieces) {
  std::string answer;
  for (int id = 0; id < pieces.GetPieceSize(); ++id) {
    const std::string& text = pieces.IdToPiece(id);
    answer += Kind(pieces, id);
    AppendNumber(answer, std::bit_cast<uint32_t>(pieces.GetScore(id)));
    AppendNumber(answer, static_cast<uint32_t>(text.size()));
    answer += text;
  }
  return Send(kDone, answer);
}

// False when the conversation is over.
bool AnswerOne(const sentencepiece::SentencePieceProcessor& pieces, std::string_view request) {
  switch (request.front()) {
    case kEncode: return AnswerEncode(pieces, request.substr(1));
    case kDecode: return AnswerDecode(pieces, request.substr(1));
    case kPieces: return AnswerPieces(pieces);
    default: return Send(kRefused, "unknown request") && false;
  }
}

std::optional<std::string> ReadFile(const char* name) {
  std::ifstream in(name, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad() || bytes.empty()) return std::nullopt;
  return bytes;
}

int Run(const char* file) {
  const std::optional<std::string> model = ReadFile(file);
  if (!model) {
    Send(kRefused, "it cannot be read or is empty");
    return 1;
  }
  sentencepiece::SentencePieceProcessor pieces;
  const sentencepiece::util::Status loaded = pieces.LoadFromSerializedProto(*model);
  if (!loaded.ok()) {
    Send(kRefused, "it is no SentencePiece model, or damaged (" + loaded.ToString() + ")");
    return 1;
  }
  std::string about;
  for (const int number : {pieces.GetPieceSize(), pieces.bos_id(), pieces.eos_id(), pieces.unk_id(), pieces.pad_id()}) AppendId(about, number);
  if (!Send(kDone, about)) return 1;

  char length[kNumberBytes];
  std::string request;
  while (ReadAll(length, sizeof(length))) {
    const uint32_t size = NumberAt({length, sizeof(length)}, 0);
    if (size == 0 || size > kMostContent) {
      Send(kRefused, "a request of " + std::to_string(size) + " bytes is none");
      return 1;
    }
    request.resize(size);
    if (!ReadAll(request.data(), size) || !AnswerOne(pieces, request)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace longreach::tokenizer

int main(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "";
  if (word == "--version") {
    std::printf("%s\n", longreach::BuildDescription().c_str());
    return 0;
  }
  const bool asks = word == "--help" || word == "-h";
  if (argc != 2 || word.starts_with("-")) {
    std::fputs("usage: longreach-tokenizer FILE\n  longreach-worker starts it, to read a SentencePiece model (tokenizer.model)\n", asks ? stdout : stderr);
    return asks ? 0 : 2;
  }
  return longreach::tokenizer::Run(argv[1]);
}
