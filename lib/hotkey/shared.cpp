#include "hotkey/shared.hpp"

#include <iterator>
#include <utility>

#include "hotkey/background.hpp"
#include "hotkey/lost.hpp"
#include "hotkey/names.hpp"

namespace slotwise::hotkey {
namespace {

using Current = Result<std::shared_ptr<const Copies>>;

Error not_split(std::string_view key) {
  std::string text = "the key \"";
  text.append(key).append("\" is not split");
  return Error(ErrorCode::not_split, Outcome::not_sent, std::move(text));
}

/// Not split any more is an answer as well.
Current as_answer(const KeyState& state, std::shared_ptr<const Copies>&& copies) {
  if (copies == nullptr || copies->manifest.joined) return not_split(state.key());
  return std::move(copies);
}

std::uint64_t known_to(const KeyState& state) {
  const auto copies = state.copies();
  return copies == nullptr ? 0 : copies->manifest.number;
}

}  // namespace

Shared::Shared(const Client& client, SplitterOptions options)
    : options_(std::move(options)),
      call_timeout_(client.timeout()),
      store_(client, call_timeout_),
      copy_store_(client, options_.copy_timeout),
      background_(std::make_unique<Background>(*this)) {}

Shared::~Shared() = default;

// --- states and manifests ----------------------------------------------------------------------

std::shared_ptr<KeyState> Shared::state(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(key);
  if (found != states_.end()) return found->second;
  auto state = std::make_shared<KeyState>(std::string(key));
  states_.emplace(state->key(), state);
  return state;
}

std::vector<std::shared_ptr<KeyState>> Shared::all_states() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<KeyState>> all;
  all.reserve(states_.size());
  for (const auto& [key, state] : states_)
    all.push_back(state);
  return all;
}

/// Null: the home slot must be asked.
std::shared_ptr<const Copies> Shared::usable(KeyState& state, Clock::time_point now) const {
  auto copies = state.copies();
  if (copies == nullptr) return nullptr;
  if (now - state.confirmed_at() < reader_limit) return copies;
  if (state.home_silent(now, options_.copy_timeout)) return copies;
  return nullptr;
}

Current Shared::current(KeyState& state) {
  if (auto copies = usable(state, Clock::now())) return as_answer(state, std::move(copies));
  return refresh(state);
}

void Shared::current(const std::shared_ptr<KeyState>& state, std::function<void(Current)> done) {
  const auto now = Clock::now();
  if (auto copies = usable(*state, now)) return done(as_answer(*state, std::move(copies)));
  const std::uint64_t known = known_to(*state);
  const Store& store = known == 0 ? store_ : copy_store_;
  store.look(state->key(), known, false)
      .then([self = shared_from_this(), state, now, done = std::move(done)](Result<Home> home) {
        // Whether a manifest was lost cannot be found out here: until then reads use the old one.
        auto copies = state->copies();
        if (home && home->status == Home::Status::absent && copies != nullptr &&
            !copies->manifest.joined) {
          self->want_repair(state);
          return done(as_answer(*state, std::move(copies)));
        }
        done(self->refreshed(*state, std::move(home), now));
      });
}

Current Shared::refresh(KeyState& state) {
  const auto copies = state.copies();
  const std::uint64_t known = copies == nullptr ? 0 : copies->manifest.number;
  const Store& store = known == 0 ? store_ : copy_store_;
  auto asked = Clock::now();
  auto home = store.look(state.key(), known, false).wait();
  if (home && home->status == Home::Status::absent && copies != nullptr &&
      !copies->manifest.joined) {
    auto restored = restore_lost(*this, state, copies->manifest);
    if (!restored) return older_one(state, std::move(restored).error());
    if (*restored) {
      asked = Clock::now();
      home = store.look(state.key(), 0, false).wait();
    }
  }
  return refreshed(state, std::move(home), asked);
}

Current Shared::refreshed(KeyState& state, Result<Home>&& home, Clock::time_point asked) {
  if (!home) {
    // A damaged manifest is an answer.
    if (home.error().code() == ErrorCode::damaged) return std::move(home).error();
    return older_one(state, std::move(home).error());
  }
  state.home_silent_until({});
  if (home->status == Home::Status::absent) {
    state.forget(asked);
    return not_split(state.key());
  }
  if (state.hear(*home, asked)) want_repair(state);
  return as_answer(state, state.copies());
}

Current Shared::older_one(KeyState& state, Error&& error) {
  auto copies = state.copies();
  if (copies == nullptr) return std::move(error);
  state.home_silent_until(Clock::now() + reader_limit);
  return as_answer(state, std::move(copies));
}

// --- the background ----------------------------------------------------------------------------

void Shared::want_repair(const std::shared_ptr<KeyState>& state) {
  background_->want_repair(state);
}

void Shared::want_repair(const KeyState& state) {
  background_->want_repair(this->state(state.key()));
}

void Shared::trouble(std::string_view key, const Error& error) const {
  if (!options_.on_trouble) return;
  try {
    options_.on_trouble(key, error);
  } catch (...) {  // NOLINT: it is only told
  }
}

// --- the registry ------------------------------------------------------------------------------

bool Shared::in_registry(std::string_view key) const {
  std::shared_ptr<const Registry> registry;
  {
    const std::lock_guard lock(mutex_);
    registry = registry_;
  }
  return registry != nullptr && registry->contains(key);
}

Clock::time_point Shared::registry_heard_at() const {
  const std::lock_guard lock(mutex_);
  return registry_asked_;
}

Result<bool> Shared::is_split(std::string_view key) {
  const auto now = Clock::now();
  bool heard = false;
  bool silent = false;
  {
    const std::lock_guard lock(mutex_);
    heard = registry_ != nullptr && now - registry_asked_ < reader_limit;
    silent = now < registry_silent_until_;
  }
  if (heard || (!silent && refresh_registry())) return in_registry(key);
  auto home = store_.look(key, 0, false).wait();
  if (!home) return std::move(home).error();
  return home->status != Home::Status::absent && home->status != Home::Status::joined;
}

Result<void> Shared::refresh_registry() {
  const auto asked = Clock::now();
  // Only the primary knows of the latest split.
  auto members = client()
                     .with({.timeout = options_.copy_timeout, .read_from = ReadFrom::primary})
                     .async()
                     .smembers(registry_name)
                     .wait();
  if (!members) {
    const std::lock_guard lock(mutex_);
    registry_silent_until_ = Clock::now() + reader_limit;
    return std::move(members).error();
  }
  auto registry = std::make_shared<const Registry>(std::make_move_iterator(members->begin()),
                                                   std::make_move_iterator(members->end()));
  const std::lock_guard lock(mutex_);
  if (asked < registry_asked_) return {};
  registry_ = std::move(registry);
  registry_asked_ = asked;
  return {};
}

// --- the topology ------------------------------------------------------------------------------

std::shared_ptr<const TopologyInfo> Shared::topology() const {
  const std::lock_guard lock(topology_mutex_);
  const auto now = Clock::now();
  if (topology_ == nullptr || now - topology_at_ >= std::chrono::seconds(1)) {
    topology_ = std::make_shared<const TopologyInfo>(client().topology());
    topology_at_ = now;
  }
  return topology_;
}

}  // namespace slotwise::hotkey
