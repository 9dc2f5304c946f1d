#include <slotwise/detail/reply_store.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <utility>
#include <vector>

#include "base/reply_access.hpp"

using slotwise::Error;
using slotwise::ErrorCode;
using slotwise::Outcome;
using slotwise::Reply;
using slotwise::ReplyAccess;
using slotwise::ReplyView;
using slotwise::detail::ReplyStore;

namespace {

/// As the parser shows it.
ReplyView in_buffer(Reply::Type type, std::string_view text) {
  ReplyView view;
  ReplyAccess::show_text(view, type, text);
  return view;
}

}  // namespace

TEST_CASE("replies of every kind come out as they went in") {
  const std::string lengthy(5000, 'l');
  Reply array = Reply::make_aggregate(Reply::Type::array, {Reply::make_integer(1), Reply()});
  const Reply same = array;
  ReplyStore store;
  store.start(9);
  REQUIRE(store.size() == 9);

  ReplyView view = in_buffer(Reply::Type::string, "value");
  store.put(0, view);
  view = in_buffer(Reply::Type::status, "OK");
  store.put(1, view);
  view = in_buffer(Reply::Type::string, lengthy);
  store.put(2, view);
  view = ReplyView(array);
  store.put(3, view);
  view = ReplyView();
  ReplyAccess::show_integer(view, Reply::Type::integer, -7);
  store.put(4, view);
  view = ReplyView();
  ReplyAccess::show_integer(view, Reply::Type::boolean, 1);
  store.put(5, view);
  view = ReplyView();
  ReplyAccess::show_real(view, 2.5);
  store.put(6, view);
  view = in_buffer(Reply::Type::string, "");
  store.put(7, view);

  const std::vector<Reply> expected = {Reply::make_text(Reply::Type::string, "value"),
                                       Reply::make_text(Reply::Type::status, "OK"),
                                       Reply::make_text(Reply::Type::string, lengthy),
                                       same,
                                       Reply::make_integer(-7),
                                       Reply::make_boolean(true),
                                       Reply::make_real(2.5),
                                       Reply::make_text(Reply::Type::string, ""),
                                       Reply()};
  SECTION("as wholes, twice the same") {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(*store.at(i) == expected[i]);
      CHECK(&store.at(i) == &store.at(i));
    }
  }
  SECTION("as views") {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(store.error(i) == nullptr);
      CHECK(store.view(i).type() == expected[i].type());
      CHECK(store.view(i).text() == expected[i].text());
      CHECK(store.view(i).take() == expected[i]);
    }
  }
}

TEST_CASE("an error stands in its place, and may be replaced") {
  ReplyStore store;
  store.start(2);
  store.put(1, Error(ErrorCode::timeout, Outcome::unknown, "late"));
  CHECK(store.error(0) == nullptr);
  REQUIRE(store.error(1) != nullptr);
  CHECK(store.error(1)->code() == ErrorCode::timeout);
  CHECK(store.at(1).error().code() == ErrorCode::timeout);
  store.put(1, Reply::make_integer(3));
  CHECK(store.error(1) == nullptr);
  CHECK(store.at(1)->integer() == 3);
  store.start(1);
  CHECK(store.size() == 1);
  CHECK(store.at(0)->is_nil());
}
