#include "net/tls.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>
#include <thread>

#include "net/stream.hpp"
#include "tls_support.hpp"

using namespace net_test;
using Catch::Matchers::ContainsSubstring;
using slotwise::net::io_mode;
using slotwise::net::io_status;
using slotwise::net::Stream;
using slotwise::net::tls_settings;
using slotwise::net::TlsContext;

namespace {

struct World {
  Certificate ca = make_ca("slotwise test CA");
  Folder folder;
  std::string ca_file = folder.write("ca.pem", ca.pem());
};

Stream open_stream(TlsContext& context, std::uint16_t port, const std::string& name) {
  const auto to = *net::address::parse("127.0.0.1", port);
  net::error err;
  net::Socket socket = net::Socket::tcp(AF_INET, err);
  socket.set_blocking(true);
  int sys = 0;
  REQUIRE(socket.start_connect(to, sys) == net::Socket::progress::connected);
  auto session = context.new_session(socket.fd(), name, err);
  REQUIRE_FALSE(err);
  return Stream(std::move(socket), to, std::move(session));
}

std::string handshake_error(const tls_settings& settings, std::uint16_t port,
                            const std::string& name) {
  net::error err;
  const auto context = TlsContext::make(settings, err);
  REQUIRE(context != nullptr);
  Stream stream = open_stream(*context, port, name);
  const auto r = stream.handshake(io_mode::blocking);
  return r.status == io_status::ok ? "" : stream.last_error().text;
}

std::string make_error(const tls_settings& settings) {
  net::error err;
  CHECK(TlsContext::make(settings, err) == nullptr);
  CHECK(err.code == net::errc::settings);
  return err.text;
}

std::string read_exactly(Stream& stream, std::size_t size, io_mode mode) {
  std::string result;
  std::vector<char> buffer(1000);
  const auto start = std::chrono::steady_clock::now();
  while (result.size() < size && elapsed_ms(start) < 10'000) {
    const auto r = stream.read(buffer, mode);
    result.append(buffer.data(), r.bytes);
    if (r.status == io_status::want_read) std::this_thread::sleep_for(1ms);
    if (r.status == io_status::eof || r.status == io_status::failed) break;
  }
  return result;
}

}  // namespace

TEST_CASE("TLS: chain and name are verified; SNI is sent for names, not for addresses") {
  World w;
  const auto leaf = make_leaf(w.ca, "node", "DNS:node-a.test,IP:127.0.0.1,IP:::1");
  TlsServer server(leaf);
  const tls_settings settings{.ca_file = w.ca_file};
  CHECK(handshake_error(settings, server.port(), "node-a.test") == "");
  CHECK(handshake_error(settings, server.port(), "NODE-A.test.") == "");
  CHECK(handshake_error(settings, server.port(), "127.0.0.1") == "");
  CHECK(handshake_error(settings, server.port(), "[::1]") == "");
  while (server.names().size() < 4)
    std::this_thread::yield();
  CHECK(server.names() == std::vector<std::string>{"node-a.test", "NODE-A.test", "", ""});
}

TEST_CASE("TLS: a wrong name is refused; the error says what was expected and what came") {
  World w;
  const auto leaf = make_leaf(w.ca, "node", "DNS:node-b.test,DNS:*.b.test,IP:10.0.0.7");
  TlsServer server(leaf);
  const tls_settings settings{.ca_file = w.ca_file};
  const std::string text = handshake_error(settings, server.port(), "node-a.test");
  CHECK_THAT(text, ContainsSubstring("\"node-a.test\""));
  CHECK_THAT(text, ContainsSubstring("DNS:node-b.test, DNS:*.b.test, IP:10.0.0.7"));
  CHECK_THAT(handshake_error(settings, server.port(), "127.0.0.1"),
             ContainsSubstring("\"127.0.0.1\"") && ContainsSubstring("IP:10.0.0.7"));
  tls_settings renamed = settings;
  renamed.server_name = "x.b.test";
  CHECK(handshake_error(renamed, server.port(), "127.0.0.1") == "");
  tls_settings chain_only = settings;
  chain_only.verify = net::tls_verify::chain;
  CHECK(handshake_error(chain_only, server.port(), "node-a.test") == "");
}

