package eligible_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/setting"
)

var now = domain.At(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))

func file(path string, state domain.FileState) eligible.File {
	return eligible.File{Path: path, Size: 100, State: state, Modified: domain.At(now.Add(-time.Hour))}
}

// says is a decision on a line.
func says(v eligible.Decision) string {
	if v.Skip != nil {
		return "skip " + string(v.Skip.Code)
	}
	var codes []string
	for _, w := range v.Waits {
		codes = append(codes, string(w.Code))
	}
	if len(codes) == 0 {
		return "ready"
	}
	return "waits " + strings.Join(codes, " ")
}

// TestDecide is the table of docs/files.md.
func TestDecide(t *testing.T) {
	t.Parallel()
	same := file("b.fits", domain.FileReady)
	downloaded, waiting, given := file("a.xml", domain.FileDownloaded), file("a.xml", domain.FileDownloading), file("a.xml", domain.FileIgnore)
	nightly := setting.Rules{Slots: &setting.SlotRule{Layout: "20060102", LengthSeconds: 1}}
	asks := setting.Rules{Predicate: &setting.Predicate{URL: "https://files.test/ready"}}
	least, most := 0.5, 2.0
	seeing := setting.Rules{Predicate: asks.Predicate, Metadata: []setting.MetadataRule{{Name: "seeing", Min: &least, Max: &most}, {Name: "filter", Values: []string{"V", "R"}}}}
	said := func(seeing, filter string) *eligible.Answer {
		return &eligible.Answer{Ready: true, Metadata: map[string]string{"seeing": seeing, "filter": filter}}
	}
	companion := setting.Rules{Companions: []setting.Companion{{Of: "*.fits", Needs: "{stem}.xml"}}}
	for name, c := range map[string]struct {
		rules setting.Rules
		facts eligible.Facts
		want  string
	}{
		"no rules":                {want: "ready"},
		"slot active":             {facts: eligible.Facts{Slot: domain.SlotActive}, want: "ready"},
		"slot pending":            {facts: eligible.Facts{Slot: domain.SlotPending}, want: "waits slot_pending"},
		"slot by its name":        {rules: nightly, facts: eligible.Facts{Slot: domain.SlotActive, GroupName: "x"}, want: "ready"},
		"slot not made yet":       {rules: nightly, facts: eligible.Facts{GroupName: "20261127"}, want: "waits slot_missing"},
		"no slot by its name":     {rules: nightly, facts: eligible.Facts{GroupName: "x"}, want: "waits slot_missing"},
		"no group":                {rules: nightly, want: "waits slot_missing"},
		"excluded, no slot":       {rules: setting.Rules{Slots: nightly.Slots, MaxSize: 1}, want: "skip size_excluded"},
		"slot done":               {facts: eligible.Facts{Slot: domain.SlotDone}, want: "skip slot_closed"},
		"slot missed":             {facts: eligible.Facts{Slot: domain.SlotMissed}, want: "skip slot_closed"},
		"name":                    {rules: setting.Rules{Names: []string{"*.xml", "n/*.fits"}}, want: "ready"},
		"name of another":         {rules: setting.Rules{Names: []string{"*.xml", "m/*.fits"}}, want: "skip name_excluded"},
		"too small":               {rules: setting.Rules{MinSize: 101}, want: "skip size_excluded"},
		"too large":               {rules: setting.Rules{MaxSize: 99}, want: "skip size_excluded"},
		"of the right size":       {rules: setting.Rules{MinSize: 100, MaxSize: 100}, want: "ready"},
		"too old":                 {rules: setting.Rules{MaxAgeSeconds: 3599}, want: "skip too_old"},
		"just young enough":       {rules: setting.Rules{MaxAgeSeconds: 3600}, want: "ready"},
		"same content":            {facts: eligible.Facts{Same: &same}, want: "skip duplicate_content"},
		"same content, kept":      {rules: setting.Rules{KeepDuplicates: true}, facts: eligible.Facts{Same: &same}, want: "ready"},
		"companion":               {rules: companion, facts: eligible.Facts{Group: []eligible.File{downloaded}}, want: "ready"},
		"no companion":            {rules: companion, want: "waits companion_missing"},
		"companion on its way":    {rules: companion, facts: eligible.Facts{Group: []eligible.File{waiting}}, want: "waits companion_missing"},
		"companion given up":      {rules: companion, facts: eligible.Facts{Group: []eligible.File{given}}, want: "waits companion_missing"},
		"another's companion":     {rules: companion, facts: eligible.Facts{Group: []eligible.File{file("b.xml", domain.FileReady)}}, want: "waits companion_missing"},
		"no companion of its own": {rules: setting.Rules{Companions: []setting.Companion{{Needs: "*.fits"}}}, want: "ready"},
		"two files":               {rules: setting.Rules{MinFiles: 2}, facts: eligible.Facts{Group: []eligible.File{downloaded}}, want: "ready"},
		"two files, one is there": {rules: setting.Rules{MinFiles: 2}, facts: eligible.Facts{Group: []eligible.File{given}}, want: "waits files_missing"},
		"stack":                   {rules: setting.Rules{Stack: 1}, facts: eligible.Facts{Before: []eligible.File{downloaded, given}}, want: "ready"},
		"stack with a hole":       {rules: setting.Rules{Stack: 2}, facts: eligible.Facts{Before: []eligible.File{downloaded, given}}, want: "waits stack_missing"},
		"first of a stack":        {rules: setting.Rules{Stack: 1}, want: "waits stack_missing"},
		"pending, and two more":   {rules: setting.Rules{MinFiles: 2, Stack: 1}, facts: eligible.Facts{Slot: domain.SlotPending}, want: "waits slot_pending files_missing stack_missing"},
		"a yes of a predicate":    {rules: asks, facts: eligible.Facts{Answer: &eligible.Answer{Ready: true}}, want: "ready"},
		"a no of a predicate":     {rules: asks, facts: eligible.Facts{Answer: &eligible.Answer{Why: "clouds"}}, want: "waits predicate_false"},
		"a silent predicate":      {rules: asks, want: "waits predicate_false"},
		"metadata within":         {rules: seeing, facts: eligible.Facts{Answer: said("1.5", "R")}, want: "ready"},
		"metadata at its bound":   {rules: seeing, facts: eligible.Facts{Answer: said("2e0", "R")}, want: "ready"},
		"metadata above":          {rules: seeing, facts: eligible.Facts{Answer: said("2.01", "R")}, want: "skip metadata_excluded"},
		"metadata below":          {rules: seeing, facts: eligible.Facts{Answer: said("0.4", "R")}, want: "skip metadata_excluded"},
		"metadata, no number":     {rules: seeing, facts: eligible.Facts{Answer: said("good", "R")}, want: "skip metadata_excluded"},
		"metadata, NaN":           {rules: seeing, facts: eligible.Facts{Answer: said("NaN", "R")}, want: "skip metadata_excluded"},
		"metadata of another":     {rules: seeing, facts: eligible.Facts{Answer: said("1", "U")}, want: "skip metadata_excluded"},
		"metadata and a no":       {rules: seeing, facts: eligible.Facts{Answer: &eligible.Answer{Metadata: map[string]string{"seeing": "3"}}}, want: "skip metadata_excluded"},
		"metadata not said":       {rules: seeing, facts: eligible.Facts{Answer: &eligible.Answer{Ready: true, Metadata: map[string]string{"seeing": "1"}}}, want: "waits metadata_missing"},
		"metadata not asked":      {rules: seeing, want: "waits predicate_false"},
		"closed and excluded":     {rules: setting.Rules{MaxSize: 1}, facts: eligible.Facts{Slot: domain.SlotDone}, want: "skip size_excluded"},
	} {
		c.facts.Now, c.facts.File = now, file("n/a.fits", domain.FileDownloaded)
		v := eligible.Decide(c.rules, c.facts)
		if got := says(v); got != c.want || v.Ready() != (c.want == "ready") || c.rules.Check() != nil {
			t.Errorf("%s: %s, want %s (%v)", name, got, c.want, c.rules.Check())
		}
	}
}

