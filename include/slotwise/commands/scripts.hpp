// Scripts and functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/args.hpp>
#include <slotwise/commands/words.hpp>
#include <slotwise/detail/call.hpp>
#include <slotwise/export.hpp>
#include <slotwise/reply.hpp>

namespace slotwise {

/// A script and its SHA1: eval() sends only the digest, and the body to a node that does not have
/// it yet. Make one once and keep it: `static const Script script("return redis.call(...)");`.
/// Cheap to copy; usable from any thread.
class SLOTWISE_API Script {
 public:
  explicit Script(std::string body);

  std::string_view body() const noexcept { return text_->body; }
  /// 40 lower-case hex digits.
  std::string_view sha1() const noexcept { return {text_->sha1, sizeof(text_->sha1)}; }

  /// The body alone, to be kept by a call that is on its way.
  std::shared_ptr<const std::string> shared_body() const noexcept { return {text_, &text_->body}; }

 private:
  struct Text {
    std::string body;
    char sha1[40];
  };
  std::shared_ptr<const Text> text_;
};

/// `keys` must name every key that the script uses, all of one slot: they decide where it runs. A
/// script without keys runs on any primary. T is what the script returns: a Lua number comes as an
/// integer (cut, so return a string for a fraction), true as 1, false and nil as nil, {ok=...} as
/// text, {err=...} as an error.
template <class Face>
class ScriptCommands {
 public:
  /// Runs a script. (EVALSHA; EVAL where the node does not have it yet)
  template <class T = Reply>
  auto eval(const Script& script, Words keys = {}, Words args = {}) const {
    Args words;
    words.add("EVALSHA").add(script.sha1()).add(keys.size());
    keys.append_to(words);
    args.append_to(words);
    return detail::Gate::invoke_script<T>(static_cast<const Face&>(*this), script, words);
  }
  /// Runs a script given as text, which is sent whole each time. (EVAL)
  template <class T = Reply>
  auto eval(std::string_view body, Words keys = {}, Words args = {}) const {
    return detail::call<T, "EVAL">(*this, body, keys.size(), keys, args);
  }
  /// The same, for a script that writes nothing: may run on a replica, and again after a lost
  /// connection. Server of 7.0. (EVAL_RO)
  template <class T = Reply>
  auto eval_ro(std::string_view body, Words keys = {}, Words args = {}) const {
    return detail::call<T, "EVAL_RO">(*this, body, keys.size(), keys, args);
  }
  /// Runs a script that the node has; else it is an error (NOSCRIPT). (EVALSHA)
  template <class T = Reply>
  auto evalsha(std::string_view sha1, Words keys = {}, Words args = {}) const {
    return detail::call<T, "EVALSHA">(*this, sha1, keys.size(), keys, args);
  }
  /// Runs a function of a loaded library. Server of 7.0. (FCALL)
  template <class T = Reply>
  auto fcall(std::string_view function, Words keys = {}, Words args = {}) const {
    return detail::call<T, "FCALL">(*this, function, keys.size(), keys, args);
  }
  /// The same, for a function that writes nothing; see eval_ro(). (FCALL_RO)
  template <class T = Reply>
  auto fcall_ro(std::string_view function, Words keys = {}, Words args = {}) const {
    return detail::call<T, "FCALL_RO">(*this, function, keys.size(), keys, args);
  }
  /// Gives a script to every node, and its SHA1 to the caller. Nodes that come later do not have
  /// it. (SCRIPT LOAD)
  auto script_load(std::string_view body) const {
    return detail::call<std::string, "SCRIPT LOAD">(*this, body);
  }
  /// Whether every primary has each of these scripts, in their order. (SCRIPT EXISTS)
  auto script_exists(Words sha1s) const {
    return detail::call<std::vector<bool>, "SCRIPT EXISTS">(*this, sha1s);
  }
};

}  // namespace slotwise
