#include "hotkey/store.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "hotkey/names.hpp"
#include "hotkey/scripts.hpp"

namespace slotwise::hotkey {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view not_given = "-";

/// Of a script's answer: numbers come as text, flags as integers.
template <class T>
bool read_number(const Reply& reply, T& out) {
  const std::string_view text = reply.text();
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && code == std::errc() && end == text.data() + text.size();
}

std::string shown(std::string_view text) {
  return Reply::make_text(Reply::Type::string, std::string(text.substr(0, 100)))
      .describe(std::string::npos);
}

Error not_understood(std::string_view key, const Reply& reply) {
  std::string what = "its script answered ";
  what += reply.describe(80);
  return damaged(key, what).with_outcome(Outcome::unknown);
}

Error refusal(ErrorCode code, std::string_view key, std::string_view what) {
  std::string text = "the hot key ";
  text += shown(key);
  text += ' ';
  text += what;
  return {code, Outcome::rejected, std::move(text)};
}

/// Of a call without an answer. A script that says at its beginning what it does is refused as a
/// whole by a server that is full or cannot write to its disk; the client cannot know that.
Error no_answer(Error&& error) {
  const std::string_view text = error.server_text();
  if (text.starts_with("OOM ") || text.starts_with("MISCONF ")) {
    return error.with_outcome(Outcome::rejected);
  }
  return std::move(error);
}

/// What a script says instead of an answer; all of it before it has written anything.
Error trouble(std::string_view key, std::string_view status, const Reply& reply) {
  if (reply.elements().size() < 2) {
    if (status == "ttl") {
      return refusal(ErrorCode::refused, key,
                     "expires, which a split counter cannot: PERSIST it first");
    }
    return not_understood(key, reply);
  }
  const Reply& detail = reply.elements()[1];
  std::string what;
  if (status == "damaged") {
    if (detail.is_aggregate()) {
      const auto manifest = read_manifest(key, detail);
      return manifest ? damaged(key, "its manifest is not well formed") : manifest.error();
    }
    what = "its manifest is a ";
    what += detail.text();
    what += " instead of a hash";
    return damaged(key, what);
  }
  if (status == "original" || status == "copy") {
    what = status == "copy" ? "it is a " : "its original is a ";
    what += detail.text();
    what += " instead of a string";
    return damaged(key, what);
  }
  if (status == "mark") {
    what = "its mark is ";
    what += shown(detail.text());
    return damaged(key, what);
  }
  if (status == "kind") {
    return refusal(ErrorCode::not_split, key,
                   detail.text() == "counter" ? "is split as a counter"
                                              : "is split as a value, not as a counter");
  }
  if (status == "type") {
    what = "is a ";
    what += detail.text();
    what += " and cannot be split: only strings can";
    return refusal(ErrorCode::server, key, what)
        .with_server_text("WRONGTYPE Operation against a key holding the wrong kind of value");
  }
  if (status == "refused") {
    what = "cannot be counted: ";
    what += detail.text();
    return refusal(ErrorCode::server, key, what).with_server_text(std::string(detail.text()));
  }
  return not_understood(key, reply);
}

struct HomeWord {
  std::string_view word;
  Home::Status status;
};
constexpr HomeWord home_words[] = {
    {"ok", Home::Status::ok},           {"absent", Home::Status::absent},
    {"joined", Home::Status::joined},   {"no_value", Home::Status::no_value},
    {"changed", Home::Status::changed}, {"locked", Home::Status::locked},
    {"behind", Home::Status::behind},
};

Result<Home> read_home(std::string_view key, Result<Reply>&& result) {
  if (!result) return no_answer(std::move(result).error());
  const auto fields = result->elements();
  const std::string_view status = fields.empty() ? std::string_view() : fields[0].text();
  const auto* const word =
      std::find_if(std::begin(home_words), std::end(home_words),
                   [status](const HomeWord& each) { return each.word == status; });
  if (word == std::end(home_words)) return trouble(key, status, *result);
  Home home;
  home.status = word->status;
  if (fields.size() != 9 || !read_number(fields[1], home.version) ||
      !read_number(fields[2], home.expires) || !read_number(fields[3], home.restored) ||
      !read_number(fields[4], home.now)) {
    return not_understood(key, *result);
  }
  home.lost = fields[5].integer() != 0;
  home.existed = fields[6].integer() != 0;
  if (!fields[7].is_nil()) home.value = fields[7].take_text();
  if (!fields[8].is_nil()) {
    auto manifest = read_manifest(key, fields[8]);
    if (!manifest) return std::move(manifest).error();
    home.manifest = std::move(*manifest);
  }
  return home;
}

struct CopyWord {
  std::string_view word;
  Copy::Status status;
};
constexpr CopyWord copy_words[] = {
    {"written", Copy::Status::written}, {"newer", Copy::Status::newer},
    {"value", Copy::Status::value},     {"deleted", Copy::Status::deleted},
    {"expired", Copy::Status::expired}, {"lost", Copy::Status::lost},
    {"gone", Copy::Status::gone},       {"folded", Copy::Status::folded},
    {"part", Copy::Status::part},
};

/// "VERSION:value" becomes the value, in place.
bool take_version_off(std::string& stored, std::uint64_t& version) {
  const char* const last = stored.data() + stored.size();
  const auto [end, code] = std::from_chars(stored.data(), last, version);
  if (code != std::errc() || end == last || *end != ':' || version == 0 ||
      version > static_cast<std::uint64_t>(greatest_version)) {
    return false;
  }
  stored.erase(0, static_cast<std::size_t>(end - stored.data()) + 1);
  return true;
}

/// `name`: of the copy's key.
Result<Copy> read_copy(std::string_view name, Result<Reply>&& result) {
  if (!result) return no_answer(std::move(result).error());
  const auto fields = result->elements();
  const std::string_view status = fields.empty() ? std::string_view() : fields[0].text();
  const auto* const word =
      std::find_if(std::begin(copy_words), std::end(copy_words),
                   [status](const CopyWord& each) { return each.word == status; });
  if (word == std::end(copy_words)) return trouble(name, status, *result);
  Copy copy;
  copy.status = word->status;
  if (fields.size() != 6 || !read_number(fields[1], copy.version) ||
      !read_number(fields[2], copy.expires) || !read_number(fields[3], copy.number)) {
    return not_understood(name, *result);
  }
  if (!read_number(fields[4], copy.part)) {
    std::string what = "its part is ";
    what += shown(fields[4].text());
    return damaged(name, what);
  }
  if (!fields[5].is_nil()) {
    copy.value = fields[5].take_text();
    std::uint64_t version = 0;
    if (!take_version_off(*copy.value, version)) return not_understood(name, *result);
  }
  return copy;
}

Result<Stored> stored_in(std::string_view name, std::string&& stored) {
  Stored out;
  if (!take_version_off(stored, out.version)) {
    return damaged(name, "it does not begin with a version");
  }
  out.value = std::move(stored);
  return out;
}

Result<Stored> read_get(std::string_view name, Result<Reply>&& result) {
  if (!result) return std::move(result).error();
  if (result->is_nil()) {
    return Error(ErrorCode::not_split, Outcome::executed, "there is no copy " + shown(name));
  }
  return stored_in(name, result->take_text());
}

std::string in_ms(std::optional<milliseconds> time) {
  return time ? std::to_string((std::max)(time->count(), milliseconds::rep{1})) : std::string();
}

/// One script at the home slot. The first argument is the number of the manifest that is known.
Call<Home> at_home(const Async& face, const Script& script, std::string_view key,
                   std::initializer_list<std::string_view> arguments) {
  const std::string manifest = manifest_name(key);
  return {std::string(key), face.eval(script, {key, manifest}, arguments), &read_home};
}

Call<Copy> at_copy(const Async& face, const Script& script, std::string_view key,
                   std::uint16_t slot, std::initializer_list<std::string_view> arguments) {
  std::string name = copy_name(key, slot);
  const std::string mark = mark_name(key, slot);
  auto task = face.eval(script, {name, mark}, arguments);
  return {std::move(name), std::move(task), &read_copy};
}

Call<Home> change_with(const Async& face, const Script& script, std::string_view key,
                       const Store::Change& change, std::string_view amount) {
  const std::string copies = change.copies ? copies_text(*change.copies) : std::string(not_given);
  const std::string per_primary =
      change.per_primary ? std::to_string(*change.per_primary) : std::string(not_given);
  return at_home(
      face, script, key,
      {std::to_string(change.expected), change.token, std::to_string(change.hold.count()), copies,
       per_primary, change.adopt ? "1" : "0", amount});
}

}  // namespace

