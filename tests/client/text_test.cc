#include "client/output/text.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "client/errors.h"
#include "client/output/json.h"
#include "longreach/v1/api.pb.h"

namespace longreach::client {
namespace {

TEST(TextTest, WritesWhatATerminalWouldObeyAsHexadecimal) {
  EXPECT_EQ(Printable("a\x1b[31mb\x07"), "a\\x1b[31mb\\x07");
  EXPECT_EQ(Printable("tab\tline\n"), "tab\\x09line\\x0a");
  EXPECT_EQ(Printable("tab\tline\n\r", /*keep_lines=*/true), "tab\tline\n\\x0d");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m")
      << "C1 control characters";
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
  EXPECT_EQ(Printable("\xd8\x9c"), "\\xd8\\x9c") << "Arabic letter mark";
  EXPECT_EQ(Printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8") << "line separator";
  EXPECT_EQ(Printable("\xf3\xa0\x81\x81"), "\\xf3\\xa0\\x81\\x81") << "a tag, which nobody sees";
  EXPECT_EQ(Printable("\xff\xc0\x80"), "\\xff\\xc0\\x80") << "broken UTF-8";
  EXPECT_EQ(Printable("größe †"), "größe †");
}

TEST(TextTest, WhatIsRoundedToZeroHasNoMinus) {
  EXPECT_EQ(WithoutMinusOfZero("-0.0"), "0.0");
  EXPECT_EQ(WithoutMinusOfZero("-0"), "0");
  for (const char* number : {"0.0", "-0.1", "-1.0", "-10.0", "-0.001", "-inf", "-1e-05", "12"}) EXPECT_EQ(WithoutMinusOfZero(number), number);
}

TEST(TextTest, ADifferenceHasItsSignUnlessItWasRoundedToZero) {
  EXPECT_EQ(WithSign("1.5"), "+1.5");
  EXPECT_EQ(WithSign("-1.5"), "-1.5");
  EXPECT_EQ(WithSign("0.05"), "+0.05");
  EXPECT_EQ(WithSign("1e-05"), "+1e-05");
  EXPECT_EQ(WithSign("inf"), "+inf");
  for (const char* zero : {"0.0", "-0.0"}) EXPECT_EQ(WithSign(zero), "0.0");
  for (const char* zero : {"0", "-0"}) EXPECT_EQ(WithSign(zero), "0");
  EXPECT_EQ(WithSign("nan"), "nan");
}

TEST(TextTest, WhatComesBehindPlainTextIsLookedAtAsWell) {
  EXPECT_EQ(PrintableAscii(" ~"), 2u);
  EXPECT_EQ(PrintableAscii("ab\x7f"), 2u);
  EXPECT_EQ(PrintableAscii("ab\nc"), 2u);
  EXPECT_EQ(PrintableAscii("a†"), 1u);
  EXPECT_EQ(PrintableAscii(""), 0u);
  EXPECT_EQ(Printable("abc\x1b[m def\xff"), "abc\\x1b[m def\\xff");
  EXPECT_EQ(DisplayWidth("abc表d"), 6);
  EXPECT_TRUE(IsPlainText("abc†"));
  EXPECT_FALSE(IsPlainText("abc\x1b"));
  EXPECT_EQ(JsonText("ab\"c"), "\"ab\\\"c\"");
}

TEST(TextTest, AnErrorIsNotAsLongAsWhatIsWrong) {
  std::string value;
  while (value.size() < 1'000'000) value += "ü";
  const std::string shown = FormatError(UsageError("name: '" + value + "' is too long", "take another than " + value));
  EXPECT_LT(shown.size(), 20'000u);
  EXPECT_TRUE(shown.starts_with("error: name: 'üüü"));
  EXPECT_NE(shown.find("ü [...] ü"), std::string::npos) << "no character is cut";
  EXPECT_NE(shown.find("üüü' is too long\n  take another than üüü"), std::string::npos);
  EXPECT_EQ(FormatError(UsageError(std::string(7000, 'x'))), "error: " + std::string(7000, 'x') + "\n");
}

TEST(TextTest, MeasuresAndCutsByColumns) {
  EXPECT_EQ(DisplayWidth("Parity Check†"), 13);
  EXPECT_EQ(DisplayWidth("表"), 2);
  EXPECT_EQ(PadRight("†", 3), "†  ");
  EXPECT_EQ(PadLeft("†", 3), "  †");
  EXPECT_EQ(CutToWidth("abcdef", 6), "abcdef");
  EXPECT_EQ(CutToWidth("abcdef", 4), "abc…");
  EXPECT_EQ(CutToWidth("表表表", 4), "表…");
  EXPECT_EQ(CutToWidth("abc", 0), "");
}

TEST(TextTest, WrapsWordsByColumns) {
  EXPECT_THAT(WrapWords("one two  three", 7), ::testing::ElementsAre("one two", "three"));
  EXPECT_THAT(WrapWords("überlängen zu", 4), ::testing::ElementsAre("überlängen", "zu"));
  EXPECT_THAT(WrapWords("", 10), ::testing::IsEmpty());
}

TEST(TextTest, ProseKeepsToAWidthBehindItsBeginning) {
  EXPECT_EQ(Prose("- ", "one two three four five", 0), "- one two three four five");
  EXPECT_EQ(Prose("- ", "one two three four five", 25), "- one two three four five");
  EXPECT_EQ(Prose("- ", "one two three four five", 24), "- one two three four\n  five");
  EXPECT_EQ(Prose("", "überlängen† are words of columns", 20), "überlängen† are\nwords of columns");
  EXPECT_EQ(Prose("", "a-word-that-is-longer-than-a-line is whole", 20), "a-word-that-is-longer-than-a-line\nis whole");
  EXPECT_EQ(Prose("label  ", "one two three four", 3), "label  one two three\n       four") << "a terminal is not as narrow";
  EXPECT_EQ(Prose("- ", "", 20), "- ");
}

TEST(TextTest, ProseBreaksNoCommand) {
  EXPECT_EQ(Prose("", "nothing runs; 'longreach run a --store b' is what runs it", 30), "nothing runs;\n'longreach run a --store b' is\nwhat runs it");
  EXPECT_EQ(Prose("", "so ('longreach retry a-long-name-of-a-sweep'), it is said", 20), "so\n('longreach retry a-long-name-of-a-sweep'),\nit is said");
  EXPECT_EQ(Prose("", "where 'longreach run --store 'a b'' makes one", 33), "where\n'longreach run --store 'a b''\nmakes one");
  EXPECT_EQ(Prose("", "the workers' disk and 'that of all others", 20), "the workers' disk\nand 'that of all\nothers") << "it is never closed";
  EXPECT_EQ(Prose("", "to go on, which takes long:\n  longreach run table-b1 --store b.db\nand that is all of it", 20),
            "to go on, which\ntakes long:\n  longreach run table-b1 --store b.db\nand that is all of\nit");
}

TEST(TextTest, WritesNumbersForPeople) {
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Thousands(1000), "1,000");
  EXPECT_EQ(Thousands(-1234567), "-1,234,567");
  EXPECT_EQ(HumanDuration(45), "45 s");
  EXPECT_EQ(HumanDuration(720), "12 min");
  EXPECT_EQ(HumanDuration(12000), "3 h 20 min");
  EXPECT_EQ(HumanDuration(200000), "2 d 7 h");
  EXPECT_EQ(HumanDuration(std::nan("")), "-");
  EXPECT_EQ(HumanDuration(1e300), HumanDuration(1e200)) << "no overflow";
  EXPECT_EQ(HumanBytes(999), "999 bytes");
  EXPECT_EQ(HumanBytes(1.25e9), "1.2 GB");
  EXPECT_EQ(HumanFlops(3.4e15), "3.4 PFLOP");
  EXPECT_EQ(HumanFlops(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(HumanRate(0.354), "0.35");
  EXPECT_EQ(HumanRate(1204.4), "1,204");
}

TEST(JsonTest, TextsOfAnyBytesAreValidJson) {
  for (const std::string& text :
       {std::string("a\"b\\c\n\x01"), std::string("\xff\xfe"), std::string("\0x", 2), std::string("†"),
        std::string("\xc0\x80"), std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80")}) {
    EXPECT_TRUE(nlohmann::json::accept(JsonText(text))) << JsonText(text);
  }
  EXPECT_EQ(nlohmann::json::parse(JsonText("a\"b\\c\n\x01†")), "a\"b\\c\n\x01†");
}

TEST(JsonTest, HoldsNothingThatATerminalObeys) {
  const std::string text = "\x1b[2J \x7f \xc2\x9b 1m \xe2\x80\xae \xe2\x81\xa6 \xd8\x9c \xf3\xa0\x81\x81 ok";
  v1::GetLogResponse log;
  log.set_text(text);

  for (const std::string& json : {JsonText(text), JsonOf(log)}) {
    EXPECT_TRUE(IsPlainText(json)) << json;
    EXPECT_EQ(Printable(json), json);
  }
  EXPECT_EQ(nlohmann::json::parse(JsonText(text)), text);
  EXPECT_EQ(nlohmann::json::parse(JsonOf(log))["text"], text);
}

// As protobuf's own writer has a message.
std::string ByProtobuf(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  return json;
}

TEST(JsonTest, AJobIsWrittenAsProtobufWritesIt) {
  v1::Job job;
  EXPECT_EQ(JsonOf(job), ByProtobuf(job)) << "defaults";
  job.set_id(std::string(64, 'a'));
  job.set_encoding("rope:randomized");
  job.set_seed(4294967295u);
  job.set_failures(-1);
  job.set_diverged(true);
  job.set_score(0);
  job.add_systems("narrow");
  job.add_systems("wide");
  EXPECT_EQ(JsonOf(job), ByProtobuf(job)) << "a score that is there and 0";

  // Every sign that JSON or HTML gives a meaning, and some that are none of either.
  for (const std::string& text : {std::string("a \"b\" \\ / <i>&amp;</i> 'c'"), std::string("line\nline\ttab"), std::string("†"), std::string("~ `{}[]:,")}) {
    job.set_failure(text);
    job.set_systems(0, text);
    EXPECT_EQ(JsonOf(job), ByProtobuf(job)) << text;
  }
  job.set_failure("");

  const double kOdd[] = {0.0003, 1e-5, 1e-4, 123456789012345.0, 1e15, 1e16, 1e21, -0.0, 0.1 + 0.2, 1.0 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
                         0.42230262256486384, 100, -2.5, 1e100, std::nan(""), std::numeric_limits<double>::infinity()};
  for (const double number : kOdd) {
    job.set_learning_rate(number);
    job.set_score(-number);
    EXPECT_EQ(JsonOf(job), ByProtobuf(job)) << number;
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const double number = std::bit_cast<double>(random());
    job.set_score(number);
    EXPECT_EQ(JsonOf(job), ByProtobuf(job)) << number;
  }
}

TEST(JsonTest, AMessageWithMoreThanPlainFieldsIsWrittenAsProtobufWritesIt) {
  v1::GetJobResponse response;  // With messages, which may be there or not.
  response.set_canonical("longreach-job/1");
  EXPECT_EQ(JsonOf(response), ByProtobuf(response));
  response.mutable_job()->set_id("a");
  response.add_measurements()->set_value(0.5);
  EXPECT_EQ(JsonOf(response), ByProtobuf(response));

  v1::TableCell cell;
  cell.set_jobs(3);
  cell.set_published(0.25);
  cell.set_measured(0.5);
  EXPECT_EQ(JsonOf(cell), ByProtobuf(cell)) << "several numbers that need not be there";
}

TEST(JsonTest, NumbersThatJsonLacksAreTexts) {
  EXPECT_EQ(JsonNumber(std::nan("")), "\"NaN\"");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
  EXPECT_EQ(JsonNumber(3e-4), "0.0003");
}

TEST(JsonTest, DocumentsBeginWithTheSchemaAndPrintDefaultsUnderTheProtosNames) {
  v1::Plan plan;
  plan.set_jobs(945);
  plan.set_hours(std::nan(""));

  const std::string document = JsonDocument(plan);

  EXPECT_EQ(document.substr(0, 36), "{\"schema\":\"longreach/v1\",\"jobs\":945,");
  const nlohmann::json json = nlohmann::json::parse(document);
  EXPECT_EQ(json["done"], 0);
  EXPECT_EQ(json["checkpoint_bytes"], 0);
  EXPECT_EQ(json["hours"], "NaN");
  EXPECT_EQ(JsonDocument(v1::GetInfoRequest()), "{\"schema\":\"longreach/v1\"}\n");
}

TEST(ErrorsTest, CodesOfTheContract) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("")), 5);
  EXPECT_EQ(ExitCodeOf(absl::UnauthenticatedError("")), 5);
}

TEST(ErrorsTest, AreOneMessageWithIndentedHints) {
  const absl::Status status = UsageError("no \x1b[2J", "try this\n  or that");
  EXPECT_EQ(FormatError(status), "error: no \\x1b[2J\n  try this\n  or that\n");
  const nlohmann::json json = nlohmann::json::parse(FormatErrorAsJson(status));
  EXPECT_EQ(json["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(json["error"]["message"], "no \x1b[2J");
  EXPECT_EQ(json["error"]["hint"], "try this\nor that");
}

}  // namespace
}  // namespace longreach::client
