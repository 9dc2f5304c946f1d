// What becomes of a request that something went wrong with: how it waits, what it remembers, and
// with which error it ends if nothing helped.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/backoff.hpp"
#include "routing/dispatcher.hpp"

namespace slotwise::routing {

using topology::RefreshReason;

// --- memory ----------------------------------------------------------------------------------

Trouble& Dispatcher::trouble_of(Request& request) {
  if (request.trouble == nullptr) request.trouble = std::make_unique<Trouble>(*this, request);
  return *request.trouble;
}

/// Keeps the last error, and the path in a short form: the first word of what each node said.
void Dispatcher::note(Request& request, const Node& node, const Error& error) {
  if (request.single_attempt) return;
  Trouble& t = trouble_of(request);
  const std::string_view said = error.server_text();
  std::string step = node.name() + " ";
  step += said.empty() ? to_string(error.code()) : said.substr(0, said.find(' '));
  t.add_step(std::move(step));
  t.last = error;
  if (error.code() == ErrorCode::connect_failed || error.code() == ErrorCode::tls_failed) {
    t.unreachable = node.name() + ": " + std::string(error.message());
  }
}

void Dispatcher::leave_trouble(Request& request, bool succeeded) {
  const bool helped = succeeded && request.trouble->costs_budget;
  WaitingRoom::remove(*request.trouble);
  request.trouble.reset();
  if (helped) retry_succeeded();
}

// --- waiting ---------------------------------------------------------------------------------

void Dispatcher::wait(Request& request, bool pause, bool wakes_on_map) {
  Trouble& t = trouble_of(request);
  t.wakes_on_map = wakes_on_map;
  t.paused = pause;
  TimePoint at = around_.loop.now();
  if (pause) {
    const base::BackoffLimits limits{around_.config.retry_backoff_min,
                                     around_.config.retry_backoff_max};
    at += base::backoff_delay(limits, ++t.pauses, base::thread_random());
  }
  waiting_.add(t);
  around_.loop.arm(t.timer, std::min(at, request.deadline));
}

/// The wait is over.
void Dispatcher::go_on(Trouble& t) {
  const TimePoint now = around_.loop.now();
  if (t.paused && now < t.request.deadline) {
    TokenBucket& share = t.request.node != nullptr ? t.request.node->retry_share : unowned_share_;
    if (!budget_.take(now, share)) return throttle(t);
    t.costs_budget = true;
  }
  dispatch(t.request);
}

/// Retries enough are under way; this one goes when one of them has succeeded, or after a pause.
void Dispatcher::throttle(Trouble& t) {
  throttled_.add(t);
  around_.loop.arm(
      t.timer, std::min(around_.loop.now() + around_.config.retry_backoff_max, t.request.deadline));
}

void Dispatcher::retry_succeeded() {
  budget_.give_back();
  // Two for one: after an outage the pace doubles with every round trip.
  Trouble* t = throttled_.head();
  for (int i = 0; i < 2 && t != nullptr; ++i, t = t->next)
    around_.loop.arm(t->timer, around_.loop.now());
}

void Dispatcher::wait_with(Request& request, Request& first) {
  Trouble& t = trouble_of(request);
  t.wakes_on_map = first.trouble->wakes_on_map;
  waiting_.add(t);
  around_.loop.arm(t.timer, first.trouble->timer.at());
}

void Dispatcher::on_map_changed() {
  if (!told_usable_ && keeper_->has_view()) {
    told_usable_ = true;
    listener_.on_usable();
  }
  // Through the timer: this may run in the middle of another request's story.
  for (Trouble* t = waiting_.head(); t != nullptr; t = t->next) {
    if (t->wakes_on_map) around_.loop.arm(t->timer, around_.loop.now());
  }
}

void Dispatcher::on_node_changed(Node& node) {
  // Commands that wait for a connection to the old owner need not wait for it to come back.
  send_elsewhere(node, node.take_unsent());
}

/// Calls of which no byte has left are looked up again.
void Dispatcher::send_elsewhere(Node& node, link::Call* calls) {
  while (calls != nullptr) {
    auto& request = static_cast<Request&>(*std::exchange(calls, calls->next_unsent));
    --request.attempts;
    if (request.target == Target::fixed_node || request.prefix == link::Call::Prefix::asking) {
      request.next_node = &node;
    }
    wait(request, false, false);
  }
}

void Dispatcher::on_stalled(Node& node) {
  // A stopped process still accepts connections: without this nobody would ask who took over until
  // the connect has failed.
  if (!closed_ && !node.retired()) keeper_->trigger(RefreshReason::node_lost);
  send_elsewhere(node, node.take_stalled_reads());  // to the primary
}

// --- ends ------------------------------------------------------------------------------------

void Dispatcher::expire(Request& request) {
  Outcome outcome = Outcome::not_sent;
  ErrorCode code = ErrorCode::timeout;
  std::string text = "the call's deadline passed";
  std::string server_text;
  if (request.trouble != nullptr && request.trouble->last) {
    // The last thing that was heard says more than "timeout", and it knows whether it ran.
    const Error& last = *request.trouble->last;
    code = last.code();
    outcome = last.outcome();
    text += "; last: ";
    text += last.message();
    server_text = last.server_text();
    // A redirect to a dead node is answered with the same redirect again: then the reason is what
    // was heard before.
    const std::string& reason = request.trouble->unreachable;
    if (!reason.empty() && last.code() != ErrorCode::connect_failed) text += "; before: " + reason;
  }
  Error error(code, overall_outcome(outcome, request.may_have_run), std::move(text));
  if (!server_text.empty()) error = error.with_server_text(std::move(server_text));
  fail(request, std::move(error));
}

void Dispatcher::fail(Request& request, Error error) {
  error = error.with_attempts(request.attempts)
              .with_outcome(overall_outcome(error.outcome(), request.may_have_run));
  if (error.node().empty() && request.node != nullptr)
    error = error.with_node(request.node->name());
  if (request.trouble != nullptr && request.attempts > 1) {
    const std::string path = request.trouble->path();
    if (!path.empty()) {
      error = error.with_message(std::string(error.message()) + " (path: " + path + ")");
    }
  }
  finish(request, std::move(error));
}

}  // namespace slotwise::routing
