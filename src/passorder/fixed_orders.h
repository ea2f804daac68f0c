// Orders of passes that were found for many programs together, and are the same for each.
#pragma once

#include <string>
#include <vector>

#include "passorder/pass_session.h"

namespace hone::passorder {

// Those in the folder of the shipped policy, or in `models`/order where that has any (bench/pass_order/fixed_order.py found them on
// the training families). None where there is no such file. Throws Error (where = the file) for a file that is none, and for passes that
// this XLA does not have.
std::vector<std::vector<std::string>> shipped_orders(PassSession& session, const std::string& models = "");

// The same, but where those that come with hone do not fit there is a warning and none: another XLA may not have their passes.
std::vector<std::vector<std::string>> fitting_orders(PassSession& session, const std::string& models = "");

}  // namespace hone::passorder
