#include "tests/fuzz/draw.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace longreach::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMaxDepth = 5;
constexpr int kMostElements = 6;

// The ends of the integer types and their neighbours.
constexpr std::array<uint64_t, 12> kEdges = {
    0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe, 0xffffffffffffffff};

constexpr std::array<double, 14> kReals = {0.0, -0.0, 1.0, -1.0, 0.5, 1e-3, 3e-4, 1e300, 5e-324, -1e300, 1e15, std::numeric_limits<double>::quiet_NaN(),
                                           std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};

}  // namespace

uint8_t Draw::Byte() {
  if (bytes_.empty()) return 0;
  const auto byte = static_cast<uint8_t>(bytes_.front());
  bytes_.remove_prefix(1);
  return byte;
}

uint64_t Draw::Number() {
  const uint8_t kind = Byte();
  if (kind < 128) return kind % 32;
  if (kind < 192 && !known_.numbers.empty()) return known_.numbers[kind % known_.numbers.size()];
  if (kind < 224) return kEdges[kind % kEdges.size()];
  uint64_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | Byte();
  return number;
}

double Draw::Real() {
  const uint8_t kind = Byte();
  if (kind < 192) return kReals[kind % kReals.size()];
  uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = bits << 8 | Byte();
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::string Draw::Bytes(size_t most) {
  const std::string taken(bytes_.substr(0, most));
  bytes_.remove_prefix(taken.size());
  return taken;
}

std::string Draw::Text() {
  const uint8_t kind = Byte();
  if (kind < 224 && !known_.words.empty()) return known_.words[kind % known_.words.size()];
  // One long text now and then; its end is the most that is interesting of it.
  if (kind == 255) return std::string(300, 'x') + "\xc3\xa4";
  std::string text;
  for (const char c : Bytes(Byte() % 32)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

bool Draw::Request(Message& message) {
  switch (Byte() % 4) {
    case 0:
    case 1: Fill(message); return true;
    case 2: Change(message); return true;
    default: break;
  }
  const size_t length = Byte() * 4;
  message.Clear();
  return message.ParseFromString(Bytes(length));
}

void Draw::Fill(Message& message, int depth) {
  if (depth > kMaxDepth) return;
  for (int i = 0; i < message.GetDescriptor()->field_count() && !empty(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const uint8_t choice = Byte();
    // Most fields stay as they are: what is wrong everywhere is refused at the first place.
    if (choice < 160) continue;
    Alter(message, field, choice, depth, &Draw::Fill);
  }
}

void Draw::Change(Message& message, int depth) {
  const int fields = message.GetDescriptor()->field_count();
  if (depth > kMaxDepth || fields == 0) return;
  for (int changes = Byte() % kMostElements; changes > 0; --changes) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(Byte() % fields);
    const uint8_t choice = Byte();
    const int size = field.is_repeated() ? message.GetReflection()->FieldSize(message, &field) : 0;
    // What a list has already is changed as often as it is put in place of.
    if (choice < 128 && size > 0 && field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Change(*message.GetReflection()->MutableRepeatedMessage(&message, &field, Byte() % size), depth + 1);
    } else {
      Alter(message, field, choice, depth, &Draw::Change);
    }
  }
}

void Draw::Alter(Message& message, const FieldDescriptor& field, uint8_t choice, int depth, Below below) {
  if (choice > 250) {
    message.GetReflection()->ClearField(&message, &field);
  } else if (field.is_repeated()) {
    if (choice % 2 == 0) message.GetReflection()->ClearField(&message, &field);
    for (int n = Byte() % kMostElements; n > 0; --n) Set(message, field, depth, below);
  } else {
    Set(message, field, depth, below);
  }
}

void Draw::Set(Message& message, const FieldDescriptor& field, int depth, Below below) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const auto set = [&](auto setter, auto adder, auto value) {
    if (field.is_repeated()) {
      (reflection.*adder)(&message, &field, value);
    } else {
      (reflection.*setter)(&message, &field, value);
    }
  };
  using R = google::protobuf::Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: set(&R::SetInt32, &R::AddInt32, static_cast<int32_t>(Number())); break;
    case FieldDescriptor::CPPTYPE_INT64: set(&R::SetInt64, &R::AddInt64, static_cast<int64_t>(Number())); break;
    case FieldDescriptor::CPPTYPE_UINT32: set(&R::SetUInt32, &R::AddUInt32, static_cast<uint32_t>(Number())); break;
    case FieldDescriptor::CPPTYPE_UINT64: set(&R::SetUInt64, &R::AddUInt64, Number()); break;
    case FieldDescriptor::CPPTYPE_DOUBLE: set(&R::SetDouble, &R::AddDouble, Real()); break;
    case FieldDescriptor::CPPTYPE_FLOAT: set(&R::SetFloat, &R::AddFloat, static_cast<float>(Real())); break;
    case FieldDescriptor::CPPTYPE_BOOL: set(&R::SetBool, &R::AddBool, Byte() % 2 == 1); break;
    // Open in proto3: numbers without a name come through.
    case FieldDescriptor::CPPTYPE_ENUM: set(&R::SetEnumValue, &R::AddEnumValue, Byte() % 16 - 1); break;
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = field.type() == FieldDescriptor::TYPE_BYTES ? Bytes(Byte()) : Text();
      if (field.is_repeated()) {
        reflection.AddString(&message, &field, text);
      } else {
        reflection.SetString(&message, &field, text);
      }
      break;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      (this->*below)(field.is_repeated() ? *reflection.AddMessage(&message, &field) : *reflection.MutableMessage(&message, &field), depth + 1);
      break;
  }
}

}  // namespace longreach::fuzz
