// Code that is not compiled twice, in the real worker; skipped where it is not built.

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "base/clock.h"
#include "base/files.h"
#include "tests/tune/real_worker.h"
#include "wire/client.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// Fusions of different content, a reduction and dots.
constexpr char kProgram[] = R"(HloModule kernels
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  a = f32[64,96] parameter(0)
  b = f32[96,64] parameter(1)
  t = f32[64,96] transpose(b), dimensions={1,0}
  m = f32[64,96] multiply(a, t)
  f1 = f32[64,96] add(m, a)
  d = f32[64,64] dot(f1, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,64] exponential(d)
  h = f32[] constant(0.25)
  hb = f32[64,64] broadcast(h), dimensions={}
  f2 = f32[64,64] multiply(e, hb)
  zero = f32[] constant(0)
  r = f32[64] reduce(f2, zero), dimensions={1}, to_apply=sum
  ob = f32[64,64] broadcast(r), dimensions={0}
  n = f32[64,64] tanh(ob)
  f3 = f32[64,64] subtract(n, f2)
  g = f32[64,96] dot(f3, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  u = f32[64,96] transpose(b), dimensions={1,0}
  v = f32[64,96] multiply(g, u)
  ROOT w = f32[64,96] add(v, g)
}
)";

class Compiled {
 public:
  explicit Compiled(const std::string& cache_folder, bool cache_code = true)
      : worker_(options(cache_folder, cache_code)) {
    wire::LoadRequestT load;
    load.name = "kernels.hlo";
    load.bytes.assign(kProgram, kProgram + sizeof(kProgram) - 1);
    program_ = worker_.call<wire::LoadReplyT>(std::move(load)).program;
  }

  wire::MeasureReplyT measure(const Decisions& decisions, double patience_ms = 0, double core_ns = 0) {
    wire::MeasureRequestT request;
    request.program = program_;
    request.decisions = wire::to_wire(decisions);
    request.min_rounds = request.max_rounds = 1;
    request.budget_ms = 1;
    request.patience_ms = patience_ms;
    request.core_ns = core_ns;
    return worker_.call<wire::MeasureReplyT>(std::move(request));
  }

  std::vector<uint8_t> outputs(const Decisions& decisions) {
    wire::RunRequestT request;
    request.program = program_;
    request.decisions = wire::to_wire(decisions);
    request.want_outputs = true;
    std::vector<uint8_t> bytes;
    for (const auto& array : worker_.call<wire::RunReplyT>(std::move(request)).outputs)
      bytes.insert(bytes.end(), array->data.begin(), array->data.end());
    return bytes;
  }

  // After all of XLA's passes. With `kept` after those that earlier lowerings do not serve.
  std::string lowered(const Decisions& decisions) { return reply(decisions).hlo; }
  wire::LowerReplyT reply(const Decisions& decisions, bool kept = false) {
    wire::LowerRequestT request;
    request.program = program_;
    request.decisions = wire::to_wire(decisions);
    request.want_hlo = true;
    request.kept = kept;
    return worker_.call<wire::LowerReplyT>(std::move(request));
  }

  // Each with one edge of XLA's own fusion cut.
  std::vector<Decisions> cuts() {
    wire::LowerRequestT request;
    request.program = program_;
    request.want_fusion = true;
    std::vector<Decisions> cuts;
    for (const auto& dimension : worker_.call<wire::LowerReplyT>(std::move(request)).dimensions)
      if (dimension->kind == wire::DecisionKind::Fusion && dimension->default_option == 1)
        cuts.push_back({{DecisionKind::Fusion, dimension->key, "keep"}});
    return cuts;
  }

  // Another option of the fusions, by their names without numbers; one decision a distinct kernel.
  Decisions change(size_t wanted) {
    wire::LowerRequestT request;
    request.program = program_;
    Decisions decisions;
    for (const auto& kernel : worker_.call<wire::LowerReplyT>(std::move(request)).kernels)
      if (kernel->kind == "fusion" && decisions.size() < wanted)
        decisions.push_back({DecisionKind::Codegen, kernel->dimension->key, "loop;unroll=0"});
    return decisions;
  }

 private:
  static wire::WorkerOptions options(const std::string& cache_folder, bool cache_code) {
    wire::WorkerOptions options = tune::with_worker().worker;
    options.cache_folder = cache_folder;
    options.cache_code = cache_code;
    return options;
  }

