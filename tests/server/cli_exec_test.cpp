#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "kit/cluster.hpp"
#include "kit/scripted_node.hpp"
#include "kit/server.hpp"
#include "server/cli_process.hpp"

using namespace slotwise::test;
using namespace std::chrono_literals;
using namespace std::string_literals;
namespace kit = slotwise::kit;
using Lines = std::vector<std::string>;

namespace {

std::string uri_of(const kit::Server& server) {
  return "valkey://" + server.address().to_string();
}

std::vector<nlohmann::json> objects(const std::string& out) {
  std::vector<nlohmann::json> parsed;
  for (const std::string& line : lines_of(out))
    parsed.push_back(nlohmann::json::parse(line));
  return parsed;
}

}  // namespace

TEST_CASE("exec: commands on standard input, one reply a line, in order") {
  const kit::Server server;
  const CliResult result = run_cli({"exec", "--uri", uri_of(server)},
                                   "# a comment\n"
                                   "SET greeting \"hello world\"\n"
                                   "\n"
                                   "GET greeting\r\n"
                                   "SET bin \"a\\x00b\\n\"\n"
                                   "GET bin\n"
                                   "STRLEN bin\n"
                                   "SET raw 'a\\n'\n"
                                   "GET raw\n"
                                   "GET nothing\n"
                                   "RPUSH list a 'b c' 3\n"
                                   "LRANGE list 0 -1\n"
                                   "LPUSH greeting x\n"
                                   "SET k \"open\n"
                                   "SET k \"\"\n"
                                   "GET k");
  CHECK(lines_of(result.out) ==
        Lines{"OK", "hello world", "OK", R"("a\x00b\n")", "4", "OK", R"(a\n)", "(nil)", "3",
              R"(["a", "b c", "3"])",
              "(error) WRONGTYPE Operation against a key holding the wrong kind of value",
              "(error) invalid_argument (not_sent): line 14, column 7: the double quote opened "
              "here is never closed",
              "OK", R"("")"});
  CHECK(result.status == 1);
}

TEST_CASE("exec: --json is one object a line, safe for every byte") {
  const kit::Server server;
  const CliResult result = run_cli({"exec", "--uri", uri_of(server), "--json"},
                                   "SET k \"\\xff\\x00\"\nGET k\nGET none\nINCR k\nHSET h f 1\n"
                                   "HGETALL h\nBOGUS\n'\n");
  const auto replies = objects(result.out);
  REQUIRE(replies.size() == 8);
  CHECK(replies[0] == nlohmann::json::parse(R"({"ok":true,"reply":"OK"})"));
  CHECK(replies[1]["reply"] == "\xc3\xbf\0"s);
  CHECK(replies[1]["encoding"] == "latin1");
  CHECK(replies[2]["reply"].is_null());
  CHECK(replies[3]["ok"] == false);
  CHECK(replies[3]["code"] == "server");
  CHECK(replies[3]["outcome"] == "rejected");
  CHECK(replies[3]["node"] == server.address().to_string());
  CHECK(replies[3]["attempts"] == 1);
  CHECK(replies[5]["reply"] == nlohmann::json::parse(R"({"f":"1"})"));
  CHECK(replies[6]["ok"] == false);
  CHECK(replies[7]["code"] == "invalid_argument");
  CHECK(replies[7]["outcome"] == "not_sent");
  CHECK(result.status == 1);
}

TEST_CASE("exec: one command on the command line, options before it") {
  const kit::Server server;
  const std::string uri = uri_of(server);
  CHECK(run_cli({"exec", "--uri", uri, "SET", "k", "-1"}).out == "OK\n");
  const CliResult got = run_cli({"exec", "--uri", uri, "--json", "INCRBY", "k", "-5"});
  CHECK(got.out == "{\"ok\":true,\"reply\":-6}\n");
  CHECK(got.status == 0);
  CHECK(run_cli({"exec", "--uri", uri, "SET", "e", ""}).status == 0);
  CHECK(run_cli({"exec", "--uri", uri, "GET", "e"}).out == "\"\"\n");
  CHECK(run_cli({"exec", "--uri", uri, "SET", "e", "--json"}).out == "OK\n");
  CHECK(run_cli({"exec", "--uri", uri, "GET", "e"}).out == "--json\n");
  CHECK(run_cli({"exec", "--uri", uri, "LPUSH", "k", "x"}).status == 1);
}

TEST_CASE("exec: with many in flight the replies still come in order") {
  const kit::Cluster cluster({.primaries = 3});
  std::string input;
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string n = std::to_string(i);
    if (i % 1000 == 7) {
      input += "GET \"open\\\n";
    } else {
      input += "ECHO v" + n + "\n";
      expected += "v" + n + "\n";
    }
  }
  const CliResult result = run_cli({"exec", "--uri", cluster.uri(), "--pipeline", "500"}, input);
  std::string good;
  std::size_t errors = 0;
  std::size_t number = 0;
  for (const std::string& line : lines_of(result.out)) {
    const bool error = line.starts_with("(error)");
    CHECK(error == (number % 1000 == 7));
    if (error) {
      ++errors;
    } else {
      good += line + "\n";
    }
    ++number;
  }
  CHECK(errors == 20);
  CHECK((good == expected));
  CHECK(result.status == 1);
}

