// Errors of Config as texts.
#pragma once

#include <slotwise/config.hpp>
#include <slotwise/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace slotwise::client::testing {

inline std::string failure(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.outcome() == Outcome::not_sent);
    return error.what();
  }
  return {};
}
inline std::string parse_failure(std::string_view uri) {
  return failure([&] { (void)Config::parse(uri); });
}
inline bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace slotwise::client::testing
