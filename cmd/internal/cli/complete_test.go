package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletion: shells are offered what may stand in a place, and nothing that is there
// already.
func TestCompletion(t *testing.T) {
	t.Parallel()
	profiles, err := filepath.Abs("../../../deploy/profiles")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"job ls --state comp":                             "completed",
		"batch ls --state update":                         "update-reporting",
		"file ls --state A":                               "ABANDONED",
		"query ls --state an":                             "answered",
		"submit --profile d":                              "demo",
		"batch ls --profile ref":                          "reference",
		"profile show d":                                  "demo",
		"collection hold de":                              "demo",
		"collection hold demo de":                         "",
		"profile show demo ref":                           "",
		"queue show q":                                    "query",
		"queue pause in":                                  "ingest",
		"queue pause provisioning pr":                     "processing",
		"batch ls --profile no":                           "",
		"job ls --collection de":                          "demo",
		"file ls --profile d":                             "demo",
		"job hold --reason x --collection-of-another-day": "",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call(t, append(nowhere(t), "ACCESSION_PROFILES_DIR="+profiles), append([]string{"__complete"}, strings.Split(line, " ")...)...)
			words, _, _ := strings.Cut(out, ":")
			if got := strings.Join(strings.Fields(words), " "); code != 0 || got != want {
				t.Errorf("%d %q, want %q: %s", code, got, want, errs)
			}
		})
	}
}
