// Draws the tasks of a schedule over time: a lane for each stream, an arrow from each record to the
// waits for it.
#include <algorithm>
#include <map>
#include <tuple>

#include "common/base/count_text.h"
#include "common/base/files.h"
#include "common/base/json.h"
#include "common/base/readable_text.h"
#include "common/target/resolve_profile.h"
#include "common/target/task_cost.h"
#include "common/tools/show.h"
#include "common/tools/svg.h"

namespace sluice {
namespace {

constexpr double kLabel = 110, kLane = 36, kBar = 24, kLaneGap = 40;
constexpr double kMinLabelled = 40;  // the width of a bar that has its node's name

struct Span {
  double begin = 0, end = 0;
};

// The times of a part's tasks, as a trace has them: by their number in the compiled model, in which
// waits and records count.
using TracedTasks = std::map<uint32_t, Span>;

// A task with its place.
struct DrawnTask {
  const Node* node;
  uint32_t number;  // in the compiled model
  Span span;
};

class Timeline {
 public:
  Timeline(const Graph& graph, const DeviceProfile& profile) : graph_(graph) {
    uint32_t number = 0;
    for (const Node& node : graph.nodes()) {
      if (node.placement.no_task) continue;
      number += static_cast<uint32_t>(node.placement.waits.size());
      tasks_.push_back({&node, number, {0, estimate_task(node, profile).cycles / 1000}});
      number += 1 + static_cast<uint32_t>(node.placement.records.size());
    }
    find_events();
    estimate();
  }

  // The tasks' numbers in the compiled model, ascending.
  std::vector<uint32_t> numbers() const {
    std::vector<uint32_t> numbers;
    for (const DrawnTask& task : tasks_) numbers.push_back(task.number);
    return numbers;
  }
  bool has_task(uint32_t number) const {
    return std::ranges::binary_search(tasks_, number, {}, &DrawnTask::number);
  }

  // Takes the times of a run, which has all tasks, in place of the estimates.
  void measure(const TracedTasks& traced) {
    is_measured_ = true;
    end_ = 0;
    for (DrawnTask& task : tasks_) {
      task.span = traced.at(task.number);
      end_ = std::max(end_, task.span.end);
    }
  }

  double height() const { return kLaneGap + kLane * static_cast<double>(graph_.streams.size()); }

  // Returns the picture below `top`.
  std::string svg(double top) const {
    std::string text = fmt::format(
        "<text x=\"{}\" y=\"{:.1f}\">{}: {}, {:.1f} {}</text>\n", kPictureMargin, top - 12,
        xml_escaped(readable_text(graph_.name())), count_text(tasks_.size(), "task"), end_,
        is_measured_ ? "µs, measured" : "thousand cycles, estimated: each task by one thread");
    for (size_t stream = 0; stream < graph_.streams.size(); ++stream) text += lane(stream, top);
    for (const DrawnTask& task : tasks_) text += bar(task, top);
    for (const auto& [from, to] : arrows_) text += arrow(tasks_[from], tasks_[to], top);
    return text;
  }

 private:
  void find_events() {
    std::map<uint32_t, std::vector<size_t>> recorded;  // tasks, by event
    for (size_t task = 0; task < tasks_.size(); ++task) {
      const Placement& placement = tasks_[task].node->placement;
      for (const EventWait& wait : placement.waits) {
        const std::vector<size_t>& records = recorded[wait.event];
        if (wait.record > 0 && wait.record <= records.size())
          arrows_.emplace_back(records[wait.record - 1], task);
      }
      for (const uint32_t event : placement.records) recorded[event].push_back(task);
    }
  }

