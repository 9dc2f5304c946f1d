#include "kit/dns_responder.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>

#include "kit/error.hpp"

namespace slotwise::kit {

namespace {

constexpr int type_a = 1;
constexpr int type_aaaa = 28;

std::string canonical(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string result(name);
  for (char& c : result)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// An ip as it stands in a record; empty if it is none of this family.
std::string to_wire(const std::string& ip, int type) {
  std::array<char, 16> raw{};
  if (::inet_pton(type == type_a ? AF_INET : AF_INET6, ip.c_str(), raw.data()) != 1) return {};
  return {raw.data(), type == type_a ? 4U : 16U};
}

void check(const DnsAnswer& answer, int type) {
  for (const auto& ip : answer.ips) {
    if (!to_wire(ip, type).empty()) continue;
    throw Error(fmt::format("'{}' is no IPv{} address", ip, type == type_a ? 4 : 6));
  }
}

void put16(std::string& out, std::int64_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value);
}

struct Question {
  std::string name;  // canonical
  int type = 0;
  std::string_view bytes;  // as it stands in the query
};

constexpr std::size_t header_size = 12;

std::optional<Question> parse(std::string_view query) {
  Question question;
  std::size_t at = header_size;
  while (at < query.size() && query[at] != 0) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(query[at]));
    if (!question.name.empty()) question.name += '.';
    question.name += query.substr(at + 1, length);
    at += length + 1;
  }
  if (at + 5 > query.size()) return std::nullopt;
  question.name = canonical(question.name);
  question.type =
      static_cast<unsigned char>(query[at + 1]) * 256 + static_cast<unsigned char>(query[at + 2]);
  question.bytes = query.substr(header_size, at + 5 - header_size);
  return question;
}

std::string reply_to(std::string_view query, const Question& question, const DnsAnswer& answer) {
  std::string out(query.substr(0, 2));
  put16(out, 0x8180 | static_cast<int>(answer.code));
  put16(out, 1);
  put16(out, static_cast<std::int64_t>(answer.ips.size()));
  put16(out, 0);
  put16(out, 0);
  out += question.bytes;
  for (const std::string& ip : answer.ips) {
    const std::string raw = to_wire(ip, question.type);
    put16(out, 0xc00c);  // the name of the question
    put16(out, question.type);
    put16(out, 1);
    put16(out, answer.ttl.count() >> 16);
    put16(out, answer.ttl.count());
    put16(out, static_cast<std::int64_t>(raw.size()));
    out += raw;
  }
  return out;
}

}  // namespace

DnsResponder::DnsResponder() {
  fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto where = to_socket_address({"127.0.0.1", 0});
  ::sockaddr_in got{};
  ::socklen_t size = sizeof got;
  if (::bind(fd_, where.data(), where.size) != 0 ||
      ::getsockname(fd_, reinterpret_cast<::sockaddr*>(&got), &size) != 0) {
    const int error = errno;
    ::close(fd_);
    throw Error(fmt::format("no UDP port for a DNS responder: {}", std::strerror(error)));
  }
  address_ = {"127.0.0.1", ntohs(got.sin_port)};
  thread_ = std::thread([this] { run(); });
}

DnsResponder::~DnsResponder() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.signal();
  thread_.join();
  ::close(fd_);
}

void DnsResponder::set(std::string_view name, DnsAnswer a, DnsAnswer aaaa) {
  check(a, type_a);
  check(aaaa, type_aaaa);
  const std::lock_guard lock(mutex_);
  table_[canonical(name)] = {std::move(a), std::move(aaaa)};
}

void DnsResponder::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  table_.erase(canonical(name));
}

DnsAnswer DnsResponder::a(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return look_up(canonical(name), type_a);
}

DnsAnswer DnsResponder::aaaa(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return look_up(canonical(name), type_aaaa);
}

int DnsResponder::questions(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(canonical(name));
  return found == questions_.end() ? 0 : found->second;
}

int DnsResponder::questions() const {
  const std::lock_guard lock(mutex_);
  int sum = 0;
  for (const auto& [name, count] : questions_)
    sum += count;
  return sum;
}

/// Needs mutex_.
DnsAnswer DnsResponder::look_up(const std::string& name, int type) const {
  const auto found = table_.find(name);
  if (found == table_.end()) return {.code = DnsCode::nxdomain};
  if (type == type_a) return found->second.a;
  return type == type_aaaa ? found->second.aaaa : DnsAnswer();
}

void DnsResponder::run() {
  std::array<char, 4096> buffer{};
  while (true) {
    const int wait_ms = send_due();
    std::array<::pollfd, 2> fds{{{.fd = fd_, .events = POLLIN, .revents = 0},
                                 {.fd = wake_.fd(), .events = POLLIN, .revents = 0}}};
    ::poll(fds.data(), fds.size(), wait_ms);
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    if (fds[0].revents == 0) continue;
    ::sockaddr_in from{};
    ::socklen_t size = sizeof from;
    const auto n = ::recvfrom(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT,
                              reinterpret_cast<::sockaddr*>(&from), &size);
    if (n > 0) answer({buffer.data(), static_cast<std::size_t>(n)}, from);
  }
}

void DnsResponder::answer(std::string_view query, const ::sockaddr_in& from) {
  const auto question = parse(query);
  if (!question) return;
  DnsAnswer reply;
  {
    const std::lock_guard lock(mutex_);
    ++questions_[question->name];
    reply = look_up(question->name, question->type);
  }
  if (reply.silent) return;
  Letter letter{reply_to(query, *question, reply), from};
  if (reply.delay.count() > 0) {
    delayed_.emplace(Clock::now() + reply.delay, std::move(letter));
  } else {
    send(letter);
  }
}

void DnsResponder::send(const Letter& letter) const {
  ::sendto(fd_, letter.bytes.data(), letter.bytes.size(), 0,
           reinterpret_cast<const ::sockaddr*>(&letter.to), sizeof letter.to);
}

/// Sends what is due; milliseconds until the next, or -1.
int DnsResponder::send_due() {
  while (!delayed_.empty()) {
    const auto next = delayed_.begin();
    const auto left = std::chrono::ceil<milliseconds>(next->first - Clock::now());
    if (left.count() > 0) return static_cast<int>(left.count());
    send(next->second);
    delayed_.erase(next);
  }
  return -1;
}

}  // namespace slotwise::kit
