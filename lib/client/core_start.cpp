// How a client begins and ends: its engines, and which of them a slot belongs to.
#include <algorithm>
#include <chrono>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <slotwise/slot.hpp>

#include "client/core.hpp"

namespace slotwise::detail {
namespace {

constexpr int most_direct = static_cast<int>(link::DirectPool::max_size);

std::shared_ptr<net::TlsContext> make_tls(const TlsConfig& tls) {
  if (!tls.enabled) return nullptr;
  net::tls_settings s;
  s.ca_file = tls.ca_file;
  s.ca_dir = tls.ca_dir;
  s.cert_file = tls.cert_file;
  s.key_file = tls.key_file;
  if (!tls.key_password.empty()) s.key_password = [p = tls.key_password] { return p; };
  s.min_version = tls.min_version >= 13 ? net::tls_version::tls_1_3 : net::tls_version::tls_1_2;
  s.verify = !tls.verify_chain ? net::tls_verify::none
             : tls.verify_name ? net::tls_verify::full
                               : net::tls_verify::chain;
  s.server_name = tls.server_name;
  s.ciphers = tls.ciphers;
  net::error error;
  auto context = net::TlsContext::make(std::move(s), error);
  if (context == nullptr) throw Error(ErrorCode::invalid_argument, Outcome::not_sent, error.text);
  return context;
}

/// Several engines tell of what happens to them: the application's sink hears them one at a time.
class OneAtATime final : public EventSink {
 public:
  explicit OneAtATime(std::shared_ptr<EventSink> sink) : sink_(std::move(sink)) {}
  void on_event(const Event& event) override {
    const std::lock_guard lock(mutex_);
    sink_->on_event(event);
  }

 private:
  const std::shared_ptr<EventSink> sink_;
  std::recursive_mutex mutex_;  // close() in on_event() makes events of its own
};

/// The events of an engine other than the first. Each follows the topology by itself, but only the
/// first one tells of that, and Client::topology() is what it believes: so it is made to look when
/// another one has noticed a change.
class WithoutTopology final : public EventSink {
 public:
  WithoutTopology(std::shared_ptr<EventSink> sink, Engine& first)
      : sink_(std::move(sink)), first_(first) {}
  void on_event(const Event& event) override {
    switch (event.kind) {
      case Event::Kind::refresh_started:
      case Event::Kind::refresh_failed:
      case Event::Kind::primary_changed:
        return;
      case Event::Kind::topology_changed:
        // Its first map is no change.
        if (std::exchange(has_map_, true)) first_.look_at_topology();
        return;
      default:
        if (sink_ != nullptr) sink_->on_event(event);
    }
  }

 private:
  const std::shared_ptr<EventSink> sink_;
  Engine& first_;
  bool has_map_ = false;
};

}  // namespace

Core::Core(Config config)
    : config_(std::move(config)),
      fork_generation_(net::fork_generation()),
      events_(config_.events),
      mode_(std::clamp(config_.direct_connections, 0, most_direct)) {
  if (events_ != nullptr && config_.io_threads > 1) {
    events_ = std::make_shared<OneAtATime>(events_);
  }
  tls_.servers = make_tls(config_.tls);
  tls_.sentinels = config_.sentinel_tls ? make_tls(*config_.sentinel_tls) : tls_.servers;
  engines_.push_back(std::make_unique<Engine>(*this, config_of_engine(), tls_));
  only_ = engines_.front().get();
}

Core::~Core() {
  if (forked()) return;
  close();
  for (const auto& engine : engines_)
    engine->let_go();
}

std::shared_ptr<Core> Core::open(Config config) {
  config.validate();
  auto core = std::make_shared<Core>(std::move(config));
  try {
    core->start_engines();
  } catch (...) {
    core->close();
    throw;
  }
  return core;
}

/// The first one alone: it finds the deployment, or says why not. By its map the slots are given to
/// the engines; no more of them are made than there are primaries.
void Core::start_engines() {
  const routing::TimePoint limit = routing::Clock::now() + config_.timeout;
  Engine& first = *engines_.front();
  first.launch(shared_from_this(), "slotwise-io");
  first.wait_until_usable(limit);
  if (config_.io_threads == 1 || config_.mode != Mode::cluster) return;
  assign_slots();
  if (engines_.size() == 1) return;
  for (std::size_t i = 1; i < engines_.size(); ++i)
    engines_[i]->launch(shared_from_this(), ("slotwise-io-" + std::to_string(i)).c_str());
  for (std::size_t i = 1; i < engines_.size(); ++i)
    engines_[i]->wait_until_usable(limit);
  require_one_cluster();
  only_ = nullptr;
}

/// All slots of a primary to one engine, the primaries in turn. This never changes, so that calls
/// on one key keep their order.
void Core::assign_slots() {
  const routing::Dispatcher& map = engines_.front()->dispatcher();
  std::vector<std::size_t> owner_of_slot(slot_count);
  std::unordered_map<const routing::Node*, std::size_t> owners;
  for (std::size_t slot = 0; slot < owner_of_slot.size(); ++slot) {
    const routing::Node* owner = map.node_for(static_cast<std::uint16_t>(slot));
    if (owner == nullptr) continue;  // as if it were the first one's
    owner_of_slot[slot] = owners.try_emplace(owner, owners.size()).first->second;
  }
  const std::size_t wanted = std::min(static_cast<std::size_t>(config_.io_threads), owners.size());
  while (engines_.size() < wanted)
    engines_.push_back(std::make_unique<Engine>(*this, config_of_engine(), tls_));
  for (const std::size_t owner : owner_of_slot)
    engine_of_slot_.push_back(static_cast<std::uint8_t>(owner % engines_.size()));
}

/// Its share of what belongs to the client as a whole.
Config Core::config_of_engine() const {
  Config config = config_;
  config.events = events_;
  if (!engines_.empty()) {
    config.events = std::make_shared<WithoutTopology>(events_, *engines_.front());
  }
  if (config_.mode == Mode::cluster && config_.max_retries_per_second > 0) {
    const int share = config_.max_retries_per_second / config_.io_threads;
    config.max_retries_per_second = std::max(1, share);
  }
  return config;
}

/// Seeds of two clusters: each engine might have found another one.
void Core::require_one_cluster() {
  std::unordered_set<std::string> known;
  for (const auto& engine : engines_) {
    TopologyInfo map;
    engine->run([&] { map = engine->dispatcher().keeper().info(); });
    bool same = known.empty();
    for (const TopologyInfo::Node& node : map.nodes) {
      const std::string& name = node.id.empty() ? node.endpoint : node.id;
      same = !known.insert(name).second || same;
    }
    if (same) continue;
    throw Error(ErrorCode::invalid_argument, Outcome::not_sent,
                "the nodes of " + config_.to_string() + " belong to different clusters");
  }
}

void Core::close() noexcept {
  if (forked()) return;
  if (!closed_.exchange(true)) {
    for (const auto& engine : engines_)
      engine->close();
  }
  // In a callback: the threads end by themselves once it has returned; they keep the core.
  if (in_loop_thread()) return;
  const std::lock_guard lock(close_mutex_);
  for (const auto& engine : engines_)
    engine->join();
}

}  // namespace slotwise::detail
