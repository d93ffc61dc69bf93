package cli

import (
	"path/filepath"
	"regexp"
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
		"slot ls --state AC":                              "ACTIVE",
		"compute ls --state SU":                           "SUCCESSFUL",
		"bulk begin job requeue --state fa":               "failed",
		"bulk begin entry retry --state FA":               "FAILED",
		"bulk begin --state fa":                           "",
		"bulk ls --state run":                             "running",
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

// TestArgumentsAreCompleted: what is listed somewhere is offered wherever it is an argument;
// of the others the reason is here.
func TestArgumentsAreCompleted(t *testing.T) {
	t.Parallel()
	const fresh, local = "it is new", "shells complete names of files"
	others := map[string]string{
		"user add NAME": fresh, "dataset add NAME": fresh,
		"submit PAYLOAD": local, "query submit FILE": local, "query answer FILE": local, "profile check [DIRECTORY|FILE]": local,
		"manifest check FILE": local, "manifest make DIRECTORY|URL…": local,
		"discover look URL": "any URL", "discover add URL": "any URL", "poison show SEQ": "events that cannot be used are few", "poison retry [KIND/ID]": "events that cannot be used are few",
		"stack exec [flags] -- COMMAND [ARGUMENT]…": "a command of the machine", "schema [COMMAND]": "help lists them",
		"bulk begin KIND COMMAND": "the error lists them",
	}
	upper := regexp.MustCompile(`^\[?[A-Z]{2,}|^\[flags\]`)
	for _, c := range all((&program{}).root())[1:] {
		_, args, _ := strings.Cut(c.Use, " ")
		name := strings.TrimPrefix(c.Parent().CommandPath()+" "+c.Use, "accession ")
		if !c.Runnable() || !upper.MatchString(args) || c.ValidArgsFunction != nil || len(c.ValidArgs) > 0 {
			continue
		}
		if others[name] == "" {
			t.Errorf("accession %s completes nothing", name)
		}
		delete(others, name)
	}
	if len(others) > 0 {
		t.Errorf("no such command without completion: %v", others)
	}
}
