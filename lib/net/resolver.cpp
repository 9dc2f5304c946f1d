#include "net/resolver.hpp"

#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "net/ares_channel.hpp"

namespace slotwise::net {
namespace {

// "10.0.0.1, [::1]:5353" -> "10.0.0.1:53,[::1]:5353". Checked here: c-ares does not say what is
// wrong with a list, and some versions skip what they do not understand.
std::string server_list(std::string_view text, error& err) {
  std::string result;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (!one.empty() && one.front() == ' ')
      one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ')
      one.remove_suffix(1);

    std::string_view ip = one;
    std::uint16_t port = 53;
    bool ok = true;
    const std::size_t colon = one.rfind(':');
    // One colon, or one behind a bracket: a port. Several without brackets: a bare IPv6 address.
    if (colon != std::string_view::npos && (one.find(':') == colon || one[colon - 1] == ']')) {
      ip = one.substr(0, colon);
      const char* end = one.data() + one.size();
      const auto [stop, ec] = std::from_chars(one.data() + colon + 1, end, port);
      ok = ec == std::errc{} && stop == end && port != 0;
    }
    const auto parsed = address::parse(ip, port);
    if (!ok || !parsed) {
      err = {errc::settings,
             "dns_servers: '" + std::string(one) + "' is not an IP address with an optional port"};
      return {};
    }
    if (!result.empty()) result += ',';
    result += parsed->to_string();
  }
  return result;
}

bool same_name(const std::string& a, const std::string& b) {
  return ::strcasecmp(a.c_str(), b.c_str()) == 0;
}

// v6[0], v4[0], v6[1], v4[1], ...: neither family is tried to the end before the other starts.
std::vector<address> interleave(const std::vector<address>& a, const std::vector<address>& b) {
  std::vector<address> result;
  result.reserve(a.size() + b.size());
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size()) result.push_back(a[i]);
    if (i < b.size()) result.push_back(b[i]);
  }
  return result;
}

}  // namespace

// One question with its parts. c-ares keeps pointers to the parts until each is done, so a request
// outlives a cancelled query.
struct ResolveRequest {
  struct Part {
    ResolveRequest* request = nullptr;
    bool asked = false;
    bool done = false;
    bool delivered = false;
    int status = ARES_SUCCESS;
    std::vector<address> v6;
    std::vector<address> v4;
    std::string name;  // as the search list completed it
    bool found() const noexcept { return !v6.empty() || !v4.empty(); }
  };
  enum part_index : std::uint8_t { files, dns_v6, dns_v4 };

  struct Deliver : Task {
    ResolveRequest* request = nullptr;
  };

  ResolveRequest(Resolver& r, Query& q, std::string_view h, std::uint16_t p)
      : owner(r), query(&q), host(h), port(p) {
    for (Part& part : parts)
      part.request = this;
    deliver_task.request = this;
    deliver_task.run = [](Task* task) { static_cast<Deliver*>(task)->request->deliver(); };
  }
  ~ResolveRequest() {
    if (queued) owner.loop_.undefer(&deliver_task);
    if (query != nullptr) query->request_ = nullptr;
  }

  bool waits_for_ares() const noexcept {
    return std::any_of(parts.begin(), parts.end(),
                       [](const Part& part) { return part.asked && !part.done; });
  }

  void ask(AresChannel* channel, part_index index, int family) {
    parts[index].asked = true;
    channel->ask(host.c_str(), family, &ResolveRequest::on_answer, &parts[index]);
  }
  static void on_answer(void* part, int status, int timeouts, ::ares_addrinfo* info);

  void start();
  void ask_dns();
  void note_progress();
  void fail(error e);
  void queue_delivery() noexcept {
    if (!std::exchange(queued, true)) owner.loop_.defer(&deliver_task);
  }
  void deliver();
  void detach() noexcept;
  void abandon() noexcept {
    detach();
    if (!waits_for_ares()) owner.retire(*this);  // *this is gone
  }
  void on_deadline();
  void on_family_delay() { queue_delivery(); }
  error why_nothing() const;

