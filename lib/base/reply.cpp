#include <slotwise/reply.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <slotwise/reply_view.hpp>

#include "base/reply_access.hpp"

namespace slotwise {
namespace {

constexpr std::string_view cut_mark = "...";

// Builds the line of describe() and stops when it is long enough.
class Description {
 public:
  explicit Description(std::size_t limit) : limit_(limit) {}

  std::string of(const Reply& reply) && {
    add(reply);
    return std::move(line_);
  }

 private:
  bool full() const noexcept { return line_.size() >= limit_; }

  // False: the mark that something is missing was put in its place.
  bool room_for_more() {
    if (full() && !cut_) {
      line_ += cut_mark;
      cut_ = true;
    }
    return !cut_;
  }

  void add(const Reply& reply) {
    using enum Reply::Type;
    switch (reply.type()) {
      case nil:
        line_ += "nil";
        break;
      case integer:
        add_number(reply.integer());
        break;
      case real:
        add_number(reply.real());
        break;
      case boolean:
        line_ += reply.boolean() ? "true" : "false";
        break;
      case error:
        line_ += "error ";
        [[fallthrough]];
      case string:
        line_ += '"';
        add_escaped(reply.text());
        line_ += '"';
        break;
      case verbatim:
        line_ += reply.format();
        line_ += ":\"";
        add_escaped(reply.text());
        line_ += '"';
        break;
      case status:
      case big_number:
        add_escaped(reply.text());
        break;
      case map:
        add_members(reply.elements(), "{", "}", true);
        break;
      case array:
        add_members(reply.elements(), "[", "]", false);
        break;
      case set:
        add_members(reply.elements(), "set[", "]", false);
        break;
      case push:
        add_members(reply.elements(), "push[", "]", false);
        break;
    }
  }

  void add_members(std::span<const Reply> members, std::string_view open, std::string_view close,
                   bool pairs) {
    line_ += open;
    for (std::size_t i = 0; i != members.size() && room_for_more(); ++i) {
      if (i != 0) line_ += pairs && i % 2 == 1 ? ": " : ", ";
      add(members[i]);
    }
    line_ += close;
  }

  void add_escaped(std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    for (const char c : text) {
      if (!room_for_more()) return;
      const auto byte = static_cast<unsigned char>(c);
      switch (c) {
        case '\n':
          line_ += "\\n";
          break;
        case '\r':
          line_ += "\\r";
          break;
        case '\t':
          line_ += "\\t";
          break;
        case '"':
        case '\\':
          line_ += '\\';
          line_ += c;
          break;
        default:
          if (byte >= 0x20 && byte < 0x7f) {
            line_ += c;
          } else {
            line_ += "\\x";
            line_ += hex[byte >> 4];
            line_ += hex[byte & 15];
          }
      }
    }
  }

  template <class T>
  void add_number(T value) {
    char text[32];
    line_.append(text, std::to_chars(text, std::end(text), value).ptr);
  }

  std::size_t limit_;
  bool cut_ = false;
  std::string line_;
};

}  // namespace

const Reply* Reply::find(std::string_view key) const noexcept {
  if (type_ != Type::map && type_ != Type::array) return nullptr;
  const std::span<const Reply> all = elements();
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i].is_text() && all[i].text() == key) return &all[i + 1];
  }
  return nullptr;
}

std::string Reply::describe(std::size_t limit) const {
  return Description(limit).of(*this);
}

bool operator==(const Reply& a, const Reply& b) noexcept {
  return a.type_ == b.type_ && a.format() == b.format() && a.value_ == b.value_;
}

ReplyView::ReplyView(Reply& reply) noexcept
    : type_(reply.type()), text_(reply.text()), whole_(&reply) {
  if (type_ == Type::integer) integer_ = reply.integer();
  if (type_ == Type::boolean) integer_ = reply.boolean() ? 1 : 0;
  if (type_ == Type::real) real_ = reply.real();
  if (type_ == Type::verbatim) std::copy_n(reply.format().data(), 3, format_);
}

Reply ReplyView::take() {
  if (whole_ != nullptr) return std::move(*whole_);
  Reply reply;
  ReplyAccess::copy(*this, reply);
  return reply;
}

void ReplyAccess::copy(const ReplyView& view, Reply& reply) {
  switch (view.type_) {
    case Type::nil:
      return set_nil(reply);
    case Type::integer:
      return set<std::int64_t>(reply, view.type_, view.integer_);
    case Type::boolean:
      return set<bool>(reply, view.type_, view.integer_ != 0);
    case Type::real:
      return set<double>(reply, view.type_, view.real_);
    case Type::verbatim:
      set_format(reply, view.format_);
      [[fallthrough]];
    default:
      if (view.whole_ != nullptr && view.is_aggregate()) {
        reply = *view.whole_;
        return;
      }
      return set_text(reply, view.type_, view.text_);
  }
}

std::string_view to_string(Reply::Type type) noexcept {
  switch (type) {
    case Reply::Type::nil:
      return "null";
    case Reply::Type::status:
      return "simple string";
    case Reply::Type::string:
      return "bulk string";
    case Reply::Type::error:
      return "error";
    case Reply::Type::integer:
      return "integer";
    case Reply::Type::real:
      return "double";
    case Reply::Type::boolean:
      return "boolean";
    case Reply::Type::big_number:
      return "big number";
    case Reply::Type::verbatim:
      return "verbatim string";
    case Reply::Type::array:
      return "array";
    case Reply::Type::map:
      return "map";
    case Reply::Type::set:
      return "set";
    case Reply::Type::push:
      return "push";
  }
  return "unknown";
}

}  // namespace slotwise
