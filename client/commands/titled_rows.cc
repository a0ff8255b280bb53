#include "client/commands/titled_rows.h"

#include "client/output/text.h"

namespace longreach::client {

void PrintTitledRows(Session& session, const std::vector<std::string>& lines, const Grid& grid, const std::vector<std::string>& notes) {
  const Format format = session.settings().format;
  if (format != Format::kCsv) {
    for (const std::string& line : lines) {
      if (format == Format::kTable) session.Tell(Printable(line));
      else session.out() << (format == Format::kMarkdown ? EscapeMarkdown(line) + "  " : "% " + Printable(line)) << "\n";
    }
    if (format != Format::kLatex) session.out() << "\n";
  }
  session.Print(grid, "rows");
  for (const std::string& note : notes) {
    if (format == Format::kMarkdown) session.out() << "\nNote: " << EscapeMarkdown(note) << "\n";
    else if (format == Format::kLatex) session.out() << "% note: " << Printable(note) << "\n";
    else session.Say("note: " + note);
  }
}

}  // namespace longreach::client
