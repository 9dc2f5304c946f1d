#include "net/ares_channel.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <mutex>

namespace slotwise::net {
namespace {

constexpr int version_1_31 = 0x011f00;

/// Of the library that is loaded: it may be newer than the one compiled against.
int loaded_version() noexcept {
  int version = 0;
  (void)::ares_version(&version);
  return version;
}

/// A newer library reads the options that came after ours from the bytes behind them. Zero means
/// what is wanted: no query cache, which is on from 1.31 unless told otherwise.
struct Options {
  ::ares_options known{};
  char later[256] = {};
};
constexpr int opt_query_cache = 1 << 21;  // ARES_OPT_QUERY_CACHE

}  // namespace

struct AresChannel::Question {
  AresChannel* channel;
  ::ares_addrinfo_callback callback;
  void* argument;
};

std::unique_ptr<AresChannel> AresChannel::make(Loop& loop, const channel_settings& settings,
                                               error& err) {
  static std::once_flag once;  // ares_library_init() is not thread-safe before 1.23
  std::call_once(once, [] { ::ares_library_init(ARES_LIB_INIT_ALL); });

  std::unique_ptr<AresChannel> result{new AresChannel(loop)};
  int status = result->open(settings, 0);
#if ARES_VERSION < 0x011f00
  // Old versions go on to the next server at SERVFAIL and REFUSED, and when there is none left
  // they say that no server can be reached. With a single server its own word is the news.
  if (status == ARES_SUCCESS && loaded_version() < version_1_31 && result->server_count() == 1) {
    ::ares_destroy(result->channel_);
    result->channel_ = nullptr;
    status = result->open(settings, ARES_FLAG_NOCHECKRESP);
  }
#endif
  if (status == ARES_SUCCESS) return result;
  err = {errc::resolve, std::string("cannot set up DNS: ") + ::ares_strerror(status)};
  return nullptr;
}

int AresChannel::open(const channel_settings& settings, int flags) {
  Options with_later;
  ::ares_options& options = with_later.known;
  int mask = ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES;
  if (flags != 0) mask |= ARES_OPT_FLAGS;
  options.flags = flags;
  options.sock_state_cb = &AresChannel::on_socket_state;
  options.sock_state_cb_data = this;
  options.lookups = const_cast<char*>(settings.lookups);  // copied
  options.timeout = settings.try_timeout_ms;
  options.tries = settings.tries;
  if (loaded_version() >= version_1_31) mask |= opt_query_cache;
  int status = ::ares_init_options(&channel_, &options, mask);
  if (status == ARES_SUCCESS && !settings.servers.empty()) {
    status = ::ares_set_servers_ports_csv(channel_, settings.servers.c_str());
  }
  return status;
}

#if ARES_VERSION < 0x011f00
int AresChannel::server_count() const {
  ::ares_addr_port_node* servers = nullptr;
  if (::ares_get_servers_ports(channel_, &servers) != ARES_SUCCESS) return 0;
  int count = 0;
  for (const ::ares_addr_port_node* s = servers; s != nullptr; s = s->next)
    ++count;
  ::ares_free_data(servers);
  return count;
}
#endif

AresChannel::~AresChannel() {
  if (channel_ != nullptr) ::ares_destroy(channel_);
  for (auto& watcher : watchers_)
    loop_.remove(*watcher);
}

void AresChannel::ask(const char* name, int family, ::ares_addrinfo_callback callback,
                      void* argument) {
  ::ares_addrinfo_hints hints{};
  // Unsorted: sorting would connect a socket to each address, and the order in which DNS gives
  // them spreads clients over servers.
  hints.ai_flags = ARES_AI_NOSORT;
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  ++pending_;
  ::ares_getaddrinfo(channel_, name, nullptr, &hints, &AresChannel::on_answer,
                     new Question{this, callback, argument});
  arm_timer();
}

void AresChannel::on_answer(void* question, int status, int, ::ares_addrinfo* info) {
  const std::unique_ptr<Question> q{static_cast<Question*>(question)};
  --q->channel->pending_;
  q->callback(q->argument, status, 0, info);
}

void AresChannel::SocketWatcher::on_events(std::uint32_t events) {
  const bool trouble = (events & (EPOLLERR | EPOLLHUP)) != 0;
  const bool readable = trouble || (events & EPOLLIN) != 0;
  const bool writable = trouble || (events & EPOLLOUT) != 0;
  owner.process(readable ? fd : ARES_SOCKET_BAD, writable ? fd : ARES_SOCKET_BAD);
}

void AresChannel::on_socket_state(void* self, ::ares_socket_t fd, int readable, int writable) {
  std::uint32_t interest = 0;
  if (readable != 0) interest |= EPOLLIN;
  if (writable != 0) interest |= EPOLLOUT;
  static_cast<AresChannel*>(self)->watch(fd, interest);
}

void AresChannel::watch(::ares_socket_t fd, std::uint32_t interest) {
  SocketWatcher* found = nullptr;
  SocketWatcher* unused = nullptr;
  for (auto& watcher : watchers_) {
    if (watcher->fd == fd) found = watcher.get();
    if (watcher->fd == ARES_SOCKET_BAD) unused = watcher.get();
  }
  if (interest == 0) {  // c-ares closes the socket next
    if (found == nullptr) return;
    loop_.remove(*found);
    found->fd = ARES_SOCKET_BAD;  // kept: it may be the one whose on_events() we are in
    return;
  }
  if (found != nullptr) {
    (void)loop_.modify(*found, interest);
    return;
  }
  if (unused == nullptr) {
    unused = watchers_.emplace_back(std::make_unique<SocketWatcher>(*this)).get();
  }
  // Should the kernel refuse, the question times out as if the server were silent.
  if (loop_.add(*unused, fd, interest) == 0) unused->fd = fd;
}

void AresChannel::process(::ares_socket_t readable, ::ares_socket_t writable) {
  ::ares_process_fd(channel_, readable, writable);
  arm_timer();
}

void AresChannel::on_timer() {
  process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

void AresChannel::arm_timer() {
  ::timeval left{};
  if (::ares_timeout(channel_, nullptr, &left) == nullptr) {
    loop_.cancel(timer_);
    return;
  }
  // A little late on purpose: c-ares counts in microseconds or milliseconds, and a timer that
  // fires a hair too early would find nothing due and spin.
  const duration wait = std::chrono::seconds{left.tv_sec} +
                        std::chrono::microseconds{left.tv_usec} + std::chrono::milliseconds{1};
  loop_.arm(timer_, loop_.refresh_now() + wait);
}

const char* ares_status_text(int status) noexcept {
  switch (status) {
    case ARES_ENODATA:
      return "the name exists but has no address (no A or AAAA record)";
    case ARES_ENOTFOUND:
      return "no such name (NXDOMAIN)";
    case ARES_ESERVFAIL:
      return "the DNS server could not answer (SERVFAIL)";
    case ARES_EREFUSED:
      return "the DNS server refused the question (REFUSED)";
    case ARES_EFORMERR:
      return "the DNS server did not understand the question (FORMERR)";
    case ARES_ENOTIMP:
      return "the DNS server does not do this kind of question (NOTIMP)";
    case ARES_ETIMEOUT:
      return "no answer from the DNS server";
    case ARES_ECONNREFUSED:
      return "no DNS server can be reached";
    case ARES_EBADNAME:
      return "this is not a valid host name";
    case ARES_EBADRESP:
      return "the DNS server's answer makes no sense";
    default:
      return ::ares_strerror(status);
  }
}

}  // namespace slotwise::net
