#include "cli/doctor/facts.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include <slotwise/slot.hpp>

namespace slotwise::cli {

namespace {

std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = take_until(text, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// "ip:port@bus,hostname,shard-id=...", where the ip may be IPv6 or missing.
void read_address(std::string_view text, Member& member) {
  std::string_view address = take_until(text, ',');
  member.hostname = take_until(text, ',');
  if (member.hostname.find('=') != std::string::npos) member.hostname.clear();
  address = address.substr(0, address.find('@'));
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return;
  member.ip = address.substr(0, colon);
  member.port = number_of<std::uint16_t>(address.substr(colon + 1)).value_or(0);
}

void read_slots(std::string_view text, Member& member) {
  while (!text.empty()) {
    std::string_view word = take_until(text, ' ');
    if (word.starts_with('[')) {
      ++member.open_slots;
      continue;
    }
    const auto first = number_of<int>(take_until(word, '-'));
    const auto last = word.empty() ? first : number_of<int>(word);
    if (first && last && *first >= 0 && *first <= *last && *last < slot_count) {
      member.slots.emplace_back(*first, *last);
    }
  }
}

}  // namespace

std::string Member::address() const {
  return Endpoint{hostname.empty() ? ip : hostname, port}.to_string();
}

std::string_view NodeFacts::field(std::string_view name) const {
  const auto found = info.find(name);
  return found == info.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::uint64_t> NodeFacts::number(std::string_view name) const {
  return number_of<std::uint64_t>(field(name));
}

std::optional<std::string> NodeFacts::setting(const std::string& name) const {
  const auto found = config.find(name);
  return found == config.end() ? std::nullopt : found->second.value;
}

std::string SentinelFacts::field(std::string_view name) const {
  const auto found = primary.find(name);
  return found == primary.end() ? std::string() : found->second;
}

std::uint64_t SentinelFacts::number(std::string_view name) const {
  return number_of<std::uint64_t>(field(name)).value_or(0);
}

std::string SentinelFacts::primary_address() const {
  const auto port = number_of<std::uint16_t>(field("port")).value_or(0);
  return Endpoint{field("ip"), port}.to_string();
}

std::map<std::string, std::string, std::less<>> parse_info(std::string_view text) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with('#')) continue;
    fields.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return fields;
}

std::vector<Member> parse_members(std::string_view text) {
  std::vector<Member> members;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    Member member;
    member.id = take_until(line, ' ');
    read_address(take_until(line, ' '), member);
    std::string_view flags = take_until(line, ' ');
    while (!flags.empty())
      member.flags.emplace(take_until(flags, ','));
    member.primary_id = take_until(line, ' ');
    if (member.primary_id == "-") member.primary_id.clear();
    for (int i = 0; i < 3; ++i)
      (void)take_until(line, ' ');  // ping, pong, epoch
    const std::string_view link = take_until(line, ' ');
    if (member.id.empty() || member.flags.empty() || link.empty()) continue;
    member.link_up = link == "connected";
    read_slots(line, member);
    members.push_back(std::move(member));
  }
  return members;
}

bool is_address(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

std::string_view part_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view part = take_until(text, ',');
    if (take_until(part, '=') == name) return part;
  }
  return {};
}

}  // namespace slotwise::cli
