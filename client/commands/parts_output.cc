#include "client/commands/parts_output.h"

#include <fmt/format.h>

#include "client/output/json.h"
#include "client/output/text.h"
#include "proto/base/text.h"

namespace longreach::client {

void PartsOutput::Begin(const std::string& sweep) {
  const Format format = session_.settings().format;
  if (!several_ || format == Format::kJson || format == Format::kCsv) return;
  const std::string_view mark = format == Format::kMarkdown ? "## " : format == Format::kLatex ? "% " : "";
  session_.out() << fmt::format("{}{}{}\n", begun_ ? "\n" : "", mark, Printable(sweep)) << (format == Format::kMarkdown ? "\n" : "");
  begun_ = true;
}

void PartsOutput::Add(const std::string& sweep, const std::string& key, const google::protobuf::Message& message) {
  AddJson(sweep, key, JsonOf(message));
}

void PartsOutput::AddJson(const std::string& sweep, const std::string& key, const std::string& object) {
  if (several_) return Add({{"name", JsonText(sweep)}, {key, object}});
  session_.out() << JsonDocumentOf(object);
}

void PartsOutput::Add(const Members& members) {
  if (!several_) {
    session_.out() << JsonDocument(members);
    return;
  }
  std::vector<std::string> texts;
  for (const auto& [name, value] : members) texts.push_back(JsonText(name) + ":" + value);
  parts_.push_back("{" + Join(texts, ",") + "}");
}

void PartsOutput::Finish() {
  if (several_) session_.out() << JsonDocument({{"parts", "[" + Join(parts_, ",") + "]"}});
}

}  // namespace longreach::client
