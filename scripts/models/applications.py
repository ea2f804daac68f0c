"""Image classifiers of Keras Applications, at image sizes that keep one run on one core below about 0.2 s
(depthwise convolutions are slow there)."""

import keras

from .keras_models import from_model
from .registry import add

# model, family, constructor, image size, batch sizes
ROWS = [
    ("resnet50", "resnet", "ResNet50", 128, (1, 4)),
    ("resnet101", "resnet", "ResNet101", 96, (1,)),
    ("resnet50v2", "resnet", "ResNet50V2", 112, (1, 8)),
    ("vgg16", "vgg", "VGG16", 64, (1, 4)),
    ("densenet121", "densenet", "DenseNet121", 112, (1, 4)),
    ("inception_v3", "inception", "InceptionV3", 128, (1, 4)),
    ("inception_resnet_v2", "inception", "InceptionResNetV2", 96, (1,)),
    ("xception", "xception", "Xception", 72, (1, 2)),
    ("mobilenet", "mobilenet", "MobileNet", 96, (1, 4)),
    ("mobilenet_v2", "mobilenet", "MobileNetV2", 96, (1, 4)),
    ("mobilenet_v3_small", "mobilenet", "MobileNetV3Small", 112, (1, 4)),
    ("mobilenet_v3_large", "mobilenet", "MobileNetV3Large", 80, (1, 2)),
    ("efficientnet_b0", "efficientnet", "EfficientNetB0", 80, (1, 2)),
    ("efficientnet_b2", "efficientnet", "EfficientNetB2", 64, (2,)),
    ("efficientnet_v2_b0", "efficientnet", "EfficientNetV2B0", 80, (1, 2)),
    ("efficientnet_v2_s", "efficientnet", "EfficientNetV2S", 64, (1,)),
    ("nasnet_mobile", "nasnet", "NASNetMobile", 64, (1,)),
    ("convnext_tiny", "convnext", "ConvNeXtTiny", 64, (1, 2)),
]


def make(constructor: str, size: int, batch: int):
    model = getattr(keras.applications, constructor)(
        weights=None, input_shape=(size, size, 3), classes=1000, classifier_activation="softmax"
    )
    return from_model(model, batch)


for _model, _family, _constructor, _size, _batches in ROWS:
    add(
        _model,
        _family,
        _batches,
        "keras",
        f"Keras Applications {_constructor}, {_size}x{_size} images, 1000 classes",
        lambda batch, c=_constructor, s=_size: make(c, s, batch),
    )
