#include <slotwise/detail/reply_store.hpp>

#include <utility>

#include "base/reply_access.hpp"

namespace slotwise::detail {
namespace {

// A longer text is copied once only, into a string of its own.
constexpr std::size_t longest_among_others = 1024;

}  // namespace

void ReplyStore::start(std::size_t count, std::size_t texts) {
  entries_.assign(count, Entry());
  texts_.clear();
  texts_.reserve(texts);
  whole_.clear();
}

void ReplyStore::put(std::size_t i, ReplyView& reply) {
  using enum Reply::Type;
  Entry& entry = entries_[i];
  entry.type = reply.type();
  switch (reply.type()) {
    case string:
    case status:
    case big_number:
      if (!reply.in_buffer() || reply.text().size() > longest_among_others) break;
      entry.kind = Kind::text;
      entry.size = static_cast<std::uint32_t>(reply.text().size());
      entry.place = texts_.size();
      texts_.append(reply.text());
      return;
    case integer:
      entry.kind = Kind::scalar;
      entry.place = static_cast<std::uint64_t>(reply.integer());
      return;
    case nil:
      entry.kind = Kind::scalar;
      return;
    default:
      break;
  }
  put(i, reply.take());
}

void ReplyStore::put(std::size_t i, Result<Reply>&& result) {
  Entry& entry = entries_[i];
  if (entry.kind == Kind::whole) {
    *whole_[entry.place] = std::move(result);
    return;
  }
  whole_.push_back(std::make_unique<Result<Reply>>(std::move(result)));
  entry.kind = Kind::whole;
  entry.place = whole_.size() - 1;
}

ReplyView ReplyStore::view(std::size_t i) noexcept {
  const Entry& entry = entries_[i];
  if (entry.kind == Kind::whole) return ReplyView(**whole_[entry.place]);
  ReplyView view;
  if (entry.kind == Kind::text) {
    ReplyAccess::show_text(view, entry.type, {texts_.data() + entry.place, entry.size});
  } else if (entry.type == Reply::Type::integer) {
    ReplyAccess::show_integer(view, entry.type, static_cast<std::int64_t>(entry.place));
  }
  return view;
}

const Result<Reply>& ReplyStore::at(std::size_t i) {
  if (entries_[i].kind != Kind::whole) put(i, view(i).take());
  return *whole_[entries_[i].place];
}

}  // namespace slotwise::detail