TEST_CASE("TLS: an unknown issuer, a self-signed and an expired certificate are refused") {
  World w;
  const tls_settings settings{.ca_file = w.ca_file};
  {
    TlsServer server(make_self_signed("lonely", "DNS:a.test"));
    CHECK_THAT(handshake_error(settings, server.port(), "a.test"),
               ContainsSubstring("self-signed") && ContainsSubstring("lonely"));
    tls_settings none = settings;
    none.verify = net::tls_verify::none;
    CHECK(handshake_error(none, server.port(), "a.test") == "");
    CHECK_THAT(handshake_error({}, server.port(), "a.test"),  // the system's store
               ContainsSubstring("certificate rejected"));
  }
  {
    const auto other = make_ca("another CA");
    TlsServer server(make_leaf(other, "node", "DNS:a.test"));
    CHECK_THAT(handshake_error(settings, server.port(), "a.test"),
               ContainsSubstring("issuer") && ContainsSubstring("another CA"));
  }
  {
    TlsServer server(make_leaf(w.ca, "node", "DNS:a.test", -1));
    CHECK_THAT(handshake_error(settings, server.port(), "a.test"), ContainsSubstring("expired"));
  }
}

TEST_CASE("TLS: a client certificate is presented, with an encrypted key too") {
  World w;
  TlsServer server(make_leaf(w.ca, "node", "DNS:a.test"), {.client_ca = &w.ca, .serve = {}});
  const auto client = make_leaf(w.ca, "app-7", "");
  tls_settings settings{.ca_file = w.ca_file};
  settings.cert_file = w.folder.write("client.pem", client.pem());
  settings.key_file = w.folder.write("client.key", client.key_pem("geheim"));
  settings.key_password = [] { return std::string("geheim"); };
  CHECK(handshake_error(settings, server.port(), "a.test") == "");
  while (server.clients().empty())
    std::this_thread::yield();
  CHECK(server.clients()[0] == "app-7");

  // Without one, TLS 1.3 says so only after the client's side of the handshake is over.
  net::error err;
  const auto bare = TlsContext::make({.ca_file = w.ca_file}, err);
  Stream stream = open_stream(*bare, server.port(), "a.test");
  CHECK(stream.handshake(io_mode::blocking).status == io_status::ok);
  char buffer[16];
  CHECK(stream.read(buffer, io_mode::blocking).status == io_status::failed);
  CHECK_THAT(stream.last_error().text, ContainsSubstring("certificate required"));
}

TEST_CASE("TLS: settings that cannot be used are named with their file and reason") {
  World w;
  const auto a = make_leaf(w.ca, "a", "");
  const auto b = make_leaf(w.ca, "b", "");
  const std::string cert = w.folder.write("a.pem", a.pem());
  const std::string key = w.folder.write("a.key", a.key_pem());
  const std::string wrong_key = w.folder.write("b.key", b.key_pem());
  const std::string locked = w.folder.write("locked.key", a.key_pem("pw-1234"));
  const std::string garbage = w.folder.write("garbage", "this is not a certificate\n");

  CHECK_THAT(make_error({.ca_file = "/no/such/ca.pem"}),
             ContainsSubstring("'/no/such/ca.pem'") && ContainsSubstring("no such file"));
  CHECK_THAT(make_error({.ca_file = garbage}), ContainsSubstring(garbage));
  CHECK_THAT(make_error({.ca_dir = "/no/such/dir"}), ContainsSubstring("'/no/such/dir'"));
  CHECK_THAT(make_error({.ca_dir = w.folder.path()}), ContainsSubstring("openssl rehash"));
  tls_settings s{.ca_file = w.ca_file};
  s.key_file = key;
  CHECK_THAT(make_error(s), ContainsSubstring("without a certificate"));
  s.cert_file = garbage;
  CHECK_THAT(make_error(s), ContainsSubstring(garbage));
  s.cert_file = cert;
  s.key_file = garbage;
  CHECK_THAT(make_error(s), ContainsSubstring(garbage));
  s.key_file = wrong_key;
  CHECK_THAT(make_error(s), ContainsSubstring("does not belong"));
  s.key_file = locked;
  CHECK_THAT(make_error(s), ContainsSubstring("no password"));
  s.key_password = [] { return std::string("nope-nope"); };
  CHECK_THAT(make_error(s), ContainsSubstring("password given is wrong"));
  s.key_password = []() -> std::string { throw 1; };
  CHECK_THAT(make_error(s), ContainsSubstring("password"));
  CHECK_THAT(make_error({.ca_file = w.ca_file, .ciphers = "NONSENSE"}),
             ContainsSubstring("NONSENSE"));
  net::error err;
  s.key_file.clear();
  s.cert_file = w.folder.write("both.pem", a.pem() + a.key_pem());
  CHECK(TlsContext::make(s, err) != nullptr);
}

