#include "report/run_profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "tune/session/session.h"

namespace hone::report {

namespace {

constexpr std::array<std::string_view, 6> kLibraryOpcodes = {"dot", "convolution", "custom-call",
                                                             "fft", "sort",        "triangular-solve"};
constexpr char kLibraryFusion[] = "fusion of a library";

// Time of each slice without the slices inside it; the slices of a thread nest and are sorted by start.
std::vector<double> own_times(const std::vector<ProfileSlice>& slices) {
  std::vector<double> own;
  std::map<int, std::vector<size_t>> open;  // by thread: slices around the current one
  for (size_t i = 0; i < slices.size(); ++i) {
    const ProfileSlice& slice = slices[i];
    own.push_back(slice.duration_ns);
    std::vector<size_t>& around = open[slice.thread];
    while (!around.empty() && slices[around.back()].start_ns + slices[around.back()].duration_ns <= slice.start_ns)
      around.pop_back();
    if (!around.empty()) own[around.back()] -= slice.duration_ns;
    around.push_back(i);
  }
  return own;
}

std::string opcode_of(const Node& node) {
  return node.opcode == "fusion" && node.fusion_kind == "kCustom" ? kLibraryFusion : node.opcode;
}

bool is_library(const std::string& opcode) {
  return opcode == kLibraryFusion ||
         std::find(kLibraryOpcodes.begin(), kLibraryOpcodes.end(), opcode) != kLibraryOpcodes.end();
}

}  // namespace

RunProfile profile_runs(tune::Session& session, const Decisions& decisions, int runs) {
  RunProfile profile;
  profile.runs = runs;
  const wire::RunReplyT reply = session.profile(decisions, runs);
  if (!reply.times_ns.empty()) profile.run_ns = *std::min_element(reply.times_ns.begin(), reply.times_ns.end());
  for (const auto& event : reply.events)
    profile.slices.push_back({event->name, event->run, event->thread, event->start_ns, event->duration_ns});
  return profile;
}

std::vector<TimeShare> time_by_opcode(const RunProfile& profile, const HloGraph& lowered) {
  std::map<std::string_view, const Node*> nodes;
  for (const Node& node : lowered.nodes) nodes.emplace(node.name, &node);
  const std::vector<double> own = own_times(profile.slices);
  std::map<std::string, TimeShare> shares;
  std::set<std::string_view> seen;
  for (size_t i = 0; i < own.size(); ++i) {
    const std::string& name = profile.slices[i].name;
    const auto node = nodes.find(name);
    const std::string opcode = node == nodes.end() ? "other" : opcode_of(*node->second);
    TimeShare& share = shares[opcode];
    share.opcode = opcode;
    share.library = is_library(opcode);
    share.instructions += seen.insert(name).second;
    share.ns += std::max(0.0, own[i]) / std::max(1, profile.runs);
  }
  std::vector<TimeShare> sorted;
  for (auto& [opcode, share] : shares) sorted.push_back(std::move(share));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return sorted;
}

}  // namespace hone::report
