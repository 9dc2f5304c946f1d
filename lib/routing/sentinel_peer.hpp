// One sentinel: a connection that asks it, and on which it tells what happens.
//
// Thread rule: the loop's thread.
//
// Its credentials and its TLS are the sentinels' own; nothing of the data servers' is ever sent to
// it. Questions and events share one connection, which RESP3 allows; a sentinel that speaks RESP2
// only (before Redis 6) is asked and tells nothing.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "link/link.hpp"
#include "routing/node.hpp"
#include "topology/primary_search.hpp"

namespace slotwise::routing {

class SentinelPeer;

class SentinelPeerEvents {
 public:
  /// The answer to ask(). The peer may be destroyed, but not before this returns.
  virtual void on_report(SentinelPeer& peer, topology::SentinelReport&& report) = 0;
  virtual void on_event(SentinelPeer& peer, topology::SentinelEvent event) = 0;
  /// It tells events from now on, or does not any more.
  virtual void on_hearing(SentinelPeer& peer, bool hears) = 0;

 protected:
  ~SentinelPeerEvents() = default;
};

class SentinelPeer final : private link::LinkSettingsSource, private link::LinkOwner {
 public:
  SentinelPeer(const Surroundings& surroundings, SentinelPeerEvents& events,
               topology::SentinelHandle handle, Endpoint endpoint);
  ~SentinelPeer();

  topology::SentinelHandle handle() const noexcept { return handle_; }
  std::string name() const { return endpoint_.to_string(); }
  bool hears() const noexcept { return hears_; }

  /// on_report() follows within Config::sentinel_timeout, never inside this. Asked again while a
  /// question is under way: once more after its answer, and only that one is reported.
  void ask();
  /// Nothing is reported any more.
  void close();

 private:
  enum Part : std::size_t { my_id, address, master, sentinels, replicas, part_count };
  struct Question : link::Call {
    std::optional<Result<Reply>> answer;
  };

  link::LinkSettings link_settings(const link::Link& link) override;
  void on_reply(link::Link& link, link::Call& call, ReplyView& reply) override;
  void on_call_failed(link::Link& link, link::Call& call, const Error& error) override;
  void on_call_expired(link::Link& link, link::Call& call, bool sent) override;
  void on_push(link::Link& link, Reply&& push) override;
  void on_stalled(link::Link& /*link*/) override {}
  void on_auth_refused(link::Link& /*link*/, const Reply& /*error*/) override {}
  void on_ready(link::Link& link) override;
  void on_down(link::Link& link, const Error& error, bool was_ready) override;

  void answered(link::Call& call, Result<Reply>&& answer);
  void submit_questions();
  void report();
  topology::SentinelReport read() const;
  void hear(bool yes);

  const Surroundings& around_;
  SentinelPeerEvents& events_;
  const topology::SentinelHandle handle_;
  const Endpoint endpoint_;
  std::string bytes_;  // of all questions
  std::array<Question, part_count> questions_;
  std::size_t open_ = 0;  // questions without an answer
  bool ask_again_ = false;
  std::string subscribe_bytes_;
  link::Call subscription_;
  bool subscribing_ = false;
  bool hears_ = false;
  bool closed_ = false;
  link::Link link_;
};

}  // namespace slotwise::routing
