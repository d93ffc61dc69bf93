package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/domain/metadata"
)

// badManifest is a manifest that is refused, or a row of one.
type badManifest struct {
	text  string                // HOST is the server, PROFILE the profile of the kind
	gives string                // the code that the parser has for it
	says  string                // the whole reason that the depositor reads; of a row, without its line
	only  domain.SubmissionType // the one kind that has it, "" = objects and batches
}

// headOf is the head of a manifest of a kind.
const headOf = "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/PROFILE\n"

const (
	goodRow   = "http://HOST/good.txt | | | | | good.txt\n"
	digestOf  = "http://HOST/good.txt | "
	atTheEnd  = "#%eof\n"
	zeroes32  = "00000000000000000000000000000000"
	limitRows = 20

	object, batch = domain.TypeObjectManifest, domain.TypeFileBatchManifest
)

// profilesOf are the profiles of manifests of these kinds.
var profilesOf = map[domain.SubmissionType]manifest.Profile{object: manifest.MrtIngest, batch: manifest.MrtSingleFileBatch}

// refused are manifests that are refused as a whole, of whatever profile.
var refused = map[string]badManifest{
	"many rows":       {headOf + strings.Repeat(goodRow, limitRows+1) + atTheEnd, manifest.TooManyRows, "line 23: this is row 21 and a manifest may have 20; divide it into several", ""},
	"long line":       {headOf + "# " + strings.Repeat("x", 64<<10) + "\n" + goodRow + atTheEnd, manifest.LineTooLong, "line 3: the line has 65538 bytes; use fewer than 65536", ""},
	"Latin 1":         {headOf + "http://HOST/caf\xe9\n" + atTheEnd, manifest.NotUTF8, "line 3: the line is not UTF-8; save the manifest as UTF-8", ""},
	"late prefix":     {headOf + goodRow + "#%prefix | a: | b\n" + atTheEnd, manifest.BadHeader, "line 4: #%prefix stands after a row; move it above the first row", ""},
	"no profile":      {"#%checkm_0.7\n" + goodRow + atTheEnd, manifest.NoProfile, "line 2: there is no #%profile line above; write #%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest for the files of one object", ""},
	"unknown profile": {strings.Replace(headOf, "PROFILE", "mrt-unheard-of", 1) + goodRow + atTheEnd, manifest.UnknownProfile, `line 2: the profile "http://uc3.cdlib.org/registry/ingest/manifest/mrt-unheard-of" is not known; the #%profile URL must end in mrt-ingest-manifest, mrt-batch-manifest, mrt-container-batch-manifest or mrt-single-file-batch-manifest`, ""},
	"columns":         {headOf + "#%fields | nfo:fileName | nfo:fileUrl\n" + goodRow + atTheEnd, manifest.BadFields, "line 3: the first column of #%fields must be nfo:fileUrl", ""},
	"no rows":         {headOf + atTheEnd, manifest.NoRows, "line 3: the manifest lists nothing; write one row for each file or object", ""},
	"cut off":         {headOf + goodRow, manifest.NoEOF, "line 3: the manifest ends without #%eof, so it may have been cut off; send it whole, with #%eof as its last line", ""},
	"after the end":   {headOf + goodRow + atTheEnd + goodRow, manifest.AfterEOF, "line 5: there is content after #%eof; move it above, or end the file there", ""},
}

