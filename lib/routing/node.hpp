// One server of the deployment, with all connections to it.
//
// Thread rule: acquire_direct(), release_direct(), loop_calls and identity of the object from any
// thread; all else on the loop's thread. Nodes are never freed while their client lives: a caller
// may hold a Node* for the moment of one call. A retired node has no connections.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slotwise/config.hpp>

#include "link/direct.hpp"
#include "link/link.hpp"
#include "net/loop.hpp"
#include "net/resolver.hpp"
#include "net/tls.hpp"
#include "observe/events.hpp"
#include "routing/request.hpp"
#include "routing/retry_budget.hpp"
#include "topology/topology_map.hpp"

namespace slotwise::routing {

class Node;

/// Where a node reports to. Loop thread.
class NodeEvents {
 public:
  virtual void on_reply(Node& node, Request& request, ReplyView& reply) = 0;
  virtual void on_failed(Node& node, Request& request, const Error& error) = 0;
  virtual void on_expired(Node& node, Request& request, bool sent) = 0;
  virtual void on_up(Node& node) = 0;
  virtual void on_down(Node& node, const Error& error, bool was_ready) = 0;
  /// Calls have been waiting for a connection to it for a while.
  virtual void on_stalled(Node& node) = 0;
  /// A live connection was to take over new credentials, and the node refused them.
  virtual void on_auth_refused(Node& node, const Error& error) = 0;

 protected:
  ~NodeEvents() = default;
};

/// What all nodes of a client share.
struct Surroundings {
  net::Loop& loop;
  net::Resolver& resolver;
  const Config& config;
  observe::Observer& observer;
  std::shared_ptr<net::TlsContext> tls;           // of the data servers; null: plain
  std::shared_ptr<net::TlsContext> sentinel_tls;  // null: plain
};

struct NodeIdentity {
  topology::NodeHandle handle = topology::no_node;  // none: known by its endpoint only
  Endpoint endpoint;
  std::string id;            // empty: not known
  std::string announced_ip;  // may be empty
  std::string hostname;      // may be empty
  std::string zone;          // may be empty
  bool primary = true;       // with sentinels: each of its connections must hear so in ROLE
};

class Node final : public link::LinkSettingsSource, public link::LinkOwner {
 public:
  Node(const Surroundings& surroundings, NodeEvents& events, NodeIdentity identity);
  ~Node();

  const NodeIdentity& identity() const noexcept { return identity_; }
  std::string name() const { return identity_.endpoint.to_string(); }
  /// A new address takes effect at the next connect; an id that proves the open connections to be
  /// somebody else's closes them.
  void update(NodeIdentity identity);

  /// Sends it over the connection that suits it.
  void submit(Request& request);
  /// One that neither blocks nor reads from a replica.
  void submit_plain(Request& request) {
    request.node = this;
    main_.submit(request);
  }
  void connect() { main_.connect(); }
  /// Closes everything to this address now: its calls come back as failed.
  void close_all(const Error& why);
  /// A connection to it went silent or broke: those that lie idle may be dead too, and are
  /// replaced.
  void drop_idle(const Error& why);
  /// Calls of which no byte has left, as a list through Call::next_unsent.
  link::Call* take_unsent() noexcept { return main_.take_unsent(); }
  /// The node's situation changed: do not wait before the next connect.
  void reset_backoff() noexcept { main_.reset_backoff(); }
  /// The id that the node told in its handshake; empty if not connected or not told.
  const std::string& told_id() const noexcept { return main_.node_id(); }
  Endpoint peer() const;
  bool connected() const noexcept { return main_.ready(); }
  /// The last connects failed, and none has succeeded since.
  bool failing() const noexcept { return main_.failing(); }
  /// Nothing is open and nothing waits.
  bool quiet() const noexcept;
  /// Not part of the topology any more: connections are closed as soon as nothing is owed on them.
  void retire();
  bool retired() const noexcept { return retired_; }