  wire::Worker worker_;
  std::string program_;
};

// The same code under another list of decisions.
const Decisions kSame = {{DecisionKind::Option, "huge_pages", "on"}, {DecisionKind::Option, "wait_policy", "active"}};

// Without the time that passes took. Of the module's binary form the size alone: a copy has its computations in another order.
std::string bytes_of(wire::LowerReplyT reply) {
  reply.pass_ms = static_cast<double>(reply.module_proto.size());
  reply.module_proto.clear();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(wire::LowerReply::Pack(builder, &reply));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void replace(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

}  // namespace

TEST_CASE("passes resume after layout assignment where only what comes later was decided", "[code_cache]") {
  if (tune::no_worker()) return;
  Compiled program("");
  program.measure({});
  // What code generation alone reads: no pass runs, and none would do anything else.
  CHECK(program.measure({{DecisionKind::Option, "loop_unrolling", "off"}}).code->resumed == 0);
  const std::string by_default = program.lowered({});
  CHECK(by_default.find("fusion") != std::string::npos);
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"loop_unrolling", "off"}, {"slp_vectorizer", "off"}, {"vector_width", "512"}, {"huge_pages", "on"}})
    CHECK(program.lowered({{DecisionKind::Option, key, value}}) == by_default);
  const std::vector<Decisions> cuts = program.cuts();
  REQUIRE(cuts.size() >= 2);
  CHECK(program.lowered(cuts[0]) != by_default);
  for (const Decisions& cut : cuts) {
    const auto reply = program.measure(cut);
    CHECK(reply.verdict == wire::Verdict::Ok);
    CHECK(reply.code->resumed == 1);
  }
  // What passes before layout assignment read.
  CHECK(program.measure({{DecisionKind::Library, "program", "eigen"}}).code->resumed == 0);
  CHECK(program.measure({{DecisionKind::Option, "fusion_duplication", "forbid"}}).code->resumed == 1);
}

TEST_CASE("rounds wait for an undisturbed core as long as they may", "[code_cache]") {
  if (tune::no_worker()) return;
  Compiled program("");
  const auto plain = program.measure({});
  CHECK(plain.core_ns > 0);
  CHECK(plain.stolen_ms >= 0);
  const double start = steady_s();
  const auto waited = program.measure({}, /*patience_ms=*/120, /*core_ns=*/1);  // a best that no core has
  CHECK(seconds_since(start) >= 0.12);
  CHECK(waited.verdict == wire::Verdict::Ok);
  CHECK(waited.rounds == 1);
  CHECK(waited.core_ns > 1);
}

TEST_CASE("what earlier lowerings serve is told as all passes tell it", "[code_cache]") {
  if (tune::no_worker()) return;
  Compiled program("");
  const std::vector<Decisions> cuts = program.cuts();
  REQUIRE(!cuts.empty());
  const Decision nowhere{DecisionKind::Library, "reduce:add:f32[7,7]->f32[7]:1", "ynn"},
      no_kernel{DecisionKind::Codegen, "00000000000000000000000000000000", "loop"};
  const Decisions reduction = [&]() -> Decisions {
    for (const auto& dimension : program.reply({}).dimensions)
      if (dimension->kind == wire::DecisionKind::Library && dimension->key.starts_with("reduce:"))
        return {{DecisionKind::Library, dimension->key, dimension->options.at(1 - dimension->default_option)}};
    return {};
  }();
  REQUIRE(!reduction.empty());
  for (const Decisions& decisions :
       {Decisions{}, cuts[0], reduction, Decisions{nowhere}, Decisions{no_kernel}, Decisions{no_kernel, nowhere},
        Decisions{{DecisionKind::Option, "loop_unrolling", "off"}}}) {
    INFO(to_text(decisions));
    const std::string whole = bytes_of(program.reply(decisions));
    for (int time = 0; time < 2; ++time)
      CHECK(bytes_of(program.reply(decisions, /*kept=*/true)) == whole);  // the second is of a copy
  }
}

