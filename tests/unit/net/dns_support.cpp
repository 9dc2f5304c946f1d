#include "dns_support.hpp"

#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace net_test {
namespace {

constexpr int type_a = 1;
constexpr int type_aaaa = 28;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void put16(std::string& out, int value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value);
}

}  // namespace

DnsServer::DnsServer() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  const auto where = net::address::parse("127.0.0.1", 0);
  ::sockaddr_in got{};
  ::socklen_t size = sizeof got;
  if (::bind(socket_.fd(), where->data(), where->size()) != 0 ||
      ::getsockname(socket_.fd(), reinterpret_cast<::sockaddr*>(&got), &size) != 0) {
    throw std::runtime_error("DNS server of the test");
  }
  port_ = ntohs(got.sin_port);
  thread_ = std::thread([this] { run(); });
}

DnsServer::~DnsServer() {
  stop_ = true;
  thread_.join();
}

std::string DnsServer::address() const {
  return "127.0.0.1:" + std::to_string(port_);
}

void DnsServer::set(const std::string& name, dns_answer a, dns_answer aaaa) {
  const std::scoped_lock lock{mutex_};
  record& r = records_[lower(name)];
  r.a = std::move(a);
  r.aaaa = std::move(aaaa);
}

int DnsServer::questions(const std::string& name) const {
  const std::scoped_lock lock{mutex_};
  const auto it = records_.find(lower(name));
  return it == records_.end() ? 0 : it->second.questions;
}

void DnsServer::run() {
  while (!stop_) {
    ::pollfd p{socket_.fd(), POLLIN, 0};
    if (::poll(&p, 1, 5) != 1) continue;
    char buffer[1500];
    ::sockaddr_in from{};
    ::socklen_t size = sizeof from;
    const ::ssize_t n = ::recvfrom(socket_.fd(), buffer, sizeof buffer, 0,
                                   reinterpret_cast<::sockaddr*>(&from), &size);
    if (n > 16) answer(std::string(buffer, static_cast<std::size_t>(n)), from);
  }
}

void DnsServer::answer(const std::string& query, const ::sockaddr_in& from) {
  std::string name;
  std::size_t at = 12;
  while (at < query.size() && query[at] != 0) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(query[at]));
    if (!name.empty()) name += '.';
    name += query.substr(at + 1, length);
    at += length + 1;
  }
  if (at + 5 > query.size()) return;
  const int type =
      static_cast<unsigned char>(query[at + 1]) * 256 + static_cast<unsigned char>(query[at + 2]);
  const std::string question = query.substr(12, at + 5 - 12);

  dns_answer reply;
  reply.rcode = 3;
  {
    const std::scoped_lock lock{mutex_};
    const auto it = records_.find(lower(name));
    if (it != records_.end()) {
      ++it->second.questions;
      reply = type == type_a ? it->second.a : it->second.aaaa;
    }
  }
  if (reply.silent) return;
  if (reply.delay.count() > 0) std::this_thread::sleep_for(reply.delay);

  std::string out = query.substr(0, 2);
  put16(out, 0x8180 | reply.rcode);
  put16(out, 1);
  put16(out, static_cast<int>(reply.ips.size()));
  put16(out, 0);
  put16(out, 0);
  out += question;
  for (const std::string& ip : reply.ips) {
    put16(out, 0xc00c);
    put16(out, type);
    put16(out, 1);
    put16(out, 0);
    put16(out, 3600);  // an hour: whoever caches will be found out
    char raw[16];
    ::inet_pton(type == type_aaaa ? AF_INET6 : AF_INET, ip.c_str(), raw);
    const int size = type == type_aaaa ? 16 : 4;
    put16(out, size);
    out.append(raw, static_cast<std::size_t>(size));
  }
  ::sendto(socket_.fd(), out.data(), out.size(), 0, reinterpret_cast<const ::sockaddr*>(&from),
           sizeof from);
}

}  // namespace net_test
