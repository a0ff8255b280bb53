// JSON of every message of the API, as protobuf's own writer has it: what is written in another way for the sake of speed is written the same.
#include "client/output/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "longreach/v1/api.pb.h"
#include "longreach/v1/maintenance.pb.h"
#include "longreach/v1/spec.pb.h"

namespace longreach::client {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string AsProtobufWrites(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &json, options).ok()) << message.ShortDebugString();
  return json;
}

void SetAll(Message& message, const std::string& text, int depth);

// A field that is no list gets a value, one that is a list one more.
void SetOne(Message& message, const FieldDescriptor& field, const std::string& text, int depth) {
  const Reflection& at = *message.GetReflection();
  const bool more = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return more ? at.AddInt32(&message, &field, -7) : at.SetInt32(&message, &field, -7);
    case FieldDescriptor::CPPTYPE_INT64: return more ? at.AddInt64(&message, &field, -7) : at.SetInt64(&message, &field, -7);
    case FieldDescriptor::CPPTYPE_UINT32: return more ? at.AddUInt32(&message, &field, 7) : at.SetUInt32(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_UINT64: return more ? at.AddUInt64(&message, &field, 7) : at.SetUInt64(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_DOUBLE: return more ? at.AddDouble(&message, &field, 0.1 + 0.2) : at.SetDouble(&message, &field, 0.1 + 0.2);
    case FieldDescriptor::CPPTYPE_FLOAT: return more ? at.AddFloat(&message, &field, 0.3F) : at.SetFloat(&message, &field, 0.3F);
    case FieldDescriptor::CPPTYPE_BOOL: return more ? at.AddBool(&message, &field, true) : at.SetBool(&message, &field, true);
    case FieldDescriptor::CPPTYPE_STRING: return more ? at.AddString(&message, &field, text) : at.SetString(&message, &field, text);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* const value = field.enum_type()->value(field.enum_type()->value_count() - 1);
      return more ? at.AddEnum(&message, &field, value) : at.SetEnum(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (depth > 0 && !field.is_map()) SetAll(more ? *at.AddMessage(&message, &field) : *at.MutableMessage(&message, &field), text, depth - 1);
  }
}

void SetAll(Message& message, const std::string& text, int depth) {
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    // A point in time and a duration have their own limits and signs.
    if (type.file()->package() == "google.protobuf") continue;
    for (int time = 0; time < (type.field(i)->is_repeated() ? 2 : 1); ++time) SetOne(message, *type.field(i), text, depth);
  }
}

TEST(JsonOfMessagesTest, EveryMessageIsWrittenAsProtobufWritesIt) {
  constexpr int kDeep = 3;  // A specification is within another one.
  int compared = 0;
  for (const Descriptor* known : {v1::Job::descriptor(), v1::GetInfoResponse::descriptor(), v1::SweepSpec::descriptor()}) {
    for (int i = 0; i < known->file()->message_type_count(); ++i) {
      const Descriptor& type = *known->file()->message_type(i);
      const std::unique_ptr<Message> message(google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
      EXPECT_EQ(JsonOf(*message), AsProtobufWrites(*message)) << type.full_name() << " with defaults";
      for (const char* text : {"plain", "a \"b\" \\ <i>&'"}) {
        message->Clear();
        SetAll(*message, text, kDeep);
        EXPECT_EQ(JsonOf(*message), AsProtobufWrites(*message)) << type.full_name();
        ++compared;
      }
      // Each field alone: what need not be there comes in the order in which it is sent.
      for (int field = 0; field < type.field_count(); ++field) {
        message->Clear();
        SetOne(*message, *type.field(field), "plain", kDeep);
        EXPECT_EQ(JsonOf(*message), AsProtobufWrites(*message)) << type.field(field)->full_name();
      }
    }
  }
  EXPECT_GE(compared, 80);
}

// A number of 64 bits is written as text, and whoever reads it would add up texts.
void ExpectNumbersToBeNumbers(const Descriptor& type, std::set<const Descriptor*>& seen) {
  if (type.file()->package() == "google.protobuf" || !seen.insert(&type).second) return;  // A time is a text by itself.
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    EXPECT_NE(field.cpp_type(), FieldDescriptor::CPPTYPE_INT64) << field.full_name();
    EXPECT_NE(field.cpp_type(), FieldDescriptor::CPPTYPE_UINT64) << field.full_name();
    if (field.message_type() != nullptr) ExpectNumbersToBeNumbers(*field.message_type(), seen);
  }
}

TEST(JsonOfMessagesTest, NoAnswerToAClientHasNumbersThatAreWrittenAsText) {
  const google::protobuf::ServiceDescriptor* service = v1::Job::descriptor()->file()->FindServiceByName("Longreach");
  ASSERT_NE(service, nullptr);
  std::set<const Descriptor*> seen;
  for (int i = 0; i < service->method_count(); ++i) ExpectNumbersToBeNumbers(*service->method(i)->output_type(), seen);
  EXPECT_GE(seen.size(), 40u);
}

}  // namespace
}  // namespace longreach::client
