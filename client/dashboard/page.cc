#include "client/dashboard/page.h"

#include <algorithm>
#include <vector>

namespace longreach::client {

// Of page/NAME.SUFFIX, made by the build (client/CMakeLists.txt has the same list).
#define LONGREACH_PAGE_MODULES \
  X(api)                       \
  X(between)                   \
  X(chart)                     \
  X(compare_view)              \
  X(controls)                  \
  X(dom)                       \
  X(format)                    \
  X(job_view)                  \
  X(jobs_bar)                  \
  X(main)                      \
  X(panel)                     \
  X(place)                     \
  X(results_table)             \
  X(sweep_view)                \
  X(sweeps_view)               \
  X(workers_view)

std::string_view PageFile_index_html();
std::string_view PageFile_style_css();
#define X(name) std::string_view PageFile_##name##_js();
LONGREACH_PAGE_MODULES
#undef X

const PageFile* FindPageFile(std::string_view path) {
#define X(name) {"/" #name ".js", "text/javascript; charset=utf-8", PageFile_##name##_js()},
  static const std::vector<PageFile> files = {{"/", "text/html; charset=utf-8", PageFile_index_html()},
                                              {"/style.css", "text/css; charset=utf-8", PageFile_style_css()},
                                              LONGREACH_PAGE_MODULES};
#undef X
  const auto found = std::ranges::find(files, path, &PageFile::path);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace longreach::client
