// Many commands in one go, over any nodes, with results in call order.
//
// Thread rule: a Pipeline is used from one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <slotwise/args.hpp>
#include <slotwise/call_options.hpp>
#include <slotwise/commands.hpp>
#include <slotwise/convert.hpp>
#include <slotwise/detail/call_spec.hpp>
#include <slotwise/detail/reply_store.hpp>
#include <slotwise/export.hpp>
#include <slotwise/result.hpp>

namespace slotwise {

namespace detail {
class Core;
}

/// Where the result of one command of a pipeline will stand.
template <class T>
struct PipelineRef {
  std::size_t index = 0;
};

/// What came back: one value or error per command, in call order. Used from one thread at a time.
class SLOTWISE_API PipelineResults {
 public:
  explicit PipelineResults(detail::ReplyStore results) noexcept : results_(std::move(results)) {}

  std::size_t size() const noexcept { return results_.size(); }
  /// True if every command succeeded.
  bool all_ok() const noexcept;
  /// The result of one command, moved out: ask once for each.
  template <class T>
  Result<T> operator[](PipelineRef<T> ref) {
    return get<T>(ref.index);
  }
  /// The result of the i-th command as it came; an error reply is an Error here. Valid as long as
  /// these results.
  const Result<Reply>& at(std::size_t i) const {
    check(i);
    return results_.at(i);
  }
  template <class T>
  Result<T> get(std::size_t i) {
    check(i);
    if (const Error* error = results_.error(i)) return *error;
    ReplyView reply = results_.view(i);
    return convert<T>(reply);
  }

 private:
  /// Throws std::out_of_range.
  void check(std::size_t i) const {
    if (i >= results_.size()) no_such_result();
  }
  [[noreturn]] static void no_such_result();

  mutable detail::ReplyStore results_;  // at() makes a Reply of what lies among others
};

/// Collects commands; exec() sends them, each to its node, all nodes at once, and waits for all.
///
/// Order: commands that share a key run in call order. When one of them is redirected or has to be
/// tried again while later ones on its keys have run already, later reads are run again after it;
/// if a later write has run, the earlier command is not tried again and fails with `overtaken`
/// (outcome rejected). Commands without a common key have no order among them, and neither have
/// those that are sent as several (mget over slots, commands to all shards). A pipeline is not a
/// transaction.
class SLOTWISE_API Pipeline : public Commands<Pipeline> {
 public:
  Pipeline(std::shared_ptr<detail::Core> core, CallOptions options);
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;
  ~Pipeline();

  /// Any command, typed by the caller: `p.command<long>("INCR", key)`.
  template <class T = Reply, class... A>
  PipelineRef<T> command(std::string_view name, const A&... args) {
    const Args words(name, args...);
    return {add({.words = words.words()})};
  }
  /// Any command given as words.
  PipelineRef<Reply> command_words(std::span<const std::string_view> words) {
    return {add({.words = words})};
  }

  std::size_t size() const noexcept;
  /// Sends everything and waits; the pipeline is empty afterwards and can be used again. Never
  /// throws for a failed command: each result says what became of it.
  PipelineResults exec();

 private:
  friend class Commands<Pipeline>;
  template <class T>
  PipelineRef<T> invoke(const detail::Command& command, const Args& args) const {
    return {add({.command = &command, .words = args.words()})};
  }
  template <class T>
  PipelineRef<T> invoke_spread(const detail::Command& command, const Args& args) const {
    return {add({.command = &command, .words = args.words(), .spread = true})};
  }
  template <class T>
  PipelineRef<T> invoke_script(const Script& script, const Args& args) const {
    return {add({.words = args.words(), .script = &script})};
  }
  std::size_t add(const detail::CallSpec& call) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace slotwise
