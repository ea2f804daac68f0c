"""What the models in JAX share."""

import jax

EPSILON = 1e-5  # of all normalisations but RMSNorm's


def convolve(kernel, x, stride: int = 1, groups: int = 1):
    """[batch, height, width, features], padded by half the window on every side as PyTorch does."""
    around = [(size // 2, size // 2) for size in kernel.shape[:-2]]
    numbers = ("NHWC", "HWIO", "NHWC") if kernel.ndim == 4 else ("NWC", "WIO", "NWC")
    strides = (stride,) * len(around)
    return jax.lax.conv_general_dilated(
        x, kernel, strides, around, dimension_numbers=numbers, feature_group_count=groups
    )
