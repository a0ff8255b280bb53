// What a worker that was killed has left of an attempt, made by a test.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "proto/base/sha256.h"
#include "proto/base/text.h"

namespace longreach::agent {

// A checkpoint as the trainer writes them, with other tensors. `jobs`: as JSON has them, "a\\nb".
inline std::string CheckpointOf(int step, const std::string& jobs, const std::string& payload) {
  const std::string header = Text(R"({"__metadata__":{"kind":"checkpoint","step":")", step, R"(","jobs":")", jobs, R"(","payload_sha256":")", Sha256Of(payload),
                                  R"("},"x":{"dtype":"U8","shape":[)", payload.size(), R"(],"data_offsets":[0,)", payload.size(), "]}}");
  std::string length(8, '\0');
  for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header + payload;
}

// In a state folder. One of an attempt, STATE/attempts/NUMBER/NAME, has the lock beside it that every worker makes first: without it the folder would be taken for
// somebody else's.
inline void LeaveFile(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
  const std::filesystem::path attempts = file.parent_path().parent_path();
  if (attempts.filename() == "attempts") std::ofstream(attempts.parent_path() / "lock", std::ios::app);
}

}  // namespace longreach::agent
