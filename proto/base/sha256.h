// SHA-256, by OpenSSL. Identities of jobs, sweeps and files are made of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "proto/base/status.h"

namespace longreach {

// Hashes what it is fed; used for files and streams that do not fit into memory.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::string_view bytes);
  // 64 lower-case hexadecimal digits. The object is used up.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Of(std::string_view bytes);

// 64 lower-case hexadecimal digits: so are ids of jobs and sweeps, too.
bool IsSha256(std::string_view text);

// From its byte `begin` on, of a regular file that is not mapped: where its disk fails, that is an error and no signal. Of a long one `read`, if it is there, counts the bytes up
// meanwhile. NOT_FOUND or DATA_LOSS with the path when the file cannot be read; CANCELLED: `stop` asked.
absl::StatusOr<std::string> Sha256OfFile(const std::filesystem::path& file, size_t begin = 0, const std::stop_token& stop = {}, std::atomic<int64_t>* read = nullptr);

}  // namespace longreach