// faulty are rows, of one object or of a batch, that cannot be ingested: the second of each is at
// fault.
var faulty = map[string]badManifest{
	"cells":      {"http://HOST/good.txt | | | | | a | | | | | | | b", manifest.RowTooManyCells, "the row has more than the CELLS cells that its columns need; write %7c for a | inside a value", ""},
	"control":    {"http://HOST/good.txt | | | | | a\x1bb", manifest.RowControlCharacter, "the cell nfo:fileName holds a control character; remove it", ""},
	"identifier": {"http://HOST/good.txt | | | | | a | | chart\u200b7", manifest.RowBadIdentifier, "the cell mrt:localIdentifier holds an invisible character, U+200B; remove it", batch},
	"URL":        {"gopher://HOST/good.txt | | | | | a", manifest.RowBadURL, "the URL is neither http nor https nor s3 nor sftp nor file; serve the file by one of them", ""},
	"name":       {"http://HOST/good.txt | | | | | ../a", manifest.RowBadName, `the file name "../a" has the part ".."; write the path from the object's top without it`, ""},
	"again":      {"http://HOST/good.txt | | | | | good.txt", manifest.RowDuplicateName, `the file name "good.txt" is already on line 3; give each file its own`, object},
	"folder":     {"http://HOST/good.txt | | | | | good.txt/a", manifest.RowNameConflict, `the file name "good.txt/a" needs a folder where line 3 puts the file "good.txt"; rename one`, object},
	"size":       {"http://HOST/good.txt | | | 4k | | a", manifest.RowBadSize, `the size "4k" is not a number of bytes; write digits only, or leave it empty`, ""},
	"algorithm":  {digestOf + "sha3 | " + zeroes32 + " | | | a", manifest.RowUnknownAlgorithm, `the digest algorithm "sha3" is not known; use adler32, crc32, md5, sha1, sha256, sha384 or sha512`, ""},
	"digits":     {digestOf + "sha256 | " + zeroes32 + " | | | a", manifest.RowDigestLength, "the digest has 32 digits but sha256 has 64; check that algorithm and value belong together", ""},
	"not hex":    {digestOf + "md5 | x" + zeroes32[1:] + " | | | a", manifest.RowDigestNotHex, `the digest "x0000000000000000000000000000000" is not hexadecimal; use the digits 0-9 and a-f only`, ""},
}

// warnedOf are manifests that are taken, with a warning.
var warnedOf = map[string]badManifest{
	"line":       {headOf + "#%colour | blue\n" + goodRow + atTheEnd, manifest.LineIgnored, "line 3: #%colour is not known, and ignored; a comment starts with # alone", ""},
	"column":     {headOf + "#%fields | nfo:fileUrl | nfo:colour\nhttp://HOST/good.txt | red\n" + atTheEnd, manifest.ColumnIgnored, `line 3: the column "nfo:colour" is not known, and its cells are ignored; known are nfo:fileUrl, `, ""},
	"twice":      {headOf + headOf[len("#%checkm_0.7\n"):] + goodRow + atTheEnd, manifest.LineRepeated, "line 3: #%profile is there twice with the same value; keep one", ""},
	"line ends":  {strings.ReplaceAll(headOf+goodRow+atTheEnd, "\n", "\r"), manifest.LineEnds, "line 1: lines from this one on end in CR alone; they are read, but end lines with LF or CRLF", ""},
	"title":      {headOf + "#%fields | nfo:fileUrl | mrt:title\nhttp://HOST/good.txt | a\u200bb\n" + atTheEnd, manifest.CharactersRemoved, "line 4: the cell mrt:title held characters that cannot be seen or that change the direction of the text; they were removed", ""},
	"media type": {headOf + "#%fields | nfo:fileUrl | mrt:mimeType\nhttp://HOST/good.txt | no type\n" + atTheEnd, manifest.MediaTypeIgnored, `line 4: "no type" is no media type, such as text/csv; the file is kept as application/octet-stream`, ""},
}

