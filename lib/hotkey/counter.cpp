#include "hotkey/counter.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "hotkey/names.hpp"
#include "hotkey/reading.hpp"

namespace slotwise::hotkey {

namespace {

using std::chrono::milliseconds;

std::string printable(std::string_view text) {
  return Reply::make_text(Reply::Type::string, std::string(text)).describe(120);
}

Error counter_error(ErrorCode code, Outcome outcome, std::string_view key, std::string_view what) {
  std::string text = "the split counter ";
  text += printable(key);
  text += ' ';
  text += what;
  return {code, outcome, std::move(text)};
}

/// `what` of the part or the original is missing.
Error incomplete(std::string_view key, std::string_view which, std::string_view why) {
  std::string text = "has no sum: ";
  text += printable(which);
  text += ' ';
  text += why;
  return counter_error(ErrorCode::incomplete, Outcome::executed, key, text);
}

Error is_value(std::string_view key) {
  std::string text = "the key ";
  text += printable(key);
  return {ErrorCode::not_split, Outcome::not_sent, text + " is split as a value, not as a counter"};
}

/// There is no use in asking anybody else.
bool hopeless(const Error& e) noexcept {
  return e.code() == ErrorCode::cancelled || e.code() == ErrorCode::queue_full || !e.did_not_run();
}

// --- add ---------------------------------------------------------------------------------------

/// One increment on its way to a part that takes it.
class Adding {
 public:
  Adding(Shared& shared, KeyState& state, std::int64_t by)
      : shared_(shared), state_(state), by_(by), deadline_(Clock::now() + shared.call_timeout()) {}

  Result<void> run();

 private:
  std::optional<std::size_t> choose(const Copies& copies) const;
  /// True: it is done. False: that part did not take it.
  Result<bool> to_part(const Copies& copies, std::size_t part);
  Result<bool> to_original(const Copies& copies);
  Result<void> to_plain_key() const;
  bool was_tried(const Copies& copies, std::size_t part) const {
    return std::find(tried_.begin(), tried_.end(), copies.manifest.copies[part].slot) !=
           tried_.end();
  }

