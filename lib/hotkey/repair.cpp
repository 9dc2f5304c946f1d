#include "hotkey/repair.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotkey/lost.hpp"

namespace slotwise::hotkey {
namespace {

/// Others go on writing meanwhile: then what was found is looked at again.
constexpr int most_rounds = 8;

bool has_answer(Copy::Status status) noexcept {
  return status == Copy::Status::value || status == Copy::Status::deleted ||
         status == Copy::Status::expired;
}

Error value_lost(std::string_view key) {
  std::string text = "the value of \"";
  text.append(key).append("\" is lost at its own slot");
  return Error(ErrorCode::damaged, Outcome::executed, std::move(text));
}

/// What all copies say, asked at once.
struct Survey {
  std::vector<Result<Copy>> copies;
  std::optional<std::size_t> newest;  ///< which has the greatest version
  bool all_answered = true;

  std::uint64_t version() const { return newest ? copies[*newest]->version : 0; }
};

Survey ask_copies(const Shared& shared, const KeyState& state, const Manifest& manifest) {
  std::vector<Call<Copy>> calls;
  calls.reserve(manifest.copies.size());
  for (const CopyPlace& place : manifest.copies)
    calls.push_back(shared.copy_store().look_copy(state.key(), place.slot, false));
  Survey survey;
  for (auto& call : calls) {
    survey.copies.push_back(call.wait());
    const Result<Copy>& copy = survey.copies.back();
    if (!copy) {
      survey.all_answered = false;
    } else if (has_answer(copy->status) && copy->version > survey.version()) {
      survey.newest = survey.copies.size() - 1;
    }
  }
  return survey;
}

class Repair {
 public:
  Repair(Shared& shared, KeyState& state) : shared_(shared), state_(state) {}

  Result<void> run() {
    for (int round = 0; round < most_rounds; ++round) {
      auto done = once();
      if (!done) return done.error();
      if (*done) return {};
    }
    return Error(ErrorCode::try_again, Outcome::executed,
                 "others change the key as fast as it is repaired");
  }

 private:
  /// The original. Empty: the key is not split any more, or is a counter.
  Result<std::optional<Home>> ask_home(bool with_value) {
    const auto copies = state_.copies();
    const std::uint64_t known = copies == nullptr ? 0 : copies->manifest.number;
    const auto asked = Clock::now();
    const Store& store = with_value ? shared_.store() : shared_.copy_store();
    auto home = store.look(state_.key(), known, with_value).wait();
    if (!home) return std::move(home).error();
    if (home->status == Home::Status::absent) {
      if (copies == nullptr || copies->manifest.joined) return std::optional<Home>();
      auto restored = restore_lost(shared_, state_, copies->manifest);
      if (!restored) return std::move(restored).error();
      if (*restored) return ask_home(with_value);
      state_.forget(asked);
      return std::optional<Home>();
    }
    state_.hear(*home, asked);
    if (home->status == Home::Status::joined) return std::optional<Home>();
    if (state_.copies()->manifest.kind != Kind::value) return std::optional<Home>();
    return std::optional<Home>(std::move(*home));
  }

  /// False: look again.
  Result<bool> once() {
    auto home = ask_home(false);
    if (!home) return std::move(home).error();
    if (!*home) return true;
    const Manifest manifest = state_.copies()->manifest;
    const Survey survey = ask_copies(shared_, state_, manifest);
    if (survey.version() > (*home)->version || (*home)->lost) {
      auto known = give_back(manifest, survey);
      if (!known) return std::move(known).error();
      if (!*known) return false;
    }
    return bring_up(manifest, survey, (*home)->version);
  }

