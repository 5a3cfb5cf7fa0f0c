"""Wrong keywords of public names."""

import inspect
import pickle

import pytest

import firth


@pytest.mark.parametrize(
    ("call", "message"),
    [
        # Python 3.13 says it itself
        (
            lambda: firth.concordance("corpus", "word", line=3),
            r"concordance\(\) .* argument 'line'(; d|\. D)id you mean 'lines'\?",
        ),
        (
            lambda: firth.SvdConfig(dims=50),
            r"SvdConfig.__init__\(\) .* argument 'dims'(; d|\. D)id you mean 'dim'\?",
        ),
        (
            lambda: firth.train_svd("corpus", dim=50),
            r".* argument 'dim'; pass config=SvdConfig\(dim=\.\.\.\)",
        ),
        (
            lambda: firth.build_corpus("texts", held_out=0.1),
            r".* argument 'held_out'; pass options=BuildOptions\(held_out=\.\.\.\)",
        ),
        (
            lambda: firth.nearest("run", "word", topn=3),
            r".* argument 'topn'; it takes vectors, words, k",
        ),
        (
            lambda: firth.WordVectors(["a"], _Matrix(), nme="run"),
            r"WordVectors.__init__\(\) .* argument 'nme'(; d|\. D)id you mean 'name'\?",
        ),
        (
            lambda: firth.TextSearch.open("run", index="lines"),
            r"TextSearch.open\(\) .* argument 'index'; it takes .*",
        ),
        (lambda: firth.nearest("run"), r".* missing 1 required positional argument: 'words'"),
    ],
    ids=["function", "settings", "setting", "option", "other", "new", "class", "missing"],
)
def test_a_wrong_keyword_is_answered_by_the_right_one(call, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        call()


def test_every_method_with_options_says_what_a_wrong_keyword_may_be():
    silent = []
    for name in firth.__all__:
        if not inspect.isclass(kind := getattr(firth, name)):
            continue
        for method, function in inspect.getmembers(kind, inspect.isroutine):
            is_ours = str(getattr(function, "__module__", "")).startswith("firth")
            if method.startswith("_") or not is_ours:
                continue
            parameters = inspect.signature(function).parameters.values()
            if all(each.default is each.empty for each in parameters):
                continue
            with pytest.raises(TypeError, match="unexpected keyword") as raised:
                function(*[None] * (not inspect.ismethod(function)), qqq=1)
            if not str(raised.value).partition("'qqq'; it takes ")[2]:
                silent.append(f"{name}.{method}")
    assert not silent


def test_a_type_error_inside_of_a_function_is_left_alone():
    def words():
        yield "a"
        raise TypeError("got an unexpected keyword argument 'corpu'")

    with pytest.raises(TypeError, match=r"argument 'corpu'$"):
        firth.nearest(firth.WordVectors(["a"], _Matrix()), words())


class _Matrix:
    ndim, shape = 2, (1, 1)


def test_public_functions_are_pickled_by_their_name():
    for function in (firth.nearest, firth.train_svd):
        assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301
