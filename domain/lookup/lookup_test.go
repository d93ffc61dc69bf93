package lookup_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/domain/text"
)

var digest = strings.Repeat("a1", 32)

func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]lookup.Line{
		"bid0000000042":                      {Kind: lookup.Batch, Value: "bid0000000042"},
		" Batch: bid0000000042\r":            {Kind: lookup.Batch, Value: "bid0000000042"},
		"jid0000000042":                      {Kind: lookup.Job, Value: "jid0000000042"},
		"jid42":                              {Kind: lookup.Name, Value: "jid42"},
		"job:jid42":                          {Fault: `"jid42" is not an id: want jid and 10 digits, for example jid0000000042`},
		strings.ToUpper(digest):              {Kind: lookup.Digest, Value: digest},
		"sha256:" + digest:                   {Kind: lookup.Digest, Value: digest},
		"digest: SHA-256:" + digest:          {Kind: lookup.Digest, Value: digest},
		"digest:beef":                        {Fault: `"beef" is not a digest; write the 64 hex digits of a SHA-256`},
		"ark:/99999/fk4 with blanks":         {Kind: lookup.Name, Value: "ark:/99999/fk4 with blanks"},
		"primary:ark:/99999/fk4":             {Kind: lookup.Primary, Value: "ark:/99999/fk4"},
		"local:" + digest:                    {Kind: lookup.Local, Value: digest},
		"local:local:x":                      {Kind: lookup.Local, Value: "local:x"},
		"submission:s-1":                     {Kind: lookup.Submission, Value: "s-1"},
		"submission:":                        {Fault: "after submission: there is nothing; write the identifier"},
		"a\x00b":                             {Fault: "the line holds a control character, U+0000; remove it"},
		"a\u202eb":                           {Fault: "the line holds a bidirectional control, U+202E; remove it"},
		"a\xff":                              {Fault: "the line is not UTF-8; write it in UTF-8"},
		strings.Repeat("x", 1024):            {Kind: lookup.Name, Value: strings.Repeat("x", 1024)},
		strings.Repeat("x", 1025):            {Fault: "the line has more than 1024 bytes; write one identifier on each line"},
		"digest:" + strings.Repeat("é", 200): {Fault: fmt.Sprintf("%q is not a digest; write the 64 hex digits of a SHA-256", strings.Repeat("é", 100)+"…")},
	} {
		got, asks := lookup.Parse(7, line)
		if !asks || got.Number != 7 || got.Kind != want.Kind || got.Value != want.Value || got.Fault != want.Fault {
			t.Errorf("%q is %+v, want %+v", line, got, want)
		}
	}
	for _, line := range []string{"", " \t\r\n", "# a comment", "  #"} {
		if got, asks := lookup.Parse(1, line); asks {
			t.Errorf("%q asks for %+v", line, got)
		}
	}
}

// inParts reads at most so many bytes at a time.
type inParts struct {
	io.Reader
	most int
}

func (r inParts) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), r.most)]) }

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func all(t *testing.T, lines iter.Seq2[lookup.Line, error]) (list []lookup.Line, err error) {
	t.Helper()
	for line, err := range lines {
		if err != nil {
			return list, err
		}
		list = append(list, line)
	}
	return list, nil
}

