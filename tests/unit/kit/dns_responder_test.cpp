#include "kit/dns_responder.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "kit/error.hpp"
#include "socket_support.hpp"

using namespace kit_test;
using kit::DnsCode;
using kit::DnsResponder;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int type_a = 1;
constexpr int type_mx = 15;
constexpr int type_aaaa = 28;

struct Answer {
  int id = 0;
  int code = 0;
  std::vector<std::string> ips;
  std::vector<std::uint32_t> ttls;
};

/// A DNS client of its own, so that the responder is not judged by its own reading of the format.
class Asker {
 public:
  explicit Asker(const DnsResponder& dns)
      : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const auto to = kit::to_socket_address(dns.address());
    ::connect(socket_, to.data(), to.size);
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  ~Asker() { ::close(socket_); }

  void ask(int id, const std::string& name, int type) const {
    std::string query{static_cast<char>(id >> 8), static_cast<char>(id)};
    query += std::string("\1\0\0\1\0\0\0\0\0\0", 10);
    std::size_t from = 0;
    while (from < name.size()) {
      const auto dot = std::min(name.find('.', from), name.size());
      query += static_cast<char>(dot - from);
      query += name.substr(from, dot - from);
      from = dot + 1;
    }
    query += std::string{'\0', '\0', static_cast<char>(type), '\0', '\1'};
    ::send(socket_, query.data(), query.size(), 0);
    question_size_ = query.size();
  }
  std::optional<Answer> answer(std::chrono::milliseconds limit = 5s) const {
    if (!readable(socket_, limit)) return std::nullopt;
    std::array<unsigned char, 4096> raw{};
    ::recv(socket_, raw.data(), raw.size(), 0);
    const auto two = [&](std::size_t at) { return raw[at] * 256 + raw[at + 1]; };
    Answer answer{.id = two(0), .code = raw[3] & 15, .ips = {}, .ttls = {}};
    std::size_t at = question_size_;
    for (int i = two(6); i > 0; --i) {
      const auto size = static_cast<std::size_t>(two(at + 10));
      std::array<char, INET6_ADDRSTRLEN> text{};
      ::inet_ntop(size == 4 ? AF_INET : AF_INET6, raw.data() + at + 12, text.data(), text.size());
      answer.ips.emplace_back(text.data());
      answer.ttls.push_back(static_cast<std::uint32_t>(two(at + 6)) * 65536 +
                            static_cast<std::uint32_t>(two(at + 8)));
      at += 12 + size;
    }
    return answer;
  }
  Answer get(const std::string& name, int type = type_a) const {
    ask(++last_id_, name, type);
    auto got = answer();
    REQUIRE(got);
    CHECK(got->id == last_id_);
    return *got;
  }

 private:
  int socket_;
  mutable int last_id_ = 1000;
  mutable std::size_t question_size_ = 0;
};

using Ips = std::vector<std::string>;

}  // namespace

TEST_CASE("DNS responder: records of both families, which change") {
  DnsResponder dns;
  const Asker asker(dns);
  dns.set("n1.lab.test", {.ips = {"127.1.0.1", "127.1.0.2"}}, {.ips = {"::1"}, .ttl = 70000s});
  CHECK(asker.get("n1.lab.test").ips == Ips{"127.1.0.1", "127.1.0.2"});
  CHECK(asker.get("n1.lab.test").ttls == std::vector<std::uint32_t>{3600, 3600});
  CHECK(asker.get("n1.lab.test", type_aaaa).ips == Ips{"::1"});
  CHECK(asker.get("n1.lab.test", type_aaaa).ttls == std::vector<std::uint32_t>{70000});
  CHECK(dns.a("n1.lab.test").ips.front() == "127.1.0.1");
  dns.set("n1.lab.test", {.ips = {"127.1.0.9"}});
  CHECK(asker.get("n1.lab.test").ips == Ips{"127.1.0.9"});
  CHECK(asker.get("n1.lab.test", type_aaaa).ips.empty());
  CHECK(asker.get("n1.lab.test", type_mx).code == 0);
  CHECK_THROWS_AS(dns.set("n1.lab.test", {.ips = {"::1"}}), kit::Error);
  CHECK_THROWS_AS(dns.set("n1.lab.test", {}, {.ips = {"127.0.0.1"}}), kit::Error);
  CHECK(asker.get("n1.lab.test").ips == Ips{"127.1.0.9"});
}

TEST_CASE("DNS responder: names in any case, and questions are counted by name") {
  DnsResponder dns;
  const Asker asker(dns);
  dns.set("N1.Lab.test.", {.ips = {"127.1.0.1"}});
  CHECK(asker.get("n1.lab.TEST").ips == Ips{"127.1.0.1"});
  CHECK(asker.get("unknown.test").code == 3);
  CHECK(asker.get("unknown.test").code == 3);
  CHECK(dns.questions("n1.lab.test") == 1);
  CHECK(dns.questions("Unknown.Test.") == 2);
  CHECK(dns.questions("never.test") == 0);
  CHECK(dns.questions() == 3);
  dns.remove("n1.lab.test");
  CHECK(asker.get("n1.lab.test").code == 3);
}

TEST_CASE("DNS responder: failures, empty answers, silence") {
  DnsResponder dns;
  const Asker asker(dns);
  dns.set("fail.test", {.code = DnsCode::servfail}, {.code = DnsCode::refused});
  CHECK(asker.get("fail.test").code == 2);
  CHECK(asker.get("fail.test", type_aaaa).code == 5);
  dns.set("empty.test", {});
  CHECK(asker.get("empty.test").code == 0);
  CHECK(asker.get("empty.test").ips.empty());
  dns.set("mute.test", {.silent = true}, {.ips = {"::1"}});
  asker.ask(1, "mute.test", type_a);
  CHECK_FALSE(asker.answer(100ms));
  CHECK(dns.questions("mute.test") == 1);
  CHECK(asker.get("mute.test", type_aaaa).ips == Ips{"::1"});
}

TEST_CASE("DNS responder: an answer that is delayed holds up no other") {
  DnsResponder dns;
  const Asker asker(dns);
  dns.set("slow.test", {.ips = {"127.1.0.1"}, .delay = 150ms});
  dns.set("fast.test", {.ips = {"127.1.0.2"}});
  const auto start = Clock::now();
  asker.ask(1, "slow.test", type_a);
  asker.ask(2, "fast.test", type_a);
  CHECK(asker.answer().value().id == 2);
  CHECK(asker.answer().value().id == 1);
  CHECK(Clock::now() - start >= 150ms);
  dns.set("later.test", {.ips = {"127.1.0.1"}, .delay = 1min});
  asker.ask(3, "later.test", type_a);
  CHECK_FALSE(asker.answer(20ms));  // and the end of the responder does not wait for it
}

TEST_CASE("DNS responder: nonsense is not answered and does no harm") {
  DnsResponder dns;
  const Asker asker(dns);
  dns.set("n1.test", {.ips = {"127.1.0.1"}});
  const auto to = kit::to_socket_address(dns.address());
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (const std::string& bytes :
       {std::string("x"), std::string(12, '\0'), std::string(13, '\77'), std::string(40, '\377')}) {
    ::sendto(fd, bytes.data(), bytes.size(), 0, to.data(), to.size);
  }
  CHECK(asker.get("n1.test").ips == Ips{"127.1.0.1"});
  CHECK_FALSE(readable(fd, 0ms));
  ::close(fd);
}
