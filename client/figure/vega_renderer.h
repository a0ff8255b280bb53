// Vega-Lite specifications as pictures, by the Python package vl-convert-python: an engine of its own, without a browser and
// without a network; and the script by which a browser draws them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "client/environment.h"
#include "proto/base/status.h"

namespace longreach::client {

// `format`: "svg", "png" or "pdf". The Python is LONGREACH_PYTHON; else the first that has the package, of the .venv of
// the checkout that this program was built in and of those in PATH.
// FAILED_PRECONDITION: there is no Python, or it lacks the package; with what to do. INTERNAL: the package refused the specification,
// with the last line of what it said. CANCELLED: `given_up` said so meanwhile.
absl::StatusOr<std::string> RenderVegaLite(std::string_view specification, std::string_view format, const Environment& environment,
                                           const std::function<bool()>& given_up = nullptr);

// What draws such specifications in a browser: Vega, Vega-Lite and Vega-Embed, with all that they need, as one script that the package carries
// (some 900 kB). It makes `vegaEmbed` a name of the page. Errors as above.
absl::StatusOr<std::string> VegaScript(const Environment& environment);

}  // namespace longreach::client