Store::Store(const Client& client, std::optional<milliseconds> timeout)
    : client_(client.with({.timeout = timeout})),
      once_(client.async().with({.timeout = timeout})),
      again_(client.async().with({.timeout = timeout, .idempotent = true})) {}

// A repeated set, del or expire could come after a later write of somebody else and undo it.

Call<Home> Store::set(std::string_view key, std::uint64_t known, std::string_view value,
                      std::optional<milliseconds> expires_in) const {
  return at_home(once_, scripts().set, key, {std::to_string(known), value, in_ms(expires_in)});
}

Call<Home> Store::del(std::string_view key, std::uint64_t known) const {
  return at_home(once_, scripts().del, key, {std::to_string(known)});
}

Call<Home> Store::expire(std::string_view key, std::uint64_t known,
                         std::optional<milliseconds> expires_in) const {
  return at_home(once_, scripts().expire, key, {std::to_string(known), in_ms(expires_in)});
}

Call<Home> Store::look(std::string_view key, std::uint64_t known, bool with_value) const {
  return at_home(again_, scripts().look, key, {std::to_string(known), with_value ? "1" : "0"});
}

Call<Home> Store::restore(std::string_view key, std::uint64_t version, std::int64_t expires,
                          std::optional<std::string_view> value) const {
  return at_home(again_, scripts().restore, key,
                 {"0", std::to_string(version), std::to_string(value ? expires : -1),
                  value ? "1" : "0", value.value_or(std::string_view())});
}