  Resolver& owner;
  Query* query;  // null: cancelled, or answered for good
  std::string host;
  std::uint16_t port;
  std::array<Part, 3> parts;
  Deliver deliver_task;
  bool queued = false;
  bool ended = false;  // nothing more will be waited for
  bool starting = false;
  error forced;  // reason that is known without asking
  std::string delivered_name;
  bool delivered_any = false;
  Timer deadline = Timer::calling<&ResolveRequest::on_deadline>(this);
  Timer family_delay = Timer::calling<&ResolveRequest::on_family_delay>(this);
};

void ResolveRequest::on_answer(void* argument, int status, int, ::ares_addrinfo* info) {
  auto* part = static_cast<Part*>(argument);
  ResolveRequest* request = part->request;
  part->done = true;
  part->status = status;
  if (info != nullptr) {
    if (info->name != nullptr) part->name = info->name;
    for (const ::ares_addrinfo_node* node = info->nodes; node != nullptr; node = node->ai_next) {
      auto found = address::from(node->ai_addr, static_cast<::socklen_t>(node->ai_addrlen));
      if (!found) continue;
      found->set_port(request->port);
      auto& list = found->family() == AF_INET6 ? part->v6 : part->v4;
      if (std::find(list.begin(), list.end(), *found) == list.end()) list.push_back(*found);
    }
    ::ares_freeaddrinfo(info);
  }
  if (!request->starting) request->note_progress();
}

void ResolveRequest::start() {
  if (const auto literal = address::parse(host, port)) {
    Part& part = parts[files];
    part.asked = part.done = true;
    (literal->family() == AF_INET6 ? part.v6 : part.v4).push_back(*literal);
    return note_progress();
  }
  error err = owner.settings_error_;
  if (host.empty()) err = {errc::resolve, "the host name is empty"};
  AresChannel* channel = err ? nullptr : owner.files_channel(err);
  if (channel == nullptr) return fail(std::move(err));
  starting = true;  // the hosts file answers before ask() returns
  ask(channel, files, AF_UNSPEC);
  starting = false;
  note_progress();
}

void ResolveRequest::ask_dns() {
  error err;
  AresChannel* channel = owner.dns_channel(err);
  if (channel == nullptr) return fail(std::move(err));
  // Two questions rather than one for both families: a server that swallows AAAA questions must
  // not hold back an address that is already known.
  starting = true;
  ask(channel, dns_v6, AF_INET6);
  ask(channel, dns_v4, AF_INET);
  starting = false;
  note_progress();
}

void ResolveRequest::fail(error e) {
  forced = std::move(e);
  ended = true;
  queue_delivery();
}

void ResolveRequest::note_progress() {
  if (query == nullptr) {  // cancelled
    if (!waits_for_ares()) owner.retire(*this);
    return;
  }
  if (waits_for_ares()) {
    const bool something = std::any_of(parts.begin(), parts.end(),
                                       [](const Part& p) { return p.found() && !p.delivered; });
    if (something && !family_delay.armed()) {
      owner.loop_.arm(family_delay, owner.loop_.refresh_now() + owner.settings_.family_delay);
    }
    return;
  }
  if (!parts[files].found() && !parts[dns_v4].asked) return ask_dns();
  ended = true;
  queue_delivery();
}

void ResolveRequest::deliver() {
  queued = false;
  owner.loop_.cancel(family_delay);
  resolve_result result;
  std::vector<address> v6;
  std::vector<address> v4;
  for (Part& part : parts) {
    if (!part.done || part.delivered || !part.found()) continue;
    part.delivered = true;
    // A search list can complete the name differently for the two families; these would be two
    // different hosts.
    if (delivered_any && !same_name(part.name, delivered_name)) continue;
    delivered_any = true;
    delivered_name = part.name;
    v6.insert(v6.end(), part.v6.begin(), part.v6.end());
    v4.insert(v4.end(), part.v4.begin(), part.v4.end());
  }
  result.addresses = interleave(v6, v4);
  result.last = ended;
  if (ended && !delivered_any) result.err = why_nothing();
  if (!ended && result.addresses.empty()) return;

  ResolveHandler* handler = query->handler_;
  if (ended) {
    abandon();  // *this may be gone
  }
  handler->on_resolved(std::move(result));  // may destroy anything
}

