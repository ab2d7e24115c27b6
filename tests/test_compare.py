"""The comparison: what counts as equal, how far apart is how many ulp, and what can't be compared."""

import numpy as np
import pytest

from scripts.compare import compare, ulps
from scripts.run import Value


def value(numbers, dtype="f32", kind="compared") -> Value:
    numpy = {
        "f32": np.float32,
        "f64": np.float64,
        "f16": np.float16,
        "i32": np.int64,
        "i64": np.int64,
        "bool": np.bool_,
    }
    return Value(kind, dtype, np.array(numbers, dtype=numpy[dtype]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("x", [1.0, -1.0, 0.0, 1e-3, -3.75, 60000.0])
def test_neighbours_are_one_ulp_apart(dtype, x):
    x = np.array([x], dtype)
    up = np.nextafter(x, np.array(np.inf, dtype), dtype=dtype)
    down = np.nextafter(x, np.array(-np.inf, dtype), dtype=dtype)
    assert ulps(x, up) == 1
    assert ulps(x, down) == 1
    assert ulps(up, down) == 2
    assert ulps(x, x) == 0


def test_ulps_across_zero_and_at_the_ends():
    tiny = np.nextafter(np.float32([0]), np.float32([1]))
    assert ulps(np.float32([0.0]), np.float32([-0.0])) == 0
    assert ulps(tiny, -tiny) == 2
    assert ulps(np.float32([np.nan]), np.float32([np.nan])) == 0
    assert ulps(np.float64([np.finfo(np.float64).max]), -np.float64([np.finfo(np.float64).max])) > 2**63
    assert ulps(np.float32([np.finfo(np.float32).max]), np.float32([np.inf])) == 1


@pytest.mark.parametrize(
    ("left", "right", "agrees", "said"),
    [
        (value([1.0]), value([1.0]), True, "max|diff|=0.00e+00  0 ulp"),
        (value([1.0]), value([1.0000001]), True, "1 ulp"),
        (value([1.0]), value([1.00001]), False, "MISMATCH"),
        (value([np.nan]), value([np.nan]), True, "max|diff|=0.00e+00"),
        (value([np.nan]), value([1.0]), False, "max|diff|=inf"),
        (value([np.inf]), value([np.inf]), True, "max|diff|=0.00e+00"),
        (value([np.inf]), value([-np.inf]), False, "max|diff|=inf"),
        (value(3, "i64"), value([3], "i32"), True, "n=   1"),
        (value([3], "i64"), value([4], "i64"), False, "max|diff|=1.00e+00"),
        (value([True], "bool"), value([False], "bool"), False, "MISMATCH"),
        (value([1.0]), value([1.0], "f64"), False, "dtype f32 against f64"),
        (value([1.0, 2.0]), value([[1.0, 2.0]]), False, "shape [2] against [1, 2]"),
        (value([1.0]), None, False, "recorded by the first program only"),
        (None, value([1.0]), False, "recorded by the second program only"),
        (value([]), value([]), True, "n=   0"),
    ],
)
def test_one_value(left, right, agrees, said):
    comparison = compare({"x": left} if left else {}, {"x": right} if right else {}, 1e-6)
    assert comparison.agrees is agrees
    assert said in str(comparison)


def test_the_worst_is_named_and_a_fault_is_worse_than_any_difference():
    left = {"a": value([1.0]), "b": value([1.0]), "c": value([1.0])}
    right = {"a": value([1.0]), "b": value([2.0]), "c": value([1.0], "f64")}
    assert compare(left, right, 0.1, ("a", "b")).worst.name == "b"
    assert compare(left, right, 0.1).worst.name == "c"


def test_a_tolerance_of_zero_asks_for_the_same_values():
    assert compare({"x": value([1.0])}, {"x": value([1.0])}, 0.0).agrees
    assert not compare({"x": value([1.0])}, {"x": value([1.0000001])}, 0.0).agrees


def test_patterns_choose_names_and_noted_values_stay_out():
    left = {"a.x": value([1.0]), "b": value([1.0]), "n": value([1.0], kind="noted")}
    assert [line.name for line in compare(left, left, 0.0, ("a.*",)).lines] == ["a.x"]
    assert [line.name for line in compare(left, left, 0.0).lines] == ["a.x", "b"]
    with pytest.raises(ValueError, match="no recorded value matches"):
        compare(left, left, 0.0, ("z*",))
