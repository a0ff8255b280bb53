#include "scheduler/service/server.h"

#include <algorithm>

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "proto/access/keep_grpc.h"
#include "scheduler/service/access/gate.h"
#include "scheduler/service/access/tcp_listener.h"
#include "scheduler/service/client_handlers.h"
#include "scheduler/service/health/health.pb.h"
#include "scheduler/service/listen.h"
#include "scheduler/service/worker_handlers.h"
#include "store/log_keeper.h"
#include "store/store.h"
#include "store/writer.h"

namespace longreach::service {
namespace {

constexpr size_t kThreads = 4;
constexpr size_t kThreadsOfTransfers = 4;
// For calls that may take minutes (a large sweep, the whole store): what workers hand in goes by others.
constexpr size_t kThreadsOfLongCalls = 2;
constexpr size_t kThreadsOfSubmissions = 8;
constexpr size_t kThreadsOfMaintenance = 2;
// Files that are removed after a group of events: few, so that the next group does not wait.
constexpr int kFilesInGo = 16;
// What is still running when the server ends is cut off after this.
constexpr std::chrono::seconds kPatience{2};

void SetUp(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("longreach").Resize(kMaxNetworkBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOfConnection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(std::chrono::milliseconds(kHandshakePatience).count()));
  // Without this, two schedulers could share a port in silence, and a worker would reach either.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Finds half-open connections within half a minute, and lets callers look for them more often.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 15'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
}

// Before anything is opened: nobody else's machine gets in without TLS and credentials.
absl::Status CheckAccess(const ListenAddress& address, const ServerOptions& options) {
  const TlsFiles& tls = options.tls;
  const auto refuse = [&address](std::string_view what) {
    return absl::FailedPreconditionError(fmt::format("cannot listen on {}: {}", address.text, what));
  };
  if (tls.certificate.empty() && tls.key.empty() && tls.client_ca.empty()) {
    ASSIGN_OR_RETURN(const bool within, IsWithinThisMachine(address));
    if (within) return absl::OkStatus();
    return refuse("other machines reach it, which takes TLS; make certificates with 'longreach certs init DIR' and give "
                  "--certificate DIR/server.crt --key DIR/server.key --client-ca DIR/ca.crt, or listen on localhost");
  }
  if (!address.socket.empty()) return refuse("a Unix socket speaks no TLS; leave --certificate, --key and --client-ca away");
  if (tls.certificate.empty() || tls.key.empty()) return refuse("TLS takes --certificate and --key, both");
  if (tls.client_ca.empty() && options.tokens.empty()) {
    return refuse("nobody could call; give --client-ca FILE for callers with certificates, or --tokens FILE, or both");
  }
  return absl::OkStatus();
}

// Without TLS and tokens everybody on this machine may call; else the gate that is set on them decides.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> CredentialsFor(const ListenAddress& address, const ServerOptions& options) {
  if (!options.tls.certificate.empty()) return TlsServer(options.tls);
  if (options.tokens.empty()) return grpc::InsecureServerCredentials();
  // Plaintext too, but these admit a gate, and refuse whoever comes from elsewhere.
  return grpc::experimental::LocalServerCredentials(address.socket.empty() ? LOCAL_TCP : UDS);
}

}  // namespace

// In order of construction: each uses those above it, and they go in the opposite order.
struct Server::Parts {
  explicit Parts(const Clock& clock) : strangers(clock), cuts(clock) {}

