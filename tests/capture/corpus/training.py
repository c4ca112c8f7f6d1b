"""Training steps, losses with masks, sampling, functions with gradients of their own."""

import math

import thixo as tx
from tests.capture.corpus.registry import call, case, t
from thixo import nn, optim
from thixo.nn import functional as F


def _net(seed=0, n_in=3, n_out=2):
    tx.manual_seed(seed)
    return nn.Sequential(nn.Linear(n_in, 4), nn.Tanh(), nn.Linear(4, n_out)).double()


def _with(optimizer, **options):
    net = _net()
    return net, optimizer(net.parameters(), **options)


@case(
    lambda d: (*_with(optim.SGD, lr=0.1), d.normal(4, 3), d.normal(4, 2) * 10),
    lambda d: (*_with(optim.Adam, lr=0.01), d.normal(2, 3), d.normal(2, 2) * 0.1),
    mutates=True,
)
def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    if loss > 5:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


@case(
    lambda d: (
        *_with(optim.SGD, lr=0.2, momentum=0.9),
        [(d.normal(2, 3), d.ints(0, 2, 2)) for _ in range(3)],
    ),
    lambda d: (*_with(optim.AdamW, lr=0.1), [(d.normal(2, 3), d.ints(0, 2, 2)) for _ in range(5)]),
    mutates=True,
)
def epoch(model, optimizer, batches):
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        optimizer.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
        right += (logits.argmax(1) == y).sum().item()
        count += len(x)
    return total / count, right / count


@case(
    lambda d: (*_with(optim.SGD, lr=0.1), d.normal(8, 3), d.normal(8, 2), 2),
    lambda d: (*_with(optim.SGD, lr=0.1), d.normal(8, 3), d.normal(8, 2), 4),
    mutates=True,
)
def gradient_accumulation(model, optimizer, x, y, parts):
    optimizer.zero_grad(set_to_none=True)
    losses = []
    for part_x, part_y in zip(x.chunk(parts), y.chunk(parts)):
        loss = F.mse_loss(model(part_x), part_y) / parts
        loss.backward()
        losses.append(loss.detach())
    optimizer.step()
    return sum(losses)


@case(
    lambda d: (_net(), d.normal(3, 3), 0.5), lambda d: (_net(), d.normal(3, 3), 1e9), mutates=True
)
def clip_by_hand(model, x, limit):
    model(x).pow(2).sum().backward()
    total = math.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters()))
    if total > limit:
        for p in model.parameters():
            p.grad.mul_(limit / total)
    return [p.grad for p in model.parameters()], total


@case(lambda d: (t([1.0, -2.0]), 3), lambda d: (t([0.3, 0.1]), 6), grad=(0,))
def unrolled_inner_descent(start, steps):
    """Differentiates through the steps of a descent."""
    w = start
    for _ in range(steps):
        inner = ((w - 1) ** 4).sum()
        (g,) = tx.autograd.grad(inner, w, create_graph=True)
        w = w - 0.05 * g
    return ((w - start) ** 2).sum()


@case(
    lambda d: (d.normal(3, 4), True),
    lambda d: (d.normal(3, 4), False),
    build=lambda c: c(),
    random=True,
    grad=(0,),
)
class VariationalAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(4, 4)
        self.decode = nn.Linear(2, 4)

    def forward(self, x, sample):
        mean, log_var = self.encode(x).chunk(2, dim=-1)
        z = mean
        if sample:
            z = z + tx.randn_like(mean) * (0.5 * log_var).exp()
        error = ((self.decode(z) - x) ** 2).sum(-1)
        divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(-1)
        return (error + divergence).mean()


@case(
    lambda d: (d.normal(4, 3), tx.tensor([0, 0, 1, 1])),
    lambda d: (d.normal(3, 3), tx.tensor([0, 1, 2])),
    lambda d: (d.normal(5, 3), tx.tensor([1, 0, 1, 1, 2])),
    grad=(0,),
)
def contrastive_loss(features, labels, temperature=0.5):
    z = F.normalize(features, dim=1)
    n = z.shape[0]
    itself = tx.eye(n, dtype=tx.bool)
    logits = (z @ z.T / temperature).masked_fill(itself, -1e9)
    log_prob = logits.log_softmax(1)
    same = (labels[:, None] == labels[None, :]) & ~itself
    if not same.any():
        return -log_prob.masked_fill(itself, 0).mean()
    loss, rows = 0, 0
    for i in range(n):
        if same[i].any():
            loss = loss - log_prob[i][same[i]].mean()
            rows += 1
    return loss / rows


