package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	head = "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest\n" // two lines
	eof  = "#%eof\n"
	hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
)

// lines is what a test expects of an error: "LINE CODE".
func lines(errs Errors) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, fmt.Sprintf("%d %s", e.Line, e.Code))
	}
	return out
}

func TestStructuralErrors(t *testing.T) {
	t.Parallel()
	small := Limits{MaxBytes: 300, MaxRows: 2, MaxLineBytes: 100}
	tests := map[string]struct {
		in     string
		limits Limits
		want   []string
	}{
		"empty":              {"", Limits{}, []string{"1 manifest_no_profile", "1 manifest_no_rows", "1 manifest_no_eof"}},
		"only a mark":        {bom, Limits{}, []string{"1 manifest_no_profile", "1 manifest_no_rows", "1 manifest_no_eof"}},
		"no profile":         {"#%checkm_0.7\n\n# note\nhttp://h/a\nhttp://h/b\n" + eof, Limits{}, []string{"4 manifest_no_profile"}},
		"profile too late":   {"http://h/a\n" + head + eof, Limits{}, []string{"1 manifest_no_profile", "2 manifest_header", "3 manifest_header"}},
		"unknown profile":    {"#%profile | http://x/other\nhttp://h/a\n" + eof, Limits{}, []string{"1 manifest_unknown_profile"}},
		"profile in capital": {"#%profile | http://x/MRT-ingest-manifest\nhttp://h/a\n" + eof, Limits{}, []string{"1 manifest_unknown_profile"}},
		"profile, no value":  {"#%profile |\nhttp://h/a\n" + eof, Limits{}, []string{"1 manifest_unknown_profile"}},
		"profile, two":       {"#%profile | mrt-ingest-manifest | x\nhttp://h/a\n" + eof, Limits{}, []string{"1 manifest_unknown_profile"}},
		"profile repeated":   {head + "#%profile | http://x/mrt-batch-manifest\nhttp://h/a\n" + eof, Limits{}, []string{"3 manifest_header"}},
		"no eof":             {head + "http://h/a\n\n", Limits{}, []string{"4 manifest_no_eof"}},
		"no eof, no newline": {head + "http://h/a", Limits{}, []string{"3 manifest_no_eof"}},
		"no rows":            {head + "#http://h/a\n" + eof, Limits{}, []string{"4 manifest_no_rows"}},
		"no rows, no eof":    {head, Limits{}, []string{"2 manifest_no_rows", "2 manifest_no_eof"}},
		"row after eof":      {head + "http://h/a\n" + eof + "\n# fine\nhttp://h/b\nhttp://h/c\n", Limits{}, []string{"7 manifest_after_eof"}},
		"eof twice":          {head + "http://h/a\n" + eof + eof, Limits{}, []string{"5 manifest_after_eof"}},
		"eof with more":      {head + "http://h/a\n#%eof | x\n", Limits{}, []string{"4 manifest_header"}},
		"not UTF-8":          {head + "http://h/a | | | | | caf\xe9\nhttp://h/\xff\n" + eof, Limits{}, []string{"3 manifest_not_utf8", "4 manifest_not_utf8"}},
		"UTF-16":             {"\xff\xfe#\x00%\x00", Limits{}, []string{"1 manifest_not_utf8"}},
		"old line ends":      {strings.ReplaceAll(head+eof, "\n", "\r"), Limits{}, []string{"3 manifest_no_rows"}},
		"bad version":        {"#%checkm_\n" + head[13:] + "http://h/a\n" + eof, Limits{}, []string{"1 manifest_header"}},
		"bad prefix":         {head + "#%prefix | a: | b | c\n#%prefix\nhttp://h/a\n" + eof, Limits{}, []string{"3 manifest_header", "4 manifest_header"}},
		"late prefix":        {head + "http://h/a\n#%prefix | a: | b\n" + eof, Limits{}, []string{"4 manifest_header"}},
		"column twice":       {head + "#%fields | nfo:fileUrl | nfo:fileSize | fileSize\nhttp://h/a\n" + eof, Limits{}, []string{"3 manifest_fields"}},
		"URL not first":      {head + "#%fields | nfo:fileName | nfo:fileUrl\nhttp://h/a\n" + eof, Limits{}, []string{"3 manifest_fields"}},
		"no columns":         {head + "#%fields\nhttp://h/a\n" + eof, Limits{}, []string{"3 manifest_fields"}},
		"blank column":       {head + "#%fields | nfo:fileUrl |  | nfo:fileSize\nhttp://h/a\n" + eof, Limits{}, []string{"3 manifest_fields"}},
		"too large":          {head + strings.Repeat("#\n", 200), small, []string{fmt.Sprintf("%d manifest_too_large", 3+(300-len(head))/2)}},
		"too many rows":      {head + "http://h/a\nhttp://h/b\nhttp://h/c\nhttp://h/d\n", small, []string{"5 manifest_too_many_rows"}},
		"line too long":      {head + "http://h/a\nhttp://h/" + strings.Repeat("b", 91) + "\n" + eof, small, []string{"4 manifest_line_too_long"}},
		"only row too long":  {head + "http://h/" + strings.Repeat("b", 91) + "\n" + eof, small, []string{"3 manifest_line_too_long"}},
		"several":            {"#%fields | x\n#%profile | y\n" + "http://h/a\n#%eof\nz\n", Limits{}, []string{"1 manifest_fields", "2 manifest_unknown_profile", "5 manifest_after_eof"}},
	}
	seen := map[string]bool{}
	for name, tt := range tests {
		for _, w := range tt.want {
			_, code, _ := strings.Cut(w, " ")
			seen[code] = true
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := Parse([]byte(tt.in), tt.limits)
			var errs Errors
			if !errors.As(err, &errs) || m != nil {
				t.Fatalf("Parse = %v, %v; want Errors and no manifest", m, err)
			}
			if got := lines(errs); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			var one *Error
			if !errors.As(err, &one) || !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", one.Line)) {
				t.Errorf("the error does not begin with its line: %v", err)
			}
		})
	}
	for _, code := range []string{TooLarge, TooManyRows, LineTooLong, NotUTF8, BadHeader, NoProfile, UnknownProfile,
		BadFields, NoRows, NoEOF, AfterEOF} {
		if !seen[code] {
			t.Errorf("no case gives %s", code)
		}
	}
}

