package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sameManifest(a, b *Manifest) error {
	if a.Version != b.Version || a.Profile != b.Profile || !slices.Equal(a.Prefixes, b.Prefixes) || !slices.Equal(a.Fields, b.Fields) {
		return fmt.Errorf("headers differ: %+v, %+v", a, b)
	}
	if len(a.Rows) != len(b.Rows) {
		return fmt.Errorf("%d rows, then %d", len(a.Rows), len(b.Rows))
	}
	for i := range a.Rows {
		if !a.Rows[i].equal(&b.Rows[i]) {
			return fmt.Errorf("row %d differs:\n%+v\n%+v", i, a.Rows[i], b.Rows[i])
		}
	}
	return nil
}

// TestRoundTrip writes manifests made from scratch, full of what needs
// escaping, and reads them back.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	// Text that a cell can hold: any of these, but no literal escape.
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab7c20 |%#;:/é\u0301世")), 0, 12, -1).Filter(func(s string) bool {
		return decode(s) == s
	})
	identifier := text.Filter(func(s string) bool { return s != "" && strings.Trim(s, blanks) == s && !strings.Contains(s, ";") })
	rapid.Check(t, func(t *rapid.T) {
		m := empty(rapid.SampledFrom([]Profile{MrtIngest, MrtBatch, MrtContainerBatch, MrtSingleFileBatch}).Draw(t, "profile"))
		m.Fields = append([]Field{FileURL}, rapid.Permutation(append(MrtBatch.Fields()[1:], MimeType)).Draw(t, "columns")...)
		n := rapid.IntRange(1, 6).Draw(t, "rows")
		for i := range n {
			segment := text.Filter(func(s string) bool { return CheckName(s) == nil }).Draw(t, "name")
			r := Row{
				FileURL:           fmt.Sprintf("https://h.test/%d?q=%%20", i),
				Size:              rapid.Int64Min(-1).Draw(t, "size"),
				FileName:          NormalName(fmt.Sprintf("%d/%s", i, segment)),
				FileLastModified:  text.Draw(t, "modified"),
				MimeType:          rapid.SampledFrom([]string{"", "text/csv", "text/plain; charset=utf-8"}).Draw(t, "type"),
				PrimaryIdentifier: text.Draw(t, "primary"),
				LocalIdentifiers:  rapid.SliceOfNDistinct(identifier, 0, 3, rapid.ID).Draw(t, "local"),
				Creator:           text.Draw(t, "creator"),
				Title:             text.Draw(t, "title"),
				Date:              text.Draw(t, "date"),
			}
			if rapid.Bool().Draw(t, "digest") {
				r.HashAlgorithm = rapid.SampledFrom(Algorithms()).Draw(t, "algorithm")
				k := r.HashAlgorithm.HexLength()
				r.HashValue = rapid.StringOfN(rapid.RuneFrom([]rune("0123456789abcdef")), k, k, -1).Draw(t, "value")
			}
			m.Rows = append(m.Rows, r)
		}
		data, err := m.Format()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(data, Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if err := sameManifest(m, got); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		for i, r := range got.Rows {
			if want := 2 + len(m.Prefixes) + 1 + i + 1; r.Line != want || r.Fault != nil {
				t.Fatalf("row %d: line %d, want %d; fault %v", i, r.Line, want, r.Fault)
			}
		}
	})
}

