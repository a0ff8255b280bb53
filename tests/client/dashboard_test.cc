#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include <latch>

#include "client/dashboard/admission.h"
#include "client/dashboard/dashboard.h"
#include "client/dashboard/http_server.h"
#include "client/dashboard/page.h"
#include "client/dashboard/questions.h"
#include "client/dashboard/url.h"
#include "client/errors.h"
#include "tests/client/support.h"

namespace longreach::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(UrlTest, TakesPathAndParametersApart) {
  const std::optional<Url> url = ParseUrl("/api/results?only=task%3Deven_pairs&only=seed=0%2C1&rows=&flag&name=a+b%26c&&caf%C3%A9=%C3%BC");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->path, "/api/results");
  EXPECT_THAT(url->parameters, ElementsAre(Pair("only", "task=even_pairs"), Pair("only", "seed=0,1"), Pair("rows", ""), Pair("flag", ""), Pair("name", "a b&c"), Pair("café", "ü")));
  EXPECT_EQ(ParseUrl("/a+b")->path, "/a+b");
  EXPECT_THAT(ParseUrl("/?")->parameters, IsEmpty());
}

TEST(UrlTest, RefusesWhatIsNoTarget) {
  for (const char* target : {"", "*", "http://elsewhere/", "api", "/%", "/%4", "/%zz", "/?a=%", "/%00", "/?a=%0A", "/?a=%1b[31m", "/?%ff=1", "/?a=%C3", "/\x01"}) {
    EXPECT_FALSE(ParseUrl(target).has_value()) << target;
  }
}

absl::StatusOr<std::vector<std::string>> CommandAt(const std::string& target) { return CommandOf(*ParseUrl(target)); }

TEST(QuestionsTest, AreCommandsThatOnlyLook) {
  EXPECT_THAT(*CommandAt("/api/sweeps"), ElementsAre("sweeps", "-o", "json"));
  EXPECT_THAT(*CommandAt("/api/jobs?sweep=last&state=failed&limit=5"), ElementsAre("jobs", "--state=failed", "--limit=5", "-o", "json", "--", "last"));
  EXPECT_THAT(*CommandAt("/api/results?sweep=a&only=seed=0&only=task=x&rows="), ElementsAre("results", "--only=seed=0", "--only=task=x", "-o", "json", "--", "a"));
  EXPECT_THAT(*CommandAt("/api/compare?second=b&by=task&first=a"), ElementsAre("compare", "--by=task", "-o", "json", "--", "a", "b"));
  EXPECT_THAT(*CommandAt("/api/between?between=encoding%3Drope,alibi&sweep=a"), ElementsAre("compare", "--between=encoding=rope,alibi", "-o", "json", "--", "a"));
  EXPECT_THAT(*CommandAt("/api/values?sweep=a"), ElementsAre("list", "values", "-o", "json", "--", "a"));
  EXPECT_THAT(*CommandAt("/api/plot?log=1&sweep=a"), ElementsAre("plot", "--file=-", "--log", "-o", "json", "--", "a"));
}

TEST(QuestionsTest, NothingElseCanBeAsked) {
  for (const char* path : {"/api/cancel?sweep=last", "/api/run?sweep=quickstart", "/api/", "/api/store", "/etc/passwd", "/api/data", "/api/export?job=a"}) {
    EXPECT_EQ(CommandAt(path).status().code(), absl::StatusCode::kNotFound) << path;
  }
  // Options of the command that are not the page's: where to look, what to write.
  for (const char* target : {"/api/plot?sweep=a&file=/tmp/x", "/api/jobs?sweep=a&store=b.db", "/api/job?job=a&get=weights", "/api/sweeps?scheduler=x", "/api/sweeps?sweep=a", "/api/plot?sweep=a&log=2",
                             "/api/results?sweep=a&--published=1", "/api/jobs", "/api/jobs?sweep=", "/api/compare?first=a", "/api/between?between=seed", "/api/between?sweep=a&second=b", "/api/values"}) {
    EXPECT_EQ(CommandAt(target).status().code(), absl::StatusCode::kInvalidArgument) << target;
  }
  // A word is never an option of another name.
  EXPECT_THAT(*CommandAt("/api/job?job=--store%3Dx"), ElementsAre("job", "-o", "json", "--", "--store=x"));
  EXPECT_THAT(*CommandAt("/api/jobs?sweep=a&state=a%20--limit%3D3"), ElementsAre("jobs", "--state=a --limit=3", "-o", "json", "--", "a"));
}

