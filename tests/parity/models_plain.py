# SPDX-License-Identifier: Apache-2.0
"""Structures that no model library has ready: recurrent taggers, scripted control flow, diffusion blocks, audio front ends."""
import torch
from models_vision import Model
from torch import nn
from torch.nn import functional as F


class Tagger(nn.Module):
    def __init__(self, kind, layers, both):
        super().__init__()
        self.words = nn.Embedding(500, 48)
        self.rnn = getattr(nn, kind)(48, 64, layers, batch_first=True, bidirectional=both)
        self.head = nn.Linear(64 * (2 if both else 1), 11)

    def forward(self, words):
        return self.head(self.rnn(self.words(words))[0]).log_softmax(-1)


class Translator(nn.Module):
    """An encoder GRU whose last state starts a decoder LSTM cell, unrolled over six steps."""

    def __init__(self):
        super().__init__()
        self.encoder, self.cell, self.out = nn.GRU(32, 64), nn.LSTMCell(32, 64), nn.Linear(64, 32)

    def forward(self, sound):
        _, state = self.encoder(sound)
        h, c, x, steps = state[0], torch.zeros_like(state[0]), torch.zeros_like(sound[0]), []
        for _ in range(6):
            h, c = self.cell(x, (h, c))
            x = torch.tanh(self.out(h))
            steps.append(x)
        return torch.stack(steps)


