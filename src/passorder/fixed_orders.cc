#include "passorder/fixed_orders.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/log.h"
#include "cost/shipped.h"

namespace hone::passorder {

std::vector<std::vector<std::string>> shipped_orders(PassSession& session, const std::string& models) {
  const std::string path = cost::shipped_model("order/orders.json", models);
  if (path.empty()) return {};
  std::vector<std::vector<std::string>> orders;
  try {
    const nlohmann::json file = nlohmann::json::parse(shallow_json(read_file(path)));
    for (const nlohmann::json& order : file.at("orders"))
      orders.push_back(order.at("passes").get<std::vector<std::string>>());
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("no file of orders: ") + e.what(), path);
  }
  for (const auto& order : orders)
    for (const std::string& pass : order) session.check_pass(pass);
  return orders;
}

std::vector<std::vector<std::string>> fitting_orders(PassSession& session, const std::string& models) {
  try {
    return shipped_orders(session, models);
  } catch (const Error& failed) {
    if (!models.empty()) throw;
    spdlog::warn("without the orders that come with hone: {}", failed.what());
    return {};
  }
}

}  // namespace hone::passorder
