package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

var update = flag.Bool("update", false, "write golden files anew")

// hostile is what a stranger may write into a name or a message.
const hostile = "=cmd|' /C calc'!A0\x1b[2J\u009b31m<script>alert(1)</script>\t\"x\";,\x07"

func sample(seq uint64) app.Event {
	return app.Event{ID: fmt.Sprintf("job/jid0000000001/%d", seq), Seq: seq, Time: domain.At(time.Date(2026, 3, 1, 12, 0, int(seq%60), 5e6, time.UTC)),
		Stored: time.Date(2026, 3, 1, 12, 0, int(seq%60), 7123e3, time.UTC), Type: domain.EventJobFailed, Subject: "job/jid0000000001", Version: int64(seq),
		Batch: "bid0000000001", Actor: "user/@eve", Command: "c1", Zxid: -7, Epoch: 1, Source: "/accession/test", Schema: "urn:accession:event:job.failed:v1",
		Data: &domain.JobMoved{JobMove: domain.JobMove{From: domain.JobDownloading, To: domain.JobFailed,
			Reason: &domain.Reason{Class: domain.ClassContent, Code: domain.CodeDigestMismatch, Message: hostile, Attempt: 1}}}}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); write it anew with `make generate`:\n%s", name, diff)
	}
}

func written(t testing.TB, format string, events ...app.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewEventWriter(&b, format)
	for _, e := range events {
		if err == nil {
			err = w.Write(e)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEventsAsText(t *testing.T) {
	t.Parallel()
	for _, format := range []string{FormatCSV, FormatJSONLines} {
		out := written(t, format, sample(1), sample(2))
		golden(t, "events."+format, out)
		if strings.ContainsAny(string(out), "\x1b\u009b\x07") {
			t.Errorf("%s holds control characters: %q", format, out)
		}
	}
	var back struct{ Data domain.JobMoved }
	line, _, _ := bytes.Cut(written(t, FormatJSONLines, sample(1)), []byte("\n"))
	if err := json.Unmarshal(line, &back); err != nil || back.Data.Reason.Message != hostile {
		t.Errorf("JSON has changed the text: %q, %v", back.Data.Reason.Message, err)
	}
	rows, err := csv.NewReader(bytes.NewReader(written(t, FormatCSV, sample(1)))).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[1]) != 22 || !strings.HasPrefix(rows[1][10], "'=cmd|") || rows[1][17] != "-7" {
		t.Errorf("%q, %v", rows, err)
	}
}

// TestParquetReadsBack also checks that rows beyond one group are there.
func TestParquetReadsBack(t *testing.T) {
	t.Parallel()
	const n = rowsPerGroup + 5
	events := make([]app.Event, n)
	for i := range events {
		events[i] = sample(uint64(i + 1))
	}
	data := written(t, FormatParquet, events...)
	rows, err := parquet.Read[EventRow](bytes.NewReader(data), int64(len(data)))
	if err != nil || len(rows) != n {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i := range rows {
		want, err := rowOf(events[i])
		rows[i].Time, rows[i].Stored = rows[i].Time.UTC(), rows[i].Stored.UTC()
		if err != nil || rows[i] != want {
			t.Fatalf("row %d: %v\n%s", i, err, cmp.Diff(want, rows[i]))
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	if got := Line("a\tb\nc\x7f\u0085"); got != "a\ufffdb\ufffdc\ufffd\ufffd" {
		t.Errorf("%q", got)
	}
}

// TestNoSpreadsheetFindsAFormula splits what was written as a careless spreadsheet
// would, at any sign and without a look at quotation marks: no cell begins a formula.
func TestNoSpreadsheetFindsAFormula(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab=+-@\uff1d\uff20;,|\t\n\r \"'\u00a0\ufeff\u200b")), 0, 12, -1)
		row := []any{text.Draw(t, "one"), text.Draw(t, "two")}
		var out bytes.Buffer
		c, err := NewCSV(&out, "one", "two")
		if err == nil {
			err = errors.Join(c.Row(row...), c.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range strings.FieldsFunc(out.String(), func(r rune) bool { return strings.ContainsRune(";|\t\n", r) }) {
			for i, part := range strings.Split(cell, ",") {
				begins := strings.TrimLeft(part, "\"")
				if i == 0 {
					begins = strings.TrimLeft(part, "\" \u00a0\ufeff\u200b")
				}
				if begins != "" && strings.ContainsRune("=+-@\uff1d\uff20", []rune(begins)[0]) {
					t.Fatalf("%q is written as %q, in which %q is a formula", row, out.String(), part)
				}
			}
		}
	})
}

func TestFilesAreWholeOrNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "x.csv")
	broken := errors.New("broken")
	if err := File(name, func(w io.Writer) error { fmt.Fprint(w, "half"); return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := File(name, func(w io.Writer) error { fmt.Fprint(w, "whole"); return nil }); err != nil {
		t.Error(err)
	}
	if err := File(name, func(w io.Writer) error { fmt.Fprint(w, "other"); return nil }); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	data, _ := os.ReadFile(name)
	if err != nil || len(left) != 1 || string(data) != "whole" {
		t.Errorf("%v, %q, %v", left, data, err)
	}
}
