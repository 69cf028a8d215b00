"""Repeats in columns of pandas."""
import unittest

import numpy
import pandas

from bloomery import Set
from bloomery.pandas import drop_duplicates, duplicated


class Columns(unittest.TestCase):
    def test_every_type_of_column_is_as_pandas_says(self):
        numbers = [3, 1, 3, 2, 1, 2]
        text = pandas.Series(["c", "a", "c", "b", "a", "b"], index=list("uvwxyz"), name="word")
        columns = [
            text, text.astype("string"), text.astype("category"), pandas.Series(numbers),
            pandas.Series(numbers, dtype="Int64"), pandas.Series(numbers, dtype="UInt8"),
            pandas.Series(numbers, dtype="i2"), pandas.to_datetime(pandas.Series(numbers)),
            pandas.Series([True, False, True]), pandas.Series([], dtype=object),
            pandas.Series([True, False, True], dtype="boolean"),
            pandas.to_datetime(pandas.Series(numbers)).dt.tz_localize("Europe/Paris"),
            pandas.to_timedelta(pandas.Series(numbers)),
            pandas.Series(numpy.arange(12)[::2] % 3),
        ]
        for column in columns:
            pandas.testing.assert_series_equal(duplicated(column), column.duplicated())

    def test_rows_are_new_across_frames(self):
        seen = Set(100)
        frame = pandas.DataFrame({"k": ["a", "b", "a"], "n": [1, 2, 3]})
        self.assertEqual(drop_duplicates(frame, "k", seen)["n"].tolist(), [1, 2])
        self.assertEqual(drop_duplicates(frame, "k", seen)["n"].tolist(), [])

    def test_a_moment_is_the_same_in_every_unit_and_zone(self):
        seen = Set(100)
        days = pandas.Series(pandas.to_datetime(["2024-01-01", "2024-06-01"]))
        self.assertEqual(duplicated(days, seen).tolist(), [False, False])
        in_seconds = pandas.Series(days.to_numpy().astype("M8[s]"))
        self.assertEqual(duplicated(in_seconds, seen).tolist(), [True, True])
        tokyo = days.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
        self.assertEqual(duplicated(tokyo, seen).tolist(), [True, True])

    def test_several_columns_are_not_one(self):
        frame = pandas.DataFrame({"a": [1, 1], "b": [2, 2]})
        with self.assertRaisesRegex(TypeError, "is 2 columns"):
            drop_duplicates(frame, ["a", "b"])
        self.assertEqual(
            duplicated(pandas.util.hash_pandas_object(frame, index=False)).tolist(), [False, True])

    def test_missing_values_are_what_is_said(self):
        column = pandas.Series(["a", None, "a", None])
        with self.assertRaisesRegex(ValueError, "2 missing"):
            duplicated(column)
        self.assertEqual(duplicated(column, missing="keep").tolist(), [False, False, True, False])
        self.assertEqual(duplicated(column, missing="drop").tolist(), [False, True, True, True])
        numbers = pandas.Series([1, None, 1], dtype="Int64")
        self.assertEqual(duplicated(numbers, missing="keep").tolist(), [False, False, True])
        with self.assertRaisesRegex(ValueError, "missing is"):
            duplicated(column, missing="x")
        with self.assertRaisesRegex(TypeError, "astype"):
            duplicated(pandas.Series([1.5, 2.5]))


if __name__ == "__main__":
    unittest.main()