  // Each task begins when the one before it in its stream is done, and those that it waits for.
  void estimate() {
    std::vector<double> free(graph_.streams.size(), 0);
    size_t arrow = 0;  // these are in the order of the tasks that wait
    for (size_t task = 0; task < tasks_.size(); ++task) {
      const size_t stream = stream_of(tasks_[task]);
      double begin = free[stream];
      for (; arrow < arrows_.size() && arrows_[arrow].second == task; ++arrow)
        begin = std::max(begin, tasks_[arrows_[arrow].first].span.end);
      tasks_[task].span = {begin, begin + tasks_[task].span.end};
      free[stream] = tasks_[task].span.end;
      end_ = std::max(end_, free[stream]);
    }
  }

  size_t stream_of(const DrawnTask& task) const {
    const auto last = static_cast<int32_t>(graph_.streams.size()) - 1;
    return static_cast<size_t>(std::clamp(task.node->placement.stream, 0, last));
  }

  double x_of(double time) const {
    return kPictureMargin + kLabel + time / std::max(end_, 1e-9) * (kPictureWidth - kLabel);
  }
  static double y_of(size_t stream, double top) {
    return top + kLane * static_cast<double>(stream);
  }

  std::string lane(size_t stream, double top) const {
    const double y = y_of(stream, top);
    return fmt::format(
        "<text x=\"{}\" y=\"{:.1f}\">{}</text>\n<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" "
        "y2=\"{:.1f}\" class=\"lane\"/>\n",
        kPictureMargin, y + kBar / 2 + 4, xml_escaped(readable_text(graph_.streams[stream])),
        kPictureMargin + kLabel, kPictureMargin + kPictureWidth, y + kBar / 2, y + kBar / 2);
  }

  std::string bar(const DrawnTask& task, double top) const {
    const double x = x_of(task.span.begin), y = y_of(stream_of(task), top);
    const double width = std::max(x_of(task.span.end) - x, 0.5);
    const std::string name = xml_escaped(readable_text(task.node->label()));
    std::string text = fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"hsl({}, 55%, "
        "78%)\"><title>{}\ntask {} on {}, {:.2f} to {:.2f}</title></rect>\n",
        x, y, width, kBar, static_cast<int>(task.node->op()) * 47 % 360, name, task.number,
        engine_name(task.node->placement.engine), task.span.begin, task.span.end);
    if (width < kMinLabelled) return text;
    return text + fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" class=\"name\">{}</text>\n", x + 3,
                              y + kBar / 2 + 4, xml_escaped(short_name(*task.node, width)));
  }

  // Returns the end of the node's name that has room: what differs is there.
  static std::string short_name(const Node& node, double width) {
    const std::string name =
        readable_text(node.name().empty() ? std::string(op_name(node.op())) : node.name());
    const auto letters = static_cast<size_t>(width / 7.5);
    if (name.size() <= letters) return name;
    size_t begin = name.size() - letters + 2;
    while (begin < name.size() && (name[begin] & 0xc0) == 0x80) ++begin;  // within a letter
    return "…" + name.substr(begin);
  }

  std::string arrow(const DrawnTask& from, const DrawnTask& to, double top) const {
    const double middle = kBar / 2;
    return fmt::format(
        "<line x1=\"{:.2f}\" y1=\"{:.1f}\" x2=\"{:.2f}\" y2=\"{:.1f}\" class=\"wait\"/>\n",
        x_of(from.span.end), y_of(stream_of(from), top) + middle, x_of(to.span.begin),
        y_of(stream_of(to), top) + middle);
  }

  const Graph& graph_;
  bool is_measured_ = false;  // otherwise times are estimated
  std::vector<DrawnTask> tasks_;
  std::vector<std::pair<size_t, size_t>> arrows_;  // records and waits, by the tasks' places
  double end_ = 0;
};

// Reads the times of a trace, by the part of each task.
class TraceReader {
 public:
  TraceReader(const std::string& path, const std::vector<Timeline>& timelines)
      : path_(path), timelines_(timelines), traced_(timelines.size()) {}