class _Round(tx.autograd.Function):
    """Rounds, and lets gradients pass as if it did not."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


class _SafeSqrt(tx.autograd.Function):
    @staticmethod
    def forward(ctx, x, floor):
        y = x.clamp(min=0).sqrt()
        ctx.save_for_backward(y)
        ctx.floor = floor
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / (2 * y.clamp(min=ctx.floor)), None


@case(lambda d: (t([0.5, 4.0]), 1e-6), lambda d: (t([9.0, 16.0]), 1e-6), grad=(0,))
def function_with_its_own_gradient(x, floor):
    y = _SafeSqrt.apply(x, floor)
    if y.max() > 3:
        y = _SafeSqrt.apply(y, floor) * 2
    return y


@case(lambda d: (t([0.4, 1.6]), 1), lambda d: (t([0.4, 1.6]), 2), mutates=True)
def straight_through(x, times):
    x.requires_grad_()
    y = x
    for _ in range(times):
        y = _Round.apply(y * 2)
    y.sum().backward()
    return x.grad


@case(
    lambda d: (_net(), d.normal(2, 3), 0.9), lambda d: (_net(), d.normal(2, 3), 0.0), mutates=True
)
def exponential_average_of_weights(model, x, decay):
    averages = [tx.zeros_like(p) for p in model.parameters()]
    for _ in range(2):
        with tx.no_grad():
            for average, p in zip(averages, model.parameters()):
                if decay > 0:
                    average.mul_(decay).add_(p, alpha=1 - decay)
                else:
                    average.copy_(p)
                p.mul_(0.5)
    return averages, model(x).detach()


@case(
    lambda d: (*_with(optim.SGD, lr=0.5), d.normal(4, 3), 3),
    lambda d: (*_with(optim.SGD, lr=0.5), d.normal(4, 3), 20),
    mutates=True,
)
def stop_when_it_gets_worse(model, optimizer, x, limit):
    best, patience = math.inf, 2
    for step in range(limit):
        loss = (model(x) - 1).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < best - 1e-4:
            best, patience = loss.item(), 2
            continue
        patience -= 1
        if not patience:
            break
    return best, step


@case(
    lambda d: call(d.normal(3, 4), tx.tensor([1, -100, 2])),
    lambda d: call(d.normal(3, 4), tx.tensor([-100, -100, -100])),
    lambda d: call(d.normal(2, 4), tx.tensor([0, 3]), smoothing=0.1),
    grad=(0,),
)
def cross_entropy_with_padding(logits, target, smoothing=0.0):
    keep = target != -100
    if not keep.any():
        return logits.sum() * 0
    log_probs = logits[keep].log_softmax(-1)
    chosen = log_probs.gather(1, target[keep].unsqueeze(1)).squeeze(1)
    loss = -chosen.mean()
    if smoothing > 0:
        loss = (1 - smoothing) * loss - smoothing * log_probs.mean()
    return loss


@case(
    lambda d: (d.normal(3, 2), t([0.0, 1.0, 1.0])),
    lambda d: (d.normal(2, 2), t([1.0, 0.0])),
    grad=(0,),
)
def discounted_policy_loss(logits, rewards, discount=0.9):
    returns = []
    running = 0.0
    for r in rewards.flip(0):
        running = r + discount * running
        returns.insert(0, running)
    returns = tx.stack(returns)
    if returns.std() > 0.5:
        returns = (returns - returns.mean()) / returns.std()
    return -(logits.log_softmax(-1)[:, 0] * returns).sum()


@case(
    lambda d: (d.normal(2, 3), d.normal(2, 3)),
    lambda d: (d.normal(2, 3) * 4, d.normal(2, 3)),
    build=lambda c: c(),
    parameters=True,
)
class AlternatingGame(nn.Module):
    """A critic whose penalty needs second derivatives."""

    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(3, 3), nn.Softplus(), nn.Linear(3, 1))

    def forward(self, real, fake):
        gap = self.critic(fake).mean() - self.critic(real).mean()
        middle = ((real + fake) / 2).detach().requires_grad_()
        (g,) = tx.autograd.grad(self.critic(middle).sum(), middle, create_graph=True)
        penalty = ((g.norm(dim=1) - 1) ** 2).mean()
        if (real - fake).abs().max() > 3:
            penalty = penalty * 10
        return gap + penalty