TEST_CASE("TLS: a CA folder with hashed names is used") {
  World w;
  TlsServer server(make_leaf(w.ca, "node", "DNS:a.test"));
  char hashed[32];
  std::snprintf(hashed, sizeof hashed, "%08lx.0", X509_subject_name_hash(w.ca.cert.get()));
  w.folder.write(hashed, w.ca.pem());
  CHECK(handshake_error({.ca_dir = w.folder.path()}, server.port(), "a.test") == "");
}

TEST_CASE("TLS: the minimum version is kept") {
  World w;
  const auto leaf = make_leaf(w.ca, "node", "DNS:a.test");
  TlsServer old(leaf, {.client_ca = nullptr, .serve = {}, .max_version = TLS1_2_VERSION});
  tls_settings settings{.ca_file = w.ca_file};
  CHECK(handshake_error(settings, old.port(), "a.test") == "");
  settings.min_version = net::tls_version::tls_1_3;
  CHECK_THAT(handshake_error(settings, old.port(), "a.test"), ContainsSubstring("version"));
}

TEST_CASE("TLS: changed files are used by new connections, broken ones are not") {
  World w;
  const auto other_ca = make_ca("new CA");
  TlsServer old_server(make_leaf(w.ca, "node", "DNS:a.test"));
  TlsServer new_server(make_leaf(other_ca, "node", "DNS:a.test"));
  net::error err;
  const auto context = TlsContext::make({.ca_file = w.ca_file}, err);
  const auto works = [&](const TlsServer& server) {
    Stream stream = open_stream(*context, server.port(), "a.test");
    return stream.handshake(io_mode::blocking).status == io_status::ok;
  };
  CHECK(works(old_server));
  CHECK_FALSE(works(new_server));
  Stream live = open_stream(*context, old_server.port(), "a.test");
  CHECK(live.handshake(io_mode::blocking).status == io_status::ok);

  w.folder.write("ca.pem", "half a file");
  CHECK_FALSE(works(new_server));
  CHECK_THAT(context->last_reload_error().text, ContainsSubstring("ca.pem"));
  w.folder.write("ca.pem", other_ca.pem());
  CHECK(works(new_server));
  CHECK_FALSE(context->last_reload_error());

  CHECK(live.write(std::string_view("still"), io_mode::blocking).status == io_status::ok);
  CHECK(read_exactly(live, 5, io_mode::blocking) == "still");
  live.close();  // the server has one thread
  CHECK_FALSE(works(old_server));
  w.folder.write("ca.pem", w.ca.pem() + other_ca.pem());
  CHECK_FALSE(context->reload());
  CHECK(works(old_server));
}

