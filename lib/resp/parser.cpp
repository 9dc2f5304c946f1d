#include "resp/parser.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/reply_access.hpp"
#include "resp/number.hpp"

namespace slotwise::resp {
namespace {

bool is_line_end(const char* p) noexcept {
  return p[0] == '\r' && p[1] == '\n';
}

// "$64\r\n": the number and, as result, what follows its line. Null if that is
// not all there, or not a number of 1 to 18 digits: then the thorough way is to
// decide. The buffer ends with a 0.
const char* plain_number(const char* line, std::size_t& value) noexcept {
  constexpr std::ptrdiff_t most_digits = 18;  // cannot overflow
  const char* p = line + 1;
  std::size_t digit = static_cast<unsigned char>(*p) - std::size_t{'0'};
  value = 0;
  if (digit - 1 >= 9) return digit == 0 && is_line_end(p + 1) ? p + 3 : nullptr;
  do {
    value = value * 10 + digit;
    digit = static_cast<unsigned char>(*++p) - std::size_t{'0'};
  } while (digit <= 9);
  return is_line_end(p) && p - line <= most_digits ? p + 2 : nullptr;
}

// Where plain() puts a reply of its own.
struct ToView {
  ReplyView& out;
  bool text(Reply::Type type, std::string_view bytes) const noexcept {
    ReplyAccess::show_text(out, type, bytes);
    return true;
  }
  bool integer(std::int64_t value) const noexcept {
    ReplyAccess::show_integer(out, Reply::Type::integer, value);
    return true;
  }
  static bool nil() noexcept { return true; }
  static bool aggregate(Reply::Type, std::size_t) noexcept { return false; }
};

// Where plain() puts a part of a reply. False: it does not fit into the limits.
struct ToTree {
  TreeBuilder& tree;
  std::size_t room;
  bool text(Reply::Type type, std::string_view bytes) {
    if (bytes.size() > room) return false;
    room -= bytes.size();
    tree.add_text(type, bytes);
    return true;
  }
  bool integer(std::int64_t value) {
    tree.add_integer(value);
    return true;
  }
  bool nil() {
    tree.add_nil();
    return true;
  }
  bool aggregate(Reply::Type type, std::size_t count) {
    if (count > room / sizeof(Reply)) return false;
    if (!tree.open(type, count)) return false;
    room -= count * sizeof(Reply);
    return true;
  }
};

// "txt:Some string"
bool has_format(std::string_view text) noexcept {
  return text.size() >= 4 && text[3] == ':';
}

// The value that a bulk string stands for. A verbatim one has_format().
Reply bulk_reply(char type, std::string text) {
  if (type == '!') return Reply::make_text(Reply::Type::error, std::move(text));
  if (type == '$') return Reply::make_text(Reply::Type::string, std::move(text));
  const char format[] = {text[0], text[1], text[2]};
  Reply reply = Reply::make_text(Reply::Type::verbatim, std::move(text.erase(0, 4)));
  ReplyAccess::set_format(reply, format);
  return reply;
}

}  // namespace

Parser::Parser(Limits limits) noexcept
    : limits_(limits), tree_(std::clamp(limits.max_depth, 1, Limits::depth_ceiling)) {}

std::span<char> Parser::prepare(std::size_t min) {
  try {
    if (large_.active() && !large_.whole()) return large_.prepare();
    return in_.prepare(std::max(min, missing_));
  } catch (const std::bad_alloc&) {
    fail("out of memory");
    return {};
  }
}

void Parser::commit(std::size_t n) noexcept {
  if (large_.active() && !large_.whole()) {
    large_.commit(n);
    unfinished_ += n;
  } else {
    in_.commit(n);
  }
}

void Parser::feed(const char* data, std::size_t size) {
  while (size != 0 && !failed()) {
    const std::span<char> room = prepare();
    const std::size_t n = std::min(size, room.size());
    if (n == 0) return;
    std::memcpy(room.data(), data, n);
    commit(n);
    data += n;
    size -= n;
  }
}

bool Parser::next_scalar(ReplyView& out) {
  return !busy_ && in_.size() != 0 && (take_plain(out) || take_scalar(out));
}

// The value at `begin`, of which a byte is there, if it is whole and nothing about it is odd: what
// nearly every one of a busy client is. Returns its end; null: the thorough way is to decide.
template <class Sink>
inline const char* Parser::plain(const char* begin, Sink& sink) const {
  const char type = *begin;
  std::size_t number = 0;
  if (type == '$') {
    const char* const text = plain_number(begin, number);
    if (text == nullptr || static_cast<std::size_t>(in_.end() - text) < number + 2 ||
        !is_line_end(text + number) || number > limits_.max_bulk_bytes) {
      return nullptr;
    }
    return sink.text(Reply::Type::string, {text, number}) ? text + number + 2 : nullptr;
  }
  if (type == '+') {
    const bool ok = in_.end() - begin >= 5 && std::memcmp(begin, "+OK\r\n", 5) == 0;
    return ok && sink.text(Reply::Type::status, {begin + 1, 2}) ? begin + 5 : nullptr;
  }
  if (type == ':') {
    const char* const next = plain_number(begin, number);
    return next != nullptr && sink.integer(static_cast<std::int64_t>(number)) ? next : nullptr;
  }
  if (type == '*' || type == '%') {
    const char* const next = plain_number(begin, number);
    if (next == nullptr) return nullptr;
    const bool ok = type == '*' ? sink.aggregate(Reply::Type::array, number)
                                : sink.aggregate(Reply::Type::map, 2 * number);
    return ok ? next : nullptr;
  }
  return type == '_' && is_line_end(begin + 1) && sink.nil() ? begin + 3 : nullptr;
}

// The hot path of replies.
bool Parser::take_plain(ReplyView& out) noexcept {
  const char* const begin = in_.begin();
  ToView sink{out};
  const char* const end = plain(begin, sink);
  if (end == nullptr) return false;
  in_.consume(static_cast<std::size_t>(end - begin));
  looked_ = 0;  // a part of it may have come before
  return true;
}

// Every other value that is one token. Whatever is not plainly good is left for
// next_slow(), which looks again and says what is wrong.
bool Parser::take_scalar(ReplyView& out) {
  Token token;
  if (scan_line(in_.begin(), in_.end(), looked_, token) != LineScan::whole) return false;
  switch (token.type) {
    case '$':
      if (token.number >= 0) {
        if (!find_body(token)) return false;
        ReplyAccess::show_text(out, Reply::Type::string, token.text);
        break;
      }
      [[fallthrough]];
    case '_':
      ReplyAccess::show_nil(out);
      break;
    case '*':
      if (token.number >= 0) return false;
      ReplyAccess::show_nil(out);
      break;
    case ':':
      ReplyAccess::show_integer(out, Reply::Type::integer, token.number);
      break;
    case '+':
    case '-':
      if (token.text.size() > limits_.max_bulk_bytes) return false;
      ReplyAccess::show_text(out, token.type == '+' ? Reply::Type::status : Reply::Type::error,
                             token.text);
      break;
    case '#':
      ReplyAccess::show_integer(out, Reply::Type::boolean, token.text == "t");
      break;
    case ',': {
      const auto real = parse_double(token.text);
      if (!real) return false;
      ReplyAccess::show_real(out, *real);
      break;
    }
    case '!':
      if (!find_body(token)) return false;
      ReplyAccess::show_text(out, Reply::Type::error, token.text);
      break;
    case '=':
      if (!find_body(token) || !has_format(token.text)) return false;
      ReplyAccess::show_format(out, token.text.data());
      ReplyAccess::show_text(out, Reply::Type::verbatim, token.text.substr(4));
      break;
    default:
      return false;
  }
  in_.consume(token.size);
  looked_ = 0;
  return true;
}

Status Parser::next(Reply& out) {
  try {
    ReplyView view;
    if (!next_scalar(view)) return next_slow(out);
    ReplyAccess::copy(view, out);
    return Status::reply;
  } catch (const std::bad_alloc&) {
    fail("out of memory");
    return Status::error;
  }
}

// One step of the value at hand after another, until a reply is whole or the
// bytes run out.
Status Parser::next_slow(Reply& out) {
  bool more = true;
  while (more && !failed()) {
    if (large_.active()) {
      if (!large_.whole()) break;
      if (finish_large(out)) return Status::reply;
    } else if (skip_ > 0) {
      more = skip_tokens();
    } else {
      ReplyView view;
      if (busy_ && !building_ && in_.size() != 0 && (take_plain(view) || take_scalar(view))) {
        ReplyAccess::copy(view, out);  // an attribute came before it
        finish_reply();
        return Status::reply;
      }
      more = build();
    }
    if (tree_.done()) {
      tree_.take(out);
      finish_reply();
      return out.type() == Reply::Type::push ? Status::push : Status::reply;
    }
  }
  return failed() ? Status::error : Status::need_more;
}

void Parser::begin_attribute(const Token& token) noexcept {
  consume(token);
  skip_ += children(token);
}

bool Parser::skip_tokens() {
  while (skip_ > 0) {
    Token token;
    if (!scan(token)) return false;
    if (token.type == '|') {  // belongs to the value after it, so it is none itself
      begin_attribute(token);
    } else {
      consume(token);
      skip_ += children(token) - 1;
    }
  }
  return true;
}

// Goes on with the reply, or begins it. True: it is whole, or something in it
// is to be skipped first.
bool Parser::build() {
  do {
    if (building_ && build_plain()) return true;
    Token token;
    if (!scan(token)) return false;
    busy_ = true;
    if (token.type == '|') {
      begin_attribute(token);
      return true;
    }
    building_ = true;
    consume(token);
    if (!tree_.add(token)) return fail(tree_.fault());
  } while (!tree_.done());
  return true;
}

// As many values as are plain, one after the other. True: the reply is whole.
bool Parser::build_plain() {
  const char* const begin = in_.begin();
  const std::size_t room = limits_.max_reply_bytes - charged_;
  ToTree sink{tree_, room};
  const char* at = begin;
  while (at != in_.end()) {
    const char* const next = plain(at, sink);
    if (next == nullptr) break;
    at = next;
    if (tree_.done()) break;
  }
  if (at == begin) return false;
  in_.consume(static_cast<std::size_t>(at - begin));
  looked_ = missing_ = 0;
  unfinished_ += static_cast<std::size_t>(at - begin);
  charged_ += room - sink.room;
  return tree_.done();
}

// True: it was a reply of its own. Else it was part of one, or the parser has
// failed.
bool Parser::finish_large(Reply& out) {
  const char type = large_.type();
  std::string text;
  if (!large_.take(text)) return fail("a bulk string without a line end after it");
  if (type == '=' && !has_format(text)) return fail("a verbatim string without a format");
  if (skip_ > 0) {
    --skip_;
  } else if (building_) {
    tree_.add(bulk_reply(type, std::move(text)));
  } else {
    out = bulk_reply(type, std::move(text));
    finish_reply();
    return true;
  }
  return false;
}

// The token at the front of the buffer, within the limits. False: it is not
// whole, or is none.
bool Parser::scan(Token& token) {
  missing_ = 0;
  if (in_.size() == 0) return false;
  const LineScan result = scan_line(in_.begin(), in_.end(), looked_, token);
  if (result == LineScan::fault) return fail(token.fault);
  const std::size_t room = limits_.max_reply_bytes - charged_;
  if (is_aggregate(token.type) && children(token) > room / sizeof(Reply)) {
    return fail("an aggregate of " + std::to_string(token.number) +
                " members would pass the limit of " + std::to_string(limits_.max_reply_bytes) +
                " bytes for one reply (max_reply_bytes)");
  }
  const bool bulk = result == LineScan::whole && is_bulk(token.type) && token.number >= 0;
  const std::size_t text = result == LineScan::partial ? looked_
                           : bulk                      ? static_cast<std::size_t>(token.number)
                                                       : token.text.size();
  if (text > limits_.max_bulk_bytes) {
    return fail("a string of " + std::to_string(text) + " bytes is over the limit of " +
                std::to_string(limits_.max_bulk_bytes) + " (max_reply_bytes)");
  }
  if (text > room) {
    return fail("a reply of more than " + std::to_string(limits_.max_reply_bytes) +
                " bytes (max_reply_bytes)");
  }
  return result == LineScan::whole && (!bulk || scan_body(token));
}

bool Parser::scan_body(Token& token) {
  if (find_body(token)) {
    if (token.type != '=' || has_format(token.text)) return true;
    return fail("a verbatim string without a format");
  }
  const auto length = static_cast<std::size_t>(token.number);
  const std::size_t here = in_.size() - token.size;
  if (here >= length + 2) return fail("a bulk string without a line end after it");
  missing_ = length + 2 - here;
  if (missing_ > LargeBulk::threshold) {
    large_.start(token.type, length, {in_.begin() + token.size, here});
    token.size += here;
    token.text = {};
    charged_ += length;
    consume(token);
    missing_ = 0;
    busy_ = true;
  }
  return false;
}

// If all bytes of the bulk are here and well ended, makes them part of the
// token.
bool Parser::find_body(Token& token) const noexcept {
  const auto length = static_cast<std::size_t>(token.number);
  const char* const body = in_.begin() + token.size;
  const auto here = static_cast<std::size_t>(in_.end() - body);
  if (here < 2 || length > here - 2 || length > limits_.max_bulk_bytes) return false;
  if (!is_line_end(body + length)) return false;
  token.text = {body, length};
  token.size += length + 2;
  return true;
}

void Parser::consume(const Token& token) noexcept {
  in_.consume(token.size);
  looked_ = 0;
  unfinished_ += token.size;
  charged_ += children(token) * sizeof(Reply) + token.text.size();
}

void Parser::finish_reply() noexcept {
  busy_ = building_ = false;
  looked_ = 0;
  charged_ = 0;
  unfinished_ = 0;
}

bool Parser::fail(const std::string& text) {
  std::string fault =
      "protocol error: " + text;  // before reset(): `text` may lie in what it clears
  reset();
  fault_ = std::move(fault);
  busy_ = true;
  return false;
}

void Parser::trim() noexcept {
  in_.trim();
  if (!busy_) tree_.clear();
}

void Parser::reset() noexcept {
  in_.clear();
  large_.clear();
  tree_.clear();
  fault_.clear();
  missing_ = skip_ = 0;
  finish_reply();
}

}  // namespace slotwise::resp
