"""Facts of linear algebra and Fourier transforms that single samples do not show."""

import numpy as np
import pytest
import scipy.linalg

import thixo as tx
from thixo.errors import AutogradError, LinearAlgebraError, ShapeError

RNG = np.random.default_rng(0)


def normal(*shape, dtype="float64"):
    values = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def leaf(array):
    return tx.tensor(array).requires_grad_(True)


# ---- sizes beyond the small ones, where algorithms change


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_factors_of_large_matrices_multiply_to_the_matrix(dtype):
    a = normal(3, 70, 50, dtype=dtype)
    loose = 1e-4 if dtype == "float32" else 1e-10
    P, L, U = tx.linalg.lu(tx.tensor(a))
    np.testing.assert_allclose((P @ L @ U).numpy(), a, atol=loose)
    Q, R = tx.linalg.qr(tx.tensor(a))
    np.testing.assert_allclose((Q @ R).numpy(), a, atol=loose)
    U, S, Vh = tx.linalg.svd(tx.tensor(a), full_matrices=False)
    np.testing.assert_allclose(((U * S.unsqueeze(-2)) @ Vh).numpy(), a, atol=loose)


@pytest.mark.parametrize("upper", [False, True])
def test_large_triangular_systems_are_solved_by_halves(upper):
    a = normal(50, 50) / 50 + np.eye(50)
    b = normal(2, 50, 3)
    x = tx.linalg.solve_triangular(tx.tensor(a), tx.tensor(b), upper=upper).numpy()
    for i in range(2):
        np.testing.assert_allclose(x[i], scipy.linalg.solve_triangular(a, b[i], lower=not upper))


def test_matrix_exp_of_large_norms():
    a = normal(2, 6, 6) * 8
    np.testing.assert_allclose(tx.matrix_exp(tx.tensor(a)).numpy(), scipy.linalg.expm(a), rtol=1e-9)


def test_lu_and_inverse_of_a_permutation_need_swaps():
    a = tx.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal((tx.linalg.inv(a) @ a).numpy(), np.eye(3))
    P, L, U = tx.linalg.lu(a)
    np.testing.assert_array_equal((P @ L @ U).numpy(), a.numpy())


# ---- singular and indefinite matrices


def test_the_singular_matrix_of_a_batch_is_named():
    a = tx.stack([tx.eye(2), tx.zeros(2, 2)])
    with pytest.raises(LinearAlgebraError, match=r"linalg.inv: A is singular.*matrix \(1,\)"):
        tx.linalg.inv(a)
    with pytest.raises(LinearAlgebraError, match=r"matrix \(1,\)"):
        tx.linalg.solve(a, tx.ones(2, 2, 1))
    with pytest.raises(LinearAlgebraError, match="leading minor of order 1"):
        tx.linalg.cholesky(-tx.eye(2))
    np.testing.assert_array_equal(tx.linalg.inv_ex(a).info.numpy(), [0, 1])
    np.testing.assert_array_equal(tx.linalg.inv_ex(a).inverse[0].numpy(), np.eye(2))


def test_linear_algebra_errors_are_caught_by_their_base():
    with pytest.raises(tx.ThixoError):
        tx.linalg.inv(tx.zeros(2, 2))


def test_a_matrix_of_nans_is_refused():
    with pytest.raises(LinearAlgebraError, match=r"linalg\.eig: .*NaNs"):
        tx.linalg.eig(tx.full((3, 3), float("nan")))
    with pytest.raises(LinearAlgebraError, match=r"linalg\.svd: .*NaNs"):
        tx.linalg.svd(tx.full((3, 3), float("nan")))


def test_condition_of_a_singular_matrix_is_infinite():
    a = tx.tensor([[1.0, 0.0], [0.0, 0.0]])
    for p in (None, 2, "fro", "nuc", 1, -1, float("inf")):
        assert tx.linalg.cond(a, p).item() == float("inf"), p


# ---- gradients where a rule could divide by zero


def test_values_have_gradients_where_vectors_have_none():
    # The identity has equal eigenvalues: no vector is special, but the sum of values is smooth.
    for f in (tx.linalg.svdvals, tx.linalg.eigvalsh):
        x = leaf(np.eye(3))
        f(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)
    x = leaf(np.eye(3))
    tx.linalg.svd(x).S.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)
    x = leaf(np.eye(3))
    tx.linalg.eigh(x).eigenvalues.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)


def test_gradient_of_the_determinant_of_a_singular_matrix_is_its_cofactors():
    x = leaf(np.diag([1.0, 2.0, 0.0]))
    tx.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.diag([0.0, 0.0, 2.0]), atol=1e-12)
    x = leaf(np.zeros((3, 3)))
    tx.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), 0, atol=1e-12)


def test_norms_have_gradient_zero_at_zero():
    for ord in (2, 1, 3, 0.5, float("inf")):
        x = leaf(np.zeros(3))
        tx.linalg.vector_norm(x, ord).backward()
        assert np.array_equal(x.grad.numpy(), np.zeros(3)), ord


def test_products_of_reflections_with_tau_zero():
    x, tau = leaf(normal(4, 2)), leaf(np.zeros(2))
    tx.linalg.householder_product(x, tau).sum().backward()
    assert np.isfinite(tau.grad.numpy()).all()


