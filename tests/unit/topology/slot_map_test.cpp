#include "topology/slot_map.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

#include "slot_map_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

TEST_CASE("slot map: starts empty, takes the first view, whatever it covers") {
  SlotMap map;
  CHECK(map.current()->version() == 0);
  CHECK(map.current()->covered() == 0);
  CHECK(map.current()->owner(foo) == nullptr);
  CHECK(map.current()->owner(65535) == nullptr);

  const MergeResult first = map.merge(view_of({{0, 5460, {a}}}));
  CHECK(first.kind == MergeKind::updated);
  CHECK(first.view_partial);
  CHECK(first.changes.added.size() == 1);
  CHECK(map.current()->covered() == 5461);
  CHECK(owner(map, foo) == "nobody");

  // B05: a later full view fills the gap.
  const MergeResult second = map.merge(three(1, 2, 3));
  CHECK(second.kind == MergeKind::updated);
  CHECK_FALSE(second.view_partial);
  CHECK(map.current()->full());
  CHECK(owner(map, foo) == "127.0.0.1:7002");
}

TEST_CASE("slot map: B04 B05, an empty or partial view never replaces a full one") {
  SlotMap map;
  map.merge(three(1, 2, 3));
  const auto before = map.current();
  CHECK(map.merge(ClusterView{}).kind == MergeKind::unchanged);
  for (int i = 0; i < 5; ++i) {
    const MergeResult result = map.merge(view_of({{0, 5460, {a}}}));
    CHECK(result.kind == MergeKind::unchanged);
    CHECK(result.view_partial);
  }
  CHECK(map.current()->version() == before->version());
  CHECK(owner(map, foo) == "127.0.0.1:7002");
  CHECK(map.current()->nodes().size() == 3);
  CHECK_FALSE(map.current()->owner(foo) == nullptr);

  // What a partial view does say counts.
  const ClusterView some = view_of({{0, 100, {d}}, {101, 5460, {a}}}, {{d, 9}, {a, 1}});
  CHECK(map.merge(some).kind == MergeKind::updated);
  CHECK(owner(map, 100) == "127.0.0.1:7003");
  CHECK(owner(map, 101) == "127.0.0.1:7000");
  CHECK(map.current()->full());
}

TEST_CASE("slot map: an owner that neither we nor the cluster can find loses uncovered slots") {
  SlotMap map;
  map.merge(three(1, 2, 3));
  const ClusterView gap = view_of({{0, 5460, {a}}, {5461, 10922, {b}}}, {{a, 1}, {b, 2}});
  map.merge(gap);
  CHECK(map.current()->full());
  map.node_failed(handle(map, 'c'));
  // Now the view is not older than an owner that counts no more.
  const MergeResult result =
      map.merge(view_of({{0, 5460, {a}}, {5461, 10922, {b}}}, {{a, 1}, {b, 4}}));
  CHECK(result.kind == MergeKind::updated);
  CHECK(owner(map, foo) == "nobody");
  CHECK(map.current()->covered() == 10923);
}

TEST_CASE("slot map: an equal view changes nothing") {
  SlotMap map;
  map.merge(three(1, 2, 3));
  const auto before = map.current();
  for (int i = 0; i < 3; ++i) {
    const MergeResult result = map.merge(three(1, 2, 3));
    CHECK(result.kind == MergeKind::unchanged);
    CHECK(result.changes.empty());
  }
  CHECK(map.current()->version() == before->version());
  // Other epochs alone are nobody's news.
  CHECK(map.merge(three(4, 5, 6)).kind == MergeKind::unchanged);
  CHECK(map.current()->find_by_id(id('c'))->info.config_epoch == 6);
  CHECK(map.current()->version() == before->version());
}