  /// Copies have more than the home slot had before they were asked. True: that is because it was
  /// written meanwhile.
  Result<bool> give_back(const Manifest& manifest, const Survey& survey) {
    auto home = ask_home(false);
    if (!home) return std::move(home).error();
    if (!*home) return false;
    if ((*home)->version >= survey.version() && !(*home)->lost) return true;
    if (survey.newest && survey.version() >= (*home)->version) {
      const std::uint16_t slot = manifest.copies[*survey.newest].slot;
      auto copy = Store(shared_.client()).look_copy(state_.key(), slot, true).wait();
      if (!copy) return std::move(copy).error();
      if (!has_answer(copy->status)) return false;
      auto done =
          shared_.store().restore(state_.key(), copy->version, copy->expires, copy->value).wait();
      if (!done) return std::move(done).error();
      return false;
    }
    if (!survey.all_answered) return value_lost(state_.key());
    // Nobody has it: from now on there is none, unless somebody has written meanwhile.
    auto done =
        shared_.store().restore(state_.key(), (*home)->version + 1, -1, std::nullopt).wait();
    if (!done) return std::move(done).error();
    return false;
  }

  /// Puts the original to all copies that have less than `version`. False: look again.
  Result<bool> bring_up(const Manifest& manifest, const Survey& survey, std::uint64_t version) {
    std::vector<std::uint16_t> slots;
    for (std::size_t i = 0; i < survey.copies.size(); ++i) {
      const Result<Copy>& copy = survey.copies[i];
      if (copy && copy->status == Copy::Status::gone) continue;  // the manifest is old
      if (copy && has_answer(copy->status) && copy->version >= version) continue;
      slots.push_back(manifest.copies[i].slot);
    }
    if (slots.empty()) return true;
    auto home = ask_home(true);
    if (!home) return std::move(home).error();
    if (!*home || (*home)->lost) return false;
    return put(**home, slots);
  }

  Result<bool> put(const Home& home, const std::vector<std::uint16_t>& slots) {
    std::vector<Call<Copy>> calls;
    calls.reserve(slots.size());
    for (const std::uint16_t slot : slots) {
      calls.push_back(
          shared_.copy_store().put(state_.key(), slot, home.version, home.expires, home.value));
    }
    std::optional<Error> error;
    bool all_taken = true;
    for (auto& call : calls) {
      auto copy = call.wait();
      if (!copy) {
        if (!error) error = std::move(copy).error();
      } else if (copy->status != Copy::Status::written) {
        all_taken = false;  // a later write, or a copy that was removed
      }
    }
    if (error) return std::move(*error);
    return all_taken;
  }

  Shared& shared_;
  KeyState& state_;
};

}  // namespace

Result<void> repair(Shared& shared, KeyState& state) {
  return Repair(shared, state).run();
}

Result<void> fill(Shared& shared, KeyState& state, std::uint16_t slot) {
  for (int round = 0; round < most_rounds; ++round) {
    const auto asked = Clock::now();
    auto home = shared.store().look(state.key(), 0, true).wait();
    if (!home) return std::move(home).error();
    if (home->status != Home::Status::ok) return {};  // the keeper will find out
    if (home->manifest && home->manifest->kind != Kind::value) return {};
    const bool lost = home->lost;
    const std::uint64_t version = home->version;
    const std::int64_t expires = home->expires;
    const auto value = std::move(home->value);
    state.hear(*home, asked);
    if (!lost) {
      auto copy = shared.store().put(state.key(), slot, version, expires, value).wait();
      if (!copy) return std::move(copy).error();
      if (copy->status == Copy::Status::written) return {};
      if (copy->status == Copy::Status::newer) {
        // Written meanwhile; or the home slot has forgotten it.
        auto again = shared.store().look(state.key(), 0, false).wait();
        if (!again) return std::move(again).error();
        if (again->version >= copy->version) return {};
      } else {
        return Error(ErrorCode::not_split, Outcome::rejected, "the copy was removed");
      }
    }
    auto repaired = repair(shared, state);
    if (!repaired) return repaired;
  }
  return value_lost(state.key());
}

}  // namespace slotwise::hotkey
