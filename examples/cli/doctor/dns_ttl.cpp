#include "cli/doctor/dns_ttl.hpp"

#include <ares.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <map>
#include <memory>

namespace slotwise::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct Question {
  NameFacts* name = nullptr;
  bool done = false;
};

/// A c-ares channel that is driven by poll().
class Channel {
 public:
  explicit Channel(const std::vector<std::string>& servers) {
    ::ares_options options{};
    options.sock_state_cb = &Channel::on_socket;
    options.sock_state_cb_data = this;
    char only_dns[] = "b";  // the hosts file has no TTL
    options.lookups = only_dns;
    int mask = ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS;
#if ARES_VERSION >= 0x011f00  // its cache would give an old TTL
    options.qcache_max_ttl = 0;
    mask |= ARES_OPT_QUERY_CACHE;
#endif
    status_ = ::ares_library_init(ARES_LIB_INIT_ALL);
    if (status_ == ARES_SUCCESS) status_ = ::ares_init_options(&channel_, &options, mask);
    if (status_ == ARES_SUCCESS && !servers.empty()) {
      const std::string list = fmt::format("{}", fmt::join(servers, ","));
      status_ = ::ares_set_servers_ports_csv(channel_, list.c_str());
    }
  }
  ~Channel() {
    if (channel_ != nullptr) ::ares_destroy(channel_);
    ::ares_library_cleanup();
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int status() const noexcept {
    return status_;
  }

  void ask(Question& question) {
    ::ares_addrinfo_hints hints{};
    hints.ai_flags = ARES_AI_NOSORT;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ::ares_getaddrinfo(channel_, question.name->name.c_str(), nullptr, &hints, &Channel::on_answer,
                       &question);
  }

  /// One turn of waiting, `left` at most.
  void turn(std::chrono::milliseconds left) {
    std::vector<pollfd> watched;
    for (const auto& [fd, events] : sockets_)
      watched.push_back({.fd = fd, .events = events, .revents = 0});
    ::timeval most{.tv_sec = left.count() / 1000, .tv_usec = (left.count() % 1000) * 1000};
    ::timeval wait{};
    const ::timeval* due = ::ares_timeout(channel_, &most, &wait);
    const long ms = due->tv_sec * 1000 + due->tv_usec / 1000 + 1;
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(ms));
    if (ready <= 0) {
      ::ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      return;
    }
    for (const pollfd& p : watched) {
      const bool trouble = (p.revents & (POLLERR | POLLHUP)) != 0;
      const bool in = trouble || (p.revents & POLLIN) != 0;
      const bool out = trouble || (p.revents & POLLOUT) != 0;
      if (in || out) {
        ::ares_process_fd(channel_, in ? p.fd : ARES_SOCKET_BAD, out ? p.fd : ARES_SOCKET_BAD);
      }
    }
  }

 private:
  static void on_socket(void* self, ::ares_socket_t fd, int readable, int writable) {
    auto& sockets = static_cast<Channel*>(self)->sockets_;
    const int events = (readable != 0 ? POLLIN : 0) | (writable != 0 ? POLLOUT : 0);
    if (events == 0) {
      sockets.erase(fd);
    } else {
      sockets[fd] = static_cast<short>(events);
    }
  }

  static void on_answer(void* argument, int status, int, ::ares_addrinfo* info) {
    auto& question = *static_cast<Question*>(argument);
    question.done = true;
    if (status != ARES_SUCCESS || info == nullptr) {
      question.name->why_not = fmt::format("DNS said: {}", ::ares_strerror(status));
      return;
    }
    for (const auto* node = info->nodes; node != nullptr; node = node->ai_next) {
      const std::chrono::seconds ttl{node->ai_ttl};
      question.name->ttl = std::min(question.name->ttl.value_or(ttl), ttl);
    }
    ::ares_freeaddrinfo(info);
    if (!question.name->ttl) question.name->why_not = "DNS has no address for it";
  }

  ::ares_channel channel_ = nullptr;
  int status_ = ARES_SUCCESS;
  std::map<::ares_socket_t, short> sockets_;
};

}  // namespace

std::vector<NameFacts> look_up(const std::vector<std::string>& names,
                               const std::vector<std::string>& servers,
                               std::chrono::milliseconds limit) {
  std::vector<NameFacts> facts(names.size());
  std::vector<Question> questions(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    facts[i].name = names[i];
    questions[i].name = &facts[i];
  }
  if (names.empty()) return facts;
  {
    Channel channel(servers);
    if (channel.status() != ARES_SUCCESS) {
      for (NameFacts& fact : facts)
        fact.why_not = fmt::format("DNS cannot be asked: {}", ::ares_strerror(channel.status()));
      return facts;
    }
    for (Question& question : questions)
      channel.ask(question);
    const auto waiting = [&] {
      return std::any_of(questions.begin(), questions.end(),
                         [](const Question& q) { return !q.done; });
    };
    for (const auto end = Clock::now() + limit; waiting() && Clock::now() < end;) {
      channel.turn(std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()));
    }
  }  // calls back those that still wait
  return facts;
}

}  // namespace slotwise::cli
