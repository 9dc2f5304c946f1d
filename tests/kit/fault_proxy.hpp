// A TCP proxy between a client and a server that does to their connections what networks do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kit/connection.hpp"

namespace slotwise::kit {

/// What happens to the bytes of one direction.
struct StreamFaults {
  /// Each byte leaves that long after it came. Connecting itself is not delayed: the proxy's kernel
  /// accepts.
  milliseconds delay{0};
  /// Bytes, and the end of the stream, are taken in and lost; nothing is closed. In both directions
  /// it is a cut cable. (Not quite: the proxy's kernel still accepts and acknowledges, so that
  /// TCP_USER_TIMEOUT and keepalive of the other side see nothing wrong.)
  bool swallow = false;
  /// One segment for each byte. A reader that sleeps still finds many at once; with
  /// bytes_per_second it does not.
  bool one_byte = false;
  std::uint64_t bytes_per_second = 0;  ///< 0: no limit
};

enum class Direction : std::uint8_t { both, to_server, to_client };
enum class Scope : std::uint8_t { all, new_connections };

/// Ends each new connection when it has passed on a number of bytes, drawn anew for each.
struct CutAfter {
  std::uint64_t at_least = 0;
  std::uint64_t at_most = 0;  ///< 0: connections are not cut
  Direction counted = Direction::both;
  bool reset = false;  ///< RST instead of FIN
  std::uint64_t seed = 1;
};

/// Which connections are meant, by the IP address that they come from. Called under the proxy's
/// mutex, so it must not call the proxy.
using Sources = std::function<bool(const std::string& host)>;

struct FaultProxyOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: one that is free; else the caller holds it (see Port)
  /// Bytes that are kept for each direction of a connection; when they are there, the proxy reads
  /// no more and its sender has to wait. So a delay also limits the rate, to buffer / delay.
  std::size_t buffer = 256 * 1024;
  /// Connections from there know no faults, cuts and resets: servers among themselves, say, while
  /// those of clients are cut. (Where it does not listen, it refuses everybody.) Null: none.
  Sources spared{};
};

/// Connections of the proxy in numbers, since its start.
struct ProxyCounts {
  std::uint64_t accepted = 0;
  std::uint64_t open = 0;  ///< now
  std::uint64_t bytes_to_server = 0;
  std::uint64_t bytes_to_client = 0;
  std::uint64_t bytes_swallowed = 0;
};

/// Accepts on its address and connects each connection to the target. A target that refuses has
/// the client's connection reset; ends of streams (half-closed too) and resets are passed on.
///
/// Thread rule: any thread may call; what a call does has been done when it returns. Each proxy has
/// a thread of its own, which sleeps while nothing happens.
class FaultProxy {
 public:
  explicit FaultProxy(Address target, FaultProxyOptions options = {});
  ~FaultProxy();  ///< resets what is open
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  Address address() const;
  Address target() const;
  void set_target(Address target);  ///< for connections made from now on
  /// Listens there instead (unless it has stopped listening), and targets that from now on.
  void move(Address listen, Address target);

  /// Replaces the faults of the direction (of both, by default). A swallow that ends resets the
  /// connections that lost something by it, since nobody sends that again; others live on.
  void set_faults(const StreamFaults& faults, Direction direction = Direction::both,
                  Scope scope = Scope::all);
  /// set_faults({.swallow = true}).
  void swallow() { set_faults({.swallow = true}); }
  void cut_new_connections(const CutAfter& cut);
  /// Connections from there are cut off (see StreamFaults::swallow), spared or not, those that are
  /// open and those to come; in place of whom it blocked before. Null: nobody. heal() leaves it.
  void block(Sources sources);
  /// No faults from now on, no cuts, and it listens.
  void heal();

  void cut();             ///< closes every connection, both sides get FIN
  void reset();           ///< both sides get RST
  void stop_listening();  ///< connections are refused; those that are open stay
  void listen_again();    ///< on the same port

  ProxyCounts counts() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace slotwise::kit
