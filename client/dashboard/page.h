// The dashboard's page: its files, compiled in. They are plain HTML, CSS and ES modules (page/), and load nothing from elsewhere.
#pragma once

#include <string_view>

namespace longreach::client {

struct PageFile {
  std::string_view path;  // "/main.js"
  std::string_view content_type;
  std::string_view bytes;
};

// nullptr: there is none.
const PageFile* FindPageFile(std::string_view path);

}  // namespace longreach::client
