#!/usr/bin/env python3
"""Training and testing with the reference code of the algorithmic experiments, for trainer.py and gpu.py, which start it with a Python
that has JAX.

    PYTHON reference_steps.py --checkout DIR --task even_pairs --encoding log_kerple:randomized --lengths 3,8,13 [--batch 128]
                              [--device cpu|cuda] [--members N] [--updates-at-a-time N]

DIR is a checkout of google-deepmind/randomized_positional_encodings; its own update, sampler and model are called. Log KERPLE, which it
lacks, is put where it adds ALiBi's biases. With --members N above 1 the update is mapped (jax.vmap) over N sets of parameters and of
optimiser states, from N initialisations; members share batch and dropout masks, as those of a pack do. Reads commands from standard
input, answers each with a line of JSON:

    train SECONDS [LENGTH]..  whole rounds through the lengths: {"updates": .., "job_steps": .., "seconds": .., "cpu_seconds": ..};
                              at least so many updates before what computes is waited for
    test LENGTH SECONDS       batches of 64, without their sampling: {"sequences": .., "seconds": .., "cpu_seconds": ..}

What is compiled for a command is compiled before its time is taken, and told apart as "compile_seconds". "device" is what JAX computes on.
`test` knows one member only.
"""
import argparse
import functools
import json
import os
import pathlib
import random
import sys
import tempfile
import time

PACKAGE = "randomized_positional_encodings"
L = 2048
# Of the reference's own evaluation.
TEST_BATCH = 64
# Random keys are split off so many at a time, as the reference does (it takes up to 50,000): one by one each would be an operation of its own.
KEYS = 20_000
# Name here -> name there; what takes L as a parameter.
ENCODINGS = {
    "none": "NONE", "sin_cos": "SIN_COS", "alibi": "ALIBI", "rope": "ROTARY", "relative": "RELATIVE", "log_kerple": "ALIBI",
    "sin_cos:randomized": "NOISY_SIN_COS", "alibi:randomized": "NOISY_ALIBI", "rope:randomized": "NOISY_ROTARY",
    "relative:randomized": "NOISY_RELATIVE", "log_kerple:randomized": "NOISY_ALIBI",
}


def import_from(checkout):
    """Makes the checkout importable under the package's name, whatever its folder is called."""
    folder = tempfile.mkdtemp(prefix="longreach-reference-")
    (pathlib.Path(folder) / PACKAGE).symlink_to(checkout.resolve())
    sys.path.insert(0, folder)


def add_log_kerple(positional_encodings):
    """Log KERPLE by its definition, in place of ALiBi's biases: -p log(1 + a distance), two numbers a head in each layer."""
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import numpy as np

    def biases(attention_shape, noise_max_length=None, randomize_both_sides=False):
        del randomize_both_sides
        heads, queries, keys = attention_shape
        a = hk.get_parameter("kerple_a", [heads, 1, 1], init=hk.initializers.RandomUniform(0, 1))
        p = hk.get_parameter("kerple_p", [heads, 1, 1], init=hk.initializers.RandomUniform(0, 2))
        distance = np.abs(np.arange(keys)[None, :] - np.arange(queries)[:, None])
        if noise_max_length is not None:
            drawn = jax.random.choice(hk.next_rng_key(), jnp.arange(1, noise_max_length), shape=(keys - 1,), replace=False)
            distance = jnp.concatenate([jnp.zeros(1), jnp.sort(drawn)])[distance]
        return -jnp.maximum(p, 0.01) * jnp.log1p(jnp.maximum(a, 0.01) * distance)

    positional_encodings.compute_alibi_encodings_biases = biases
    positional_encodings.compute_noisy_alibi_encodings_biases = biases