def test_complete_qr_of_a_tall_matrix_has_no_gradient():
    Q, _ = tx.linalg.qr(leaf(normal(4, 2)), "complete")
    with pytest.raises(AutogradError, match="last columns are not unique"):
        Q.sum().backward()


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_towards_cholesky_factors(upper, dtype):
    """The rules are those of any factor M of M M^H; with the other triangle held at zero they agree."""
    part = tx.triu if upper else tx.tril
    factor = leaf(normal(2, 3, 3, dtype=dtype) / 3 + 2 * np.eye(3))
    b = leaf(normal(2, 3, 2, dtype=dtype))

    def real_diagonal(M):
        strict = part(M, 1 if upper else -1)
        diagonal = tx.diagonal(M, 0, -2, -1)
        return strict + tx.diag_embed(diagonal.real if M.dtype.is_complex else diagonal)

    check = [tx.autograd.gradcheck, tx.autograd.gradgradcheck]
    for compare in check:
        assert compare(lambda M, b: tx.cholesky_solve(b, real_diagonal(M), upper), (factor, b))
        assert compare(lambda M: tx.cholesky_inverse(real_diagonal(M), upper), (factor,))


# ---- products


def test_products_over_nothing_are_zero():
    assert tx.equal(tx.ones(2, 0) @ tx.ones(0, 3), tx.zeros(2, 3))
    assert tx.dot(tx.ones(0), tx.ones(0)).item() == 0
    assert tx.linalg.multi_dot([tx.ones(2, 0), tx.ones(0, 3), tx.ones(3)]).tolist() == [0, 0]


def test_whole_numbers_wrap_in_products():
    a = tx.full((1, 2), 100, dtype=tx.int8)
    assert (a @ a.mT).item() == np.int8(20000 % 256)


def test_beta_zero_ignores_what_is_added():
    nothing = tx.full((2, 2), float("nan"))
    assert tx.equal(tx.addmm(nothing, tx.eye(2), tx.eye(2), beta=0), tx.eye(2))


def test_half_precision_products_round_once():
    a = tx.full((1, 4096), 1.0, dtype=tx.float16)
    assert (a @ a.mT).item() == 4096  # sums in float16 itself would stick at 2048


def test_einsum_of_many_operands():
    shapes = {"ab": (2, 3), "bc": (3, 4), "cd": (4, 2), "da": (2, 2), "d": (2,)}
    arrays = [normal(*shape) for shape in shapes.values()]
    equation = ",".join(shapes) + "->c"
    got = tx.einsum(equation, *map(tx.tensor, arrays)).numpy()
    np.testing.assert_allclose(got, np.einsum(equation, *arrays))


def test_einsum_broadcasts_axes_of_size_one():
    a, b = normal(1, 3), normal(4, 3)
    got = tx.einsum("ij,ij->i", tx.tensor(a), tx.tensor(b)).numpy()
    np.testing.assert_allclose(got, (a * b).sum(axis=1))


def test_einsum_takes_operands_in_a_list():
    a, b = tx.ones(2, 3), tx.ones(3, 4)
    assert tx.equal(tx.einsum("ij,jk", [a, b]), a @ b)
    assert tx.equal(tx.einsum(a, [0, 1], b, [1, 2]), a @ b)


# ---- Fourier transforms


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("size", [7, 8])
def test_transforms_come_back(norm, size):
    x = tx.tensor(normal(3, size))
    back = tx.fft.irfft(tx.fft.rfft(x, norm=norm), size, norm=norm)
    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)
    np.testing.assert_allclose(tx.fft.ifft2(tx.fft.fft2(x)).real.numpy(), x.numpy(), atol=1e-12)
    np.testing.assert_allclose(tx.fft.hfft(tx.fft.ihfft(x), size).numpy(), x.numpy(), atol=1e-12)


def test_single_precision_stays_single():
    assert tx.fft.fft(tx.ones(4)).dtype is tx.complex64
    assert tx.fft.rfft(tx.ones(4, dtype=tx.int64)).dtype is tx.complex64
    assert tx.fft.irfft(tx.ones(4, dtype=tx.complex128)).dtype is tx.float64


def test_stft_comes_back():
    x = tx.tensor(normal(2, 50))
    window = tx.tensor(np.hanning(9)[:-1] + 0.1)
    spectra = tx.stft(x, 8, window=window, return_complex=True)
    back = tx.istft(spectra, 8, window=window, length=50)
    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)


def test_istft_refuses_windows_that_leave_holes():
    spectra = tx.ones(3, 5, dtype=tx.complex64)
    window = tx.tensor([0.0, 1.0, 0.0, 0.0])
    with pytest.raises(LinearAlgebraError, match="no weight"):
        tx.istft(spectra, 4, 4, window=window)


def test_stft_says_what_is_wrong():
    with pytest.raises(tx.ThixoError, match="return_complex is missing"):
        tx.stft(tx.ones(9), 4)
    with pytest.raises(ShapeError, match="1 or 2 axes"):
        tx.stft(tx.ones(2, 2, 9), 4, return_complex=True)


@pytest.mark.parametrize("shape", [(218, 63, 226), (107, 68, 127), (15, 64, 33), (300, 60, 500)])
def test_products_of_bfloat16_are_the_same_on_any_threads(shape):
    m, k, n = shape
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-3, 4, s).astype(np.float32) for s in ((3, m, k), (3, k, n), (n,)))
    x, y, z = (tx.tensor(v).bfloat16() for v in (a, b, c))
    wanted = tx.tensor(a @ b).bfloat16().float().numpy()
    with_bias = tx.tensor(a[0] @ b[0] + c).bfloat16().float().numpy()
    before = tx.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            tx.set_num_threads(threads)
            np.testing.assert_array_equal((x @ y).float().numpy(), wanted)
            np.testing.assert_array_equal(tx.addmm(z, x[0], y[0]).float().numpy(), with_bias)
    finally:
        tx.set_num_threads(before)
