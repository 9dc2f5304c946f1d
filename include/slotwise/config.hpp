// Everything that can be set, as a struct and as a URI.
//
// Thread rule: a plain value; use it from one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/export.hpp>

namespace slotwise {

class EventSink;

/// What answers the question "where do I send this command?".
enum class Mode : std::uint8_t {
  single,    ///< one server: `valkey://host`
  cluster,   ///< a cluster: `valkey+cluster://a,b,c`
  sentinel,  ///< a primary named by sentinels: `valkey+sentinel://s1,s2,s3/name`
};

/// Which nodes may serve a read-only command.
enum class ReadFrom : std::uint8_t {
  primary,            ///< the default: reads see all acknowledged writes
  replica_preferred,  ///< a replica that is in sync; else the primary
  any,                ///< primary and replicas in turn
  lowest_latency,     ///< the node of the shard with the shortest round trip
  same_zone,          ///< a node in Config::availability_zone; else replica_preferred
};

/// A host name or IP literal (IPv6 without brackets) and a port.
struct Endpoint {
  std::string host;
  std::uint16_t port = 6379;

  /// "host:port", "[v6]:port".
  SLOTWISE_API std::string to_string() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct Credentials {
  std::string username;  ///< empty: the `default` user
  std::string password;  ///< empty and no username: no AUTH is sent
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// TLS is used when `enabled`. Chain AND name are verified unless switched off here.
struct TlsConfig {
  bool enabled = false;
  bool verify_chain = true;
  bool verify_name = true;   ///< the certificate must name the node (DNS or IP SAN)
  std::string ca_file;       ///< PEM; empty with empty ca_dir: the system's store
  std::string ca_dir;        ///< folder of hashed PEM files
  std::string cert_file;     ///< client certificate (chain), PEM
  std::string key_file;      ///< its private key, PEM
  std::string key_password;  ///< of an encrypted private key
  std::string server_name;   ///< verify and send (SNI) this name instead of the node's own
  int min_version = 12;      ///< 12 = TLS 1.2, 13 = TLS 1.3
  std::string ciphers;       ///< OpenSSL cipher list for TLS 1.2; empty: OpenSSL's default
};

/// All settings. `Config::parse(uri)` fills one from a URI; every field can then be changed.
struct SLOTWISE_API Config {
  using milliseconds = std::chrono::milliseconds;

  Mode mode = Mode::single;
  std::vector<Endpoint> endpoints;  ///< seeds, sentinels, or the one server
  std::string sentinel_name;        ///< the primary's name at the sentinels

  Credentials credentials;           ///< of the data servers
  Credentials sentinel_credentials;  ///< of the sentinels; never sent to data servers
  /// Asked at every connect and after a rejected one; wins over `credentials`. Any thread.
  std::function<Credentials()> credentials_provider;
  TlsConfig tls;  ///< of the data servers
  /// Of the sentinels. Absent: they get what `tls` says, client certificate and server_name
  /// included. Present: nothing of `tls` is used for them, and `enabled` may differ from it.
  std::optional<TlsConfig> sentinel_tls;

  /// The whole call: DNS, connect, TLS, handshake, every retry and every wait.
  milliseconds timeout{5000};
  /// Silence of a node that owes an answer; then its connection is closed and replaced.
  milliseconds attempt_timeout{1000};
  /// One connection attempt: DNS, TCP, TLS and handshake together.
  milliseconds connect_timeout{2000};
  /// Added to the server-side time of a blocking command (BLPOP ...) to make its deadline.
  milliseconds blocking_margin{1000};
  int max_redirects = 16;                ///< MOVED and ASK followed by one call
  milliseconds retry_backoff_min{20};    ///< first pause after TRYAGAIN, CLUSTERDOWN, ...
  milliseconds retry_backoff_max{1000};  ///< pauses double up to this; each is jittered
  /// Retries of all calls together while they do not help; those that succeed are free. 0: no
  /// limit.
  int max_retries_per_second = 1000;
  std::size_t max_pending = 1'000'000;  ///< calls waiting at once; one more: queue_full

  milliseconds refresh_interval{60'000};   ///< periodic look at the topology, +-20 % jitter; 0: off
  milliseconds refresh_min_interval{200};  ///< never more often than this, whatever happens
  /// Sentinel: a sentinel that owes an answer this long is taken for unreachable; connect, TLS and
  /// handshake included. Its connections and questions live on the client's own thread, never in a
  /// call: calls only wait for what they find out. In milliseconds.
  milliseconds sentinel_timeout{500};
  /// Sentinel: how often all sentinels are asked who the primary is although nothing happened.
  /// Events and lost connections make the client ask at once; this is the net under them. Asked on
  /// the client's own thread. In milliseconds; 0: off.
  milliseconds sentinel_check_interval{10'000};
  milliseconds health_check_interval{
      10'000};                         ///< PING on a connection silent for this long; 0: off
  milliseconds tcp_keepalive{15'000};  ///< idle time before TCP keepalive; 0: off

  /// Cluster: who answers read-only commands. A replica may not have an acknowledged write yet.
  /// Replicas that are syncing, down or failing are passed over; what a replica cannot answer, the
  /// primary is asked. Always at the primary: blocking commands, HSCAN, SSCAN and ZSCAN (a cursor
  /// belongs to one node), and pipelines that contain a write.
  ReadFrom read_from = ReadFrom::primary;
  std::string availability_zone;  ///< for ReadFrom::same_zone; as in the servers' availability-zone
  int protocol = 3;               ///< 3: RESP3 with fall-back to RESP2; 2: RESP2
  int database = 0;               ///< SELECT; in a cluster only with Valkey 9 cluster-databases
  std::string client_name;        ///< CLIENT SETNAME; empty: none
  std::vector<std::string> dns_servers;  ///< "ip" or "ip:port"; empty: the system's
  bool use_announced_ips = true;         ///< race the cluster's announced ip against DNS

  std::size_t max_reply_bytes = std::size_t{1} << 30;  ///< a bulk that claims more: protocol error
  int max_reply_depth = 512;                           ///< deeper nesting: protocol error
  /// While at most this many synchronous callers are inside the client, each uses a connection of
  /// its own in place, which is opened when first needed; more of them share one connection per
  /// node. Per node; at most 16 count. 0: off.
  int direct_connections = 16;
  /// Cluster: threads that do the input and output of calls that are not made in place, 1 to 64,
  /// and no more than there are primaries at the start; they share max_retries_per_second. A slot
  /// belongs to one of them for the life of the client (the slots of a primary to the same one at
  /// the start), so calls on one key keep their order; what goes to many slots at once keeps none
  /// with calls on single keys that are still under way. More than one pays only where a thread of
  /// its own is full and there are processors to spare; then events come from all of them.
  int io_threads = 1;
  /// One in this many calls is looked at to find the keys that are used most, see
  /// Client::hot_keys(): 32 finds every key above a hundredth of the calls for a few nanoseconds a
  /// call. 0: off.
  int hot_key_sampling = 0;

  std::shared_ptr<EventSink> events;  ///< change events; null: none

  /// Reads `valkey://`, `valkeys://` (TLS), `valkey+cluster://`, `valkeys+cluster://`,
  /// `valkey+sentinel://...`, `valkeys+sentinel://`, the same with `redis`/`rediss`. Options in
  /// the query have the names of the fields above, durations a unit (`500ms`, `5s`, `1m`); shorter
  /// are db (database), ca, ca_dir, cert, key, key_password, server_name (of `tls`),
  /// sentinel_user, sentinel_password.
  ///
  /// Sentinels: any of sentinel_tls=yes|no, sentinel_ca, sentinel_ca_dir, sentinel_cert,
  /// sentinel_key, sentinel_key_password, sentinel_server_name engages `sentinel_tls`. It starts as
  /// a copy of `tls`, the client certificate included, wherever the parameters stand; what is
  /// written replaces the copy, CA file and folder together, and certificate, key and its password
  /// together. An empty value takes a copied one back: `sentinel_cert=&sentinel_key=` sends no
  /// certificate. So `valkey+sentinel://...?sentinel_tls=yes&sentinel_ca=...` is TLS at the
  /// sentinels alone, and `valkeys+sentinel://...?sentinel_tls=no` at the data servers alone.
  ///
  /// Throws Error(invalid_argument) that names the part and the mend; a password never appears in
  /// it.
  static Config parse(std::string_view uri);

  /// Throws Error(invalid_argument) naming the first field that makes no sense.
  void validate() const;

  /// The URI again, with passwords replaced by "***".
  std::string to_string() const;
};

}  // namespace slotwise
