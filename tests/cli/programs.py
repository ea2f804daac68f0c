"""Small programs that several tests tune."""

# A transposed sum and what one loop takes with it.
ELEMENTWISE = """HloModule transpose_add
ENTRY main {
  a = f32[512,512] parameter(0)
  b = f32[512,512] parameter(1)
  t = f32[512,512] transpose(b), dimensions={1,0}
  s = f32[512,512] add(a, t)
  m = f32[512,512] multiply(s, a)
  ROOT r = f32[512,512] maximum(m, a)
}
"""

# A transposed sum, a reduction and a division.
TWO_KERNELS = """HloModule two_kernels
sum { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }
ENTRY main {
  a = f32[384,512] parameter(0)
  b = f32[512,384] parameter(1)
  t = f32[384,512] transpose(b), dimensions={1,0}
  s = f32[384,512] add(a, t)
  m = f32[384,512] multiply(s, a)
  zero = f32[] constant(0)
  total = f32[384] reduce(m, zero), dimensions={1}, to_apply=sum
  wide = f32[384,512] broadcast(total), dimensions={0}
  ROOT d = f32[384,512] divide(m, wide)
}
"""
