#include "proto/types/field_text.h"

#include <google/protobuf/descriptor.h>

#include "proto/base/text.h"

namespace longreach {

using google::protobuf::FieldDescriptor;

std::string FieldText(const google::protobuf::Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& at = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: return at.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_INT32: return std::to_string(at.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32: return std::to_string(at.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64: return std::to_string(at.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64: return std::to_string(at.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE: return ShortestNumber(at.GetDouble(message, &field) + 0.0);
    case FieldDescriptor::CPPTYPE_FLOAT: return ShortestNumber(at.GetFloat(message, &field) + 0.0);
    case FieldDescriptor::CPPTYPE_STRING: return at.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM: return at.GetEnum(message, &field)->name();
    case FieldDescriptor::CPPTYPE_MESSAGE: break;
  }
  return "";
}

}  // namespace longreach
