"""What every example does: it learns, the same way each time, and goes on where it stopped."""

import itertools
import os
import subprocess
import sys

import thixo as tx


def run(example, model, optimizer, schedule, batches, carried=None):
    """Steps over given batches: losses, and what one step hands to the next."""
    losses = []
    for batch in batches:
        result = example.step(model, optimizer, *batch, *([] if carried is None else [carried]))
        loss, carried = result if isinstance(result, tuple) else (result, None)
        losses.append(loss)
        schedule.step()
    return losses, carried


def test_the_loss_falls(example):
    losses = example.train(example.build(0), 12)
    assert len(losses) == 12
    assert min(losses[-3:]) < 0.95 * losses[0]


def test_a_seed_decides_everything(example):
    def losses(seed):
        return example.train(example.build(seed), 3, seed)

    assert losses(1) == losses(1) != losses(2)


def test_weights_come_from_the_seed_alone(example):
    first = example.build(3).state_dict()
    tx.rand(5)
    second = example.build(3).state_dict()
    assert first.keys() == second.keys()
    assert all(bool((first[name] == second[name]).all()) for name in first)


def test_training_goes_on_from_a_file_as_if_it_had_not_stopped(example, tmp_path):
    batches = list(itertools.islice(example.batches(0), 6))

    model = example.build(0)
    unbroken, _ = run(example, model, *example.recipe(model, 6), batches)

    model = example.build(0)
    optimizer, schedule = example.recipe(model, 6)
    before, carried = run(example, model, optimizer, schedule, batches[:3])
    parts = (model, optimizer, schedule)
    tx.save([part.state_dict() for part in parts] + [carried], tmp_path / "half.safetensors")

    model = example.build(1)  # other weights, all to be replaced
    optimizer, schedule = example.recipe(model, 6)
    *states, carried = tx.load(tmp_path / "half.safetensors")
    for part, state in zip((model, optimizer, schedule), states, strict=True):
        part.load_state_dict(state)
    after, _ = run(example, model, optimizer, schedule, batches[3:], carried)

    assert before + after == unbroken


def test_as_a_program(example, tmp_path):
    file = tmp_path / "weights.safetensors"
    options = ["--length", "5"] if hasattr(example, "write") else []
    done = subprocess.run(
        [sys.executable, example.__file__, "--steps=2", "--seed=4", "--save", file, *options],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert "2/2" in done.stdout
    assert "weights.safetensors" in done.stdout.replace("\n", "")
    model = example.build(0)
    model.load_state_dict(tx.load(file))