func TestFormatRefuses(t *testing.T) {
	t.Parallel()
	row := func(change func(*Row)) func(*Manifest) { return func(m *Manifest) { change(&m.Rows[1]) } }
	tests := map[string]struct {
		change func(*Manifest)
		code   string
	}{
		"no rows":             {func(m *Manifest) { m.Rows = nil }, NoRows},
		"no profile":          {func(m *Manifest) { m.Profile = "" }, UnknownProfile},
		"no columns":          {func(m *Manifest) { m.Fields = nil }, BadFields},
		"version, more lines": {func(m *Manifest) { m.Version = "1\nhttp://h/x" }, NoProfile},
		"prefix, more lines":  {func(m *Manifest) { m.Prefixes[0].URI += "\n#%prefix | x: | y" }, BadHeader},
		"URL missing":         {row(func(r *Row) { r.FileURL = "" }), RowBadURL},
		"a line break":        {row(func(r *Row) { r.Title = "a\nb" }), RowControlCharacter},
		"a line break at end": {row(func(r *Row) { r.Title = "a\n" }), RowControlCharacter},
		"a literal escape":    {row(func(r *Row) { r.Title = "a%20b" }), RowUnwritable},
		"a bad name":          {row(func(r *Row) { r.FileName = "../a" }), RowBadName},
		"a shared name":       {row(func(r *Row) { r.FileName = "one" }), RowDuplicateName},
		"half a digest":       {row(func(r *Row) { r.HashAlgorithm = MD5 }), RowUnwritable},
		"upper case digest":   {row(func(r *Row) { r.HashAlgorithm, r.HashValue = CRC32, "ABCDEF01" }), RowUnwritable},
		"no such column":      {row(func(r *Row) { r.Creator = "me" }), RowUnwritable},
		"negative size":       {row(func(r *Row) { r.Size = -2 }), RowBadSize},
		"joined identifiers":  {func(m *Manifest) { m.Fields = MrtBatch.Fields(); m.Rows[1].LocalIdentifiers = []string{"a;b"} }, RowUnwritable},
		"a fault by hand":     {row(func(r *Row) { r.Fault = &Error{Code: RowBadURL} }), RowUnwritable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := empty(MrtIngest)
			m.Fields = append(m.Fields, Title)
			m.Rows = []Row{
				{FileURL: "http://h.test/1", FileName: "one", Size: -1},
				{FileURL: "http://h.test/2", FileName: "two", Size: -1},
			}
			if _, err := m.Format(); err != nil {
				t.Fatalf("before the change: %v", err)
			}
			tt.change(m)
			data, err := m.Format()
			var e *Error
			if !errors.As(err, &e) || e.Code != tt.code {
				t.Fatalf("got %v, want %s\n%s", err, tt.code, data)
			}
			if strings.HasPrefix(tt.code, "row_") && !strings.Contains(err.Error(), "row 2 ") {
				t.Errorf("the error does not count the row: %v", err)
			}
		})
	}
}

// A name that holds an escape literally can only come from a URL, and stays there.
func TestFormatNameOfURL(t *testing.T) {
	t.Parallel()
	m, err := Parse([]byte(head+"http://h.test/a%2520b | | | | | | text/plain\n"+eof), Limits{})
	if err != nil || m.Rows[0].FileName != "a%20b" {
		t.Fatalf("%v, %+v", err, m)
	}
	data, err := m.Format()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sameManifest(m, got); err != nil {
		t.Error(err)
	}
}

// FuzzParse: no input panics; what parses can be written and reads back equal,
// faulty rows and their faults included.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.checkm")
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples in testdata: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, false)
	}
	f.Add([]byte(head+"store:///a | | | | |%20%7c%\nhttp://h/a%2520|||||\n"+eof), true)
	f.Fuzz(func(t *testing.T, data []byte, storeURLs bool) {
		m, err := Parse(data, Limits{StoreURLs: storeURLs})
		if err != nil {
			var errs Errors
			if m != nil || !errors.As(err, &errs) || len(errs) == 0 || err.Error() == "" {
				t.Fatalf("Parse = %v, %v", m, err)
			}
			for _, e := range errs {
				if e.Line < 1 || e.Code == "" {
					t.Fatalf("%+v", e)
				}
			}
			return
		}
		for _, r := range m.Rows {
			if r.Fault == nil && (CheckName(r.FileName) != nil || CheckURL(r.FileURL, storeURLs) != nil) {
				t.Fatalf("an unsound row without a fault: %+v", r)
			}
		}
		wide := Limits{StoreURLs: storeURLs, MaxBytes: 1 << 30, MaxLineBytes: 1 << 30}
		first, err := m.Format()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(first, wide)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if err := sameManifest(m, again); err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		second, err := again.Format()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	m := empty(MrtIngest)
	for i := range 100_000 {
		m.Rows = append(m.Rows, Row{FileURL: fmt.Sprintf("https://h.test/files/%d.tiff", i), HashAlgorithm: SHA256, HashValue: hash,
			Size: 1 << 30, FileName: fmt.Sprintf("scans/%03d/%d.tiff", i%1000, i), MimeType: "image/tiff"})
	}
	data, err := m.Format()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// empty returns a manifest without rows, with the usual header of its profile.
func empty(p Profile) *Manifest {
	return &Manifest{
		Version: "0.7",
		Profile: p,
		Prefixes: []Prefix{
			{"mrt:", "http://merritt.cdlib.org/terms#"},
			{"nfo:", "http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#"},
		},
		Fields: p.Fields(),
	}
}
