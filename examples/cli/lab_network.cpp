// slotwise lab: what can happen to the network between clients and servers.

#include <unistd.h>

#include <memory>
#include <string>

#include "cli/core/screen.hpp"
#include "cli/lab_work.hpp"
#include "kit/lab_network.hpp"

namespace slotwise::cli {

namespace {

using Arguments = std::shared_ptr<LabArguments>;

void set_fault(kit::Lab& lab, const LabArguments& args) {
  if (args.fault.to_string().empty()) {
    throw UsageError("name a fault: --delay, --one-byte, --rate, --cut-after, --refuse");
  }
  lab.set_fault(args.node, args.fault);
}

CLI::App& add_fault(CLI::App& lab, Action& action, const Arguments& a) {
  CLI::App& fault = add_work(lab, action, a, "fault",
                             "Let a node's proxy slow, chop or refuse connections", set_fault);
  add_duration(fault, "--delay", a->fault.stream.delay, "All comes that much later, both ways");
  fault.add_flag("--one-byte", a->fault.stream.one_byte, "One byte at a time");
  add_size(fault, "--rate", a->fault.stream.bytes_per_second, "Bytes a second, each way");
  add_size(fault, "--cut-after", a->fault.cut_after,
           "New connections end after 1 ... BYTES bytes, at random");
  fault.add_flag("--refuse", a->fault.refuse, "New connections are refused");
  fault.footer("Instead of any fault before; 'lab heal' ends it.");
  return fault;
}

CLI::App& add_cut(CLI::App& lab, Action& action, const Arguments& a) {
  CLI::App& cut = add_work(lab, action, a, "cut", "Let a node's proxy swallow everything",
                           [](kit::Lab& open, const LabArguments& args) {
                             open.set_fault(args.node, {.stream = {.swallow = true}});
                           });
  cut.footer(
      "As if the cable were cut: nothing is closed, nothing comes back. The node's replication is\n"
      "cut as well; the cluster bus is not, so that nobody fails over. 'lab heal' ends it.");
  return cut;
}

CLI::App& add_dns(CLI::App& lab, Action& action, const Arguments& a) {
  CLI::App& dns = add_work(lab, action, a, "dns", "Show or set what DNS says of a node's name",
                           [](kit::Lab& open, const LabArguments& args) {
                             if (!args.answer.empty()) open.set_record(args.node, args.answer);
                             Screen(STDOUT_FILENO).line(open.record(args.node));
                           });
  dns.footer("'lab restart' leaves the record as it is, however the node's address changes.");
  return dns;
}

/// The process that `lab up` starts for its proxies and DNS.
void add_network(CLI::App& lab, Action& action) {
  auto dir = std::make_shared<std::string>();
  CLI::App* network = lab.add_subcommand("network", "Run the proxies and the DNS of a lab");
  network->group("");  // not for people
  network->add_option("--dir", *dir, "Folder of the lab")->required()->type_name("D");
  network->final_callback([dir, &action] {
    action = [dir] {
      kit::serve_lab_network(*dir);
      return exit_ok;
    };
  });
}

}  // namespace

void add_network_work(CLI::App& lab, Action& action, const Arguments& a) {
  CLI::App& cut = add_cut(lab, action, a);
  CLI::App& fault = add_fault(lab, action, a);
  CLI::App& heal =
      add_work(lab, action, a, "heal", "End what 'cut' or 'fault' began",
               [](kit::Lab& open, const LabArguments& args) { open.set_fault(args.node, {}); });
  CLI::App& reset = add_work(
      lab, action, a, "reset-connections", "Reset the connections that go through a node's proxy",
      [](kit::Lab& open, const LabArguments& args) { open.reset_connections(args.node); });
  CLI::App& dns = add_dns(lab, action, a);
  for (CLI::App* command : {&cut, &fault, &heal, &reset, &dns}) {
    command->add_option("NODE", a->node, "Name (n1), id or address")->required()->type_name("NODE");
  }
  dns.add_option("ANSWER", a->answer,
                 "Addresses, or one of: real (where the node is now), nxdomain, servfail, empty, "
                 "silent")
      ->type_name("ANSWER");
  add_network(lab, action);
}

}  // namespace slotwise::cli
