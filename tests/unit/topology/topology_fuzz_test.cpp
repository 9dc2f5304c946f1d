// Mutated replies: no crash, no index out of range, and what is accepted keeps the invariants that
// view.hpp and topology_map.hpp promise. Meant for ASan and UBSan; SLOTWISE_FUZZ_ROUNDS sets how
// long (the seed is fixed, so that a failure can be had again).
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "topology/nodes_text.hpp"
#include "topology/redirect.hpp"
#include "topology/slot_map.hpp"
#include "view_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

namespace {

int rounds(int standard) {
  const char* wanted = std::getenv("SLOTWISE_FUZZ_ROUNDS");
  return wanted == nullptr ? standard : std::atoi(wanted);
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t n) { return random_.below(n); }

  std::string text(std::string text) {
    constexpr std::string_view interesting("\0\n\r :@,-[]%?.0123456789azAZ\xff", 28);
    for (std::uint32_t i = random_.below(4) + 1; i > 0; --i) {
      const std::size_t at = random_.below(static_cast<std::uint32_t>(text.size() + 1));
      const char c = interesting[random_.below(static_cast<std::uint32_t>(interesting.size()))];
      switch (random_.below(5)) {
        case 0:
          text.insert(at, 1, c);
          break;
        case 1:
          if (at < text.size()) text.erase(at, 1 + random_.below(8));
          break;
        case 2:
          if (at < text.size()) text[at] = c;
          break;
        case 3:
          text.resize(at);
          break;
        default:
          text.insert(at, text.substr(0, random_.below(60)));
          break;
      }
    }
    return text;
  }

  // Changes one place somewhere in the tree.
  void change(Reply& reply) {
    if (reply.is_aggregate() && random_.below(8) != 0) {
      auto elements = reply.take_elements();
      if (elements.empty() || random_.below(12) == 0) {
        reshape(elements);
      } else {
        change(elements[random_.below(static_cast<std::uint32_t>(elements.size()))]);
      }
      const auto type = reply.type();
      reply = Reply::make_aggregate(type, std::move(elements));
      return;
    }
    reply = other(reply);
  }

 private:
  void reshape(std::vector<Reply>& elements) {
    const auto size = static_cast<std::uint32_t>(elements.size());
    if (size > 0 && random_.below(2) == 0) {
      elements.erase(elements.begin() + random_.below(size));
    } else if (size > 0) {
      elements.push_back(elements[random_.below(size)]);
    } else {
      elements.push_back(Reply::make_integer(7));
    }
  }
  Reply other(const Reply& reply) {
    switch (random_.below(7)) {
      case 0:
        return {};
      case 1:
        return Reply::make_integer(static_cast<std::int64_t>(random_.next()));
      case 2:
        return Reply::make_integer(random_.below(70'000) - 10LL);
      case 3:
        return Reply::make_integer(reply.integer() + random_.below(3) - 1);
      case 4:
        return list({reply, reply});
      case 5:
        return Reply::make_text(Reply::Type::string, text(std::string(reply.text())));
      default:
        return Reply::make_text(Reply::Type::error, std::string(reply.text()));
    }
  }

  base::Random random_;
};

bool holds(const ClusterView& view) {
  int covered = 0;
  for (const std::uint16_t shard : view.slots) {
    if (shard == no_shard) continue;
    ++covered;
    if (shard >= view.shards.size()) return false;
  }
  for (const Shard& shard : view.shards) {
    if (shard.primary >= view.nodes.size()) return false;
    for (const std::uint32_t replica : shard.replicas) {
      if (replica >= view.nodes.size()) return false;
    }
  }
  for (const NodeInfo& node : view.nodes) {
    if (node.primary != no_index && node.primary >= view.nodes.size()) return false;
    if (node.endpoint.host.empty() || node.endpoint.port == 0) return false;
  }
  return covered == view.covered && covered > 0;
}

bool holds(const TopologyMap& map) {
  NodeHandle last = no_node;
  for (const MapNode& node : map.nodes()) {
    if (node.handle <= last) return false;
    last = node.handle;
  }
  int covered = 0;
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
    const MapNode* owner = map.owner(slot);
    if (owner == nullptr) continue;
    ++covered;
    if (owner->info.role != Role::primary) return false;
  }
  return covered == map.covered();
}

const FakeNode a{"127.0.0.1", 7000, id('a'), "a.test"};
const FakeNode b{"127.0.0.1", 7001, id('b'), ""};
const FakeNode c{"127.0.0.1", 7002, id('c'), ""};

}  // namespace

