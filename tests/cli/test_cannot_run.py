"""What a program lacks is said before anything runs: custom calls that nothing computes, constants without values."""

import numpy as np
from cli_case import CliTest

CALLS = """HloModule calls
ENTRY main {
  x = f32[4] parameter(0)
  a = f32[4] custom-call(x), custom_call_target="my_kernel", api_version=API_VERSION_TYPED_FFI
  b = f32[4] custom-call(a), custom_call_target="my_kernel", api_version=API_VERSION_TYPED_FFI
  ROOT c = f32[4] custom-call(b), custom_call_target="other_kernel"
}
"""
# XLA's own passes remove such a call.
SHARDING = """HloModule sharded
ENTRY main {
  x = f32[4] parameter(0)
  s = f32[4] custom-call(x), custom_call_target="Sharding", sharding={replicated}
  ROOT r = f32[4] add(s, s)
}
"""
LEFT_OUT = """HloModule left_out
ENTRY main {
  x = f32[2,3] parameter(0)
  w = f32[2,3] constant({...})
  ROOT r = f32[2,3] add(x, w)
}
"""
# As torch-mlir and others write large constants: at the end of the file, after four bytes of alignment.
RESOURCE = """module @m {
  func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.constant dense_resource<weights.1> : tensor<3xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
{-#
  dialect_resources: {
    builtin: {
      weights.1: "0x040000000000803F0000004000004040"
    }
  }
#-}
"""
NAMES = "my_kernel (2 calls), other_kernel (1 call)"


class CannotRunTest(CliTest):
    def write(self, name, text):
        (self.dir / name).write_text(text)
        return name

    def lines(self, done):
        return done.stderr.decode().splitlines()

    def test_custom_calls_that_nothing_computes_are_named_before_a_tune(self):
        file = self.write("calls.hlo", CALLS)
        found = self.json("inspect", file)
        self.assertEqual(found["unknown_calls"], {"my_kernel": 2, "other_kernel": 1})
        self.assertIn(
            f"CANNOT RUN: nothing here computes its custom calls {NAMES}", self.hone("inspect", file).stdout.decode()
        )
        for command in (["tune", file, "--db", self.db], ["run", file], ["optimize", file]):
            (line,) = self.lines(self.hone(*command, code=2))
            self.assertIn(f"nothing here computes its custom calls {NAMES}", line)
        self.assertEqual(list(self.dir.glob("*.hone")), [])

    def test_calls_of_a_gpu_are_not_taken_for_those_of_xla(self):
        file = self.write("gpu.hlo", CALLS.replace('"my_kernel"', '"__cublas$gemm"'))
        self.assertEqual(self.json("inspect", file)["unknown_calls"], {"__cublas$gemm": 2, "other_kernel": 1})

    def test_calls_that_xla_removes_are_no_obstacle(self):
        file = self.write("sharding.hlo", SHARDING)
        self.assertEqual(self.json("inspect", file)["unknown_calls"], {})
        self.json("run", file, "--repeat", "1")

    def test_constants_left_out_of_a_file_are_said_by_every_command(self):
        file = self.write("left_out.hlo", LEFT_OUT)
        self.assertEqual(self.json("inspect", file)["constants_left_out"], 1)
        self.assertEqual(self.json("inspect", "softmax.hlo")["constants_left_out"], 0)
        for command in (
            ["inspect", file],
            ["run", file, "--repeat", 1],
            ["tune", file, "--budget", "1s", "--db", self.db],
            ["optimize", file],
        ):
            said = [line for line in self.lines(self.hone(*command)) if "left out of the file" in line]
            self.assertEqual(len(said), 1, command)
            self.assertIn("left_out: 1 constant", said[0])

    def test_constants_at_the_end_of_the_file_are_read(self):
        file = self.write("resource.mlir", RESOURCE)
        self.assertEqual(self.json("inspect", file)["constants_left_out"], 0)
        np.savez(self.dir / "in.npz", np.zeros(3, np.float32))
        self.hone("run", file, "--inputs", "in.npz", "--outputs", "out.npz", "--repeat", 1)
        with np.load(self.dir / "out.npz") as outputs:
            np.testing.assert_array_equal(outputs[outputs.files[0]], [1, 2, 3])