// At a limit all is well; one more is too much.
// TestTakenWithAWarning: what the original of this format takes is taken, and told.
// Shows: P15
func TestTakenWithAWarning(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   string
		rows int
		want []string
	}{
		"nothing to warn of": {head + "http://h/a\n" + eof, 1, nil},
		"unknown directive":  {head + "#%columns | x\nhttp://h/a\n#%more\n" + eof, 1, []string{"3 manifest_line_ignored", "5 manifest_line_ignored"}},
		"unknown column":     {head + "#%fields | nfo:fileUrl | nfo:colour | nfo:fileName\nhttp://h/a | red | b\n" + eof, 1, []string{"3 manifest_column_ignored"}},
		"same profile twice": {head + head[13:] + "http://h/a\n" + eof, 1, []string{"3 manifest_line_repeated"}},
		"CR alone":           {strings.ReplaceAll(head+"http://h/a\nhttp://h/b\n"+eof, "\n", "\r"), 2, []string{"1 manifest_line_ends"}},
		"CR and CRLF":        {head + "http://h/a\r\nhttp://h/b\r" + eof, 2, []string{"4 manifest_line_ends"}},
		"no media type":      {head + "http://h/a | | | | | | not a type\nhttp://h/b | | | | | | text/csv; charset=utf-8\n" + eof, 2, []string{"3 row_media_type_ignored"}},
		"hidden in a title": {strings.Replace(head, "ingest-manifest", "batch-manifest", 2) +
			"http://h/a | | | | | | | | | a\u202eb\u200b\n" + eof, 1, []string{"3 row_characters_removed"}},
	} {
		m, err := Parse([]byte(tt.in), Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := lines(m.Warnings); !slices.Equal(got, tt.want) || len(m.Rows) != tt.rows {
			t.Errorf("%s: %d rows, warnings %q, want %d and %q", name, len(m.Rows), got, tt.rows, tt.want)
		}
		for _, r := range m.Rows {
			if r.Fault != nil {
				t.Errorf("%s: %v", name, r.Fault)
			}
		}
		switch {
		case name == "unknown column" && m.Rows[0].FileName != "b", name == "hidden in a title" && m.Rows[0].Title != "ab",
			name == "no media type" && (m.Rows[0].MimeType != "application/octet-stream" || m.Rows[1].MimeType != "text/csv; charset=utf-8"):
			t.Errorf("%s: %+v", name, m.Rows)
		}
	}
	many, err := Parse([]byte(head+strings.Repeat("#%x\n", 150)+"http://h/a\n"+eof), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(many.Warnings) != 100 || many.MoreWarnings != 50 {
		t.Errorf("150 warnings: %d and %d more", len(many.Warnings), many.MoreWarnings)
	}
}

func TestLimitsAreInclusive(t *testing.T) {
	t.Parallel()
	in := head + "http://h/a\nhttp://h/b\n" + eof
	longest := len(head) - len("#%checkm_0.7\n")
	exact := Limits{MaxBytes: len(in), MaxRows: 2, MaxLineBytes: longest}
	if _, err := Parse([]byte(in), exact); err != nil {
		t.Errorf("at the limits: %v", err)
	}
	for name, l := range map[string]Limits{
		TooLarge:    {MaxBytes: len(in) - 1},
		TooManyRows: {MaxRows: 1},
		LineTooLong: {MaxLineBytes: longest - 1},
	} {
		var one *Error
		if _, err := Parse([]byte(in), l); !errors.As(err, &one) || one.Code != name {
			t.Errorf("one below: got %v, want %s", err, name)
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(strings.Repeat("\xff\n", 1000)), Limits{})
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != maxErrors {
		t.Fatalf("got %d errors, want %d", len(errs), maxErrors)
	}
	if text := err.Error(); !strings.HasSuffix(text, "; and 95 more") || strings.Count(text, ": ") != 5 {
		t.Errorf("got %q", text)
	}
}

func TestCorrupt(t *testing.T) {
	t.Parallel()
	in := head + "http://h/a\nftp://h/b\nhttp://h/c | | | x\n" + eof
	m, err := Parse([]byte(in), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var errs Errors
	if !errors.As(m.Corrupt(), &errs) || !slices.Equal(lines(errs), []string{"4 row_bad_url", "5 row_bad_size"}) {
		t.Errorf("object manifest: got %v", m.Corrupt())
	}
	m, err = Parse([]byte(strings.Replace(in, "mrt-ingest", "mrt-batch", 1)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Corrupt(); err != nil || len(m.Rows) != 3 || m.Rows[1].Fault == nil {
		t.Errorf("batch manifest: Corrupt = %v, rows %v; want nil and the faulty rows kept", err, m.Rows)
	}
	m, err = Parse([]byte(head+"http://h/a\n"+eof), Limits{})
	if err != nil || m.Corrupt() != nil {
		t.Errorf("sound manifest: %v, %v", err, m.Corrupt())
	}
}

// What a message quotes is short and harmless, and stays whole runes.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x1b[2J":                      `"a\x1b[2J"`,
		strings.Repeat("x", 100):        `"` + strings.Repeat("x", 100) + `"`,
		"x" + strings.Repeat("é", 50):   `"x` + strings.Repeat("é", 49) + `…"`,
		strings.Repeat("x", 100) + "yz": `"` + strings.Repeat("x", 100) + `…"`,
	} {
		if got := excerpt(in); got != want {
			t.Errorf("excerpt(%q) = %s, want %s", in, got, want)
		}
	}
}

// A prefix decides nothing, so the old form without a second cell is taken too.
func TestPrefixForms(t *testing.T) {
	t.Parallel()
	m, err := Parse([]byte(head+"#%prefix | nfo:<http://x>\n#%PREFIX|mrt:|http://y\nhttp://h/a\n"+eof), Limits{})
	if err != nil || !slices.Equal(m.Prefixes, []Prefix{{"nfo:<http://x>", ""}, {"mrt:", "http://y"}}) {
		t.Fatalf("%v, %+v", err, m)
	}
	data, err := m.Format()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sameManifest(m, again); err != nil {
		t.Error(err)
	}
}
