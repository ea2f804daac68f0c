"""JAX's linear algebra in the worker and in the runtime: every LAPACK call that jaxlib has, against stock JAX."""

import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np
from fake_build import BUILD, HAS_JAX, MISSING_PRODUCT, set_up_module

# isort: split
import hone
from hone import command

if HAS_JAX:
    import jax
    import jax.numpy as jnp
    from hone import jax_export
    from jax._src.lax import linalg  # geqrf and ormqr are not in jax.lax.linalg

TYPES = ("float32", "float64", "complex64", "complex128")
BATCH = (2, 2)
PRODUCTS = ((True, False), (True, True), (False, False), (False, True))  # of ormqr: left, transpose


def setUpModule():
    if MISSING_PRODUCT:
        raise unittest.SkipTest(MISSING_PRODUCT)
    set_up_module("test_linalg")


def random(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def adjoint(a):
    return jnp.swapaxes(a, -1, -2).conj()


def definite(a):
    return a @ adjoint(a) + 3 * jnp.eye(a.shape[-1], dtype=a.dtype)


def with_values(vectors, values):
    """V diag(w) V^H, which no phase of the vectors changes."""
    return (vectors * values[..., None, :]) @ adjoint(vectors)


def solutions(a, b):
    lower = jnp.tril(a) + 4 * jnp.eye(a.shape[-1], dtype=a.dtype)
    out = {}
    for left in (True, False):
        for transpose, conjugate in ((False, False), (True, False), (True, True)):
            for unit in (True, False):
                options = {"transpose_a": transpose, "conjugate_a": conjugate, "unit_diagonal": unit}
                right = b if left else adjoint(b)
                solved = linalg.triangular_solve(lower * 0.3, right, left_side=left, lower=True, **options)
                out[f"trsm {left} {transpose} {conjugate} {unit}"] = solved
    out["trsm upper"] = linalg.triangular_solve(adjoint(lower), b, left_side=True, lower=False)
    return out


def factorisations(a, tall):
    out = dict(zip(("getrf", "getrf pivots", "getrf permutation"), linalg.lu(a), strict=True))
    out["getrf tall"] = linalg.lu(tall)[0]
    out["solve"], out["inverse"], out["determinant"] = (
        jnp.linalg.solve(a, a[..., :2]),
        jnp.linalg.inv(a),
        jnp.linalg.det(a),
    )
    out["potrf"] = jnp.linalg.cholesky(definite(a))
    out["potrf upper"] = jnp.linalg.cholesky(definite(a), upper=True)
    for name, matrix in {"": a, " tall": tall, " wide": jnp.swapaxes(tall, -1, -2)}.items():
        for full in (True, False):
            out[f"geqrf q{name} {full}"], out[f"geqrf r{name} {full}"] = linalg.qr(matrix, full_matrices=full)
    q, r, columns = linalg.qr(tall, pivoting=True, full_matrices=False)
    out |= {"geqp3 q": q, "geqp3 r": r, "geqp3 columns": columns}
    # Stock JAX's ormqr writes ones into its factors while it computes: each has factors of its own here.
    for i, (left, transpose) in enumerate(PRODUCTS):
        factors, taus = linalg.geqrf(tall * (i + 2))
        c = tall if left else adjoint(tall)
        out[f"ormqr {left} {transpose}"] = linalg.ormqr(factors, taus, c, left=left, transpose=transpose)
    return out


def shared_factors(tall):
    """Products and the factor R of one factorisation, which may be computed at the same time."""
    out = {}
    for step in range(20):
        factors, taus = linalg.geqrf(tall + step)
        for left, transpose in PRODUCTS:
            c = tall if left else adjoint(tall)
            out[f"ormqr {step} {left} {transpose}"] = linalg.ormqr(factors, taus, c, left=left, transpose=transpose)
        out[f"r {step}"] = jnp.triu(factors)
    return out


def tridiagonal_systems(a, b):
    below, middle, above = a[..., 0], 4 + a[..., 1], a[..., 2]
    below, above = below.at[..., 0].set(0), above.at[..., -1].set(0)
    out = {"gtsv": linalg.tridiagonal_solve(below, middle, above, b)}
    for name, diagonal in {"": middle, " pivoted": middle * 0.01}.items():
        out[f"perturbed{name}"] = linalg.tridiagonal_solve(below, diagonal, above, b, perturb_singular=True)
    return out


def eigenvalues(a):
    hermitian = a + adjoint(a)
    out = {}
    for lower in (True, False):
        vectors, values = linalg.eigh(hermitian, lower=lower, symmetrize_input=False)
        out |= {f"syevd {lower}": values, f"syevd vectors {lower}": with_values(vectors, values)}
    values, left, right = linalg.eig(a)
    order = jnp.argsort(jnp.round(values.real, 4) * 1000 + values.imag, axis=-1)
    out["geev"] = jnp.take_along_axis(values, order, axis=-1)
    out["geev right"] = a @ right - right * values[..., None, :]
    out["geev left"] = adjoint(left) @ a - values[..., :, None] * adjoint(left)
    out["geev norms"] = jnp.linalg.norm(right, axis=-2) + jnp.linalg.norm(left, axis=-2)
    form, vectors = linalg.schur(a)
    out |= {
        "gees": vectors @ form @ adjoint(vectors),
        "gees form": jnp.tril(form, -2),
        "gees unitary": adjoint(vectors) @ vectors,
    }
    out["gees alone"] = jnp.abs(jnp.trace(linalg.schur(a, compute_schur_vectors=False)[0], axis1=-1, axis2=-2))
    out["gehrd"], out["gehrd taus"] = linalg.hessenberg(a)
    for lower in (True, False):
        names = (f"sytrd {lower}", f"sytrd d {lower}", f"sytrd e {lower}", f"sytrd taus {lower}")
        out |= zip(names, linalg.tridiagonal(hermitian, lower=lower), strict=True)
    return out


def singular_values(tall):
    out = {}
    for name, matrix in {"tall": tall, "wide": jnp.swapaxes(tall, -1, -2)}.items():
        for algorithm in (linalg.SvdAlgorithm.DEFAULT, linalg.SvdAlgorithm.QR):
            for full in (True, False):
                label = f"{algorithm.name} {name} {full}"
                u, s, vt = linalg.svd(matrix, full_matrices=full, algorithm=algorithm)
                k = s.shape[-1]
                out |= {f"svd {label}": s, f"svd product {label}": (u[..., :k] * s[..., None, :]) @ vt[..., :k, :]}
                out |= {f"svd u {label}": adjoint(u) @ u, f"svd vt {label}": vt @ adjoint(vt)}
            out[f"svd alone {algorithm.name} {name}"] = linalg.svd(matrix, compute_uv=False, algorithm=algorithm)[0]
    return out


def everything(a, tall, b):
    out = solutions(a, b) | factorisations(a, tall) | tridiagonal_systems(a, b) | eigenvalues(a) | singular_values(tall)
    return {name.replace(" ", "_"): value for name, value in out.items()}


def failing(a):
    """Matrices that LAPACK refuses, singular ones, and ones without elements."""
    singular = a.at[..., 1, :].set(a[..., 0, :])
    broken = a.at[0, 0, 0, 0].set(jnp.nan)
    out = {"not definite": jnp.linalg.cholesky(a - 9 * jnp.eye(a.shape[-1], dtype=a.dtype))}
    out |= {"determinant": jnp.linalg.det(singular * 0), "pivots": linalg.lu(singular)[1]}
    out |= {"syevd": linalg.eigh(broken)[1], "geev": linalg.eig(broken)[0], "svd": linalg.svd(broken)[1]}
    zeros = jnp.zeros(BATCH + (5,), a.dtype)
    out["gtsv"] = linalg.tridiagonal_solve(zeros, zeros, zeros, a)
    for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
        empty = jnp.zeros(shape, a.dtype) + a[0, 0, 0, 0] * 0
        name = "x".join(map(str, shape))
        out |= {f"potrf {name}": jnp.linalg.cholesky(empty), f"getrf {name}": linalg.lu(empty)[0]}
        out |= {f"syevd {name}": linalg.eigh(empty)[1], f"geev {name}": linalg.eig(empty)[0]}
        out |= {f"schur {name}": linalg.schur(empty)[0], f"qr {name}": linalg.qr(empty)[1]}
        out |= {f"trsm {name}": linalg.triangular_solve(empty, empty, left_side=True)}
    for shape in ((0, 3), (3, 0)):
        empty = jnp.zeros(shape, a.dtype) + a[0, 0, 0, 0] * 0
        out |= {f"qr {shape[0]}": linalg.qr(empty)[0], f"lu {shape[0]}": linalg.lu(empty)[0]}
    return {name.replace(" ", "_"): value for name, value in out.items()}


class TestLapack(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(jax.enable_x64(True))
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def outputs_of(self, function, arguments, jit=jax.jit):
        """The results of the worker, and those of stock JAX, by name."""
        expected = jit(function)(*arguments)
        file = self.folder / "program.jax"
        file.write_bytes(jax_export.exported_for_cpu(jax.jit(function), arguments).serialize())
        np.savez(self.folder / "inputs.npz", *arguments)
        options = ["--inputs", self.folder / "inputs.npz", "--outputs", self.folder / "outputs.npz", "--repeat", 1]
        command.run(["run", file, *options, "--no-cache"], BUILD)
        with np.load(self.folder / "outputs.npz") as outputs:
            found = [outputs[name] for name in outputs.files]
        leaves, tree = jax.tree.flatten(expected)
        self.assertEqual(len(found), len(leaves))
        return jax.tree.unflatten(tree, found), expected

    def compare(self, found, expected, tolerance):
        for name, value in expected.items():
            with self.subTest(name):
                np.testing.assert_allclose(found[name], np.asarray(value), rtol=tolerance, atol=tolerance)

    def test_every_call_computes_what_jax_computes(self):
        for dtype in TYPES:
            a, tall = random(0, BATCH + (5, 5), dtype), random(1, BATCH + (6, 4), dtype)
            with self.subTest(dtype):
                found, expected = self.outputs_of(everything, (a, tall, random(2, BATCH + (5, 3), dtype)))
                self.compare(found, expected, 3e-4 if dtype in ("float32", "complex64") else 1e-10)

    def test_factors_that_several_operations_read_at_once(self):
        # What JAX computes one operation after another: compiled together, JAX 0.10.2 gives wrong products at times.
        tall = random(1, BATCH + (6, 4), "float64")
        found, expected = self.outputs_of(shared_factors, (tall,), jit=lambda function: function)
        self.compare(found, expected, 1e-10)

    def test_matrices_larger_than_a_block(self):
        a = random(0, (200, 200), "float32")
        found, expected = self.outputs_of(
            lambda a: {
                "potrf": jnp.linalg.cholesky(definite(a)),
                "syevd": jnp.linalg.eigvalsh(a + a.T),
                "svd": linalg.svd(a)[1],
            },
            (a,),
        )
        self.compare(found, expected, 1e-3)

    def test_refused_singular_and_empty_matrices_give_what_jax_gives(self):
        for dtype in TYPES:
            with self.subTest(dtype):
                found, expected = self.outputs_of(failing, (random(0, BATCH + (5, 5), dtype),))
                self.compare(found, expected, 1e-5)
                self.assertTrue(np.isnan(np.tril(found["not_definite"])).any())

    def test_all_of_jaxlibs_targets_are_there(self):
        from jaxlib import lapack

        text = (
            jax.jit(everything)
            .lower(*(jax.ShapeDtypeStruct(BATCH + s, "float32") for s in ((5, 5), (6, 4), (5, 3))))
            .as_text()
        )
        # Every routine of one type is in the program that the other tests run; the types differ in one letter.
        for target in (name for name, *_ in lapack.registrations()["cpu"]):
            if target.startswith("lapack_s") or target.startswith("tridiagonal"):
                self.assertIn(f"@{target}", text)


class TestTuned(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.options = {"build": BUILD, "db": f"{folder}/hone.db", "budget": 3, "quiet": True}

    def test_cholesky_and_triangular_solve(self):
        def posterior(a, b):
            factor = jnp.linalg.cholesky(definite(a))
            return jax.scipy.linalg.cho_solve((factor, True), jnp.tanh(b)), jnp.log(jnp.diagonal(factor)).sum()

        a, b = random(0, (40, 40), "float32"), random(1, (40, 3), "float32")
        tuned = hone.tune(posterior, a, b, **self.options)
        self.assertTrue(tuned.report["verified"])
        for found, expected in zip(tuned(a, b), posterior(a, b), strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)

    def test_eigh(self):
        def whitened(a):
            vectors, values = linalg.eigh(definite(a))
            return (vectors / jnp.sqrt(values)) @ vectors.T

        a = random(0, (30, 30), "float32")
        tuned = hone.tune(whitened, a, threads=2, **self.options)
        self.assertTrue(tuned.report["verified"])
        np.testing.assert_allclose(tuned(a), whitened(a), rtol=1e-3, atol=1e-3)
        # A user's settings of NumPy's threads stay as they were.
        np.testing.assert_allclose(
            np.linalg.eigvalsh(a + a.T), np.asarray(jnp.linalg.eigvalsh(a + a.T)), rtol=1e-3, atol=1e-3
        )
