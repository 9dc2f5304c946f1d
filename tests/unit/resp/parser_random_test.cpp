// Random valid streams must give what hiredis's own reply objects give; random garbage must give
// the same however it is cut, and never break anything.
#include <hiredis/hiredis.h>

#include <string>

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
  }
}

}  // namespace slotwise::resp::test
