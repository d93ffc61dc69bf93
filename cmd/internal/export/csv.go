package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/accession-ingest/accession/domain/text"
)

// CSV writes rows in UTF-8 as RFC 4180 defines them, but with a line feed at the end
// of lines. The first row has the names of the columns.
type CSV struct {
	w     *csv.Writer
	cells []string
}

// NewCSV returns a writer of rows with these columns to w.
func NewCSV(w io.Writer, columns ...string) (*CSV, error) {
	c := &CSV{w: csv.NewWriter(w), cells: make([]string, 0, len(columns))}
	return c, c.w.Write(columns)
}

// Row writes one row, a value for each column: text, numbers, booleans, times (as RFC
// 3339 in UTC), or nil for none.
func (c *CSV) Row(values ...any) error {
	c.cells = c.cells[:0]
	for _, v := range values {
		c.cells = append(c.cells, cellOf(v))
	}
	return c.w.Write(c.cells)
}

// Close writes what is buffered.
func (c *CSV) Close() error {
	c.w.Flush()
	return c.w.Error()
}

// cellOf returns a value as text. Numbers are not escaped: a negative one stays a
// number.
func cellOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return text.Cell(v)
	case bool, int64, uint64:
		return fmt.Sprint(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format(time.RFC3339Nano)
	default:
		return text.Cell(fmt.Sprint(v))
	}
}
