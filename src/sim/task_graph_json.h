// Task graphs, topologies and plans as JSON, to exchange them with the learning library. Stored by column, since graphs have
// tens of thousands of operations.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/decisions.h"
#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

nlohmann::json graph_to_json(const sim::TaskGraph& graph);
nlohmann::json topology_to_json(const sim::Topology& topology);
nlohmann::json plan_to_json(const sim::Plan& plan);

// Throw Error for members that are missing, of a wrong type or of different lengths. Returns sorted graphs.
sim::TaskGraph graph_from_json(const nlohmann::json& json);
sim::Topology topology_from_json(const nlohmann::json& json);
sim::Plan plan_from_json(const nlohmann::json& json);

}  // namespace hone::sim
