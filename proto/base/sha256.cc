#include "proto/base/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <vector>

#include "proto/base/file_to_read.h"

namespace longreach {

namespace {

// Looked for once: by its name, as EVP_sha256() has OpenSSL do with each use, it takes longer than hashing a job's specification.
const EVP_MD* Algorithm() {
  static const EVP_MD* const kFetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kFetched == nullptr ? EVP_sha256() : kFetched;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  // Fails only when memory is out or the library is broken: there is nothing sensible to go on with.
  if (EVP_DigestInit_ex(state_->context, Algorithm(), nullptr) != 1) std::abort();
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Sha256::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->context, digest.data(), &size);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * size);
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

bool IsSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string Sha256Of(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

absl::StatusOr<std::string> Sha256OfFile(const std::filesystem::path& file, size_t begin, const std::stop_token& stop, std::atomic<int64_t>* read) {
  constexpr uint64_t kBytesAtATime = 1 << 20;
  ASSIGN_OR_RETURN(const FileToRead opened, FileToRead::Open(file));
  Sha256 hash;
  std::vector<char> block(static_cast<size_t>(std::min(opened.bytes(), kBytesAtATime)));
  for (uint64_t at = begin; at < opened.bytes();) {
    if (stop.stop_requested()) return absl::CancelledError("called off");
    const std::span<char> next = std::span(block).first(static_cast<size_t>(std::min<uint64_t>(block.size(), opened.bytes() - at)));
    RETURN_IF_ERROR(opened.Read(at, next));
    hash.Update(std::string_view(next.data(), next.size()));
    at += next.size();
    if (read != nullptr) *read += static_cast<int64_t>(next.size());
  }
  return hash.Finish();
}

}  // namespace longreach
