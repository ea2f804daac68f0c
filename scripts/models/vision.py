"""Vision transformers, segmentation, detection and image-text models of KerasHub, and an MLP-Mixer."""

import jax.numpy as jnp
import keras_hub
from program_parts import Program, dense, dense_shapes, f32, gelu, layer_norm, norm_shapes

from .keras_models import from_model
from .registry import add, program

hub = keras_hub.models


def vit(patch: int, layers: int, heads: int, width: int, size: int):
    return hub.ViTBackbone(
        image_shape=(size, size, 3),
        patch_size=patch,
        num_layers=layers,
        num_heads=heads,
        hidden_dim=width,
        mlp_dim=4 * width,
    )


def deit():
    return hub.DeiTBackbone(
        image_shape=(112, 112, 3), patch_size=16, num_layers=4, num_heads=3, hidden_dim=192, intermediate_dim=768
    )


def dinov2(swiglu: bool):
    return hub.DINOV2Backbone(
        patch_size=14,
        num_layers=3,
        hidden_dim=256,
        num_heads=4,
        intermediate_dim=1024,
        num_register_tokens=4,
        use_swiglu_ffn=swiglu,
        image_shape=(112, 112, 3),
        position_embedding_shape=(112, 112, 3),
    )


def swin(depths: tuple, width: int, size: int, window: int):
    return hub.SwinTransformerBackbone(
        image_shape=(size, size, 3),
        embed_dim=width,
        depths=depths,
        num_heads=tuple(3 * 2**k for k in range(len(depths))),
        window_size=window,
        drop_path=0.0,
    )


def mit(size: int):
    return hub.MiTBackbone(
        layerwise_depths=[1, 1, 1, 1],
        num_layers=4,
        layerwise_num_heads=[1, 2, 5, 8],
        layerwise_sr_ratios=[8, 4, 2, 1],
        max_drop_path_rate=0.0,
        layerwise_patch_sizes=[7, 3, 3, 3],
        layerwise_strides=[4, 2, 2, 2],
        image_shape=(size, size, 3),
        hidden_dims=[32, 64, 160, 256],
    )


def segformer():
    return hub.SegFormerBackbone(image_encoder=mit(128), projection_filters=128)


def resnet18(size: int, pre_activation: bool = False):
    return hub.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[7],
        stackwise_num_filters=[64, 128, 256, 512],
        stackwise_num_blocks=[2, 2, 2, 2],
        stackwise_num_strides=[1, 2, 2, 2],
        block_type="basic_block",
        use_pre_activation=pre_activation,
        image_shape=(size, size, 3),
    )


def resnet_vd():
    return hub.ResNetBackbone(
        input_conv_filters=[32, 32, 64],
        input_conv_kernel_sizes=[3, 3, 3],
        stackwise_num_filters=[64, 128, 256, 512],
        stackwise_num_blocks=[2, 2, 2, 2],
        stackwise_num_strides=[1, 2, 2, 2],
        block_type="bottleneck_block_vd",
        image_shape=(96, 96, 3),
    )


def deeplab():
    return hub.DeepLabV3Backbone(
        image_encoder=resnet18(96),
        spatial_pyramid_pooling_key="P4",
        upsampling_size=4,
        dilation_rates=[6, 12, 18],
        low_level_feature_key="P2",
        projection_filters=48,
        image_shape=(96, 96, 3),
    )


def retinanet():
    return hub.RetinaNetBackbone(
        image_encoder=resnet18(128), min_level=3, max_level=5, use_p5=False, image_shape=(128, 128, 3)
    )


def cspdarknet():
    return hub.CSPNetBackbone(
        stem_filters=32,
        stem_kernel_size=3,
        stem_strides=1,
        stackwise_depth=[1, 2, 3, 2],
        stackwise_strides=2,
        stackwise_num_filters=[64, 128, 256, 512],
        block_type="dark_block",
        stage_type="csp",
        bottle_ratio=[0.5, 1.0],
        block_ratio=[1.0, 0.5],
        expand_ratio=[2.0, 1.0],
        down_growth=True,
        image_shape=(96, 96, 3),
    )


def vitdet():
    return hub.ViTDetBackbone(
        hidden_size=256,
        num_layers=3,
        intermediate_dim=1024,
        num_heads=4,
        global_attention_layer_indices=[2],
        image_shape=(128, 128, 3),
        patch_size=16,
        num_output_channels=128,
        window_size=4,
    )


