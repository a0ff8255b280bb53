#include "proto/manual/man_page.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "proto/base/build_info.h"
#include "proto/base/text.h"
#include "proto/manual/roff.h"

namespace longreach {
namespace {

// What the words of a path are joined by: a blank as a command is called, '-' as its page is.
std::string PathOf(const CLI::App& app, std::string_view separator) {
  if (app.get_parent() == nullptr) return app.get_name();
  return Text(PathOf(*app.get_parent(), separator), separator, app.get_name());
}

// Those that the --help shows. What has no group is hidden there, as are options without one.
std::vector<const CLI::App*> VisibleCommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

std::vector<const CLI::Option*> Positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* one) { return !one->get_group().empty() && one->get_positional(); });
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& app, const std::string& group) {
  return app.get_options([&group](const CLI::Option* one) { return one->get_group() == group && one->nonpositional(); });
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string_view WithoutFullStop(std::string_view text) {
  text = Trim(text);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

// How it is called, behind its name: "[OPTIONS] SPEC".
std::string ArgumentsOf(const CLI::App& app) {
  std::string out = " [OPTIONS]";
  const CLI::Formatter formatter;
  for (const CLI::Option* one : Positionals(app)) out += " " + formatter.make_option_usage(one);
  if (!VisibleCommands(app).empty()) out += app.get_require_subcommand_min() == 0 ? " [COMMAND]" : " COMMAND";
  return out;
}

// Names of others that an option goes with, or cannot. The parser has them in a set of pointers, whose order is another in each process.
template <typename Options>
void AddNames(std::string_view relation, const Options& options, std::vector<std::string>& facts) {
  std::vector<std::string> names;
  for (const CLI::Option* one : options) names.push_back(one->get_name());
  std::ranges::sort(names);
  if (!names.empty()) facts.push_back(Text(relation, " ", Join(names, ", ")));
}

// What a type name says of the value: "N:INT in [1 - 64]" is N, of which the rest must hold.
std::pair<std::string, std::string> ValueAndBounds(const CLI::Option& option) {
  const std::string type = option.get_type_size() == 0 ? "" : option.get_type_name();
  const size_t colon = type.find(':');
  return {type.substr(0, colon), colon == std::string::npos ? "" : type.substr(colon + 1)};
}

// All that the --help says between an option's name and its description, but for the name of its value.
std::string FactsOf(const CLI::Option& option) {
  std::vector<std::string> facts;
  if (option.get_type_size() != 0) {
    if (option.get_required()) facts.emplace_back("required");
    if (std::string bounds = ValueAndBounds(option).second; !bounds.empty()) facts.push_back(std::move(bounds));
    if (!option.get_default_str().empty()) facts.push_back(Text("default: ", option.get_default_str()));
  }
  if (!option.get_envname().empty()) facts.push_back(Text("environment: ", option.get_envname()));
  AddNames("needs", option.get_needs(), facts);
  AddNames("not with", option.get_excludes(), facts);
  return facts.empty() ? "" : Text("(", Join(facts, "; "), ")");
}

// `-o, --output FORMAT`; of an argument its name alone, which says what it is.
std::string TagOf(const CLI::Option& option) {
  const std::string more = option.get_expected_max() == CLI::detail::expected_max_vector_size ? " ..." : "";
  if (option.get_positional()) return RoffItalic(option.get_name(true, false)) + more;
  std::string tag;
  for (const std::string& name : Split(option.get_name(false, true), ',')) tag += (tag.empty() ? "" : ", ") + RoffBold(name);
  const std::string value = ValueAndBounds(option).first;
  return tag + (value.empty() ? "" : " " + RoffItalic(value)) + more;
}

std::string OptionList(const std::vector<const CLI::Option*>& options) {
  std::string out;
  for (const CLI::Option* one : options) {
    const std::string body = Text(one->get_description(), one->get_description().empty() ? "" : " ", FactsOf(*one));
    out += Text(".TP\n", TagOf(*one), "\n", RoffLine(Trim(body)));
  }
  return out;
}

// Lines as they are, without what all are indented by.
std::string Example(const std::vector<std::string>& lines) {
  size_t indent = std::string::npos;
  for (const std::string& line : lines) indent = std::min(indent, line.find_first_not_of(' '));
  std::string out = ".RS 4\n.EX\n";
  for (const std::string& line : lines) out += RoffLine(std::string_view(line).substr(indent));
  return out + ".EE\n.nh\n.RE\n";  // The end of an example has words broken again.
}

// Prose, in which indented lines are examples or formulas.
std::string Paragraph(const std::vector<std::string>& lines) {
  std::string out;
  std::vector<std::string> indented;
  const auto end_example = [&out, &indented] {
    if (!indented.empty()) out += Example(indented);
    indented.clear();
  };
  for (const std::string& line : lines) {
    if (line.starts_with(' ')) {
      indented.push_back(line);
      continue;
    }
    end_example();
    out += RoffLine(line);
  }
  end_example();
  return out;
}

// What the --help has below the options: paragraphs, and the examples among them apart.
struct Footer {
  std::string prose;
  std::string examples;
};

Footer FooterOf(const CLI::App& app) {
  Footer footer;
  std::vector<std::string> lines;
  const auto end_paragraph = [&footer, &lines] {
    if (lines.size() > 1 && lines.front() == "Examples:") {
      footer.examples += Example({lines.begin() + 1, lines.end()});
    } else if (!lines.empty()) {
      footer.prose += (footer.prose.empty() ? "" : ".PP\n") + Paragraph(lines);
    }
    lines.clear();
  };
  for (const std::string& line : Split(app.get_footer(), '\n')) {
    if (!Trim(line).empty()) {
      lines.push_back(line);
    } else {
      end_paragraph();
    }
  }
  end_paragraph();
  return footer;
}

// The commands below one, each with what is below it. The parser hands a footer on to them: what the page has said already is not said again.
std::string CommandsWithin(const CLI::App& app) {
  std::string out;
  for (const CLI::App* one : VisibleCommands(app)) {
    std::vector<const CLI::Option*> options = Positionals(*one);
    for (const std::string& group : one->get_groups()) {
      if (group.empty()) continue;
      for (const CLI::Option* option : OptionsOf(*one, group)) {
        if (option != one->get_help_ptr()) options.push_back(option);
      }
    }
    out += RoffMacro("SS", PathOf(*one, " ") + ArgumentsOf(*one)) + RoffLine(Text(WithoutFullStop(one->get_description()), ".")) + OptionList(options);
    if (one->get_footer() != app.get_footer()) {
      const auto [prose, examples] = FooterOf(*one);
      if (!prose.empty()) out += ".PP\n" + prose;
      if (!examples.empty()) out += ".PP\nExamples:\n" + examples;
    }
    out += CommandsWithin(*one);
  }
  return out;
}

// By their groups, with the names of their pages.
std::string CommandsListed(const CLI::App& app) {
  std::string out;
  std::vector<std::string> groups;
  for (const CLI::App* one : VisibleCommands(app)) {
    if (std::ranges::find(groups, one->get_group()) == groups.end()) groups.push_back(one->get_group());
  }
  for (const std::string& group : groups) {
    out += RoffMacro("SS", group);
    for (const CLI::App* one : VisibleCommands(app)) {
      if (one->get_group() != group) continue;
      out += Text(".TP\n", RoffBold(PathOf(*one, "-")), "(1)\n", RoffLine(Text(WithoutFullStop(one->get_description()), ".")));
    }
  }
  return out;
}

std::string SeeAlso(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + RoffBold(name) + "(1)";
  return out.empty() ? "" : out + "\n";
}

std::string Section(std::string_view heading, const std::string& text) { return text.empty() ? "" : RoffMacro("SH", heading) + text; }

ManPage Page(const CLI::App& app, const std::string& commands, const std::vector<std::string>& see_also) {
  ManPage page{.name = PathOf(app, "-"), .text = ""};
  const Footer footer = FooterOf(app);
  // The third argument would be a date.
  page.text = Text(".TH \"", RoffText(Upper(page.name)), "\" 1 \"\" \"Longreach ", RoffText(Version()), "\" \"Longreach manual\"\n") +
              ".nh\n.ad l\n" +  // No word of it is broken or stretched: most lines have a name or a value that somebody copies.
              Section("NAME", Text(RoffText(page.name), " \\- ", RoffText(WithoutFullStop(app.get_description())), "\n")) +
              Section("SYNOPSIS", Text(RoffBold(PathOf(app, " ")), RoffText(ArgumentsOf(app)), "\n")) + Section("DESCRIPTION", footer.prose) +
              Section("ARGUMENTS", OptionList(Positionals(app)));
  for (const std::string& group : app.get_groups()) {
    if (!group.empty()) page.text += Section(Upper(group), OptionList(OptionsOf(app, group)));
  }
  page.text += Section("COMMANDS", commands) + Section("EXAMPLES", footer.examples) + Section("SEE ALSO", SeeAlso(see_also));
  return page;
}

}  // namespace

ManPage ManPageOf(const CLI::App& app, const std::vector<std::string>& see_also) { return Page(app, CommandsWithin(app), see_also); }

std::vector<ManPage> ManPagesOf(const CLI::App& program, const std::vector<std::string>& see_also) {
  std::vector<ManPage> pages = {Page(program, CommandsListed(program), see_also)};
  for (const CLI::App* command : VisibleCommands(program)) pages.push_back(ManPageOf(*command, {program.get_name()}));
  return pages;
}

void AddManFlag(CLI::App& program, const std::vector<std::string>& see_also) {
  // As --version: nothing that is required need be there, and the program ends with what it prints.
  program.add_flag_callback("--man", [&program, see_also] {
    std::string text = ManPageOf(program, see_also).text;
    text.pop_back();  // The parser ends the last line.
    throw CLI::CallForVersion(text, 0);
  })->group("")->configurable(false);
}

}  // namespace longreach
