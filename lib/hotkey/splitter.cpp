#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <slotwise/hotkey.hpp>

#include "hotkey/background.hpp"
#include "hotkey/keeping.hpp"
#include "hotkey/lost.hpp"
#include "hotkey/names.hpp"
#include "hotkey/placement.hpp"
#include "hotkey/shared.hpp"

namespace slotwise::hotkey {

namespace {

using namespace std::chrono_literals;

constexpr int most_copies = 16;
/// A split lasts two seconds, a join two or three; what lasts longer waits for a primary.
constexpr std::chrono::seconds patience = 20s;
constexpr std::chrono::milliseconds look_again = 50ms;

std::string_view name_of(Mode mode) {
  return mode == Mode::single ? "a single server" : "one primary with sentinels";
}

std::string named(std::string_view key) {
  return Reply::make_text(Reply::Type::status, std::string(key)).describe(100);
}

Error other_kind(std::string_view key, Kind kind) {
  std::string text = "the key ";
  text += named(key);
  text += kind == Kind::counter ? " is split as a counter: open_counter() is for it"
                                : " is split as a value, not as a counter: open() is for it";
  return {ErrorCode::not_split, Outcome::not_sent, std::move(text)};
}

/// Another try may do better: servers are on their way.
bool passes(const Error& error) {
  switch (error.code()) {
    case ErrorCode::timeout:
    case ErrorCode::connect_failed:
    case ErrorCode::connection_lost:
    case ErrorCode::slot_not_covered:
    case ErrorCode::cluster_down:
    case ErrorCode::try_again:
    case ErrorCode::loading:
    case ErrorCode::read_only:
    case ErrorCode::too_many_redirects:
    case ErrorCode::wrong_node:
      return true;
    default:
      return false;
  }
}

/// Again and again until `step` says true. Throws its error if it does not pass by itself.
template <class F>
void until_done(std::string_view key, F step) {
  const Clock::time_point end = Clock::now() + patience;
  for (;;) {
    const Result<bool> done = step();
    if (done && *done) return;
    if (!done && !passes(done.error())) throw done.error();
    if (Clock::now() >= end) {
      if (!done) throw done.error();
      std::string text = "somebody else has been changing the copies of ";
      text += named(key);
      text += " all the time";
      throw Error(ErrorCode::timeout, Outcome::unknown, std::move(text));
    }
    std::this_thread::sleep_for(look_again);
  }
}

void leave_registry(Shared& shared, std::string_view key) {
  shared.client()
      .async()
      .with({.idempotent = true})
      .command<std::int64_t>("SREM", registry_name, key)
      .wait()
      .value();
}

/// The manifest is there from now on, of this kind; whose it is does not matter.
void make_manifest(Shared& shared, KeyState& state, Kind kind, int copies) {
  // The entry first, so that nobody begins with copies that others cannot hear of.
  const bool entered = enter_in_registry(shared, state.key()).value();
  const Result<Home> made = shared.store().create(state.key(), kind, copies, 0).wait();
  if (!made) {
    // The original is of a type that cannot be split, so nobody has split it. Whether it was made
    // is not known in other cases; an entry that leads nowhere does no harm.
    if (entered && made.error().outcome() == Outcome::rejected) leave_registry(shared, state.key());
    throw made.error();
  }
  const Home home = look_at_manifest(shared, state).value();
  if (home.manifest->kind != kind) throw other_kind(state.key(), home.manifest->kind);
}

std::shared_ptr<KeyState> split_key(Shared& shared, std::string_view key, Kind kind,
                                    const SplitOptions& options) {
  const int copies = options.copies_per_primary;
  if (copies < 1 || copies > most_copies) {
    throw Error(ErrorCode::invalid_argument, Outcome::not_sent,
                "copies_per_primary is " + std::to_string(copies) + ": 1 to 16 are possible");
  }
  std::shared_ptr<KeyState> state = shared.state(key);
  state->used(Clock::now());
  bool made = false;
  bool ordered = false;
  until_done(key, [&]() -> Result<bool> {
    if (!made) make_manifest(shared, *state, kind, copies);
    made = true;
    Result<bool> done = ordered ? Result<bool>(true) : order_copies(shared, *state, copies);
    if (done && *done) {
      ordered = true;
      done = keep(shared, *state);
    }
    if (!done && done.error().code() == ErrorCode::not_split) {
      // It was being joined, and that is over: from the beginning.
      made = ordered = false;
      return false;
    }
    return done;
  });
  return state;
}

std::shared_ptr<KeyState> open_key(Shared& shared, std::string_view key, Kind kind) {
  std::shared_ptr<KeyState> state = shared.state(key);
  const std::shared_ptr<const Copies> copies = shared.refresh(*state).value();
  if (copies->manifest.kind != kind) throw other_kind(key, copies->manifest.kind);
  state->used(Clock::now());
  return state;
}

/// There is no manifest any more: somebody else has made the last step of the join. Or it was lost,
/// and the value with it; then copies give both back.
Result<bool> is_over(Shared& shared, KeyState& state) {
  const auto last = state.copies();
  const Result<Home> home = shared.store().look(state.key(), 0, false).wait();
  if (!home) return home.error();
  if (home->status == Home::Status::joined) return true;
  if (home->status != Home::Status::absent) return false;
  if (last == nullptr || last->manifest.joined) return true;
  const Result<bool> restored = restore_lost(shared, state, last->manifest);
  if (!restored) return restored.error();
  return !*restored;
}

std::string_view word_for(CopyPlace::State state) {
  switch (state) {
    case CopyPlace::State::joining:
      return "joining";
    case CopyPlace::State::leaving:
      return "leaving";
    case CopyPlace::State::ready:
      break;
  }
  return "ready";
}

Status::Copy status_of(std::string_view key, const CopyPlace& place, Kind kind,
                       const TopologyInfo& topology, const Result<Copy>& copy) {
  Status::Copy out;
  out.name = copy_name(key, place.slot);
  out.slot = place.slot;
  out.node = owner_of(topology, place.slot);
  out.state = word_for(place.state);
  if (!copy) {
    out.state = std::string(copy.error().message());
  } else {
    out.version = kind == Kind::counter ? static_cast<std::uint64_t>(copy->part) : copy->version;
    if (copy->status == Copy::Status::lost) out.state = "lost";
    if (copy->status == Copy::Status::gone) out.state = "gone";
    if (copy->status == Copy::Status::folded) out.state = "folded";
  }
  return out;
}

}  // namespace

Splitter::Splitter(const Client& client, SplitterOptions options) {
  if (const Mode mode = client.topology().mode; mode != Mode::cluster) {
    std::string text = "hot keys are split over the primaries of a cluster, and this is ";
    text += name_of(mode);
    throw Error(ErrorCode::refused, Outcome::not_sent, std::move(text));
  }
  shared_ = std::make_shared<Shared>(client, std::move(options));
  shared_->background().start();
  guard_ = std::shared_ptr<const void>(
      shared_.get(), [shared = shared_](const void* /*it*/) { shared->background().stop(); });
}

Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;
Splitter::~Splitter() = default;

SplitKey Splitter::split(std::string_view key, SplitOptions options) const {
  return {shared_, split_key(*shared_, key, Kind::value, options)};
}

SplitCounter Splitter::split_counter(std::string_view key, SplitOptions options) const {
  return {shared_, split_key(*shared_, key, Kind::counter, options)};
}

SplitKey Splitter::open(std::string_view key) const {
  return {shared_, open_key(*shared_, key, Kind::value)};
}

SplitCounter Splitter::open_counter(std::string_view key) const {
  return {shared_, open_key(*shared_, key, Kind::counter)};
}

std::vector<std::string> Splitter::keys() const {
  std::vector<std::string> entered = shared_->client()
                                         .with({.read_from = ReadFrom::primary})
                                         .smembers<std::vector<std::string>>(registry_name);
  // An entry may be there a little before and after its manifest.
  std::vector<Call<Home>> calls;
  calls.reserve(entered.size());
  for (const std::string& key : entered)
    calls.push_back(shared_->store().look(key, 0, false));
  std::vector<std::string> out;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Result<Home> home = calls[i].wait();
    const bool over =
        home && (home->status == Home::Status::absent || home->status == Home::Status::joined);
    if (!over) out.push_back(std::move(entered[i]));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void Splitter::join(std::string_view key) const {
  const std::shared_ptr<KeyState> state = shared_->state(key);
  look_at_manifest(*shared_, *state).value();
  until_done(key, [&] { return order_copies(*shared_, *state, 0); });
  until_done(key, [&]() -> Result<bool> {
    Result<bool> done = keep(*shared_, *state);
    if (!done && done.error().code() == ErrorCode::not_split) return is_over(*shared_, *state);
    return done;
  });
  const Result<Home> after = look_at_manifest(*shared_, *state);
  if (after) {
    std::string text = "somebody has split ";
    text += named(key);
    throw Error(ErrorCode::refused, Outcome::executed, text + " again while it was joined");
  }
  if (after.error().code() != ErrorCode::not_split) throw after.error();
}

Status Splitter::status(std::string_view key) const {
  const std::shared_ptr<KeyState> state = shared_->state(key);
  const Home home = look_at_manifest(*shared_, *state).value();
  const Manifest& manifest = *home.manifest;
  const bool counter = manifest.kind == Kind::counter;
  std::vector<Call<Copy>> calls;
  calls.reserve(manifest.copies.size());
  for (const CopyPlace& place : manifest.copies) {
    calls.push_back(counter ? shared_->copy_store().look_part(key, place.slot)
                            : shared_->copy_store().look_copy(key, place.slot, false));
  }
  const TopologyInfo topology = shared_->client().topology();
  Status out;
  out.key = key;
  out.kind = manifest.kind;
  out.manifest_version = manifest.number;
  out.version = home.version;
  out.copies_per_primary = manifest.per_primary;
  std::vector<std::uint16_t> ready;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CopyPlace& place = manifest.copies[i];
    out.copies.push_back(status_of(key, place, manifest.kind, topology, calls[i].wait()));
    if (place.state == CopyPlace::State::ready) ready.push_back(place.slot);
  }
  out.balanced = manifest.per_primary > 0 && evenly_placed(ready, manifest.per_primary, topology);
  return out;
}

}  // namespace slotwise::hotkey