TEST(QuestionsTest, EachIsACommandLineThatTheClientTakes) {
  for (const char* target : {"/api/explain?job=aaaa", "/api/job?job=aaaa", "/api/jobs?sweep=a&state=failed&limit=3", "/api/logs?job=aaaa", "/api/sweeps", "/api/status?sweep=a", "/api/workers",
                             "/api/plot?sweep=a&metric=accuracy&x=length&lines=encoding&panels=task&aggregate=mean&best-of=learning_rate&only=seed=0&step-bins=5&log=1&bits=1&slice=depth%3D3",
                             "/api/plot?sweep=a&x=learning_rate&y=seed&length=50", "/api/plot?sweep=a&x=head_scale&points=head&x-length=3",
                             "/api/results?sweep=a&rows=task&columns=encoding&metric=accuracy&aggregate=max&best-of=learning_rate&length=50&slice=x&only=seed=0&bits=1", "/api/results?sweep=a&rows=step&step-bins=5",
                             "/api/compare?second=b&first=a&by=task&metric=accuracy&length=50&slice=x&only=seed=0", "/api/between?sweep=a&between=model.layers%3D1,2&by=task&metric=accuracy&length=50&slice=x&only=seed=0",
                             "/api/values?sweep=a"}) {
    std::vector<std::string> words = *CommandAt(target);
    words.insert(words.begin(), "--scheduler=unix:/nonexistent");
    EXPECT_EQ(RunCommandLine(words).code, kUnreachable) << target << RunCommandLine(words).err;
  }
  EXPECT_EQ(RunCommandLine(*CommandAt("/api/metrics")).code, kDone);
  EXPECT_EQ(RunCommandLine(*CommandAt("/api/axes")).code, kDone);
}

class AdmissionTest : public ::testing::Test {
 protected:
  HttpRequest Own(std::string target = "/api/sweeps") const {
    return {.method = "GET", .target = std::move(target), .host = "127.0.0.1:7071", .authorization = "Bearer secret", .fetch_site = "same-origin"};
  }
  unsigned StatusOf(const HttpRequest& request) const {
    const std::optional<HttpResponse> instead = admission_.AnswerToSecret(request);
    return instead ? instead->status : 200;
  }

  const Admission admission_{7071, "secret"};
};

TEST_F(AdmissionTest, AdmitsThePageThatHasTheKey) {
  EXPECT_EQ(admission_.Url(), "http://127.0.0.1:7071/#key=secret");
  EXPECT_EQ(StatusOf(Own()), 200u);
  // Also through a tunnel, whose near end has another port, or the one that is not written.
  for (const char* host : {"localhost:7071", "[::1]:7071", "localhost:8080", "127.0.0.1", "localhost"}) {
    HttpRequest request = Own();
    request.host = host;
    EXPECT_EQ(StatusOf(request), 200u) << host;
  }
  for (const char* site : {"", "none"}) {
    HttpRequest request = Own();
    request.fetch_site = site;
    EXPECT_EQ(StatusOf(request), 200u) << site;
  }
}

TEST_F(AdmissionTest, NobodyElse) {
  for (const char* shown : {"", "secret", "Bearer ", "Bearer secreT", "Bearer secret0", "Bearer secre", "bearer secret", "Basic secret"}) {
    HttpRequest request = Own();
    request.authorization = shown;
    EXPECT_EQ(StatusOf(request), 403u) << shown;
    EXPECT_EQ(admission_.Answer(request), std::nullopt) << "the page itself has nothing of the store";
  }
  for (const char* host : {"", "evil.example:7071", "evil.example", "127.0.0.2:7071", "127.0.0.1:7071.evil.example", "127.0.0.1.evil.example", "localhost:", "localhost:-1", "localhostx"}) {
    HttpRequest request = Own();
    request.host = host;
    EXPECT_EQ(StatusOf(request), 421u) << host;
    EXPECT_EQ(admission_.Answer(request)->status, 421u) << host;
  }
  for (const char* site : {"cross-site", "same-site", "?"}) {
    HttpRequest request = Own();
    request.fetch_site = site;
    EXPECT_EQ(StatusOf(request), 403u) << site;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", ""}) {
    HttpRequest request = Own();
    request.method = method;
    EXPECT_EQ(StatusOf(request), 405u) << method;
  }
  EXPECT_EQ(StatusOf(Own("*")), 400u);
}

