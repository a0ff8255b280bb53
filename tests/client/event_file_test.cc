#include "client/output/event_file.h"

#include <gtest/gtest.h>

#include <string>

namespace longreach::client {
namespace {

std::string HexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) hex += {kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]};
  return hex;
}

TEST(EventFileTest, TheChecksumIsThatOfTheStandard) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU) << "RFC 3720, B.4";
  EXPECT_EQ(Crc32c(""), 0U);
}

// The bytes are those that the Python package tensorboard 2.21 writes for the same events.
TEST(EventFileTest, RecordsAreTensorFlows) {
  EventFile file(1.5);
  const std::string begin = "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c";
  EXPECT_EQ(HexOf(file.bytes()), begin);

  file.Add("loss", 300, 0.25);
  EXPECT_EQ(HexOf(file.bytes()), begin + "1b000000000000001a0d9e1309000000000000f83f10ac022a0d0a0b0a046c6f7373150000803e9908deed");
}

}  // namespace
}  // namespace longreach::client
