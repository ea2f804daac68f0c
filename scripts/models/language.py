"""Language, speech and protein models of KerasHub at reduced depth and width."""

import keras_hub
from program_parts import Program, f32, i32

from .keras_models import from_call, from_model, input_shapes
from .registry import add

hub = keras_hub.models


def encoder(layers: int, heads: int, width: int, vocabulary: int = 4000) -> dict:
    return {
        "vocabulary_size": vocabulary,
        "num_layers": layers,
        "num_heads": heads,
        "hidden_dim": width,
        "intermediate_dim": 4 * width,
    }


def decoder(layers: int, heads: int, groups: int, width: int, hidden: int) -> dict:
    """Grouped-query decoders: `groups` key-value heads."""
    return {
        "vocabulary_size": 4000,
        "num_layers": layers,
        "num_query_heads": heads,
        "num_key_value_heads": groups,
        "hidden_dim": width,
        "intermediate_dim": hidden,
    }


def sizes(options: dict, length: int) -> str:
    width = options.get("hidden_dim", options.get("hidden_size"))
    return f"{options['num_layers']} layers, width {width}, {length} tokens"


# model, family, KerasHub class, options, length, batch sizes
ROWS = [
    ("bert_small", "bert", hub.BertBackbone, encoder(4, 8, 512), 64, (1, 4)),
    ("bert_tiny", "bert", hub.BertBackbone, encoder(2, 2, 128), 128, (1, 8)),
    ("roberta", "bert", hub.RobertaBackbone, encoder(3, 6, 384) | {"max_sequence_length": 128}, 96, (2,)),
    ("albert", "bert", hub.AlbertBackbone, encoder(4, 4, 256) | {"embedding_dim": 64}, 128, (1, 4)),
    ("distilbert", "bert", hub.DistilBertBackbone, encoder(2, 12, 768), 32, (1,)),
    (
        "electra",
        "bert",
        hub.ElectraBackbone,
        {
            "vocab_size": 4000,
            "num_layers": 4,
            "num_heads": 4,
            "hidden_dim": 256,
            "embedding_dim": 128,
            "intermediate_dim": 1024,
        },
        64,
        (2,),
    ),
    ("deberta_v3", "deberta", hub.DebertaV3Backbone, encoder(2, 6, 384) | {"bucket_size": 32}, 64, (1, 4)),
    ("xlnet", "deberta", hub.XLNetBackbone, encoder(2, 4, 256), 64, (1,)),
    ("esm2", "protein", hub.ESM2Backbone, encoder(3, 8, 320, 33) | {"use_pre_layer_norm": True}, 96, (1, 4)),
    ("roformer", "bert", hub.RoformerV2Backbone, encoder(3, 6, 384) | {"head_size": 64}, 64, (2,)),
    ("t5_small", "seq2seq", hub.T5Backbone, encoder(2, 8, 256), 48, (1, 4)),
    ("bart", "seq2seq", hub.BartBackbone, encoder(2, 8, 384) | {"max_sequence_length": 128}, 48, (1, 4)),
    ("gpt2", "gpt", hub.GPT2Backbone, encoder(4, 8, 512) | {"max_sequence_length": 256}, 64, (1, 4)),
    ("opt", "gpt", hub.OPTBackbone, encoder(2, 12, 768) | {"max_sequence_length": 256}, 32, (1,)),
    ("bloom", "gpt", hub.BloomBackbone, encoder(3, 8, 256), 96, (2,)),
    ("gpt_neox", "gpt", hub.GPTNeoXBackbone, encoder(3, 6, 384) | {"max_sequence_length": 128}, 64, (1, 4)),
    (
        "falcon",
        "gpt",
        hub.FalconBackbone,
        {
            "vocabulary_size": 4000,
            "num_layers": 2,
            "num_attention_heads": 8,
            "hidden_dim": 512,
            "intermediate_dim": 2048,
        },
        48,
        (1,),
    ),
    ("llama", "llama", hub.LlamaBackbone, decoder(4, 8, 8, 512, 1376), 64, (1, 4)),
    ("llama3", "llama", hub.Llama3Backbone, decoder(3, 12, 4, 768, 2048), 32, (1,)),
    ("mistral", "llama", hub.MistralBackbone, decoder(3, 8, 2, 512, 1792) | {"sliding_window": 48}, 96, (1, 2)),
    ("gemma", "gemma", hub.GemmaBackbone, decoder(3, 4, 1, 512, 2048) | {"head_dim": 128}, 64, (1, 4)),
    (
        "gemma2",
        "gemma",
        hub.GemmaBackbone,
        decoder(2, 4, 2, 384, 1536)
        | {"head_dim": 96, "use_post_ffw_norm": True, "use_post_attention_norm": True, "final_logit_soft_cap": 30.0}
        | {"attention_logit_soft_cap": 50.0, "use_sliding_window_attention": True, "sliding_window_size": 32},
        64,
        (1,),
    ),
    ("phi3", "llama", hub.Phi3Backbone, decoder(3, 6, 6, 384, 1024), 64, (2,)),
    ("qwen2", "llama", hub.Qwen2Backbone, decoder(3, 7, 1, 448, 1216), 64, (1,)),
    ("qwen3", "llama", hub.Qwen3Backbone, decoder(3, 8, 2, 256, 768) | {"head_dim": 64}, 128, (1, 4)),
    ("mixtral", "moe", hub.MixtralBackbone, decoder(2, 8, 2, 256, 512) | {"num_experts": 4}, 48, (1, 4)),
    (
        "qwen3_moe",
        "moe",
        hub.Qwen3MoeBackbone,
        decoder(2, 4, 2, 256, 768) | {"moe_intermediate_dim": 192, "num_experts": 8, "top_k": 2, "head_dim": 64},
        64,
        (1, 2),
    ),
    ("gpt_oss", "moe", hub.GptOssBackbone, decoder(2, 8, 2, 256, 256) | {"num_experts": 4, "head_dim": 32}, 48, (1,)),
    (
        "rwkv7",
        "state_space",
        hub.RWKV7Backbone,
        {
            "hidden_size": 256,
            "head_size": 64,
            "num_layers": 2,
            "vocabulary_size": 4000,
            "intermediate_dim": 896,
            "gate_lora": 32,
            "mv_lora": 16,
            "aaa_lora": 16,
            "decay_lora": 16,
        },
        48,
        (1, 4),
    ),
    (
        "whisper",
        "speech",
        hub.WhisperBackbone,
        encoder(2, 6, 384) | {"max_encoder_sequence_length": 128, "max_decoder_sequence_length": 64},
        64,
        (1, 2),
    ),
]