  Shared& shared_;
  KeyState& state_;
  const std::int64_t by_;
  const Clock::time_point deadline_;
  std::vector<std::uint16_t> tried_;  // slots
};

Result<void> Adding::run() {
  // Rounds end, since no slot is tried twice; after these the original takes it.
  while (true) {
    auto copies = shared_.current(state_);
    if (!copies) {
      // What is added to the plain key counts in any case, even if it is split anew by now.
      if (copies.error().code() == ErrorCode::not_split) return to_plain_key();
      return std::move(copies).error();
    }
    if ((*copies)->manifest.kind != Kind::counter) return is_value(state_.key());
    const auto part = Clock::now() < deadline_ ? choose(**copies) : std::nullopt;
    Result<bool> added = part ? to_part(**copies, *part) : to_original(**copies);
    if (!added) return std::move(added).error();
    if (*added) return {};
  }
}

std::optional<std::size_t> Adding::choose(const Copies& copies) const {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  std::vector<std::size_t> can;
  std::vector<std::size_t> in_trouble;
  for (const std::size_t part : copies.ready) {
    if (was_tried(copies, part)) continue;
    const bool passed_over = copies.seen[part]->passed_over_until.load() > now;
    (passed_over ? in_trouble : can).push_back(part);
  }
  const auto& from = can.empty() ? in_trouble : can;
  if (from.empty()) return std::nullopt;
  base::Random& random = base::thread_random();
  const auto n = static_cast<std::uint32_t>(from.size());
  const std::uint32_t first = random.below(n);
  if (n == 1) return from[0];
  std::uint32_t second = random.below(n - 1);
  if (second >= first) ++second;
  const auto calls = [&copies](std::size_t part) { return copies.seen[part]->in_flight.load(); };
  return calls(from[second]) < calls(from[first]) ? from[second] : from[first];
}

Result<bool> Adding::to_part(const Copies& copies, std::size_t part) {
  const std::uint16_t slot = copies.manifest.copies[part].slot;
  Copies::Seen& seen = *copies.seen[part];
  tried_.push_back(slot);
  seen.in_flight.fetch_add(1);
  const Result<Copy> added = shared_.copy_store().add(state_.key(), slot, by_).wait();
  seen.in_flight.fetch_sub(1);
  if (added && added->status == Copy::Status::part) {
    if (seen.passed_over_until.load(std::memory_order_relaxed) != 0) seen.passed_over_until = 0;
    return true;
  }
  seen.passed_over_until = (Clock::now() + pass_over).time_since_epoch().count();
  if (!added) {
    if (hopeless(added.error())) return added.error();
    return false;
  }
  // Folded, gone or lost: the placement may be another one by now. If nobody answers, the parts
  // that are known are tried all the same.
  (void)shared_.refresh(state_);
  return false;
}

Result<bool> Adding::to_original(const Copies& copies) {
  const auto asked = Clock::now();
  Result<Home> home = shared_.store().add_home(state_.key(), copies.manifest.number, by_).wait();
  if (!home) return home.error();
  state_.hear(*home, asked);
  switch (home->status) {
    case Home::Status::ok:
    case Home::Status::joined:
      return true;
    case Home::Status::no_value:
      return counter_error(ErrorCode::incomplete, Outcome::rejected, state_.key(),
                           "has lost its original, and no part takes the increment");
    default:
      break;
  }
  // Without a manifest: it is found again, or the key is not split any more.
  if (auto again = shared_.refresh(state_); !again) {
    if (again.error().code() != ErrorCode::not_split) return again.error();
    const Result<void> added = to_plain_key();
    if (!added) return added.error();
    return true;
  }
  if (Clock::now() < deadline_) return false;
  return counter_error(ErrorCode::timeout, Outcome::rejected, state_.key(),
                       "has no part that takes the increment");
}

Result<void> Adding::to_plain_key() const {
  const auto done =
      shared_.client().async().command<std::int64_t>("INCRBY", state_.key(), by_).wait();
  if (!done) return done.error();
  return {};
}

// --- sum ---------------------------------------------------------------------------------------

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// One round: everything is asked at once. A sum that it gives is right. Why:
///
/// The home slot must answer that the manifest is still this one, so until then nothing moved from
/// a part that is in it to the original. A part that was folded after that still tells its number,
/// for a minute; one that was removed says so; and one that was opened again tells under which
/// manifest, which cannot be one before this.
class Summing {
 public:
  Summing(Shared& shared, KeyState& state, std::shared_ptr<const Copies> copies)
      : shared_(shared), state_(state), copies_(std::move(copies)) {}

  /// Absent: another try may do, see why().
  Result<std::optional<std::int64_t>> run();
  const Error& why() const noexcept { return *why_; }

 private:
  void ask();
  Result<bool> take_home();
  Result<bool> take_part(std::size_t i);
  /// Keeps the first one.
  bool try_again(Error error) {
    if (!why_) why_ = std::move(error);
    return false;
  }

