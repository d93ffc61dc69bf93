package metadata

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// format is that of the tests: records with identifiers, and titles in a wrapper.
func format(t testing.TB) []Format {
	t.Helper()
	f, err := ParseFormat("{urn:r}records", "body/record", "identifier", "titles/title")
	if err != nil {
		t.Fatal(err)
	}
	return []Format{f}
}

// file returns a file with these records.
func file(records ...string) string {
	return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<records xmlns=\"urn:r\"><head>of the deposit</head><body>\n" + strings.Join(records, "\n") + "\n</body></records>\n"
}

func record(id, title string) string {
	return "<record><identifier>" + id + "</identifier><titles><title>" + title + "</title></titles></record>"
}

// check returns what Check reports of a file: "NUMBER OUTCOME" for each record, and the
// line and code of the error.
func check(t testing.TB, in string, l Limits) (outcomes []string, records []Record, failed string) {
	t.Helper()
	counts, err := Check(strings.NewReader(in), format(t), l, func(r Record) error {
		outcomes, records = append(outcomes, fmt.Sprint(r.Number, " ", r.Outcome)), append(records, r)
		if (r.Outcome == Success) != (len(r.Messages) == 0) {
			t.Errorf("%+v", r)
		}
		return nil
	})
	var e *Error
	if errors.As(err, &e) {
		failed = fmt.Sprint(e.Line, " ", e.Code)
		if !strings.ContainsAny(e.Message, ":;") || strings.ContainsFunc(e.Message, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
			t.Errorf("the message names no remedy, or is no text: %q", e.Message)
		}
	} else if err != nil {
		t.Errorf("%v is no *Error", err)
	}
	if err == nil && counts.All() != len(records) {
		t.Errorf("%+v of %d records", counts, len(records))
	}
	return outcomes, records, failed
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	good := record("a", "A")
	deep := strings.Repeat("<d>", MaxDepth) + strings.Repeat("</d>", MaxDepth)
	tests := map[string]struct{ in, want string }{
		"empty":                    {"", "1 metadata_malformed"},
		"only blanks":              {"\n \n", "1 metadata_malformed"},
		"no XML":                   {"identifier,title\n", "1 metadata_malformed"},
		"cut off":                  {file(good)[:120], "3 metadata_malformed"},
		"cut off in a tag":         {"<records xmlns=\"urn:r\"><bo", "1 metadata_malformed"},
		"wrong end":                {file("<record></recorf>"), "3 metadata_malformed"},
		"end alone":                {file(good) + "</records>", "5 metadata_malformed"},
		"two roots":                {file(good) + "<records xmlns=\"urn:r\"/>", "5 metadata_malformed"},
		"text behind the root":     {file(good) + "more", "5 metadata_malformed"},
		"text before the root":     {"x" + file(good)[39:], "1 metadata_malformed"},
		"late declaration":         {"\n" + file(good), "2 metadata_malformed"},
		"attribute twice":          {file(`<record a="1" a="2"/>`), "3 metadata_malformed"},
		"attribute twice, by name": {file(`<record xmlns:p="urn:p" xmlns:q="urn:p" p:a="1" q:a="2"/>`), "3 metadata_malformed"},
		"unknown prefix":           {file("<p:record/>"), "3 metadata_malformed"},
		"prefix of an attribute":   {file(`<record p:a="1"/>`), "3 metadata_malformed"},
		"prefix out of its scope":  {file(`<x xmlns:p="urn:p"><p:y/></x><p:z/>`), "3 metadata_malformed"},
		"prefix without a name":    {file(`<x xmlns:p=""/>`), "3 metadata_malformed"},
		"prefix xml taken":         {file(`<x xmlns:xml="urn:p"/>`), "3 metadata_malformed"},
		"bare ampersand":           {file(record("a", "A & B")), "3 metadata_entity"},
		"control character":        {file(record("a", "A\x01")), "3 metadata_malformed"},
		"unquoted attribute":       {file("<record a=1/>"), "3 metadata_malformed"},
		"Latin 1":                  {strings.Replace(file(good), "UTF-8", "ISO-8859-1", 1), "1 metadata_not_utf8"},
		"no UTF-8":                 {file(record("a", "caf\xe9")), "3 metadata_not_utf8"},
		"UTF-16":                   {"\xff\xfe<\x00r\x00/\x00>\x00", "1 metadata_not_utf8"},
		"XML 1.1":                  {strings.Replace(file(good), "1.0", "1.1", 1), "1 metadata_malformed"},
		"doctype":                  {"<!DOCTYPE records SYSTEM \"http://files.test/r.dtd\">\n" + file(good)[39:], "1 metadata_doctype"},
		"bomb": {"<!DOCTYPE r [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]>\n" +
			file(record("a", "&c;"))[39:], "1 metadata_doctype"},
		"file entity":        {"<!DOCTYPE r [<!ENTITY f SYSTEM \"file:///etc/passwd\">]>" + file(record("a", "&f;"))[39:], "1 metadata_doctype"},
		"doctype late":       {file(good) + "<!DOCTYPE records>", "5 metadata_doctype"},
		"entity of HTML":     {file(record("a", "caf&eacute;")), "3 metadata_entity"},
		"entity in a value":  {file(`<record a="&b;"/>`), "3 metadata_entity"},
		"style sheet":        {"<?xml-stylesheet href=\"http://files.test/a.xsl\"?>" + file(good)[39:], "1 metadata_outside"},
		"instruction inside": {file("<record><?php echo 1 ?></record>"), "3 metadata_outside"},
		"XInclude":           {file(`<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="file:///etc/passwd"/>`), "3 metadata_outside"},
		"too deep":           {file(deep), "3 metadata_too_deep"},
		"too deep before":    {strings.Repeat("<records xmlns=\"urn:r\">\n", 100_000), "65 metadata_too_deep"},
		"unknown root":       {strings.ReplaceAll(file(good), "urn:r", "urn:other"), "2 metadata_unknown_root"},
		"no records":         {file("<other/>"), "5 metadata_no_records"},
		"record elsewhere":   {strings.ReplaceAll(file(good), "body", "tail"), "5 metadata_no_records"},
		"too many records":   {file(good, record("b", "B"), record("c", "C"), record("d", "D")), "6 metadata_too_many_records"},
		"too large":          {file(strings.Repeat(good+"\n", 2), strings.Repeat("<!-- x -->\n", 300_000)), "150006 metadata_too_large"},
		"long text":          {file(record("a", strings.Repeat("x", MaxText+1))), "3 metadata_text_too_long"},
		"long tag":           {file("<record a=\"" + strings.Repeat("x", MaxText+1)), "3 metadata_text_too_long"},
		"long declaration":   {"<!DOCTYPE " + strings.Repeat("x", MaxText+1), "1 metadata_text_too_long"},
		"many attributes":    {file("<record" + attributes(MaxAttributes+1) + "/>"), "3 metadata_too_many"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, got := check(t, tt.in, Limits{MaxBytes: 2 << 20, MaxRecords: 3}); got != tt.want && name != "too large" || got == "" {
				t.Errorf("got %q, want %q", got, tt.want)
			} else if name == "too large" && !strings.HasSuffix(got, " "+TooLarge) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d=\"\"", i)
	}
	return b.String()
}

