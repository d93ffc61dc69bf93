package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var commandNamed = regexp.MustCompile("`accession ([a-z][^`]*)`")

// TestNamesOfOtherSystems carries out the commands of each row of the table in
// docs/queues.md, with a reason and a number of their own. Each makes the events that the
// row names, with that reason and number, by the person who asked.
func TestNamesOfOtherSystems(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serveInProcess(run.RoleRelay, run.RoleProjector)
	page, err := os.ReadFile("../../../docs/queues.md")
	in.must(err)
	_, table, _ := strings.Cut(string(page), "### Names in other systems")
	table, _, _ = strings.Cut(table, "What a processor's")

	person, err := user.Current()
	in.must(err)
	type changed struct{ setting, by string }
	var rows []string
	var also [][]string                                          // the commands, for both queues
	want, numbers := map[string][]changed{}, map[string]string{} // by reason
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") || strings.HasPrefix(line, "| there") {
			continue
		}
		rows = append(rows, cells[1])
		for _, m := range commandNamed.FindAllStringSubmatch(cells[2], -1) {
			if m[1] == "status" {
				continue
			}
			number, why := fmt.Sprint(len(rows)+2), strings.ReplaceAll(m[1], " ", "_")
			args := append(words(strings.NewReplacer("QUEUE", "metadata", "USER...", "ana,ben", "NAME", "films", "LIST", "ana,ben").Replace(m[1])), "--reason", why)
			if n := slices.Index(args, "N"); n > 0 {
				args[n] = number
			}
			in.says(0, args)
			if strings.Contains(m[1], "QUEUE") && !strings.HasPrefix(m[1], "processor") {
				both := slices.Replace(slices.Clone(args[:len(args)-2]), 2, 3, "all")
				if n := slices.Index(both, number); n > 0 {
					both[n] = "1" + number // another one than is set
				}
				also = append(also, both)
			}
			if flag := regexp.MustCompile(`--([a-z-]+) N`).FindStringSubmatch(m[1]); flag != nil {
				numbers[why] = fmt.Sprintf("%q:%s", strings.ReplaceAll(flag[1], "-", "_"), number)
			}
			for _, setting := range settingsNamed(cells[3]) {
				want[why] = append(want[why], changed{setting, "user/" + person.Username})
			}
			if want[why] == nil {
				t.Errorf("no event: %s", line)
			}
		}
	}
	for _, name := range []string{"DefaultConcurrency", "DefaultAllocation", "assignUsersDefaultConcurrencies", "assignUsersDefaultAllocations", "ProhibitedUsers",
		"suspended", "upload notifications", "processor added", "processor set", "processor started", "processor stopped", "processor removed"} {
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, name) }) {
			t.Errorf("%s is not in the table", name)
		}
	}

	in.shown()
	log, err := in.wired.Log(in.ctx())
	in.must(err)
	got := map[string][]changed{}
	for e, err := range log.Read(in.ctx(), eventstore.ReadOptions{}) {
		in.must(err)
		d, is := e.Data.(*domain.SettingChanged)
		if !is {
			continue
		}
		got[d.Why] = append(got[d.Why], changed{string(d.Kind) + " " + d.Name, string(e.Actor)})
		if value, err := json.Marshal(d.Value); err != nil || !strings.Contains(string(value), numbers[d.Why]) {
			t.Errorf("%s: %s does not have %s: %v", d.Why, value, numbers[d.Why], err)
		}
	}
	for why := range want {
		slices.SortFunc(got[why], func(a, b changed) int { return strings.Compare(a.setting, b.setting) })
		if !slices.Equal(got[why], want[why]) {
			t.Errorf("%s made %v, the table says %v", why, got[why], want[why])
		}
		delete(got, why)
	}
	if len(got) > 0 {
		t.Errorf("no row has %v", got)
	}

	// Where QUEUE stands, all names both. What is set of one already is refused of it alone.
	for _, args := range also {
		if args[1] == "defaults" && args[len(args)-2] == "--synchronous" {
			continue // of metadata alone
		}
		if code, out, errs := in.call(append(args, "--reason", "of both")...); code != 0 || !strings.Contains(out, "metadata") || !strings.Contains(out, "query") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	if len(also) < 8 {
		t.Errorf("only %d commands were tried with all", len(also))
	}
	in.agree()
}

// settingsNamed returns the kinds and names of the settings whose events a row names.
func settingsNamed(cell string) []string {
	kind := regexp.MustCompile("`setting.changed`, kind `([a-z_]+)`").FindStringSubmatch(cell)
	switch {
	case kind == nil:
		return nil
	case strings.Contains(cell, "one for each queue"):
		return []string{kind[1] + " metadata", kind[1] + " query"}
	case strings.Contains(cell, "one for each user"):
		return []string{kind[1] + " metadata-ana", kind[1] + " metadata-ben"}
	case kind[1] == string(domain.SettingProcessor):
		return []string{kind[1] + " metadata-films"}
	}
	return []string{kind[1] + " metadata"}
}
