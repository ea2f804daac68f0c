// Words of options that both sides of the wire know.
#pragma once

namespace hone {

// Leaves a program fewer threads than the target has: "half" of them, or "1".
// (xla/decisions/program_options.def has all keys of program options.)
inline constexpr char kIntraOpThreads[] = "intra_op_threads";
// How a program's threads wait for work: "passive", as XLA's do, or "active".
inline constexpr char kWaitPolicy[] = "wait_policy";

// What declared weights are stored as (--precision).
inline constexpr char kBf16Weights[] = "bf16";
inline constexpr char kInt8Weights[] = "int8-weights";

}  // namespace hone