// What is not a fault of the file is taken: a hint that names a schema, comments,
// sections of raw text, every way to write a namespace, elements that no format knows, and
// the byte order mark.
func TestAcceptedFiles(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"plain":               file(record("a", "A")),
		"mark":                mark + file(record("a", "A")),
		"no first line, CRLF": strings.ReplaceAll(file(record("a", "A"))[39:], "\n", "\r\n"),
		"schema":              strings.Replace(file(record("a", "A")), "<head>", `<head xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:r http://127.0.0.1/r.xsd" xml:lang="en">`, 1),
		"comment":             "<!-- a -->" + file(record("<!-- - -->a", "A"))[39:],
		"raw":                 file(record("<![CDATA[a]]>", "<![CDATA[<A> & ]]>")),
		"references":          file(record("&#97;", "&lt;A&gt; &amp; &#x41;")),
		"prefixes": `<x:records xmlns:x="urn:r"><x:body><record xmlns="urn:r"><y:identifier xmlns:y="urn:r">a</y:identifier>` +
			`<titles><title>A <i xmlns="">italic</i></title></titles></record></x:body></x:records>`,
		"others":        file("<note>record</note>", record("a", "A"), "<other><record><identifier>b</identifier></record></other>"),
		"inner record":  file("<record><identifier>a</identifier><titles><title>A</title></titles><record><identifier>b</identifier></record></record>"),
		"depth allowed": file(record("a", "A"), strings.Repeat("<d>", MaxDepth-2)+strings.Repeat("</d>", MaxDepth-2)),
		"attributes":    file(record("a", "A"), "<other"+attributes(MaxAttributes)+"/>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, records, failed := check(t, in, Limits{})
			if failed != "" || !slices.Equal(got, []string{"1 Success"}) || records[0].Identifier != "a" || !strings.Contains(records[0].Title, "A") {
				t.Errorf("%q: %q, %+v", failed, got, records)
			}
		})
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		records []string
		want    []string
		says    string // of the last message
	}{
		"missing identifier":   {[]string{"<record><titles><title>A</title></titles></record>"}, []string{"1 Failure"}, `at "identifier"`},
		"empty identifier":     {[]string{record(" \n ", "A")}, []string{"1 Failure"}, "no identifier"},
		"identifier elsewhere": {[]string{"<record><x><identifier>a</identifier></x><titles><title>A</title></titles></record>"}, []string{"1 Failure"}, "no identifier"},
		"long identifier":      {[]string{record(strings.Repeat("x", 513), "A")}, []string{"1 Failure"}, "more than 512 bytes"},
		"very long identifier": {[]string{record(strings.Repeat("x", 500_000), "A")}, []string{"1 Failure"}, "more than 512 bytes"},
		"unseen in identifier": {[]string{record("a\u200bb", "A")}, []string{"1 Failure"}, "an invisible character"},
		"turned identifier":    {[]string{record("a\u202eb", "A")}, []string{"1 Failure"}, "a bidirectional control"},
		"same identifier":      {[]string{record("a", "A"), record("b", "B"), record(" a", "A")}, []string{"1 Success", "2 Success", "3 Failure"}, "line 3"},
		"missing title":        {[]string{"<record><identifier>a</identifier></record>"}, []string{"1 Warning"}, `at "titles/title"`},
		"unseen in title":      {[]string{record("a", "A\u202e")}, []string{"1 Warning"}, "cannot be seen"},
		"two identifiers":      {[]string{"<record><identifier>a</identifier><identifier>b</identifier><titles><title>A</title></titles></record>"}, []string{"1 Warning"}, "2 identifiers"},
		"failure stays":        {[]string{"<record/>"}, []string{"1 Failure"}, "no title"},
		"the others go on":     {[]string{"<record/>", record("a", "A"), "<record><identifier>b</identifier></record>"}, []string{"1 Failure", "2 Success", "3 Warning"}, "no title"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, records, failed := check(t, file(tt.records...), Limits{})
			if failed != "" || !slices.Equal(got, tt.want) {
				t.Fatalf("%q: got %q, want %q", failed, got, tt.want)
			}
			last := records[len(records)-1]
			if says := last.Messages[len(last.Messages)-1]; !strings.Contains(says, tt.says) {
				t.Errorf("%q does not say %q", says, tt.says)
			}
			for _, r := range records {
				if len(r.Identifier) > 600 || strings.ContainsAny(r.Identifier+r.Title, "\u200b\u202e") {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	f, err := ParseFormat("{http://h/a/b}root", "{}x/y", "{urn:z}id", "")
	if err != nil || f.Root != (Name{"http://h/a/b", "root"}) || !slices.Equal(f.Record, []Name{{"", "x"}, {"http://h/a/b", "y"}}) ||
		!slices.Equal(f.Identifier, []Name{{"urn:z", "id"}}) || f.Title != nil {
		t.Errorf("%+v, %v", f, err)
	}
	for _, bad := range [][4]string{
		{"", "r", "i", ""}, {"a/b", "r", "i", ""}, {"{urn:a", "r", "i", ""}, {"a", "", "i", ""}, {"a", "r", "", ""}, {"a", "p:r", "i", ""}, {"a", "r/", "i", ""},
		{"a", "r", "i", "t/ t"}, {"a", "r", "@id", "t>"}, {"{\u200b}a", "r", "i", ""}, {"a", strings.Repeat("r/", 16) + "r", "i", ""}, {"{a b}a", "r", "i", ""},
	} {
		if _, err := ParseFormat(bad[0], bad[1], bad[2], bad[3]); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	if n, ok := Root([]byte(file()[:110])); !ok || n != (Name{"urn:r", "records"}) {
		t.Errorf("%v, %v", n, ok)
	}
	for _, head := range []string{"", "a;b\n", "<rec", "<!DOCTYPE html><html>", "#%checkm_0.7\n"} {
		if n, ok := Root([]byte(head)); ok {
			t.Errorf("%q has the root %v", head, n)
		}
	}
}

// The error of what is called for a record ends the check; so does that of the reader.
func TestErrorsOfOthers(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	if _, err := Check(strings.NewReader(file(record("a", "A"))), format(t), Limits{}, func(Record) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	broken := io.MultiReader(strings.NewReader(file(record("a", "A"))[:100]), failing{full})
	if _, err := Check(broken, format(t), Limits{}, func(Record) error { return nil }); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// endless is a file with so many records, made while it is read.
type endless struct {
	left, n int
	buffer  []byte
}

func (e *endless) Read(p []byte) (int, error) {
	for len(e.buffer) == 0 {
		switch e.n++; {
		case e.n == 1:
			e.buffer = []byte(`<records xmlns="urn:r"><body>`)
		case e.n <= e.left+1:
			e.buffer = []byte(record(fmt.Sprint("id-", e.n), "A title of some length, and more of it"+strings.Repeat(" and more", 20)) + "\n")
		case e.n == e.left+2:
			e.buffer = []byte("</body></records>")
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, e.buffer)
	e.buffer = e.buffer[n:]
	return n, nil
}

// 50,000 records take little more memory than one: what is kept of each is its key.
func TestMemoryIsBounded(t *testing.T) {
	const records, most = 50_000, 16 << 20
	var peak, before uint64
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before = heap()
	counts, err := Check(&endless{left: records}, format(t), Limits{}, func(r Record) error {
		if r.Number%10_000 == 0 {
			peak = max(peak, heap())
		}
		return nil
	})
	if err != nil || counts != (Counts{Success: records}) {
		t.Fatalf("%+v, %v", counts, err)
	}
	if peak > before+most {
		t.Errorf("%d bytes for %d records", peak-before, records)
	}
}