class DashboardTest : public WithFakeScheduler {
 protected:
  static Environment Bare() {
    Environment environment;
    environment.variable = [](const char*) { return std::string(); };
    environment.binaries = "/nonexistent";
    return environment;
  }
  Settings Asking() const {
    Settings settings;
    settings.scheduler = scheduler_.address();
    settings.scheduler_named = true;
    return settings;
  }

  HttpResponse Get(const std::string& target) {
    return dashboard_.Answer({.method = "GET", .target = target, .host = "127.0.0.1:1", .authorization = "Bearer k", .fetch_site = ""});
  }
  nlohmann::json Json(const std::string& target) {
    const HttpResponse answer = Get(target);
    EXPECT_EQ(answer.status, 200u) << answer.body;
    EXPECT_EQ(answer.content_type, "application/json; charset=utf-8");
    return nlohmann::json::parse(answer.body);
  }

  Place place_{Bare(), Asking()};
  Dashboard dashboard_{Admission(1, "k"), place_, Bare(), &RunClient};
};

TEST_F(DashboardTest, AnswersAreThoseOfTheCommands) {
  for (const auto& [target, line] : std::map<std::string, std::vector<std::string>>{{"/api/sweeps", {"sweeps"}},
                                                                                    {"/api/status?sweep=last", {"status", "last"}},
                                                                                    {"/api/jobs?sweep=last", {"jobs", "last"}},
                                                                                    {"/api/job?job=bbbb", {"job", "bbbb"}},
                                                                                    {"/api/explain?job=bbbb", {"explain", "bbbb"}},
                                                                                    {"/api/logs?job=bbbb", {"logs", "bbbb"}},
                                                                                    {"/api/values?sweep=last", {"list", "values", "last"}},
                                                                                    {"/api/workers", {"workers"}},
                                                                                    {"/api/results?sweep=last&rows=seed", {"results", "last", "--rows", "seed"}}}) {
    std::vector<std::string> words = line;
    words.insert(words.end(), {"-o", "json"});
    EXPECT_EQ(Json(target), nlohmann::json::parse(Run(words).out)) << target;
  }
  scheduler_.table.mutable_columns(0)->set_key("100");
  EXPECT_EQ(Json("/api/plot?sweep=last")["data"]["values"][0]["y"], 87.5);
}

TEST_F(DashboardTest, ErrorsAreThoseOfTheCommandsWithAStatus) {
  const auto refused = [this](const std::string& target, unsigned status, const std::string& code, const std::string& text) {
    const HttpResponse answer = Get(target);
    EXPECT_EQ(answer.status, status) << target;
    const nlohmann::json error = nlohmann::json::parse(answer.body)["error"];
    EXPECT_EQ(error["code"], code) << target;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(text)) << target;
  };
  refused("/api/jobs?sweep=last&state=leasd", 400, "INVALID_ARGUMENT", "leasd");
  refused("/api/nothing", 404, "NOT_FOUND", "'/api/nothing'");
  refused("/..%2f..%2fetc/passwd", 404, "NOT_FOUND", "/../../etc/passwd");
  scheduler_.refusals["ListSweeps"] = {grpc::StatusCode::PERMISSION_DENIED, "no role"};
  refused("/api/sweeps", 403, "PERMISSION_DENIED", "no role");
  scheduler_.refusals["GetSweep"] = {grpc::StatusCode::NOT_FOUND, "no such sweep"};
  refused("/api/jobs?sweep=gone", 404, "NOT_FOUND", "no such sweep");
  scheduler_.table.clear_cells();
  scheduler_.refusals.clear();
  refused("/api/plot?sweep=last", 409, "FAILED_PRECONDITION", "nothing to draw");
}

