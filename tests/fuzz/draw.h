// Makes messages of bytes. Every input is some message, so the fuzzer's time is spent behind the protobuf parser, which is
// not ours. At the end of the bytes every draw gives zero, so that each input comes to an end.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longreach::fuzz {

// What texts and numbers are often drawn from: words that mean something to the code under test.
struct Known {
  std::vector<std::string> words;
  std::vector<uint64_t> numbers;
};

class Draw {
 public:
  Draw(std::string_view bytes, const Known& known) : bytes_(bytes), known_(known) {}

  bool empty() const { return bytes_.empty(); }
  uint8_t Byte();
  uint64_t Number();
  double Real();
  // Valid UTF-8, as all texts of proto3 are by the time that a handler sees them.
  std::string Text();
  // Up to that many bytes as they are.
  std::string Bytes(size_t most);
  // Fields that are not drawn keep what the message has: on top of a template, a call with a few fields changed.
  void Fill(google::protobuf::Message& message, int depth = 0);
  // Says itself how many fields it changes, and which: a few bytes reach the last field of a large message.
  void Change(google::protobuf::Message& message, int depth = 0);
  // Filled, changed, or one time in four parsed from bytes, unknown fields and all. False: they are no such message.
  bool Request(google::protobuf::Message& message);

 private:
  // How a message within the message is drawn.
  using Below = void (Draw::*)(google::protobuf::Message& message, int depth);
  void Alter(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field, uint8_t choice, int depth, Below below);
  void Set(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field, int depth, Below below);

  std::string_view bytes_;
  const Known& known_;
};

}  // namespace longreach::fuzz