// badRecords are metadata files that are refused as a whole.
var badRecords = map[string]badManifest{
	"malformed":    {recordsHead + "\n<record><identifier>a</record></records>", metadata.Malformed, "line 2: </record> ends an element that is not open there: correct or move it", ""},
	"encoding":     {`<?xml version="1.0" encoding="ISO-8859-1"?>` + recordsHead + "<record/></records>", metadata.NotUTF8, "line 1: its encoding is not UTF-8: write it in UTF-8, and say so in its first line or not at all", ""},
	"doctype":      {"<!DOCTYPE records>" + recordsHead + "<record/></records>", metadata.Doctype, "line 1: it has a document type declaration: remove it; entities and what a declaration names are not read", ""},
	"entity":       {recordsHead + "<record>caf&eacute;</record></records>", metadata.Entity, `line 1: "invalid character entity &eacute;": write the character itself, or its number such as &#233;; only &lt; &gt; &amp; &apos; and &quot; are known`, ""},
	"instruction":  {recordsHead + "<?php echo 1 ?></records>", metadata.Outside, `line 1: it has the processing instruction "php", which is for other programs or names other files: remove it`, ""},
	"long text":    {recordsHead + "<record>" + strings.Repeat("x", metadata.MaxText+1) + "</record></records>", metadata.TextTooLong, "line 1: a tag or text has more than 1048576 bytes: shorten it", ""},
	"deep":         {recordsHead + strings.Repeat("<record>\n", metadata.MaxDepth), metadata.TooDeep, "line 64: its elements are nested more than 64 deep: make it flatter", ""},
	"attributes":   {recordsHead + "<record" + attributes(metadata.MaxAttributes+1) + "/></records>", metadata.TooMany, "line 1: an element has more than 256 attributes: remove some", ""},
	"root":         {"<html/>", metadata.UnknownRoot, `line 1: its root element is "{}html", and the profile knows "{https://accession.test/ns/records}records": deposit a file of such a kind, or with another profile`, ""},
	"no records":   {recordsHead + "</records>", metadata.NoRecords, `line 1: it has no record: below its root a record is "record"`, ""},
	"many records": {recordsHead + strings.Repeat("<record/>\n", limitRows+1) + "</records>", metadata.TooManyRecords, "line 21: it has more than 20 records: split it", ""},
}

func attributes(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf(` a%d="x"`, i)
	}
	return text
}

// outside are codes of the parsers that no deposit comes to, with the reason.
var outside = map[string]string{
	manifest.TooLarge:      "more bytes than the profile allows are not fetched: the deposit has the code too_large",
	metadata.TooLarge:      "more bytes than the profile allows are not fetched: the deposit has the code too_large",
	manifest.RowUnwritable: "of a manifest that is written, not read",
}

// parserCodes returns the codes that the parsers of manifests and metadata files declare.
func parserCodes(t testing.TB) (all []string) {
	for _, name := range []string{"manifest", "metadata"} {
		files, err := filepath.Glob("../../../domain/" + name + "/*.go")
		before := len(all)
		for _, file := range files {
			text, failed := os.ReadFile(file)
			err = errors.Join(err, failed)
			for _, m := range regexp.MustCompile(`(?m)^(?:const |\t)\w+ += "((?:manifest|metadata|row)_\w+)"`).FindAllSubmatch(text, -1) {
				all = append(all, string(m[1]))
			}
		}
		if err != nil || len(all) == before {
			t.Fatalf("%s has no codes: %v", name, err)
		}
	}
	return all
}

// given returns what the parsers find in a text first.
func given(t testing.TB, kind domain.SubmissionType, text string) string {
	t.Helper()
	if kind == domain.TypeMetadata {
		format, err := metadata.ParseFormat("{https://accession.test/ns/records}records", "record", "identifier", "titles/title")
		if err != nil {
			t.Fatal(err)
		}
		_, err = metadata.Check(strings.NewReader(text), []metadata.Format{format}, metadata.Limits{MaxRecords: limitRows}, func(metadata.Record) error { return nil })
		if at, ok := errors.AsType[*metadata.Error](err); ok {
			return at.Code
		}
		return ""
	}
	m, err := manifest.Parse([]byte(text), manifest.Limits{MaxRows: limitRows})
	if at, ok := errors.AsType[*manifest.Error](err); ok {
		return at.Code
	}
	for _, r := range m.Rows {
		if r.Fault != nil {
			return r.Fault.Code
		}
	}
	if len(m.Warnings) > 0 {
		return m.Warnings[0].Code
	}
	return ""
}

// badDeposit is a deposit of a manifest, and how it ends.
type badDeposit struct {
	app.Deposit
	text string
	code domain.Code // of the batch, or of its one job
	says []string    // the whole reason; with the rows of a batch, one for each job
	rows bool        // the rows are refused, and not the manifest
}

