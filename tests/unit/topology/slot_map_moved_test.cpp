#include "topology/slot_map.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

#include "slot_map_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

TEST_CASE("slot map: MOVED to a node that nobody knew (B08)") {
  SlotMap map;
  map.merge(all_at(a));
  const MergeResult patched = map.patch(foo, at_b);
  REQUIRE(patched.kind == MergeKind::updated);
  REQUIRE(patched.changes.added.size() == 1);
  CHECK(patched.changes.moves.size() == 1);
  const NodeHandle provisional = patched.changes.added[0];
  CHECK(map.current()->find(provisional)->provisional);
  CHECK(owner(map, foo) == "127.0.0.1:7001");
  CHECK(owner(map, foo + 1) == "127.0.0.1:7000");

  SECTION("B09: views that still show the old owner do not undo it") {
    for (int i = 0; i < 50; ++i) {
      const MergeResult result = map.merge(all_at(a));
      CHECK(result.kind == MergeKind::unchanged);
      CHECK(result.kept_by_patch == 1);
    }
    CHECK(owner(map, foo) == "127.0.0.1:7001");
    CHECK(map.current()->owner_handle(foo) == provisional);
  }
  SECTION("the same MOVED again is no news") {
    CHECK(map.patch(foo, at_b).kind == MergeKind::unchanged);
    CHECK(map.patches() == 1);
  }
  SECTION("a later MOVED replaces it, and the guess that owns nothing goes with the next one") {
    CHECK(map.patch(foo, at_d).kind == MergeKind::updated);
    CHECK(owner(map, foo) == "127.0.0.1:7003");
    const MergeResult third = map.patch(foo, Endpoint{"127.0.0.1", 7009});
    CHECK(third.changes.removed.size() == 1);
    CHECK(map.patches() == 1);
  }
  SECTION("a view that agrees gives the guess its id and keeps its handle") {
    const MergeResult result =
        map.merge(view_of({{0, foo - 1, {a}}, {foo, foo, {b}}, {foo + 1, 16383, {a}}}));
    CHECK(result.kind == MergeKind::updated);  // the id is new
    CHECK(result.changes.address_changed.size() == 1);
    CHECK(result.changes.moves.empty());
    CHECK(result.changes.added.empty());
    CHECK(map.current()->owner_handle(foo) == provisional);
    CHECK_FALSE(map.current()->find(provisional)->provisional);
    CHECK(map.patches() == 0);
    CHECK(handle(map, 'b') == provisional);
  }
}

TEST_CASE("slot map: what overrules a MOVED") {
  SlotMap map;
  map.merge(three(1, 2, 3));
  // foo went c -> b; the highest epoch that anybody had told us is 3.
  REQUIRE(map.patch(foo, at_b).kind == MergeKind::updated);

  SECTION("not the old view, not equal epochs") {
    CHECK(map.merge(three(1, 2, 3)).kept_by_patch == 1);
    CHECK(owner(map, foo) == "127.0.0.1:7001");
  }
  SECTION("an owner with an epoch above all that was known then") {
    CHECK(map.merge(three(1, 2, 4)).kind == MergeKind::updated);
    CHECK(owner(map, foo) == "127.0.0.1:7002");
    CHECK(map.patches() == 0);
  }
  SECTION("but not if it was asked for before the MOVED came") {
    SlotMap late;
    late.merge(three(1, 2, 3));
    const ViewMark asked_before = late.mark();
    late.patch(foo, at_b);
    CHECK(late.merge(three(1, 2, 4), asked_before).kept_by_patch == 1);
    CHECK(owner(late, foo) == "127.0.0.1:7001");
    CHECK(late.merge(three(1, 2, 4), late.mark()).kind == MergeKind::updated);
    CHECK(owner(late, foo) == "127.0.0.1:7002");
  }
  SECTION("its owner failed") {
    const ClusterView view = view_of({{0, 5460, {a}}, {5461, 10922, {b}}, {10923, 16383, {c}}},
                                     {{a, 1}, {b, 2, "master,fail"}, {c, 3}});
    map.merge(view);
    CHECK(owner(map, foo) == "127.0.0.1:7002");
  }
  SECTION("its owner is gone") {
    map.merge(view_of({{0, 10922, {a}}, {10923, 16383, {c}}}, {{a, 1}, {c, 3}}));
    CHECK(owner(map, foo) == "127.0.0.1:7002");
    CHECK(handle(map, 'b') == no_node);
  }
  SECTION("its owner became a replica") {
    map.merge(view_of({{0, 10922, {a, b}}, {10923, 16383, {c}}},
                      {{a, 4}, {b, 4, "slave", id('a')}, {c, 3}}));
    CHECK(owner(map, foo) == "127.0.0.1:7002");
  }
  SECTION("we cannot reach its owner: the next view decides") {
    map.node_failed(handle(map, 'b'));
    CHECK(owner(map, foo) == "127.0.0.1:7001");
    map.merge(three(1, 2, 3));
    CHECK(owner(map, foo) == "127.0.0.1:7002");
  }
  SECTION("we could not, but can again") {
    map.node_failed(handle(map, 'b'));
    map.node_ok(handle(map, 'b'));
    CHECK(map.merge(three(1, 2, 3)).kept_by_patch == 1);
  }
}

