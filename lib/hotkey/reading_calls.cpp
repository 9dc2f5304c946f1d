// The two ways to carry out what a Reading wants: in place, and with a callback.
#include <utility>

#include "hotkey/reading.hpp"
#include "hotkey/shared.hpp"

namespace slotwise::hotkey {
namespace {

using Value = Result<std::optional<std::string>>;
using Do = Reading::Move::Kind;
using std::chrono::milliseconds;

Reading::Limits limits_of(const Shared& shared) noexcept {
  return {shared.options().copy_timeout, shared.call_timeout()};
}

Value get(const Client& client, std::string_view key) {
  try {
    return Value(std::in_place, client.get(key));
  } catch (const Error& e) {
    return e;
  }
}

/// Those of the copies' client, unless less time is left.
template <class F>
auto with_limit(const Shared& shared, milliseconds limit, F&& f) {
  if (limit == shared.options().copy_timeout) return f(shared.copy_client());
  return f(shared.client().with({.timeout = limit}));
}

/// The original of a key that is not split, or not any more: nothing older than what was written.
Client plain_client(const Shared& shared, milliseconds limit) {
  return shared.client().with({.timeout = limit});
}

Result<VersionedValue> plain(Value&& value) {
  if (!value) return std::move(value).error();
  return VersionedValue{std::move(*value), 0};
}

Error is_counter(const KeyState& state) {
  std::string text = "the key \"";
  text.append(state.key()).append("\" is split as a counter");
  return Error(ErrorCode::not_split, Outcome::not_sent, std::move(text));
}

Reading::Move carry_out(const Shared& shared, KeyState& state, Reading& reading,
                        const Reading::Move& move) {
  const Copies& copies = reading.copies();
  if (move.kind == Do::get) {
    auto value = with_limit(shared, move.limit, [&](const Client& client) {
      return get(client, copies.names[move.copy]);
    });
    return reading.got(std::move(value), Clock::now());
  }
  if (move.kind == Do::plain) {
    return reading.plain_got(get(plain_client(shared, move.limit), state.key()));
  }
  const Store store(shared.client(), move.limit);
  if (move.kind == Do::look) {
    const std::uint16_t slot = copies.manifest.copies[move.copy].slot;
    return reading.looked(store.look_copy(state.key(), slot, true).wait(), Clock::now());
  }
  const auto asked = Clock::now();
  auto home = store.look(state.key(), copies.manifest.number, true).wait();
  if (home) state.hear(*home, asked);
  return reading.home_said(std::move(home), Clock::now());
}

/// One read with a callback. Lives until that has been called.
class Chain : public std::enable_shared_from_this<Chain> {
 public:
  using Done = std::function<void(Result<VersionedValue>)>;
  Chain(std::shared_ptr<Shared> shared, std::shared_ptr<KeyState> state, Done done)
      : shared_(std::move(shared)), state_(std::move(state)), done_(std::move(done)) {}

  void start() {
    shared_->current(state_,
                     [self = shared_from_this()](auto copies) { self->begin(std::move(copies)); });
  }

 private:
  void begin(Result<std::shared_ptr<const Copies>> copies) {
    if (!copies) {
      if (copies.error().code() != ErrorCode::not_split) return done_(std::move(copies).error());
      return plain_client(*shared_, shared_->call_timeout())
          .async()
          .get(state_->key())
          .then([self = shared_from_this()](Value v) { self->done_(plain(std::move(v))); });
    }
    if ((*copies)->manifest.kind != Kind::value) return done_(is_counter(*state_));
    const auto now = Clock::now();
    reading_.emplace(*state_, std::move(*copies), limits_of(*shared_), now);
    go_on(reading_->begin(now));
  }

  void go_on(const Reading::Move& move) {
    const auto self = shared_from_this();
    const Copies& copies = reading_->copies();
    switch (move.kind) {
      case Do::get:
        return with_limit(*shared_, move.limit, [&](const Client& client) {
          client.async().get(copies.names[move.copy]).then([self](Value value) {
            self->go_on(self->reading_->got(std::move(value), Clock::now()));
          });
        });
      case Do::plain:
        return plain_client(*shared_, move.limit).async().get(state_->key()).then([self](Value v) {
          self->go_on(self->reading_->plain_got(std::move(v)));
        });
      case Do::look: {
        const std::uint16_t slot = copies.manifest.copies[move.copy].slot;
        return Store(shared_->client(), move.limit)
            .look_copy(state_->key(), slot, true)
            .then([self](Result<Copy> copy) {
              self->go_on(self->reading_->looked(std::move(copy), Clock::now()));
            });
      }
      case Do::home: {
        const auto asked = Clock::now();
        return Store(shared_->client(), move.limit)
            .look(state_->key(), copies.manifest.number, true)
            .then([self, asked](Result<Home> home) {
              if (home) self->state_->hear(*home, asked);
              self->go_on(self->reading_->home_said(std::move(home), Clock::now()));
            });
      }
      case Do::done:
        break;
    }
    if (reading_->repair_wanted()) shared_->want_repair(state_);
    done_(reading_->take());
  }

  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<KeyState> state_;
  const Done done_;
  std::optional<Reading> reading_;
};

}  // namespace

Result<VersionedValue> read(Shared& shared, const std::shared_ptr<KeyState>& state) {
  const auto now = Clock::now();
  state->used(now);
  auto copies = shared.current(*state);
  if (!copies) {
    if (copies.error().code() != ErrorCode::not_split) return std::move(copies).error();
    return plain(get(plain_client(shared, shared.call_timeout()), state->key()));
  }
  if ((*copies)->manifest.kind != Kind::value) return is_counter(*state);
  Reading reading(*state, std::move(*copies), limits_of(shared), now);
  auto move = reading.begin(now);
  while (move.kind != Do::done)
    move = carry_out(shared, *state, reading, move);
  if (reading.repair_wanted()) shared.want_repair(state);
  return reading.take();
}

void read(std::shared_ptr<Shared> shared, std::shared_ptr<KeyState> state,
          std::function<void(Result<VersionedValue>)> done) {
  state->used(Clock::now());
  std::make_shared<Chain>(std::move(shared), std::move(state), std::move(done))->start();
}

}  // namespace slotwise::hotkey
