// A certificate authority and certificates made on the spot.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace slotwise::kit {

struct Certificate {
  std::filesystem::path cert_file{};  ///< PEM
  std::filesystem::path key_file{};   ///< PEM
};

struct CertificateOptions {
  std::string file_stem = "node";  ///< cert and key are STEM.crt and STEM.key in the CA's folder
  std::string common_name = "slotwise test node";
  std::vector<std::string> dns{};  ///< subject alternative names
  std::vector<std::string> ips{};
  /// Relative to now. An expired certificate: {-48h, -24h}; one not yet valid: {24h, 48h}.
  std::chrono::hours valid_from{-1};
  std::chrono::hours valid_to{24 * 30};
};

/// A CA with its key in a folder. A second one (in another folder) makes certificates that the
/// first one's users must refuse.
///
/// Thread rule: issue() may be called from any thread.
class CertificateAuthority {
 public:
  /// Makes a new CA in the folder (made if missing), or takes up the one that is there.
  explicit CertificateAuthority(std::filesystem::path folder,
                                std::string common_name = "slotwise test CA");

  const std::filesystem::path& ca_file() const noexcept { return ca_file_; }

  /// Makes a key and a certificate signed by this CA; overwrites files of the same stem, so that a
  /// test can renew what a server or client reads.
  Certificate issue(const CertificateOptions& options) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path ca_file_;
  std::filesystem::path key_file_;
};

}  // namespace slotwise::kit
