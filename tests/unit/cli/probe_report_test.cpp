#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/probe/report.hpp"

using namespace slotwise;
using namespace slotwise::cli;

namespace {

ProbeTotals incr_totals() {
  ProbeTotals totals;
  totals.operation = ProbeOperation::incr;
  totals.acked = 1000;
  totals.unknown = 3;
  totals.ran = 2;
  totals.sum = 1002;
  totals.shards = {{.name = "h:1", .acked = 600}, {.name = "h:2", .acked = 400}};
  return totals;
}

}  // namespace

TEST_CASE("unknown increments are told, and are no fault") {
  const ProbeTotals totals = incr_totals();
  CHECK(totals.clean());
  CHECK(verdict(totals) == "good");
  const std::string text = totals_text(totals);
  CHECK(text.find("1,002  on the servers; right is 1,000 to 1,003") != std::string::npos);
  CHECK(text.find("Verdict: good") != std::string::npos);
  const auto json = nlohmann::json::parse(totals_json(totals));
  CHECK(json["operation"] == "incr");
  CHECK(json["verdict"] == "good");
  CHECK(json["acked"] == 1000);
  CHECK(json["unknown"] == 3);
  CHECK(json["unknown_that_ran"] == 2);
  CHECK(json["sum"] == 1002);
  CHECK(json["doubled"] == 0);
  CHECK(json["shards"].size() == 2);
  CHECK(json["shards"][1]["acked"] == 400);
}

TEST_CASE("what is not good is named") {
  ProbeTotals totals = incr_totals();
  totals.lost = 1;
  totals.doubled = 1200;
  CHECK_FALSE(totals.clean());
  CHECK(verdict(totals) == "1 lost, 1,200 doubled");
  CHECK(nlohmann::json::parse(totals_json(totals))["verdict"] == "1 lost, 1,200 doubled");

  ProbeTotals set;
  set.acked = 5;
  CHECK(verdict(set) == "good");
  set.failed = set.unknown = 2;
  set.unread = 1;
  CHECK(verdict(set) == "2 failed, 1 unread");
  CHECK_FALSE(set.clean());
  CHECK_FALSE(nlohmann::json::parse(totals_json(set)).contains("sum"));
}

TEST_CASE("a failure's bytes do no harm to the JSON") {
  ProbeTotals totals;
  totals.failures = {{ErrorCode::server, Outcome::rejected, 1, "ERR \xff\xfe \"x\"\n"}};
  CHECK(nlohmann::json::parse(totals_json(totals))["failures"][0]["count"] == 1);
}
