"""The other side of `host bench --peer`: the same model in PyTorch, trained on the same batches.

Started with a folder that holds

    spec.json             the [task] table, the optimizer with its groups, label smoothing, clipping, threads
    weights.safetensors   the model's weights at the start, under our names

It says in one line of JSON what it is, and then does what lines of JSON tell it:

    {"batches": FILE}             takes the next steps' batches from there: "<n>.inputs" and "<n>.targets" of each
    {"steps": N, "rates": RATES}  does N steps and answers with the seconds of each and its loss; RATES has for each
                                  step the learning rate and weight decay of each group, or is null
    {"evaluate": FILE}            answers with the mean loss over the batches in there, and the seconds that it took

It ends with its input. The step is what a PyTorch user would write who knows the fast forms: fused attention, the fused
AdamW, gradients set to none.
"""

import json
import math
import pathlib
import struct
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print(json.dumps({"error": f"PyTorch cannot be imported: {error}"}), flush=True)
    sys.exit(1)

DTYPES = {"F32": torch.float32, "I64": torch.int64, "I32": torch.int32}


def safetensors(path):
    """Tensors by name. The format is a length, a JSON header and the bytes: no package is needed for it."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(body, dtype=torch.uint8)[begin:end].clone().view(DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


class Block(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width, bias=bias)
        self.attention_in = nn.Linear(width, 3 * width, bias=bias)
        self.attention_out = nn.Linear(width, width, bias=bias)
        self.feed_forward_norm = nn.LayerNorm(width, bias=bias)
        self.feed_forward_in = nn.Linear(width, 4 * width, bias=bias)
        self.feed_forward_out = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        batch, context, width = x.shape
        qkv = self.attention_in(self.attention_norm(x)).split(width, dim=2)
        q, k, v = (one.view(batch, context, self.heads, width // self.heads).transpose(1, 2) for one in qkv)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attention_out(attended.transpose(1, 2).reshape(batch, context, width))
        return x + self.feed_forward_out(F.gelu(self.feed_forward_in(self.feed_forward_norm(x))))


class Transformer(nn.Module):
    """`kind = "language-model"`: pre-norm blocks, learned positions, a tied or untied head."""

    def __init__(self, task, weights):
        super().__init__()
        vocabulary, width = weights["tokens.weight"].shape
        bias, heads = "norm.beta" in weights, task.get("heads", 4)
        layers = sum(name.endswith(".attention_in.weight") for name in weights)
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.empty(weights["positions"].shape))
        self.blocks = nn.ModuleList(Block(width, heads, bias) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=bias)
        self.head = nn.Linear(width, vocabulary, bias=bias) if "head.weight" in weights else None

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x).flatten(0, 1)
        return F.linear(x, self.tokens.weight) if self.head is None else self.head(x)


class Classifier(nn.Module):
    """`kind = "classification"`: 3 x 3 convolutions, halved after every second one, then fully connected layers."""

    def __init__(self, task, weights):
        super().__init__()
        self.image = task.get("image")

        def shapes(kind):
            names = (name for name in weights if name.startswith(kind) and name.endswith(".weight"))
            return [weights[name].shape for name in sorted(names, key=lambda name: int(name.split(".")[1]))]

        self.convolutions = nn.ModuleList(nn.Conv2d(i, o, 3, padding=1) for o, i, *_ in shapes("convolutions."))
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in shapes("layers."))

    def forward(self, x):
        if self.convolutions:
            x = x.view(-1, *self.image)
            for at, convolution in enumerate(self.convolutions):
                x = F.relu(convolution(x))
                if at % 2 == 1:
                    x = F.max_pool2d(x, 2)
            x = x.flatten(1)
        for at, layer in enumerate(self.layers):
            x = layer(F.relu(x) if at > 0 else x)
        return x


MODELS = {"language-model": Transformer, "classification": Classifier}


def names(model):
    """Our name of each parameter, and whether it lies transposed in burn."""
    of = {id(module.weight): module for module in model.modules() if isinstance(module, (nn.Linear, nn.LayerNorm))}
    norms = {name for name, module in model.named_modules() if isinstance(module, nn.LayerNorm)}
    for name, parameter in model.named_parameters():
        layer, _, last = name.rpartition(".")
        ours = f"{layer}.{'gamma' if last == 'weight' else 'beta'}" if layer in norms else name
        yield ours, parameter, isinstance(of.get(id(parameter)), nn.Linear)


def load(model, weights):
    """Copies all weights."""
    left = dict(weights)
    with torch.no_grad():
        for ours, parameter, transposed in names(model):
            value = left.pop(ours)
            parameter.copy_(value.t() if transposed else value)
    if left:
        raise ValueError(f"weights that the model does not have: {', '.join(left)}")


def optimizer(model, spec):
    """The rule with the same groups."""
    groups = [{"params": [], "lr": one["learning-rate"], "weight_decay": one["weight-decay"]} for one in spec["groups"]]
    for ours, parameter, _ in names(model):
        groups[spec["members"][ours]]["params"].append(parameter)
    rule = spec["optimizer"]
    if rule["kind"] == "adamw":
        return torch.optim.AdamW(groups, betas=(rule["beta1"], rule["beta2"]), eps=rule["epsilon"], fused=True)
    options = {key: rule[key] for key in ("momentum", "dampening", "nesterov")}
    return torch.optim.SGD(groups, lr=0.0, fused=True, **options)


def pairs(path, device):
    """Inputs and targets of each batch in a file."""
    tensors = safetensors(pathlib.Path(path))
    return [[tensors[f"{at}.{name}"].to(device) for name in ("inputs", "targets")] for at in range(len(tensors) // 2)]


def answer(words):
    print(json.dumps(words), flush=True)


def finite(loss):
    return loss if math.isfinite(loss) else None


class Trainer:
    def __init__(self, spec, weights):
        self.spec = spec
        self.model = MODELS[spec["task"]["kind"]](spec["task"], weights)
        load(self.model, weights)
        self.model.to(spec["device"])
        self.update = optimizer(self.model, spec)
        self.parameters = list(self.model.parameters())
        self.forward = torch.compile(self.model) if spec["compile"] else self.model
        device = spec["device"].partition(":")[0]
        self.half = torch.autocast(device, dtype=torch.bfloat16, enabled=spec["task"].get("precision") == "bf16")
        self.batches, self.at = [], 0
        self.validation = None

    def take(self, path):
        self.batches, self.at = pairs(path, self.spec["device"]), 0

    def step(self):
        inputs, targets = self.batches[self.at % len(self.batches)]
        self.at += 1
        with self.half:
            loss = F.cross_entropy(self.forward(inputs), targets, label_smoothing=self.spec["label-smoothing"])
        loss.backward()
        if self.spec["clip-norm"] > 0.0:
            nn.utils.clip_grad_norm_(self.parameters, self.spec["clip-norm"])
        self.update.step()
        self.update.zero_grad(set_to_none=True)
        return loss.item()

    def steps(self, count, rates):
        seconds, losses = [], []
        for at in range(count):
            began = time.perf_counter()
            if rates is not None:
                for group, (rate, decay) in zip(self.update.param_groups, rates[at]):
                    group["lr"], group["weight_decay"] = rate, decay
            losses.append(finite(self.step()))
            seconds.append(time.perf_counter() - began)
        return {"seconds": seconds, "losses": losses}

    def evaluate(self, path):
        if self.validation is None:
            self.validation = pairs(path, self.spec["device"])
        began = time.perf_counter()
        total, count = 0.0, 0
        with torch.inference_mode(), self.half:
            for inputs, targets in self.validation:
                total += F.cross_entropy(self.forward(inputs), targets, reduction="sum").item()
                count += targets.numel()
        return {"seconds": time.perf_counter() - began, "loss": finite(total / count)}


def main():
    folder = pathlib.Path(sys.argv[1])
    spec = json.loads((folder / "spec.json").read_text())
    torch.set_num_threads(spec["threads"])
    trainer = Trainer(spec, safetensors(folder / "weights.safetensors"))
    counted = sum(parameter.numel() for parameter in trainer.parameters)
    answer({"version": torch.__version__, "threads": torch.get_num_threads(), "parameters": counted})
    for line in sys.stdin:
        order = json.loads(line)
        if "batches" in order:
            trainer.take(order["batches"])
        elif "steps" in order:
            answer(trainer.steps(order["steps"], order["rates"]))
        else:
            answer(trainer.evaluate(order["evaluate"]))


main()
