// What the client sees happening in the deployment, and what it counts.
//
// Thread rule: EventSink::on_event is called on a loop thread of the client and must not block.
// With several of them (Config::io_threads) it is called on each, but never by two at once for one
// client: a sink needs no lock of its own unless clients share it or other threads read what it
// keeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/config.hpp>
#include <slotwise/export.hpp>

namespace slotwise {

/// One thing that happened. Texts never hold a password, a key or a value.
struct Event {
  enum class Kind : std::uint8_t {
    connected,         ///< a connection is ready; node
    disconnected,      ///< a ready connection ended; node, text = why
    connect_failed,    ///< node, text = each address with its reason
    redirected,        ///< MOVED or ASK followed; node = from, text = the redirect
    retrying,          ///< a call waits and tries again; node, text = why
    refresh_started,   ///< node = who is asked
    refresh_failed,    ///< node, text = why
    topology_changed,  ///< a new map is in use; text = what changed
    primary_changed,   ///< slots went from one primary to another; node = the new one, text
    auth_refused,      ///< a live connection goes on with its old credentials; node, text
  };
  Kind kind = Kind::connected;
  std::chrono::system_clock::time_point at;
  std::string node;  ///< "host:port", may be empty
  std::string text;
};

SLOTWISE_API std::string_view to_string(Event::Kind kind) noexcept;

/// Receives events. Exceptions that leave on_event are swallowed. Calls that it starts must be
/// asynchronous, as in any callback.
class SLOTWISE_API EventSink {
 public:
  virtual ~EventSink();
  virtual void on_event(const Event& event) = 0;
};

/// Counters since the client was made; read as one snapshot by Client::stats().
struct Stats {
  std::uint64_t commands = 0;   ///< calls that were given to the client
  std::uint64_t succeeded = 0;  ///< calls answered by anything but an error
  std::uint64_t failed = 0;     ///< calls that ended in an error
  std::uint64_t moved = 0;      ///< MOVED followed
  std::uint64_t asked = 0;      ///< ASK followed
  std::uint64_t retries = 0;    ///< attempts after a pause (TRYAGAIN, CLUSTERDOWN, lost link ...)
  std::uint64_t refreshes = 0;  ///< times that the topology was asked for
  std::uint64_t connects = 0;   ///< connections that became ready
  std::uint64_t connect_failures = 0;
  std::uint64_t disconnects = 0;  ///< ready connections that ended
  std::uint64_t pending = 0;      ///< calls waiting now
  struct Node {
    std::string endpoint;
    std::uint64_t replies = 0;      ///< replies to commands of callers
    std::uint64_t connections = 0;  ///< open now
  };
  std::vector<Node> nodes;
};

/// The believed topology as a value.
struct TopologyInfo {
  struct SlotRange {
    int first = 0;
    int last = 0;
  };
  struct Node {
    std::string id;            ///< 40 hex digits; empty where the server does not say
    std::string endpoint;      ///< "host:port" the client connects to
    std::string announced_ip;  ///< the cluster's own word about the ip; may be empty
    bool primary = true;
    std::string primary_id;  ///< of a replica
    std::uint64_t config_epoch = 0;
    bool healthy = true;           ///< no fail flag, link up as far as the cluster says
    std::vector<SlotRange> slots;  ///< of a primary
  };
  Mode mode = Mode::single;
  std::vector<Node> nodes;
  int covered_slots = 0;  ///< of 16,384
};

}  // namespace slotwise
