#include "hotkey/manifest.hpp"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <optional>

#include <slotwise/slot.hpp>

namespace slotwise::hotkey {

namespace {

// Scripts compute with doubles, which are exact up to there.
constexpr std::int64_t greatest_number = 9'007'199'254'740'991;

/// Any bytes, so that a message can be shown: "cart\x00\xff".
std::string printable(std::string_view bytes) {
  constexpr std::size_t longest = 100;
  std::string out = Reply::make_text(Reply::Type::status, std::string(bytes.substr(0, longest)))
                        .describe(std::string::npos);
  if (bytes.size() > longest) out += "...";
  return out;
}

/// Decimal as the scripts write it: no sign but that of -1, no leading zeros.
std::optional<std::int64_t> integer(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.front() == '-' ? text != "-1" : text.size() > 1 && text.front() == '0')
    return std::nullopt;
  if (value < low || value > high) return std::nullopt;
  return value;
}

/// "7000r 120j": one blank between, none around, no slot twice. Absent: not of that form.
std::optional<std::vector<CopyPlace>> places(std::string_view text) {
  std::vector<CopyPlace> out;
  std::bitset<slot_count> seen;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (!text.empty()) {
      text.remove_prefix(1);
      if (text.empty()) return std::nullopt;
    }
    if (word.size() < 2) return std::nullopt;
    const auto slot = integer(word.substr(0, word.size() - 1), 0, slot_count - 1);
    const char state = word.back();
    if (!slot || seen[static_cast<std::size_t>(*slot)]) return std::nullopt;
    if (state != 'j' && state != 'r' && state != 'l') return std::nullopt;
    seen.set(static_cast<std::size_t>(*slot));
    out.push_back({static_cast<std::uint16_t>(*slot), static_cast<CopyPlace::State>(state)});
  }
  return out;
}

/// The fields of one manifest, each looked at once. What is wrong first is what is told.
class FieldReader {
 public:
  explicit FieldReader(std::span<const Reply> fields) : fields_(fields) {}

  std::int64_t number(std::string_view name, std::int64_t low, std::int64_t high,
                      std::optional<std::int64_t> otherwise = std::nullopt) {
    const std::string_view* text = find(name);
    if (text == nullptr && otherwise) return *otherwise;
    if (!there(name, text)) return 0;
    const auto value = integer(*text, low, high);
    if (!value) wrong(name, *text, "a number");
    return value.value_or(0);
  }
  std::string_view text(std::string_view name) {
    const std::string_view* text = find(name);
    return there(name, text) ? *text : std::string_view();
  }
  void wrong(std::string_view name, std::string_view text, std::string_view wanted) {
    if (!trouble_.empty()) return;
    trouble_ += "field ";
    trouble_ += name;
    trouble_ += " is \"";
    trouble_ += printable(text);
    trouble_ += "\", which is not ";
    trouble_ += wanted;
  }
  /// Names that no manifest has.
  void refuse_others() {
    if (!trouble_.empty() || known_ * 2 == fields_.size()) return;
    for (std::size_t i = 0; i + 1 < fields_.size(); i += 2) {
      if (std::find(asked_.begin(), asked_.end(), fields_[i].text()) != asked_.end()) continue;
      trouble_ += "field ";
      trouble_ += printable(fields_[i].text());
      trouble_ += " is unknown";
      return;
    }
    trouble_ = "a field is there twice";
  }
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  const std::string_view* find(std::string_view name) {
    asked_.push_back(name);
    for (std::size_t i = 0; i + 1 < fields_.size(); i += 2) {
      if (!fields_[i].is_text() || fields_[i].text() != name) continue;
      ++known_;
      found_ = fields_[i + 1].text();
      return &found_;
    }
    return nullptr;
  }
  bool there(std::string_view name, const std::string_view* text) {
    if (text == nullptr && trouble_.empty()) {
      trouble_ += "field ";
      trouble_ += name;
      trouble_ += " is missing";
    }
    return text != nullptr;
  }

  std::span<const Reply> fields_;
  std::vector<std::string_view> asked_;
  std::size_t known_ = 0;
  std::string_view found_;
  std::string trouble_;
};

}  // namespace

std::string copies_text(std::span<const CopyPlace> copies) {
  std::string out;
  for (const CopyPlace& copy : copies) {
    if (!out.empty()) out += ' ';
    out += std::to_string(copy.slot);
    out += static_cast<char>(copy.state);
  }
  return out;
}

Error damaged(std::string_view key, std::string_view what) {
  std::string text = "the hot key \"";
  text += printable(key);
  text += "\" is damaged: ";
  text += what;
  return {ErrorCode::damaged, Outcome::rejected, std::move(text)};
}

Result<Manifest> read_manifest(std::string_view key, const Reply& fields) {
  if (!fields.is_aggregate() || fields.elements().size() % 2 != 0) {
    return damaged(key, "its manifest is not a hash");
  }
  FieldReader reading(fields.elements());
  Manifest m;
  // First, since another format may have other fields.
  if (const auto format = reading.text("format"); reading.trouble().empty() && format != "1") {
    reading.wrong("format", format, "1, the only one that this version reads");
  }
  m.number = static_cast<std::uint64_t>(reading.number("number", 1, greatest_number));
  const std::string_view kind = reading.text("kind");
  if (kind != "value" && kind != "counter") reading.wrong("kind", kind, "value or counter");
  m.kind = kind == "counter" ? Kind::counter : Kind::value;
  m.per_primary = static_cast<int>(reading.number("per_primary", 0, 16));
  const std::string_view list = reading.text("copies");
  if (auto copies = places(list)) {
    m.copies = std::move(*copies);
  } else {
    reading.wrong("copies", list, "a list of slots with their state");
  }
  m.version = static_cast<std::uint64_t>(reading.number("version", 0, greatest_version));
  m.expires = reading.number("expires", -1, greatest_number);
  m.changed_at = reading.number("changed", 0, greatest_number);
  (void)reading.text("lock");
  (void)reading.number("lock_until", 0, greatest_number);
  (void)reading.number("restored", 0, greatest_version, 0);
  m.joined = reading.number("joined", 1, 1, 0) == 1;
  reading.refuse_others();
  if (!reading.trouble().empty()) {
    std::string what = "its manifest's ";
    what += reading.trouble();
    return damaged(key, what);
  }
  return m;
}

}  // namespace slotwise::hotkey