TEST_CASE("exec: when the input pauses, what was asked is answered") {
  const kit::Server server;
  for (const char* depth : {"1", "100"}) {
    CliProcess process({"exec", "--uri", uri_of(server), "--pipeline", depth});
    process.write("ECHO one\nECHO two\nECHO thr");
    CHECK(process.wait_for("one\ntwo\n", 5s));
    process.write("ee\n");
    CHECK(process.wait_for("three\n", 5s));
    CHECK(process.finish(5s).status == 0);
  }
}

TEST_CASE("exec: a reply is not held back by a command that takes its time") {
  const kit::Server server;
  for (const char* depth : {"1", "100"}) {
    CliProcess process({"exec", "--uri", uri_of(server), "--pipeline", depth});
    process.write("ECHO one\nBLPOP nothing 2\nECHO two\n");
    CHECK(process.wait_for("one\n", 1s));
    CHECK_FALSE(process.wait_for("two\n", 100ms));
    const CliResult result = process.finish(10s);
    CHECK(result.out == "one\n(nil)\ntwo\n");
  }
}

TEST_CASE("exec: a million piped commands take no more memory than a few") {
  const kit::Server server;
  CliProcess process({"exec", "--uri", uri_of(server), "--pipeline", "1000"});
  std::string block;
  for (int i = 0; i < 10'000; ++i)
    block += "SET key:" + std::to_string(i) + " value\n";
  long early = 0;
  for (int i = 0; i < 100; ++i) {
    process.write(block);
    if (i == 10) early = process.resident_kb();
  }
  const long late = process.resident_kb();
  const CliResult result = process.finish(60s);
  CHECK(result.status == 0);
  CHECK(result.out.size() == 3'000'000);
  CHECK(early > 0);
  CHECK(late - early < 4096);
}

TEST_CASE("exec: the failure to connect is told in the form that was asked for") {
  kit::ScriptedNode gone;
  const std::string uri = "valkey://" + gone.endpoint() + "?timeout=500ms";
  gone.stop_listening();
  const CliResult plain = run_cli({"exec", "--uri", uri, "PING"});
  CHECK(plain.status == 1);
  CHECK(plain.out.empty());
  CHECK(plain.err.find(gone.endpoint()) != std::string::npos);
  const CliResult json = run_cli({"exec", "--uri", uri, "--json", "PING"});
  CHECK(json.status == 1);
  REQUIRE(objects(json.out).size() == 1);
  CHECK(objects(json.out)[0]["ok"] == false);
  CHECK(objects(json.out)[0]["outcome"] == "not_sent");
}

TEST_CASE("a command line that makes no sense is named with its mend, and ends with 2") {
  const auto says = [](const std::vector<std::string>& args, const std::string& text) {
    const CliResult result = run_cli(args);
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find(text) != std::string::npos);
  };
  says({}, "exec, topology, probe, load, doctor, hotkeys, lab");
  says({"prob"}, "did you mean probe?");
  says({"exec", "PING"}, "--uri is missing");
  says({"exec", "--uri", "valkey://h", "--jsn", "PING"}, "did you mean --json?");
  says({"exec", "--uri", "http://h", "PING"}, "--uri");
  says({"exec", "--uri", "valkey://h?tiemout=5s", "PING"}, "timeout");
  says({"exec", "--uri", "valkey://h", "--pipeline", "0"}, "--pipeline: \"0\"");
  says({"probe", "--uri", "valkey://h", "--sec", "5"}, "did you mean --seconds?");
  says({"probe", "--uri", "valkey://h", "--timeout", "5x"}, "500ms");
  says({"probe", "--uri", "valkey://h", "--operation", "get"}, "neither set nor incr");
  says({"doctor", "--uri", "valkey://h", "--jsn"}, "did you mean --json?");
  says({"load", "--uri", "valkey://h", "--ratio", "1"}, "1:4");
  says({"lab", "up"}, "--dir");
  says({"lab", "kill", "--dir", "d"}, "NODE");

  const CliResult secret = run_cli({"exec", "--uri", "valkey://u:hush@h:badport", "PING"});
  CHECK(secret.status == 2);
  CHECK(secret.err.find("hush") == std::string::npos);
}

TEST_CASE("the tool knows its version and helps") {
  CHECK(run_cli({"--version"}).out == "slotwise 0.1.0\n");
  for (const char* command : {"exec", "topology", "probe", "load", "doctor", "lab", "demo"}) {
    const CliResult help = run_cli({command, "--help"});
    CHECK(help.status == 0);
    CHECK(help.out.find("Usage:") != std::string::npos);
  }
}
