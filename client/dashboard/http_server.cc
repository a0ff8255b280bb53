#include "client/dashboard/http_server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "client/errors.h"

namespace longreach::client {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr uint32_t kMaxHeaderBytes = 16 << 10;
// Of what comes behind the part of a request that is refused: so much is read and dropped.
constexpr size_t kMaxDropped = 1 << 20;
constexpr size_t kDroppedAtOnce = 16 << 10;
constexpr int kMaxConnections = 64;
constexpr int kThreads = 4;
// For an answer to go over the line, and between two requests; for the first one to come.
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::seconds kFirstPatience{10};
// Before the next connection is taken where none can be, as when there are no descriptors left.
constexpr std::chrono::milliseconds kAfterTrouble{100};

std::string Text(const beast::string_view& text) { return {text.data(), text.size()}; }

// Nothing but this server's own files and answers is loaded, run, framed or kept.
void Secure(http::fields& fields) {
  fields.set("Content-Security-Policy",
             "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
             "frame-ancestors 'none'");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("X-Frame-Options", "DENY");
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
  fields.set("Cross-Origin-Opener-Policy", "same-origin");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set(http::field::cache_control, "no-store");
}

struct Shared {
  HttpResponse Answer(const HttpRequest& request) const {
    try {
      return handler(request);
    } catch (const std::exception& error) {  // Such as of a file system, or for want of memory.
      return {.status = 500, .body = fmt::format("the dashboard could not answer: {}\n", error.what())};
    }
  }

  HttpServer::Handler handler;
  std::atomic<int> connections = 0;
};

// One request after the other, until the browser leaves. Lives as long as something is to come for it, in the sockets' queue or in that of
// `pool`; both end before what they are given here.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(asio::ip::tcp::socket socket, Shared& shared, asio::thread_pool& pool) : stream_(std::move(socket)), shared_(shared), pool_(pool) { ++shared_.connections; }
  ~HttpConnection() { --shared_.connections; }

  void Read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(0);
    stream_.expires_after(std::exchange(first_, false) ? kFirstPatience : kPatience);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
      if (!error) self->Ask();
      else if (error == http::error::header_limit) self->RefuseHeader();
    });
  }

 private:
  enum class Then { kRead, kClose, kDrop };

  // Which a browser does not come to by itself: cookies of all servers of this machine's name go to each of them.
  void RefuseHeader() {
    Write({.status = 431,
           .body = fmt::format("the header of this request has more than {} KiB, which the dashboard does not read: delete the cookies that other servers have left for this "
                               "address, or open it in a private window\n",
                               kMaxHeaderBytes >> 10)},
          Then::kDrop);
  }

  void Ask() {
    const auto& message = parser_->get();
    HttpRequest request{.method = Text(message.method_string()), .target = Text(message.target()), .host = Text(message[http::field::host]),
                        .authorization = Text(message[http::field::authorization]), .fetch_site = Text(message["Sec-Fetch-Site"])};
    asio::post(pool_, [self = shared_from_this(), request = std::move(request)] {
      HttpResponse answer = self->shared_.Answer(request);
      asio::post(self->stream_.get_executor(), [self, answer = std::move(answer)]() mutable {
        self->Write(std::move(answer), self->parser_->get().keep_alive() ? Then::kRead : Then::kClose);
      });
    });
  }

  void Write(HttpResponse answer, Then then) {
    response_ = {};
    // Of a request that was not read to its end it is not known.
    response_.version(then == Then::kDrop ? 11 : parser_->get().version());
    response_.result(answer.status);
    response_.keep_alive(then == Then::kRead);
    Secure(response_);
    response_.set(http::field::content_type, answer.content_type);
    for (const auto& [name, value] : answer.fields) response_.set(name, value);
    response_.content_length(answer.body.size());
    if (parser_->get().method() != http::verb::head) response_.body() = std::move(answer.body);
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_, [self = shared_from_this(), then](error_code error, size_t) {
      if (!error && then == Then::kRead) return self->Read();
      error_code ignored;
      self->stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
      if (!error && then == Then::kDrop) self->Drop(kMaxDropped);
    });
  }

  // Reads until the other side has ended: closed with something unread, a connection is reset, and the answer may be lost on its way.
  void Drop(size_t most) {
    if (most == 0) return;
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(std::min(most, kDroppedAtOnce)), [self = shared_from_this(), most](error_code error, size_t bytes) {
      if (!error) self->Drop(most - bytes);
    });
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  asio::thread_pool& pool_;
  bool first_ = true;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
};

class BeastServer final : public HttpServer {
 public:
  absl::Status Bind(int port) {
    const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), static_cast<uint16_t>(port));
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::ip::tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(kMaxConnections, error);
    if (!error) return absl::OkStatus();
    return Error(absl::StatusCode::kFailedPrecondition, fmt::format("cannot listen on 127.0.0.1:{}: {}", port, error.message()),
                 "another program has that port; '--port 0' takes one that is free");
  }
  ~BeastServer() override {
    pool_.stop();  // Of those who wait nobody is answered any more.
    io_.stop();
    if (thread_.joinable()) thread_.join();
    pool_.join();
  }

  int port() const override { return acceptor_.local_endpoint().port(); }

  void Serve(Handler handler) override {
    shared_.handler = std::move(handler);
    Accept();
    thread_ = std::thread([this] { io_.run(); });
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code error, asio::ip::tcp::socket socket) {
      if (error) {
        trouble_.expires_after(kAfterTrouble);
        return trouble_.async_wait([this](error_code) { Accept(); });
      }
      // Too many at once are closed again: a browser opens six.
      if (shared_.connections < kMaxConnections) std::make_shared<HttpConnection>(std::move(socket), shared_, pool_)->Read();
      Accept();
    });
  }

  Shared shared_;
  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_{io_};
  asio::steady_timer trouble_{io_};
  asio::thread_pool pool_{kThreads};  // After the sockets of what it is about.
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(int port) {
  auto server = std::make_unique<BeastServer>();
  RETURN_IF_ERROR(server->Bind(port));
  return server;
}

}  // namespace longreach::client
