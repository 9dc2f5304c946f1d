#include "cli/core/table.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace slotwise::cli;

TEST_CASE("columns are as wide as their widest cell and lines have no blanks at their end") {
  Table table({{"NAME"}, {"COUNT", Align::right}, {"STATE"}});
  table.add({"a", "1", "ok"});
  table.add({"longer", "12,345", ""});
  table.add({"b"});
  CHECK(table.to_string("  ") ==
        "  NAME     COUNT  STATE\n"
        "  a            1  ok\n"
        "  longer  12,345\n"
        "  b\n");
}

TEST_CASE("names outside ASCII count as they are shown") {
  Table table({{"NAME"}, {"X"}});
  table.add({"\xc3\xa4", "1"});
  CHECK(table.to_string() == "NAME  X\n\xc3\xa4     1\n");
}

TEST_CASE("rows of a growing table keep their columns") {
  const std::vector<Column> columns{{"second", Align::right}, {"acked", Align::right, 8}};
  CHECK(table_head(columns) == "second     acked");
  CHECK(table_row(columns, {"1", "12,345"}) == "     1    12,345");
  CHECK(table_row(columns, {"1", "1,234,567,890"}) == "     1  1,234,567,890");
}
