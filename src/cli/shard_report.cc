#include "cli/shard_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/interrupt.h"
#include "base/text.h"

namespace hone::cli {

namespace {

using nlohmann::json;
using sharding::RatioTo;
using sharding::ShardEstimate;
using sharding::Spec;

struct Exchange {
  double count = 0, bytes = 0;
};

std::map<std::string, Exchange> exchanges(const ShardEstimate& estimate) {
  std::map<std::string, Exchange> out;
  for (const sharding::Collective& c : estimate.collectives) {
    if (c.bytes == 0) continue;
    out[c.kind].count += c.runs;
    out[c.kind].bytes += c.runs * c.bytes;
  }
  return out;
}

json ratio_json(const RatioTo& ratio) {
  return ratio.ratio > 0 ? json{{"ratio", ratio.ratio}, {"interval", {ratio.low, ratio.high}}} : json(nullptr);
}

json estimate_json(const ShardEstimate& e) {
  json collectives = json::object();
  for (const auto& [kind, exchange] : exchanges(e))
    collectives[kind] = {{"count", exchange.count}, {"bytes", exchange.bytes}};
  return {{"valid", e.valid},
          {"note", e.error},
          {"seconds", e.valid ? json(e.seconds) : json(nullptr)},
          {"kernel_seconds", e.kernel_seconds},
          {"moved_seconds", e.moved_seconds},
          {"collective_seconds", e.collective_seconds},
          {"peak_bytes", e.peak_bytes},
          {"collectives", collectives}};
}

json spec_json(const sharding::Mesh& mesh, const Spec& spec) {
  json out = json::array();
  for (const auto& axes : spec) {
    json names = json::array();
    for (int axis : axes) names.push_back(mesh.axis_name(axis));
    out.push_back(axes.empty() ? json(nullptr) : axes.size() == 1 ? names[0] : names);
  }
  return out;
}

// Of an argument under the answer.
Spec spec_of(const ShardAnswer& answer, const sharding::Argument& argument) {
  const int subject = answer.space.subject_of_argument(argument.group);
  if (subject < 0) return Spec(argument.dims.size());
  return answer.space.spec(subject, answer.taken().choice);
}

json arguments_json(const ShardAnswer& answer) {
  json out = json::array();
  for (const sharding::Argument& a : answer.space.program.arguments) {
    const Spec spec = spec_of(answer, a);
    out.push_back({{"number", a.number},
                   {"name", a.name},
                   {"shape", a.dims},
                   {"role", sharding::role_name(a.role)},
                   {"group", a.group},
                   {"spec", spec_json(answer.space.mesh, spec)},
                   {"sharding", sharding::hlo_sharding(answer.space.mesh, spec)}});
  }
  return out;
}

json products_json(const ShardAnswer& answer) {
  json out = json::array();
  const Choice& choice = answer.taken().choice;
  for (size_t s = 0; s < answer.space.subjects.size(); ++s) {
    const sharding::Subject& subject = answer.space.subjects[s];
    if (!subject.product || choice[s] == 0) continue;
    const Spec& spec = answer.space.spec(s, choice);
    for (int member : subject.members)
      out.push_back({{"name", answer.space.program.products[member].name},
                     {"spec", spec_json(answer.space.mesh, spec)},
                     {"sharding", sharding::hlo_sharding(answer.space.mesh, spec)}});
  }
  return out;
}

std::string exchange_text(const ShardEstimate& estimate) {
  std::string out;
  for (const auto& [kind, exchange] : exchanges(estimate))
    out += fmt::format("{}{} {} ({})", out.empty() ? "" : ", ", exchange.count, kind, human_bytes(exchange.bytes));
  return out.empty() ? "none" : out;
}

void print_specs(const ShardAnswer& answer) {
  std::map<int, std::vector<const sharding::Argument*>> groups;
  for (const sharding::Argument& a : answer.space.program.arguments) groups[a.group].push_back(&a);
  fmt::print("\n  in_shardings, by argument (what is not listed: PartitionSpec())\n");
  for (const auto& [group, members] : groups) {
    const Spec spec = spec_of(answer, *members[0]);
    if (sharding::is_replicated(spec)) continue;
    std::vector<int> numbers;
    for (const auto* a : members) numbers.push_back(a->number);
    fmt::print("  {:<36} {} {}[{}]\n", sharding::partition_spec(answer.space.mesh, spec),
               tune::index_list_text(numbers), sharding::role_name(members[0]->role), fmt::join(members[0]->dims, ","));
  }
  for (const json& product : products_json(answer))
    fmt::print("  result of {}: {}\n", product["name"].get<std::string>(), product["sharding"].get<std::string>());
}

std::string measured_text(const ShardRow& row) {
  if (!row.measured) return "";
  const sharding::MeasuredSharding& m = *row.measured;
  if (m.outcome != tune::Outcome::Ok) return fmt::format("  {}", tune::outcome_name(m.outcome));
  return fmt::format("  {:>10} {:>7.3f}x {:>7.3f}x", human_ns(m.seconds * 1e9), m.one_thread.ratio,
                     m.all_threads.ratio);
}

// Surely, with all threads; other devices than this machine's were not timed.
bool one_device_is_faster(const ShardAnswer& answer) {
  const std::optional<sharding::MeasuredSharding>& m = answer.taken().measured;
  return answer.command.on_host() && m && m->all_threads.ratio > 0 && m->all_threads.high < 1;
}

std::string reason_text(const ShardAnswer& answer) {
  if (answer.answer.by_measurement) return "the fastest of those that ran";
  if (!answer.measured || !answer.command.on_host()) return "the fastest by prediction";
  return fmt::format("the fastest by prediction; none ran {:.0f} % faster", 100 * (kSurelySlower - 1));
}

}  // namespace

json measured_json(const sharding::MeasuredSharding& m) {
  return {{"outcome", tune::outcome_name(m.outcome)},
          {"seconds", m.seconds},
          {"to_one_thread", ratio_json(m.one_thread)},
          {"to_all_threads", ratio_json(m.all_threads)},
          {"rounds", m.rounds},
          {"max_error", m.max_error},
          {"note", m.note}};
}

json shard_json(const ShardAnswer& answer) {
  json out = estimate_json(answer.taken().estimate), axes = json::object(), table = json::array();
  const sharding::Mesh& mesh = answer.space.mesh;
  for (int axis = 0; axis < mesh.axes(); ++axis) axes[mesh.axis_name(axis)] = mesh.sizes[axis];
  for (const ShardRow& row : answer.rows) {
    json line = estimate_json(row.estimate);
    line["name"] = row.name;
    line["measured"] = row.measured ? measured_json(*row.measured) : json(nullptr);
    table.push_back(line);
  }
  out["program"] = answer.program;
  out["mesh"] = {{"axes", axes}, {"shape", mesh.sizes}};
  out["topology"] = answer.topology.name;
  out["strategy"] = answer.command.strategy;
  out["one_device"] = estimate_json(answer.one_device);
  out["table"] = table;
  out["answer"] = answer.taken().name;
  out["answer_by"] = answer.answer.by_measurement ? "measurement" : "prediction";
  out["batch"] = answer.space.program.batch;
  out["arguments"] = arguments_json(answer);
  out["products"] = products_json(answer);
  out["results"] = answer.completed.results;
  out["search"] = {{"dimensions", answer.space.space.dimensions.size()},
                   {"choices", answer.space.space.size()},
                   {"evaluations", answer.evaluations},
                   {"elapsed_seconds", answer.elapsed_s}};
  out["measured"] = nullptr;
  if (answer.measured)
    out["measured"] = {{"threads", answer.measured->threads},
                       {"one_thread_seconds", answer.measured->one_thread_seconds},
                       {"all_threads_seconds", answer.measured->all_threads_seconds},
                       {"one_device_is_faster", one_device_is_faster(answer)}};
  out["interrupted"] = interrupted();
  out["output"] = answer.command.hlo.empty() ? json(nullptr) : json(answer.command.hlo);
  return out;
}

void print_shard(const ShardAnswer& answer) {
  const sharding::Mesh& mesh = answer.space.mesh;
  fmt::print("{}: a mesh of {} on {}, {} decisions, {} shardings evaluated\n\n", answer.program, mesh.text(),
             answer.topology.name, answer.space.space.dimensions.size(), answer.evaluations);
  fmt::print("  {:<16} {:>10} {:>10} {:>12} {:>11}{}  collectives\n", "sharding", "predicted", "exchange",
             "peak memory", "one device/", answer.measured ? "    measured  /1 thread /all" : "");
  fmt::print("  {:<16} {:>10} {:>10} {:>12}\n", "one device", human_ns(answer.one_device.seconds * 1e9), "-",
             human_bytes(answer.one_device.peak_bytes));
  for (const ShardRow& row : answer.rows) {
    const ShardEstimate& e = row.estimate;
    fmt::print("  {:<16} {:>10} {:>10} {:>12} {:>11}{}  {}\n", row.name, e.valid ? human_ns(e.seconds * 1e9) : "-",
               human_ns(e.collective_seconds * 1e9), human_bytes(e.peak_bytes),
               e.valid ? fmt::format("{:.3f}x", answer.one_device.seconds / e.seconds) : "-", measured_text(row),
               e.valid ? exchange_text(e) : e.error);
  }
  fmt::print("\n  answer: {}, {}\n", answer.taken().name, reason_text(answer));
  print_specs(answer);
  if (!answer.measured) return;
  fmt::print("\n  one device: {} with one thread, {} with {}{}\n", human_ns(answer.measured->one_thread_seconds * 1e9),
             answer.measured->all_threads_seconds > 0 ? human_ns(answer.measured->all_threads_seconds * 1e9) : "-",
             answer.measured->threads, one_device_is_faster(answer) ? ", which is faster than the answer" : "");
}

}  // namespace hone::cli
