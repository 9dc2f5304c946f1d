// Bytes of one connection in, replies out. No I/O.
//
// Thread rule: one thread at a time.
// Invariants:
//  1. Every byte is looked at a fixed number of times, however the stream is
//  cut into reads.
//  2. Memory grows with the bytes that came, never with what a header claims:
//  by at most 16 times,
//     and that untouched.
//  3. After an error nothing more is parsed until reset().
//  4. Between replies of ordinary size the parser holds under 32 KB, 96 KB on a
//  busy connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <slotwise/reply.hpp>
#include <slotwise/reply_view.hpp>

#include "resp/large_bulk.hpp"
#include "resp/limits.hpp"
#include "resp/read_buffer.hpp"
#include "resp/token.hpp"
#include "resp/tree_builder.hpp"

namespace slotwise::resp {

enum class Status : std::uint8_t {
  reply,      ///< `out` is the reply of the oldest command in flight
  push,       ///< `out` is a RESP3 push; it answers no command
  need_more,  ///< no whole reply is there
  error,      ///< not RESP, or over a limit: see protocol_error(); close the
              ///< connection
};

class Parser {
 public:
  explicit Parser(Limits limits = {}) noexcept;
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// Where the next read may put its bytes: the read buffer, or the tail of a
  /// large bulk string that is being received, so that a large value is copied
  /// only once, out of the socket. Never empty unless memory ran out (then the
  /// parser has failed). Ends the life of views.
  std::span<char> prepare(std::size_t min = 1);
  /// Tells that `n` bytes were put where prepare() said.
  void commit(std::size_t n) noexcept;
  /// prepare, copy, commit: for bytes that are somewhere already.
  void feed(const char* data, std::size_t size);
  void feed(std::string_view bytes) { feed(bytes.data(), bytes.size()); }

  /// Takes a scalar that is wholly in the buffer, as a view that is valid until
  /// the next call of a non-const member; `out` must be new. False: there is
  /// none right here (an aggregate, a large or unfinished value, a push, an
  /// attribute, an error, no bytes): call next(), which knows which.
  bool next_scalar(ReplyView& out);

  /// Takes the next reply or push. Attributes (`|`) are read over, at any
  /// depth.
  Status next(Reply& out);

  /// Bytes that came and belong to no reply that was taken. Not 0 with nothing
  /// in flight: the server said something nobody asked for, or a push is half
  /// here.
  std::size_t buffered() const noexcept { return unfinished_ + in_.size(); }

  bool failed() const noexcept { return !fault_.empty(); }
  /// Names the fault or the limit; empty unless failed().
  const std::string& protocol_error() const noexcept { return fault_; }

  /// Gives the memory of an idle connection back, where no byte is waiting in
  /// it.
  void trim() noexcept;
  /// For a new connection: forgets bytes, half replies and the error.
  void reset() noexcept;

 private:
  template <class Sink>
  const char* plain(const char* begin, Sink& sink) const;
  bool take_plain(ReplyView& out) noexcept;
  bool take_scalar(ReplyView& out);
  Status next_slow(Reply& out);
  void begin_attribute(const Token& token) noexcept;
  bool skip_tokens();
  bool build();
  bool build_plain();
  bool finish_large(Reply& out);
  bool scan(Token& token);
  bool scan_body(Token& token);
  bool find_body(Token& token) const noexcept;
  void consume(const Token& token) noexcept;
  void finish_reply() noexcept;
  bool fail(const std::string& text);

  Limits limits_;
  ReadBuffer in_;
  bool busy_ = false;           ///< between the parts of a reply, or failed: no view now
  bool building_ = false;       ///< a part of the reply is in the tree
  std::size_t looked_ = 0;      ///< bytes of an unfinished line known to hold no line end
  std::size_t missing_ = 0;     ///< bytes that the unfinished value still needs, where known
  std::size_t skip_ = 0;        ///< values still to come in the attribute that is being dropped
  std::size_t charged_ = 0;     ///< counts towards max_reply_bytes
  std::size_t unfinished_ = 0;  ///< bytes consumed for a reply that is not taken yet
  LargeBulk large_;
  TreeBuilder tree_;
  std::string fault_;
};

}  // namespace slotwise::resp
