package fold

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// copyRows appends new rows to a table with COPY, in PostgreSQL's binary format:
// several times as fast as statements with rows as JSON, and the history is most
// of what a projector writes. The columns are the JSON names of the row's fields.
func copyRows[R any](ctx context.Context, tx pgx.Tx, table string, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	plan, err := planOf(reflect.TypeFor[R]())
	if err != nil {
		return fmt.Errorf("copy to %s: %w", table, err)
	}
	sql := fmt.Sprintf("copy %s (%s) from stdin (format binary)", table, strings.Join(plan.names, ", "))
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, &copyReader[R]{plan: plan, rows: rows}, sql); err != nil {
		return fmt.Errorf("write %d rows of %s: %w", len(rows), table, err)
	}
	return nil
}

// copyReader writes rows in the binary format as they are asked for: all of them at
// once are tens of megabytes.
type copyReader[R any] struct {
	plan  *copyPlan
	rows  []R
	next  int    // row, -1 = the end was written
	begun bool   // the head was written
	b     []byte // of it so much was not read yet
	buf   []byte // where b lies
}

// copyChunk is how many bytes are written at least before they are read.
const copyChunk = 32 << 10

// Read implements io.Reader.
func (c *copyReader[R]) Read(to []byte) (int, error) {
	if len(c.b) == 0 {
		c.buf = c.fill(c.buf[:0])
		if c.b = c.buf; len(c.b) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(to, c.b)
	c.b = c.b[n:]
	return n, nil
}

func (c *copyReader[R]) fill(b []byte) []byte {
	if !c.begun {
		c.begun = true
		b = append(b, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	}
	for ; c.next >= 0 && c.next < len(c.rows) && len(b) < copyChunk; c.next++ {
		b = c.plan.row(b, reflect.ValueOf(&c.rows[c.next]).Elem())
	}
	if c.next == len(c.rows) {
		c.next = -1
		b = binary.BigEndian.AppendUint16(b, math.MaxUint16) // the end
	}
	return b
}

// computed are the columns that PostgreSQL computes itself.
var computed = []string{"seconds", "jobs_in_progress"}

// copyPlan says how rows of one type are written.
type copyPlan struct {
	names  []string
	fields []copyField
}

type copyField struct {
	index  int
	null   bool // a pointer, slice or JSON: nil is null
	of     sqlType
	append func([]byte, reflect.Value) []byte
}

// sqlType is a type of columns, with PostgreSQL's number for it.
type sqlType struct {
	name   string
	number uint32
}

var (
	sqlText  = sqlType{"text", 25}
	sqlTexts = sqlType{"text[]", 1009}
	sqlInt   = sqlType{"bigint", 20}
	sqlBool  = sqlType{"boolean", 16}
	sqlTime  = sqlType{"timestamptz", 1184}
	sqlJSON  = sqlType{"jsonb", 3802}
)

var copyPlans sync.Map // reflect.Type → *copyPlan

func planOf(t reflect.Type) (*copyPlan, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p, ok := copyPlans.Load(t); ok {
		return p.(*copyPlan), nil
	}
	p := &copyPlan{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("json")
		if !f.IsExported() || slices.Contains(computed, name) {
			continue
		}
		field := copyField{index: i, null: f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case of == reflect.TypeFor[time.Time]():
			field.of, field.append = sqlTime, appendTime
		case of == reflect.TypeFor[json.RawMessage]():
			field.of, field.append = sqlJSON, appendJSON
		case of == reflect.TypeFor[[]string]():
			field.of, field.append = sqlTexts, appendTexts
		case of.Kind() == reflect.String:
			field.of, field.append = sqlText, func(b []byte, v reflect.Value) []byte { return appendText(b, v.String()) }
		case of.Kind() == reflect.Int64 || of.Kind() == reflect.Int:
			field.of, field.append = sqlInt, func(b []byte, v reflect.Value) []byte { return appendInt8(b, v.Int()) }
		case of.Kind() == reflect.Bool:
			field.of, field.append = sqlBool, appendBool
		default:
			return nil, fmt.Errorf("no binary form for column %s, a %s", name, of)
		}
		p.names = append(p.names, name)
		p.fields = append(p.fields, field)
	}
	copyPlans.Store(t, p)
	return p, nil
}

func (p *copyPlan) row(b []byte, v reflect.Value) []byte {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(p.fields)))
	for _, f := range p.fields {
		b = f.value(b, v)
	}
	return b
}

// value appends the field of a row.
func (f copyField) value(b []byte, row reflect.Value) []byte {
	field := row.Field(f.index)
	if f.null {
		if field.IsNil() {
			return binary.BigEndian.AppendUint32(b, math.MaxUint32)
		}
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
	}
	return f.append(b, field)
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func appendInt8(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(n))
}

func appendBool(b []byte, v reflect.Value) []byte {
	b = binary.BigEndian.AppendUint32(b, 1)
	if v.Bool() {
		return append(b, 1)
	}
	return append(b, 0)
}

// epochOfPostgres is where its timestamps begin; they count microseconds.
var epochOfPostgres = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

func appendTime(b []byte, v reflect.Value) []byte {
	at := v.Addr().Interface().(*time.Time)
	return appendInt8(b, at.Round(time.Microsecond).UnixMicro()-epochOfPostgres)
}

func appendJSON(b []byte, v reflect.Value) []byte {
	data := v.Bytes()
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(data)+1)), 1) // the version of the format
	return append(b, data...)
}

func appendTexts(b []byte, v reflect.Value) []byte {
	begin := len(b)
	b = append(b, 0, 0, 0, 0)
	n := v.Len()
	dimensions := uint32(min(n, 1))
	b = binary.BigEndian.AppendUint32(b, dimensions)
	b = binary.BigEndian.AppendUint32(b, 0) // without nulls
	b = binary.BigEndian.AppendUint32(b, sqlText.number)
	if dimensions > 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		b = binary.BigEndian.AppendUint32(b, 1)
		for i := range n {
			b = appendText(b, v.Index(i).String())
		}
	}
	binary.BigEndian.PutUint32(b[begin:], uint32(len(b)-begin-4))
	return b
}