// TestDecideAtRandom: what arrives never makes a file wait for more, and a file whose name
// holds what globs are made of has a companion as any other has.
func TestDecideAtRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		state := rapid.SampledFrom(domain.FileStates)
		stem := rapid.StringMatching(`[a-c*?\[\]\\]{1,4}`).Draw(t, "stem")
		rules := setting.Rules{Companions: []setting.Companion{{Of: "*.fits", Needs: "{stem}.xml"}}, MinFiles: rapid.IntRange(0, 3).Draw(t, "files"), Stack: rapid.IntRange(0, 2).Draw(t, "stack")}
		facts := eligible.Facts{File: file(stem+".fits", domain.FileDownloaded), Now: now, Slot: rapid.SampledFrom([]domain.SlotState{domain.SlotNone, domain.SlotPending, domain.SlotActive}).Draw(t, "slot")}
		for range rapid.IntRange(0, 3).Draw(t, "others") {
			facts.Group = append(facts.Group, file(rapid.SampledFrom([]string{stem + ".xml", "b.fits"}).Draw(t, "other"), state.Draw(t, "state")))
		}
		facts.Before = facts.Group
		before := eligible.Decide(rules, facts)
		facts.Group = append([]eligible.File{file(stem+".xml", domain.FileDownloaded)}, facts.Group...)
		facts.Before = append([]eligible.File{file("c.fits", domain.FileDownloaded)}, facts.Before...)
		after := eligible.Decide(rules, facts)
		for _, w := range after.Waits {
			if w.Code == eligible.CodeCompanionMissing {
				t.Fatalf("%q does not see its companion", stem)
			}
		}
		if w := len(after.Waits); w > len(before.Waits) && rules.Stack < 2 {
			t.Fatalf("%+v, then %+v", before, after)
		}
	})
}