// A list is read however its bytes arrive; what is wrong with a line is said in its place,
// and a list that is too large is refused with the line.
func TestLists(t *testing.T) {
	t.Parallel()
	list := "\ufeffbid0000000001\r\n\n# none\n" + strings.Repeat("y", 10_000) + "\nlocal:x"
	for _, r := range []io.Reader{strings.NewReader(list), inParts{strings.NewReader(list), 1}} {
		got, err := all(t, lookup.Lines(r))
		if err != nil || len(got) != 3 || got[0].Kind != lookup.Batch || got[1].Number != 4 || got[1].Kind != "" || got[2].Number != 5 || got[2].Value != "x" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	c, err := lookup.Check(strings.NewReader(list))
	if err != nil || c != (lookup.Counts{Lines: 3, Wrong: 1}) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := lookup.Check(strings.NewReader(strings.Repeat("x\n", lookup.MaxLines))); err != nil || c.Lines != lookup.MaxLines {
		t.Errorf("a list of the most lines: %+v, %v", c, err)
	}
	for name, bad := range map[string]struct {
		list string
		is   error
		says string
	}{
		"too many lines": {strings.Repeat("x\n", lookup.MaxLines) + "y", lookup.ErrTooLarge, "line 100001: "},
		"too many bytes": {"x\n" + strings.Repeat("y", lookup.MaxBytes), lookup.ErrTooLarge, "line 2: "},
		"empty":          {"\n# none\n", lookup.ErrEmpty, "one identifier on each line"},
	} {
		if _, err := lookup.Check(strings.NewReader(bad.list)); !errors.Is(err, bad.is) || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("broken")
	if _, err := lookup.Check(io.MultiReader(strings.NewReader("x\ny"), failing{broken})); !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a reader that fails: %v", err)
	}
}

// Every line of a list has its answers, in order, and nothing that was found for another
// value or as another kind.
func TestEveryLineIsAnswered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"a", "b", "c"})
		kinds := append(slices.Clone(lookup.Kinds), lookup.Name, "")
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lookup.Line {
			l := lookup.Line{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Value: value.Draw(t, "value")}
			if l.Kind == "" {
				l.Value, l.Fault = "", "wrong"
			}
			return l
		}), 0, 20).Draw(t, "lines")
		for i := range lines {
			lines[i].Number = i + 1
		}
		found := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lookup.Match {
			return lookup.Match{Kind: rapid.SampledFrom(lookup.Kinds).Draw(t, "kind"), Value: value.Draw(t, "value"), Known: lookup.Known{Job: rapid.String().Draw(t, "job")}}
		}), 0, 20).Draw(t, "found")
		answers := lookup.Answers(lines, found)
		for _, l := range lines {
			var want []lookup.Outcome
			for _, m := range found {
				if m.Value == l.Value && (m.Kind == l.Kind || l.Kind == lookup.Name && slices.Contains(lookup.Kinds[3:], m.Kind)) {
					want = append(want, lookup.Found)
				}
			}
			if l.Kind == "" {
				want = []lookup.Outcome{lookup.Wrong}
			} else if len(want) == 0 {
				want = []lookup.Outcome{lookup.NotFound}
			}
			var got []lookup.Outcome
			for len(answers) > 0 && answers[0].Line == l.Number {
				got = append(got, answers[0].Outcome)
				answers = answers[1:]
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v is answered %v, want %v", l, got, want)
			}
		}
		if len(answers) > 0 {
			t.Fatalf("%d answers are of no line, or out of order", len(answers))
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add("bid0000000001\n\xef\xbb\xbfx\r\nlocal:\u202e\ndigest:" + digest + "\n# c")
	f.Add(strings.Repeat("é", 3000) + "\n\n\x00")
	f.Fuzz(func(t *testing.T, list string) {
		whole, err := all(t, lookup.Lines(strings.NewReader(list)))
		parts, perr := all(t, lookup.Lines(inParts{strings.NewReader(list), 700}))
		if !slices.Equal(whole, parts) || (err == nil) != (perr == nil) {
			t.Fatalf("%q depends on how it arrives: %+v, %v; %+v, %v", list, whole, err, parts, perr)
		}
		before := 0
		for _, l := range whole {
			if l.Number <= before || l.Number > 1+strings.Count(list, "\n") {
				t.Errorf("line %d follows line %d", l.Number, before)
			}
			before = l.Number
			if (l.Fault == "") != (l.Kind != "") || (l.Kind == "") != (l.Value == "") || !text.Valid(l.Value) || !text.Valid(l.Text) || !utf8.ValidString(l.Fault) {
				t.Errorf("%+v", l)
			}
		}
	})
}

// The end of a query says what became of the mail that was asked for.
func TestQueryIsMailed(t *testing.T) {
	t.Parallel()
	q := lookup.Query{State: asked.Grabbed, ID: domain.NewQueryID(3), Version: 4, Request: asked.Request{Lines: 2, Recipients: 1}}
	mailed := &domain.QueryDelivery{Delivery: lookup.MailKey(q.ID), Delivered: true}
	for event, cmd := range map[domain.EventType]lookup.Command{
		domain.EventQueryAnswered: lookup.Finish{Answer: asked.Answer{Found: 2}, Mailed: mailed},
		domain.EventQueryFailed:   lookup.Fail{Reason: domain.Reason{Class: domain.ClassSystem, Code: "x"}, Mailed: mailed},
	} {
		dec, err := lookup.Decide(q, cmd)
		if err != nil || dec.Events[0].Type != event {
			t.Errorf("%s: %+v, %v", event, dec, err)
			continue
		}
		if m, ok := domain.MoveOfQuery(dec.Events[0].Data); !ok || m.Mailed == nil || *m.Mailed != *mailed || mailed.Delivery != "qid0000000003/report" {
			t.Errorf("%s says of its mail %+v", event, m.Mailed)
		}
	}
	if dec, err := lookup.Decide(q, lookup.Finish{Answer: asked.Answer{Found: 2}}); err == nil {
		t.Errorf("it ends without a word on its mail: %+v", dec)
	}
}
