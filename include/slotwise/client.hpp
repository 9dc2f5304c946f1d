// The client: synchronous face, and the door to the asynchronous one and to pipelines.
//
// Thread rule: everything here may be used from any thread at the same time, except destruction and
// assignment of the Client object itself.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/args.hpp>
#include <slotwise/call_options.hpp>
#include <slotwise/commands.hpp>
#include <slotwise/config.hpp>
#include <slotwise/convert.hpp>
#include <slotwise/detail/call_spec.hpp>
#include <slotwise/events.hpp>
#include <slotwise/export.hpp>
#include <slotwise/hot_keys.hpp>
#include <slotwise/pipeline.hpp>
#include <slotwise/task.hpp>

namespace slotwise {

namespace detail {
class Core;
}

/// Asynchronous face: every call returns a Task at once.
class SLOTWISE_API Async : public Commands<Async> {
 public:
  Async(std::shared_ptr<detail::Core> core, CallOptions options);

  /// Any command: `async.command<std::string>("OBJECT", "ENCODING", key)`.
  template <class T = Reply, class... A>
  Task<T> command(std::string_view name, const A&... args) const {
    const Args words(name, args...);
    return Task<T>(start({.words = words.words()}));
  }
  /// Any command given as words.
  Task<Reply> command_words(std::span<const std::string_view> words) const {
    return Task<Reply>(start({.words = words}));
  }
  Async with(CallOptions options) const { return {core_, std::move(options)}; }

 private:
  friend class Commands<Async>;
  template <class T>
  Task<T> invoke(const detail::Command& command, const Args& args) const {
    return Task<T>(start({.command = &command, .words = args.words()}));
  }
  template <class T>
  Task<T> invoke_spread(const detail::Command& command, const Args& args) const {
    return Task<T>(start({.command = &command, .words = args.words(), .spread = true}));
  }
  template <class T>
  Task<T> invoke_script(const Script& script, const Args& args) const {
    return Task<T>(start({.words = args.words(), .script = &script}));
  }
  detail::OperationHandle start(const detail::CallSpec& call) const;

  std::shared_ptr<detail::Core> core_;
  CallOptions options_;
};

/// A client of one deployment. Cheap to move; not copyable. Destruction completes every pending
/// call with `cancelled`, in bounded time.
class SLOTWISE_API Client : public Commands<Client> {
 public:
  /// Reads the URI, finds the deployment and returns when it is usable, or throws the Error that
  /// says why not (within Config::timeout).
  static Client connect(std::string_view uri);
  static Client connect(Config config);

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  /// Any command, with the right routing: `client.command<long>("XLEN", "stream")`. Throws Error.
  template <class T = Reply, class... A>
  T command(std::string_view name, const A&... args) const {
    const Args words(name, args...);
    return value_of<T>({.words = words.words()});
  }
  /// Any command given as words; does not throw.
  Result<Reply> command_words(std::span<const std::string_view> words) const {
    detail::Answer<Reply> answer;
    if (auto error = execute({.words = words}, answer.sink())) return std::move(*error);
    return std::move(answer).result();
  }

  Async async() const;
  Pipeline pipeline() const;
  /// The same client with other settings for the calls made through it; shares everything.
  Client with(CallOptions options) const;
  /// The deadline of a call: that of with(), else Config::timeout.
  std::chrono::milliseconds timeout() const noexcept;

  Stats stats() const;
  TopologyInfo topology() const;
  /// The keys that took at least `least_share` (0 to 1) of this client's calls lately, the most
  /// used first. Every key above twice the share is there, none below half of it, as long as
  /// least_share is at least 0.001 and about 30 / least_share calls were looked at in the last ten
  /// seconds (200,000 calls at 0.005 and one in 32); of fewer, only what is surely above the half.
  /// Empty unless Config::hot_key_sampling is set.
  std::vector<HotKey> hot_keys(double least_share = 0.005) const;
  /// Asks for the topology now and waits until an answer is in use. Not from a callback.
  Result<void> refresh() const;
  /// Has every open connection take over the credentials of now (Config::credentials_provider): for
  /// passwords and tokens that expire. Connections made later ask the provider by themselves, so
  /// this is only needed where a server ends sessions whose token is old. The Error names a node
  /// that refused; it goes on with the identity that it had. Not from a callback.
  Result<void> reauthenticate() const;

  /// Ends all calls with `cancelled` and closes all connections; later calls fail with
  /// `cancelled`. The destructor of the last Client does it too.
  void close() noexcept;

 private:
  friend class Commands<Client>;
  Client(std::shared_ptr<detail::Core> core, std::shared_ptr<const void> guard,
         CallOptions options);

  template <class T>
  T invoke(const detail::Command& command, const Args& args) const {
    return value_of<T>({.command = &command, .words = args.words()});
  }
  template <class T>
  T invoke_spread(const detail::Command& command, const Args& args) const {
    return value_of<T>({.command = &command, .words = args.words(), .spread = true});
  }
  template <class T>
  T invoke_script(const Script& script, const Args& args) const {
    return value_of<T>({.words = args.words(), .script = &script});
  }
  template <class T>
  T value_of(const detail::CallSpec& call) const {
    detail::Answer<T> answer;
    if (auto error = execute(call, answer.sink())) throw std::move(*error);
    return std::move(answer).result().value();
  }
  /// The Error of a call to which there is no reply.
  std::optional<Error> execute(const detail::CallSpec& call, const detail::Sink& sink) const;

  std::shared_ptr<detail::Core> core_;
  CallOptions options_;
  std::shared_ptr<const void> guard_;  // closes the core when the last Client of it is gone
};

}  // namespace slotwise
