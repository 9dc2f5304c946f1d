#include "resp/tree_builder.hpp"

#include <hiredis/read.h>
#include <locale.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/reply_access.hpp"
#include "resp/number.hpp"

namespace slotwise::resp {
namespace {

// The header of an aggregate must not make us allocate more than the bytes at hand can fill: an
// element takes 3 bytes at least. Nested ones could each claim the same bytes, so they get little.
constexpr std::size_t shortest_element = 3;
constexpr std::size_t nested_reserve = 64;

// hiredis reads a double with strtod before it shows it to us, and fails where the thread's locale
// writes a comma.
class InCLocale {
 public:
  InCLocale() noexcept : old_(uselocale(c_locale())) {}
  ~InCLocale() { uselocale(old_); }
  InCLocale(const InCLocale&) = delete;
  InCLocale& operator=(const InCLocale&) = delete;

 private:
  static locale_t c_locale() noexcept {
    static const locale_t c = newlocale(LC_ALL_MASK, "C", nullptr);
    return c;
  }
  locale_t old_;
};

Reply::Type type_of(int hiredis_type) noexcept {
  switch (hiredis_type) {
    case REDIS_REPLY_STATUS:
      return Reply::Type::status;
    case REDIS_REPLY_ERROR:
      return Reply::Type::error;
    case REDIS_REPLY_BIGNUM:
      return Reply::Type::big_number;
    case REDIS_REPLY_VERB:
      return Reply::Type::verbatim;
    case REDIS_REPLY_ARRAY:
      return Reply::Type::array;
    case REDIS_REPLY_MAP:
      return Reply::Type::map;
    case REDIS_REPLY_SET:
      return Reply::Type::set;
    case REDIS_REPLY_PUSH:
      return Reply::Type::push;
    default:
      return Reply::Type::string;
  }
}

}  // namespace

// The object functions. They return null for "stop", which hiredis takes for a lack of memory; no
// exception may pass through it, because it is C.
struct TreeBuilder::Functions {
  static TreeBuilder& self(const redisReadTask* task) noexcept {
    return *static_cast<TreeBuilder*>(task->privdata);
  }

  // Where the value of this task belongs.
  static Reply& place(const redisReadTask* task) {
    if (task->parent == nullptr) return self(task).root_;
    return ReplyAccess::elements(*static_cast<Reply*>(task->parent->obj)).emplace_back();
  }

  template <class F>
  static void* make(const redisReadTask* task, F&& fill) noexcept {
    try {
      Reply& reply = place(task);
      fill(reply);
      return &reply;
    } catch (...) {
      return nullptr;  // out of memory
    }
  }

  static void* string(const redisReadTask* task, char* data, size_t size) noexcept {
    return make(task, [&](Reply& reply) {
      if (Reply* text = std::exchange(self(task).stand_in_, nullptr)) {
        reply = std::move(*text);
      } else if (task->type == REDIS_REPLY_VERB) {  // hiredis has checked the "xxx:"
        ReplyAccess::set_text(reply, Reply::Type::verbatim, std::string_view(data + 4, size - 4));
        ReplyAccess::set_format(reply, data);
      } else {
        ReplyAccess::set_text(reply, type_of(task->type), std::string_view(data, size));
      }
    });
  }

  static void* array(const redisReadTask* task, size_t count) noexcept {
    TreeBuilder& builder = self(task);
    const redisReader& reader = *builder.reader_;
    if (reader.ridx >= builder.max_depth_) {
      builder.fault_ = "nesting deeper than the limit of " + std::to_string(builder.max_depth_) +
                       " levels (max_reply_depth)";
      return nullptr;
    }
    const std::size_t most =
        reader.ridx == 0 ? (reader.len - reader.pos) / shortest_element + 1 : nested_reserve;
    return make(task, [&](Reply& reply) {
      ReplyAccess::set_aggregate(reply, type_of(task->type)).reserve(std::min(count, most));
    });
  }

  static void* integer(const redisReadTask* task, long long value) noexcept {
    return make(task, [&](Reply& reply) {
      ReplyAccess::set<std::int64_t>(reply, Reply::Type::integer, value);
    });
  }

  static void* real(const redisReadTask* task, double value, char* text, size_t size) noexcept {
    return make(task, [&](Reply& reply) {
      ReplyAccess::set<double>(reply, Reply::Type::real,
                               parse_double(std::string_view(text, size)).value_or(value));
    });
  }

  static void* nil(const redisReadTask* task) noexcept {
    return make(task, [](Reply&) {});
  }

  static void* boolean(const redisReadTask* task, int value) noexcept {
    return make(task, [&](Reply& reply) {
      ReplyAccess::set<bool>(reply, Reply::Type::boolean, value != 0);
    });
  }

  static redisReplyObjectFunctions* table() noexcept {
    // Replies are part of the tree under root_, so there is nothing to free one by one.
    static redisReplyObjectFunctions functions{string, array, integer, real, nil, boolean, nullptr};
    return &functions;
  }
};

void TreeBuilder::FreeReader::operator()(redisReader* reader) const noexcept {
  redisReaderFree(reader);
}

bool TreeBuilder::feed(const char* data, std::size_t size) {
  if (!reader_) {
    reader_.reset(redisReaderCreateWithFunctions(Functions::table()));
    if (!reader_) throw std::bad_alloc();
    reader_->privdata = this;
  }
  const InCLocale guard;
  void* reply = nullptr;
  if (redisReaderFeed(reader_.get(), data, size) == REDIS_OK &&
      redisReaderGetReply(reader_.get(), &reply) == REDIS_OK) {
    done_ = reply != nullptr;
    return true;
  }
  if (fault_.empty()) {
    if (reader_->err == REDIS_ERR_OOM) throw std::bad_alloc();
    fault_ = reader_->errstr;
  }
  return false;
}

bool TreeBuilder::feed_text(Reply text) {
  static constexpr std::string_view empty_string = "$0\r\n\r\n";
  stand_in_ = &text;
  const bool ok = feed(empty_string.data(), empty_string.size());
  stand_in_ = nullptr;
  return ok;
}

void TreeBuilder::take(Reply& out) noexcept {
  out = std::move(root_);
  root_ = Reply();
  done_ = false;
}

void TreeBuilder::clear() noexcept {
  reader_.reset();
  done_ = false;
  root_ = Reply();
  fault_.clear();
}

}  // namespace slotwise::resp
