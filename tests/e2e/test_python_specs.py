"""Dicts that the package of Python submits as sweeps: what is refused before any scheduler is asked, and how it is told."""
import pytest

from python_package import longreach

package = longreach()
specs = package.client.submission_of


def refusal(spec):
    with pytest.raises(package.Refused) as refused:
        specs(spec)
    assert refused.value.code == "INVALID_ARGUMENT"
    return str(refused.value)


def test_a_dict_in_the_shape_of_a_sweep_file_is_that_sweep():
    request = specs({
        "name": "mine", "experiment": "algorithmic",
        "axes": {"task": "even_pairs", "encoding": ("rope", "rope:randomized"), "learning_rate": [1e-3, 1], "seed": range(3)},
        "training": {"steps": 2e6, "lengths": range(1, 4)}, "model": {"kerple_shared": True, "dropout": 0},
        "inputs": [{"name": "weights", "artifact": "weights", "from": {"training": {}}}],
        "table": {"rows": "task", "columns": "encoding", "only": "seed=0"}}, dry_run=True)
    spec = request.spec
    assert (spec.name, list(spec.axes.task), list(spec.axes.encoding)) == ("mine", ["even_pairs"], ["rope", "rope:randomized"])
    assert (list(spec.axes.learning_rate), list(spec.axes.seed)) == ([1e-3, 1.0], [0, 1, 2])
    assert (spec.training.steps, list(spec.training.lengths), spec.model.kerple_shared) == (2_000_000, [1, 2, 3], True)
    assert spec.model.HasField("dropout") and not spec.model.HasField("layers")
    assert getattr(spec.inputs[0], "from").HasField("training"), "a group without a field is there"
    assert (request.table.rows, request.table.columns, list(request.table.only), request.dry_run) == ("task", "encoding", ["seed=0"], True)


@pytest.mark.parametrize("spec, said", [
    ({"axes": {"lerning_rate": [1]}}, "axes.lerning_rate: unknown field (did you mean 'learning_rate'?); 'axes' has: task, encoding, learning_rate, seed"),
    ({"experment": "noop"}, "experment: unknown field (did you mean 'experiment'?)"),
    ({"axes": {"learningRate": [1]}}, "axes.learningRate: unknown field"),
    ({"table": {"row": "task"}}, "table.row: unknown field (did you mean 'rows'?)"),
    ({"systems": [{"name": "deep", "with": {"model": {"layer": 9}}}]}, "systems[0].with.model.layer: unknown field (did you mean 'layers'?)"),
    ({"axes": {"learning_rate": ["1e-3"]}}, "axes.learning_rate[0]: the text '1e-3' where a number belongs"),
    ({"axes": {"seed": "0..4"}}, "axes.seed[0]: the text '0..4' where a number belongs"),
    ({"training": {"steps": "2000"}}, "training.steps: the text '2000' where a number belongs"),
    ({"training": {"steps": 2.5}}, "training.steps: 2.5 where a whole number belongs"),
    ({"training": {"steps": True}}, "training.steps: True (bool) where a number belongs"),
    ({"training": {"steps": 2**31}}, "training.steps: 2147483648 is not within -2147483648 and 2147483647"),
    ({"axes": {"seed": [-1]}}, "axes.seed[0]: -1 is not within 0 and 4294967295"),
    ({"model": {"dropout": float("nan")}}, "model.dropout: nan is not finite"),
    ({"model": {"dropout": 10**400}}, "model.dropout: 1000000000"),
    ({"model": {"kerple_shared": 1}}, "model.kerple_shared: 1 (int) where True or False belongs"),
    ({"model": {"layers": [2, 4]}}, "model.layers: a list where one value belongs"),
    ({"model": {"layers": None}}, "model.layers: None is no value"),
    ({"name": 7}, "name: 7 (int) where a text belongs"),
    ({"axes": ["rope"]}, "axes: ['rope'] (list) where a dict belongs"),
    ({"axes": {"task": []}}, "axes.task: a list without a value"),
    ({"axes": {"seed": range(10**12)}}, "axes.seed: more than 10000000 values"),
    ({"axes": {"task": {"a": 1}}}, "axes.task: {'a': 1} (dict) where a list belongs"),
    ({"inputs": {"name": "weights"}}, "inputs: {'name': 'weights'} (dict) where a list of dicts belongs"),
    ({"parts": []}, "parts are of sweep files"),
    ("table-b1", "a sweep is a dict in the shape of a sweep file, not 'table-b1' (str)"),
], ids=lambda value: value.split(":")[0] if isinstance(value, str) else "")
def test_what_makes_no_sweep_is_refused_with_its_path(spec, said):
    assert refusal(spec).startswith(said)


def test_texts_of_yaml_that_are_no_numbers_there_are_told_of():
    assert "yaml.safe_load makes texts of 1e-3" in refusal({"axes": {"learning_rate": ["1e-3"]}})


def test_values_of_numpy_are_taken():
    import numpy
    spec = specs({"axes": {"learning_rate": numpy.array([1e-3, 3e-4]), "seed": numpy.arange(2)}, "model": {"layers": numpy.int64(3), "kerple_shared": numpy.bool_(True)}}).spec
    assert (list(spec.axes.learning_rate), list(spec.axes.seed), spec.model.layers, spec.model.kerple_shared) == ([1e-3, 3e-4], [0, 1], 3, True)


@pytest.mark.parametrize("lengths, length, only", [
    (None, None, []), (5, 5, []), ([5], 5, []), (0, 0, []), (range(41, 61), None, ["length=41..60"]), ([9, 1, 2, 5, 2], None, ["length=1..2,5,9"])])
def test_lengths_are_one_or_a_choice(lengths, length, only):
    assert package.client.choice_of_lengths(lengths) == (length, only)


@pytest.mark.parametrize("lengths", ["41..60", [], [0, 41], [1.5]])
def test_lengths_that_are_none_are_refused(lengths):
    with pytest.raises(package.Refused, match="^lengths: "):
        package.client.choice_of_lengths(lengths)
