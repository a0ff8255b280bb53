#include "proto/access/credentials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "proto/access/certificates.h"
#include "proto/base/text.h"

namespace longreach::access {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
// Time enough to renew a certificate in, of one that is good for a year.
constexpr std::chrono::days kAhead{30};

absl::StatusOr<std::string> Read(const std::filesystem::path& path, bool secret) {
  const auto error = [&path](std::string_view what) {
    return absl::FailedPreconditionError(fmt::format("cannot use {}: {}", path.string(), what));
  };
  // Not blocking, should the path be a pipe.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return error(std::strerror(errno));
  struct stat status {};
  std::string text;
  absl::Status result = absl::OkStatus();
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    result = error("it is no file");
  } else if (secret && (status.st_mode & S_IRWXO) != 0) {
    result = error(fmt::format("it is a secret, and everybody on this machine may open it; chmod 600 {}", path.string()));
  } else if ((status.st_mode & S_IWOTH) != 0) {
    result = error(fmt::format("everybody on this machine may write it, and so decide who is let in; chmod o-w {}", path.string()));
  }
  char buffer[4096];
  while (result.ok()) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) result = error(std::strerror(errno));
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMaxBytes) result = error("it has more than 1 MiB");
  }
  close(fd);
  if (!result.ok()) return result;
  return text;
}

absl::Status In(const std::string& what, const absl::Status& status) {
  return absl::FailedPreconditionError(fmt::format("{}: {}", what, std::string(status.message())));
}

// An authority's end is that of all that it has signed.
std::string HowToRenew(const CertificateInfo& info) {
  return info.authority ? "make a new one, with all certificates anew, with 'longreach certs init'" : "make a new one with 'longreach certs issue'";
}

std::string Expired(const CertificateInfo& info, const std::string& what) {
  return fmt::format("{} expired on {}; {}", what, Day(info.until), HowToRenew(info));
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path) { return Read(path, /*secret=*/false); }
absl::StatusOr<std::string> ReadSecretFile(const std::filesystem::path& path) { return Read(path, /*secret=*/true); }

absl::Status CheckValidNow(const std::string& pem, const std::string& what) {
  const absl::StatusOr<CertificateInfo> info = ReadCertificate(pem);
  if (!info.ok()) return In(what, info.status());
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (now > info->until) return absl::FailedPreconditionError(Expired(*info, what));
  if (now < info->from) {
    return absl::FailedPreconditionError(
        fmt::format("{} is valid from {} on only; is this machine's clock right?", what, Day(info->from)));
  }
  return absl::OkStatus();
}

std::string EndOfCertificate(const std::string& pem, const std::string& what, std::chrono::sys_seconds now) {
  const absl::StatusOr<CertificateInfo> info = ReadCertificate(pem);
  if (!info.ok()) return "";
  if (now > info->until) return Expired(*info, what);
  if (info->until - now > std::min<std::chrono::seconds>(kAhead, (info->until - info->from) / 5)) return "";
  return fmt::format("{} expires on {}; {} before", what, Day(info->until), HowToRenew(*info));
}

absl::StatusOr<Credentials> ReadCredentials(const CredentialFiles& files) {
  Credentials credentials;
  if (!files.ca.empty()) {
    ASSIGN_OR_RETURN(credentials.ca, ReadSmallFile(files.ca));
    RETURN_IF_ERROR(CheckValidNow(credentials.ca, fmt::format("the authority {}", files.ca)));
  }
  if (files.certificate.empty() != files.key.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("there is a {0} and no {1}; a certificate and its key go together: set {1} too",
                    files.key.empty() ? "certificate" : "key", files.key.empty() ? "key" : "certificate"));
  }
  if (!files.certificate.empty()) {
    if (files.ca.empty()) {
      return absl::FailedPreconditionError(
          fmt::format("certificate {}: there is no ca to know the scheduler by; set ca to its authority's file", files.certificate));
    }
    ASSIGN_OR_RETURN(credentials.certificate, ReadSmallFile(files.certificate));
    ASSIGN_OR_RETURN(credentials.key, ReadSecretFile(files.key));
    if (const absl::Status pair = CheckPair(credentials.certificate, credentials.key); !pair.ok()) {
      return In(fmt::format("certificate {} with key {}", files.certificate, files.key), pair);
    }
    RETURN_IF_ERROR(CheckValidNow(credentials.certificate, fmt::format("certificate {}", files.certificate)));
  }
  credentials.token = files.token;
  if (credentials.token.empty() && !files.token_file.empty()) {
    ASSIGN_OR_RETURN(credentials.token, ReadSecretFile(files.token_file));
    // As it is for a moment while somebody writes it.
    if (Trim(credentials.token).empty()) return absl::FailedPreconditionError(fmt::format("{}: there is no token in it", files.token_file));
  }
  credentials.token = std::string(Trim(credentials.token));
  if (credentials.token.find_first_of(" \t\r\n") != std::string::npos || credentials.token.size() > 4096) {
    return absl::FailedPreconditionError(
        fmt::format("{}: not one token", files.token.empty() ? files.token_file : "the token of the environment"));
  }
  for (const char c : credentials.token) {
    if (c <= ' ' || c > '~') return absl::FailedPreconditionError("a token has characters that no token has");
  }
  return credentials;
}

}  // namespace longreach::access
