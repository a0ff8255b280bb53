#include "proto/manual/help_text.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <string>

#include "proto/base/text.h"

namespace longreach {
namespace {

class HelpTextTest : public ::testing::Test {
 protected:
  HelpTextTest() {
    root_.get_formatter()->column_width(38);
    CLI::App* const soup = root_.add_subcommand("soup", "Make soup of whatever is at hand, which need not be much at all, nor be fresh");
    soup->add_option("--pot", text_, "Which pot, of those that are on the shelf and have been washed since they were used last")->type_name("NAME");
    soup->add_option("--a-rather-long-name-of-an-option", text_, "Short");
    soup->footer(
        "Soup is made of water and of what is put into it, at any hour of the day, and\n"
        "of the night.\n\n"
        "Two short lines\nstay two lines.\n\n"
        "Examples:\n"
        "  cook soup --pot 'the large one with the blue lid' --a-rather-long-name-of-an-option x");
  }

  // With the words of a command line parsed, as whoever asks for --help has them.
  std::string Help(const std::string& words, int width) {
    try {
      root_.parse(words);
    } catch (const CLI::CallForHelp&) {
    }
    return HelpText(root_, width);
  }

  CLI::App root_{"Cooks, and says what it has cooked, to whom, and how long that took altogether.", "cook"};
  std::string text_;
};

TEST_F(HelpTextTest, WithoutATerminalItIsTheParsersOwn) {
  const std::string help = Help("soup --help", 0);
  EXPECT_EQ(help, root_.help());
  EXPECT_NE(help.find("have been washed since they were used last\n"), std::string::npos);
}

TEST_F(HelpTextTest, OnAWideTerminalNothingIsBroken) {
  for (const char* words : {"--help", "soup --help"}) {
    const std::string help = Help(words, 300);
    EXPECT_EQ(help, root_.help()) << words;
  }
}

TEST_F(HelpTextTest, NoLineButOfExamplesIsWiderThanTheTerminal) {
  for (const char* words : {"--help", "soup --help"}) {
    const std::string help = Help(words, 60);
    for (const std::string& line : Split(help, '\n')) EXPECT_TRUE(line.size() <= 60 || line.starts_with("  cook soup")) << line;
  }
}

TEST_F(HelpTextTest, DescriptionsStayBesideTheirNamesAndExamplesWhole) {
  EXPECT_EQ(Help("soup --help", 60),
            "Make soup of whatever is at hand, which need not be much at\n"
            "all, nor be fresh\n"
            "Usage: cook soup [OPTIONS]\n"
            "\n"
            "Options:\n"
            "  -h,--help             Print this help message and exit\n"
            "  --pot NAME            Which pot, of those that are on the\n"
            "                        shelf and have been washed since\n"
            "                        they were used last\n"
            "  --a-rather-long-name-of-an-option TEXT\n"
            "                        Short\n"
            "\n"
            "Soup is made of water and of what is put into it, at any\n"
            "hour of the day, and of the night.\n"
            "\n"
            "Two short lines\n"
            "stay two lines.\n"
            "\n"
            "Examples:\n"
            "  cook soup --pot 'the large one with the blue lid' --a-rather-long-name-of-an-option x\n");
}

TEST_F(HelpTextTest, CommandsAreWrappedAsOptionsAre) {
  const std::string help = Help("--help", 60);
  EXPECT_NE(help.find("\n  soup                  Make soup of whatever is at hand,\n                        which need not be much at all, nor\n                        be fresh\n"), std::string::npos) << help;
}

}  // namespace
}  // namespace longreach