class Reference:
    def __init__(self, task_name, encoding, batch, members, updates_at_a_time):
        import haiku as hk
        import jax
        import jax.numpy as jnp
        import numpy as np
        import optax
        from randomized_positional_encodings.experiments import constants, training, utils
        from randomized_positional_encodings.models import positional_encodings

        if encoding.startswith("log_kerple"):
            add_log_kerple(positional_encodings)
        there = ENCODINGS[encoding]
        self.batch = batch
        self.members = members
        self.updates_at_a_time = updates_at_a_time
        self.task = task = constants.TASK_BUILDERS[task_name]()
        network = constants.MODEL_BUILDERS["transformer_encoder"](
            output_size=task.output_size, return_all_outputs=True, num_layers=5, embedding_dim=64, dropout_prob=0.1,
            positional_encodings=there, positional_encodings_params={"noise_max_length": L} if there.startswith("NOISY") else {})
        self.model = hk.transform(utils.make_model_with_empty_targets(network, task, 0, task.output_length(10) == 1))

        def loss(output, target):
            return jnp.mean(jnp.sum(task.pointwise_loss_fn(output, target), axis=-1)), {}

        def accuracy(output, target):
            mask = task.accuracy_mask(target)
            return jnp.sum(mask * task.accuracy_fn(output, target)) / jnp.sum(mask)

        self.accuracy = accuracy
        random.seed(0)
        np.random.seed(0)
        self.keys = hk.PRNGSequence(0)
        self.keys_left = 0
        self.optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-4))
        # Its arguments that are not arrays are static there: by name only.
        update = functools.partial(training._update_parameters, model_apply_fn=self.model.apply, loss_fn=loss, accuracy_fn=accuracy,
                                   optimizer=self.optimizer, is_autoregressive=False)

        def of_member(params, state, key, batch):
            return update(params=params, opt_state=state, rng_key=key, batch=batch)

        first_key, first_input = self.key(), self.sample(10, batch)["input"]
        if members == 1:
            self.params = self.model.init(first_key, first_input)
            self.state = self.optimizer.init(self.params)
            self.update = of_member
        else:
            self.params = jax.jit(jax.vmap(self.model.init, in_axes=(0, None)))(jax.random.split(first_key, members), first_input)
            self.state = jax.vmap(self.optimizer.init)(self.params)
            self.update = jax.jit(jax.vmap(of_member, in_axes=(0, 0, None, None)))
        self.compiled = set()

    def key(self):
        if self.keys_left == 0:
            self.keys.reserve(KEYS)
            self.keys_left = KEYS
        self.keys_left -= 1
        return next(self.keys)

    def sample(self, length, count):
        return self.task.sample_batch(self.key(), length=length, batch_size=count)

    def step(self, length):
        self.params, self.state, _ = self.update(self.params, self.state, self.key(), self.sample(length, self.batch))

    def device(self):
        import jax

        return jax.devices()[0].device_kind

    def wait(self):
        import jax

        jax.block_until_ready(self.params)

    def train(self, lengths, seconds):
        began = time.perf_counter()
        for length in sorted(set(lengths) - self.compiled):
            self.step(length)
            self.compiled.add(length)
        self.wait()
        compiling = time.perf_counter() - began
        some = lengths * -(-self.updates_at_a_time // len(lengths))
        updates, began, cpu = 0, time.perf_counter(), time.process_time()
        while updates == 0 or time.perf_counter() - began < seconds:
            for length in some:
                self.step(length)
            self.wait()
            updates += len(some)
        return {"updates": updates, "job_steps": updates * self.members, "seconds": time.perf_counter() - began,
                "cpu_seconds": time.process_time() - cpu, "compile_seconds": compiling}

    def test(self, length, seconds):
        import jax

        apply = jax.jit(self.model.apply)
        batch = self.sample(length, TEST_BATCH)

        def once():
            return float(self.accuracy(apply(self.params, self.key(), batch["input"]), batch["output"]))

        began = time.perf_counter()
        once()
        compiling = time.perf_counter() - began
        sequences, began, cpu = 0, time.perf_counter(), time.process_time()
        while sequences == 0 or time.perf_counter() - began < seconds:
            once()
            sequences += TEST_BATCH
        return {"sequences": sequences, "seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu,
                "compile_seconds": compiling}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--checkout", type=pathlib.Path, required=True)
    parser.add_argument("--task", required=True)
    parser.add_argument("--encoding", choices=ENCODINGS, required=True)
    parser.add_argument("--lengths", required=True)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--updates-at-a-time", type=int, default=1)
    options = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = options.device  # JAX reads it when it is first imported, below.
    import_from(options.checkout)
    reference = Reference(options.task, options.encoding, options.batch, options.members, options.updates_at_a_time)
    lengths = [int(length) for length in options.lengths.split(",")]
    for line in sys.stdin:
        command, *numbers = line.split()
        if command == "train":
            answer = reference.train([int(length) for length in numbers[1:]] or lengths, float(numbers[0]))
        elif options.members == 1:
            answer = reference.test(int(numbers[0]), float(numbers[1]))
        else:
            sys.exit("test: with --members above 1 there is training only")
        print(json.dumps({**answer, "device": reference.device()}), flush=True)


if __name__ == "__main__":
    main()