TEST_CASE("TLS: data waiting inside the TLS layer is announced") {
  World w;
  // One record of 12,000 bytes and ten small ones in the same packet train.
  TlsServer server(make_leaf(w.ca, "node", "DNS:a.test"),
                   {.client_ca = nullptr, .serve = [](::SSL* ssl) {
                      const std::string big(12'000, 'a');
                      char one;
                      SSL_read(ssl, &one, 1);
                      SSL_write(ssl, big.data(), 12'000);
                      for (int i = 0; i < 10; ++i)
                        SSL_write(ssl, "bbbbb", 5);
                      SSL_read(ssl, &one, 1);
                    }});
  net::error err;
  const auto context = TlsContext::make({.ca_file = w.ca_file}, err);
  Stream stream = open_stream(*context, server.port(), "a.test");
  REQUIRE(stream.handshake(io_mode::blocking).status == io_status::ok);
  CHECK(stream.secure());
  CHECK(std::string(stream.tls_version()) == "TLSv1.3");
  char buffer[1000];
  CHECK(stream.read(buffer, io_mode::nonblocking).status == io_status::want_read);
  CHECK_FALSE(stream.has_pending());
  stream.write(std::string_view("x"), io_mode::nonblocking);
  std::this_thread::sleep_for(100ms);  // all of it is in the kernel by now
  std::size_t total = 0;
  int rounds = 0;
  do {
    const auto r = stream.read(buffer, io_mode::nonblocking);
    if (r.status != io_status::ok) break;
    total += r.bytes;
    ++rounds;
  } while (stream.has_pending() && rounds < 1000);
  // read() until has_pending() is false: what the kernel may still hold, epoll reports.
  while (total < 12'050 && rounds < 1000) {
    const auto r = stream.read(buffer, io_mode::nonblocking);
    REQUIRE(r.status == io_status::ok);
    total += r.bytes;
    ++rounds;
  }
  CHECK(total == 12'050);
  CHECK_FALSE(stream.has_pending());
}

TEST_CASE("TLS: large and gathered writes arrive whole, in both modes and mixed") {
  World w;
  TlsServer server(make_leaf(w.ca, "node", "DNS:a.test"));
  net::error err;
  const auto context = TlsContext::make({.ca_file = w.ca_file}, err);
  Stream stream = open_stream(*context, server.port(), "a.test");
  REQUIRE(stream.handshake(io_mode::blocking).status == io_status::ok);
  const int small = 16 * 1024;  // less than a record in the kernel's buffer
  ::setsockopt(stream.fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  std::vector<std::string> texts;
  for (int i = 0; i < 4000; ++i)
    texts.emplace_back(static_cast<std::size_t>(i % 301), 'a');
  texts.emplace_back(5'000'000, 'b');
  for (int i = 0; i < 500; ++i)
    texts.emplace_back(100, static_cast<char>('c' + i % 20));
  std::string whole;
  for (const auto& text : texts)
    whole += text;

  std::string got;
  std::size_t sent = 0;
  int blocked = 0;
  std::vector<char> buffer(40'000);
  const auto start = std::chrono::steady_clock::now();
  // The echo server stops reading when nobody takes its answers: writes block, often in the
  // middle of a record, and are offered again from another place in memory and with more behind.
  while (got.size() < whole.size() && elapsed_ms(start) < 20'000) {
    if (sent < whole.size()) {
      std::string rest = whole.substr(sent, 1'000'000);
      std::vector<::iovec> parts;
      for (std::size_t at = 0; at < rest.size();) {
        const std::size_t size =
            std::min<std::size_t>(at % 2 == 0 ? 777 : 60'000, rest.size() - at);
        parts.push_back({rest.data() + at, size});
        at += size;
      }
      const auto r = stream.write(std::span<const ::iovec>(parts), io_mode::nonblocking);
      REQUIRE((r.status == io_status::ok || r.status == io_status::want_write));
      sent += r.bytes;
      blocked += r.status == io_status::want_write ? 1 : 0;
    }
    for (;;) {
      const auto r = stream.read(buffer, io_mode::nonblocking);
      got.append(buffer.data(), r.bytes);
      if (r.status == io_status::want_read) break;
      REQUIRE(r.status == io_status::ok);
      if (got.size() == whole.size()) break;
    }
  }
  CHECK(blocked > 0);
  CHECK(got == whole);
  stream.set_blocking_timeout(40ms);
  CHECK(stream.read(buffer, io_mode::blocking).status == io_status::timed_out);
  CHECK(stream.write(std::string_view("more"), io_mode::blocking).status == io_status::ok);
  CHECK(read_exactly(stream, 4, io_mode::blocking) == "more");
}

TEST_CASE("TLS: another thread wakes a blocked reader; a dead peer is an error, not a signal") {
  World w;
  TlsServer server(make_leaf(w.ca, "node", "DNS:a.test"));
  net::error err;
  const auto context = TlsContext::make({.ca_file = w.ca_file}, err);
  Stream stream = open_stream(*context, server.port(), "a.test");
  REQUIRE(stream.handshake(io_mode::blocking).status == io_status::ok);
  std::thread other([&] {
    std::this_thread::sleep_for(30ms);
    stream.shutdown_now();
  });
  char buffer[16];
  const auto r = stream.read(buffer, io_mode::blocking);
  CHECK((r.status == io_status::eof || r.status == io_status::failed));
  other.join();
  for (int i = 0; i < 10; ++i) {
    CHECK(stream.write(std::string_view("x"), io_mode::nonblocking).status == io_status::failed);
  }
}

TEST_CASE("TLS: a peer that does not speak TLS is quoted") {
  World w;
  Server plain([](int fd) {
    receive(fd, 1);
    send_all(fd, "-ERR unknown command, with args beginning with:\r\n");
    receive(fd, 1'000'000, 200ms);
  });
  CHECK_THAT(handshake_error({.ca_file = w.ca_file}, plain.port(), "a.test"),
             ContainsSubstring("does not speak TLS") && ContainsSubstring("-ERR unknown command"));
  Server closes([](int) {});
  CHECK_THAT(handshake_error({.ca_file = w.ca_file}, closes.port(), "a.test"),
             ContainsSubstring("closed the connection") || ContainsSubstring("reset"));
}