// badDeposits returns a deposit of each manifest of the tables, and some that are refused for more
// than one line says.
func badDeposits(t testing.TB) map[string]badDeposit {
	all := map[string]badDeposit{}
	add := func(name string, kind domain.SubmissionType, text string, code domain.Code, says ...string) {
		all[fmt.Sprint(kind, ": ", name)] = badDeposit{app.Deposit{Type: kind}, text, code, says, false}
	}
	many := badDeposit{Deposit: app.Deposit{Type: batch}, text: headOf, code: domain.CodeRowFault, rows: true}
	for kind, profile := range profilesOf {
		for name, m := range refused {
			add(name, kind, m.text, domain.CodeManifestInvalid, m.says)
			if got := given(t, kind, strings.ReplaceAll(m.text, "PROFILE", string(profile))); got != m.gives {
				t.Errorf("%s: the parser gives %s, want %s", name, got, m.gives)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(faulty)) {
			m := faulty[name]
			if m.only != "" && m.only != kind {
				continue
			}
			text := headOf + goodRow + m.text + "\n" + atTheEnd
			says := strings.Replace(m.says, "CELLS", fmt.Sprint(len(profile.Fields())), 1)
			if kind == object {
				add(name, kind, text, domain.CodeManifestInvalid, "line 4: "+says)
			} else {
				many.text += m.text + "\n"
				many.says = append(many.says, fmt.Sprintf("line %d: %s", 3+len(many.says), says))
			}
			if got := given(t, kind, strings.ReplaceAll(text, "PROFILE", string(profile))); got != m.gives {
				t.Errorf("%s: the parser gives %s, want %s", name, got, m.gives)
			}
		}
	}
	many.text += atTheEnd
	all["rows"] = many
	for name, m := range badRecords {
		add(name, domain.TypeMetadata, m.text, domain.CodeManifestInvalid, m.says)
		if got := given(t, domain.TypeMetadata, m.text); got != m.gives {
			t.Errorf("%s: the parser gives %s, want %s", name, got, m.gives)
		}
	}
	good := headOf + goodRow + atTheEnd
	add("of a batch", object, strings.ReplaceAll(good, "PROFILE", string(manifest.MrtBatch)), domain.CodeManifestInvalid, "the manifest's profile is mrt-batch-manifest, and that of an object is mrt-ingest-manifest")
	add("of an object", batch, strings.ReplaceAll(good, "PROFILE", string(manifest.MrtIngest)), domain.CodeManifestInvalid,
		"the manifest's profile is mrt-ingest-manifest, which does not fit a submission of type file_batch_manifest: submit it as object_manifest")
	const missing = "could not be read: http://HOSTPATH: the server answered 404 Not Found; correct the URL, or put the file there"
	add("not there", batch, "", fetch.CodeHTTPStatus, "the deposit "+missing)
	add("not there", object, "", fetch.CodeHTTPStatus, "the manifest "+missing)
	more := func(name string, d app.Deposit, text string, code domain.Code, says string) {
		all[name] = badDeposit{d, text, code, []string{says}, code == domain.CodeRowFault}
	}
	const large = "could not be read: http://HOSTPATH: it is larger than the 1024 bytes that are allowed; split the file, or let an operator raise the limit"
	long := headOf + strings.Repeat("#\n", 512) + goodRow + atTheEnd
	more("large", app.Deposit{Type: batch, Profile: "small"}, long, fetch.CodeTooLarge, "the deposit "+large)
	more("large object", app.Deposit{Type: object, Profile: "small"}, long, fetch.CodeTooLarge, "the manifest "+large)
	more("digest", app.Deposit{Type: batch, Digest: "md5:" + zeroes32}, "#\n", domain.CodeDigestMismatch,
		"http://HOSTPATH: the md5 digest is 552dacb15f2019c8f3f74c55befa242c, the deposit says "+zeroes32+"; correct the one that is wrong")
	more("no metadata", app.Deposit{Type: domain.TypeMetadata, Profile: "small"}, recordsHead+"</records>", domain.CodeManifestInvalid,
		"the profile small takes no metadata files: deposit it as a file, or with another profile")
	more("long row", app.Deposit{Type: batch}, headOf+"http://HOST/good.txt | | | | | | | | | "+strings.Repeat("x", 9000)+"\n"+atTheEnd, domain.CodeRowFault,
		"row 1 holds BYTES bytes of URL, identifiers and description, more than 8192: shorten it")
	more("update", app.Deposit{Type: batch, Mode: "update"}, good, domain.CodeRowFault,
		"line 3: an update must name its object: give its identifier in the column primaryIdentifier, or the depositor's own name in the column localIdentifier")
	return all
}

// TestEveryFaultOfAManifest deposits the tables at once. Each bad manifest, row and metadata file
// has its whole outcome in the tables, the report and the mail, and nothing of it is stored; one
// that is taken has its warning there. Each code that a parser declares is among them, and each
// sentence with which a daemon refuses a manifest.
// Shows: P1
func TestEveryFaultOfAManifest(t *testing.T) {
	t.Parallel()
	deposits := badDeposits(t)
	reached := map[string]bool{}
	for _, table := range []map[string]badManifest{refused, faulty, warnedOf, badRecords} {
		for _, m := range table {
			reached[m.gives] = true
		}
	}
	for _, code := range parserCodes(t) {
		if reached[code] == (outside[code] != "") {
			t.Errorf("no deposit comes to %s, or one does to a code of which that is said", code)
		}
	}
	saysSomewhere(t, deposits)

	in := newPatient(t)
	in.takeRecords()
	in.editProfile("fetch:", fmt.Sprintf("limits: {max_rows: %d, max_files: %[1]d}\nfetch:", limitRows))
	small := strings.ReplaceAll(profileOf("attempts: 2, timeout: 1h"), ": test\n", ": small\n") + "limits: {max_manifest_bytes: 1 KiB}\n"
	in.must(os.WriteFile(filepath.Join(filepath.Dir(in.profileFile()), "small.yaml"), []byte(small), 0o600))
	var names []string // of the pages
	pages := map[string]string{"/good.txt": "good\n"}
	page := func(name string, kind domain.SubmissionType, text string) string {
		path := fmt.Sprintf("/%d", len(names))
		names = append(names, name)
		if text != "" {
			pages[path] = strings.ReplaceAll(text, "PROFILE", string(profilesOf[kind]))
		}
		return path
	}
	paths, good := map[string]string{}, map[string]string{}
	for name, d := range deposits {
		paths[name] = page(name, d.Type, d.text)
	}
	kinds := map[string]domain.SubmissionType{}
	for kind := range profilesOf {
		for name, m := range warnedOf {
			if m.only == "" || m.only == kind {
				name := fmt.Sprint(kind, ": ", name)
				good[name], kinds[name] = page(name, kind, m.text), kind
			}
		}
	}
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(text, "HOST", r.Host)))
	}))
	in.serveInProcess()
	ids := map[string]domain.BatchID{}
	submit := func(name, path string, d app.Deposit) {
		d.Payload, d.Submitter, d.Profile = base+path, "tester", cmp.Or(d.Profile, "test")
		s, err := in.app.Submit(in.ctx(), d)
		in.must(err)
		ids[name] = s.Batch
	}
	for name, path := range paths {
		submit(name, path, deposits[name].Deposit)
	}
	for name, path := range good {
		submit(name, path, app.Deposit{Type: kinds[name]})
	}
	for name, d := range deposits {
		in.refusedFor(name, ids[name], d, strings.NewReplacer("HOST", strings.TrimPrefix(base, "http://"), "PATH", paths[name]))
	}
	for what, query := range map[string]string{"versions": "select count(*) from record.object_version v join accession.job j on j.id = v.job_id where j.batch_id <> all($1)",
		"identifiers": "select count(*) from record.identifier i join accession.job j on j.id = i.job_id where j.batch_id <> all($1)",
		"files":       "select count(*) from accession.file f join accession.job j on j.id = f.job_id where j.batch_id <> all($1)"} {
		var taken []string
		for name := range good {
			taken = append(taken, string(ids[name]))
		}
		if n := in.count(query, taken); n != 0 {
			t.Errorf("%d %s are there of what was refused", n, what)
		}
	}
	for name := range good {
		id := ids[name]
		v := in.rest(id)
		if v.Status != string(domain.BatchCompleted) || v.JobsCompleted != 1 || len(v.Jobs) != 1 {
			t.Errorf("%s: %+v", name, v)
			continue
		}
		_, short, _ := strings.Cut(name, ": ")
		m, job := warnedOf[short], ""
		if kinds[name] == object {
			job = v.Jobs[0].ID
		}
		mails := in.mails(id)
		if len(mails) != 1 {
			t.Fatalf("%s: %d mails", name, len(mails))
		}
		in.warned(id, job, mails[0], m.says)
	}
	in.agree()
	in.says(0, words("verify"))
}

