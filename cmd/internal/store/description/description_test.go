package description

import (
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", path, got)
	}
}

func TestERCGolden(t *testing.T) {
	t.Parallel()
	golden(t, "erc.txt", ERC{
		Who: "Harbour Office", What: "Tide gauge\r\nrecords: 100 %\n\nerc:\nwho: someone else", When: "2024\t05",
		Where: []string{"ark:/99999/fk4abc", "tide:1\u2028x"},
	}.Encode())
	golden(t, "erc-empty.txt", ERC{Who: " \n "}.Encode())
}

// Whatever the values hold, a reader finds exactly the elements that were meant.
func TestERCValuesCannotAddElements(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(rapid.String(), rapid.StringMatching("[ a:%#\r\n\v\u0085\u2028]{0,20}"))
	rapid.Check(t, func(t *rapid.T) {
		e := ERC{Who: value.Draw(t, "who"), What: value.Draw(t, "what"), When: value.Draw(t, "when"), Where: []string{value.Draw(t, "where")}}
		var names []string
		text := string(e.Encode())
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			if strings.TrimSpace(line) == "" {
				t.Fatalf("a blank line ends the record: %q", text)
			}
			if line[0] != ' ' {
				name, _, _ := strings.Cut(line, ":")
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != "erc who what when where" {
			t.Fatalf("elements %q in %q", got, text)
		}
	})
}

func TestDublinCore(t *testing.T) {
	t.Parallel()
	data, err := DublinCore{
		Title: []string{"Tides <& ]]> \x00 more"}, Creator: []string{"Harbour Office", ""}, Date: []string{"2024"},
		Identifier: []string{"ark:/99999/fk4abc", "tide:1"},
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "dc.xml", data)
	var back struct {
		XMLName    xml.Name `xml:"metadata"`
		Title      string   `xml:"http://purl.org/dc/elements/1.1/ title"`
		Creator    []string `xml:"http://purl.org/dc/elements/1.1/ creator"`
		Identifier []string `xml:"http://purl.org/dc/elements/1.1/ identifier"`
	}
	if err := xml.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.Title != "Tides <& ]]> \uFFFD more" || len(back.Creator) != 1 || len(back.Identifier) != 2 {
		t.Fatalf("read back %+v", back)
	}
}