  Shared& shared_;
  KeyState& state_;
  const std::shared_ptr<const Copies> copies_;
  Clock::time_point asked_;
  std::optional<Call<Home>> home_;
  std::vector<Call<Copy>> parts_;
  __extension__ __int128 sum_ = 0;  // parts may go further than their sum
  std::optional<Error> why_;
};

void Summing::ask() {
  const Store& store = shared_.copy_store();
  asked_ = Clock::now();
  home_ = store.look(state_.key(), copies_->manifest.number, true);
  parts_.reserve(copies_->manifest.copies.size());
  for (const CopyPlace& place : copies_->manifest.copies)
    parts_.push_back(store.look_part(state_.key(), place.slot));
}

Result<bool> Summing::take_home() {
  Result<Home> home = home_->wait();
  const std::string& key = state_.key();
  if (!home) {
    if (home.error().code() == ErrorCode::damaged) return home.error();
    return try_again(
        incomplete(key, key, home.error().message()).with_node(std::string(home.error().node())));
  }
  const bool same = home->status == Home::Status::ok && !home->manifest;
  const bool lost = home->lost;
  state_.hear(*home, asked_);
  if (home->status == Home::Status::absent) {
    auto again = shared_.refresh(state_);
    if (!again && again.error().code() != ErrorCode::not_split) return again.error();
  }
  if (!same) return try_again(incomplete(key, key, "changes its placement all the time"));
  if (lost || !home->value) {
    return incomplete(
        key, key, "is lost (the original); SET it to what it held, or to 0, to count without it");
  }
  const auto number = number_in(*home->value);
  if (!number) return incomplete(key, key, "is not an integer (the original)");
  sum_ += *number;
  return true;
}

Result<bool> Summing::take_part(std::size_t i) {
  Result<Copy> part = parts_[i].wait();
  const std::string& name = copies_->names[i];
  if (!part) {
    const Error& e = part.error();
    if (e.code() == ErrorCode::damaged || e.code() == ErrorCode::not_split) {
      return incomplete(state_.key(), name, e.message());
    }
    return try_again(incomplete(state_.key(), name, e.message()).with_node(std::string(e.node())));
  }
  switch (part->status) {
    case Copy::Status::part:
      if (part->number >= copies_->manifest.number) {
        return try_again(incomplete(state_.key(), name, "was opened again"));
      }
      break;
    case Copy::Status::folded:
      break;
    case Copy::Status::gone:
      return try_again(incomplete(state_.key(), name, "was removed"));
    default:
      return incomplete(state_.key(), name,
                        "is lost; SET it to what it held, or to 0, to count without it");
  }
  sum_ += part->part;
  return true;
}

Result<std::optional<std::int64_t>> Summing::run() {
  using Sum = std::optional<std::int64_t>;
  ask();
  const Result<bool> home = take_home();
  // All are waited for: a question on its way is not left behind.
  std::optional<Error> error;
  bool good = true;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Result<bool> part = take_part(i);
    if (!part && !error) error = part.error();
    good = good && part && *part;
  }
  if (!home) return home.error();
  // Only the placement that is the present one may call a part lost.
  if (!*home) return Sum();
  if (error) return std::move(*error);
  if (!good) return Sum();
  const auto sum = static_cast<std::int64_t>(sum_);
  if (sum_ != sum) {
    return counter_error(ErrorCode::type_mismatch, Outcome::executed, state_.key(),
                         "has a sum of more than 64 bits");
  }
  return Sum(sum);
}

}  // namespace

Result<void> add(Shared& shared, KeyState& state, std::int64_t by) {
  state.used(Clock::now());
  return Adding(shared, state, by).run();
}

Result<std::int64_t> sum(Shared& shared, KeyState& state) {
  const auto begin = Clock::now();
  const auto deadline = begin + shared.call_timeout();
  state.used(begin);
  milliseconds pause(2);
  while (true) {
    auto copies = shared.current(state);
    if (!copies) {
      if (copies.error().code() != ErrorCode::not_split) return std::move(copies).error();
      const auto plain = shared.client()
                             .with({.read_from = ReadFrom::primary})
                             .async()
                             .command<std::optional<std::int64_t>>("GET", state.key())
                             .wait();
      if (!plain) return plain.error();
      return plain->value_or(0);
    }
    if ((*copies)->manifest.kind != Kind::counter) return is_value(state.key());
    Summing round(shared, state, std::move(*copies));
    const auto total = round.run();
    if (!total) return total.error();
    if (*total) return **total;
    if (Clock::now() + pause >= deadline) return round.why();
    std::this_thread::sleep_for(pause);
    pause = (std::min)(pause * 2, milliseconds(100));
  }
}

}  // namespace slotwise::hotkey
