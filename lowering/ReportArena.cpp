// Draws an arena as text and as SVG.
#include "lowering/ReportArena.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llvm;

namespace mono {

static std::string summaryOf(const ArenaPlan &plan) {
  return formatv("LDS: {0} bytes used, at least {1} live together, {2} without overlay", plan.bytes,
                 plan.lowerBound, plan.withoutOverlay);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// A, B, ... Z, AA, AB, ...
static std::string letterOf(size_t index) {
  std::string text(1, 'A' + index % 26);
  return index < 26 ? text : letterOf(index / 26 - 1) + text;
}

/// The box that covers all of [from, to) in a stage; none if it is free.
static std::optional<size_t> boxAt(const ArenaPlan &plan, int64_t from, size_t stage) {
  for (auto [index, box] : enumerate(plan.boxes))
    if (box.offset <= from && from < box.offset + box.bytes && box.firstStage <= int64_t(stage) &&
        int64_t(stage) <= box.lastStage)
      return index;
  return std::nullopt;
}

/// What a stage has from byte `from` on: the letter of a region, scratch, or nothing.
static std::string cellAt(const ArenaPlan &plan, int64_t from, size_t stage) {
  std::optional<size_t> box = boxAt(plan, from, stage);
  if (!box)
    return ".";
  if (plan.boxes[*box].scratch)
    return "#";
  return letterOf(*box); // regions come first
}

/// The letters and what they mean.
static void writeLegend(raw_ostream &os, const ArenaPlan &plan) {
  size_t areas = 0;
  for (auto [index, box] : enumerate(plan.boxes)) {
    if (box.scratch)
      ++areas;
    else
      os << formatv("  {0} {1}: {2} bytes from {3}{4}\n", letterOf(index), box.name, box.bytes,
                    box.offset, box.pinned ? ", pinned" : "");
  }
  if (areas)
    os << formatv("  # scratch of ops, {0} area{1}: --report=svg and json have each\n", areas,
                  areas == 1 ? "" : "s");
}

std::string arenaText(const ArenaPlan &plan) {
  std::string text;
  raw_string_ostream os(text);
  os << summaryOf(plan) << '\n';
  if (plan.boxes.empty())
    return text;
  // Bytes between two edges look alike, and where neighbours do, too, the lowest stands for all.
  std::set<int64_t> edges;
  for (const ArenaPlan::Box &box : plan.boxes)
    edges.insert({box.offset, box.offset + box.bytes});
  edges.erase(std::prev(edges.end()));
  os << "  from byte";
  for (StringRef stage : plan.stages)
    os << "  " << stage;
  os << '\n';
  SmallVector<std::string> lines; // from low to high
  std::string below;
  for (int64_t from : edges) {
    std::string cells;
    raw_string_ostream cellsOs(cells);
    for (auto [stage, name] : enumerate(plan.stages))
      cellsOs << "  " << left_justify(cellAt(plan, from, stage), name.size());
    if (cells != below)
      lines.push_back(formatv("  {0,9}{1}\n", from, cells).str());
    below = cells;
  }
  for (const std::string &line : reverse(lines))
    os << line;
  writeLegend(os, plan);
  return text;
}

//===----------------------------------------------------------------------===//
// SVG
//===----------------------------------------------------------------------===//

static std::string escaped(StringRef text) {
  std::string result;
  for (char c : text)
    if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
      result += formatv("&#{0};", int(c)).str();
    else
      result += c;
  return result;
}

namespace {

/// Sizes in pixels.
constexpr int64_t kLeft = 80, kTop = 40, kStageWidth = 180, kHeight = 480, kBottom = 40, kLine = 16;

/// From arena and stages to the picture.
struct Scale {
  int64_t bytes; ///< of the whole height

  static int64_t x(int64_t stage) { return kLeft + stage * kStageWidth; }
  double y(int64_t byte) const { return kTop + kHeight - double(byte) * kHeight / double(bytes); }
};

void drawAxes(raw_ostream &os, const ArenaPlan &plan, const Scale &scale) {
  for (int tick = 0; tick <= 4; ++tick) {
    int64_t byte = scale.bytes * tick / 4;
    os << formatv("<line x1='{0}' y1='{1:f1}' x2='{2}' y2='{1:f1}' stroke='#ddd'/>\n", kLeft,
                  scale.y(byte), scale.x(plan.stages.size()));
    os << formatv("<text x='{0}' y='{1:f1}' text-anchor='end'>{2}</text>\n", kLeft - 8,
                  scale.y(byte) + 4, byte);
  }
  for (auto [stage, name] : enumerate(plan.stages))
    os << formatv("<text x='{0}' y='{1}' text-anchor='middle'>{2}</text>\n",
                  scale.x(stage) + kStageWidth / 2, kTop + kHeight + 20, escaped(name));
}

/// Golden angle: neighbours in the list get colours far apart.
std::string colourOf(size_t index) { return formatv("hsl({0},60%,80%)", index * 137 % 360); }

std::string labelOf(const ArenaPlan::Box &box) {
  return escaped(
      formatv("{0}, {1} bytes{2}", box.name, box.bytes, box.pinned ? ", pinned" : "").str());
}

void drawBox(raw_ostream &os, const ArenaPlan::Box &box, size_t index, const Scale &scale) {
  double top = scale.y(box.offset + box.bytes), height = scale.y(box.offset) - top;
  int64_t left = scale.x(box.firstStage), width = scale.x(box.lastStage + 1) - left;
  os << formatv("<rect x='{0}' y='{1:f1}' width='{2}' height='{3:f1}' fill='{4}' stroke='#333'/>\n",
                left + 2, top, width - 4, height, colourOf(index));
  if (height >= kLine)
    os << formatv("<text x='{0}' y='{1:f1}' text-anchor='middle'>{2}</text>\n", left + width / 2,
                  top + height / 2 + 4, labelOf(box));
}

/// All boxes by name: some are too thin to bear one.
void drawLegend(raw_ostream &os, const ArenaPlan &plan) {
  int64_t y = kTop + kHeight + kBottom;
  for (auto [index, box] : enumerate(plan.boxes)) {
    os << formatv("<rect x='{0}' y='{1}' width='10' height='10' fill='{2}' stroke='#333'/>\n",
                  kLeft, y, colourOf(index));
    os << formatv("<text x='{0}' y='{1}'>{2} from {3}</text>\n", kLeft + 16, y + 10, labelOf(box),
                  box.offset);
    y += kLine;
  }
}

} // namespace

std::string arenaSvg(const ArenaPlan &plan) {
  std::string text;
  raw_string_ostream os(text);
  Scale scale{std::max<int64_t>(plan.bytes, 1)};
  os << formatv("<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' "
                "font-family='sans-serif' font-size='11'>\n",
                scale.x(plan.stages.size()) + 20,
                kTop + kHeight + kBottom + kLine * plan.boxes.size());
  os << formatv("<text x='{0}' y='20' font-size='14'>{1}</text>\n", kLeft, summaryOf(plan));
  drawAxes(os, plan, scale);
  for (auto [index, box] : enumerate(plan.boxes))
    drawBox(os, box, index, scale);
  drawLegend(os, plan);
  os << "</svg>\n";
  return text;
}

} // namespace mono
