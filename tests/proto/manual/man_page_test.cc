#include "proto/manual/man_page.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace longreach {
namespace {

// A program as ours are: options in groups, one of them hidden, and commands, one of which has commands of its own.
struct Program {
  CLI::App root{"Cooks.", "cook"};
  std::string text;
  int number = 3;
  bool flag = false;

  Program() {
    root.add_option("--pot", text, "Which pot")->required()->group("For all");
    root.add_option("--secret", text, "Nobody knows")->group("");
    root.footer("Salt is yours.\n\nExamples:\n  cook soup --hot 'x'\n  cook eggs boil\n\nOne\n  a + b\nmore.");
    CLI::App* const soup = root.add_subcommand("soup", "Make soup")->group("Make");
    soup->footer("");
    CLI::Option* const hot = soup->add_flag("--hot", flag, "Hot");
    CLI::Option* const cold = soup->add_flag("--cold", flag, "Cold");
    soup->add_option("-n,--number", number, "How many")->check(CLI::Range(1, 9))->type_name("N")->envname("COOK_NUMBER")->capture_default_str()->needs(hot)->excludes(cold);
    soup->add_option("WHAT", text, "Of what")->required();
    CLI::App* const eggs = root.add_subcommand("eggs", "Make eggs")->group("Make");
    CLI::App* const boil = eggs->add_subcommand("boil", "Boil them.");
    boil->add_option("--minutes", number, ".5 is too short");
    boil->footer("In water.\n\nExamples:\n  cook eggs boil --minutes 4");
    eggs->add_subcommand("throw", "Throw them")->group("");
    root.add_subcommand("burn", "Burn all")->group("");
  }
};

// Of the page with this name; empty, if there is none.
std::string PageNamed(const std::vector<ManPage>& pages, const std::string& name) {
  const auto page = std::ranges::find(pages, name, &ManPage::name);
  return page == pages.end() ? "" : page->text;
}

// From a heading to the next one of its kind.
std::string Below(const std::string& page, const std::string& heading) {
  const std::string line = ".SH \"" + heading + "\"\n";
  const size_t begin = page.find(line);
  if (begin == std::string::npos) return "";
  return page.substr(begin + line.size(), page.find(".SH", begin + 1) - begin - line.size());
}

TEST(ManPageTest, AProgramsPageListsItsCommandsAndEachHasAPage) {
  const Program program;
  const std::vector<ManPage> pages = ManPagesOf(program.root, {"kitchen"});

  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[0].name, "cook");
  EXPECT_EQ(Below(pages[0].text, "COMMANDS"), ".SS \"Make\"\n.TP\n\\fBcook\\-soup\\fR(1)\nMake soup.\n.TP\n\\fBcook\\-eggs\\fR(1)\nMake eggs.\n");
  EXPECT_EQ(Below(pages[0].text, "SEE ALSO"), "\\fBkitchen\\fR(1)\n");
  EXPECT_EQ(Below(PageNamed(pages, "cook-soup"), "SEE ALSO"), "\\fBcook\\fR(1)\n");
  EXPECT_TRUE(PageNamed(pages, "cook-eggs").starts_with(".TH \"COOK\\-EGGS\" 1 \"\" \"Longreach "));
}

TEST(ManPageTest, WhatTheHelpHidesIsNotInThePages) {
  const Program program;
  for (const ManPage& page : ManPagesOf(program.root, {})) {
    for (const char* hidden : {"secret", "Nobody", "burn", "throw"}) EXPECT_EQ(page.text.find(hidden), std::string::npos) << page.name << hidden;
  }
}

TEST(ManPageTest, APageBeginsWithWhatWhatisReads) {
  const Program program;
  const std::vector<ManPage> pages = ManPagesOf(program.root, {});
  EXPECT_EQ(Below(pages[0].text, "NAME"), "cook \\- Cooks\n");
  EXPECT_EQ(Below(pages[0].text, "SYNOPSIS"), "\\fBcook\\fR [OPTIONS] [COMMAND]\n");
  EXPECT_EQ(Below(PageNamed(pages, "cook-soup"), "NAME"), "cook\\-soup \\- Make soup\n");
  EXPECT_EQ(Below(PageNamed(pages, "cook-soup"), "SYNOPSIS"), "\\fBcook soup\\fR [OPTIONS] WHAT\n");
}

TEST(ManPageTest, AnOptionSaysAllThatTheHelpSaysOfIt) {
  const Program program;
  const std::vector<ManPage> pages = ManPagesOf(program.root, {});
  EXPECT_EQ(Below(pages[0].text, "FOR ALL"), ".TP\n\\fB\\-\\-pot\\fR \\fITEXT\\fR\nWhich pot (required)\n");
  const std::string soup = PageNamed(pages, "cook-soup");
  EXPECT_EQ(Below(soup, "ARGUMENTS"), ".TP\n\\fIWHAT\\fR\nOf what (required)\n");
  EXPECT_NE(Below(soup, "OPTIONS").find("\n\\fB\\-n\\fR, \\fB\\-\\-number\\fR \\fIN\\fR\nHow many (INT in [1 \\- 9]; default: 3; environment: COOK_NUMBER; needs \\-\\-hot; not with \\-\\-cold)\n"),
            std::string::npos)
      << soup;
  EXPECT_NE(Below(soup, "OPTIONS").find(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"), std::string::npos) << soup;
}

TEST(ManPageTest, ExamplesAndFormulasStayAsTheyAre) {
  const Program program;
  const std::string page = ManPagesOf(program.root, {})[0].text;
  EXPECT_EQ(Below(page, "DESCRIPTION"), "Salt is yours.\n.PP\nOne\n.RS 4\n.EX\na + b\n.EE\n.nh\n.RE\nmore.\n");
  EXPECT_EQ(Below(page, "EXAMPLES"), ".RS 4\n.EX\ncook soup \\-\\-hot \\(aqx\\(aq\ncook eggs boil\n.EE\n.nh\n.RE\n");
}

TEST(ManPageTest, WhatIsBelowACommandIsInItsPage) {
  const Program program;
  const std::string below_eggs = ".SS \"cook eggs boil [OPTIONS]\"\nBoil them.\n.TP\n\\fB\\-\\-minutes\\fR \\fIINT\\fR\n\\&.5 is too short\n.PP\nIn water.\n.PP\nExamples:\n"
                                 ".RS 4\n.EX\ncook eggs boil \\-\\-minutes 4\n.EE\n.nh\n.RE\n";
  EXPECT_EQ(Below(PageNamed(ManPagesOf(program.root, {}), "cook-eggs"), "COMMANDS"), below_eggs);
  const std::string whole = ManPageOf(program.root, {}).text;
  EXPECT_NE(whole.find(".SS \"cook eggs [OPTIONS] [COMMAND]\"\nMake eggs.\n" + below_eggs), std::string::npos)
      << "where a footer is the program's own, handed on, it is not said again:\n" << whole;
}

TEST(ManPageTest, AProgramPrintsItsPageWhateverElseItNeeds) {
  Program program;
  AddManFlag(program.root, {"kitchen"});
  const std::string help = program.root.help();
  EXPECT_EQ(help.find("--man"), std::string::npos) << help;
  try {
    program.root.parse("--man");
    FAIL() << "it went on";
  } catch (const CLI::ParseError& end) {
    std::ostringstream out, err;
    EXPECT_EQ(program.root.exit(end, out, err), 0);
    EXPECT_EQ(out.str(), ManPageOf(program.root, {"kitchen"}).text);
    EXPECT_EQ(err.str(), "");
  }
}

}  // namespace
}  // namespace longreach
