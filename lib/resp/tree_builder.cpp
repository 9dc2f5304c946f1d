#include "resp/tree_builder.hpp"

#include <algorithm>
#include <utility>

#include "resp/number.hpp"

namespace slotwise::resp {
namespace {

// "-123", of any length.
bool is_big_number(std::string_view text) noexcept {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool TreeBuilder::open(Type type, std::size_t count) {
  if (open_.size() >= max_depth_) {
    return fail("nesting deeper than the limit of " + std::to_string(max_depth_) +
                " levels (max_reply_depth)");
  }
  std::vector<Reply>& members = ReplyAccess::set_aggregate(*next_, type);
  if (count == 0) {
    advance();
    return true;
  }
  const std::size_t room = std::min(count, first_room);
  members = std::vector<Reply>(room);
  open_.push_back({&members, count - room, next_, end_});
  next_ = members.data();
  end_ = next_ + room;
  return true;
}

// The room that there was is filled: of the innermost aggregate, and of those
// that it was the last value of.
void TreeBuilder::use_up() {
  while (next_ == end_) {
    if (open_.empty()) {
      next_ = nullptr;
      return;
    }
    Open& innermost = open_.back();
    if (innermost.missing != 0) return grow(innermost);
    next_ = innermost.outer_next + 1;
    end_ = innermost.outer_end;
    open_.pop_back();
  }
}

void TreeBuilder::grow(Open& innermost) {
  std::vector<Reply>& members = *innermost.members;
  const std::size_t filled = members.size();
  const std::size_t more = std::min(innermost.missing, filled);
  members.reserve(filled + more);  // resize() alone may take more than that
  members.resize(filled + more);
  innermost.missing -= more;
  next_ = members.data() + filled;
  end_ = next_ + more;
}

bool TreeBuilder::add(const Token& token) {
  const bool null = token.number < 0;
  switch (token.type) {
    case '$':
      null ? add_nil() : add_text(Type::string, token.text);
      return true;
    case '*':
      if (!null) return open(Type::array, children(token));
      [[fallthrough]];
    case '_':
      add_nil();
      return true;
    case '%':
      return open(Type::map, children(token));
    case '~':
      return open(Type::set, children(token));
    case '>':
      return open(Type::push, children(token));
    case ':':
      add_integer(token.number);
      return true;
    case '+':
      add_text(Type::status, token.text);
      return true;
    case '-':
    case '!':
      add_text(Type::error, token.text);
      return true;
    case '#':
      add(Reply::make_boolean(token.text == "t"));
      return true;
    case ',': {
      const auto value = parse_double(token.text);
      if (!value) return fail("a double that is none, or out of range");
      add(Reply::make_real(*value));
      return true;
    }
    case '(':
      if (!is_big_number(token.text)) return fail("a big number with other bytes in it");
      add_text(Type::big_number, token.text);
      return true;
    case '=':  // "txt:Some string", as the parser has made sure
      ReplyAccess::set_format(*next_, token.text.data());
      add_text(Type::verbatim, token.text.substr(4));
      return true;
    default:
      return fail("a byte that begins no type");  // the parser has asked before
  }
}

bool TreeBuilder::fail(std::string text) {
  fault_ = std::move(text);
  return false;
}

void TreeBuilder::start_anew() noexcept {
  root_ = Reply();
  next_ = &root_;
  end_ = &root_ + 1;
}

void TreeBuilder::take(Reply& out) noexcept {
  out = std::move(root_);
  start_anew();
}

void TreeBuilder::clear() noexcept {
  open_ = std::vector<Open>();  // and its memory
  fault_.clear();
  start_anew();
}

}  // namespace slotwise::resp
