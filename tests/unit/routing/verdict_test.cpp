// Every row of "What a reply means" as a decision. No sockets, no clock.
#include "routing/verdict.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace slotwise;
using namespace slotwise::routing;

namespace {

Verdict judge(const char* text, const Facts& facts) {
  return judge_reply(topology::parse_server_error(text), text, facts);
}

Facts for_slot(std::uint16_t slot) {
  Facts f;
  f.target = Target::slot;
  f.slot = slot;
  return f;
}

}  // namespace

TEST_CASE("MOVED: the named node at once, the map patched, a refresh asked for") {
  const Verdict v = judge("MOVED 12182 127.0.0.1:7001", for_slot(12182));
  CHECK(v.action == Action::follow);
  CHECK(v.patch_map);
  CHECK(v.refresh);
  CHECK_FALSE(v.asking);
  CHECK_FALSE(v.pause);
}

TEST_CASE("ASK: ASKING before it, the map untouched") {
  const Verdict v = judge("ASK 12182 127.0.0.1:7001", for_slot(12182));
  CHECK(v.action == Action::follow);
  CHECK(v.asking);
  CHECK_FALSE(v.patch_map);
  CHECK_FALSE(v.refresh);
}

TEST_CASE("a redirect about another slot, or to a command without one, is data") {
  CHECK(judge("MOVED 1 127.0.0.1:7001", for_slot(12182)).action == Action::deliver);
  CHECK(judge("ASK 1 127.0.0.1:7001", for_slot(12182)).action == Action::deliver);
  CHECK(judge("MOVED 1 127.0.0.1:7001", Facts{}).action == Action::deliver);
  CHECK(judge("MOVED", for_slot(12182)).action == Action::deliver);
  CHECK(judge("MOVED 99999 h:1", for_slot(12182)).action == Action::deliver);
}

TEST_CASE("redirects end at the limit and slow down before it") {
  Facts f = for_slot(5);
  f.redirects = unpaused_redirects;
  CHECK(judge("MOVED 5 a:1", f).pause);
  f.redirects = f.max_redirects;
  const Verdict v = judge("MOVED 5 a:1", f);
  CHECK(v.action == Action::deliver);
  CHECK(v.code == ErrorCode::too_many_redirects);
  CHECK(v.outcome == Outcome::rejected);
}

TEST_CASE("MOVED to the address that answered: connect anew") {
  Facts f = for_slot(5);
  f.answered_by_named = true;
  const Verdict v = judge("MOVED 5 a:1", f);
  CHECK(v.action == Action::retry);
  CHECK(v.close_node);
  CHECK(v.refresh);
  CHECK(v.pause);
}

TEST_CASE("answers that pass by themselves") {
  const Facts f = for_slot(5);
  const Verdict again = judge("TRYAGAIN Multiple keys request during rehashing of slot", f);
  CHECK(again.action == Action::retry);
  CHECK(again.pause);
  CHECK(again.same_node);
  CHECK_FALSE(again.refresh);
  CHECK(again.code == ErrorCode::try_again);

  const Verdict down = judge("CLUSTERDOWN The cluster is down", f);
  CHECK(down.action == Action::retry);
  CHECK(down.refresh);
  CHECK(down.code == ErrorCode::cluster_down);

  for (const char* text :
       {"LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down"}) {
    CHECK(judge(text, f).action == Action::retry);
    CHECK(judge(text, f).pause);
    CHECK_FALSE(judge(text, f).refresh);
  }

  const Verdict read_only = judge("READONLY You can't write against a read only replica.", f);
  CHECK(read_only.action == Action::retry);
  CHECK(read_only.close_node);
  CHECK(read_only.refresh);
  CHECK(read_only.outcome == Outcome::rejected);
}

TEST_CASE("answers that are the caller's") {
  const Facts f = for_slot(5);
  for (const char* text : {"NOAUTH Authentication required.", "WRONGPASS invalid pair",
                           "NOPERM this user has no permissions"}) {
    CHECK(judge(text, f).action == Action::deliver);
    CHECK(judge(text, f).code == ErrorCode::auth_failed);
  }
  const Verdict other = judge("WRONGTYPE Operation against a key", f);
  CHECK(other.action == Action::deliver);
  CHECK(other.code == ErrorCode::server);
  CHECK(other.outcome == Outcome::rejected);
}

TEST_CASE("whoever names a node hears that node") {
  Facts f;
  f.target = Target::fixed_node;
  for (const char* text :
       {"MOVED 5 a:1", "ASK 5 a:1", "TRYAGAIN x", "CLUSTERDOWN x", "LOADING x", "READONLY x"}) {
    CHECK(judge(text, f).action == Action::deliver);
  }
}

TEST_CASE("NOSCRIPT runs the body where it is known") {
  Facts f = for_slot(5);
  CHECK(judge("NOSCRIPT No matching script.", f).action == Action::deliver);
  f.has_script_body = true;
  CHECK(judge("NOSCRIPT No matching script.", f).action == Action::run_script);
}