void ResolveRequest::detach() noexcept {
  query->request_ = nullptr;
  query = nullptr;
  owner.loop_.cancel(deadline);
  owner.loop_.cancel(family_delay);
  if (std::exchange(queued, false)) owner.loop_.undefer(&deliver_task);
}

void ResolveRequest::on_deadline() {
  forced = {errc::timed_out, "no answer from DNS in time"};
  ended = true;
  queue_delivery();
}

error ResolveRequest::why_nothing() const {
  const std::string start = "no address for " + host + ": ";
  if (forced) return {forced.code, start + forced.text, forced.sys};
  const int a = parts[dns_v4].status;
  const int aaaa = parts[dns_v6].status;
  if (a == aaaa) return {errc::resolve, start + ares_status_text(a)};
  // One family says "no such record": the other one's trouble is the news.
  if (aaaa == ARES_ENODATA || aaaa == ARES_ENOTFOUND) {
    return {errc::resolve, start + ares_status_text(a)};
  }
  if (a == ARES_ENODATA || a == ARES_ENOTFOUND) {
    return {errc::resolve, start + ares_status_text(aaaa)};
  }
  return {errc::resolve, start + "A: " + ares_status_text(a) + "; AAAA: " + ares_status_text(aaaa)};
}

void Query::cancel() noexcept {
  if (request_ == nullptr) return;
  request_->abandon();
}

Resolver::Resolver(Loop& loop, resolver_settings settings)
    : loop_(loop), settings_(std::move(settings)) {
  settings_.dns_servers = server_list(settings_.dns_servers, settings_error_);
}

Resolver::~Resolver() {
  for (auto& request : requests_) {
    if (request->query != nullptr) request->detach();
    // Not freed by the callback that destroying the channels is about to make.
    request->starting = true;
  }
  files_.reset();
  dns_.clear();
}

void Resolver::resolve(Query& query, std::string_view host, std::uint16_t port,
                       time_point deadline) {
  query.cancel();
  auto& request =
      *requests_.emplace_back(std::make_unique<ResolveRequest>(*this, query, host, port));
  query.request_ = &request;
  loop_.arm(request.deadline, deadline);
  request.start();
}

void Resolver::retire(ResolveRequest& request) noexcept {
  const auto it = std::find_if(requests_.begin(), requests_.end(),
                               [&](const auto& r) { return r.get() == &request; });
  if (it == requests_.end()) return;
  const std::unique_ptr<ResolveRequest> gone = std::move(*it);
  *it = std::move(requests_.back());
  requests_.pop_back();
}

Resolver::conf_stamp Resolver::look_at_conf() {
  conf_stamp result;
  struct ::stat info {};
  if (::stat("/etc/resolv.conf", &info) == 0) {
    result = {info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size, info.st_ino};
  }
  return result;
}

AresChannel* Resolver::dns_channel(error& err) {
  // Never called from inside a c-ares callback of a channel that could be dropped here.
  std::erase_if(dns_, [&](const auto& c) { return c != dns_.back() && c->pending() == 0; });
  const conf_stamp conf = look_at_conf();
  if (!dns_.empty() && conf == conf_) return dns_.back().get();
  auto fresh = AresChannel::make(loop_,
                                 {.lookups = "b",
                                  .servers = settings_.dns_servers,
                                  .try_timeout_ms = static_cast<int>(settings_.try_timeout.count()),
                                  .tries = settings_.tries},
                                 err);
  if (fresh == nullptr) return nullptr;
  conf_ = conf;
  dns_.push_back(std::move(fresh));
  return dns_.back().get();
}

AresChannel* Resolver::files_channel(error& err) {
  if (files_ == nullptr) {
    files_ = AresChannel::make(
        loop_, {.lookups = "f", .servers = {}, .try_timeout_ms = 1000, .tries = 1}, err);
  }
  return files_.get();
}

}  // namespace slotwise::net
