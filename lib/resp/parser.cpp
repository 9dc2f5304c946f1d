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

// Tokens are handed to the tree builder in runs of about this size: it keeps the reader's buffer
// small, and the cost of a hand-over does not show.
constexpr std::size_t run_size = 4096;

bool is_line_end(const char* p) noexcept {
  return p[0] == '\r' && p[1] == '\n';
}

// "$64\r\n": the number and, as result, what follows its line. Null if that is not all there, or
// not a number from 1 to 18 digits: then the thorough way is to decide. The buffer ends with a 0.
const char* plain_number(const char* line, std::size_t& value) noexcept {
  constexpr std::ptrdiff_t most_digits = 18;  // cannot overflow
  const char* p = line + 1;
  std::size_t digit = static_cast<unsigned char>(*p) - std::size_t{'0'};
  if (digit - 1 >= 9) return nullptr;
  value = 0;
  do {
    value = value * 10 + digit;
    digit = static_cast<unsigned char>(*++p) - std::size_t{'0'};
  } while (digit <= 9);
  return is_line_end(p) && p - line <= most_digits ? p + 2 : nullptr;
}

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

// The hot path: what nearly every reply of a busy client looks like. It pays for itself: see
// README.md.
bool Parser::take_plain(ReplyView& out) noexcept {
  const char* const begin = in_.begin();
  std::size_t size = 0;
  if (*begin == '$') {
    std::size_t length = 0;
    const char* const text = plain_number(begin, length);
    if (text == nullptr || static_cast<std::size_t>(in_.end() - text) < length + 2 ||
        !is_line_end(text + length) || length > limits_.max_bulk_bytes) {
      return false;
    }
    ReplyAccess::show_text(out, Reply::Type::string, {text, length});
    size = static_cast<std::size_t>(text - begin) + length + 2;
  } else if (*begin == '+' && in_.size() >= 5 && std::memcmp(begin, "+OK\r\n", 5) == 0) {
    ReplyAccess::show_text(out, Reply::Type::status, {begin + 1, 2});
    size = 5;
  } else if (*begin == ':') {
    std::size_t number = 0;
    const char* const next = plain_number(begin, number);
    if (next == nullptr) return false;
    ReplyAccess::show_integer(out, Reply::Type::integer, static_cast<std::int64_t>(number));
    size = static_cast<std::size_t>(next - begin);
  } else if (*begin == '_' && is_line_end(begin + 1)) {
    size = 3;
  } else {
    return false;
  }
  in_.consume(size);
  looked_ = 0;  // a part of it may have come before
  return true;
}

// Every other value that is one token. Whatever is not plainly good is left for next_slow(), which
// looks again and says what is wrong.
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

// One step of the value at hand after another, until a reply is whole or the bytes run out.
Status Parser::next_slow(Reply& out) {
  bool more = true;
  while (more && !failed()) {
    if (large_.active()) {
      if (!large_.whole()) break;
      if (finish_large(out)) return Status::reply;
    } else if (skip_ > 0) {
      more = skip_tokens();
    } else if (open_ > 0) {
      more = build();
    } else {
      ReplyView view;
      if (busy_ && in_.size() != 0 && (take_plain(view) || take_scalar(view))) {
        ReplyAccess::copy(view, out);  // an attribute came before it
        finish_reply();
        return Status::reply;
      }
      more = begin();
    }
    if (tree_.done()) {
      tree_.take(out);
      finish_reply();
      return out.type() == Reply::Type::push ? Status::push : Status::reply;
    }
  }
  return failed() ? Status::error : Status::need_more;
}

// At a reply boundary, where no whole scalar is.
bool Parser::begin() {
  Token token;
  if (!scan(token)) return false;
  busy_ = true;
  if (token.type == '|') {
    begin_attribute(token);
  } else {
    open_ = 1;
  }
  return true;
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

// Goes on with an aggregate. True: it is whole, or something in it is to be skipped first.
bool Parser::build() {
  const char* run = in_.begin();  // tokens from here on are not handed over yet
  while (open_ > 0) {
    Token token;
    const char* const begin = in_.begin();
    if (!scan(token)) {
      if (!failed()) flush(run, begin);
      return false;
    }
    if (token.type == '|') {
      begin_attribute(token);
      return flush(run, begin);
    }
    consume(token);
    open_ += children(token) - 1;
    if (token.type == '!' || (token.type == '$' && token.text.size() >= LargeBulk::threshold)) {
      if (!flush(run, begin) || !hand_over(token.type, std::string(token.text))) return false;
      run = in_.begin();
    } else if (in_.begin() - run >= static_cast<std::ptrdiff_t>(run_size)) {
      if (!flush(run, in_.begin())) return false;
      run = in_.begin();
    }
  }
  return flush(run, in_.begin());
}

bool Parser::flush(const char* from, const char* to) {
  if (from == to || tree_.feed(from, static_cast<std::size_t>(to - from))) return !failed();
  return fail(tree_.fault());
}

// A string that goes into the tree without passing through the reader.
bool Parser::hand_over(char type, std::string text) {
  return tree_.feed_text(bulk_reply(type, std::move(text))) || fail(tree_.fault());
}

// True: it was a reply of its own. Else it was part of one, or the parser has failed.
bool Parser::finish_large(Reply& out) {
  const char type = large_.type();
  std::string text;
  if (!large_.take(text)) return fail("a bulk string without a line end after it");
  if (type == '=' && !has_format(text)) return fail("a verbatim string without a format");
  if (skip_ > 0) {
    --skip_;
  } else if (open_ > 0) {
    --open_;
    hand_over(type, std::move(text));
  } else {
    out = bulk_reply(type, std::move(text));
    finish_reply();
    return true;
  }
  return false;
}

// A whole bulk string or integer with nothing odd about it.
inline bool Parser::scan_plain(Token& token) const noexcept {
  const char* const begin = in_.begin();
  if (*begin != '$' && *begin != ':') return false;
  std::size_t number = 0;
  const char* const after = plain_number(begin, number);
  if (after == nullptr) return false;
  token.type = *begin;
  token.number = static_cast<std::int64_t>(number);
  token.size = static_cast<std::size_t>(after - begin);
  if (*begin == '$') {
    if (static_cast<std::size_t>(in_.end() - after) < number + 2) return false;
    if (!is_line_end(after + number) || number > limits_.max_bulk_bytes) return false;
    token.text = {after, number};
    token.size += number + 2;
  }
  return true;
}

// The token at the front of the buffer, within the limits. False: it is not whole, or is none.
bool Parser::scan(Token& token) {
  missing_ = 0;
  if (in_.size() == 0) return false;
  if (scan_plain(token) && token.text.size() <= limits_.max_reply_bytes - charged_) return true;
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

// If all bytes of the bulk are here and well ended, makes them part of the token.
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
  busy_ = false;
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
  missing_ = open_ = skip_ = 0;
  finish_reply();
}

}  // namespace slotwise::resp
