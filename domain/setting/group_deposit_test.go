package setting

import (
	"strings"
	"testing"
)

// TestGroupDeposits: what cannot make deposits of groups is refused with the place and the remedy.
func TestGroupDeposits(t *testing.T) {
	t.Parallel()
	sound := GroupDeposit{Profile: "maps", Submitter: "ana", Files: 3, Marker: "*.done", QuietSeconds: 600}
	if err := sound.Check(); err != nil || !sound.Early() || !sound.Matches("night/1.done") || sound.Matches("night.done/1") {
		t.Errorf("%+v: %v", sound, err)
	}
	if says := sound.Text(); says != "3 files are there and a file *.done is listed and nothing has come for 10m0s, or its slot is DONE" {
		t.Error(says)
	}
	if plain := (&GroupDeposit{Profile: "maps", Submitter: "ana"}); plain.Early() || plain.Matches("") || plain.Text() != "its slot is DONE" || plain.Check() != nil {
		t.Errorf("%+v", plain)
	}
	for says, change := range map[string]func(*GroupDeposit){
		"profile":          func(g *GroupDeposit) { g.Profile = "Maps!" },
		"submitter":        func(g *GroupDeposit) { g.Submitter = "" },
		"control":          func(g *GroupDeposit) { g.Submitter = "a\nb" },
		"at most 10000":    func(g *GroupDeposit) { g.Files = 10_001 },
		"0 means any":      func(g *GroupDeposit) { g.Files = -1 },
		"without a slash":  func(g *GroupDeposit) { g.Marker = "a/b" },
		"close its brac":   func(g *GroupDeposit) { g.Marker = "[a" },
		"quiet for 0 to 3": func(g *GroupDeposit) { g.QuietSeconds = -1 },
	} {
		g := sound
		change(&g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	d := Discovery{URL: "https://data.example.org/", Dataset: "nights", EverySeconds: 60, GroupBy: "^([0-9]+)_", Deposit: &sound}
	if err := d.Check(); err != nil || d.GroupOf(Dataset{GroupPattern: "^(.)"}, "20_a.dat") != "20" || d.GroupOf(Dataset{}, "a.dat") != "" {
		t.Error(err)
	}
	d.GroupBy, d.Group = "x", "one"
	if err := d.Check(); err == nil || !strings.Contains(err.Error(), "parentheses") || !strings.Contains(err.Error(), "choose one of the two") {
		t.Error(err)
	}
	if d.GroupBy = ""; d.GroupOf(Dataset{GroupPattern: "^(.)"}, "20_a.dat") != "one" {
		t.Error("the group of all files does not count")
	}
}