TEST_CASE("slot map: per slot the owner with the higher epoch wins") {
  SlotMap map;
  map.merge(three(1, 2, 3));
  // foo moves c -> d, which takes the epoch 4.
  const ClusterView moved = view_of({{0, 5460, {a}},
                                     {5461, 10922, {b}},
                                     {10923, foo - 1, {c}},
                                     {foo, foo, {d}},
                                     {foo + 1, 16383, {c}}},
                                    {{a, 1}, {b, 2}, {c, 3}, {d, 4}});
  const MergeResult result = map.merge(moved);
  REQUIRE(result.kind == MergeKind::updated);
  REQUIRE(result.changes.moves.size() == 1);
  CHECK(result.changes.moves[0].from == handle(map, 'c'));
  CHECK(result.changes.moves[0].to == handle(map, 'd'));
  CHECK(result.changes.moves[0].slots == 1);
  CHECK(result.changes.moves[0].first == foo);

  SECTION("a view that is older as a whole is set aside") {
    CHECK(map.merge(three(1, 2, 3)).kind == MergeKind::older);
    CHECK(owner(map, foo) == "127.0.0.1:7003");
    CHECK(map.current()->nodes().size() == 4);
  }
  SECTION("a view that knows newer things elsewhere is still behind for this slot") {
    const MergeResult mixed =
        map.merge(view_of({{0, 5460, {a}}, {5461, 10922, {b}}, {10923, 16383, {c}}},
                          {{a, 9}, {b, 2}, {c, 3}, {d, 4}}));
    CHECK(mixed.kept_by_epoch == 1);
    CHECK(owner(map, foo) == "127.0.0.1:7003");
  }
  SECTION("back again with a higher epoch") {
    CHECK(map.merge(three(1, 2, 5)).kind == MergeKind::updated);
    CHECK(owner(map, foo) == "127.0.0.1:7002");
  }
  SECTION("unknown epochs: the newer view") {
    const ClusterView blind = view_of({{0, 5460, {a}}, {5461, 10922, {b}}, {10923, 16383, {c}}});
    CHECK(map.merge(blind).kind == MergeKind::updated);
    CHECK(owner(map, foo) == "127.0.0.1:7002");
    CHECK(map.current()->find_by_id(id('c'))->info.config_epoch == 3);
  }
}

TEST_CASE("slot map: a cluster whose epochs were reset is believed in the end") {
  SlotMap map;
  map.merge(three(41, 42, 43));
  const ClusterView fresh = view_of({{0, 16383, {a}}}, {{a, 1}});
  CHECK(map.merge(fresh).kind == MergeKind::older);
  CHECK(map.merge(fresh).kind == MergeKind::older);
  const MergeResult third = map.merge(fresh);
  CHECK(third.kind == MergeKind::updated);
  CHECK(map.current()->nodes().size() == 1);
  CHECK(owner(map, foo) == "127.0.0.1:7000");
  CHECK(handle(map, 'b') == no_node);
  // From now on its own epochs count.
  CHECK(map.merge(fresh).kind == MergeKind::unchanged);
  const ClusterView next = view_of({{0, 8000, {a}}, {8001, 16383, {b}}}, {{a, 1}, {b, 2}});
  CHECK(map.merge(next).kind == MergeKind::updated);
}

TEST_CASE("slot map: another cluster is refused, however often it answers") {
  SlotMap map;
  map.merge(three(1, 2, 3));
  const FakeNode other{"127.0.0.1", 7000, id('e'), ""};
  const ClusterView foreign = view_of({{0, 16383, {other}}}, {{other, 99}});
  for (int i = 0; i < 5; ++i)
    CHECK(map.merge(foreign).kind == MergeKind::foreign);
  CHECK(handle(map, 'e') == no_node);
  CHECK(owner(map, foo) == "127.0.0.1:7002");
  CHECK(map.current()->full());

  // What a node of ours says is believed, also when it knows none of the others any more.
  CHECK(map.merge(view_of({{0, 100, {other}}}, {{other, 99}}), map.mark(), id('a')).kind ==
        MergeKind::updated);
  map = SlotMap();
  map.merge(three(1, 2, 3));
  // A node that one of ours named by MOVED is one of ours.
  map.patch(foo, Endpoint{"127.0.0.1", 7004});
  const FakeNode named{"127.0.0.1", 7004, id('f'), ""};
  CHECK(map.merge(view_of({{0, 16383, {named}}}, {{named, 99}})).kind == MergeKind::updated);
  CHECK(owner(map, foo) == "127.0.0.1:7004");
}

TEST_CASE("slot map: two contradictions are a lagging node, not a new cluster") {
  SlotMap map;
  map.merge(three(41, 42, 43));
  const ClusterView old = view_of({{0, 16383, {a}}}, {{a, 7}});
  for (int i = 0; i < 10; ++i) {
    CHECK(map.merge(old).kind == MergeKind::older);
    CHECK(map.merge(old).kind == MergeKind::older);
    CHECK(map.merge(three(41, 42, 43)).kind == MergeKind::unchanged);
  }
  CHECK(owner(map, foo) == "127.0.0.1:7002");
}