Call<Home> Store::create(std::string_view key, Kind kind, int per_primary, std::uint64_t above,
                         std::span<const CopyPlace> copies) const {
  return at_home(again_, scripts().create, key,
                 {"0", kind == Kind::counter ? "counter" : "value", std::to_string(per_primary),
                  std::to_string(above), copies_text(copies)});
}

// What changes a manifest makes its number grow, and a second time finds another one.

Call<Home> Store::change(std::string_view key, const Change& change) const {
  return change_with(again_, scripts().change, key, change, not_given);
}

Call<Home> Store::add_folded(std::string_view key, const Change& change,
                             std::int64_t amount) const {
  return change_with(change.copies ? again_ : once_, scripts().change, key, change,
                     std::to_string(amount));
}

Call<Home> Store::finish_join(std::string_view key, const Change& change) const {
  return change_with(again_, scripts().finish_join, key, change, not_given);
}

Call<Home> Store::add_home(std::string_view key, std::uint64_t known, std::int64_t by) const {
  return at_home(once_, scripts().add_home, key, {std::to_string(known), std::to_string(by)});
}

Call<Stored> Store::get(std::string_view key, std::uint16_t slot) const {
  std::string name = copy_name(key, slot);
  auto task = again_.command("GET", name);
  return {std::move(name), std::move(task), &read_get};
}

Call<Copy> Store::put(std::string_view key, std::uint16_t slot, std::uint64_t version,
                      std::int64_t expires, std::optional<std::string_view> value) const {
  return at_copy(again_, scripts().put, key, slot,
                 {std::to_string(version), std::to_string(value ? expires : -1), value ? "1" : "0",
                  value.value_or(std::string_view())});
}

Call<Copy> Store::look_copy(std::string_view key, std::uint16_t slot, bool with_value) const {
  return at_copy(again_, scripts().look_copy, key, slot, {with_value ? "1" : "0"});
}

Call<Copy> Store::open(std::string_view key, std::uint16_t slot, Kind kind,
                       std::uint64_t number) const {
  return at_copy(again_, scripts().open, key, slot,
                 {kind == Kind::counter ? "counter" : "value", std::to_string(number)});
}

Call<Copy> Store::remove(std::string_view key, std::uint16_t slot, std::uint64_t number) const {
  return at_copy(again_, scripts().remove, key, slot, {std::to_string(number)});
}

Call<Copy> Store::add(std::string_view key, std::uint16_t slot, std::int64_t by) const {
  return at_copy(once_, scripts().add, key, slot, {std::to_string(by)});
}

Call<Copy> Store::look_part(std::string_view key, std::uint16_t slot) const {
  return at_copy(again_, scripts().look_part, key, slot, {});
}

Call<Copy> Store::fold(std::string_view key, std::uint16_t slot, std::uint64_t number) const {
  return at_copy(again_, scripts().fold, key, slot, {std::to_string(number)});
}

Result<Stored> Store::read_stored(std::string_view key, std::uint16_t slot, std::string&& stored) {
  // No name is made for what nearly always succeeds: every read comes by here.
  Stored out;
  if (!take_version_off(stored, out.version))
    return stored_in(copy_name(key, slot), std::move(stored));
  out.value = std::move(stored);
  return out;
}

}  // namespace slotwise::hotkey