  Refusals strangers;
  Refusals cuts;  // Apart, so that a flood of strangers does not hide whose connection was cut.
  std::unique_ptr<TokenFile> tokens;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<store::LogKeeper> log_keeper;
  std::string pruned_from, pruning_trouble;  // Of the writer's thread, as is
  bool files_left = false;                   // whether there are more to be removed,
  bool unrecorded_left = false;              // and whether there may be files of uploads that could not be recorded.
  std::unique_ptr<store::Writer> writer;     // Its thread asks the engine.
  std::stop_source ends;                     // For what may take minutes.
  std::unique_ptr<Workforce> workforce;
  std::unique_ptr<Workforce> transfers;    // Of artifacts, which are hashed and synced: gigabytes, for which no reading call should wait.
  std::unique_ptr<Workforce> long_calls;   // Of users who wait for a table or a plan,
  std::unique_ptr<Workforce> submissions;  // or for their sweep.
  std::unique_ptr<Workforce> maintenance;  // Hours, of a large store.
  std::unique_ptr<ClientHandlers> client;
  std::unique_ptr<WorkerHandlers> worker;
  std::unique_ptr<ArtifactHandlers> artifacts;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;  // Of TCP; a Unix socket is its owner's alone.
  std::unique_ptr<TcpListener> listener;
  std::unique_ptr<grpc::Server> grpc;
  std::string address;
  std::filesystem::path socket;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, const Clock& clock) {
  ASSIGN_OR_RETURN(ListenAddress address, ParseListenAddress(options.listen));
  RETURN_IF_ERROR(CheckAccess(address, options));
  const bool tls = !options.tls.certificate.empty();
  access::KeepGrpc();
  HearGrpc();
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials, CredentialsFor(address, options));
  auto parts = std::make_unique<Parts>(clock);
  Parts* const p = parts.get();
  if (!options.tokens.empty()) {
    ASSIGN_OR_RETURN(p->tokens, TokenFile::Open(options.tokens, clock, p->strangers));
  }
  const bool gated = tls || p->tokens != nullptr;
  if (gated) credentials->SetAuthMetadataProcessor(std::make_shared<Gate>(p->tokens.get(), p->strangers));
  ASSIGN_OR_RETURN(p->store, store::Store::Open(options.store, {.artifacts = options.artifacts}));
  // Only whoever holds the store may take the address over from a predecessor.
  RETURN_IF_ERROR(MakeFree(address));

  p->engine = std::make_unique<Engine>(
      clock, options.engine, [p](store::Event event) { p->writer->Submit(std::move(event)); }, [p] { p->writer->Wake(); });
  RETURN_IF_ERROR(p->engine->Restore(p->store->writer_connection()));
  RETURN_IF_ERROR(store::RemoveUnsettledFiles(p->store->writer_connection(), p->store->artifacts()).status());
  ASSIGN_OR_RETURN(p->log_keeper, store::LogKeeper::Start(p->store->writer_connection()));
  store::WriterOptions writing;
  // Also to remove further files: a cancelled sweep may leave thousands, and nobody calls.
  writing.next_deadline = [p, &clock] { return p->files_left ? clock.Steady() : p->engine->NextDeadline(); };
  writing.at_deadline = [p](SteadyTime now) { return p->engine->AtDeadline(now); };
  // A file that could not be removed is tried again after the next group.
  writing.after_group = [p](sql::Connection& db) {
    // Of uploads that could not be recorded while nothing could be written.
    if (std::exchange(p->unrecorded_left, false)) store::RemoveUnsettledFiles(db, p->store->artifacts()).IgnoreError();
    const absl::StatusOr<int> pruned = store::RemoveUnusedFiles(db, p->store->artifacts(), kFilesInGo, &p->pruned_from);
    p->files_left = pruned.ok() && *pruned == kFilesInGo;
    std::string trouble(pruned.status().message());
    if (!trouble.empty() && trouble != p->pruning_trouble) fmt::print(stderr, "files that nobody needs stay: {}\n", trouble);
    if (!trouble.empty()) p->pruning_trouble = std::move(trouble);
    p->log_keeper->AfterGroup();
  };
  writing.on_disk = [p](const std::string& trouble) {
    p->engine->board().SetStoreTrouble(trouble);
    if (trouble.empty()) p->unrecorded_left = true;
    fmt::print(stderr, "{}\n", trouble.empty() ? "the store can be written again" : fmt::format("the store cannot be written: {}", trouble));
  };
  p->writer = std::make_unique<store::Writer>(p->store->writer_connection(), clock, std::move(writing));
  p->workforce = std::make_unique<Workforce>(kThreads);
  p->transfers = std::make_unique<Workforce>(kThreadsOfTransfers);
  p->long_calls = std::make_unique<Workforce>(kThreadsOfLongCalls);
  p->submissions = std::make_unique<Workforce>(kThreadsOfSubmissions);
  p->maintenance = std::make_unique<Workforce>(kThreadsOfMaintenance);
  p->client = std::make_unique<ClientHandlers>(*p->engine, *p->store, *p->writer,
                                               ClientHandlers::Threads{.calls = *p->workforce, .long_calls = *p->long_calls, .submissions = *p->submissions, .maintenance = *p->maintenance,
                                                                       .stop = p->ends.get_token()},
                                               options.between_looks);
  p->worker = std::make_unique<WorkerHandlers>(*p->engine, p->store->artifacts().inbox().string());
  p->artifacts = std::make_unique<ArtifactHandlers>(*p->engine, *p->store, *p->transfers, options.artifact_limits, clock);

  grpc::EnableDefaultHealthCheckService(true);
  // Names the description, so that the linker keeps it for reflection.
  grpc::health::v1::HealthCheckRequest::descriptor();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetUp(builder);
  int port = 0;
  if (address.socket.empty()) {
    ASSIGN_OR_RETURN(p->listener, TcpListener::Open(address, {.max_connections = AffordableConnections(kMaxConnections),
                                                              .strangers = gated ? &p->strangers : nullptr},
                                                    p->cuts));
    port = p->listener->port();
    p->acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> witnesses;
    witnesses.push_back(p->listener->Witness());
    builder.experimental().SetInterceptorCreators(std::move(witnesses));
  } else {
    builder.AddListeningPort(address.text, credentials);
  }
  builder.RegisterService(p->client.get());
  builder.RegisterService(p->worker.get());
  builder.RegisterService(p->artifacts.get());
  p->grpc = builder.BuildAndStart();
  if (p->grpc == nullptr) {
    return absl::FailedPreconditionError(fmt::format("cannot listen on {}; choose another address with --listen", address.text));
  }
  for (const char* service : {"longreach.v1.Longreach", "longreach.v1.Worker", "longreach.v1.Artifacts"}) {
    p->grpc->GetHealthCheckService()->SetServingStatus(service, true);
  }
  if (p->listener != nullptr) p->listener->Start(*p->acceptor);
  p->socket = address.socket;
  p->address = address.socket.empty() ? fmt::format("{}:{}", address.text.substr(0, address.text.rfind(':')), port) : address.text;
  // Whoever finds the store may be in another folder.
  if (!options.for_a_moment) p->store->ListensAt(address.socket.empty() ? p->address : fmt::format("unix:{}", std::filesystem::absolute(address.socket).string()));
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  if (parts_->listener != nullptr) parts_->listener->Stop();
  parts_->ends.request_stop();
  parts_->engine->Shutdown();
  parts_->grpc->Shutdown(std::chrono::system_clock::now() + kPatience);
  parts_->grpc->Wait();
  parts_->workforce.reset();
  parts_->transfers.reset();
  parts_->long_calls.reset();
  parts_->submissions.reset();
  parts_->maintenance.reset();
  parts_->writer->Stop();
  std::error_code ignored;
  if (!parts_->socket.empty()) std::filesystem::remove(parts_->socket, ignored);
}

const std::string& Server::address() const { return parts_->address; }

}  // namespace longreach::service
