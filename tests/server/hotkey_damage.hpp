// Manifests as nobody writes them; for the reader of a manifest and for the scripts, which must
// agree on what is one.
#pragma once

#include <string>
#include <vector>

namespace slotwise::test {

/// A change to a good manifest that makes it a bad one.
struct Damage {
  std::string field;
  std::string value;
  bool removed = false;
};

inline std::vector<std::pair<std::string, std::string>> good_manifest() {
  return {{"format", "1"},
          {"number", "12"},
          {"kind", "value"},
          {"per_primary", "1"},
          {"copies", "7000r 120j"},
          {"version", "1796008442598000"},
          {"expires", "0"},
          {"changed", "1796008442598"},
          {"lock", ""},
          {"lock_until", "0"}};
}

inline std::vector<Damage> damages() {
  std::vector<Damage> all;
  for (const auto& [field, value] : good_manifest())
    all.push_back({field, "", true});
  const auto add = [&all](const std::string& field, std::vector<std::string> values) {
    for (std::string& value : values)
      all.push_back({field, std::move(value)});
  };
  add("format", {"", "0", "2", "01", "1 ", "one", std::string("1\0", 2)});
  for (const char* number : {"number", "per_primary", "version", "changed", "lock_until"}) {
    add(number,
        {"", "-1", "-0", "+1", "01", "1.0", "1e3", " 1", "1 ", "0x1", "nan", "none",
         "9007199254740992", "9223372036854775807", "99999999999999999999", std::string("1\0", 2)});
  }
  add("number", {"0"});
  add("per_primary", {"17"});
  add("version", {"9000000000000001"});
  add("expires", {"", "-2", "-0", "1.5", "never", "9007199254740992"});
  add("kind", {"", "Value", "list", "value "});
  add("copies", {" ",
                 "7000",
                 "r",
                 "7000x",
                 "7000R",
                 "7000r ",
                 " 7000r",
                 "7000r  120j",
                 "7000r,120j",
                 "7000r120j",
                 "7000r 7000j",
                 "16384r",
                 "-1r",
                 "07r",
                 "+7r",
                 "7000r x",
                 "7000rr",
                 "7.0r",
                 "99999999999999999999r",
                 "7000r\n120j"});
  add("restored", {"", "-1", "x", "9000000000000001"});
  add("joined", {"", "0", "2", "true"});
  add("surprise", {"", "1"});
  add("Number", {"1"});
  return all;
}

}  // namespace slotwise::test