var rowBytes = regexp.MustCompile(`holds \d+`)

// refusedFor checks the whole outcome of a bad deposit.
func (in *installation) refusedFor(name string, id domain.BatchID, d badDeposit, as *strings.Replacer) {
	in.t.Helper()
	v := in.rest(id)
	mails := in.letters(id)
	if v.Status != string(domain.BatchFailed) || len(v.ReportsMade) != 1 || len(mails) != 1 {
		in.t.Errorf("%s: the batch is %s, with %d reports and %d mails", name, v.Status, len(v.ReportsMade), len(mails))
		return
	}
	type outcome struct{ code, class, message string }
	var want, got []outcome
	for _, says := range d.says {
		want = append(want, outcome{string(d.code), string(domain.ClassContent), as.Replace(says)})
	}
	jobs := v.Jobs
	slices.SortFunc(jobs, func(a, b app.JobRow) int { return strings.Compare(a.ID, b.ID) })
	for _, j := range jobs {
		message := rowBytes.ReplaceAllString(deref(j.ReasonMessage), "holds BYTES") // the directory of the test is among them
		got = append(got, outcome{deref(j.ReasonCode), deref(j.ReasonClass), message})
	}
	if whole := !d.rows && d.Type != object; whole {
		got = []outcome{{deref(v.ReasonCode), deref(v.ReasonClass), deref(v.ReasonMessage)}}
		if len(jobs) != 0 || v.RowsListed == nil || *v.RowsListed != 0 {
			in.t.Errorf("%s: it has %d jobs, and %+v", name, len(jobs), v.BatchSummary)
		}
		told := fmt.Sprintf("Nothing was ingested: %s (%s)", want[0].message, d.code)
		for _, part := range []string{mails[0].Text, html.UnescapeString(mails[0].HTML)} {
			if !strings.Contains(part, told) {
				in.t.Errorf("%s: the mail does not say %q:\n%s", name, told, part)
			}
		}
	}
	if !slices.Equal(got, want) || int(v.JobsFailed) != len(jobs) {
		in.t.Errorf("%s:\n got %q\nwant %q", name, got, want)
	}
	in.reported(id, mails[0].Text)
}

// saysSomewhere checks that each sentence of the daemons about a manifest or a row of one is the
// reason of a deposit.
func saysSomewhere(t testing.TB, deposits map[string]badDeposit) {
	t.Helper()
	var sources, sentences []string
	for _, below := range []string{"*.go", "*/*.go"} {
		files, err := filepath.Glob("../../internal/daemon/" + below)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, files...)
	}
	for _, file := range sources {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`Code(?:ManifestInvalid|RowFault),\s[^"]*"([^"]*)"`).FindAllSubmatch(text, -1) {
			sentences = append(sentences, string(m[1]))
		}
	}
	if len(sentences) < 5 {
		t.Fatalf("the daemons have the sentences %q", sentences)
	}
	for _, sentence := range sentences {
		is := regexp.MustCompile("^" + regexp.MustCompile(`%[a-z]`).ReplaceAllString(regexp.QuoteMeta(sentence), ".*") + "$")
		found := false
		for _, d := range deposits {
			found = found || slices.ContainsFunc(d.says, is.MatchString)
		}
		if !found {
			t.Errorf("no deposit is refused with %q", sentence)
		}
	}
}
