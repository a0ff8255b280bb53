#include "proto/types/meant_name.h"

#include <algorithm>

#include "proto/base/text.h"
#include "proto/catalog/other_names.h"

namespace longreach {

std::string MeantName(std::string_view what, std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::string> meant;
  if (what == "task") meant = catalog::TasksCalled(word);
  if (what == "encoding") meant = catalog::EncodingsCalled(word);
  std::erase_if(meant, [&known](const std::string& name) {
    return std::ranges::find(known, name) == known.end() && std::ranges::find(known, name.substr(0, name.find(':'))) == known.end();
  });
  if (meant.empty()) meant = {ClosestWord(word, known)};
  return meant.front().empty() ? "" : Text("did you mean '", Join(meant, "' or '"), "'?");
}

}  // namespace longreach
