#include "features/code_cycles.h"

#include <algorithm>
#include <array>
#include <vector>

namespace hone::features {
namespace {

using K = CodeKind;

constexpr double kDecoded = 5;             // instructions a cycle
constexpr double kLoads = 2, kStores = 1;  // of 256 bits a cycle
constexpr double kLoadLatency = 5, kVectorLoadLatency = 7, kForwardLatency = 5;
constexpr double kCallCycles = 10;
constexpr double kUsual = 0.5;  // share of runs from which on an instruction is part of the chain of them

bool of_floats(K kind) {
  switch (kind) {
    case K::k_float_add:
    case K::k_float_multiply:
    case K::k_fused_multiply_add:
    case K::k_convert:
    case K::k_round:
    case K::k_approximate:
    case K::k_vector_multiply:
      return true;
    default:
      return false;
  }
}
bool of_divider(K kind) { return kind == K::k_float_divide || kind == K::k_square_root || kind == K::k_integer_divide; }
bool of_integers(K kind) { return kind == K::k_integer || kind == K::k_address || kind == K::k_integer_multiply; }

double vectors_of_256(const Instruction& i) { return i.vector_bits == 512 ? 2 : 1; }
double pipe_cycles(const Instruction& i) { return vectors_of_256(i) / info_of(i.kind).per_cycle; }

// When values are there, run after run, if nothing waits for a pipe.
class Readiness {
 public:
  void run(std::span<const BodyInstruction> body) {
    for (const BodyInstruction& i : body)
      if (i.share >= kUsual) one(*i.instruction);
  }
  // The longest that a register is later than in `before`.
  double later_than(const Readiness& before) const {
    double most = 0;
    for (size_t r = 0; r < registers_.size(); ++r) most = std::max(most, registers_[r] - before.registers_[r]);
    return most;
  }

 private:
  struct Word {
    MemoryOperand at;
    double ready;
  };

  void one(const Instruction& i) {
    double start = 0;
    if (!i.zeroes)
      for (const int8_t source : i.sources)
        if (source >= 0) start = std::max(start, registers_[source]);
    if (i.effect == CodeEffect::AddConstant || i.effect == CodeEffect::Add) start = std::max(start, of(i.target));
    if (i.loads || i.kind == K::k_address) {
      const double address = std::max(of(i.memory.base), of(i.memory.index));
      start = std::max(start, address + (!i.loads ? 0 : i.vector_bits > 0 ? kVectorLoadLatency : kLoadLatency));
      if (const Word* word = i.loads ? find(i.memory) : nullptr) start = std::max(start, word->ready + kForwardLatency);
    }
    const double ready = start + info_of(i.kind).latency;
    if (i.target >= 0) registers_[i.target] = ready;
    if (!i.stores) return;
    if (Word* word = find(i.memory))
      word->ready = ready;
    else
      words_.push_back({i.memory, ready});
  }
  double of(int8_t name) const { return name < 0 ? 0 : registers_[name]; }
  Word* find(const MemoryOperand& m) {
    for (Word& word : words_)
      if (word.at.base == m.base && word.at.index == m.index && word.at.scale == m.scale &&
          word.at.displacement == m.displacement && !m.of_code && of(m.base) + of(m.index) == 0)
        return &word;  // by registers that the loop does not change
    return nullptr;
  }

  std::array<double, kRegisters> registers_ = {};
  std::vector<Word> words_;
};

}  // namespace

double BodyCycles::in_all() const { return std::max({front, pipes, chain}); }

BodyCycles body_cycles(std::span<const BodyInstruction> body, bool repeats) {
  BodyCycles cycles;
  double floats = 0, integers = 0, shuffles = 0, others = 0, branches = 0, stores = 0, gathers = 0, calls = 0;
  for (const auto& [i, share] : body) {
    const double pipe = share * pipe_cycles(*i);
    if (i->kind == K::k_gather || i->kind == K::k_scatter)
      gathers += pipe;
    else if (of_divider(i->kind))
      cycles.divides += pipe;
    else if (of_floats(i->kind))
      floats += pipe;
    else if (of_integers(i->kind))
      integers += pipe;
    else if (i->kind == K::k_shuffle || i->kind == K::k_broadcast)
      shuffles += i->loads ? 0 : pipe;
    else if (i->kind == K::k_branch || i->kind == K::k_jump)
      branches += share;
    else if (i->kind == K::k_call)
      calls += share * kCallCycles;
    else if (!i->loads && !i->stores)
      others += pipe;
    if (i->loads) cycles.loads += share * vectors_of_256(*i) / kLoads;
    if (i->stores) stores += share * vectors_of_256(*i) / kStores;
    cycles.front += share / kDecoded;
  }
  cycles.pipes =
      calls + std::max({floats, integers, shuffles, others, branches, stores, gathers, cycles.loads, cycles.divides});
  if (!repeats) return cycles;
  Readiness ready;
  ready.run(body);
  ready.run(body);
  const Readiness before = ready;
  ready.run(body);
  cycles.chain = ready.later_than(before);
  return cycles;
}

}  // namespace hone::features