TEST_CASE("a worker compiles no kernel twice", "[code_cache]") {
  if (tune::no_worker()) return;
  Compiled with(""), without("", /*cache_code=*/false);
  const auto cold = with.measure({});
  REQUIRE(cold.code);
  CHECK(cold.code->compiled >= 4);
  CHECK(cold.code->linked == 0);
  const auto again = with.measure(kSame);
  CHECK(again.verdict == wire::Verdict::Ok);
  CHECK(again.max_error == 0);
  CHECK(again.code->compiled == 0);
  CHECK(again.code->reused >= 3);
  CHECK(again.code->saved_ms > 0);
  CHECK_FALSE(without.measure({}).code);
  CHECK(with.outputs({}) == without.outputs({}));
  CHECK(with.outputs(kSame) == without.outputs({}));
}

TEST_CASE("a changed kernel is compiled, and nothing else", "[code_cache]") {
  if (tune::no_worker()) return;
  Compiled with(""), without("", /*cache_code=*/false);
  const auto cold = with.measure({});
  const Decisions one = with.change(1), all = with.change(100);
  REQUIRE(one.size() == 1);
  const auto changed = with.measure(one);
  CHECK(changed.verdict == wire::Verdict::Ok);
  CHECK(changed.code->compiled == 1);
  CHECK(changed.code->reused + changed.code->relinked == cold.code->compiled + cold.code->relinked - 1);
  CHECK(with.measure(one).code->compiled == 0);
  CHECK(with.outputs(one) == without.outputs(one));
  CHECK(with.outputs(all) == without.outputs(all));
}

TEST_CASE("options of the whole program never meet another's code", "[code_cache]") {
  if (tune::no_worker()) return;
  Compiled with(""), without("", /*cache_code=*/false);
  const auto cold = with.measure({});
  const Decisions narrow = {{DecisionKind::Option, "vector_width", "128"}};
  const auto other = with.measure(narrow);
  CHECK(other.code->reused == 0);
  CHECK(other.code->relinked == 0);
  CHECK(other.code->compiled == cold.code->compiled);
  CHECK(with.outputs(narrow) == without.outputs(narrow));
}

TEST_CASE("a worker links what another has compiled", "[code_cache]") {
  if (tune::no_worker()) return;
  const TempDir parent;
  const std::string folder = (parent.path() / "objects").string();
  Compiled first(folder);
  const auto cold = first.measure({});
  const std::vector<uint8_t> expected = first.outputs({});
  CHECK(static_cast<int64_t>(files_of(folder).size()) == cold.code->compiled);
  Compiled second(folder);
  const auto warm = second.measure({});
  CHECK(warm.code->compiled == 0);
  CHECK(warm.code->linked == cold.code->compiled);
  CHECK(second.outputs({}) == expected);
  const auto again = second.measure(kSame);  // from the process by now
  CHECK(again.code->linked == 0);
  CHECK(again.code->compiled == 0);
  CHECK(second.outputs(kSame) == expected);
}

TEST_CASE("objects that were tampered with are never run", "[code_cache]") {
  if (tune::no_worker()) return;
  const TempDir parent;
  const std::string folder = (parent.path() / "objects").string();
  std::vector<uint8_t> expected;
  int64_t compiled = 0;
  {
    Compiled first(folder);
    compiled = first.measure({}).code->compiled;
    expected = first.outputs({});
  }
  const std::vector<fs::path> files = files_of(folder);
  REQUIRE(files.size() >= 4);
  SECTION("a byte changed") {
    for (const fs::path& file : files) {
      std::string bytes = content(file);
      bytes[bytes.size() / 2] ^= 0x40;
      replace(file, bytes);
    }
  }
  SECTION("each under the name of the next") {
    std::vector<std::string> bytes;
    for (const fs::path& file : files) bytes.push_back(content(file));
    for (size_t i = 0; i < files.size(); ++i) replace(files[i], bytes[(i + 1) % files.size()]);
  }
  SECTION("cut short") {
    for (const fs::path& file : files) replace(file, content(file).substr(0, 150));
  }
  Compiled second(folder);
  const auto reply = second.measure({});
  CHECK(reply.code->linked == 0);
  CHECK(reply.code->compiled == compiled);
  CHECK(second.outputs({}) == expected);
  Compiled third(folder);  // and they were replaced
  CHECK(third.measure({}).code->compiled == 0);
  CHECK(third.outputs({}) == expected);
}

}  // namespace hone
