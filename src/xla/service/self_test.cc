#include "service/self_test.h"

#include <cstring>
#include <iostream>
#include <memory>

#include "base/files.h"
#include "base/object_store.h"
#include "decisions/code_cache.h"
#include "decisions/fingerprints.h"
#include "decisions/kernels.h"
#include "decisions/layout_listing.h"
#include "decisions/lower.h"
#include "decisions/seam_state.h"
#include "decisions/seams.h"
#include "graph/decision_family.h"
#include "graph/kernel_option.h"
#include "graph/packed_weights.h"
#include "measure/executable.h"
#include "measure/inputs.h"
#include "measure/lowerings.h"
#include "measure/measure.h"
#include "service/load.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr char kProbe[] = R"(HloModule probe
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  t = f32[64,64] transpose(b), dimensions={1,0}
  s = f32[64,64] add(a, t)
  m = f32[64,64] multiply(s, a)
  d = f32[64,64] dot(m, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  i = f32[1,8,8,64] reshape(d)
  h = f32[] constant(0.5)
  k = f32[3,3,64,8] broadcast(h), dimensions={}
  c = f32[1,8,8,8] convolution(i, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  z = f32[] constant(0)
  q = f32[64] reduce(m, z), dimensions={1}, to_apply=sum
  ROOT r = (f32[64,64], f32[1,8,8,8], f32[64]) tuple(d, c, q)
}
)";

void turn_off(const char* name, const std::string& why) {
  for (SeamState& seam : seam_states())
    if (seam.name == name && seam.on) {
      seam.on = false;
      std::cerr << "hone-xla: seam '" << name << "' is off: " << why << "\n";
    }
}

long calls(const char* name) {
  for (const SeamState& seam : seam_states())
    if (seam.name == name) return seam.calls;
  return 0;
}

void test_fusion(const xla::HloModule& program) {
  Lowered lowered = lower(program, {}, {}, nullptr, {.edges = true});
  const std::string before = module_fingerprint(*lowered.module);
  bool changed = false;
  for (const FusionEdge& edge : lowered.edges)
    if (edge.default_fuse)
      changed |= module_fingerprint(*lower(program, {}, {{DecisionKind::Fusion, edge.key, "keep"}}).module) != before;
  if (calls("fusion-start") == 0) turn_off("fusion-start", "XLA's fusion pass does not call it");
  if (calls("fusion") == 0 || !changed) turn_off("fusion", "XLA's fusion pass does not call it or ignores it");
}

// Passes that begin after layout assignment make what all passes make.
void test_resuming(const xla::HloModule& program) {
  WithLayouts with_layouts;
  const Lowered first = lower(program, {}, {}, nullptr, {.edges = true, .with_layouts = &with_layouts});
  if (!with_layouts.module) return turn_off("layout-passes", "XLA does not call it");
  const auto fused = std::find_if(first.edges.begin(), first.edges.end(), [](const auto& e) { return e.default_fuse; });
  Decisions cut;
  if (fused != first.edges.end()) cut.push_back({DecisionKind::Fusion, fused->key, "keep"});
  const Lowered resumed = lower_from_layouts(with_layouts, first.storage, {}, cut);
  if (!same_modules(*lower(program, {}, cut).module, *resumed.module))
    turn_off("layout-passes", "passes that begin there make another program");
}

std::vector<xla::Literal> run(Executable& executable, const std::vector<xla::Literal>& inputs) {
  for (size_t i = 0; i < executable.inputs().size(); ++i)
    executable.set_input(i, inputs[executable.inputs()[i].parameter].untyped_data());
  executable.run();
  std::vector<xla::Literal> outputs;
  for (size_t i = 0; i < executable.outputs().size(); ++i) outputs.push_back(executable.output_literal(i));
  return outputs;
}

std::vector<xla::Literal> run_lowered(Lowered lowered, const std::vector<xla::Literal>& inputs,
                                      CodeCache* code = nullptr) {
  Executable executable(generate(std::move(lowered.module), 1, code), RunSettings{});
  return run(executable, inputs);
}

// Whether the outputs under the decisions equal the expected ones.
bool obeyed(const xla::HloModule& program, const std::vector<xla::Literal>& inputs, const Decisions& decisions,
            const std::vector<xla::Literal>& expected) {
  return compare(expected, run_lowered(lower(program, {}, decisions), inputs)).equal;
}

void test_reductions(const xla::HloModule& program, const std::vector<xla::Literal>& inputs,
                     const std::vector<xla::Literal>& expected) {
  const Lowered plain = lower(program, {}, {});
  if (plain.reductions.empty()) return turn_off("reduce-ynn", "XLA does not call it");
  const auto& [key, reduction] = *plain.reductions.begin();
  const Decisions other = {
      {DecisionKind::Library, key, reduction.default_ynn ? kCompiledReduction : kYnnpackReduction}};
  const bool changed = module_fingerprint(*lower(program, {}, other).module) != module_fingerprint(*plain.module);
  if (!changed) return turn_off("reduce-ynn", "XLA ignores it");
  if (!obeyed(program, inputs, other, expected)) turn_off("reduce-ynn", "another library changed results");
}

