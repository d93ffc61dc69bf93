package fold

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Every column of every table that rows are copied to is encoded as pgx encodes it:
// with its zero value, with nulls, and with values that are hard to encode.
func TestCopySourceEncodesAsPgx(t *testing.T) {
	t.Parallel()
	encodesAsPgx[pgdb.AccessionEvent](t)
	encodesAsPgx[pgdb.AccessionBatch](t)
	encodesAsPgx[pgdb.AccessionBatchReport](t)
	encodesAsPgx[pgdb.AccessionJob](t)
	encodesAsPgx[pgdb.AccessionJobTransition](t)
	encodesAsPgx[pgdb.AccessionFile](t)
	encodesAsPgx[pgdb.AccessionFileTransition](t)
	encodesAsPgx[pgdb.AccessionFileCount](t)
	encodesAsPgx[pgdb.AccessionSetting](t)
	encodesAsPgx[*Retry](t)
}

// An event that is put back from its row has the same millisecond as before.
func TestStoredTimeIsNeverLater(t *testing.T) {
	t.Parallel()
	last := time.Date(2026, 11, 23, 12, 12, 4, 338_999_700, time.UTC)
	if got := domain.At(stored(last)); got != domain.At(last) {
		t.Errorf("%v, want %v", got, domain.At(last))
	}
}

func encodesAsPgx[R any](t *testing.T) {
	t.Helper()
	table, err := tableOf[R]()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]R, 5) // the longest has more bytes than are read at once
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		if row.Kind() == reflect.Pointer {
			row.Set(reflect.New(row.Type().Elem()))
			row = row.Elem()
		}
		for _, c := range table.columns {
			set(t, row.Field(c.index), i)
		}
	}
	types := pgtype.NewMap()
	got, err := io.ReadAll(&copySource[R]{columns: table.columns, rows: rows, types: types})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(byPgx(t, types, table, rows, nil), got); diff != "" {
		t.Errorf("%T (-pgx +ours):\n%s", rows, diff)
	}
}

// set sets a field to one of several values, of which 0 is the zero value.
func set(t *testing.T, f reflect.Value, which int) {
	t.Helper()
	if which == 0 {
		return
	}
	switch v := f.Addr().Interface().(type) {
	case *time.Time:
		*v = []time.Time{
			1: time.Date(2026, 11, 22, 15, 4, 5, 123_456_789, time.UTC), 2: time.Date(1999, 12, 31, 23, 59, 59, 999_999_500, time.UTC),
			3: time.Date(1, 1, 1, 0, 0, 0, 500, time.FixedZone("", 3600)), 4: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		}[which]
	case *json.RawMessage:
		*v = json.RawMessage([]string{1: `{}`, 2: `[1,"ü"]`, 3: `null`, 4: `{"a":"\u003c"}`}[which])
	case *[]string:
		*v = [][]string{1: {}, 2: {"a"}, 3: {"", "null", `{"\`}, 4: {"ü", "b", "a"}}[which]
	default:
		switch f.Kind() {
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			set(t, f.Elem(), which-1) // a zero value that is not null, too
		case reflect.String:
			f.SetString([]string{1: "x", 2: "ünï\n\t\\N", 3: strings.Repeat("long ", 1000), 4: "\u0001"}[which])
		case reflect.Int, reflect.Int64:
			f.SetInt([]int64{1: 1, 2: -1, 3: 1<<63 - 1, 4: -1 << 63}[which])
		case reflect.Bool:
			f.SetBool(which%2 == 1)
		default:
			t.Fatalf("no values for a %s", f.Type())
		}
	}
}

// byPgx appends rows as pgx's CopyFrom does.
func byPgx[R any](t testing.TB, types *pgtype.Map, table table, rows []R, b []byte) []byte {
	t.Helper()
	for i := range rows {
		row := reflect.Indirect(reflect.ValueOf(&rows[i]).Elem())
		b = binary.BigEndian.AppendUint16(b, uint16(len(table.columns)))
		for _, c := range table.columns {
			v := c.value(row)
			if raw, ok := v.(json.RawMessage); ok {
				v = []byte(raw) // else pgx encodes it again
			}
			begin := len(b)
			b = binary.BigEndian.AppendUint32(b, math.MaxUint32)
			field, err := types.Encode(oids[c.kind], pgx.BinaryFormatCode, v, b)
			if err != nil {
				t.Fatal(err)
			}
			if field != nil {
				b = field
				binary.BigEndian.PutUint32(b[begin:], uint32(len(b)-begin-4))
			}
		}
	}
	return b
}

var oids = map[string]uint32{"text": pgtype.TextOID, "bigint": pgtype.Int8OID, "boolean": pgtype.BoolOID,
	"timestamptz": pgtype.TimestamptzOID, "jsonb": pgtype.JSONBOID, textList: pgtype.TextArrayOID}

// BenchmarkCopyRows compares the two ways to encode a row of the history.
func BenchmarkCopyRows(b *testing.B) {
	rows := make([]pgdb.AccessionEvent, 1000)
	for i := range rows {
		rows[i] = pgdb.AccessionEvent{
			Epoch: 1, Seq: int64(i), ID: "file/0123456789abcdef0123456789abcdef/3", Type: "file.downloaded", Kind: "file",
			AggregateID: "0123456789abcdef0123456789abcdef", Version: 3, BatchID: "bid0000000001", Actor: "daemon/download",
			CommandID: "01234567-89ab-cdef-0123-456789abcdef", TraceParent: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01",
			Time: time.Now(), Stored: time.Now(), Data: json.RawMessage(`{"from":"downloading","to":"downloaded","job_id":"jid0000000001","size":5}`),
		}
	}
	table, err := tableOf[pgdb.AccessionEvent]()
	if err != nil {
		b.Fatal(err)
	}
	types := pgtype.NewMap()
	b.Run("ours", func(b *testing.B) {
		for range b.N {
			if _, err := io.Copy(io.Discard, &copySource[pgdb.AccessionEvent]{columns: table.columns, rows: rows, types: types}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
	})
	b.Run("pgx", func(b *testing.B) {
		var buf []byte
		for range b.N {
			for i := range rows {
				buf = byPgx(b, types, table, rows[i:i+1], buf[:0])
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
	})
}
