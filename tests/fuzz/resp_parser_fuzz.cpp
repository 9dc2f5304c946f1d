// libFuzzer target: any bytes, however cut, give the same replies and break nothing.
//
// With clang, beside -fsanitize=fuzzer,address,undefined:
//   lib/resp/*.cpp lib/base/error.cpp lib/base/reply.cpp tests/fuzz/resp_parser_fuzz.cpp -lhiredis
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "resp/parser.hpp"

namespace {

using namespace slotwise;

constexpr resp::Limits limits{
    .max_depth = 20, .max_bulk_bytes = 50'000, .max_reply_bytes = 200'000};

// What came out, as text: type and value of each reply.
std::string run(std::string_view bytes, std::size_t piece, bool views) {
  resp::Parser parser(limits);
  std::string seen;
  Reply reply;
  while (!bytes.empty() && !parser.failed()) {
    const std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    parser.feed(part);
    for (;;) {
      resp::Scalar scalar;
      if (views && parser.next_scalar(scalar)) {
        scalar.copy_to(reply);
      } else if (const resp::Status status = parser.next(reply);
                 status != resp::Status::reply && status != resp::Status::push) {
        break;
      }
      seen += to_string(reply.type());
      seen += reply.describe(1000);
    }
  }
  return seen + (parser.failed() ? "failed" : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (run(bytes, std::string_view::npos, false) != run(bytes, piece, true)) std::abort();
  return 0;
}
