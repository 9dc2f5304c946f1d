#include "support/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace slotwise::bench {

namespace {

constexpr std::array<std::string_view, 5> colours = {"#0b6", "#c33", "#36c", "#a60", "#82a"};
constexpr std::string_view grey = "#999";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

/// A logarithmic axis between two places on the paper.
class Axis {
 public:
  Axis(double low, double high, double from, double to)
      : low_(std::log(low)), scale_((to - from) / (std::log(high) - std::log(low))), from_(from) {}
  double operator()(double value) const { return from_ + (std::log(value) - low_) * scale_; }

 private:
  double low_;
  double scale_;
  double from_;
};

class Drawing {
 public:
  Drawing(double width, double height, const std::string& title, const std::string& subtitle) {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    text(12, 20, title, "start", "font-weight=\"bold\" font-size=\"14\"");
    text(12, 38, subtitle, "start", "fill=\"#555\"");
  }
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1) {
    out_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:.1f}\"/>\n",
        x1, y1, x2, y2, colour, width);
  }
  void dot(double x, double y, std::string_view colour, double radius = 4) {
    out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"/>\n", x, y,
                        radius, colour);
  }
  void text(double x, double y, std::string_view words, std::string_view anchor,
            std::string_view more = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y,
                        anchor, more, escaped(words));
  }
  std::string finished() const { return out_ + "</svg>\n"; }

 private:
  std::string out_;
};

/// 1, 2, 5, 10, 20, ... as far as they lie in the range.
std::vector<double> round_numbers(double low, double high) {
  std::vector<double> numbers;
  for (double ten = std::pow(10, std::floor(std::log10(low))); ten <= high; ten *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (ten * factor >= low && ten * factor <= high) numbers.push_back(ten * factor);
    }
  }
  return numbers;
}

std::string short_number(double number) {
  if (number >= 1e6) return fmt::format("{:g} M", number / 1e6);
  if (number >= 1e3) return fmt::format("{:g} k", number / 1e3);
  return fmt::format("{:g}", number);
}

void draw(Drawing& drawing, const LineChart& chart, double top) {
  constexpr double left = 70, right = 640, height = 300;
  double x_low = 1e300, x_high = 0, y_low = 1e300, y_high = 0;
  for (const auto& curve : chart.curves) {
    for (const auto& [x, y] : curve.points) {
      x_low = std::min(x_low, x);
      x_high = std::max(x_high, x);
      y_low = std::min(y_low, y);
      y_high = std::max(y_high, y);
    }
  }
  if (x_high <= x_low || y_low <= 0) return;
  y_low /= 1.2;
  y_high *= 1.2;
  const Axis across(x_low, x_high, left, right);
  const Axis up(y_low, y_high, top + 20 + height, top + 20);
  drawing.text(left, top + 8, chart.title, "start", "font-weight=\"bold\"");
  for (const double y : round_numbers(y_low, y_high)) {
    drawing.line(left, up(y), right, up(y), "#ddd");
    drawing.text(left - 6, up(y) + 4, short_number(y), "end");
  }
  for (const auto& [x, y] : chart.curves.front().points) {
    drawing.line(across(x), top + 20, across(x), top + 20 + height, "#eee");
    drawing.text(across(x), top + height + 36, fmt::format("{:g}", x), "middle");
  }
  drawing.text((left + right) / 2, top + height + 54, chart.x_name, "middle");
  drawing.text(right, top + 8, chart.y_name, "end", "fill=\"#555\"");
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const auto& curve = chart.curves[i];
    const auto colour = colours.at(i % colours.size());
    for (std::size_t p = 0; p < curve.points.size(); ++p) {
      const auto [x, y] = curve.points[p];
      if (p > 0) {
        const auto [x0, y0] = curve.points[p - 1];
        drawing.line(across(x0), up(y0), across(x), up(y), colour, 2);
      }
      drawing.dot(across(x), up(y), colour, 3);
    }
    const double y = top + 40 + 18 * static_cast<double>(i);
    drawing.line(right + 16, y - 4, right + 36, y - 4, colour, 2);
    drawing.text(right + 42, y, curve.name, "start");
  }
}

}  // namespace

std::string ratio_chart(const std::string& title, const std::string& subtitle,
                        const std::vector<RatioMark>& marks) {
  constexpr double left = 400, right = 900, row = 24, top = 80;
  double low = 0.5, high = 2;
  for (const auto& mark : marks) {
    if (mark.ratio.low > 0) low = std::min(low, mark.ratio.low);
    high = std::max({high, mark.ratio.high, mark.bar});
  }
  low /= 1.1;
  high *= 1.1;
  const double bottom = top + row * static_cast<double>(marks.size());
  Drawing drawing(right + 110, bottom + 20, title, subtitle);
  const Axis across(low, high, left, right);
  for (const double x : round_numbers(low, high)) {
    drawing.line(across(x), top - 6, across(x), bottom, x == 1 ? grey : "#ddd");
    drawing.text(across(x), top - 12, short_number(x), "middle");
  }
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const auto& mark = marks[i];
    const double y = top + row * (static_cast<double>(i) + 0.5);
    drawing.text(left - 12, y + 4, mark.label, "end");
    if (mark.ratio.low <= 0) continue;
    const bool is_short = mark.bar > 0 && mark.ratio.of_medians < mark.bar;
    const auto colour = mark.bar <= 0 ? grey : colours.at(is_short ? 1 : 0);
    drawing.line(across(mark.ratio.low), y, across(mark.ratio.high), y, colour, 3);
    drawing.dot(across(mark.ratio.of_medians), y, colour, 5);
    if (mark.bar > 0) drawing.line(across(mark.bar), y - 9, across(mark.bar), y + 9, "black", 2);
    drawing.text(right + 10, y + 4,
                 fmt::format("{:.2f}{}", mark.ratio.of_medians, is_short ? " SHORT" : ""), "start");
  }
  return drawing.finished();
}

std::string line_charts(const std::string& title, const std::string& subtitle,
                        const std::vector<LineChart>& charts) {
  constexpr double one = 400, top = 70;
  Drawing drawing(880, top + one * static_cast<double>(charts.size()), title, subtitle);
  for (std::size_t i = 0; i < charts.size(); ++i)
    draw(drawing, charts[i], top + one * static_cast<double>(i));
  return drawing.finished();
}

}  // namespace slotwise::bench