  // Error: kBadFile for a file that is no trace, or that of another model.
  Result<std::vector<TracedTasks>> read() {
    SLUICE_ASSIGN(const std::string text, read_text(path_));
    const auto json = json_parse(text);
    if (!json) return refuse(json.error().message);
    const Json* events = json->find("traceEvents");
    if (events == nullptr || events->as_array() == nullptr) return refuse("it has no traceEvents");
    for (const Json& event : *events->as_array()) SLUICE_TRY(read_event(event));
    for (size_t part = 0; part < timelines_.size(); ++part) {
      for (const uint32_t task : timelines_[part].numbers()) {
        if (traced_[part].contains(task)) continue;
        return refuse(fmt::format("it has no times of task {} of part {}", task, part));
      }
    }
    return std::move(traced_);
  }

 private:
  Result<void> read_event(const Json& event) {
    const Json* args = event.find("args");
    const Json *part = nullptr, *task = nullptr;
    if (args != nullptr) std::tie(part, task) = std::tuple(args->find("part"), args->find("task"));
    const Json *begin = event.find("ts"), *length = event.find("dur");
    if (part == nullptr || task == nullptr || begin == nullptr || length == nullptr) return {};
    constexpr double kLongest = 1e15;  // µs
    const auto is_time = [](const Json& json) {
      return json.number() && *json.number() >= 0 && *json.number() < kLongest;
    };
    if (!part->as_int() || !task->as_int() || !is_time(*begin) || !is_time(*length))
      return refuse("part, task, ts or dur of an event is no number that a run can have");
    const int64_t number = *task->as_int();
    if (*part->as_int() < 0 || *part->as_int() >= std::ssize(timelines_))
      return refuse(fmt::format("it has part {}, the graph {}", *part->as_int(),
                                count_text(timelines_.size(), "part")));
    const auto index = static_cast<size_t>(*part->as_int());
    if (number < 0 || number > UINT32_MAX ||
        !timelines_[index].has_task(static_cast<uint32_t>(number)))
      return refuse(fmt::format("it has task {} of part {}, the graph has not", number, index));
    traced_[index][static_cast<uint32_t>(number)] = {*begin->number(),
                                                     *begin->number() + *length->number()};
    return {};
  }

  Error refuse(const std::string& what) const {
    return make_error(ErrorCode::kBadFile, "trace '{}': {}", path_, what)
        .with_hint(
            "sluice run MODEL.om --random --trace FILE writes that of a model of this graph");
  }

  const std::string& path_;
  const std::vector<Timeline>& timelines_;
  std::vector<TracedTasks> traced_;  // by part
};

}  // namespace

Result<std::string> timeline_svg(const Module& module, const std::string& trace) {
  SLUICE_ASSIGN(const std::vector<const Graph*> graphs, graphs_with_schedule(module, "schedule"));
  SLUICE_ASSIGN(const DeviceProfile profile, profile_of(module));
  std::vector<Timeline> timelines;
  for (const Graph* graph : graphs) timelines.emplace_back(*graph, profile);
  if (!trace.empty()) {
    SLUICE_ASSIGN(const std::vector<TracedTasks> traced, TraceReader(trace, timelines).read());
    for (size_t part = 0; part < timelines.size(); ++part) timelines[part].measure(traced[part]);
  }
  std::string pictures;
  double top = kPictureMargin;
  for (const Timeline& timeline : timelines) {
    pictures += timeline.svg(top);
    top += timeline.height();
  }
  return svg_file(kPictureWidth + 2 * kPictureMargin, top + kPictureMargin,
                  "rect { stroke: #555; stroke-width: 0.5 } .lane { stroke: #ccc } .wait { stroke: "
                  "#c33; marker-end: url(#head) } .name { font-size: 10px }",
                  "<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" "
                  "refY=\"3\" orient=\"auto\"><path d=\"M0,0 L7,3 L0,6 z\" fill=\"#c33\"/>"
                  "</marker></defs>\n" +
                      pictures);
}

}  // namespace sluice
