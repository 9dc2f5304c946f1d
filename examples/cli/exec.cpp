// slotwise exec: commands in, one reply a line out.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <slotwise/client.hpp>

#include "cli/commands.hpp"
#include "cli/core/line_io.hpp"
#include "cli/core/line_words.hpp"
#include "cli/core/text.hpp"

namespace slotwise::cli {

namespace {

struct ExecOptions {
  std::string uri;
  bool json = false;
  int pipeline = 1;
  std::vector<std::string> command;
};

/// Prints outcomes in the order of their commands.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  void print(const Result<Reply>& result) {
    if (result && !result->is_error()) {
      append_line(out_.buffer(), *result, json_);
    } else if (result) {
      print(Error(ErrorCode::server, Outcome::rejected, std::string(result->text())));
    } else {
      print(result.error());
    }
    out_.added();
  }
  void print(const Error& error) {
    all_ok_ = false;
    append_line(out_.buffer(), error, json_);
    out_.added();
  }
  void flush() { out_.flush(); }
  int status() const noexcept { return all_ok_ ? exit_ok : exit_failed; }

 private:
  Output out_{STDOUT_FILENO};
  const bool json_;
  bool all_ok_ = true;
};

Error line_error(std::uint64_t line, const std::string& what) {
  return {ErrorCode::invalid_argument, Outcome::not_sent, fmt::format("line {}, {}", line, what)};
}

/// One command at a time, by the synchronous face.
class OneByOne {
 public:
  OneByOne(const Client& client, Printer& printer) : client_(client), printer_(printer) {}

  void run(std::span<const std::string_view> words) {
    printer_.flush();  // a reply is not held back by the command after it
    printer_.print(client_.command_words(words));
  }
  void fail(const Error& error) { printer_.print(error); }
  bool settle() noexcept { return true; }

 private:
  const Client& client_;
  Printer& printer_;
};

/// Up to `depth` commands in flight. Memory: the replies of that many commands.
class InFlight {
 public:
  InFlight(const Client& client, Printer& printer, std::size_t depth)
      : async_(client.async()), printer_(printer), depth_(depth) {}

  void run(std::span<const std::string_view> words) {
    make_room();
    waiting_.push_back({async_.command_words(words), std::nullopt});
  }
  void fail(const Error& error) {
    make_room();
    waiting_.push_back({std::nullopt, error});
  }
  /// Prints the next outcome, waiting for it; true if none is left.
  bool settle() {
    if (!waiting_.empty()) print_front();
    return waiting_.empty();
  }

 private:
  struct Entry {
    std::optional<Task<Reply>> task;
    std::optional<Error> error;  // a line that never became a command
  };

  void make_room() {
    if (waiting_.size() < depth_) return;
    print_front();
    // What has arrived meanwhile goes too, so that not every command waits for a reply.
    while (!waiting_.empty() && (!waiting_.front().task || waiting_.front().task->ready())) {
      print_front();
    }
  }
  void print_front() {
    Entry& entry = waiting_.front();
    if (entry.task) {
      if (!entry.task->ready()) printer_.flush();  // what is done is not held back by what is not
      printer_.print(entry.task->wait());
    } else {
      printer_.print(*entry.error);
    }
    waiting_.pop_front();
  }

  const Async async_;
  Printer& printer_;
  const std::size_t depth_;
  std::deque<Entry> waiting_;
};

/// Reads lines to the end. When the input pauses, everything that was asked is answered and shown
/// before the next line is waited for.
template <class Runner>
void run_lines(Runner& runner, Printer& printer) {
  LineReader input(STDIN_FILENO);
  const bool prompt = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  LineWords words;
  std::uint64_t number = 0;
  while (true) {
    while (!input.ready()) {
      if (!runner.settle()) continue;
      printer.flush();
      if (prompt) fmt::print(stderr, "slotwise> ");
      break;
    }
    const auto line = input.next();
    if (!line) break;
    ++number;
    if (const auto wrong = words.split(*line)) {
      runner.fail(line_error(number, *wrong));
    } else if (!words.empty()) {
      runner.run(words.words());
    }
  }
  while (!runner.settle()) {
  }
  printer.flush();
}