class Iterated(nn.Module):
    """Scripted: a Loop with a carried value and a condition, an If in its body."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(16, 16)

    def refine(self, x: torch.Tensor, times: int) -> torch.Tensor:
        for i in range(times):
            if i % 2 == 0:
                x = torch.tanh(self.step(x))
            else:
                x = x * 0.5 + 1.0
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.refine(x, x.size(0))
        total = y.sum()
        while bool(total > 10.0):
            y = y * 0.5
            total = y.sum()
        return y


class Appended(nn.Module):
    """Scripted: a list that grows in a loop, then stacked."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows: list[torch.Tensor] = []
        for i in range(x.size(0)):
            rows.append(x[i] * float(i + 1))
        return torch.stack(rows)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, time):
        super().__init__()
        self.a, self.b = nn.GroupNorm(8, cin), nn.GroupNorm(8, cout)
        self.c1, self.c2 = nn.Conv2d(cin, cout, 3, padding=1), nn.Conv2d(cout, cout, 3, padding=1)
        self.time, self.skip = nn.Linear(time, cout), nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, t):
        h = self.c1(F.silu(self.a(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.c2(F.silu(self.b(h))) + self.skip(x)


class CrossAttention(nn.Module):
    def __init__(self, width, context, heads=4):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(8, width)
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(context, width), nn.Linear(context, width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, context):
        b, c, h, w = x.shape
        y = self.norm(x).flatten(2).transpose(1, 2)
        y = F.scaled_dot_product_attention(self.split(self.q(y)), self.split(self.k(context)), self.split(self.v(context)))
        y = self.out(y.transpose(1, 2).flatten(2))
        return x + y.transpose(1, 2).reshape(b, c, h, w)


class UNet(nn.Module):
    """A denoising step: time embedding, residual blocks, cross attention, down, up by nearest neighbours, skips."""

    def __init__(self, width=32):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 128))
        self.inp, self.out = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.d1, self.d2 = ResBlock(width, width, 128), ResBlock(width, 2 * width, 128)
        self.down = nn.Conv2d(width, width, 3, 2, 1)
        self.mid = CrossAttention(2 * width, 48)
        self.u1 = ResBlock(3 * width, width, 128)
        self.norm = nn.GroupNorm(8, width)

    def forward(self, sample, step, context):
        angle = step[:, None].float() * torch.exp(-torch.arange(32, device=sample.device) * 0.2878)
        t = self.time(torch.cat([angle.sin(), angle.cos()], -1))
        a = self.d1(self.inp(sample), t)
        b = self.mid(self.d2(self.down(a), t), context)
        b = F.interpolate(b, size=a.shape[-2:], mode="nearest")
        return self.out(F.silu(self.norm(self.u1(torch.cat([a, b], 1), t))))


class Decoder(nn.Module):
    """The picture side of a variational autoencoder: transposed convolutions, pixel shuffle, bilinear resize."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.ConvTranspose2d(4, 32, 4, 2, 1), nn.Conv2d(32, 64, 3, padding=1), nn.Conv2d(16, 3, 3, padding=1)
        self.norm = nn.InstanceNorm2d(32, affine=True)

    def forward(self, latent):
        x = F.leaky_relu(self.norm(self.a(latent)))
        x = F.pixel_shuffle(F.mish(self.b(x)), 2)
        x = F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=False)
        return torch.tanh(self.c(F.pad(x, (1, 1, 1, 1), mode="reflect")))


class Spectrum(nn.Module):
    """Logarithmic power of a short-time Fourier transform, then convolutions and a GRU."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(256))
        self.register_buffer("bank", torch.rand(129, 40))
        self.conv, self.gru, self.out = nn.Conv1d(40, 64, 3, 2, 1), nn.GRU(64, 32, batch_first=True, bidirectional=True), nn.Linear(64, 5)

    def forward(self, sound):
        s = torch.stft(sound, 256, 128, window=self.window, center=True, pad_mode="constant", return_complex=False)
        power = s.pow(2).sum(-1)
        mel = torch.log(power.transpose(1, 2) @ self.bank + 1e-3)
        x = F.gelu(self.conv(mel.transpose(1, 2))).transpose(1, 2)
        return self.out(self.gru(x)[0]).mean(1)


class Mixer(nn.Module):
    """Token mixing by a Fourier transform over both axes."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(64, 128), nn.Linear(128, 64), nn.LayerNorm(64)

    def forward(self, x):
        y = torch.view_as_real(torch.fft.fft(torch.fft.rfft(x, dim=-1), dim=1))
        x = self.norm(x + F.pad(y[..., 0], (0, 31)))
        return x + self.b(F.gelu(self.a(x)))


class TemporalConv(nn.Module):
    """A waveform model: dilated gated convolutions with residuals and skips."""

    def __init__(self):
        super().__init__()
        self.inp = nn.Conv1d(1, 32, 1)
        self.gates = nn.ModuleList(nn.Conv1d(32, 64, 2, dilation=2**i) for i in range(5))
        self.skips = nn.ModuleList(nn.Conv1d(32, 32, 1) for _ in range(5))
        self.up = nn.ConvTranspose1d(32, 1, 8, 4, 2)

    def forward(self, wave):
        x, total = self.inp(wave), 0
        for i, (gate, skip) in enumerate(zip(self.gates, self.skips)):
            a, b = gate(F.pad(x, (2**i, 0))).chunk(2, 1)
            y = skip(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return self.up(F.elu(total))


class Detect(nn.Module):
    """A one-stage detector's neck and head: SPPF, nearest resize, sigmoid boxes, top-k."""

    def __init__(self):
        super().__init__()
        def block(a, b, s=1):
            return nn.Sequential(nn.Conv2d(a, b, 3, s, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU())
        self.s1, self.s2, self.s3 = block(3, 16, 2), block(16, 32, 2), block(32, 64, 2)
        self.pool, self.mix = nn.MaxPool2d(5, 1, 2), nn.Conv2d(256, 64, 1)
        self.up, self.head = block(96, 32), nn.Conv2d(32, 3 * 9, 1)

    def forward(self, image):
        b = self.s2(self.s1(image))
        c = self.s3(b)
        p = [c]
        for _ in range(3):
            p.append(self.pool(p[-1]))
        c = self.mix(torch.cat(p, 1))
        x = self.head(self.up(torch.cat([F.interpolate(c, scale_factor=2.0, mode="nearest"), b], 1)))
        n, _, h, w = x.shape
        x = x.view(n, 3, 9, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((xs, ys), 2).view(1, 1, h, w, 2).float()
        boxes = torch.cat([(x[..., 0:2] * 2 - 0.5 + grid) * 4, (x[..., 2:4] * 2) ** 2 * 16], -1).view(n, -1, 4)
        scores = (x[..., 4:5] * x[..., 5:]).reshape(n, -1, 4)
        best, label = scores.max(-1)
        value, index = best.topk(20, 1)
        return value, label.gather(1, index), boxes.gather(1, index[..., None].expand(-1, -1, 4))


class GraphConv(nn.Module):
    """Message passing: gather by edge, scatter-add by node."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 32), nn.Linear(32, 7)

    def forward(self, nodes, edges):
        x = torch.relu(self.a(nodes))
        messages = x[edges[0]]
        degree = torch.zeros(x.size(0)).index_add(0, edges[1], torch.ones(edges.size(1))).clamp(min=1)
        x = torch.zeros_like(x).index_add(0, edges[1], messages) / degree[:, None]
        return self.b(x).log_softmax(-1)


class Warp(nn.Module):
    """A spatial transformer: predicted affine grid, grid sampling, roll, einsum."""

    def __init__(self):
        super().__init__()
        self.where, self.mix = nn.Linear(3 * 16 * 16, 6), nn.Parameter(torch.randn(3, 5))

    def forward(self, image):
        theta = self.where(F.adaptive_avg_pool2d(image, 16).flatten(1)).view(-1, 2, 3) * 0.1 + torch.eye(2, 3)
        grid = F.affine_grid(theta, list(image.shape), align_corners=False)
        y = F.grid_sample(image, grid, align_corners=False)
        return torch.einsum("bchw,cd->bdhw", y.roll((3, -5), (2, 3)), self.mix)


class Selected(nn.Module):
    """Sizes that depend on data: masked rows, unique values, non-zero positions."""

    def forward(self, x, words):
        kept = x[x[:, 0] > 0.5]
        places = torch.nonzero(words > 5)
        return kept.cumsum(0), places, torch.unique(words), F.one_hot(words.clamp(max=9), 10).float().mean(0)


def plain(name, make, inputs, outputs=None, dynamic=None, opset=None, scripted=False):
    def build():
        module = make().eval()
        return (torch.jit.script(module) if scripted else module), inputs()
    return Model(name, build, outputs, dynamic or {}, opset)


def words(batch=3, length=9):
    return {"words": torch.randint(0, 500, (batch, length))}


TIMES = {"words": {0: "batch", 1: "time"}}

MODELS = [
    plain("lstm_tagger", lambda: Tagger("LSTM", 2, True), words, ["tags"], TIMES),
    plain("gru_tagger", lambda: Tagger("GRU", 2, False), words, ["tags"], TIMES),
    plain("rnn_tagger", lambda: Tagger("RNN", 1, True), words, ["tags"], TIMES),
    plain("gru_lstm_translator", Translator, lambda: {"sound": torch.randn(12, 2, 32)}, ["steps"], {"sound": {0: "time", 1: "batch"}}),
    plain("scripted_loop_if", Iterated, lambda: {"x": torch.rand(5, 16)}, ["y"], {"x": {0: "rows"}}, scripted=True),
    plain("scripted_sequence", Appended, lambda: {"x": torch.rand(5, 16)}, ["y"], {"x": {0: "rows"}}, scripted=True),
    plain("diffusion_unet", UNet, lambda: {"sample": torch.randn(1, 4, 16, 16), "step": torch.tensor([7]), "context": torch.randn(1, 9, 48)}, ["noise"],
          {"sample": {0: "batch", 2: "height", 3: "width"}, "step": {0: "batch"}, "context": {0: "batch"}}),
    plain("vae_decoder", Decoder, lambda: {"latent": torch.randn(1, 4, 8, 8)}, ["picture"], {"latent": {0: "batch", 2: "height", 3: "width"}}),
    plain("stft_recogniser", Spectrum, lambda: {"sound": torch.randn(2, 2048)}, ["classes"], opset=17),
    plain("fourier_mixer", Mixer, lambda: {"x": torch.randn(2, 16, 64)}, ["y"], opset=17),
    plain("temporal_conv", TemporalConv, lambda: {"wave": torch.randn(2, 1, 200)}, ["out"], {"wave": {0: "batch", 2: "time"}}),
    plain("one_stage_detector", Detect, lambda: {"image": torch.rand(1, 3, 64, 64)}, ["scores", "labels", "boxes"],
          {"image": {0: "batch", 2: "height", 3: "width"}}),
    plain("graph_conv", GraphConv, lambda: {"nodes": torch.randn(10, 16), "edges": torch.randint(0, 10, (2, 30))}, ["classes"],
          {"nodes": {0: "nodes"}, "edges": {1: "edges"}}, opset=16),
    plain("spatial_transformer", Warp, lambda: {"image": torch.rand(2, 3, 32, 32)}, ["warped"], {"image": {0: "batch"}}, opset=20),
    plain("data_dependent", Selected, lambda: {"x": torch.rand(8, 6), "words": torch.randint(0, 12, (20,))}, None),
]
