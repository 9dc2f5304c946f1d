// The everyday commands, each defined once and so the same on every face.
//
// A method's docstring says what the command gives; the face says how:
//
//   client.incr("n")           std::int64_t          throws Error
//   client.async().incr("n")   Task<std::int64_t>    wait, callback or co_await; no throw
//   pipeline.incr("n")         PipelineRef<...>      the place of the result after exec()
//
// "Nil" means an empty std::optional. Keys, values and members are bytes, given as anything that
// converts to std::string_view; they are read before the method returns, so they need not live on.
// Several of them are given as `{"a", "b"}` or as any range (commands/words.hpp), times as
// std::chrono (commands/time.hpp). Keys of one command must lie in one slot, else it is refused
// with cross_slot before anything is sent; only mget, mset, del, unlink, exists and touch may span
// slots. Every other command of the server is had by `command<T>("NAME", ...)`.
//
// Thread rule: that of the face.
#pragma once

#include <slotwise/args.hpp>
#include <slotwise/commands/bits.hpp>
#include <slotwise/commands/hashes.hpp>
#include <slotwise/commands/keys.hpp>
#include <slotwise/commands/lists.hpp>
#include <slotwise/commands/scripts.hpp>
#include <slotwise/commands/server.hpp>
#include <slotwise/commands/sets.hpp>
#include <slotwise/commands/sorted_sets.hpp>
#include <slotwise/commands/streams.hpp>
#include <slotwise/commands/strings.hpp>
#include <slotwise/detail/call.hpp>
#include <slotwise/detail/known.hpp>

namespace slotwise {

/// What a face (Client, Async, Pipeline) inherits. The face is derived from Commands<Face>, is its
/// friend, and has three private const templates that say what a call of type T becomes there:
///   invoke<T>(const detail::Command&, const Args&)
///   invoke_spread<T>(const detail::Command&, const Args&)   keys may lie in several slots
///   invoke_script<T>(const Script&, const Args&)            EVALSHA; EVAL after NOSCRIPT
/// They have read all of Args when they return.
template <class Face>
class Commands : public StringCommands<Face>,
                 public KeyCommands<Face>,
                 public HashCommands<Face>,
                 public ListCommands<Face>,
                 public SetCommands<Face>,
                 public SortedSetCommands<Face>,
                 public StreamCommands<Face>,
                 public BitCommands<Face>,
                 public ScriptCommands<Face>,
                 public ServerCommands<Face> {
  friend struct detail::Gate;

  template <class T>
  static auto gate_invoke(const Face& face, const detail::Command& command, const Args& args) {
    return face.template invoke<T>(command, args);
  }
  template <class T>
  static auto gate_invoke_spread(const Face& face, const detail::Command& command,
                                 const Args& args) {
    return face.template invoke_spread<T>(command, args);
  }
  template <class T>
  static auto gate_invoke_script(const Face& face, const Script& script, const Args& args) {
    return face.template invoke_script<T>(script, args);
  }
};

}  // namespace slotwise
