"""Keys through Arrow's PyCapsule protocol: arrays and streams made through the C structs."""
import unittest

import numpy

import bloomery
from arrow_structs import Chunked, Exported, integer_array, text_array, view_array
from bloomery import Bitmap, Set

TEXTS = [b"", b"fig", b"a text of more than twelve bytes", "\u00e4\u20ac".encode(), b"x" * 12,
         b"y" * 13] + [b"key %d" % i for i in range(20_000)]


class Arrow(unittest.TestCase):
    def check(self, given, keys):
        expected = Set(len(keys))
        fresh = [expected.add(key) for key in keys]
        made = Set(len(keys))
        self.assertEqual(made.add_all(given).tolist(), fresh)
        self.assertEqual(made, expected)

    def test_texts_of_every_layout(self):
        for given in (text_array(TEXTS), text_array(TEXTS, large=True), view_array(TEXTS),
                      text_array(TEXTS, format="z")):
            self.check(given, TEXTS)
            self.assertEqual(given.released, 2)

    def test_integers_of_every_width(self):
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
            numbers = numpy.arange(20_000).astype(dtype)
            self.check(integer_array(numbers), numbers.tolist())

    def test_rows_of_a_fixed_width_keep_their_zeros(self):
        rows = numpy.frombuffer(b"ab\0\0cd\0\0ef\0\1", "u1").copy()
        self.check(Exported("w:4", 3, [None, rows]), [b"ab\0\0", b"cd\0\0", b"ef\0\1"])

    def test_arrays_may_begin_later(self):
        self.check(text_array(TEXTS, offset=3), TEXTS[3:])
        numbers = numpy.arange(100)
        self.check(integer_array(numbers, offset=7), numbers[7:].tolist())

    def test_a_dictionary_is_what_it_stands_for(self):
        entries = text_array([b"a", b"b", b"c"])
        numbers = numpy.array([2, 0, 2, 1], "i4")
        given = Exported("i", 4, [None, numbers], dictionary=entries)
        self.check(given, [b"c", b"a", b"c", b"b"])
        numbers[1] = 3
        wrong = Exported("i", 4, [None, numbers], dictionary=text_array([b"a", b"b", b"c"]))
        with self.assertRaisesRegex(ValueError, "dictionary"):
            Set(10).update(wrong)
        self.assertEqual(wrong.released, 2)

    def test_a_table_of_one_column_is_that_column(self):
        inner = text_array([b"a", b"b"])
        self.check(Exported("+s", 2, [None], child=inner), [b"a", b"b"])
        empty = Exported("+s", 2, [None])
        with self.assertRaisesRegex(ValueError, "0 columns"):
            Set(10).update(empty)

    def test_streams_are_read_array_by_array(self):
        parts = [text_array(TEXTS[:9000]), text_array([]), text_array(TEXTS[9000:])]
        given = Chunked(*parts)
        self.check(given, TEXTS)
        self.assertEqual(given.released, 1)
        self.assertEqual([part.released for part in parts], [2, 1, 1])

    def test_a_stream_that_fails_tells_why(self):
        given = Chunked(text_array([b"a"]), error=b"the disk is gone")
        seen = Set(10)
        with self.assertRaisesRegex(OSError, "the disk is gone"):
            seen.update(given)
        self.assertIn("a", seen)
        self.assertEqual(given.released, 1)

    def test_nulls_and_other_types_are_refused(self):
        nulls = integer_array(numpy.arange(3), nulls=[False, True, False])
        with self.assertRaisesRegex(ValueError, "null"):
            Set(10).update(nulls)
        self.assertEqual(nulls.released, 2)
        self.check(integer_array(numpy.arange(3), nulls=[False] * 3), [0, 1, 2])
        for format in ("g", "b", "tdD", "n", "+l"):
            given = Exported(format, 1, [None, numpy.zeros(2, "u8")])
            with self.assertRaisesRegex(TypeError, "Arrow array of format"):
                Set(10).update(given)
            self.assertEqual(given.released, 2, format)

    def test_what_was_used_is_not_used_again(self):
        given = text_array([b"a"])
        Set(10).update(given)
        with self.assertRaisesRegex(ValueError, "once more"):
            Set(10).update(given)

    def test_a_bitmap_takes_integers_only(self):
        taken = Bitmap(0, 99)
        taken.update(integer_array(numpy.array([5, 7], "i2")))
        self.assertEqual(list(taken), [5, 7])
        with self.assertRaises(bloomery.Mismatch):
            taken.update(text_array([b"5"]))


if __name__ == "__main__":
    unittest.main()
