package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"
)

// CSV writes rows as RFC 4180 has them, but for lines that end with a line feed, in
// UTF-8, the first with the columns'
// names.
type CSV struct {
	w     *csv.Writer
	cells []string
}

// NewCSV begins a file; the header is written with the first flush.
func NewCSV(w io.Writer, columns ...string) (*CSV, error) {
	c := &CSV{w: csv.NewWriter(w), cells: make([]string, 0, len(columns))}
	return c, c.w.Write(columns)
}

// Row writes one row, a value for each column: text, numbers, truth values, times
// (as RFC 3339 in UTC), or nil for nothing.
func (c *CSV) Row(values ...any) error {
	c.cells = c.cells[:0]
	for _, v := range values {
		c.cells = append(c.cells, cellOf(v))
	}
	return c.w.Write(c.cells)
}

// Close writes what is still held back.
func (c *CSV) Close() error {
	c.w.Flush()
	return c.w.Error()
}

// cellOf writes a value. Numbers are no text: a negative one stays a number.
func cellOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return Cell(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format(time.RFC3339Nano)
	default:
		return Cell(fmt.Sprint(v))
	}
}
