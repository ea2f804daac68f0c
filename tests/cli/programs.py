"""Small programs that several tests tune."""

# A transposed sum and elementwise operations that fuse into the same loop.
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

# Runs for minutes.
ENDLESS = """HloModule endless
body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  n = s32[] add(i, one)
  y = f32[8] sine(x)
  ROOT t = (s32[], f32[8]) tuple(n, y)
}
more {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant(2000000000)
  ROOT c = pred[] compare(i, most), direction=LT
}
ENTRY main {
  x = f32[8] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[8]) tuple(zero, x)
  w = (s32[], f32[8]) while(t), condition=more, body=body
  ROOT y = f32[8] get-tuple-element(w), index=1
}
"""

SOFTMAX = """HloModule softmax
max { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] maximum(x, y) }
sum { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }
ENTRY main {
  x = f32[256,512] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[256] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[256,512] broadcast(m), dimensions={0}
  d = f32[256,512] subtract(x, mb)
  e = f32[256,512] exponential(d)
  s = f32[256] reduce(e, zero), dimensions={1}, to_apply=sum
  sb = f32[256,512] broadcast(s), dimensions={0}
  ROOT r = f32[256,512] divide(e, sb)
}
"""

DOT = """HloModule dot
ENTRY main {
  a = f32[64,256] parameter(0)
  b = f32[256,128] parameter(1)
  d = f32[64,128] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = f32[64,128] tanh(d)
}
"""

# Weights that are used only by a dot in a loop's body.
LOOP = """HloModule loop
body {
  s = (s32[], f32[4,256], f32[256,256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4,256] get-tuple-element(s), index=1
  w = f32[256,256] get-tuple-element(s), index=2
  d = f32[4,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[4,256] tanh(d)
  one = s32[] constant(1)
  n = s32[] add(i, one)
  ROOT r = (s32[], f32[4,256], f32[256,256]) tuple(n, t, w)
}
condition {
  s = (s32[], f32[4,256], f32[256,256]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant(8)
  ROOT r = pred[] compare(i, k), direction=LT
}
ENTRY main {
  x = f32[4,256] parameter(0)
  w = f32[256,256] parameter(1)
  z = s32[] constant(0)
  s = (s32[], f32[4,256], f32[256,256]) tuple(z, x, w)
  l = (s32[], f32[4,256], f32[256,256]) while(s), condition=condition, body=body
  y = f32[4,256] get-tuple-element(l), index=1
  c = f32[256,256] copy(w)
  ROOT r = (f32[4,256], f32[256,256]) tuple(y, c)
}
"""
