// The graphs and instances that the program has handles of.
#include "runtime/emulator/hip/Graph.h"

#include <algorithm>

namespace mono::hipemu {

namespace {
/// Graphs and instances that are alive.
struct Handles {
  std::mutex lock;
  std::set<std::unique_ptr<Graph>> graphs;
  std::set<std::unique_ptr<GraphExec>> execs;
};
} // namespace

static Handles &handles() {
  static auto *instance = new Handles;
  return *instance;
}

static bool containsDeep(const Graph &graph, const Graph *wanted) {
  return &graph == wanted ||
         std::any_of(graph.children.begin(), graph.children.end(),
                     [&](const auto &child) { return containsDeep(*child, wanted); });
}

bool isLive(const Graph *graph) {
  std::lock_guard guard(handles().lock);
  return std::any_of(handles().graphs.begin(), handles().graphs.end(),
                     [&](const auto &known) { return containsDeep(*known, graph); });
}

bool isLive(const GraphExec *exec) {
  std::lock_guard guard(handles().lock);
  return std::any_of(handles().execs.begin(), handles().execs.end(),
                     [&](const auto &known) { return known.get() == exec; });
}

static bool ownsDeep(const Graph &graph, const GraphNode *node) {
  return graph.owns(node) || std::any_of(graph.children.begin(), graph.children.end(),
                                         [&](const auto &child) { return ownsDeep(*child, node); });
}

bool isLive(const GraphNode *node) {
  std::lock_guard guard(handles().lock);
  return std::any_of(handles().graphs.begin(), handles().graphs.end(),
                     [&](const auto &graph) { return ownsDeep(*graph, node); });
}

Graph *keep(std::unique_ptr<Graph> graph) {
  std::lock_guard guard(handles().lock);
  return handles().graphs.insert(std::move(graph)).first->get();
}

bool destroy(const Graph *graph) {
  std::lock_guard guard(handles().lock);
  return std::erase_if(handles().graphs, [&](const auto &g) { return g.get() == graph; }) != 0;
}

GraphExec *keep(std::unique_ptr<GraphExec> exec) {
  std::lock_guard guard(handles().lock);
  return handles().execs.insert(std::move(exec)).first->get();
}

bool destroy(const GraphExec *exec) {
  std::lock_guard guard(handles().lock);
  return std::erase_if(handles().execs, [&](const auto &e) { return e.get() == exec; }) != 0;
}

} // namespace mono::hipemu
