#include "survival/outage.hpp"

#include <fmt/format.h>

#include <string>
#include <thread>

#include <slotwise/slot.hpp>

#include "kit/wait.hpp"

namespace slotwise::survival {

kit::ClusterOptions independent_shards() {
  kit::ClusterOptions options;
  options.primaries = 3;
  options.replicas = 1;
  options.node_timeout = 2s;
  options.config = {{"cluster-require-full-coverage", "no"}};
  return options;
}

Outage::Outage(kit::Cluster& cluster, Others others)
    : cluster_(cluster),
      client_(Client::connect(cluster.uri())),
      callers_(client_, cluster),
      probe_(client_, {.rate = 4000}),
      victim_(cluster.owner_of(0)),
      slot_(slotwise::slot(keys_of_shard(cluster, victim_, "caller", 1).front())) {
  if (others == Others::measured) bare_.emplace(ShardCallers::bare(cluster));
  probe_.wait_for_writes(2000);
  if (bare_) std::this_thread::sleep_for(2s);
}

void Outage::begin(const std::function<void()>& event) {
  cluster_.reset_counts();
  begun_ = Clock::now();
  event();
}

void Outage::wait_for_heir(std::chrono::milliseconds limit) {
  const std::size_t heir = survival::wait_for_heir(cluster_, slot_, victim_, limit);
  serves_ = wait_until_serves(cluster_.server(heir),
                              keys_of_shard(cluster_, heir, "served", 1).front(), 5s);
  restored_by_ = "took over";
}

void Outage::wait_until_restored(std::chrono::milliseconds limit) {
  serves_ = wait_until_serves(cluster_.server(victim_),
                              keys_of_shard(cluster_, victim_, "served", 1).front(), limit);
  restored_by_ = "served again";
}

void Outage::wait_until_all_work(std::chrono::milliseconds limit) {
  kit::wait_until([&] { return callers_.answered_since(victim_, serves_); }, limit,
                  "calls to the shard that was gone to be answered");
  probe_.wait_until_all_write();
  works_ = Clock::now();
}

OutageFigures Outage::finish(std::string_view scenario, std::int64_t map_requests,
                             std::optional<Clock::time_point> others_until) {
  callers_.stop();
  if (bare_) bare_->stop();
  OutageFigures figures{probe_.finish(), map_requests, 0};
  // What was under way at the event may still have been answered.
  const auto first = callers_.first_write_after(victim_, begun_ + 200ms);
  REQUIRE(first);
  figures.first_write_ms = ms_between(serves_, *first);
  std::string more = fmt::format(
      "{} after {:.0f} ms, first write {:.0f} ms later, all {:.0f} ms later", restored_by_,
      ms_between(begun_, serves_), figures.first_write_ms, ms_between(serves_, works_));
  if (bare_) {
    for (const std::size_t shard : callers_.shards()) {
      if (shard == victim_) continue;
      more +=
          "; " + check_unaffected(callers_, *bare_, shard, begun_, others_until.value_or(works_));
    }
  }
  report(scenario, figures.totals, map_requests, more);
  CHECK(figures.totals.failed == 0);
  CHECK(figures.totals.wrong == 0);
  CHECK(callers_.failed() == 0);
  return figures;
}

}  // namespace slotwise::survival