TEST_CASE("slot map: a replica that took over is not undone by nodes that did not hear of it") {
  SlotMap map;
  const ClusterView before =
      view_of({{0, 5460, {a}}, {5461, 16383, {b, d}}}, {{a, 1}, {b, 2}, {d, 2, "slave", id('b')}});
  map.merge(before);
  REQUIRE(map.current()->find_by_id(id('d'))->info.role == Role::replica);
  const MergeResult patched = map.patch(foo, at_d);
  CHECK(patched.changes.role_changed.size() == 1);
  CHECK(owner(map, foo) == "127.0.0.1:7003");
  CHECK(owner(map, foo + 1) == "127.0.0.1:7001");
  // "It is a replica" is what was known before, and so no evidence against the MOVED.
  CHECK(map.merge(before).kind == MergeKind::unchanged);
  CHECK(owner(map, foo) == "127.0.0.1:7003");
  CHECK(map.current()->find_by_id(id('d'))->info.role == Role::primary);

  const ClusterView after =
      view_of({{0, 5460, {a}}, {5461, 16383, {d}}}, {{a, 1}, {b, 2, "master,fail"}, {d, 3}});
  const MergeResult result = map.merge(after);
  CHECK(result.kind == MergeKind::updated);
  CHECK(owner(map, foo + 1) == "127.0.0.1:7003");
  CHECK(result.changes.health_changed.size() == 1);
  CHECK(map.patches() == 0);
  CHECK(map.merge(before).kind == MergeKind::older);
}

TEST_CASE("slot map: B25, a node is its id, not the spelling of its address") {
  SlotMap map;
  const auto view = [](std::string host) {
    const FakeNode node{std::move(host), 7000, id('a'), ""};
    const FakeNode line{"10.0.0.1", 7000, id('a'), "a.test"};
    return view_of({{0, 16383, {node}}}, {{line, 1}});
  };
  map.merge(view("10.0.0.1"));
  const NodeHandle known = handle(map, 'a');
  for (const char* spelling : {"10.0.0.1", "A.TEST", "a.test", "a.test."}) {
    CAPTURE(spelling);
    const MergeResult result = map.merge(view(spelling));
    CHECK(result.changes.added.empty());
    CHECK(result.changes.removed.empty());
    CHECK(result.changes.moves.empty());
    CHECK(handle(map, 'a') == known);
  }
  // Case and final dot are not even a new address.
  CHECK(map.merge(view("A.Test")).kind == MergeKind::unchanged);
  // A MOVED may use any of its names.
  for (const char* host : {"10.0.0.1", "A.TEST", "a.test."}) {
    CAPTURE(host);
    CHECK(map.patch(foo, Endpoint{host, 7000}).kind == MergeKind::unchanged);
  }
  CHECK(map.current()->nodes().size() == 1);
  CHECK(map.current()->find_by_endpoint({"a.test", 7001}) == nullptr);
}

TEST_CASE("slot map: a guess by one name turns out to be a node known by another") {
  SlotMap map;
  const FakeNode by_ip{"10.0.0.1", 7000, id('a'), ""};
  const FakeNode other{"10.0.0.2", 7000, id('b'), ""};
  map.merge(view_of({{0, 8000, {by_ip}}, {8001, 16383, {other}}}));
  const NodeHandle ha = handle(map, 'a');
  REQUIRE(map.patch(foo, Endpoint{"a.test", 7000}).changes.added.size() == 1);
  const FakeNode with_name{"10.0.0.1", 7000, id('a'), "a.test"};
  const MergeResult result = map.merge(view_of({{0, 8000, {with_name}},
                                                {8001, foo - 1, {other}},
                                                {foo, foo, {with_name}},
                                                {foo + 1, 16383, {other}}}));
  CHECK(result.changes.removed.size() == 1);
  CHECK(result.changes.added.empty());
  CHECK(map.current()->owner_handle(foo) == ha);
  CHECK(map.patches() == 0);
  CHECK(map.current()->nodes().size() == 2);
}

TEST_CASE("slot map: patches for slots and nodes that do not exist do nothing") {
  SlotMap map;
  map.merge(all_at(a));
  CHECK(map.patch(16384, at_b).kind == MergeKind::unchanged);
  CHECK(map.patch(16384, handle(map, 'a')).kind == MergeKind::unchanged);
  CHECK(map.patch(foo, NodeHandle{4711}).kind == MergeKind::unchanged);
  map.node_failed(4711);
  CHECK(map.patches() == 0);
  CHECK(map.current()->nodes().size() == 1);
}

TEST_CASE("slot map: many guesses do not pile up") {
  SlotMap map;
  map.merge(all_at(a));
  for (std::uint16_t port = 10'000; port < 10'500; ++port) {
    map.patch(foo, Endpoint{"127.0.0.1", port});
    CHECK(map.current()->nodes().size() <= 3);
  }
}
