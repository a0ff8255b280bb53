// The value of one field as text: as canonical texts have it, as settings are compared and shown, and as sweep files are read.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace longreach {

// Of a field that is not repeated, as it stands or by default: "true", "512", "0.0003", a text as it is, the name of an enum's value. Numbers
// read back as the same; -0 is 0, as both compute the same. "" of a message.
std::string FieldText(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);

}  // namespace longreach
