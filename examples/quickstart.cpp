// The example of README.md: usage: quickstart [URI]

#include <chrono>
#include <iostream>
#include <slotwise/slotwise.hpp>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  try {
    auto client = slotwise::Client::connect(argc > 1 ? argv[1] : "valkey+cluster://localhost:7000");
    client.set("user:7", "Ada", 10min);  // expires after ten minutes
    if (auto name = client.get("user:7")) std::cout << "hello " << *name << '\n';

    auto visits = client.async().incr("visits");  // on its way; co_await works too
    auto pipeline = client.pipeline();            // one round trip, whatever nodes own the keys
    auto added = pipeline.sadd("online", {"Ada", "Bob"});
    auto online = pipeline.smembers("online");
    auto results = pipeline.exec();
    std::cout << "visit " << visits.get() << ": " << results[added].value() << " new of "
              << results[online].value().size() << " online\n";
  } catch (const slotwise::Error& error) {  // says what went wrong, and whether the command ran
    std::cerr << error.what() << " (outcome: " << to_string(error.outcome()) << ")\n";
    return 1;
  }
}
