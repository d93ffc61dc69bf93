package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestSlotsFromNames: a poll makes the slot of each group from its name, once; a file becomes
// READY in the window that the name gives, and is skipped after it; a file whose name gives no
// window waits, is counted, and goes on once an operator gives its group a slot; a rule that
// changes leaves the slots that exist as they are; what was known before the rule waits for a slot
// too, which the role ready makes.
func TestSlotsFromNames(t *testing.T) {
	t.Parallel()
	today := time.Now().UTC().Format("20060102")
	night := func(day string) string { return day + "_a.dat 20-Nov-2026 09:05 32" }
	dir := newOpenDirectory(t, night("20200101")) // known before there is a rule
	in := newInstallation(t, "ready_interval=100ms", "sweep_interval=100ms")
	p := newPolled(t, in, dir)
	p.polled()
	rules := filepath.Join(t.TempDir(), "rules.json")
	rule := func(text string) {
		in.must(os.WriteFile(rules, []byte(text), 0o600))
		in.says(0, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "nights"})
	}
	in.must(os.WriteFile(rules, []byte(`{"slots":{"layout":"0102","length_seconds":1}}`), 0o600))
	in.says(2, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "nights"}, "does not tell the time")
	rule(`{"slots":{"layout":"20060102","offset_seconds":-86400,"length_seconds":259200}}`) // the day before to the day after
	in.says(0, words("dataset show nights"), "begins -24h0m0s after the time of its name, 20060102, and is 72h0m0s long")

	dir.set(func() {
		dir.files = append(dir.files, night(today), night("20200102"), night("20260931"), "dark.dat 20-Nov-2026 09:05 26", night("21260101"))
	})
	p.asked()
	p.asked()
	p.shown()
	if n := p.count("select count(*) from accession.slot where dataset = 'nights'"); n != 3 {
		t.Fatalf("%d slots, want 3", n)
	}
	made := p.seen(3, domain.EventSlotCreated)
	for _, e := range made {
		if m := e.Data.(*domain.SlotMove); e.Actor != "daemon/discover" || m.Reason == nil || m.Reason.Code != "window_from_name" || m.Closes.Sub(m.Opens.Time) != 72*time.Hour { //nolint:forcetypeassert // of this type
			t.Errorf("%s: %+v", e.Actor, m)
		}
	}
	rule(`{"slots":{"layout":"20060102","length_seconds":3600}}`)
	p.serveInProcess(run.RoleDownload, run.RoleReady, run.RoleSweeper)
	p.reaches(today+"_a.dat", domain.FileReady)
	p.reaches("20200102_a.dat", domain.FileSkipped)
	p.went("20200102_a.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "SKIPPED:slot_closed")
	p.reaches("20200101_a.dat", domain.FileSkipped)
	for _, waits := range []string{"20260931_a.dat", "dark.dat", "21260101_a.dat"} {
		p.reaches(waits, domain.FileDownloaded)
	}
	in.shown()
	in.says(0, words("slot show nights 20200101"), "daemon/ready", "0s after 20060102, for 1h0m0s", "DONE")
	in.says(0, words("slot show nights 21260101"), "daemon/discover", "-24h0m0s after 20060102, for 72h0m0s", "PENDING")
	in.says(0, words("slot ls --dataset nights"), "made by", "daemon/discover", "daemon/ready")
	for hash, why := range map[domain.FileHash]string{dir.hash("20260931_a.dat"): "20260931, does not say a time", dir.hash("dark.dat"): "it is in no group", dir.hash("21260101_a.dat"): "PENDING"} {
		in.says(0, []string{"file", "show", string(hash)}, "waits for", why)
	}
	var d directories.Dataset
	in.must(json.Unmarshal([]byte(in.says(0, words("dataset show nights -o json"), `"files_without_slot"`)), &d))
	if d.WithoutSlot == nil || *d.WithoutSlot != 2 {
		t.Errorf("%+v", d)
	}
	in.says(0, words("dataset show nights"), "2 files have no slot and wait")
	in.says(2, words("slot add nights a:b --from 2026-01-01T00:00Z --to 2126-01-02T00:00Z"), "is not the name of a group")
	in.says(0, words("slot add nights 20260931 --from 2026-01-01T00:00Z --to 2126-01-02T00:00Z"), "PENDING")
	p.reaches("20260931_a.dat", domain.FileReady)
	in.says(0, words("verify"))
}

// slotsFromNames: the slot of a group is made from its name, once, and its file becomes ready, whether a
// poll or the role ready died at it.
func slotsFromNames(o *crashInstallation, point string) {
	day := time.Now().UTC().Format("20060102")
	dir, name := newOpenDirectory(o.t, day+"_a.txt 20-Nov-2026 09:05 32"), "d"+strings.ReplaceAll(uuid.NewString(), "-", "")
	rules := filepath.Join(o.t.TempDir(), "rules.json")
	o.must(os.WriteFile(rules, []byte(`{"slots":{"layout":"20060102","offset_seconds":-86400,"length_seconds":259200}}`), 0o600))
	o.run("dataset", "add", name, "--profile", "test", "--group-pattern", "^([0-9]+)_", "--reason", "to try it")
	known := strings.HasPrefix(point, "ready/") // before the rule: no poll makes the slot
	if known {
		// A companion keeps it from being ready until the rule is there.
		wait := filepath.Join(o.t.TempDir(), "wait.json")
		o.must(os.WriteFile(wait, []byte(`{"companions":[{"of":"*.txt","needs":"{stem}.xml"}]}`), 0o600))
		o.run("dataset", "set", name, "--rules", wait, "--reason", "to try it")
	} else {
		o.run("dataset", "set", name, "--rules", rules, "--reason", "to try it")
	}
	o.run("discover", "add", dir.URL+"/night/", "--dataset", name, "--name", name, "--every", "1s", "--reason", "to try it")
	if known {
		s := o.serve()
		s.works()
		o.fileBecomes(name, domain.FileDownloaded)
		s.stop()
		o.run("dataset", "set", name, "--rules", rules, "--reason", "to try it")
	}
	o.dies(point, nil, "serve")
	s := o.serve()
	s.works()
	waitFor(o.t, "the slot of "+name, func() bool {
		return o.count("select count(*) from accession.slot where dataset = $1", name) == 1
	})
	o.run("sweep")
	o.fileBecomes(name, domain.FileReady)
	s.stop()
	if n := o.count("select count(*) from accession.slot_transition where dataset = $1 and from_status = ''", name); n != 1 {
		o.t.Errorf("%s: the slot is made by %d events", point, n)
	}
	o.run("discover", "rm", name, "--reason", "tried")
}
