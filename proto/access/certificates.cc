#include "proto/access/certificates.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>

#include "proto/access/roles.h"

namespace longreach::access {
namespace {

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Names = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

constexpr long kEarlierS = 3600;
constexpr long kDayS = 24 * 3600;
constexpr int kSerialBytes = 16;
constexpr long kVersion3 = 2;

// OpenSSL's own words, for what should not happen.
absl::Status OpenSslError(std::string_view what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return absl::InternalError(fmt::format("{}: {}", what, text.data()));
}

Bio Reader(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string TextOf(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

// A key with a passphrase is refused instead of asking for it on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

absl::StatusOr<Key> ParseKey(const std::string& pem) {
  Key key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) return absl::InvalidArgumentError("no private key in PEM form without a passphrase");
  return key;
}

absl::StatusOr<Certificate> ParseCertificate(const std::string& pem) {
  Certificate certificate(PEM_read_bio_X509(Reader(pem).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) return absl::InvalidArgumentError("no certificate in PEM form");
  return certificate;
}

absl::Status Add(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return OpenSslError(fmt::format("certificate extension '{}'", value));
  }
  return absl::OkStatus();
}

bool IsAddress(const std::string& host) {
  const std::unique_ptr<ASN1_OCTET_STRING, Deleter<ASN1_OCTET_STRING_free>> address(a2i_IPADDRESS(host.c_str()));
  ERR_clear_error();
  return address != nullptr;
}

// Names that could end the list and begin something else are not hosts.
absl::StatusOr<std::string> AlternativeNames(const CertificateWish& wish) {
  std::string names;
  if (wish.role != v1::ROLE_UNSPECIFIED) names = fmt::format("URI:{}", RoleUri(wish.role));
  for (const std::string& host : wish.hosts) {
    if (host.empty() || host.size() > 253 || host.find_first_of(", \t\n'\"\\/[]") != std::string::npos || (host.find(':') != std::string::npos && !IsAddress(host))) {
      return absl::InvalidArgumentError(fmt::format("'{}' is no host's name or address (without a port)", host));
    }
    if (!names.empty()) names += ',';
    names += fmt::format("{}:{}", IsAddress(host) ? "IP" : "DNS", host);
  }
  return names;
}

absl::StatusOr<Certificate> Unsigned(EVP_PKEY* key, const std::string& name, int days) {
  Certificate certificate(X509_new());
  std::array<unsigned char, kSerialBytes> serial;
  if (RAND_bytes(serial.data(), kSerialBytes) != 1) return OpenSslError("serial number");
  serial[0] = (serial[0] & 0x3f) | 0x40;  // Positive, and always as long.
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> number(BN_bin2bn(serial.data(), kSerialBytes, nullptr));
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(name.c_str());
  if (X509_set_version(certificate.get(), kVersion3) != 1 ||
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get())) == nullptr ||
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kEarlierS) == nullptr ||
      X509_gmtime_adj(X509_getm_notAfter(certificate.get()), days * kDayS) == nullptr ||
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, bytes, -1, -1, 0) != 1 ||
      X509_set_pubkey(certificate.get(), key) != 1) {
    return OpenSslError(fmt::format("certificate for '{}'", name));
  }
  return certificate;
}

absl::StatusOr<KeyAndCertificate> Written(EVP_PKEY* key, X509* certificate) {
  const Bio key_text(BIO_new(BIO_s_secmem()));
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio_X509(certificate_text.get(), certificate) != 1) {
    return OpenSslError("PEM");
  }
  return KeyAndCertificate{.key = TextOf(key_text), .certificate = TextOf(certificate_text)};
}

std::chrono::sys_seconds TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts)));
}

std::string TextOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  const unsigned char* const bytes = ASN1_STRING_get0_data(address);
  if (ASN1_STRING_length(address) == 4) return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
  if (ASN1_STRING_length(address) != 16) return "?";
  std::string text;
  for (int i = 0; i < 16; i += 2) text += fmt::format("{}{:x}", i == 0 ? "" : ":", bytes[i] << 8 | bytes[i + 1]);
  return text;
}

}  // namespace

