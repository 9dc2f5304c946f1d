#include "compare/shapes.hpp"

#include <fmt/format.h>

namespace slotwise::bench {

namespace {

Shape sync_shape(int threads, double bar) {
  return {.name = fmt::format("sync-{}", threads),
          .title = threads == 1 ? std::string("sync, 1 thread")
                                : fmt::format("sync, {} threads, one client", threads),
          .ours = [=](Bed& bed) { return slotwise_sync(bed.plain(), bed.small(), threads); },
          .rivals = {{threads == 1 ? "hiredis" : "hiredis, connection per thread", bar,
                      [=](Bed& bed) { return hiredis_sync(bed.plain(), bed.small(), threads); }}}};
}

Rival async_rival(std::size_t in_flight, double bar) {
  return {"hiredis async", bar,
          [=](Bed& bed) { return hiredis_async(bed.plain(), bed.small(), in_flight); }};
}

Shape async_shape(std::size_t in_flight, double bar, double floor_bar) {
  return {.name = fmt::format("async-{}", in_flight),
          .title = fmt::format("async, {} in flight", in_flight),
          .ours = [=](Bed& bed) { return slotwise_async(bed.plain(), bed.small(), in_flight); },
          .rivals = {async_rival(in_flight, bar),
                     {"floor", floor_bar,
                      [=](Bed& bed) { return floor_async(bed.plain(), bed.small(), in_flight); }},
                     {"valkey-benchmark", 0, [=](Bed& bed) {
                        return valkey_benchmark(bed.plain(), bed.small(), in_flight);
                      }}}};
}

Shape large_shape(Large what) {
  constexpr std::size_t size = 100'000'000;
  const bool get = what == Large::get;
  return {.name = get ? "large-get" : "large-set",
          .title = get ? "100 MB value, GET" : "100 MB value, SET",
          .ours = [=](Bed& bed) { return slotwise_large(bed.plain(), what, size); },
          .rivals = {{"hiredis", 0.97,
                      [=](Bed& bed) { return hiredis_large(bed.plain(), what, size); }}},
          .megabytes = size / 1e6};
}

std::vector<Shape> make_shapes() {
  constexpr std::size_t pipelined = 64;
  std::vector<Shape> all;
  all.push_back(sync_shape(1, 0.97));
  all.push_back(sync_shape(8, 1.15));
  all.push_back(sync_shape(32, 3.0));
  all.push_back({.name = "async-1",
                 .title = "async, 1 in flight",
                 .ours = [](Bed& bed) { return slotwise_async(bed.plain(), bed.small(), 1); },
                 .rivals = {async_rival(1, 1.0), {"floor", 0, [](Bed& bed) {
                                                    return floor_async(bed.plain(), bed.small(), 1);
                                                  }}}});
  all.push_back(async_shape(32, 1.2, 0.75));
  all.push_back(async_shape(256, 1.3, 0.80));
  all.push_back(async_shape(1024, 1.4, 0.75));
  all.push_back(
      {.name = "coroutines-256",
       .title = "co_await, 256 coroutines",
       .ours = [](Bed& bed) { return slotwise_coroutines(bed.plain(), bed.small(), 256); },
       .rivals = {{"own callbacks", 0.90,
                   [](Bed& bed) { return slotwise_async(bed.plain(), bed.small(), 256); }}}});
  all.push_back(
      {.name = "pipeline-slot",
       .title = "pipeline of 64, one slot",
       .ours = [](Bed& bed) { return slotwise_pipeline(bed.plain(), bed.one_slot(), pipelined); },
       .rivals = {{"hiredis pipeline", 1.2, [](Bed& bed) {
                     return hiredis_pipeline(bed.plain(), bed.one_slot(), pipelined);
                   }}}});
  all.push_back(
      {.name = "pipeline-all",
       .title = "pipeline of 64, all nodes",
       .ours = [](Bed& bed) { return slotwise_pipeline(bed.plain(), bed.small(), pipelined); },
       .rivals = {{"hiredis pipeline, one node", 1.2, [](Bed& bed) {
                     return hiredis_pipeline(bed.plain(), bed.one_node(), pipelined);
                   }}}});
  all.push_back(
      {.name = "async-256-1k",
       .title = "1 KB values, async, 256 in flight",
       .ours = [](Bed& bed) { return slotwise_async(bed.plain(), bed.kilobyte(), 256); },
       .rivals = {
           {"hiredis async", 1.2,
            [](Bed& bed) { return hiredis_async(bed.plain(), bed.kilobyte(), 256); }},
           {"floor", 0.80, [](Bed& bed) { return floor_async(bed.plain(), bed.kilobyte(), 256); }},
           {"valkey-benchmark", 0,
            [](Bed& bed) { return valkey_benchmark(bed.plain(), bed.kilobyte(), 256); }}}});
  all.push_back(
      {.name = "async-256-tls",
       .title = "TLS, async, 256 in flight",
       .ours = [](Bed& bed) { return slotwise_async(bed.tls(), bed.small_tls(), 256); },
       .rivals = {{"hiredis async, TLS", 1.1,
                   [](Bed& bed) { return hiredis_async(bed.tls(), bed.small_tls(), 256); }}},
       .tls = true});
  all.push_back(large_shape(Large::get));
  all.push_back(large_shape(Large::set));

  // Not above by more than 20 %, so at least 1 / 1.2.
  constexpr double latency_bar = 1 / 1.2;
  Shape sync_latency = sync_shape(1, latency_bar);
  sync_latency.name = "p99-sync";
  sync_latency.title = "p99 at half rate, sync, 1 thread";
  sync_latency.half_rate = true;
  all.push_back(sync_latency);
  all.push_back({.name = "p99-async",
                 .title = "p99 at half rate, async",
                 .ours = [](Bed& bed) { return slotwise_async(bed.plain(), bed.small(), 256); },
                 .rivals = {async_rival(256, latency_bar)},
                 .half_rate = true});
  return all;
}

}  // namespace

Deployment& Bed::deployment(std::unique_ptr<Deployment>& place, bool with_tls) {
  if (!place) place = std::make_unique<Deployment>(with_tls);
  return *place;
}

const Workload& Bed::workload(std::unique_ptr<Workload>& place,
                              std::unique_ptr<Deployment>& servers,
                              const WorkloadOptions& options) {
  if (!place) place = std::make_unique<Workload>(deployment(servers, false), options);
  return *place;
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = make_shapes();
  return all;
}

}  // namespace slotwise::bench
