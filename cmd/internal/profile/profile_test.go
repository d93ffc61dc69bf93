package profile

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const samples = "../../../deploy/profiles"

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (go test -update rewrites it):\n%s", path, d)
	}
}

func TestSampleProfiles(t *testing.T) {
	t.Parallel()
	set, err := Load(samples)
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Names(); !slices.Equal(got, []string{"demo", "reference"}) {
		t.Fatalf("got %v", got)
	}
	demo, err := set.Get("demo")
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(demo)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "demo.golden", string(text))
	if !demo.Notify.Wants(MailReport) || (Notify{}).Wants(MailReport) {
		t.Error("the demo wants the report mail, and without being asked for none is sent")
	}

	_, err = set.Get("maps")
	var missing *NotFoundError
	if !errors.As(err, &missing) || missing.Name != "maps" || !strings.Contains(err.Error(), "demo, reference") {
		t.Fatalf("got %v", err)
	}
}

// The sample that explains every field names them all and tells the true defaults.
func TestReferenceTellsTheDefaults(t *testing.T) {
	t.Parallel()
	set, err := Load(samples)
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.Get("reference")
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	want.Name, want.Collection, want.Owner, want.File, want.Version = got.Name, got.Collection, got.Owner, got.File, got.Version
	want.Identifier.NAAN, want.Identifier.Shoulder = got.Identifier.NAAN, got.Identifier.Shoulder
	want.Notify.To, want.Notify.On, want.Fetch.Allow, want.Replicas, want.Metadata, want.Steps, want.Outside = []string{}, []Mail{}, []string{}, []string{}, []Metadata{}, []Step{}, []Outside{}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(samples, "reference.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		field, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		field = strings.Trim(field, `"`)
		if !strings.Contains(string(file), field+":") {
			t.Errorf("the field %s is not explained", field)
		}
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load("testdata/broken")
	if err == nil {
		t.Fatal("broken profiles were taken")
	}
	golden(t, "broken.golden", err.Error()+"\n")
	if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "pw@") {
		t.Error("a secret is repeated")
	}
}

// valid is a profile without fault, to which the table below adds one.
const valid = `name: maps
collection: maps
owner: Map room
identifier: {naan: 99999, shoulder: fk4}
`

// many returns n texts, each with its number.
func many(text string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, text, i)
	}
	return b.String()
}

func TestFaults(t *testing.T) {
	t.Parallel()
	if p, err := Parse("x.yaml", []byte(valid)); err != nil || p.Priority.Default != 5 || p.File != "x.yaml" {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, c := range []struct {
		text  string // added at the end, or in place of the line with the same first word
		line  int
		field string
	}{
		{"name: ''", 1, "name"},
		{"name: -x", 1, "name"},
		{"name: " + strings.Repeat("x", 65), 1, "name"},
		{"name: {}", 1, "name"},
		{"name:", 1, "name"},
		{"collection: a b", 2, "collection"},
		{"collection: a:b", 2, "collection"},
		{"owner: ' '", 3, "owner"},
		{"identifier: {shoulder: fk4}", 4, "identifier.naan"},
		{"identifier: {naan: 99999}", 4, "identifier.shoulder"},
		{"identifier: {naan: 1234, shoulder: fk4}", 4, "identifier.naan"},
		{"identifier: {naan: 12345, shoulder: FK4}", 4, "identifier.shoulder"},
		{"identifier: {naan: 12345, shoulder: fk4, scheme: uuid}", 4, "identifier.scheme"},
		{"storage: maps", 5, "storage"},
		{"layout: bagit", 5, "layout"},
		{"replicas: [file:///a, file:///b, file:///c, file:///d, file:///e]", 5, "replicas"}, {"replicas: [default]", 5, "replicas[0]"},
		{"replicas: [file:///a, file:///a]", 5, "replicas[1]"}, {"replicas: [s3://user@maps]", 5, "replicas[0]"},
		{"storage: ''", 5, "storage"},
		{"recording: http://records.example.org/in", 5, "recording"}, {"recording: 'https://a:b@records.example.org/in'", 5, "recording"},
		{"recording: 'https://records.example.org/in?key=s'", 5, "recording"}, {"service_timeout: 1h", 5, "service_timeout"},
		{"service_timeout: 10ms\nrecording: https://records.example.org/in", 5, "service_timeout"},
		{"storage: s3://key:secret@maps", 5, "storage"},
		{"storage: file:///srv/../etc", 5, "storage"},
		{"storage: gs://maps", 5, "storage"}, {"storage: s3:///maps", 5, "storage"}, {"storage: 's3://maps#x'", 5, "storage"},
		{"replicas: [azblob://maps]", 5, "replicas[0]"},
		{"storage: file://host/srv", 5, "storage"},
		{"priority: {default: -1}", 5, "priority.default"},
		{"priority: {default: 100}", 5, "priority.default"},
		{"priority: {default: 20, large_object: {bytes: 0}}", 5, "priority.large_batch.priority"},
		{"priority: {default: 20, large_batch: {jobs: 0}}", 5, "priority.large_object.priority"},
		{"priority: {large_batch: {jobs: -5}}", 5, "priority.large_batch.jobs"},
		{"priority: {large_batch: {priority: 100}}", 5, "priority.large_batch.priority"},
		{"priority: {large_object: {bytes: -1}}", 5, "priority.large_object.bytes"},
		{"priority: {large_object: {bytes: 9223372036854775808}}", 5, "priority.large_object.bytes"},
		{"priority: {large_object: {bytes: 8388608 TiB}}", 5, "priority.large_object.bytes"},
		{"priority: {unknown_size: 4}", 5, "priority.unknown_size"},
		{"priority: {unknown_size: 100}", 5, "priority.unknown_size"},
		{"priority: {unknown_size: some}", 5, "priority.unknown_size"},
		{"priority: [1]", 5, "priority"},
		{"priority: {default: 1.5}", 5, "priority.default"},
		{"callback: {url: 'http://user:pw@host/x'}", 5, "callback.url"},
		{"callback: {url: /x}", 5, "callback.url"},
		{"callback: {url: 'file:///srv/x'}", 5, "callback.url"}, {"callback: {url: 'sftp://host/x'}", 5, "callback.url"},
		{"notify: {on: [report], from: a@example.org}", 5, "notify.to"},
		{"notify: {on: [report], to: [a@example.org]}", 5, "notify.from"},
		{"notify: {to: ['A <a@example.org>']}", 5, "notify.to[0]"},
		{"notify: {to: [a@example.org, 'a@example.org, b@example.org']}", 5, "notify.to[1]"},
		{"notify: {from: crashInstallation}", 5, "notify.from"},
		{"notify: {to: a@example.org}", 5, "notify.to"},
		{"digest_algorithm: md4", 5, "digest_algorithm"},
		{"working_dir: work", 5, "working_dir"},
		{"working_dir: /", 5, "working_dir"},
		{"working_dir: /srv/../etc", 5, "working_dir"},
		{"fetch: {allow: [example.org]}", 5, "fetch.allow[0]"},
		{"fetch: {allow: ['127.0.0.1/32', '10.1.2.3/8']}", 5, "fetch.allow[1]"},
		{"fetch: {allow: ['example.org:70000']}", 5, "fetch.allow[0]"},
		{"fetch: {attempts: 101}", 5, "fetch.attempts"},
		{"metadata: [{root: r, record: x}]", 5, "metadata[0]"},
		{"metadata: [{root: 'x:r', record: x, identifier: i}]", 5, "metadata[0]"},
		{"metadata: [{root: r, record: x, identifier: i}, {root: '{}r', record: y, identifier: i}]", 5, "metadata[1]"},
		{"metadata: [" + many("{root: r%d, record: x, identifier: i}, ", 17) + "]", 5, "metadata"},
		{"metadata: [{root: r, record: x, identifier: i, xsd: r.xsd}]", 5, "metadata[0].xsd"},
		{"steps: [{dataset: scans}]", 5, "steps[0].name"},
		{"steps: [{name: Scan, dataset: scans}]", 5, "steps[0].name"},
		{"steps: [{name: a/b, dataset: scans}]", 5, "steps[0].name"},
		{"steps: [{name: scan, dataset: a}, {name: scan, dataset: b}]", 5, "steps[1].name"},
		{"steps: [{name: scan, dataset: job-state/processing}]", 5, "steps[0].dataset"},
		{"steps: [{name: scan, dataset: '..'}]", 5, "steps[0].dataset"},
		{"steps: [{name: scan, dataset: scans, priority: 1000}]", 5, "steps[0].priority"},
		{"steps: [{name: scan, dataset: scans, priority: -1}]", 5, "steps[0].priority"},
		{"steps: [{name: scan, dataset: scans, timeout: 10ms}]", 5, "steps[0].timeout"},
		{"steps: [{name: scan, dataset: scans, exec: scan}]", 5, "steps[0].exec"},
		{"steps: [" + many("{name: s%d, dataset: scans}, ", 9) + "]", 5, "steps"},
		{"outside: [{state: downloading}]", 5, "outside[0].state"},
		{"outside: [{priority: 7}]", 5, "outside[0].state"},
		{"outside: [{state: notify}, {state: notify}]", 5, "outside[1].state"},
		{"outside: [{state: notify, priority: 1000}]", 5, "outside[0].priority"},
		{"outside: [{state: notify, timeout: 10ms}]", 5, "outside[0].timeout"},
		{"limits: {max_files: 10001}\nsteps: [{name: scan, dataset: scans}]", 5, "limits.max_files"},
		{"fetch: {timeout: 900ms}", 5, "fetch.timeout"},
		{"fetch: {timeout: 169h}", 5, "fetch.timeout"},
		{"fetch: {timeout: [1]}", 5, "fetch.timeout"},
		{"fetch: {min_rate: 1.5 MiB}", 5, "fetch.min_rate"},
		{"fetch: {parallel: 0}", 5, "fetch.parallel"},
		{"limits: {max_files: 0}", 5, "limits.max_files"},
		{"limits: {max_file_bytes: 0}", 5, "limits.max_file_bytes"},
		{"limits: {max_rows: 1000001}", 5, "limits.max_rows"},
		{"limits: {max_manifest_bytes: 2 GiB}", 5, "limits.max_manifest_bytes"},
		{"limits: {max_unpacked_bytes: 0}", 5, "limits.max_unpacked_bytes"},
		{"limits: {max_ratio: 0}", 5, "limits.max_ratio"},
		{"limits: {max_depth: 1001}", 5, "limits.max_depth"},
		{"response_type: JSON", 5, "response_type"},
		{"colour: blue", 5, "colour"},
		{"api_token: x", 5, "api_token"},
		{"fetch: {File: x}", 5, "fetch.File"},
		{"File: x", 5, "File"},
		{"<<: {name: x}", 5, "<<"},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("x.yaml", []byte(edit(c.text)))
			var faults Faults
			if !errors.As(err, &faults) || len(faults) != 1 {
				t.Fatalf("want one fault, got %v", err)
			}
			if f := faults[0]; f.Line != c.line || f.Field != c.field || f.Problem == "" || f.Remedy == "" || f.File != "x.yaml" {
				t.Fatalf("got %+v", f)
			}
		})
	}
}

func edit(text string) string {
	word, _, _ := strings.Cut(text, ":")
	lines := strings.Split(strings.TrimSuffix(valid, "\n"), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, word+":") {
			lines[i] = text
			return strings.Join(lines, "\n")
		}
	}
	return valid + text + "\n"
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"recording: https://records.example.org/in", "recording: http://127.0.0.1:8080\nservice_timeout: 168h", "storage: s3://maps?region=eu-west-1", "storage: file:///srv/maps", "layout: ocfl", "layout: accession", "replicas: [file:///srv/copy, s3://copies]", "digest_algorithm: SHA-256",
		"fetch: {allow: ['10.0.0.0/8', '[::1]:8080', 'files.example.org:443', '::1/128']}", "fetch:", "limits: {max_files: 1}",
		"callback: {url: 'https://example.org/hook?collection=maps'}", "priority: {large_batch: {jobs: 0, priority: 0}}",
	} {
		if _, err := Parse("x.yaml", []byte(edit(text))); err != nil {
			t.Error(err)
		}
	}
	p, err := Parse("x.yaml", []byte(edit("digest_algorithm: SHA-256")))
	if err != nil || p.DigestAlgorithm != "sha256" {
		t.Errorf("%q, %v", p.DigestAlgorithm, err)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	if err := (Profile{}).Validate(); err == nil {
		t.Error("an empty profile is valid")
	}
}

func TestLoadDirectories(t *testing.T) {
	t.Parallel()
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no profile is there") {
		t.Errorf("an empty directory gives %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory gives %v", err)
	}
	if _, err := Parse("x.yaml", make([]byte, maxFile+1)); err == nil {
		t.Error("a huge file was read")
	}
}

func TestPriorities(t *testing.T) {
	t.Parallel()
	p := Priority{Default: 5, LargeBatch: LargeBatch{Jobs: 100, Priority: 20}, LargeObject: LargeObject{Bytes: 1000, Priority: 10}}
	late := p
	late.UnknownSize = new(30)
	for _, c := range []struct{ got, want int }{
		{p.ForEstimate(5, 999, 1), 5}, {p.ForEstimate(5, 1000, 1), 10}, {late.ForEstimate(5, 1000, 0), 10}, {late.ForEstimate(5, 0, 1), 30},
		{late.ForEstimate(5, 1000, 2), 30}, {late.ForEstimate(40, 0, 2), 40}, {late.ForObject(5, 999), 5},
		{p.ForBatch(99), 5}, {p.ForBatch(100), 20}, {Priority{Default: 5}.ForBatch(1 << 30), 5},
		{p.ForObject(5, 999), 5}, {p.ForObject(5, 1000), 10}, {p.ForObject(20, 1000), 20}, {Priority{}.ForObject(5, 1<<40), 5},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
}

func TestUnitsReadBackWhatTheyWrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Min(0).Draw(t, "bytes"))
		var back Bytes
		if err := yaml.Unmarshal([]byte(b.String()), &back); err != nil || back != b {
			t.Fatalf("%s comes back as %d, %v", b, back, err)
		}
	})
}

// Whatever a file holds, reading it ends in a valid profile or in faults that
// name the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("--- !!binary x"))
	f.Add([]byte("? [a]\n: b"))
	for _, dir := range []string{samples, "testdata/broken"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds", err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("x.yaml", data)
		if err == nil {
			err = p.Validate()
			if err != nil {
				t.Fatalf("read without fault, but: %v", err)
			}
			return
		}
		var faults Faults
		if !errors.As(err, &faults) || len(faults) == 0 || faults[0].File != "x.yaml" {
			t.Fatalf("got %v", err)
		}
	})
}

// TestSetChanges: what stands in the place of files is found, and the files are still known.
func TestSetChanges(t *testing.T) {
	t.Parallel()
	is := func(name, collection, owner string) Profile {
		p := Defaults()
		p.Name, p.Collection, p.Owner = name, collection, owner
		return p
	}
	files := (&Set{}).With(is("maps", "maps", "us"))
	now := files
	var away error
	set := Changing(func(string) (*Set, error) { return now, away }, nil, func() *Set { return files })
	now = files.With(is("maps", "maps", "them"), is("films", "films", "us"))
	if p, err := set.Get("maps"); err != nil || p.Owner != "them" || len(set.Names()) != 2 {
		t.Errorf("%+v, %v, %v", p, err, set.Names())
	}
	if p, err := set.File("maps"); err != nil || p.Owner != "us" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := set.File("films"); err == nil {
		t.Error("a profile without a file has one")
	}
	_, err := set.Get("rocks")
	if !Missing(err) || !strings.Contains(err.Error(), "known are: films, maps") {
		t.Errorf("%v", err)
	}
	away = errors.New("no answer")
	if _, err = set.Get("maps"); Missing(err) || !errors.Is(err, away) {
		t.Errorf("%v: it is not known what it says", err)
	}
	away = nil
	elsewhere := func(edit func(*Profile)) Profile {
		p := is("maps", "maps", "us")
		edit(&p)
		return p
	}
	for _, c := range []struct {
		p    Profile
		says string
	}{
		{is("maps", "maps", "others"), ""}, {is("rocks", "rocks", "us"), ""},
		{is("rocks", "films", "us"), "is the collection of the profile films"}, {is("maps", "charts", "us"), `it is "maps" and stays so`},
		{elsewhere(func(p *Profile) { p.Storage = "s3://other" }), "storage: it is"}, {elsewhere(func(p *Profile) { p.WorkingDir = "/other" }), "working_dir: it is"},
	} {
		if err := set.Fits(c.p); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s in %s: %v, want %q", c.p.Name, c.p.Collection, err, c.says)
		}
	}
}

// TestKept: a content that was kept is used as what names it, and an altered one is not.
func TestKept(t *testing.T) {
	t.Parallel()
	p := Defaults()
	p.Name, p.Collection, p.Owner, p.Identifier = "maps", "maps", "us", Identifier{Scheme: "ark", NAAN: "99999", Shoulder: "fk4"}
	content, err := p.YAML()
	if err != nil {
		t.Fatal(err)
	}
	sum := SHA256(content)
	if got, err := Kept("maps", content, sum[:12], sum); err != nil || got.Version != sum[:12] || got.Owner != "us" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Kept("maps", append(content, '\n'), sum[:12], sum); err == nil || !strings.Contains(err.Error(), "was altered") {
		t.Errorf("%v", err)
	}
	if _, err := Kept("films", content, sum[:12], sum); err == nil || !strings.Contains(err.Error(), "that of the profile maps") {
		t.Errorf("%v", err)
	}
	broken := []byte("name: maps\n")
	if _, err := Kept("maps", broken, SHA256(broken)[:12], SHA256(broken)); err == nil {
		t.Error("what is no profile is used")
	}
}

// TestIdentifiers: which minters fit which schemes, and to what a password is not sent.
func TestIdentifiers(t *testing.T) {
	t.Parallel()
	ark := Identifier{Scheme: "ark", NAAN: "99999", Shoulder: "fk4"}
	ezid := ark
	ezid.Minter, ezid.URL, ezid.Target = MinterEZID, "https://ezid.test/", "https://repository.test/objects/{id}"
	doi := Identifier{Scheme: "doi", Prefix: "10.5072", Shoulder: "fk4", Minter: MinterDataCite, URL: "http://127.0.0.1:8080"}
	check := func(id Identifier) error {
		p := Defaults()
		p.Name, p.Collection, p.Owner, p.Identifier = "maps", "maps", "us", id
		return p.Validate()
	}
	for _, id := range []Identifier{ark, ezid, doi} {
		if err := check(id); err != nil {
			t.Errorf("%+v: %v", id, err)
		}
	}
	if ezid.TargetOf("ark:/99999/fk4") != "https://repository.test/objects/ark:/99999/fk4" || ark.TargetOf("x") != "" || ezid.Authority() != "99999" || doi.Authority() != "10.5072" {
		t.Errorf("%+v, %+v", ezid, doi)
	}
	for want, change := range map[string]struct {
		from Identifier
		to   func(*Identifier)
	}{
		"identifier.scheme: \"uuid\" is not known":               {ark, func(id *Identifier) { id.Scheme = "uuid" }},
		"identifier.minter: \"noid\" is not known":               {ark, func(id *Identifier) { id.Minter = "noid" }},
		"identifier.minter: DOIs are made known by datacite":     {doi, func(id *Identifier) { id.Minter = MinterEZID }},
		"write minter: datacite with scheme: doi":                {doi, func(id *Identifier) { id.Minter, id.URL = "", "" }},
		"and another one with scheme: ark":                       {ezid, func(id *Identifier) { id.Minter = MinterDataCite }},
		"identifier.prefix: it is missing":                       {doi, func(id *Identifier) { id.Prefix = "" }},
		"identifier.prefix: \"10.5072/x\" is not a prefix":       {doi, func(id *Identifier) { id.Prefix = "10.5072/x" }},
		"identifier.prefix: ARKs have none":                      {ark, func(id *Identifier) { id.Prefix = "10.5072" }},
		"identifier.naan: DOIs have none":                        {doi, func(id *Identifier) { id.NAAN = "99999" }},
		"identifier.url: there is no service at it":              {ark, func(id *Identifier) { id.URL = "https://ezid.test" }},
		"identifier.target: there is no service":                 {ark, func(id *Identifier) { id.Target = "https://a.test/{id}" }},
		"identifier.url: it is missing":                          {ezid, func(id *Identifier) { id.URL = "" }},
		"is not the URL of a service to which a password":        {ezid, func(id *Identifier) { id.URL = "http://ezid.test" }},
		"\"https://ezid.test/?a=b\" is not the URL of a service": {ezid, func(id *Identifier) { id.URL = "https://ezid.test/?a=b" }},
		"is not a URL with {id}":                                 {ezid, func(id *Identifier) { id.Target = "https://repository.test/objects/" }},
		"identifier.target: \"{id}\" is not a URL with {id}":     {ezid, func(id *Identifier) { id.Target = "{id}" }},
	} {
		id := change.from
		change.to(&id)
		if err := check(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", id, err, want)
		}
	}
}