TEST_F(DashboardTest, ASchedulerThatIsAwayIsSaidAndFoundAgain) {
  EXPECT_EQ(Get("/api/sweeps").status, 200u);
  scheduler_.refusals["ListSweeps"] = {grpc::StatusCode::UNAVAILABLE, "restarting"};
  const HttpResponse answer = Get("/api/sweeps");
  EXPECT_EQ(answer.status, 503u);
  EXPECT_EQ(nlohmann::json::parse(answer.body)["error"]["code"], "UNAVAILABLE");
  scheduler_.refusals.clear();
  EXPECT_EQ(Get("/api/sweeps").status, 200u);
}

TEST_F(DashboardTest, ThePageIsWholeAndLoadsNothingFromElsewhere) {
  EXPECT_THAT(Get("/").body, StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(Get("/style.css").content_type, "text/css; charset=utf-8");
  EXPECT_EQ(Get("/nothing.js").status, 404u);
  const nlohmann::json place = Json("/api/place");
  EXPECT_EQ(place["flags"], " --scheduler " + scheduler_.address());
  EXPECT_EQ(place["changing"], true);
  // Each module that one imports is there.
  std::vector<std::string> names = {"/main.js"};
  for (size_t i = 0; i < names.size(); ++i) {
    const PageFile* file = FindPageFile(names[i]);
    ASSERT_NE(file, nullptr) << names[i];
    const std::string text(file->bytes);
    EXPECT_THAT(text, Not(HasSubstr("innerHTML"))) << names[i];
    constexpr std::string_view kFrom = "from \"./";
    for (size_t at = text.find(kFrom); at != std::string::npos; at = text.find(kFrom, at + 1)) {
      const size_t begin = at + kFrom.size();
      const std::string name = "/" + text.substr(begin, text.find('"', begin) - begin);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  EXPECT_EQ(names.size(), 16u);
}

TEST_F(DashboardTest, WithoutWhatDrawsFiguresItSaysWhatToDo) {
  const HttpResponse answer = Get("/vega.js");
  EXPECT_EQ(answer.status, 409u);
  EXPECT_THAT(answer.body, HasSubstr("vl-convert-python"));
  EXPECT_THAT(answer.body, HasSubstr("LONGREACH_PYTHON=VENV/bin/python"));
}

TEST_F(DashboardTest, WhoAsksForWhatIsBeingMadeComesAgain) {
  TempFolder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  folder.WriteScript("python", "cat < " + pipe + " > /dev/null; printf 'a script' > \"$4\"");
  Environment environment = Bare();
  environment.variable = [&folder](const char* name) { return std::string_view(name) == "LONGREACH_PYTHON" ? (folder.path() / "python").string() : std::string(); };
  Dashboard dashboard(Admission(1, "k"), place_, environment, &RunClient);
  const HttpRequest request{.method = "GET", .target = "/vega.js", .host = "localhost:1", .authorization = "", .fetch_site = ""};
  HttpResponse first;
  std::jthread maker([&] { first = dashboard.Answer(request); });
  {
    std::ofstream begun(pipe);  // Open once the script reads it.
    const HttpResponse second = dashboard.Answer(request);
    EXPECT_EQ(second.status, 202u);
    EXPECT_EQ(second.body, "");
    EXPECT_EQ(second.content_type, "text/javascript; charset=utf-8");
  }
  maker.join();
  EXPECT_EQ(first.status, 200u);
  EXPECT_EQ(first.body, "a script");
  EXPECT_EQ(dashboard.Answer(request).body, "a script");
}

// What a server says to these bytes, until it closes the connection.
std::string Say(int port, const std::string& bytes) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket(io);
  boost::system::error_code error;
  socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)}, error);
  if (error) return "";
  boost::asio::write(socket, boost::asio::buffer(bytes), error);
  std::string answer;
  boost::asio::read(socket, boost::asio::dynamic_buffer(answer), error);
  return answer;
}