TEST_CASE("fuzz: CLUSTER SLOTS and CLUSTER NODES") {
  const Reply whole = slots_reply({{0, 5460, {a, c}}, {5461, 5461, {b}}, {5462, 16383, {a, c}}});
  const Reply no_ids =
      slots_reply({{0, 9000, {{"h1", 1, "", ""}}}, {9001, 16383, {{"h2", 2, "", ""}}}});
  const std::string lines =
      nodes_text({{a, 7, "myself,master", "-"}, {b, 8}, {c, 7, "slave", id('a')}});
  Mutator mutator(1);
  SlotMap map;
  int accepted = 0;
  for (int i = 0; i < rounds(8'000); ++i) {
    Reply slots = mutator.below(4) == 0 ? no_ids : whole;
    for (std::uint32_t n = mutator.below(3); n > 0; --n)
      mutator.change(slots);
    const Reply nodes = text(mutator.below(3) == 0 ? lines : mutator.text(lines));
    const ViewResult result = parse_view(slots, &nodes, asked);
    if (!result.ok()) {
      REQUIRE_FALSE(result.text.empty());
      continue;
    }
    ++accepted;
    REQUIRE(holds(result.view));
    if (mutator.below(8) != 0) continue;
    const ViewMark mark = map.mark();
    if (mutator.below(2) == 0) {
      const auto port = static_cast<std::uint16_t>(7000 + mutator.below(5));
      map.patch(static_cast<std::uint16_t>(mutator.below(slot_count)), {"127.0.0.1", port});
    }
    if (mutator.below(5) == 0) map.node_failed(1 + mutator.below(20));
    const auto before = map.current();
    const bool was_full = before->full();
    const MergeResult merged = map.merge(result.view, mark);
    REQUIRE(holds(*map.current()));
    REQUIRE((merged.kind == MergeKind::updated) == !merged.changes.empty());
    REQUIRE((map.current()->version() > before->version()) == !merged.changes.empty());
    if (was_full && result.view.full()) REQUIRE(map.current()->full());
    if (i % 97 == 0) (void)describe(merged.changes, *before, *map.current());
  }
  CHECK(accepted > 100);
}

TEST_CASE("fuzz: CLUSTER NODES text and error texts") {
  const std::string lines =
      nodes_text({{a, 7, "myself,master", "-"}, {b, 8, "slave,fail?", id('a')}});
  std::string with_slots = id('a');
  with_slots += " [::1]:7000@17000,x.test,k=v master - 0 1 2 connected 0-5 7 [9->-";
  with_slots += id('b');
  with_slots += "]\n";
  const std::vector<std::string> errors = {"MOVED 12182 127.0.0.1:7003", "ASK 1 [::1]:1",
                                           "REDIRECT h:1", "ERR unknown command 'x'",
                                           "TRYAGAIN later"};
  Mutator mutator(2);
  for (int i = 0; i < rounds(20'000); ++i) {
    const auto parsed = parse_nodes_text(mutator.text(mutator.below(2) == 0 ? lines : with_slots));
    if (parsed) {
      for (const NodeLine& line : *parsed)
        REQUIRE(line.slots <= slot_count * 200);
    }
    const ServerError error = parse_server_error(
        mutator.text(errors[mutator.below(static_cast<std::uint32_t>(errors.size()))]));
    REQUIRE(error.slot < slot_count);
    if (error.is_redirection()) REQUIRE(error.endpoint.port != 0);
  }
}
