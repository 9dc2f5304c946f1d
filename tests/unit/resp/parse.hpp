// Helpers to run bytes through a parser and to write down what should come out.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/reply.hpp>

#include "resp/parser.hpp"

namespace slotwise {
// For Catch's messages.
inline std::ostream& operator<<(std::ostream& out, const Reply& reply) {
  return out << to_string(reply.type()) << ' ' << reply.describe();
}
}  // namespace slotwise

namespace slotwise::resp::test {

/// What a stream of bytes gave.
struct Outcome {
  std::vector<Reply> replies;
  std::vector<Reply> pushes;
  std::string error;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  for (const Reply& reply : outcome.replies)
    out << "reply " << reply << '\n';
  for (const Reply& reply : outcome.pushes)
    out << "push " << reply << '\n';
  return out << "error '" << outcome.error << '\'';
}

/// Takes all that is there. Every other reply is asked for as a view first, if `views`.
inline void drain(Parser& parser, Outcome& outcome, bool views = false) {
  for (;;) {
    Reply reply;
    ReplyView view;
    if (views && parser.next_scalar(view)) {
      outcome.replies.push_back(view.take());
      continue;
    }
    switch (parser.next(reply)) {
      case Status::reply:
        outcome.replies.push_back(std::move(reply));
        break;
      case Status::push:
        outcome.pushes.push_back(std::move(reply));
        break;
      case Status::need_more:
        return;
      case Status::error:
        outcome.error = parser.protocol_error();
        return;
    }
  }
}

/// Feeds `bytes` in pieces of `piece` bytes.
inline Outcome run(std::string_view bytes, std::size_t piece = std::string_view::npos,
                   Limits limits = {}, bool views = false) {
  Parser parser(limits);
  Outcome outcome;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    parser.feed(part);
    drain(parser, outcome, views);
  }
  return outcome;
}

/// Runs `bytes` whole, byte by byte, and cut in two at every place; all must agree.
inline Outcome run_all_cuts(std::string_view bytes, Limits limits = {}) {
  Outcome whole = run(bytes, std::string_view::npos, limits);
  CHECK(run(bytes, 1, limits) == whole);
  CHECK(run(bytes, 1, limits, true) == whole);
  CHECK(run(bytes, std::string_view::npos, limits, true) == whole);
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    Parser parser(limits);
    Outcome outcome;
    parser.feed(bytes.substr(0, cut));
    drain(parser, outcome);
    parser.feed(bytes.substr(cut));
    drain(parser, outcome);
    INFO("cut at " << cut);
    CHECK(outcome == whole);
  }
  return whole;
}

/// For bytes that are one reply.
inline Reply parse_one(std::string_view bytes, Limits limits = {}) {
  Outcome outcome = run_all_cuts(bytes, limits);
  INFO("error: " << outcome.error);
  REQUIRE(outcome.replies.size() == 1);
  CHECK(outcome.pushes.empty());
  CHECK(outcome.error.empty());
  return std::move(outcome.replies.front());
}

/// For bytes that are a protocol error.
inline std::string parse_error(std::string_view bytes, Limits limits = {}) {
  Outcome outcome = run_all_cuts(bytes, limits);
  CHECK(outcome.replies.empty());
  return outcome.error;
}

using Type = Reply::Type;

inline Reply nil() {
  return {};
}
inline Reply number(std::int64_t v) {
  return Reply::make_integer(v);
}
inline Reply str(std::string text) {
  return Reply::make_text(Type::string, std::move(text));
}
inline Reply status(std::string text) {
  return Reply::make_text(Type::status, std::move(text));
}
inline Reply error(std::string text) {
  return Reply::make_text(Type::error, std::move(text));
}
inline Reply big(std::string text) {
  return Reply::make_text(Type::big_number, std::move(text));
}
inline Reply array(std::vector<Reply> v) {
  return Reply::make_aggregate(Type::array, std::move(v));
}
inline Reply map(std::vector<Reply> v) {
  return Reply::make_aggregate(Type::map, std::move(v));
}
inline Reply set(std::vector<Reply> v) {
  return Reply::make_aggregate(Type::set, std::move(v));
}
inline Reply push(std::vector<Reply> v) {
  return Reply::make_aggregate(Type::push, std::move(v));
}

}  // namespace slotwise::resp::test