# model, family, maker, about, batch sizes
ROWS = [
    ("vit_tiny", "vit", lambda: vit(16, 6, 3, 192, 160), "ViT tiny, 6 layers, 160x160 images", (1, 4)),
    ("vit_small", "vit", lambda: vit(16, 4, 6, 384, 112), "ViT small, 4 layers, 112x112 images", (1, 4)),
    ("deit_tiny", "vit", deit, "DeiT tiny, 4 layers, 112x112 images", (1, 8)),
    ("dinov2", "vit", lambda: dinov2(False), "DINOv2, 3 layers, width 256, 4 registers", (1, 4)),
    ("dinov2_swiglu", "vit", lambda: dinov2(True), "DINOv2 with SwiGLU, 3 layers, width 256", (2,)),
    ("vitdet", "vit", vitdet, "windowed ViT of SAM with relative positions, 3 layers, 128x128 images", (1, 2)),
    (
        "swin_tiny",
        "swin",
        lambda: swin((1, 1, 2), 96, 112, 7),
        "Swin, depths 1-1-2, windows of 7, 112x112 images",
        (1, 2),
    ),
    ("swin_micro", "swin", lambda: swin((2, 2, 2), 48, 96, 4), "Swin, width 48, windows of 4, 96x96 images", (1, 4)),
    ("mit_b0", "segmentation", lambda: mit(128), "mix transformer, 4 stages, 128x128 images", (1, 4)),
    ("segformer", "segmentation", segformer, "SegFormer on a mix transformer, 128x128 images", (1,)),
    ("deeplab_v3", "segmentation", deeplab, "DeepLabV3+ on ResNet-18, 96x96 images", (1, 2)),
    ("retinanet", "detection", retinanet, "RetinaNet feature pyramid on ResNet-18, 128x128 images", (1, 2)),
    ("resnet18", "resnet", lambda: resnet18(128), "ResNet-18, 128x128 images", (1, 8)),
    ("resnet18_v2", "resnet", lambda: resnet18(96, True), "ResNet-18 with pre-activation, 96x96 images", (2,)),
    ("resnet_vd", "resnet", resnet_vd, "ResNet-vd, 26 layers, 96x96 images", (1,)),
    ("cspdarknet", "cspnet", cspdarknet, "CSPDarkNet of YOLO, 96x96 images", (1, 4)),
]

for _model, _family, _make, _about, _batches in ROWS:
    add(_model, _family, _batches, "keras-hub", f"KerasHub {_about}", lambda batch, m=_make: from_model(m(), batch))


@program("mixer", (1, 4), "MLP-Mixer, 4 blocks, 112x112 images, width 256")
def mlp_mixer(batch: int) -> Program:
    patches, width, layers = 49, 256, 4

    def run(w, images):
        x = images.reshape(batch, 7, 16, 7, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(batch, patches, 768)
        x = dense(w["patches"], x)
        for layer in w["blocks"]:
            h = layer_norm(layer["norm1"], x).transpose(0, 2, 1)
            x = x + dense(layer["tokens2"], gelu(dense(layer["tokens1"], h))).transpose(0, 2, 1)
            x = x + dense(layer["channels2"], gelu(dense(layer["channels1"], layer_norm(layer["norm2"], x))))
        return dense(w["head"], layer_norm(w["norm"], x).mean(1))

    block = {
        "norm1": norm_shapes(width),
        "tokens1": dense_shapes(patches, 128),
        "tokens2": dense_shapes(128, patches),
        "norm2": norm_shapes(width),
        "channels1": dense_shapes(width, 1024),
        "channels2": dense_shapes(1024, width),
    }
    ends = {"patches": dense_shapes(768, width), "norm": norm_shapes(width), "head": dense_shapes(width, 1000)}
    return Program(run, ends | {"blocks": [block] * layers}, (f32(batch, 112, 112, 3),))


@program("mixer", (1, 8), "gMLP: spatial gating units, 4 blocks, 64 tokens, width 192")
def gmlp(batch: int) -> Program:
    tokens, width, hidden = 64, 192, 768

    def run(w, x):
        for layer in w:
            u, v = jnp.split(gelu(dense(layer["up"], layer_norm(layer["norm"], x))), 2, axis=-1)
            v = jnp.einsum("bnd,nm->bmd", layer_norm(layer["gate_norm"], v), layer["spatial"]) + 1.0
            x = x + dense(layer["down"], u * v)
        return x.mean(1)

    block = {
        "norm": norm_shapes(width),
        "up": dense_shapes(width, hidden),
        "gate_norm": norm_shapes(hidden // 2),
        "spatial": f32(tokens, tokens),
        "down": dense_shapes(hidden // 2, width),
    }
    return Program(run, [block] * 4, (f32(batch, tokens, width),))
