#include <slotwise/reply.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>

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