absl::StatusOr<KeyAndCertificate> MakeAuthority(const std::string& name, int days) {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("P-256 key");
  ASSIGN_OR_RETURN(const Certificate certificate, Unsigned(key.get(), name, days));
  X509* const self = certificate.get();
  if (X509_set_issuer_name(self, X509_get_subject_name(self)) != 1) return OpenSslError("issuer");
  RETURN_IF_ERROR(Add(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  RETURN_IF_ERROR(Add(self, self, NID_key_usage, "critical,keyCertSign,cRLSign"));
  RETURN_IF_ERROR(Add(self, self, NID_subject_key_identifier, "hash"));
  if (X509_sign(self, key.get(), EVP_sha256()) == 0) return OpenSslError("signature");
  return Written(key.get(), self);
}

absl::StatusOr<KeyAndCertificate> Issue(const KeyAndCertificate& authority, const CertificateWish& wish) {
  RETURN_IF_ERROR(CheckPair(authority.certificate, authority.key));
  ASSIGN_OR_RETURN(const Key authority_key, ParseKey(authority.key));
  ASSIGN_OR_RETURN(const Certificate issuer, ParseCertificate(authority.certificate));
  ASSIGN_OR_RETURN(const std::string names, AlternativeNames(wish));
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("P-256 key");
  ASSIGN_OR_RETURN(const Certificate certificate, Unsigned(key.get(), wish.name, wish.days));
  X509* const made = certificate.get();
  if (X509_set_issuer_name(made, X509_get_subject_name(issuer.get())) != 1) return OpenSslError("issuer");
  const bool server = wish.role == v1::ROLE_UNSPECIFIED;
  RETURN_IF_ERROR(Add(made, issuer.get(), NID_basic_constraints, "critical,CA:FALSE"));
  RETURN_IF_ERROR(Add(made, issuer.get(), NID_key_usage, "critical,digitalSignature"));
  RETURN_IF_ERROR(Add(made, issuer.get(), NID_ext_key_usage, server ? "serverAuth" : "clientAuth"));
  RETURN_IF_ERROR(Add(made, issuer.get(), NID_subject_key_identifier, "hash"));
  RETURN_IF_ERROR(Add(made, issuer.get(), NID_authority_key_identifier, "keyid:always"));
  if (!names.empty()) RETURN_IF_ERROR(Add(made, issuer.get(), NID_subject_alt_name, names));
  if (X509_sign(made, authority_key.get(), EVP_sha256()) == 0) return OpenSslError("signature");
  return Written(key.get(), made);
}

absl::StatusOr<CertificateInfo> ReadCertificate(const std::string& pem) {
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(pem));
  CertificateInfo info;
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(), name.size());
  info.name = name.data();
  info.authority = X509_check_ca(certificate.get()) == 1;
  info.from = TimeOf(X509_get0_notBefore(certificate.get()));
  info.until = TimeOf(X509_get0_notAfter(certificate.get()));
  const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const one = sk_GENERAL_NAME_value(names.get(), i);
    if (one->type == GEN_DNS) info.hosts.push_back(TextOf(one->d.dNSName));
    if (one->type == GEN_IPADD) info.hosts.push_back(AddressText(one->d.iPAddress));
    if (one->type == GEN_URI && !info.role) info.role = RoleOfUri(TextOf(one->d.uniformResourceIdentifier));
  }
  return info;
}

absl::Status CheckPair(const std::string& certificate, const std::string& key) {
  ASSIGN_OR_RETURN(const Certificate parsed, ParseCertificate(certificate));
  ASSIGN_OR_RETURN(const Key parsed_key, ParseKey(key));
  const bool same = X509_check_private_key(parsed.get(), parsed_key.get()) == 1;
  ERR_clear_error();
  return same ? absl::OkStatus() : absl::InvalidArgumentError("the key belongs to another certificate");
}

std::string Day(std::chrono::sys_seconds time) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

}  // namespace longreach::access
