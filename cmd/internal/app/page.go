package app

// pageLength is how many rows a page has when nobody says.
const pageLength = 100

// page asks for one row more than limit, and tells whether it was there.
func page[T any](limit int, list func(limit int) ([]T, error)) (rows []T, more bool, err error) {
	if limit < 1 {
		limit = pageLength
	}
	rows, err = list(limit + 1)
	if len(rows) > limit {
		return rows[:limit], true, err
	}
	return notNil(rows), false, err
}
