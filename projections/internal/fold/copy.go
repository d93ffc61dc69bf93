package fold

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// copyRows appends new rows to a table with COPY. It does what pgx's CopyFrom does, in a
// third of the time: a projector mostly writes rows of the history, and pgx allocates
// memory for each value and looks up how to encode it.
func copyRows[R any](ctx context.Context, tx pgx.Tx, schema, name string, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	t, err := tableOf[R]()
	if err == nil {
		conn := tx.Conn()
		source := &copySource[R]{columns: t.columns, rows: rows, types: conn.TypeMap()}
		source.encoded.WriteString(copyHeader)
		_, err = conn.PgConn().CopyFrom(ctx, source, fmt.Sprintf("copy %s (%s) from stdin (format binary)",
			pgx.Identifier{schema, name}.Sanitize(), strings.Join(t.names, ", ")))
	}
	if err != nil {
		return fmt.Errorf("write %d rows of %s: %w", len(rows), name, err)
	}
	return nil
}

// copyHeader is the signature of PostgreSQL's binary format, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copySource is rows in PostgreSQL's binary format. It encodes them as they are read:
// all of them can be tens of megabytes.
type copySource[R any] struct {
	columns []column
	rows    []R          // those that are not encoded yet
	encoded bytes.Buffer // what was not read yet
	types   *pgtype.Map
}

// Read implements io.Reader.
func (s *copySource[R]) Read(to []byte) (int, error) {
	for ; s.encoded.Len() < len(to) && len(s.rows) > 0; s.rows = s.rows[1:] {
		row := reflect.Indirect(reflect.ValueOf(&s.rows[0]).Elem())
		b := binary.BigEndian.AppendUint16(s.encoded.AvailableBuffer(), uint16(len(s.columns)))
		for _, c := range s.columns {
			var err error
			if b, err = c.append(b, row, s.types); err != nil {
				return 0, fmt.Errorf("column %s: %w", c.name, err)
			}
		}
		s.encoded.Write(b)
	}
	return s.encoded.Read(to)
}

// y2k is where PostgreSQL's times begin, in microseconds of Unix.
var y2k = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// append appends the length of a field, and the field: null has no length.
func (c column) append(b []byte, row reflect.Value, types *pgtype.Map) ([]byte, error) {
	f, begin := row.Field(c.index), len(b)
	if (f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice) && f.IsNil() {
		return binary.BigEndian.AppendUint32(b, math.MaxUint32), nil
	}
	f, b = reflect.Indirect(f), append(b, 0, 0, 0, 0)
	var err error
	switch c.kind {
	case "text":
		b = append(b, f.String()...)
	case "bigint":
		b = binary.BigEndian.AppendUint64(b, uint64(f.Int()))
	case "boolean":
		b = append(b, 0)
		if f.Bool() {
			b[len(b)-1] = 1
		}
	case "timestamptz":
		at := f.Addr().Interface().(*time.Time)
		b = binary.BigEndian.AppendUint64(b, uint64(at.UnixMicro()-y2k))
	case "jsonb":
		b = append(append(b, 1), f.Bytes()...) // the version of the format
	default:
		// Lists of texts, which are rare.
		b, err = types.Encode(pgtype.TextArrayOID, pgx.BinaryFormatCode, f.Interface(), b)
	}
	if err == nil {
		binary.BigEndian.PutUint32(b[begin:], uint32(len(b)-begin-4))
	}
	return b, err
}
