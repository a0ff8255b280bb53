// TensorBoard's event files: numbers with a name and a step, in the records of TensorFlow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace longreach::client {

// CRC-32C (Castagnoli), as RFC 3720 has it.
uint32_t Crc32c(std::string_view bytes);

class EventFile {
 public:
  // `time_s`: seconds since 1970, of all that is in it.
  explicit EventFile(double time_s);

  // A step is 0 or more. A value is kept with the seven digits of float32.
  void Add(std::string_view tag, int64_t step, double value);

  // All of the file so far.
  const std::string& bytes() const { return bytes_; }

 private:
  void AddRecord(std::string_view event);

  double time_s_;
  std::string bytes_;
};

}  // namespace longreach::client
