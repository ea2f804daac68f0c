"""Image generators: diffusion U-Nets and transformers, autoencoders, GAN generators, flows, a radiance field."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
from keras import layers
from program_parts import Program, dense, dense_shapes, f32, gelu, i32

from .keras_models import from_model
from .registry import program


def time_embedding(steps, width: int):
    """Sinusoids of the step, [batch] -> [batch, width]."""
    frequencies = jnp.exp(-np.log(1e4) * jnp.arange(width // 2) / (width // 2))
    angles = steps[:, None] * frequencies
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)


class TimeEmbedding(layers.Layer):
    def call(self, steps):
        return time_embedding(steps, 64)

    def compute_output_shape(self, shape):
        return (shape[0], 64)


def residual(x, channels: int, time):
    h = layers.Conv2D(channels, 3, padding="same")(layers.Activation("silu")(layers.GroupNormalization(8)(x)))
    h = h + layers.Reshape((1, 1, channels))(layers.Dense(channels)(time))
    h = layers.Conv2D(channels, 3, padding="same")(layers.Activation("silu")(layers.GroupNormalization(8)(h)))
    return h + (x if x.shape[-1] == channels else layers.Conv2D(channels, 1)(x))


def attention(x, context=None):
    height, width, channels = x.shape[1:]
    h = layers.Reshape((height * width, channels))(layers.GroupNormalization(8)(x))
    h = layers.MultiHeadAttention(4, channels // 4)(h, h if context is None else context)
    return x + layers.Reshape((height, width, channels))(h)


def unet(size: int, channels: int, widths: tuple, attend_below: int, context=None, inputs_channels: int = 3):
    images = keras.Input((size, size, inputs_channels))
    steps = keras.Input(())
    time = layers.Dense(4 * channels, activation="silu")(TimeEmbedding()(steps))
    x = layers.Conv2D(channels, 3, padding="same")(images)
    skips = []
    for width in widths:
        x = residual(x, channels * width, time)
        x = attention(x, context) if x.shape[1] <= attend_below else x
        skips.append(x)
        x = layers.Conv2D(channels * width, 3, strides=2, padding="same")(x)
    x = residual(attention(residual(x, x.shape[-1], time)), x.shape[-1], time)
    for width, skip in zip(reversed(widths), reversed(skips), strict=True):
        x = layers.Conv2D(channels * width, 3, padding="same")(layers.UpSampling2D()(x))
        x = residual(layers.Concatenate()([x, skip]), channels * width, time)
        x = attention(x, context) if x.shape[1] <= attend_below else x
    x = layers.Activation("silu")(layers.GroupNormalization(8)(x))
    outputs = layers.Conv2D(inputs_channels, 3, padding="same")(x)
    return keras.Model((images, steps) if context is None else (images, steps, context), outputs)


@program("diffusion", (1, 4), "DDPM U-Net, 32x32 images, widths 48-96-96, attention at 16x16", "keras")
def ddpm_unet(batch: int) -> Program:
    return from_model(unet(32, 48, (1, 2, 2), 16), batch)


@program("diffusion", (1, 2), "latent diffusion U-Net with cross-attention to 24 tokens, 16x16x4 latents", "keras")
def latent_unet(batch: int) -> Program:
    return from_model(unet(16, 64, (1, 2, 3), 16, keras.Input((24, 256)), 4), batch)


@program("diffusion", (1,), "U-Net without attention, 64x64 images, for super-resolution", "keras")
def sr_unet(batch: int) -> Program:
    return from_model(unet(64, 32, (1, 2, 4), 0, None, 6), batch)


@program("diffusion", (1, 4), "diffusion transformer with adaptive layer norm, 64 patches, 4 blocks, width 256")
def dit(batch: int) -> Program:
    width, heads, tokens = 256, 4, 64

    def normalised(x, scale, shift):
        mean = x.mean(-1, keepdims=True)
        x = (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)
        return x * (1 + scale[:, None]) + shift[:, None]

    def run(w, patches, steps, labels):
        x = dense(w["patches"], patches) + w["positions"]
        c = dense(w["time"], time_embedding(steps.astype(jnp.float32), width)) + w["labels"][labels]
        c = jax.nn.silu(c)
        for layer in w["blocks"]:
            shift1, scale1, gate1, shift2, scale2, gate2 = jnp.split(dense(layer["modulation"], c), 6, axis=-1)
            qkv = dense(layer["qkv"], normalised(x, scale1, shift1)).reshape(batch, tokens, 3, heads, width // heads)
            h = jax.nn.dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2])
            x = x + gate1[:, None] * dense(layer["out"], h.reshape(batch, tokens, width))
            h = gelu(dense(layer["up"], normalised(x, scale2, shift2)))
            x = x + gate2[:, None] * dense(layer["down"], h)
        return dense(w["final"], x)

    block = {
        "modulation": dense_shapes(width, 6 * width),
        "qkv": dense_shapes(width, 3 * width),
        "out": dense_shapes(width, width),
        "up": dense_shapes(width, 4 * width),
        "down": dense_shapes(4 * width, width),
    }
    weights = {
        "patches": dense_shapes(16, width),
        "positions": f32(tokens, width),
        "time": dense_shapes(width, width),
        "labels": f32(1000, width),
        "blocks": [block] * 4,
        "final": dense_shapes(width, 32),
    }
    return Program(run, weights, (f32(batch, tokens, 16), i32(batch), i32(batch)))


@program("autoencoder", (1, 4), "convolutional VAE encoder and decoder, 64x64 images, given noise", "keras")
def conv_vae(batch: int) -> Program:
    images, noise = keras.Input((64, 64, 3)), keras.Input((64,))
    x = images
    for channels in (32, 64, 128):
        x = layers.Conv2D(channels, 4, strides=2, padding="same", activation="relu")(x)
    x = layers.Flatten()(x)
    mean, log_variance = layers.Dense(64)(x), layers.Dense(64)(x)
    z = mean + keras.ops.exp(0.5 * keras.ops.tanh(log_variance)) * noise
    x = layers.Reshape((8, 8, 64))(layers.Dense(8 * 8 * 64, activation="relu")(z))
    for channels in (64, 32, 16):
        x = layers.Conv2DTranspose(channels, 4, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2D(3, 3, padding="same", activation="sigmoid")(x)
    return from_model(keras.Model((images, noise), (x, mean, log_variance)), batch)


@program("autoencoder", (1, 4), "vector-quantised autoencoder, 32x32 images, 256 codes")
def vq_vae(batch: int) -> Program:
    def conv(w, x, stride=1):
        return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def run(w, images):
        x = jax.nn.relu(conv(w["down1"], images, 2))
        x = jax.nn.relu(conv(w["down2"], x, 2))
        x = conv(w["code"], x)
        flat = x.reshape(-1, 32)
        distances = jnp.square(flat).sum(-1, keepdims=True) - 2 * flat @ w["codes"].T + jnp.square(w["codes"]).sum(-1)
        codes = jnp.argmin(distances, axis=-1)
        x = w["codes"][codes].reshape(x.shape)
        x = jax.nn.relu(conv(w["decode"], x))
        for name in ("up1", "up2"):
            x = jax.nn.relu(conv(w[name], jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)))
        return conv(w["image"], x), codes

    weights = {
        "down1": f32(4, 4, 3, 48),
        "down2": f32(4, 4, 48, 96),
        "code": f32(1, 1, 96, 32),
        "codes": f32(256, 32),
        "decode": f32(3, 3, 32, 96),
        "up1": f32(3, 3, 96, 48),
        "up2": f32(3, 3, 48, 32),
        "image": f32(3, 3, 32, 3),
    }
    return Program(run, weights, (f32(batch, 32, 32, 3),))


@program("gan", (1, 8), "DCGAN generator: transposed convolutions with batch norm to 64x64", "keras")
def dcgan(batch: int) -> Program:
    inputs = keras.Input((100,))
    x = layers.Reshape((4, 4, 192))(layers.Dense(4 * 4 * 192)(inputs))
    for channels in (128, 64, 32, 16):
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv2DTranspose(channels, 4, strides=2, padding="same", use_bias=False)(x)
    return from_model(keras.Model(inputs, layers.Conv2D(3, 3, padding="same", activation="tanh")(x)), batch)


@program("gan", (1, 4), "StyleGAN2-like synthesis: modulated 3x3 convolutions, noise, to 32x32")
def style_gan(batch: int) -> Program:
    channels, stages = 64, 3

    def modulated(w, x, style, noise):
        scale = dense(w["style"], style) + 1.0  # [batch, channels in]
        kernel = w["kernel"][None] * scale[:, None, None, :, None]
        kernel = kernel * jax.lax.rsqrt(jnp.square(kernel).sum((1, 2, 3), keepdims=True) + 1e-8)
        x = jax.vmap(
            lambda image, k: jax.lax.conv_general_dilated(
                image[None], k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )[0]
        )(x, kernel)
        return jax.nn.leaky_relu(x + w["noise"] * noise + w["bias"], 0.2)

    def run(w, z, noises):
        style = z * jax.lax.rsqrt(jnp.square(z).mean(-1, keepdims=True) + 1e-8)
        for layer in w["mapping"]:
            style = jax.nn.leaky_relu(dense(layer, style), 0.2)
        x = jnp.broadcast_to(w["start"], (batch, 4, 4, channels))
        image = 0.0
        for layer, noise in zip(w["stages"], noises, strict=True):
            size = 2 * x.shape[1]
            x = modulated(layer, jax.image.resize(x, (batch, size, size, channels), "bilinear"), style, noise)
            rgb = dense(layer["rgb"], x)
            image = rgb if isinstance(image, float) else jax.image.resize(image, rgb.shape, "bilinear") + rgb
        return image

    stage = {
        "style": dense_shapes(128, channels),
        "kernel": f32(3, 3, channels, channels),
        "noise": f32(),
        "bias": f32(channels),
        "rgb": dense_shapes(channels, 3),
    }
    weights = {"mapping": [dense_shapes(128, 128)] * 4, "start": f32(4, 4, channels), "stages": [stage] * stages}
    return Program(run, weights, (f32(batch, 128), [f32(batch, 4 * 2**k, 4 * 2**k, 1) for k in (1, 2, 3)]))


@program("flow", (16, 256), "RealNVP: 6 affine couplings on 64 values, with the log-determinant")
def real_nvp(batch: int) -> Program:
    def run(w, x):
        log_determinant = jnp.zeros(batch)
        for k, layer in enumerate(w):
            a, b = jnp.split(x[:, ::-1] if k % 2 else x, 2, axis=-1)
            h = jnp.tanh(dense(layer["up"], a))
            log_scale, shift = jnp.split(dense(layer["down"], jnp.tanh(dense(layer["middle"], h))), 2, axis=-1)
            log_scale = jnp.tanh(log_scale)
            x = jnp.concatenate([a, b * jnp.exp(log_scale) + shift], axis=-1)
            log_determinant = log_determinant + log_scale.sum(-1)
        return x, log_determinant - 0.5 * jnp.square(x).sum(-1)

    layer = {"up": dense_shapes(32, 128), "middle": dense_shapes(128, 128), "down": dense_shapes(128, 64)}
    return Program(run, [layer] * 6, (f32(batch, 64),))


@program("radiance_field", (64, 256), "NeRF: encoded samples along rays, 5-layer perceptron, volume rendering")
def nerf(batch: int) -> Program:
    samples, width = 32, 128

    def encode(x, count):
        angles = x[..., None] * 2.0 ** jnp.arange(count)
        return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1).reshape(*x.shape[:-1], -1)

    def run(w, origins, directions, jitter):
        depths = (jnp.arange(samples) + jax.nn.sigmoid(jitter)) / samples * 4.0 + 2.0  # [rays, samples]
        points = origins[:, None] + depths[..., None] * directions[:, None]
        h = encode(points, 6)
        for layer in w["layers"]:
            h = jax.nn.relu(dense(layer, h))
        density = jax.nn.softplus(dense(w["density"], h))[..., 0]
        views = jnp.broadcast_to(encode(directions, 4)[:, None], (batch, samples, 24))
        colours = jax.nn.sigmoid(dense(w["colour"], jnp.concatenate([h, views], -1)))
        steps = jnp.diff(depths, axis=-1, append=depths[:, -1:] + 0.1)
        alpha = 1.0 - jnp.exp(-density * steps)
        light = jnp.cumprod(1.0 - alpha + 1e-10, axis=-1)
        weights = alpha * jnp.concatenate([jnp.ones((batch, 1)), light[:, :-1]], -1)
        return (weights[..., None] * colours).sum(1), (weights * depths).sum(1)

    weights = {
        "layers": [dense_shapes(36, width)] + [dense_shapes(width, width)] * 4,
        "density": dense_shapes(width, 1),
        "colour": dense_shapes(width + 24, 3),
    }
    return Program(run, weights, (f32(batch, 3), f32(batch, 3), f32(batch, samples)))


@program("super_resolution", (1, 2), "EDSR: 6 residual blocks and a 2x pixel shuffle, 48x48 images", "keras")
def edsr(batch: int) -> Program:
    inputs = keras.Input((48, 48, 3))
    x = start = layers.Conv2D(48, 3, padding="same")(inputs)
    for _ in range(6):
        h = layers.Conv2D(48, 3, padding="same", activation="relu")(x)
        x = x + 0.1 * layers.Conv2D(48, 3, padding="same")(h)
    x = layers.Conv2D(4 * 48, 3, padding="same")(x + start)
    x = layers.Reshape((48, 48, 2, 2, 48))(x)
    x = layers.Reshape((96, 96, 48))(layers.Permute((1, 3, 2, 4, 5))(x))
    return from_model(keras.Model(inputs, layers.Conv2D(3, 3, padding="same")(x)), batch)


@program("super_resolution", (1, 2), "U-Net of medical segmentation, 64x64 images, widths 16-128", "keras")
def segmentation_unet(batch: int) -> Program:
    x = inputs = keras.Input((64, 64, 1))
    skips = []
    for channels in (16, 32, 64):
        for _ in range(2):
            x = layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(128, 3, padding="same", activation="relu")(x)
    for channels, skip in zip((64, 32, 16), reversed(skips), strict=True):
        x = layers.Conv2DTranspose(channels, 2, strides=2)(x)
        x = layers.Concatenate()([x, skip])
        for _ in range(2):
            x = layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
    return from_model(keras.Model(inputs, layers.Conv2D(4, 1, activation="softmax")(x)), batch)