TEST_CASE("slot map: failover keeps handles, changes roles") {
  SlotMap map;
  map.merge(view_of({{0, 16383, {a, b}}}, {{a, 1}, {b, 1, "slave", id('a')}}));
  const NodeHandle ha = handle(map, 'a');
  const NodeHandle hb = handle(map, 'b');
  REQUIRE(map.current()->shards().size() == 1);
  CHECK(map.current()->shards()[0].replicas.size() == 1);
  CHECK(map.current()->find(hb)->primary == ha);

  const MergeResult result =
      map.merge(view_of({{0, 16383, {b, a}}}, {{b, 2}, {a, 2, "slave", id('b')}}));
  CHECK(result.changes.added.empty());
  CHECK(result.changes.removed.empty());
  CHECK(result.changes.role_changed.size() == 2);
  REQUIRE(result.changes.moves.size() == 1);
  CHECK(result.changes.moves[0].slots == 16384);
  CHECK(handle(map, 'a') == ha);
  CHECK(map.current()->owner_handle(foo) == hb);
  CHECK(map.current()->find(ha)->primary == hb);
}

TEST_CASE(
    "slot map: a node on a new address keeps its handle; a new node on an old one gets its own") {
  SlotMap map;
  map.merge(three(1, 2, 3));
  const NodeHandle ha = handle(map, 'a');
  FakeNode moved = a;
  moved.host = "127.0.0.9";
  const MergeResult result = map.merge(view_of(
      {{0, 5460, {moved}}, {5461, 10922, {b}}, {10923, 16383, {c}}}, {{moved, 1}, {b, 2}, {c, 3}}));
  CHECK(result.kind == MergeKind::updated);
  CHECK(result.changes.address_changed == std::vector<NodeHandle>{ha});
  CHECK(result.changes.moves.empty());
  CHECK(handle(map, 'a') == ha);

  FakeNode usurper = b;
  usurper.id = id('f');
  const MergeResult replaced =
      map.merge(view_of({{0, 5460, {moved}}, {5461, 10922, {usurper}}, {10923, 16383, {c}}},
                        {{moved, 1}, {usurper, 4}, {c, 3}}));
  CHECK(replaced.changes.added.size() == 1);
  CHECK(replaced.changes.removed.size() == 1);
  CHECK(map.current()->find_by_endpoint(at_b)->info.id == id('f'));
}

TEST_CASE("slot map: 'the host that you asked' is not another address with every node asked") {
  SlotMap map;
  const Reply slots = slots_reply({{0, 16383, {{"", 7000, id('a'), ""}, {"", 7001, id('b'), ""}}}});
  map.merge(parse_view(slots, nullptr, {"lb1.test", 7000}).view);
  CHECK(map.merge(parse_view(slots, nullptr, {"lb2.test", 7001}).view).kind ==
        MergeKind::unchanged);
  CHECK(map.current()->find_by_id(id('b'))->info.endpoint == Endpoint{"lb1.test", 7001});
  // Unless it cannot be reached there.
  map.node_failed(handle(map, 'b'));
  map.merge(parse_view(slots, nullptr, {"lb2.test", 7001}).view);
  CHECK(map.current()->find_by_id(id('b'))->info.endpoint == Endpoint{"lb2.test", 7001});
  CHECK(map.current()->find_by_id(id('a'))->info.endpoint == Endpoint{"lb1.test", 7000});
}

TEST_CASE("slot map: servers without ids are told apart by their endpoints") {
  SlotMap map;
  const FakeNode x{"h1", 7000, "", ""};
  const FakeNode y{"h2", 7000, "", ""};
  map.merge(view_of({{0, 8000, {x}}, {8001, 16383, {y}}}));
  const auto before = map.current();
  const FakeNode shouting{"H1", 7000, "", ""};
  CHECK(map.merge(view_of({{0, 8000, {shouting}}, {8001, 16383, {y}}})).kind ==
        MergeKind::unchanged);
  const MergeResult result = map.merge(view_of({{0, 16383, {y}}}));
  CHECK(result.changes.removed.size() == 1);
  CHECK(map.current()->owner_handle(0) == before->owner_handle(16383));
}

TEST_CASE("slot map: an old value stays what it was while the map goes on") {
  SlotMap map;
  map.merge(three(1, 2, 3));
  const std::shared_ptr<const TopologyMap> snapshot = map.current();
  map.patch(foo, at_d);
  map.merge(all_at(a));
  CHECK(snapshot->owner(foo)->info.endpoint.port == 7002);
  CHECK(snapshot->nodes().size() == 3);
}
