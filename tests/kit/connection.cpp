#include "kit/connection.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/time.h>

#include <algorithm>

#include "kit/connection_tls.hpp"
#include "kit/error.hpp"

namespace slotwise::kit {

namespace {

timeval to_timeval(milliseconds time) {
  return {.tv_sec = static_cast<time_t>(time.count() / 1000),
          .tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

Reply::Type type_of(int type) {
  switch (type) {
    case REDIS_REPLY_STRING:
      return Reply::Type::string;
    case REDIS_REPLY_ARRAY:
      return Reply::Type::array;
    case REDIS_REPLY_INTEGER:
      return Reply::Type::integer;
    case REDIS_REPLY_NIL:
      return Reply::Type::nil;
    case REDIS_REPLY_STATUS:
      return Reply::Type::status;
    case REDIS_REPLY_ERROR:
      return Reply::Type::error;
    case REDIS_REPLY_DOUBLE:
      return Reply::Type::real;
    case REDIS_REPLY_BOOL:
      return Reply::Type::boolean;
    case REDIS_REPLY_MAP:
      return Reply::Type::map;
    case REDIS_REPLY_SET:
      return Reply::Type::set;
    case REDIS_REPLY_PUSH:
      return Reply::Type::push;
    default:
      return Reply::Type::other;
  }
}

Reply convert(const redisReply& from) {
  Reply reply;
  reply.type = type_of(from.type);
  reply.integer = from.integer;
  reply.real = from.type == REDIS_REPLY_DOUBLE ? from.dval : 0;
  if (from.str != nullptr) reply.text.assign(from.str, from.len);
  reply.items.reserve(from.elements);
  for (std::size_t i = 0; i < from.elements; ++i)
    reply.items.push_back(convert(*from.element[i]));
  return reply;
}

std::string describe(const std::vector<std::string>& words) {
  if (!words.empty() && (words[0] == "AUTH" || words[0] == "HELLO")) return words[0];
  std::string text;
  for (const auto& word : words) {
    if (text.size() > 100) return text + " ...";
    text += (text.empty() ? "" : " ") + word.substr(0, 60);
  }
  return text;
}

}  // namespace

std::string Address::to_string() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

void Connection::Closer::operator()(redisContext* context) const noexcept {
  redisFree(context);
}

Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Connection::Connection(const Address& address, ConnectionOptions options)
    : address_(address), options_(std::move(options)) {
  const timeval connect_limit = to_timeval(options_.connect_limit);
  const timeval command_limit = to_timeval(options_.command_limit);
  redisOptions how{};
  REDIS_OPTIONS_SET_TCP(&how, address_.host.c_str(), address_.port);
  how.connect_timeout = &connect_limit;
  how.command_timeout = &command_limit;
  // Pushes are replies for read(), and skipped by command(); hiredis would free them unseen.
  how.options |= REDIS_OPT_NO_PUSH_AUTOFREE;
  context_.reset(redisConnectWithOptions(&how));
  if (!context_ || context_->err != 0) fail("connect");
  ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
  if (options_.tls) start_tls();

  if (options_.resp3) {
    std::vector<std::string> hello{"HELLO", "3"};
    if (!options_.password.empty()) {
      hello.insert(hello.end(),
                   {"AUTH", options_.user.empty() ? "default" : options_.user, options_.password});
    }
    command_words(hello);
  } else if (!options_.user.empty()) {
    command("AUTH", options_.user, options_.password);
  } else if (!options_.password.empty()) {
    command("AUTH", options_.password);
  }
  if (!options_.name.empty()) command("CLIENT", "SETNAME", options_.name);
}

void Connection::start_tls() {
  try {
    start_tls_on(*context_, *options_.tls);
  } catch (const Error& error) {
    context_.reset();
    throw Error(fmt::format("{}: {}", address_.to_string(), error.what()));
  }
}

void Connection::fail(const std::string& doing) {
  std::string why = "out of memory";
  if (context_) why = context_->errstr[0] != '\0' ? context_->errstr : "time limit passed";
  context_.reset();
  throw Error(fmt::format("{}: cannot {}: {}", address_.to_string(), doing, why));
}

bool Connection::usable() const noexcept {
  if (!context_ || context_->err != 0) return false;
  // A readable connection that owes us nothing has been closed by the server (or has a push, which
  // a RESP2 connection for administration never gets).
  if (options_.resp3) return true;
  pollfd waiting{.fd = context_->fd, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) == 0;
}

void Connection::append(const std::vector<std::string>& words) {
  if (!context_) throw Error(fmt::format("{}: connection was lost before", address_.to_string()));
  std::vector<const char*> data;
  std::vector<std::size_t> sizes;
  for (const auto& word : words) {
    data.push_back(word.data());
    sizes.push_back(word.size());
  }
  if (redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), data.data(),
                             sizes.data()) != REDIS_OK) {
    fail("send " + describe(words));
  }
}

void Connection::send(const std::vector<std::string>& words) {
  append(words);
  int done = 0;
  while (done == 0) {
    if (redisBufferWrite(context_.get(), &done) != REDIS_OK) fail("send " + describe(words));
  }
}

Reply Connection::read() {
  if (!context_) throw Error(fmt::format("{}: connection was lost before", address_.to_string()));
  void* raw = nullptr;
  if (redisGetReply(context_.get(), &raw) != REDIS_OK || raw == nullptr) fail("read a reply");
  const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(raw),
                                                           freeReplyObject);
  return convert(*reply);
}

Reply Connection::try_command_words(const std::vector<std::string>& words) {
  append(words);
  try {
    while (true) {
      Reply reply = read();
      if (reply.type != Reply::Type::push) return reply;
    }
  } catch (const Error& error) {
    throw Error(fmt::format("{} ({})", error.what(), describe(words)));
  }
}

Reply Connection::command_words(const std::vector<std::string>& words) {
  Reply reply = try_command_words(words);
  if (reply.is_error()) {
    throw Error(fmt::format("{}: {}: {}", address_.to_string(), describe(words), reply.text));
  }
  return reply;
}

std::vector<Reply> Connection::pipeline(const std::vector<std::vector<std::string>>& commands) {
  for (const auto& words : commands)
    append(words);
  std::vector<Reply> replies;
  while (replies.size() < commands.size()) {
    Reply reply = read();
    if (reply.type != Reply::Type::push) replies.push_back(std::move(reply));
  }
  return replies;
}

}  // namespace slotwise::kit
