package setting_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/setting"
)

func TestDatasets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   *setting.Dataset
		says string // "" = it is one
	}{
		{nil, ""},
		{&setting.Dataset{Collection: "maps", Profile: "maps"}, ""},
		{&setting.Dataset{Collection: "maps", Profile: "maps", GroupPattern: `^([0-9]{8})_`, ByVersion: true}, ""},
		{&setting.Dataset{Profile: "maps"}, "belongs to a collection"},
		{&setting.Dataset{Collection: "maps", Profile: "Maps"}, "name of a profile"},
		{&setting.Dataset{Collection: "maps", Profile: "maps", GroupPattern: `(`}, "regular expression"},
		{&setting.Dataset{Collection: "maps", Profile: "maps", GroupPattern: `[0-9]+`}, "parentheses"},
		{&setting.Dataset{Collection: "maps", Profile: "maps", GroupPattern: "(" + strings.Repeat("a", 256) + ")"}, "at most"},
	} {
		says(t, c.of.Check(), c.says)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, path, want string }{
		{"", "20261120_a.nc", ""},
		{`^([0-9]{8})_`, "20261120_a.nc", "20261120"},
		{`^([0-9]{8})_`, "a.nc", ""},
		{`/([^/]+)/[^/]+$`, "x/night 1/a.nc", ""}, // no name of a group
		{`(/)`, "x/a", ""},
		{`([a-z]+)-([a-z]+)`, "night-one", "night"},
	} {
		if got := (&setting.Dataset{GroupPattern: c.pattern}).GroupOf(c.path); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.pattern, c.path, got, c.want)
		}
	}
}

func TestDiscoveries(t *testing.T) {
	t.Parallel()
	good := setting.Discovery{URL: "https://data.example.org/night/", Dataset: "nights", EverySeconds: 300}
	for text, change := range map[string]func(d *setting.Discovery){
		"":                        func(*setting.Discovery) {},
		"http, https or s3":       func(d *setting.Discovery) { d.URL = "ftp://data.example.org/" },
		"a user or a password":    func(d *setting.Discovery) { d.URL = "https://ana:secret@data.example.org/" },
		"a query or a fragment":   func(d *setting.Discovery) { d.URL = "https://data.example.org/?key=secret" },
		"ends with a slash":       func(d *setting.Discovery) { d.URL = "https://data.example.org/night" },
		"name of a dataset":       func(d *setting.Discovery) { d.Dataset = "" },
		"name of a group":         func(d *setting.Discovery) { d.Group = "a b" },
		"0 seconds between":       func(d *setting.Discovery) { d.EverySeconds = 0 },
		"9223372036854775807 sec": func(d *setting.Discovery) { d.EverySeconds = 1<<63 - 1 },
		"cannot be read":          func(d *setting.Discovery) { d.Pattern = "[a" },
		"is negative":             func(d *setting.Discovery) { d.MaxSize = -1 },
	} {
		d := good
		change(&d)
		err := d.Check()
		if says(t, err, text); err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
	says(t, (*setting.Discovery)(nil).Check(), "")
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
