#include <slotwise/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace slotwise {

static_assert(std::is_nothrow_copy_constructible_v<Error>);
static_assert(std::is_nothrow_copy_assignable_v<Error>);

TEST_CASE("an error tells what is known of it") {
  const Error plain(ErrorCode::timeout, Outcome::unknown, "the deadline passed");
  CHECK(plain.code() == ErrorCode::timeout);
  CHECK(plain.outcome() == Outcome::unknown);
  CHECK_FALSE(plain.did_not_run());
  CHECK(std::string(plain.what()) == "the deadline passed");
  CHECK(plain.node().empty());
  CHECK(plain.attempts() == 0);
  CHECK(plain.server_text().empty());

  const Error full = plain.with_node("h:1").with_attempts(3).with_server_text("ERR x").with_outcome(
      Outcome::rejected);
  CHECK(full.node() == "h:1");
  CHECK(full.attempts() == 3);
  CHECK(full.server_text() == "ERR x");
  CHECK(full.did_not_run());
  CHECK(full.message() == "the deadline passed");
  CHECK(full.with_message("other").message() == "other");
  CHECK(full.with_message("other").attempts() == 3);
  CHECK(plain.node().empty());
}

TEST_CASE("copies share what() and outlive the original") {
  const char* text = nullptr;
  Error copy(ErrorCode::server, Outcome::rejected, "");
  {
    const Error original(ErrorCode::server, Outcome::rejected, std::string(100, 'x'));
    text = original.what();
    copy = original;
  }
  CHECK(copy.what() == text);
  CHECK(std::string(text) == std::string(100, 'x'));
}

TEST_CASE("an error that was moved from is empty, not broken") {
  Error from(ErrorCode::server, Outcome::rejected, "text");
  const Error to = std::move(from);
  CHECK(to.message() == "text");
  CHECK(std::string(from.what()).empty());  // NOLINT(bugprone-use-after-move)
  CHECK(from.node().empty());
  CHECK(from.with_attempts(1).attempts() == 1);
}

TEST_CASE("names") {
  CHECK(to_string(Outcome::not_sent) == "not_sent");
  CHECK(to_string(Outcome::executed) == "executed");
  CHECK(to_string(ErrorCode::invalid_argument) == "invalid_argument");
  CHECK(to_string(ErrorCode::overtaken) == "overtaken");
  CHECK(to_string(ErrorCode::sentinels_unreachable) == "sentinels_unreachable");
  CHECK(to_string(ErrorCode::unknown_primary) == "unknown_primary");
}

}  // namespace slotwise
