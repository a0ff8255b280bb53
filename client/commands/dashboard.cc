#include "client/dashboard/dashboard.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "client/app.h"
#include "client/commands/command.h"
#include "client/dashboard/http_server.h"
#include "client/interrupt.h"
#include "client/output/json.h"
#include "proto/access/tokens.h"

namespace longreach::client {
namespace {

constexpr int kDefaultPort = 7071;
constexpr int kMaxPort = 65535;
constexpr std::chrono::milliseconds kBetweenLooks{250};
constexpr std::chrono::seconds kEndsWithin{2};

class DashboardCommand final : public Command {
 public:
  CommandInfo Info() const override {
    return {.group = kGroupLook,
            .summary = "Show sweeps, tables, figures and jobs in a browser on this machine",
            .details =
                "Serves a page at 127.0.0.1 until Ctrl-C: sweeps with their tables and figures, jobs with their logs, and workers, of a scheduler or\n"
                "a store, renewed while others work there. It changes nothing, loads nothing from elsewhere, and answers only who has the\n"
                "printed address. Each panel names the command that prints the same. Figures need the Python package vl-convert-python.\n"
                "From another machine: ssh -t -L 7071:localhost:7071 HOST. Other commands find a store free that nobody looks at.",
            .examples = "longreach dashboard --store longreach.db\nlongreach dashboard --scheduler gpu-server:7070 --port 0"};
  }
  void AddOptions(CLI::App& app) override {
    app.add_option("--port", port_, "Port of 127.0.0.1; 0: one that is free")->type_name("N")->check(CLI::Range(0, kMaxPort))->capture_default_str();
  }

  absl::StatusOr<int> Run(Session& session) override {
    ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server, HttpServer::Listen(port_));
    Place place(session.environment(), session.settings());
    // What cannot be looked into is said here and not in the browser.
    RETURN_IF_ERROR(place.Enter().status());
    const Admission admission(server->port(), access::NewToken());
    Dashboard dashboard(admission, place, session.environment(), &RunClient);
    InterruptScope interrupt;
    server->Serve([&dashboard](const HttpRequest& request) { return dashboard.Answer(request); });
    if (session.json()) {
      session.out() << JsonDocument({{"url", JsonText(admission.Url())}, {"port", JsonNumber(server->port())}}) << std::flush;
    } else {
      session.out() << admission.Url() << "\n" << std::flush;
      session.Say("open it in a browser on this machine; Ctrl-C ends it");
    }
    // A store may take long to be opened or closed; Ctrl-C does not wait for it.
    const std::jthread keeper([&place](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        place.LetGo();
        std::this_thread::sleep_for(kBetweenLooks);
      }
    });
    while (interrupt.count() == 0) {
      pollfd signal{.fd = interrupt.fd(), .events = POLLIN, .revents = 0};
      poll(&signal, 1, -1);
    }
    // Answers that are being made are waited for, but not for ever: a scheduler may hang. What it started ends by itself then.
    std::promise<void> ended;
    std::thread end([&server, &ended] {
      server.reset();  // It answers by what is above.
      ended.set_value();
    });
    if (ended.get_future().wait_for(kEndsWithin) == std::future_status::timeout) {
      session.out() << std::flush;
      _exit(interrupt.exit_code());
    }
    end.join();
    return interrupt.exit_code();
  }

 private:
  int port_ = kDefaultPort;
};

}  // namespace

std::unique_ptr<Command> Make_dashboard() { return std::make_unique<DashboardCommand>(); }

}  // namespace longreach::client
