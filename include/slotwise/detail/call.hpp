// From a typed method to the face that it was called on.
//
// A method of a mixin says `return call<T, "GET">(*this, key);`: T is what the caller gets (Client:
// T itself, Async: Task<T>, Pipeline: PipelineRef<T>), the name is resolved to its table entry once
// per process, and the words are put together without copying.
#pragma once

#include <cstddef>
#include <string_view>

#include <slotwise/args.hpp>
#include <slotwise/detail/known.hpp>

namespace slotwise {

template <class Face>
class Commands;

namespace detail {

/// The one way into the private invoke functions of a face, for the mixins only.
struct Gate {
  template <class T, class Face>
  static auto invoke(const Face& face, const Command& command, const Args& args) {
    return Commands<Face>::template gate_invoke<T>(face, command, args);
  }
  template <class T, class Face>
  static auto invoke_spread(const Face& face, const Command& command, const Args& args) {
    return Commands<Face>::template gate_invoke_spread<T>(face, command, args);
  }
  template <class T, class Face>
  static auto invoke_script(const Face& face, const auto& script, const Args& args) {
    return Commands<Face>::template gate_invoke_script<T>(face, script, args);
  }
};

/// Options, lists and times know how to append themselves; the rest is one word.
template <class A>
void append(Args& args, const A& word) {
  if constexpr (requires { word.append_to(args); }) {
    word.append_to(args);
  } else {
    args.add(word);
  }
}

/// The whole command. The name may be two words ("OBJECT ENCODING").
template <Name name, class... A>
void put_together(Args& args, const A&... words) {
  constexpr std::size_t space = name.first_word();
  if constexpr (space == name.view().size()) {
    args.add(name.view());
  } else {
    args.add(name.view().substr(0, space)).add(name.view().substr(space + 1));
  }
  (append(args, words), ...);
}

/// Sends the command with these words.
template <class T, Name name, template <class> class Mixin, class Face, class... A>
auto call(const Mixin<Face>& self, const A&... words) {
  Args args;
  put_together<name>(args, words...);
  return Gate::invoke<T>(static_cast<const Face&>(self), known<name>(), args);
}

/// The same for a command whose keys may lie in several slots: the library divides it and puts the
/// reply together. The parts are not atomic among each other.
template <class T, Name name, template <class> class Mixin, class Face, class... A>
auto call_spread(const Mixin<Face>& self, const A&... words) {
  Args args;
  put_together<name>(args, words...);
  return Gate::invoke_spread<T>(static_cast<const Face&>(self), known<name>(), args);
}

}  // namespace detail

}  // namespace slotwise