TEST_CASE("a script's own error does not say that nothing happened") {
  Facts f = for_slot(5);
  f.may_run_in_part = true;
  CHECK(judge("ERR boom script: 1234, on @user_script:1.", f).outcome == Outcome::unknown);
  CHECK(judge("WRONGTYPE Operation against a key", f).outcome == Outcome::unknown);
  CHECK(judge("ERR wrong number of arguments for 'eval' command", f).outcome == Outcome::rejected);
  CHECK(judge("NOSCRIPT No matching script.", f).outcome == Outcome::rejected);
}

TEST_CASE("a lost connection is tried again only if running twice is harmless") {
  const Error lost(ErrorCode::connection_lost, Outcome::unknown, "gone");
  Facts write = for_slot(5);
  CHECK(judge_failure(lost, write).action == Action::deliver);
  CHECK(judge_failure(lost, write).outcome == Outcome::unknown);
  Facts read = write;
  read.retry_safe = true;
  CHECK(judge_failure(lost, read).action == Action::retry);
  CHECK(judge_failure(lost, read).refresh);
  CHECK(judge_failure(lost, read).node_failed);
}

TEST_CASE("what was not sent is tried again, unless it cannot help") {
  Facts write = for_slot(5);
  CHECK(
      judge_failure(Error(ErrorCode::connect_failed, Outcome::not_sent, "refused"), write).action ==
      Action::retry);
  CHECK(judge_failure(Error(ErrorCode::wrong_node, Outcome::not_sent, "other id"), write).action ==
        Action::retry);
  CHECK(
      judge_failure(Error(ErrorCode::auth_failed, Outcome::not_sent, "WRONGPASS"), write).action ==
      Action::deliver);
  CHECK(judge_failure(Error(ErrorCode::cancelled, Outcome::not_sent, "closed"), write).action ==
        Action::deliver);
}

TEST_CASE("one unknown attempt makes the whole call unknown") {
  CHECK(overall_outcome(Outcome::rejected, true) == Outcome::unknown);
  CHECK(overall_outcome(Outcome::rejected, false) == Outcome::rejected);
  CHECK(overall_outcome(Outcome::not_sent, false) == Outcome::not_sent);
}

TEST_CASE("READONLY: every connection to that address is closed, whatever the mode") {
  for (const Mode mode : {Mode::cluster, Mode::sentinel, Mode::single}) {
    for (const Target target : {Target::slot, Target::any_primary}) {
      Facts f;
      f.mode = mode;
      f.target = target;
      const Verdict v = judge("READONLY You can't write against a read only replica.", f);
      CHECK(v.action == Action::retry);
      CHECK(v.close_node);
      CHECK(v.refresh);
      CHECK(v.pause);
      CHECK_FALSE(v.same_node);
      CHECK_FALSE(v.patch_map);
      CHECK(v.code == ErrorCode::read_only);
      CHECK(v.outcome == Outcome::rejected);  // INCR did not run: it may go again
    }
  }
}

TEST_CASE("REDIRECT with sentinels: nobody but the sentinels says who the primary is") {
  Facts f;
  f.mode = Mode::sentinel;
  const Verdict v = judge("REDIRECT 127.0.0.1:7001", f);
  CHECK(v.action == Action::retry);
  CHECK(v.close_node);
  CHECK(v.refresh);
  CHECK_FALSE(v.patch_map);
  CHECK(v.outcome == Outcome::rejected);
}

TEST_CASE("REDIRECT of one server is followed, and stays") {
  Facts f;
  f.mode = Mode::single;
  Verdict v = judge("REDIRECT 127.0.0.1:7001", f);
  CHECK(v.action == Action::follow);
  CHECK(v.patch_map);
  CHECK_FALSE(v.asking);
  CHECK_FALSE(v.close_node);
  CHECK_FALSE(v.pause);

  f.redirects = unpaused_redirects;
  CHECK(judge("REDIRECT 127.0.0.1:7001", f).pause);
  f.redirects = f.max_redirects;
  v = judge("REDIRECT 127.0.0.1:7001", f);
  CHECK(v.action == Action::deliver);
  CHECK(v.code == ErrorCode::too_many_redirects);
  CHECK(v.outcome == Outcome::rejected);
}

TEST_CASE("REDIRECT is data in a cluster, for a named node, and without an address") {
  CHECK(judge("REDIRECT 127.0.0.1:7001", for_slot(5)).action == Action::deliver);
  Facts f;
  f.mode = Mode::single;
  CHECK(judge("REDIRECT", f).action == Action::deliver);
  CHECK(judge("REDIRECT nowhere", f).action == Action::deliver);
  f.target = Target::fixed_node;
  for (const Mode mode : {Mode::single, Mode::sentinel}) {
    f.mode = mode;
    CHECK(judge("REDIRECT 127.0.0.1:7001", f).action == Action::deliver);
    CHECK(judge("READONLY x", f).action == Action::deliver);
    CHECK(judge("READONLY x", f).code == ErrorCode::read_only);
  }
}

TEST_CASE("no primary, and sentinels out of reach, are waited out") {
  for (const ErrorCode code :
       {ErrorCode::no_primary, ErrorCode::connect_failed, ErrorCode::sentinels_unreachable}) {
    Facts f;
    f.mode = Mode::sentinel;
    const Verdict v = judge_failure(Error(code, Outcome::not_sent, "x"), f);
    CHECK(v.action == Action::retry);
    CHECK(v.pause);
  }
}
