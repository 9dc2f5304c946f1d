// Random valid streams must give what hiredis's own reply objects give; random garbage must give
// the same however it is cut, never break anything, and what is taken of it hiredis takes for the
// same.
#include <hiredis/hiredis.h>

#include <algorithm>
#include <string>
#include <vector>

#include "parse.hpp"
#include "random_stream.hpp"

namespace slotwise::resp::test {
namespace {

Reply from_hiredis(const redisReply& reply) {
  const auto text = [&](Type type) { return Reply::make_text(type, {reply.str, reply.len}); };
  const auto members = [&](Type type) {
    std::vector<Reply> all;
    for (std::size_t i = 0; i != reply.elements; ++i)
      all.push_back(from_hiredis(*reply.element[i]));
    return Reply::make_aggregate(type, std::move(all));
  };
  switch (reply.type) {
    case REDIS_REPLY_STATUS:
      return text(Type::status);
    case REDIS_REPLY_ERROR:
      return text(Type::error);
    case REDIS_REPLY_STRING:
      return text(Type::string);
    case REDIS_REPLY_BIGNUM:
      return text(Type::big_number);
    case REDIS_REPLY_VERB:
      return text(Type::verbatim);
    case REDIS_REPLY_INTEGER:
      return Reply::make_integer(reply.integer);
    case REDIS_REPLY_DOUBLE:
      return Reply::make_real(reply.dval);
    case REDIS_REPLY_BOOL:
      return Reply::make_boolean(reply.integer != 0);
    case REDIS_REPLY_ARRAY:
      return members(Type::array);
    case REDIS_REPLY_MAP:
      return members(Type::map);
    case REDIS_REPLY_SET:
      return members(Type::set);
    case REDIS_REPLY_PUSH:
      return members(Type::push);
    default:
      return {};
  }
}

Outcome run_hiredis(std::string_view bytes) {
  Outcome outcome;
  redisReader* reader = redisReaderCreate();
  redisReaderFeed(reader, bytes.data(), bytes.size());
  for (;;) {
    void* made = nullptr;
    if (redisReaderGetReply(reader, &made) != REDIS_OK) outcome.error = reader->errstr;
    if (made == nullptr) break;
    auto* reply = static_cast<redisReply*>(made);
    auto& to = reply->type == REDIS_REPLY_PUSH ? outcome.pushes : outcome.replies;
    to.push_back(from_hiredis(*reply));
    freeReplyObject(reply);
  }
  redisReaderFree(reader);
  return outcome;
}

// An unlucky cut or view must not change what comes out.
Outcome run_in_random_pieces(std::string_view bytes, RandomStream& random) {
  Parser parser;
  Outcome outcome;
  while (!bytes.empty() && outcome.error.empty()) {
    const std::string_view part = bytes.substr(0, 1 + random.below(random.below(2) ? 20 : 20'000));
    bytes.remove_prefix(part.size());
    parser.feed(part);
    drain(parser, outcome, random.below(2) == 0);
  }
  return outcome;
}

// What ours took before it stopped, hiredis took too, and as the same. (It may have gone on: we are
// stricter.)
bool begins_as(const std::vector<Reply>& theirs, const std::vector<Reply>& ours) {
  return ours.size() <= theirs.size() && std::equal(ours.begin(), ours.end(), theirs.begin());
}

}  // namespace

TEST_CASE("random streams give what hiredis gives") {
  for (std::uint32_t seed = 0; seed != 400; ++seed) {
    RandomStream random(seed);
    std::string bytes;
    for (int i = 0; i != 20; ++i)
      bytes += random.reply();
    INFO("seed " << seed);
    const Outcome expected = run_hiredis(bytes);
    REQUIRE(expected.error.empty());
    REQUIRE(run(bytes) == expected);
    REQUIRE(run_in_random_pieces(bytes, random) == expected);
  }
}

TEST_CASE("random garbage breaks nothing") {
  static constexpr std::string_view alphabet = "+-:$*%~>|=!(,#_0123456789\r\n\r\n\r\nax.t";
  std::size_t total = 0;
  int refused_by_both = 0;
  for (std::uint32_t seed = 0; total < 1'000'000; ++seed) {
    RandomStream random(seed);
    std::string bytes;
    if (seed % 4 == 0) {  // nothing but protocol characters
      for (std::size_t i = random.below(400); i != 0; --i) {
        bytes += alphabet[random.below(alphabet.size())];
      }
    } else {  // a valid stream with a few bytes changed, lost or doubled
      for (int i = 0; i != 3; ++i)
        bytes += random.reply();
      for (std::size_t i = random.below(4); i != 0 && !bytes.empty(); --i) {
        const std::size_t at = random.below(bytes.size());
        switch (random.below(3)) {
          case 0:
            bytes[at] = alphabet[random.below(alphabet.size())];
            break;
          case 1:
            bytes.erase(at, 1 + random.below(3));
            break;
          default:
            bytes.insert(at, bytes.substr(at, random.below(8)));
        }
      }
    }
    total += bytes.size();
    INFO("seed " << seed);
    const Outcome whole = run(bytes);
    Outcome pieces = run_in_random_pieces(bytes, random);
    REQUIRE(pieces.error.empty() == whole.error.empty());
    pieces.error = whole.error;  // of two faults in one line, either may be seen first
    REQUIRE(pieces == whole);
    for (const Reply& reply : whole.replies)
      REQUIRE(reply.describe().size() < 1000);
    // hiredis knows no attributes and no bulk errors, and does not ask for the line end of a bulk.
    if (bytes.find_first_of("|!") == std::string::npos) {
      const Outcome theirs = run_hiredis(bytes);
      REQUIRE(begins_as(theirs.replies, whole.replies));
      REQUIRE(begins_as(theirs.pushes, whole.pushes));
      if (!theirs.error.empty()) ++refused_by_both;
      REQUIRE((theirs.error.empty() || !whole.error.empty()));
    }
  }
  CHECK(refused_by_both > 20);
}

TEST_CASE("aggregates of every size are put together as hiredis does") {
  // Around where room is made for more members, at every place of an aggregate.
  for (const std::size_t count : {1, 2, 63, 64, 65, 127, 128, 129, 256, 257, 1000}) {
    const std::string size = std::to_string(count);
    std::string flat = "*" + size + "\r\n", pairs = "%" + size + "\r\n";
    for (std::size_t i = 0; i != count; ++i) {
      flat += i % 3 == 0 ? "$3\r\nabc\r\n" : i % 3 == 1 ? ":7\r\n" : "+x\r\n";
      pairs += "$21\r\nlonger than any short\r\n*" + std::to_string(i % 3) + "\r\n";
      for (std::size_t j = 0; j != i % 3; ++j)
        pairs += "_\r\n";
    }
    std::string rows = "~" + size + "\r\n";
    for (std::size_t i = 0; i != count; ++i)
      rows += i + 1 == count ? flat : "*2\r\n:1\r\n*1\r\n#t\r\n";
    const std::string bytes = flat + ">2\r\n" + rows + pairs + rows + "*1\r\n" + pairs + ":1\r\n";
    INFO(count << " members");
    const Outcome expected = run_hiredis(bytes);
    REQUIRE(expected.error.empty());
    REQUIRE(expected.replies.size() == 4);
    REQUIRE(run(bytes) == expected);
    for (const std::size_t piece : {1, 2, 3, 7, 100, 4096})
      REQUIRE(run(bytes, piece) == expected);
  }
}

}  // namespace slotwise::resp::test
