package text_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain/text"
)

// hostile has a text for each way to harm a reader, with the kind of its worst character.
var hostile = map[string]struct {
	text string
	kind text.Kind
	says string
}{
	"escape":             {"a\x1b[2J", text.Control, "a control character, U+001B"},
	"NUL":                {"a\x00", text.Control, "U+0000"},
	"delete":             {"a\x7f", text.Control, "U+007F"},
	"C1":                 {"a\u009b2J", text.Control, "U+009B"},
	"line feed":          {"a\nb", text.Control, "a line break, U+000A"},
	"tab":                {"a\tb", text.Control, "U+0009"},
	"line separator":     {"a\u2028b", text.Control, "a line break, U+2028"},
	"override":           {"a\u202etxt.exe", text.Bidirectional, "a bidirectional control, U+202E"},
	"isolate":            {"a\u2066b", text.Bidirectional, "U+2066"},
	"arabic letter mark": {"a\u061cb", text.Bidirectional, "U+061C"},
	"left-to-right mark": {"a\u200eb", text.Bidirectional, "U+200E"},
	"zero-width space":   {"a\u200bb", text.Invisible, "an invisible character, U+200B"},
	"zero-width joiner":  {"a\u200db", text.Invisible, "U+200D"},
	"word joiner":        {"a\u2060b", text.Invisible, "U+2060"},
	"byte order mark":    {"\ufeffa", text.Invisible, "U+FEFF"},
	"soft hyphen":        {"a\u00adb", text.Invisible, "U+00AD"},
	"filler":             {"a\u3164b", text.Invisible, "U+3164"},
	"tag":                {"a\U000e0041b", text.Invisible, "U+E0041"},
	"noncharacter":       {"a\uffffb", text.Invisible, "U+FFFF"},
	"bytes":              {"a\xffb", text.Plain, "is not UTF-8"},
	"cut":                {"a\xe2\x80", text.Plain, "is not UTF-8"},
}

// What a terminal obeys, or a reader does not see, is refused or shown as a mark.
// Shows: P15
func TestHostileTextIsRefusedAndShownHarmless(t *testing.T) {
	t.Parallel()
	for name, h := range hostile {
		err := text.Check(h.text)
		var found *text.Error
		if !errors.As(err, &found) || found.Kind != h.kind || !strings.Contains(err.Error(), h.says) {
			t.Errorf("%s: %v, want %s", name, err, h.says)
		}
		if shown := text.Line(h.text); !text.Valid(shown) || !strings.Contains(shown, "\ufffd") {
			t.Errorf("%s is shown as %q", name, shown)
		}
	}
	if got := text.Lines("a\tb\nc\x1b\r\u2028"); got != "a\tb\nc\ufffd\ufffd\ufffd" {
		t.Errorf("lines: %q", got)
	}
}

func TestTextOfTheWorldIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "Tide tables, 1998–2004", "Über den Ärmelkanal", "日本語の題名", "שלום עולם", "السلام عليكم", "नमस्ते",
		"❤\ufe0f", "U+FFFD is \ufffd", "a\u00a0b", "e\u0301"} {
		if err := text.Check(s); err != nil {
			t.Errorf("%q %v", s, err)
		}
		if got := text.Line(s); got != s {
			t.Errorf("%q is shown as %q", s, got)
		}
		if got, changed := text.Strip(s); got != s || changed {
			t.Errorf("%q is stripped to %q", s, got)
		}
	}
	if got, changed := text.Strip("\u202bشعر\u200cها\u202c\n"); got != "شعرها\n" || !changed {
		t.Errorf("stripped: %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, h := range hostile {
		f.Add(h.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, lines := text.Line(s), text.Lines(s)
		if !text.Valid(line) || !utf8.ValidString(lines) || text.Line(line) != line || text.Lines(lines) != lines {
			t.Errorf("%q is shown as %q and %q", s, line, lines)
		}
		if text.Valid(s) != (line == s && utf8.ValidString(s)) {
			t.Errorf("%q: valid %v, shown %q", s, text.Valid(s), line)
		}
		stripped, changed := text.Strip(s)
		if again, more := text.Strip(stripped); more || again != stripped || changed == (stripped == s) {
			t.Errorf("%q is stripped to %q, changed %v, then to %q", s, stripped, changed, again)
		}
		for _, r := range stripped {
			if k := text.KindOf(r); k == text.Bidirectional || k == text.Invisible {
				t.Errorf("%q is stripped to %q", s, stripped)
			}
		}
	})
}

func TestJSONIsEscapedAndMeansTheSame(t *testing.T) {
	t.Parallel()
	for name, h := range hostile {
		var plain bytes.Buffer
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]string{"a": h.text}); err != nil {
			t.Fatal(err)
		}
		escaped := text.EscapeJSON(plain.Bytes())
		var a, b map[string]string
		if err := errors.Join(json.Unmarshal(plain.Bytes(), &a), json.Unmarshal(escaped, &b)); err != nil || a["a"] != b["a"] {
			t.Errorf("%s: %s (%v)", name, escaped, err)
		}
		if got := string(escaped); text.Lines(got) != got {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What is no media type is taken for unknown content.
// Shows: P15
func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"text/csv": true, "application/vnd.oasis.opendocument.text": true, "image/svg+xml": true, "text/plain; charset=utf-8": true,
		`text/plain;charset="us ascii";format=flowed`: true, "": false, "text": false, "text/": false, "/csv": false, "text/csv/x": false,
		"text /csv": false, "text/csv;": false, "text/csv\n": false, "tëxt/csv": false, "text/plain; a=\"\u202e\"": false,
		"text/plain; a=\"\x1b\"": false, `text/plain; a="b`: false, "text/" + strings.Repeat("x", 128): false, "text/x; a=" + strings.Repeat("x", 250): false,
	} {
		if got := text.MediaType(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// TestDistinct: a list keeps each text where it is first, and an empty one stays empty.
func TestDistinct(t *testing.T) {
	t.Parallel()
	list := []string{"b", "a", "b", "", "a", ""}
	if got := text.Distinct(list); !slices.Equal(got, []string{"b", "a", ""}) || list[2] != "b" {
		t.Errorf("got %q of %q", got, list)
	}
	if got := text.Distinct(nil); got != nil {
		t.Errorf("nothing became %q", got)
	}
}
