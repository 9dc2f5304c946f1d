#include "kit/lab_network.hpp"

#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "kit/error.hpp"
#include "kit/ports.hpp"
#include "kit/temp_dir.hpp"
#include "kit/wait.hpp"
#include "socket_support.hpp"

using namespace kit_test;

TEST_CASE("lab network: proxies and names over a socket, in a folder with a long path") {
  const kit::TempDir temp;
  const auto dir = temp.path() / std::string(150, 'x');
  std::filesystem::create_directories(dir);
  const kit::LabNetwork network(dir);
  CHECK_THROWS_AS(network.nodes(), kit::Error);
  std::thread server([&] { kit::serve_lab_network(dir); });
  const auto answers = [&] {
    try {
      return network.dns_address().port != 0;
    } catch (const kit::Error&) {
      return false;
    }
  };
  kit::wait_until(answers, 5s, "the network to answer");

  const Listening first("127.0.0.2");
  const Listening second("127.0.0.3");
  const auto port = kit::Port::reserve();
  kit::NodeState n1{.name = "n1",
                    .address = first.address(),
                    .proxy_port = port.number(),
                    .hostname = "n1.lab.test"};
  network.update(n1);
  const auto client = Peer::connect({"127.0.0.2", port.number()});
  const auto node = first.accept();
  client.send("hello");
  CHECK(node.receive(5) == "hello");
  CHECK(network.nodes()["n1"].connections == 1);
  CHECK(network.nodes()["n1"].record == "127.0.0.2");

  network.set_fault("n1", {.stream = {.swallow = true}});
  CHECK(network.nodes()["n1"].fault == "cut");
  client.send("lost");
  CHECK(node.receive(1, 50ms).empty());
  network.set_fault("n1", {.refuse = true});
  CHECK(network.nodes()["n1"].fault == "refuses");
  CHECK(Peer::connect({"127.0.0.2", port.number()}).refused());
  network.set_fault("n1", {.stream = {.delay = 50ms, .one_byte = true, .bytes_per_second = 100000},
                           .cut_after = 3});
  CHECK(network.nodes()["n1"].fault ==
        "delay 50 ms, one byte at a time, 100000 bytes a second, ends within 3 bytes");
  const auto brief = Peer::connect({"127.0.0.2", port.number()});
  const auto brief_node = first.accept();
  brief.send("hello");
  const auto passed = brief_node.receive(5);
  CHECK((!passed.empty() && passed.size() <= 3));
  CHECK(brief.end() == "fin");
  network.set_fault("n1", {});
  CHECK(network.nodes()["n1"].fault.empty());
  const auto other = Peer::connect({"127.0.0.2", port.number()});
  const auto other_node = first.accept();
  network.reset_connections("n1");
  CHECK(other.end() == "rst");

  n1.address = second.address();
  network.update(n1);
  CHECK(Peer::connect({"127.0.0.2", port.number()}).refused());
  CHECK(Peer::connect({"127.0.0.3", port.number()}).connected());
  CHECK(second.somebody_waits(5s));
  CHECK(network.nodes()["n1"].record == "127.0.0.2");
  network.set_record("n1", {"127.0.0.3", "::1"});
  CHECK(network.nodes()["n1"].record == "127.0.0.3 ::1");
  for (const char* word : {"nxdomain", "servfail", "silent", "empty"}) {
    network.set_record("n1", {word});
    CHECK(network.nodes()["n1"].record == word);
  }
  CHECK_THROWS_AS(network.set_record("n1", {"nonsense"}), kit::Error);
  CHECK_THROWS_AS(network.set_fault("n2", {}), kit::Error);

  n1.removed = true;
  network.update(n1);
  CHECK(network.nodes().empty());
  CHECK(Peer::connect({"127.0.0.3", port.number()}).refused());

  std::filesystem::remove(dir / kit::LabNetwork::socket_name);
  server.join();
}