for _model, _family, _class, _options, _length, _batches in ROWS:
    add(
        _model,
        _family,
        _batches,
        "keras-hub",
        f"KerasHub {_class.__name__}, {sizes(_options, _length)}",
        lambda batch, c=_class, o=_options, n=_length: from_model(c(**o), batch, n),
    )


def decode_step(causal_lm, backbone, heads: int, size: int, capacity: int, batch: int) -> Program:
    """One token through a decoder with a key-value cache of `capacity` positions."""
    model = causal_lm(backbone=backbone, preprocessor=None)
    cache = f32(batch, backbone.num_layers, 2, capacity, heads, size)

    def call(tokens, values, index):
        logits, _, values = model.call_with_cache(tokens, values, index)
        return logits, values

    return from_call(model, call, (i32(batch, 1), cache, i32()))


def gpt2_decode(batch: int) -> Program:
    backbone = hub.GPT2Backbone(**encoder(4, 8, 512), max_sequence_length=256)
    return decode_step(hub.GPT2CausalLM, backbone, 8, 64, 256, batch)


def llama_decode(batch: int) -> Program:
    return decode_step(hub.LlamaCausalLM, hub.LlamaBackbone(**decoder(4, 8, 2, 512, 1376)), 2, 64, 192, batch)


def gemma_decode(batch: int) -> Program:
    backbone = hub.GemmaBackbone(**decoder(3, 4, 1, 512, 2048), head_dim=128)
    return decode_step(hub.GemmaCausalLM, backbone, 1, 128, 320, batch)


add(
    "gpt2_decode",
    "decode",
    (1, 8),
    "keras-hub",
    "one GPT-2 token with a cache of 256, 4 layers, width 512",
    gpt2_decode,
)
add(
    "llama_decode",
    "decode",
    (1, 4),
    "keras-hub",
    "one Llama token with a cache of 192, 4 layers, width 512",
    llama_decode,
)
add(
    "gemma_decode",
    "decode",
    (1,),
    "keras-hub",
    "one Gemma token with a cache of 320, 3 layers, width 512",
    gemma_decode,
)


def gpt2_logits(batch: int) -> Program:
    model = hub.GPT2CausalLM(
        backbone=hub.GPT2Backbone(**encoder(2, 6, 384, 8000), max_sequence_length=128), preprocessor=None
    )
    return from_call(model, lambda x: model(x, training=False), (input_shapes(model, batch, 80),))


add("gpt2_logits", "gpt", (1, 2), "keras-hub", "GPT-2 with its language head of 8000 tokens, 2 layers", gpt2_logits)
