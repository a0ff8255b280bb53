// SentencePiece's models, through the program longreach-tokenizer (contract.h).
#pragma once

#include <filesystem>
#include <memory>

#include "worker/tokenizer/tokenizer.h"

namespace longreach::tokenizer {

struct Piece {
  std::string text;
  char kind = 0;  // contract.h.
  float score = 0;
};

// longreach-tokenizer beside the program that runs.
std::filesystem::path TokenizerProgram();

class SentencePieces final : public Tokenizer {
 public:
  // Starts the program on a file. It ends with this object, or with this process.
  //
  // NOT_FOUND: no such file. DATA_LOSS: not a SentencePiece model, or damaged. UNAVAILABLE: the program cannot be started.
  static absl::StatusOr<std::unique_ptr<SentencePieces>> Start(const std::filesystem::path& model,
                                                               const std::filesystem::path& program = TokenizerProgram());
  ~SentencePieces() override;

  // Both: INVALID_ARGUMENT for what cannot be asked; UNAVAILABLE, from then on always, when the program has ended.
  absl::StatusOr<std::vector<int64_t>> Encode(std::string_view text) override;
  absl::StatusOr<std::string> Decode(std::span<const int64_t> ids) override;

  int64_t vocabulary() const override { return vocabulary_; }
  std::optional<int64_t> bos() const override { return bos_; }
  std::optional<int64_t> eos() const override { return eos_; }
  std::optional<int64_t> unknown() const { return unknown_; }

  // Of the program; -1: it has ended.
  int pid() const { return pid_; }

  // All of them, by id.
  absl::StatusOr<std::vector<Piece>> Pieces();

 private:
  SentencePieces(const std::filesystem::path& model, int pid, int socket) : model_(model), pid_(pid), socket_(socket) {}
  absl::Status ReadAbout();
  absl::StatusOr<std::string> Ask(char request, std::string_view what);
  absl::StatusOr<std::string> Receive();
  absl::Status Ended();

  std::filesystem::path model_;
  int pid_;
  int socket_;
  int64_t vocabulary_ = 0;
  std::optional<int64_t> bos_, eos_, unknown_;
};

// What the model of a folder says of its tokens, in config.json.
struct ModelTokens {
  int64_t vocabulary = 0;
  std::optional<int64_t> bos = {};
};

// The tokenizer of a model's folder (tokenizer.model) for a model with such tokens.
//
// NOT_FOUND: the folder has none. FAILED_PRECONDITION: only tokenizer.json; says what to do. INVALID_ARGUMENT: it has another
// number of ids, or another BOS. Errors of SentencePieces::Start().
absl::StatusOr<std::unique_ptr<SentencePieces>> TokenizerOfFolder(const std::filesystem::path& folder, const ModelTokens& model,
                                                                  const std::filesystem::path& program = TokenizerProgram());

}  // namespace longreach::tokenizer
