#include "client/output/event_file.h"

#include <array>
#include <bit>
#include <cstddef>

namespace longreach::client {
namespace {

// Bytes of a number, the lowest first, whatever this machine's order is.
std::string LittleEndian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

// TensorBoard's messages (tensorboard/compat/proto/event.proto and summary.proto) are small enough to be written without their generated code.
std::string Varint(uint64_t number) {
  std::string text;
  for (; number >= 0x80; number >>= 7) text += static_cast<char>(0x80 | (number & 0x7f));
  return text + static_cast<char>(number);
}
constexpr uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
std::string FieldKey(uint64_t number, uint64_t wire_type) { return Varint(number << 3 | wire_type); }
std::string BytesField(uint64_t number, std::string_view bytes) { return FieldKey(number, kBytes) + Varint(bytes.size()) + std::string(bytes); }
std::string TimeField(double time_s) { return FieldKey(1, kFixed64) + LittleEndian(std::bit_cast<uint64_t>(time_s), 8); }

// A checksum of what has its own checksum in it would be weak; so the format turns it.
uint32_t MaskedCrc(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return std::rotr(crc, 15) + 0xa282ead8U;
}

constexpr std::array<uint32_t, 256> CrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
    table[i] = crc;
  }
  return table;
}

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = CrcTable();
  uint32_t crc = ~0U;
  for (const char c : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

EventFile::EventFile(double time_s) : time_s_(time_s) { AddRecord(TimeField(time_s_) + BytesField(3, "brain.Event:2")); }

void EventFile::Add(std::string_view tag, int64_t step, double value) {
  const std::string number = FieldKey(2, kFixed32) + LittleEndian(std::bit_cast<uint32_t>(static_cast<float>(value)), 4);
  const std::string summary = BytesField(1, BytesField(1, tag) + number);
  AddRecord(TimeField(time_s_) + FieldKey(2, kVarint) + Varint(static_cast<uint64_t>(step)) + BytesField(5, summary));
}

void EventFile::AddRecord(std::string_view event) {
  const std::string length = LittleEndian(event.size(), 8);
  bytes_ += length + LittleEndian(MaskedCrc(length), 4);
  bytes_ += event;
  bytes_ += LittleEndian(MaskedCrc(event), 4);
}

}  // namespace longreach::client