int run_stdin(const Client& client, const ExecOptions& options) {
  Printer printer(options.json);
  if (options.pipeline > 1) {
    InFlight runner(client, printer, static_cast<std::size_t>(options.pipeline));
    run_lines(runner, printer);
  } else {
    OneByOne runner(client, printer);
    run_lines(runner, printer);
  }
  return printer.status();
}

int run_one(const Client& client, const ExecOptions& options) {
  Printer printer(options.json);
  const std::vector<std::string_view> words(options.command.begin(), options.command.end());
  printer.print(client.command_words(words));
  printer.flush();
  return printer.status();
}

int run_exec(const ExecOptions& options) {
  Config config = config_of(options.uri);
  // The loop never holds more than this, but the client would refuse what is above its limit.
  config.max_pending = std::max(config.max_pending, static_cast<std::size_t>(options.pipeline) + 1);
  std::optional<Client> client;
  try {
    client.emplace(Client::connect(std::move(config)));
  } catch (const Error& error) {
    if (!options.json || error.code() == ErrorCode::invalid_argument) throw;
    Printer printer(true);
    printer.print(error);
    printer.flush();
    return exit_failed;
  }
  return options.command.empty() ? run_stdin(*client, options) : run_one(*client, options);
}

constexpr const char* footer =
    "Options come before the command; what follows it belongs to the command.\n"
    "\n"
    "Standard input: one command a line. Words are separated by blanks; in \"double quotes\"\n"
    "\\n \\r \\t \\a \\b \\\\ \\\" and \\xHH stand for bytes, in 'single quotes' every byte is "
    "itself.\n"
    "Empty lines and lines that begin with # are passed over. A line that cannot be read is an\n"
    "error that names the line, and the next one is run.\n"
    "\n"
    "Output: one reply a line, in the order of the commands. Text stands as it is, and in double\n"
    "quotes with the escapes above where it would be misread; arrays are [a, b], maps {k: v}, an\n"
    "error begins with (error), nothing there is (nil).\n"
    "\n"
    "--json: one object a line,\n"
    "  {\"ok\":true,\"reply\":...}\n"
    "  {\"ok\":false,\"code\":\"...\",\"outcome\":\"not_sent|rejected|unknown|executed\",\n"
    "   \"message\":\"...\",\"node\":\"host:port\",\"attempts\":N}\n"
    "Strings are UTF-8. A reply that has bytes which are not is written with each byte as the\n"
    "character of the same number (\\u0000 to \\u00ff), and the object says "
    "\"encoding\":\"latin1\".\n"
    "Maps are objects, or arrays of pairs where a key is no text; inf and nan are strings; an\n"
    "error inside an array is {\"error\":\"...\"}.\n"
    "\n"
    "--pipeline N: the replies still come in order. Commands on the same key run in order, unless\n"
    "the cluster redirects one of them while later ones are on their way.\n"
    "\n"
    "Exit status: 0 all replies were good, 1 one was an error, 2 the command line makes no sense.";

}  // namespace

void add_exec(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command = app.add_subcommand(
      "exec", "Run COMMAND ARG..., or the commands on standard input, and print the replies");
  add_uri(*command, options->uri);
  command->add_flag("--json", options->json, "One JSON object a line");
  add_number(*command, "--pipeline", options->pipeline, 1, 1'000'000,
             "Commands from standard input in flight at once (default 1)");
  command->prefix_command();  // the first word that is no option begins the command
  command->footer(footer);
  command->final_callback([command, options, &action] {
    options->command = command->remaining();
    if (!options->command.empty() && options->command.front() == "--") {
      options->command.erase(options->command.begin());
    }
    if (!options->command.empty() && options->command.front().starts_with('-')) {
      throw CLI::ExtrasError({options->command.front()});
    }
    action = [options] { return run_exec(*options); };
  });
}

}  // namespace slotwise::cli
