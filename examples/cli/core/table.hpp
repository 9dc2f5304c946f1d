// Aligned columns in plain ASCII.
//
// Thread rule: plain values; use one from one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace slotwise::cli {

enum class Align : bool { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  std::size_t width = 0;  ///< at least this wide
};

/// A table that is printed when it is complete: each column is as wide as its widest cell.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Missing cells are empty.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const noexcept { return rows_.empty(); }
  /// Title line, then the rows, each ending with '\n' and without blanks at its end.
  std::string to_string(std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// One line of a table that grows while one looks at it: columns have the width of their title or
/// `width`; a wider cell pushes the rest to the right rather than being cut.
std::string table_row(const std::vector<Column>& columns, const std::vector<std::string>& cells);
std::string table_head(const std::vector<Column>& columns);

}  // namespace slotwise::cli