// Tests that some layout of the first instruction with layout options changes the lowered module. Outputs are not
// compared here: every measurement of a decision compares them.
void test_layouts(const xla::HloModule& program) try {
  const LayoutListing space = layout_listing(program, {});
  if (space.dimensions.empty()) return turn_off("layout", "XLA does not call it");
  const std::string before = module_fingerprint(*lower(program, {}, {}).module);
  const Dimension& dimension = space.dimensions.front();
  bool changed = false;
  for (size_t i = 1; i < dimension.options.size() && !changed; ++i) {
    const Decisions decisions = {{DecisionKind::Layout, dimension.key, dimension.options[i]}};
    changed = module_fingerprint(*lower(program, {}, decisions).module) != before;
  }
  if (!changed) turn_off("layout", "XLA ignores it");
} catch (const Error& e) {
  turn_off("layout", e.what());
}

void test_kernels(const xla::HloModule& program, const std::vector<xla::Literal>& inputs,
                  const std::vector<xla::Literal>& expected) {
  Lowered lowered = lower(program, {}, {});
  for (const KernelInfo& kernel : distinct_kernels(*lowered.module, 1, 8))
    for (const std::string& option : kernel.dimension.options) {
      const bool tile = !KernelOption::parse(option).tile.empty();
      if (!tile && option != "eigen") continue;
      const long before = calls("tile");
      const bool fine = obeyed(program, inputs, {{kernel.dimension.kind, kernel.fingerprint, option}}, expected);
      if (tile && (!fine || calls("tile") == before))
        turn_off("tile", fine ? "XLA does not call it" : "a tile changed results");
      if (!tile && !fine) turn_off(kernel.kind == "dot" ? "dot-strategy" : "conv-ynn", "Eigen changed results");
      break;
    }
  for (const char* name : {"tiled-support", "dot-strategy", "conv-ynn"})
    if (calls(name) == 0) turn_off(name, "XLA does not call it");
}

// A dot whose second matrix is packed computes the same, and reads it no more: zeros in its place change nothing.
void test_packing(const xla::HloModule& program, const std::vector<xla::Literal>& inputs,
                  const std::vector<xla::Literal>& expected) {
  CompileTarget target;
  target.weights = {1};
  Lowered lowered = lower(program, target, {{DecisionKind::Weights, "1", kPackedWeights}});
  Executable executable(generate(std::move(lowered.module), 1), RunSettings{});
  std::vector<xla::Literal> own;
  for (const xla::Literal& input : inputs) own.push_back(input.Clone());
  if (!compare(expected, run(executable, own)).equal) return turn_off("ynn-thunk", "packing changed results");
  memset(own[1].untyped_data(), 0, own[1].size_bytes());
  if (run(executable, own)[0].IsAll(0)) turn_off("ynn-thunk", "XLA does not call it or ignores it");
}

// A folder in `parent`; null if there can be none.
std::unique_ptr<TempDir> scratch_folder(const std::string& parent) {
  if (!parent.empty()) try {
      return std::make_unique<TempDir>(std::string(kScratchPrefix), parent);
    } catch (const RunError&) {
    }
  return nullptr;
}

// Under which keys the test was passed; null if that cannot be kept.
std::unique_ptr<ObjectStore> kept_tests(const std::string& folder) {
  if (!folder.empty()) try {
      return std::make_unique<ObjectStore>(ObjectStoreOptions{folder});
    } catch (const Error&) {
    }
  return nullptr;
}

// Compiled, taken from this process and taken from disk, the probe computes the same.
void test_code_cache(const xla::HloModule& program, const std::vector<xla::Literal>& inputs,
                     const std::vector<xla::Literal>& expected, const std::string& parent) try {
  const std::unique_ptr<TempDir> folder = scratch_folder(parent);
  const auto cache = [&] {
    if (!folder) return std::make_unique<CodeCache>();
    return std::make_unique<CodeCache>(std::make_unique<ObjectStore>(ObjectStoreOptions{folder->path() / "objects"}));
  };
  const auto first = cache(), second = cache();
  for (CodeCache* code : {first.get(), first.get(), second.get()})
    if (compare(expected, run_lowered(lower(program, {}, {}), inputs, code)).max_error != 0)
      return turn_off("code-fusions", "code from the cache changed results");
  if (first->counters().reused == 0 || (folder && second->counters().linked == 0))
    turn_off("code-fusions", "XLA does not come for earlier code");
} catch (const Error& e) {
  turn_off("code-fusions", e.what());
}

}  // namespace

void self_test(const std::string& passed_folder, const std::string& scratch) {
  static bool done = false;
  if (std::exchange(done, true)) return;
  const std::unique_ptr<ObjectStore> passed = kept_tests(passed_folder);
  const std::string key = passed ? process_key("self-test 1") : "";
  if (!key.empty() && passed->get(key)) return;
  try {
    const LoadedModule loaded = load_module(kProbe, "probe");
    const auto inputs = generate_inputs(*loaded.module, 1, 1 << 24);
    test_fusion(*loaded.module);
    test_layouts(*loaded.module);
    test_resuming(*loaded.module);
    const auto expected = run_lowered(lower(*loaded.module, {}, {}), inputs);
    test_kernels(*loaded.module, inputs, expected);
    test_reductions(*loaded.module, inputs, expected);
    test_packing(*loaded.module, inputs, expected);
    test_code_cache(*loaded.module, inputs, expected, scratch);
  } catch (const std::exception& e) {
    for (SeamState& seam : seam_states()) seam.on = false;
    std::cerr << "hone-xla: all seams are off, the self-test failed: " << e.what() << "\n";
  }
  const std::vector<SeamState>& seams = seam_states();
  if (!key.empty() && std::all_of(seams.begin(), seams.end(), [](const SeamState& seam) { return seam.on; }))
    passed->put(key, "passed");
}

}  // namespace hone::xla_side
