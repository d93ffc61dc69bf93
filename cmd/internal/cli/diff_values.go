package cli

import "strconv"

// null is what a table shows where the database has no value. Texts stand in
// quotes in tables for people, so that it is not mistaken for one.
const null = "NULL"

func orNull(s *string) string {
	if s == nil {
		return null
	}
	return *s
}

// leadIn is how much a long value shows of what both have before they differ.
const leadIn = 15

// beside shows two values that differ: in quotes, what a terminal would obey
// written as escapes, and of long ones the part in which they begin to differ.
func beside(before, after *string) (was, is string) {
	from := 0
	if before != nil && after != nil {
		a, b := []rune(*before), []rune(*after)
		for from < min(len(a), len(b)) && a[from] == b[from] {
			from++
		}
		from = max(from-leadIn, 0)
		if max(len(a), len(b)) <= briefWidth {
			from = 0
		}
	}
	return partOf(before, from), partOf(after, from)
}

func partOf(s *string, from int) string {
	if s == nil {
		return null
	}
	text, begin, end := []rune(*s), "", ""
	if from > 0 {
		begin = "…"
	}
	text = text[min(from, len(text)):]
	if len(text) > briefWidth {
		text, end = text[:briefWidth], "…"
	}
	return begin + strconv.Quote(string(text)) + end
}