  // --- reads from a replica: over a connection of their own, in READONLY mode ---
  /// Opens the connection if there is none and it may be tried.
  void prepare_reader();
  /// A read that is sent now is likely to be answered soon.
  bool reader_usable() const noexcept;
  /// Reads that have waited too long for that connection, as a list through Call::next_unsent.
  link::Call* take_stalled_reads() noexcept;
  /// It says that it cannot serve at the moment (it is syncing): not asked for a while.
  void pass_over_reader() noexcept;
  /// Zero: not measured yet. Of the connection that reads would use.
  std::chrono::microseconds round_trip() const noexcept;
  /// As the node itself or the map says; empty: not known.
  const std::string& availability_zone() const noexcept;

  /// Every connection takes over the credentials that the configuration gives now: those of the
  /// loop by AUTH, the others are replaced after the call that they carry.
  void reauthenticate();
  /// Those of the last connect.
  const Credentials& credentials() const noexcept { return main_.credentials(); }

  // --- direct mode, any thread ---
  link::DirectConnection* acquire_direct() noexcept {
    // Calls that wait in the loop came first; overtaking them would break the order in which one
    // thread gave its asynchronous and synchronous calls.
    if (loop_calls.load(std::memory_order_acquire) != 0) return nullptr;
    return direct_.acquire();
  }
  void release_direct(link::DirectConnection& c) noexcept { direct_.release(c); }
  /// True once: somebody should ask the loop for grow_direct().
  bool wants_direct() noexcept {
    return direct_.has_room() && !growing_.exchange(true, std::memory_order_relaxed);
  }
  /// Loop thread: opens one more connection for callers in place, if there may be one.
  void grow_direct();

  /// Calls for this node that are with the loop.
  std::atomic<std::uint32_t> loop_calls{0};
  /// Loop thread: see RetryBudget.
  TokenBucket retry_share;

  std::uint64_t replies() const noexcept { return replies_.read() + direct_.replies(); }
  std::uint64_t direct_successes() const noexcept { return direct_.successes(); }
  std::size_t connections() const noexcept;
  bool direct_empty() const noexcept { return direct_.empty(); }

 private:
  struct Exclusive {
    Exclusive(const Surroundings& around, Node& node)
        : link(around.loop, around.resolver, node, node) {}
    link::Link link;
    bool outdated = false;  // has old credentials: closed after the command that it carries
  };

  link::LinkSettings link_settings(const link::Link& link) override;
  void on_reply(link::Link& link, link::Call& call, ReplyView& reply) override;
  void on_call_failed(link::Link& link, link::Call& call, const Error& error) override;
  void on_call_expired(link::Link& link, link::Call& call, bool sent) override;
  void on_push(link::Link& link, Reply&& push) override;
  void on_stalled(link::Link& link) override;
  void on_auth_refused(link::Link& link, const Reply& error) override;
  void on_ready(link::Link& link) override;
  void on_down(link::Link& link, const Error& error, bool was_ready) override;

  [[gnu::noinline]] void on_other_reply(link::Link& link, link::Call& call, ReplyView& reply);
  link::Link& exclusive_link();
  void tidy();
  static void run_tidy(net::Task* task);

  struct TidyTask : net::Task {
    Node* node = nullptr;
    bool queued = false;
  };

  const Surroundings& around_;
  NodeEvents& events_;
  NodeIdentity identity_;
  const bool measures_;  // round trips decide who reads
  link::Link main_;
  std::vector<std::unique_ptr<Exclusive>> exclusive_;  // one blocking command each at a time
  std::unique_ptr<link::Link> reader_;                 // made when first needed
  TimePoint reader_not_before_{};                      // passed over until then
  TimePoint reader_asked_{};                           // when its connection was last begun
  std::unique_ptr<link::Link> opening_direct_;
  link::DirectPool direct_;
  observe::Counter replies_;
  TidyTask tidy_task_;
  std::atomic<bool> growing_{false};
  bool retired_ = false;
};

}  // namespace slotwise::routing