TEST_F(DashboardTest, NothingButItsOwnCommandLineSaysWhereToLook) {
  Environment elsewhere = Bare();
  elsewhere.variable = [](const char* name) { return std::map<std::string, std::string>{{"LONGREACH_STORE", "other.db"}, {"LONGREACH_CA", "/nowhere/ca.crt"}, {"HOME", "/nowhere"}}[name]; };
  Dashboard dashboard(Admission(1, "k"), place_, elsewhere, &RunClient);
  const HttpResponse answer = dashboard.Answer({.method = "GET", .target = "/api/sweeps", .host = "127.0.0.1:1", .authorization = "Bearer k", .fetch_site = ""});
  EXPECT_EQ(answer.status, 200u) << answer.body;
}

TEST_F(DashboardTest, AnswersManyAtOnce) {
  const std::unique_ptr<HttpServer> server = *HttpServer::Listen(0);
  server->Serve([this](const HttpRequest& request) { return dashboard_.Answer(request); });
  std::atomic<int> answered = 0;
  // Of calls that the scheduler of this test does not remember: it may be asked by one at a time what it remembers.
  {
    std::vector<std::jthread> browsers;
    for (int browser = 0; browser < 8; ++browser) {
      browsers.emplace_back([&server, &answered] {
        for (const char* target : {"/api/sweeps", "/api/place", "/", "/api/workers", "/api/logs?job=bbbb", "/api/nothing"}) {
          const std::string answer = Say(server->port(), std::string("GET ") + target + " HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer k\r\nConnection: close\r\n\r\n");
          answered += answer.starts_with(std::string_view(target) == "/api/nothing" ? "HTTP/1.1 404" : "HTTP/1.1 200") ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(answered, 8 * 6);
}

TEST_F(DashboardTest, EndsWhileItIsAsked) {
  for (int round = 0; round < 5; ++round) {
    std::unique_ptr<HttpServer> server = *HttpServer::Listen(0);
    const int port = server->port();
    server->Serve([this](const HttpRequest& request) { return dashboard_.Answer(request); });
    std::vector<std::jthread> browsers;
    for (int browser = 0; browser < 4; ++browser) {
      browsers.emplace_back([port] { Say(port, "GET /api/sweeps HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer k\r\nConnection: close\r\n\r\n"); });
    }
    server.reset();
  }
}

TEST(HttpServerTest, AnswersRequestsOfABrowser) {
  const std::unique_ptr<HttpServer> server = *HttpServer::Listen(0);
  server->Serve([](const HttpRequest& request) {
    HttpResponse answer{.status = 404, .body = request.method + " " + request.target + " " + request.host + " " + request.authorization + " " + request.fetch_site};
    answer.fields.emplace_back("Set-Cookie", "a=b");
    return answer;
  });
  const std::string answer = Say(server->port(), "GET /x?y HTTP/1.1\r\nHost: h\r\nAuthorization: c\r\nSec-Fetch-Site: none\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\nGET /x?y h c none"));
  for (const char* field : {"Content-Security-Policy: default-src 'none'; script-src 'self'", "X-Content-Type-Options: nosniff", "Cross-Origin-Resource-Policy: same-origin", "Cache-Control: no-store",
                            "Referrer-Policy: no-referrer", "X-Frame-Options: DENY", "Set-Cookie: a=b", "frame-ancestors 'none'"}) {
    EXPECT_THAT(answer, HasSubstr(field));
  }
  EXPECT_THAT(answer, Not(HasSubstr("unsafe")));
  const std::string head = Say(server->port(), "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head, AllOf(HasSubstr("Content-Length: 10"), ::testing::EndsWith("\r\n\r\n")));
  // Two on one connection.
  EXPECT_THAT(Say(server->port(), "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), AllOf(HasSubstr("GET /1 h"), HasSubstr("GET /2 h")));
}

TEST(HttpServerTest, WhoStillWaitsAtItsEndIsLetGo) {
  std::atomic<int> begun = 0;
  std::latch all_begun(4), end(1);
  std::unique_ptr<HttpServer> server = *HttpServer::Listen(0);
  server->Serve([&](const HttpRequest&) {
    if (++begun <= 4) all_begun.count_down();
    end.wait();
    return HttpResponse{.body = "late"};
  });
  const int port = server->port();
  std::vector<std::jthread> browsers;  // More than are answered at a time.
  for (int browser = 0; browser < 12; ++browser) {
    browsers.emplace_back([port] { Say(port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"); });
  }
  all_begun.wait();
  std::jthread ending([&server] { server.reset(); });
  end.count_down();
  ending.join();
  for (std::jthread& browser : browsers) browser.join();  // Nobody's connection stays open.
}

TEST(HttpServerTest, AnAnswerThatCannotBeMadeIsOneToo) {
  const std::unique_ptr<HttpServer> server = *HttpServer::Listen(0);
  server->Serve([](const HttpRequest& request) -> HttpResponse {
    if (request.target == "/") throw std::runtime_error("no memory");
    return {.body = "fine"};
  });
  EXPECT_THAT(Say(server->port(), "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("no memory")));
  EXPECT_THAT(Say(server->port(), "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), ::testing::EndsWith("fine"));
}

TEST(HttpServerTest, LeavesWhatIsNoRequest) {
  std::atomic<int> asked = 0;
  const std::unique_ptr<HttpServer> server = *HttpServer::Listen(0);
  server->Serve([&asked](const HttpRequest&) {
    ++asked;
    return HttpResponse{.body = "fine"};
  });
  for (const std::string& bytes : {std::string("\x16\x03\x01\x02\x00", 5), std::string("GET\r\n\r\n"), std::string("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde"), std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")}) {
    EXPECT_EQ(Say(server->port(), bytes), "") << bytes.substr(0, 20);
  }
  EXPECT_EQ(asked, 0);
  EXPECT_THAT(Say(server->port(), "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), ::testing::EndsWith("fine"));
}

TEST(HttpServerTest, AHeaderThatIsTooLargeIsAnsweredAndNotAsked) {
  std::atomic<int> asked = 0;
  const std::unique_ptr<HttpServer> server = *HttpServer::Listen(0);
  server->Serve([&asked](const HttpRequest&) {
    ++asked;
    return HttpResponse{.body = "fine"};
  });
  // Of a field, of a target, and without an end: whoever sends it is heard out before the connection is closed.
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nCookie: ", end = "\r\n\r\n";
  for (const std::string& bytes : {request + std::string(17'000, 'c') + end, "GET /" + std::string(17'000, 'x') + " HTTP/1.1\r\nHost: h" + end, request + std::string(900'000, 'c')}) {
    EXPECT_THAT(Say(server->port(), bytes), AllOf(StartsWith("HTTP/1.1 431 "), HasSubstr("Connection: close\r\n"), HasSubstr("frame-ancestors 'none'"),
                                                  HasSubstr("the header of this request has more than 16 KiB"))) << bytes.size();
  }
  EXPECT_EQ(asked, 0);
  EXPECT_THAT(Say(server->port(), "HEAD" + request.substr(3) + std::string(17'000, 'c') + end), AllOf(StartsWith("HTTP/1.1 431 "), ::testing::EndsWith("\r\n\r\n")));
  EXPECT_THAT(Say(server->port(), request + std::string(16'000, 'c') + end), ::testing::EndsWith("fine"));
}

TEST(HttpServerTest, APortThatIsTakenIsSaid) {
  const std::unique_ptr<HttpServer> server = *HttpServer::Listen(0);
  const absl::Status refused = HttpServer::Listen(server->port()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("cannot listen on 127.0.0.1:"), HasSubstr("--port 0")));
  // The command says so before it looks for a scheduler.
  EXPECT_EQ(RunCommandLine({"dashboard", "--port", std::to_string(server->port()), "--scheduler", "unix:/nonexistent"}).code, kFailed);
  EXPECT_EQ(RunCommandLine({"dashboard", "--port", "0", "--scheduler", "unix:/nonexistent"}).code, kUnreachable);
  EXPECT_EQ(RunCommandLine({"dashboard", "--port", "70000"}).code, kUsage);
}

}  // namespace
}  // namespace longreach::client
