#include "topology/primary_search.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/backoff.hpp"
#include "base/endpoint.hpp"

namespace slotwise::topology {
namespace {

using std::chrono::milliseconds;

// A learned sentinel that was unreachable so often in a row, and that nobody names any more, is
// gone.
constexpr int failures_of_the_gone = 3;
constexpr milliseconds check_without_events(1000);
// Answers of a majority may be late once or twice, after a cut for instance. The word of a minority
// is taken when they have stayed away so many rounds in a row.
constexpr int rounds_without_majority = 3;

using Kind = SentinelReport::Kind;

}  // namespace

PrimarySearchSettings PrimarySearchSettings::from(const Config& config) {
  PrimarySearchSettings s;
  s.name = config.sentinel_name;
  s.check_interval = config.sentinel_check_interval;
  return s;
}

PrimarySearch::PrimarySearch(PrimarySearchSettings settings, const std::vector<Endpoint>& seeds,
                             base::Random random)
    : settings_(std::move(settings)), random_(random) {
  for (const Endpoint& endpoint : seeds)
    sentinels_.push_back({.handle = next_handle_++, .endpoint = endpoint, .seed = true});
}

// --- who the sentinels are -------------------------------------------------------------------

PrimarySearch::Sentinel* PrimarySearch::find(SentinelHandle handle) noexcept {
  const auto it = std::find_if(sentinels_.begin(), sentinels_.end(),
                               [&](const Sentinel& s) { return s.handle == handle; });
  return it == sentinels_.end() ? nullptr : &*it;
}

/// By its address, or by its id under an address where it still answers.
bool PrimarySearch::is_known(const KnownSentinel& other) const {
  return std::any_of(sentinels_.begin(), sentinels_.end(), [&](const Sentinel& s) {
    const bool same_id = !other.id.empty() && s.id == other.id;
    return base::same_endpoint(s.endpoint, other.endpoint) || (same_id && s.failures == 0);
  });
}

void PrimarySearch::learn(const SentinelReport& report) {
  for (const KnownSentinel& other : report.others) {
    for (Sentinel& s : sentinels_) {
      if (s.id.empty() && base::same_endpoint(s.endpoint, other.endpoint)) s.id = other.id;
    }
    if (is_known(other)) continue;
    // It moved: what was learned before is of no use. (What the configuration says stays.)
    std::erase_if(sentinels_, [&](const Sentinel& s) {
      return !s.seed && !other.id.empty() && s.id == other.id;
    });
    // Asked in this very round: one sentinel must not speak for all because only it was known.
    sentinels_.push_back(
        {.handle = next_handle_++, .endpoint = other.endpoint, .id = other.id, .asked = open_});
  }
}

/// `known` told its id: learned entries of the same id are the same sentinel.
void PrimarySearch::drop_doubles(const Sentinel& known) {
  if (known.id.empty()) return;
  const SentinelHandle keep = known.handle;
  const std::string id = known.id;
  if (known.seed) {
    std::erase_if(sentinels_,
                  [&](const Sentinel& s) { return s.handle != keep && !s.seed && s.id == id; });
    return;
  }
  const bool has_seed = std::any_of(sentinels_.begin(), sentinels_.end(), [&](const Sentinel& s) {
    return s.seed && s.id == id && s.failures == 0;
  });
  if (has_seed) std::erase_if(sentinels_, [&](const Sentinel& s) { return s.handle == keep; });
}

void PrimarySearch::drop_the_gone() {
  const auto named = [this](const Sentinel& s) {
    return std::any_of(sentinels_.begin(), sentinels_.end(), [&](const Sentinel& by) {
      if (!by.report) return false;
      return std::any_of(by.report->others.begin(), by.report->others.end(), [&](const auto& o) {
        return (!s.id.empty() && o.id == s.id) || base::same_endpoint(o.endpoint, s.endpoint);
      });
    });
  };
  std::vector<SentinelHandle> gone;
  for (const Sentinel& s : sentinels_) {
    if (!s.seed && s.failures >= failures_of_the_gone && !named(s)) gone.push_back(s.handle);
  }
  std::erase_if(sentinels_, [&](const Sentinel& s) {
    return std::find(gone.begin(), gone.end(), s.handle) != gone.end();
  });
}

// --- when they are asked ---------------------------------------------------------------------

void PrimarySearch::settled(bool yes, time_point now) {
  if (yes && !settled_ && settings_.check_interval.count() > 0) {
    next_check_ = now + base::jittered(settings_.check_interval, random_);
  }
  settled_ = yes;
}

std::chrono::microseconds PrimarySearch::pause() {
  milliseconds longest = settings_.pause;
  for (int i = 1; i < unanswered_rounds_ && longest < settings_.pause_unreachable; ++i)
    longest *= 2;
  return base::jittered(std::min(longest, settings_.pause_unreachable), random_);
}

PrimarySearch::Step PrimarySearch::poll(time_point now) {
  Step step;
  if (open_) return step;
  time_point due = time_point::max();
  if (!settled_) due = not_before_;
  if (triggered_ && last_round_) due = std::min(due, *last_round_ + settings_.trigger_pause);
  if (triggered_ && !last_round_) due = now;
  if (settled_ && next_check_) {
    const bool blind = !hears_events_ && last_round_;
    due = std::min(
        due, blind ? std::min(*next_check_, *last_round_ + check_without_events) : *next_check_);
  }
  if (due > now) {
    step.wake = due;
    return step;
  }
  open_ = step.ask = true;
  triggered_ = false;
  ++round_;
  last_round_ = now;
  if (settings_.check_interval.count() > 0) {
    next_check_ = now + base::jittered(settings_.check_interval, random_);
  }
  for (Sentinel& s : sentinels_) {
    s.asked = true;
    s.report.reset();
  }
  return step;
}

// --- what is believed ------------------------------------------------------------------------

std::optional<PrimarySearch::Conclusion> PrimarySearch::reported(SentinelHandle handle,
                                                                 SentinelReport report,
                                                                 time_point now) {
  Sentinel* s = find(handle);
  if (s == nullptr) return std::nullopt;
  const bool late = !open_ || !s->asked;
  s->asked = false;
  const bool news = note(*s, report);
  if (late) {
    const bool other = believed_ && !base::same_endpoint(report.primary, *believed_);
    if (!news || !other || report.config_epoch <= believed_epoch_) return std::nullopt;
    return overtaken(report);
  }
  const bool first = report.kind == Kind::named &&
                     std::none_of(sentinels_.begin(), sentinels_.end(), [](const Sentinel& other) {
                       return other.report && other.report->kind == Kind::named;
                     });
  s->report = std::move(report);
  if (first) {
    const auto at = sentinels_.begin() + (s - sentinels_.data());
    std::rotate(sentinels_.begin(), at, at + 1);
    s = sentinels_.data();
  }
  const SentinelReport said = *s->report;
  drop_doubles(*s);
  if (said.kind == Kind::named) learn(said);
  return weigh(now);
}

/// True: it says something else than the last time.
bool PrimarySearch::note(Sentinel& sentinel, const SentinelReport& report) {
  sentinel.failures = report.kind == Kind::failed ? sentinel.failures + 1 : 0;
  if (!report.id.empty()) sentinel.id = report.id;
  if (report.kind != Kind::named) return false;
  const bool same = sentinel.named && sentinel.epoch == report.config_epoch &&
                    base::same_endpoint(*sentinel.named, report.primary);
  sentinel.named = report.primary;
  sentinel.epoch = report.config_epoch;
  return !same;
}

/// One that is known by several names is counted once.
PrimarySearch::Count PrimarySearch::count() const {
  Count count;
  // A seed that never told its id may be one of those that were learned with it.
  std::set<std::string> seeds;
  std::set<std::string> ids;
  std::set<std::string> counted;
  for (const Sentinel& s : sentinels_) {
    const std::string who = s.id.empty() ? base::endpoint_key(s.endpoint) : s.id;
    if (s.seed) seeds.insert(who);
    if (!s.id.empty()) ids.insert(who);
    count.pending = count.pending || s.asked;
    if (!s.report || s.report->kind != Kind::named || !counted.insert(who).second) continue;
    ++count.answered;
    count.total = std::max(count.total, s.report->sentinels);
    const auto same = std::find_if(
        count.candidates.begin(), count.candidates.end(),
        [&](const Candidate& c) { return base::same_endpoint(c.endpoint, s.report->primary); });
    Candidate& c = same != count.candidates.end() ? *same : count.candidates.emplace_back();
    if (c.report == nullptr) {
      c.report = &*s.report;
      c.endpoint = s.report->primary;
    }
    c.epoch = std::max(c.epoch, s.report->config_epoch);
    ++c.votes;
  }
  count.total = std::max(count.total, count.answered);
  count.known = static_cast<int>(std::max(seeds.size(), ids.size()));
  std::stable_sort(count.candidates.begin(), count.candidates.end(),
                   [this](const auto& a, const auto& b) {
                     if (a.epoch != b.epoch) return a.epoch > b.epoch;
                     if (a.votes != b.votes) return a.votes > b.votes;
                     // A tie must not turn with the order of the answers.
                     return believed_ && base::same_endpoint(a.endpoint, *believed_) &&
                            !base::same_endpoint(b.endpoint, *believed_);
                   });
  return count;
}

/// Rule 5. `most`: whom most of the reachable majority name; null: nobody.
bool PrimarySearch::insists(const Candidate* most, time_point now) {
  if (most == nullptr) {
    contender_.reset();
    return false;
  }
  if (!contender_ || !base::same_endpoint(*contender_, most->endpoint)) {
    contender_ = most->endpoint;
    contender_since_ = now;
  }
  return now - contender_since_ >= settings_.insistence;
}

/// What is in use may be confirmed by few; what is to be used may not.
bool PrimarySearch::minority_may_decide(const Candidate& best) const {
  const bool in_use = settled_ && believed_ && base::same_endpoint(best.endpoint, *believed_);
  return in_use || minority_rounds_ >= rounds_without_majority;
}

/// Rule 3: named by most, or by half of them while the others are of an older epoch.
bool PrimarySearch::may_lead(const Count& votes) const {
  const Candidate& best = votes.candidates.front();
  if (2 * best.votes > votes.answered) return true;
  return 2 * best.votes == votes.answered && best.epoch > votes.candidates[1].epoch;
}

std::optional<PrimarySearch::Conclusion> PrimarySearch::weigh(time_point now) {
  const Count votes = count();
  const int majority = votes.total / 2 + 1;
  const Candidate* best = votes.candidates.empty() ? nullptr : &votes.candidates.front();
  const bool newer = best != nullptr && best->epoch >= believed_epoch_;
  if (votes.pending) {
    // A sentinel that knows no other must not decide while others are being asked.
    const int of_all = std::max(votes.total, votes.known) / 2 + 1;
    if (!newer || best->votes < of_all) return std::nullopt;
    Conclusion early = believe(*best);
    minority_rounds_ = 0;
    close_round(true);
    return early;
  }
  const bool quorate = votes.answered >= majority;
  const bool unanimous =
      votes.candidates.size() == 1 && votes.answered >= std::max(votes.total, votes.known);
  minority_rounds_ = quorate ? 0 : minority_rounds_ + 1;
  const auto most_name = [&](const Candidate& c) { return 2 * c.votes > votes.answered; };
  Conclusion end;
  if (best == nullptr) {
    contender_.reset();
    end = nobody();
  } else if (unanimous || (newer && (quorate ? may_lead(votes) : minority_may_decide(*best)))) {
    end = believe(*best);
  } else {
    const auto most = std::find_if(votes.candidates.begin(), votes.candidates.end(), most_name);
    const Candidate* named = quorate && most != votes.candidates.end() ? &*most : nullptr;
    end = insists(named, now) ? believe(*named) : doubt(votes, named);
  }
  end.round = round_;
  close_round(best != nullptr);
  not_before_ = now + pause();
  return end;
}

void PrimarySearch::close_round(bool answered) {
  open_ = false;
  unanswered_rounds_ = answered ? 0 : unanswered_rounds_ + 1;
  if (last_round_) not_before_ = *last_round_ + pause();
  if (answered) drop_the_gone();
}

PrimarySearch::Conclusion PrimarySearch::believe(const Candidate& candidate) {
  // Who insisted need not do so again, as long as nothing changes.
  if (contender_ && !base::same_endpoint(*contender_, candidate.endpoint)) contender_.reset();
  believed_ = candidate.endpoint;
  believed_epoch_ = candidate.epoch;
  Conclusion c;
  c.primary = candidate.endpoint;
  c.config_epoch = candidate.epoch;
  c.replicas = candidate.report->replicas;
  c.round = round_;
  return c;
}

/// `most`: whom most of the reachable majority name; null: nobody, or no majority can be reached.
PrimarySearch::Conclusion PrimarySearch::doubt(const Count& votes, const Candidate* most) const {
  std::string text = "the sentinels do not agree on the primary of '" + settings_.name + "':";
  for (const Candidate& c : votes.candidates) {
    text += ' ' + c.endpoint.to_string() + " is named by " + std::to_string(c.votes) +
            " with epoch " + std::to_string(c.epoch) + ',';
  }
  text += " of " + std::to_string(votes.total) + " sentinels " + std::to_string(votes.answered) +
          " answer, and epoch " + std::to_string(believed_epoch_) + " was heard of before";
  Conclusion c;
  c.error = Error(ErrorCode::no_primary, Outcome::not_sent, std::move(text));
  c.leave = votes.candidates.front().epoch > believed_epoch_ ||
            (most != nullptr && believed_ && !base::same_endpoint(most->endpoint, *believed_));
  return c;
}

/// The round was decided without this one, which knows of a later failover. The next round shows
/// who is right; until then nobody is believed. (It is heard once: see note().)
PrimarySearch::Conclusion PrimarySearch::overtaken(const SentinelReport& late) {
  trigger();
  Conclusion c;
  c.error = Error(ErrorCode::no_primary, Outcome::not_sent,
                  "a sentinel names " + late.primary.to_string() + " with the newer epoch " +
                      std::to_string(late.config_epoch));
  c.leave = true;
  c.round = round_;
  return c;
}

PrimarySearch::Conclusion PrimarySearch::nobody() const {
  std::string reasons;
  bool unknown = false;
  bool only_unknown = true;
  bool only_hopeless = true;
  ErrorCode code = ErrorCode::sentinels_unreachable;
  for (const Sentinel& s : sentinels_) {
    if (!s.report) continue;
    const bool knows_not = s.report->kind == Kind::unknown_name;
    unknown = unknown || knows_not;
    only_unknown = only_unknown && knows_not;
    reasons += " [" + s.endpoint.to_string() + "] ";
    if (knows_not) {
      reasons += "does not know the name;";
      continue;
    }
    const Error& why = *s.report->error;
    reasons += std::string(why.message()) + ';';
    const bool settled =
        why.code() == ErrorCode::auth_failed || why.code() == ErrorCode::invalid_argument;
    only_hopeless = only_hopeless && settled;
    if (settled) code = why.code();
  }
  if (!reasons.empty()) reasons.pop_back();
  Conclusion c;
  if (unknown) {
    c.error =
        Error(ErrorCode::unknown_primary, Outcome::not_sent,
              "no sentinel knows a primary with the name '" + settings_.name + "':" + reasons);
    c.hopeless = only_unknown;
    return c;
  }
  c.hopeless = only_hopeless;
  c.error = Error(only_hopeless ? code : ErrorCode::sentinels_unreachable, Outcome::not_sent,
                  "no sentinel can be used:" + reasons);
  return c;
}

}  // namespace slotwise::topology
