package entry_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/entry"
)

func TestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]entry.Name{
		"entry-100-maps:2026-0000000042":           {Priority: 100, Group: entry.Group{Dataset: "maps", Group: "2026"}, Sequence: 42},
		"entry-000-maps:-0000000001":               {Group: entry.Group{Dataset: "maps"}, Sequence: 1},
		"entry-999-a%2Db%3Ac%2F%25:%0A-9999999999": {Priority: 999, Group: entry.Group{Dataset: "a-b:c/%", Group: "\n"}, Sequence: 9_999_999_999},
		"entry-007-k%C3%B6nig:...-0000000007":      {Priority: 7, Group: entry.Group{Dataset: "könig", Group: "..."}, Sequence: 7},
	} {
		if got := want.String(); got != name {
			t.Errorf("%+v is named %s, want %s", want, got, name)
		}
		if got, err := entry.ParseName(name); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "entry-100-maps:2026-42", "entry-1000-maps:a-0000000001", "entry-100-maps-0000000001", "entry-100-:a-0000000001",
		"entry-100-.:a-0000000001", "entry-100-a:..-0000000001", "entry-100-a%2d:b-0000000001", "entry-100-a%41:b-0000000001", "entry-100-a%:b-0000000001",
		"entry-100-a%C3:b-0000000001", "entry-100-a:b:c-0000000001", "entry-100-a:b-0000000000", "job-100-a:b-0000000001", "entry-100-a:b-0000000001-x", "entry-+10-a:b-0000000001"} {
		if n, err := entry.ParseName(name); err == nil {
			t.Errorf("%q is taken for the name of %+v", name, n)
		}
	}
}

func TestNameComesBack(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.StringN(1, 20, entry.MaxName), rapid.StringOfN(rapid.SampledFrom([]rune("-:/%.a\t\x7f")), 1, 8, -1))
	rapid.Check(t, func(t *rapid.T) {
		want := entry.Name{Priority: entry.Priority(rapid.IntRange(0, 999).Draw(t, "priority")), Sequence: rapid.Int64Range(1, entry.MaxSequence).Draw(t, "sequence"),
			Group: entry.Group{Dataset: part.Draw(t, "dataset"), Group: rapid.OneOf(part, rapid.Just("")).Draw(t, "group")}}
		if (entry.Work{Dataset: want.Dataset, Group: want.Group.Group, Priority: want.Priority, Key: "k"}).Check() != nil {
			return
		}
		name := want.String()
		if got, err := entry.ParseName(name); err != nil || got != want {
			t.Fatalf("%q comes back as %+v, %v; want %+v", name, got, err, want)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' }) || strings.Count(name, "-") != 3 || strings.Count(name, ":") != 1 {
			t.Fatalf("%q cannot be the name of a node, or has more separators", name)
		}
	})
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"entry-100-maps:2026-0000000042", "entry-999-a%2Db:%0A-9999999999", "entry-100-a%:b-0000000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := entry.ParseName(s); err == nil && n.String() != s {
			t.Errorf("%q is read as %q", s, n.String())
		}
	})
}

func TestChecks(t *testing.T) {
	t.Parallel()
	good := entry.Work{Dataset: "maps", Group: "2026", Priority: entry.DefaultPriority, Key: "k"}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*entry.Work){
		"the dataset is missing":    func(w *entry.Work) { w.Dataset = "" },
		`the dataset cannot be "."`: func(w *entry.Work) { w.Dataset = "." },
		`the group cannot be ".."`:  func(w *entry.Work) { w.Group = ".." },
		"the dataset is no text":    func(w *entry.Work) { w.Dataset = "a\xff" },
		"the group is no text":      func(w *entry.Work) { w.Group = "a\x00" },
		"the group has 129 bytes":   func(w *entry.Work) { w.Group = strings.Repeat("a", 129) },
		"the key is missing":        func(w *entry.Work) { w.Key = "" },
		"the priority is 1000":      func(w *entry.Work) { w.Priority = 1000 },
		"the priority is -1":        func(w *entry.Work) { w.Priority = -1 },
	} {
		w := good
		change(&w)
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", w, err, want)
		}
	}
	long := strings.Repeat("u", 2000)
	for _, r := range []entry.Request{{}, {Inputs: make([]string, 101)}, {Inputs: []string{long + long}}, {Inputs: []string{long, long, long, long, long, long, long, long, long}}} {
		if r.Check() == nil {
			t.Errorf("%d inputs are taken", len(r.Inputs))
		}
	}
}
