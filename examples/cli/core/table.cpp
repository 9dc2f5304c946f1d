#include "cli/core/table.hpp"

#include <algorithm>

namespace slotwise::cli {

namespace {

constexpr std::string_view gap = "  ";

/// Columns of text as a terminal shows it: continuation bytes of UTF-8 take no room.
std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::size_t width_of(const Column& column) {
  return std::max(column.width, shown_width(column.title));
}

void append_row(std::string& out, const std::vector<Column>& columns,
                const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  const std::size_t start = out.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string_view cell = i < cells.size() ? std::string_view(cells[i]) : "";
    const std::size_t width = shown_width(cell);
    const std::size_t pad = widths[i] > width ? widths[i] - width : 0;
    if (i != 0) out += gap;
    if (columns[i].align == Align::right) out.append(pad, ' ');
    out += cell;
    if (columns[i].align == Align::left) out.append(pad, ' ');
  }
  while (out.size() > start && out.back() == ' ')
    out.pop_back();
}

std::vector<std::string> titles(const std::vector<Column>& columns) {
  std::vector<std::string> out;
  for (const Column& column : columns)
    out.push_back(column.title);
  return out;
}

}  // namespace

std::string Table::to_string(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i]);
    for (const auto& row : rows_) {
      if (i < row.size()) width = std::max(width, shown_width(row[i]));
    }
    widths.push_back(width);
  }
  std::string out(indent);
  append_row(out, columns_, titles(columns_), widths);
  out += '\n';
  for (const auto& row : rows_) {
    out += indent;
    append_row(out, columns_, row, widths);
    out += '\n';
  }
  return out;
}

std::string table_row(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
  std::vector<std::size_t> widths;
  for (const Column& column : columns)
    widths.push_back(width_of(column));
  std::string out;
  append_row(out, columns, cells, widths);
  return out;
}

std::string table_head(const std::vector<Column>& columns) {
  return table_row(columns, titles(columns));
}

}  // namespace slotwise::cli
