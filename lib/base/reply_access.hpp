// The one door to the inside of a Reply and a ReplyView: for what builds them in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <slotwise/reply.hpp>
#include <slotwise/reply_view.hpp>

namespace slotwise {

class ReplyAccess {
 public:
  using Type = Reply::Type;

  static void set_nil(Reply& reply) noexcept {
    reply.type_ = Type::nil;
    reply.value_.emplace<std::monostate>();
  }
  template <class T>
  static void set(Reply& reply, Type type, T value) noexcept {
    reply.type_ = type;
    if (T* old = std::get_if<T>(&reply.value_)) {
      *old = value;
    } else {
      reply.value_.emplace<T>(value);
    }
  }
  /// Copies the text, into the string that the reply has already if it has one.
  static void set_text(Reply& reply, Type type, std::string_view text) {
    reply.type_ = type;
    auto* old = std::get_if<std::string>(&reply.value_);
    if (old != nullptr && old->capacity() >= text.size() && old->capacity() <= most_room_kept) {
      old->assign(text);
    } else {
      // Not emplace(text) or assign(text): each costs more than a new string and a move.
      std::string& place = old != nullptr ? *old : reply.value_.emplace<std::string>();
      place = std::string(text);
    }
  }
  static void set_text(Reply& reply, Type type, std::string&& text) noexcept {
    reply.type_ = type;
    reply.value_.emplace<std::string>(std::move(text));
  }
  static void set_format(Reply& reply, const char* three_letters) noexcept {
    std::copy_n(three_letters, 3, reply.format_);
  }
  static std::vector<Reply>& set_aggregate(Reply& reply, Type type) noexcept {
    reply.type_ = type;
    return reply.value_.emplace<std::vector<Reply>>();
  }
  /// Only of an aggregate.
  static std::vector<Reply>& elements(Reply& reply) noexcept {
    return *std::get_if<std::vector<Reply>>(&reply.value_);
  }

  /// Makes `reply` what the view shows; a string of it is reused.
  static void copy(const ReplyView& view, Reply& reply);

  // A view that is filled in by the parser.
  static void show_nil(ReplyView& view) noexcept { view.type_ = Type::nil; }
  static void show_integer(ReplyView& view, Type type, std::int64_t value) noexcept {
    view.type_ = type;
    view.integer_ = value;
  }
  static void show_real(ReplyView& view, double value) noexcept {
    view.type_ = Type::real;
    view.real_ = value;
  }
  static void show_text(ReplyView& view, Type type, std::string_view text) noexcept {
    view.type_ = type;
    view.text_ = text;
  }
  static void show_format(ReplyView& view, const char* three_letters) noexcept {
    std::copy_n(three_letters, 3, view.format_);
  }

 private:
  /// A string with more room than this would keep it for ever.
  static constexpr std::size_t most_room_kept = 4096;
};

}  // namespace slotwise
