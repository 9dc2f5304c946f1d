// One search for hot keys: all nodes go through its stages together.
//
// Thread rule: one thread.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/client.hpp>

#include "hotkey/find_parts.hpp"

namespace slotwise::hotkey {

/// One primary.
struct FindNode {
  FindNode(const Client& client, std::string endpoint, std::chrono::milliseconds timeout)
      : name(std::move(endpoint)),
        async(client.async().with(
            {.timeout = timeout, .idempotent = true, .read_from = {}, .node = name})) {}

  Task<Reply> ask(std::initializer_list<std::string_view> words) const {
    return async.command_words({words.begin(), words.size()});
  }
  bool lfu() const { return policy.ends_with("-lfu"); }

  std::string name;
  Async async;
  bool lost = false;   // it does not answer: nothing more is asked
  std::string policy;  // maxmemory-policy; empty: unknown
  std::uint64_t log_factor = 10;
  HotkeysForm form = HotkeysForm::none;
  bool session = false;  // HOTKEYS was started here by us
  std::optional<ServerHotKeys> own;
  std::optional<std::vector<SlotUse>> first_look;
  std::optional<std::vector<SlotUse>> used;  // between the looks
};

class FindRun {
 public:
  FindRun(const Client& client, const FindOptions& options);
  FindResult run();

 private:
  using Words = std::initializer_list<std::string_view>;

  // find.cpp: what the servers can tell, and the two looks
  void list_nodes();
  void ask_what_they_can();
  void begin_sessions();
  void look_first();
  void wait_a_look();
  void end_sessions();
  void look_again();
  void take_own_keys();
  void ask_sizes(std::vector<Candidate>& keys);
  void explain(const std::vector<Candidate>& keys);
  /// The reply, or nothing: then the node is lost or has said no, and that is noted if
  /// `about` says what it is about.
  std::optional<Reply> answer(FindNode& node, Task<Reply>& task, std::string_view about = {});
  std::uint64_t total_usec() const;

  // find_slots.cpp: the keys of hot slots
  void look_into_slots();
  void look_into(FindNode& node, const SlotUse& slot, std::vector<std::string> keys);
  void divide_by_freq(FindNode& node, const SlotUse& slot, std::vector<std::string> keys);
  void choose_by_idle_time(FindNode& node, const SlotUse& slot, std::vector<std::string> keys);
  void add(FindNode& node, std::string key, std::optional<double> share, double rank,
           FindSource source, std::optional<std::uint64_t> counter = std::nullopt);

  // find_scan.cpp: all keys
  void scan();
  /// One step of a node's cursor; false: it is through.
  struct Cursor;
  bool scan_step(Cursor& cursor);

  const Client& client_;
  const FindOptions& options_;
  Mode mode_ = Mode::single;
  std::vector<FindNode> nodes_;
  Notes notes_;
  BestKeys best_;
};

}  // namespace slotwise::hotkey
