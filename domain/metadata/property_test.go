package metadata

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The outcome of every record follows from its identifiers and title alone, and from the
// identifiers before it.
func TestOutcomesFollow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var records, want []string
		seen := map[string]bool{}
		for i := range rapid.IntRange(1, 20).Draw(t, "records") {
			ids := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "d & e", "f\u200b"}), 0, 2).Draw(t, "ids")
			title := rapid.SampledFrom([]string{"", "A", "A\u202e"}).Draw(t, "title")
			var b strings.Builder
			for _, id := range ids {
				b.WriteString("<identifier>" + strings.ReplaceAll(id, "&", "&amp;") + "</identifier>")
			}
			records = append(records, "<record>"+b.String()+"<titles><title>"+title+"</title></titles></record>")
			outcome := Success
			if len(ids) > 1 || title != "A" {
				outcome = Warning
			}
			if len(ids) == 0 || ids[0] == "" || seen[ids[0]] || strings.Contains(ids[0], "\u200b") {
				outcome = Failure
			} else {
				seen[ids[0]] = true
			}
			want = append(want, fmt.Sprint(i+1, " ", outcome))
		}
		var got []string
		counts, err := Check(strings.NewReader(file(records...)), propertyFormat, Limits{}, func(r Record) error {
			got = append(got, fmt.Sprint(r.Number, " ", r.Outcome))
			return nil
		})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || counts.All() != len(want) {
			t.Fatalf("%v\n%v\n%v, %+v", got, want, err, counts)
		}
	})
}

var propertyFormat = func() []Format {
	f, err := ParseFormat("{urn:r}records", "body/record", "identifier", "titles/title")
	if err != nil {
		panic(err)
	}
	return []Format{f}
}()

// What is accepted is well-formed for the decoder of the standard library too, has no
// declaration, and counts its records.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(file(record("a", "A"), "<record/>")))
	f.Add([]byte(mark + file(record("&#97;", "<![CDATA[]]>"))))
	f.Add([]byte(`<x:records xmlns:x="urn:r" a="1" x:a="2"><x:body><x:record/></x:body></x:records>`))
	f.Add([]byte("<!DOCTYPE r [<!ENTITY a \"ha\">]><r>&a;</r>"))
	f.Add([]byte("<records xmlns=\"urn:r\"><body><record>\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		counts, err := Check(strings.NewReader(string(data)), propertyFormat, Limits{MaxBytes: 1 << 20}, func(r Record) error {
			if n++; r.Number != n || r.Line < 1 {
				t.Errorf("%+v", r)
			}
			return nil
		})
		if err != nil {
			return
		}
		if counts.All() != n || n == 0 {
			t.Errorf("%+v of %d", counts, n)
		}
		if root, ok := Root(data); !ok || root != propertyFormat[0].Root {
			t.Errorf("the root is %v", root)
		}
		dec := xml.NewDecoder(strings.NewReader(string(data)))
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if _, declared := token.(xml.Directive); err != nil || declared {
				t.Fatalf("%v, %v", token, err)
			}
		}
	})
}
