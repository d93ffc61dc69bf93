package ready_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/ready"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/projections/query"
)

// fixture is a log with files without a job, and their local copies.
type fixture struct {
	*testing.T
	clock *memory.ManualClock
	files *files.Handler
	log   eventstore.Log
	dir   string
	rules setting.Rules
	*ready.Checker
}

func newFixture(t *testing.T) *fixture {
	clock := memory.NewManualClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	f := &fixture{T: t, clock: clock, log: memory.NewLog(clock), dir: t.TempDir()}
	f.files = storetest.NewFileHandler(f.log)
	f.Checker = &ready.Checker{Files: storetest.NewFileHandler(f.log), Tables: tables{f}, Contents: contents{f}, Interval: time.Second, Log: slog.New(slog.DiscardHandler),
		Rules:  func(context.Context, string) (setting.Rules, error) { return f.rules, nil },
		Limits: func(context.Context) (func(string) domain.Limits, error) { return f.limits, nil }}
	return f
}

// limits allow nine downloads of a file of the profile, and one of others.
func (f *fixture) limits(profile string) domain.Limits {
	if profile == "tides" {
		return domain.Limits{Max: 9}
	}
	return domain.Limits{Max: 1}
}

func spec(name string) domain.FileSpec {
	return domain.FileSpec{Source: "http://files.test/", Path: name, URL: "http://files.test/" + name, Dataset: "nights", Group: "one", Profile: "tides", Collection: "tides"}
}

// arrive discovers a file and downloads it.
func (f *fixture) arrive(name, content string) domain.FileHash {
	f.Helper()
	return f.arriveIn("one", name, content)
}

// arriveIn discovers a file of a group and downloads it.
func (f *fixture) arriveIn(group, name, content string) domain.FileHash {
	f.Helper()
	sum := sha256.Sum256([]byte(content))
	found := spec(name)
	found.Group = group
	hash, digest := found.Hash(), hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(f.dir, digest), []byte(content), 0o600); err != nil {
		f.Fatal(err)
	}
	f.do(hash, domain.DiscoverFile{Spec: found})
	f.do(hash, domain.FileAlreadyThere{Size: int64(len(content)), SHA256: digest})
	return hash
}

func (f *fixture) do(hash domain.FileHash, cmd domain.FileCommand) {
	f.Helper()
	if _, err := f.files.File(f.Context(), hash, cmd, eventstore.Meta{Actor: "daemon/test"}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) slot(cmd slot.Command) {
	f.Helper()
	if _, err := f.files.Slots().Slot(f.Context(), slot.NewID("nights", "one"), cmd, eventstore.Meta{Actor: "user/ana"}); err != nil {
		f.Fatal(err)
	}
}

// pass makes a pass, and compares where the file is after it, with the code of its reason.
func (f *fixture) pass(hash domain.FileHash, want string) {
	f.Helper()
	sum, err := f.Once(f.Context())
	if err != nil || sum.Errors > 0 {
		f.Fatalf("%+v, %v", sum, err)
	}
	is, err := f.files.Load(f.Context(), hash)
	got := string(is.State)
	if is.Reason != nil && is.State != domain.FileDownloaded {
		got += " " + string(is.Reason.Code)
	}
	if err != nil || got != want {
		f.Errorf("it is %s, want %s (%+v, %v)", got, want, sum, err)
	}
}

// contents are files by the digest of their content.
type contents struct{ f *fixture }

func (c contents) Open(_ domain.FileHash, digest string) (*os.File, error) {
	file, err := os.Open(filepath.Join(c.f.dir, digest))
	if err != nil {
		return nil, &store.Error{Code: store.CodeNotFound, Err: err}
	}
	return file, nil
}

func (c contents) Quarantine(_ domain.FileHash, digest string, _ int64) (string, error) {
	from := filepath.Join(c.f.dir, digest)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return from + ".damaged", os.Rename(from, from+".damaged")
}

// tables are what the database has, by folding the log.
type tables struct{ f *fixture }

func (t tables) all() (list []query.WaitingFile) {
	states := map[domain.Aggregate]domain.File{}
	for r, err := range t.f.log.Read(t.f.Context(), eventstore.ReadOptions{}) {
		if err != nil {
			t.f.Fatal(err)
		}
		if r.Aggregate.Kind == domain.KindFile {
			if states[r.Aggregate], err = domain.EvolveFile(states[r.Aggregate], r); err != nil {
				t.f.Fatal(err)
			}
		}
	}
	for _, s := range states {
		list = append(list, query.WaitingFile{File: eligible.File{Hash: s.Hash, Path: s.Spec.Path, Size: s.Size, SHA256: s.SHA256, State: s.State}, Version: s.Version, Dataset: s.Spec.Dataset, Group: s.Spec.Group})
	}
	slices.SortFunc(list, func(a, b query.WaitingFile) int { return cmp.Compare(a.Hash, b.Hash) })
	return list
}

func (t tables) Waiting(_ context.Context, after domain.FileHash, limit int) (found []query.WaitingFile, err error) {
	for _, w := range t.all() {
		if w.State == domain.FileDownloaded && w.Hash > after && len(found) < limit {
			found = append(found, w)
		}
	}
	return found, nil
}

func (t tables) Around(_ context.Context, _ setting.Rules, of query.WaitingFile) (f eligible.Facts, err error) {
	f.File, f.GroupName = of.File, of.Group
	for _, w := range t.all() {
		if w.Hash != of.Hash {
			f.Group = append(f.Group, w.File)
		}
	}
	return f, nil
}

// TestSlotOfFile: a file waits while its slot is PENDING, and is ready once it is ACTIVE; one
// that comes after the slot is skipped, and an operator takes it back.
func TestSlotOfFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := domain.At(f.clock.Now())
	f.slot(slot.Add{Dataset: "nights", Group: "one", Opens: domain.At(now.Add(time.Minute)), Closes: domain.At(now.Add(time.Hour))})
	early := f.arrive("a.txt", "text")
	f.pass(early, "DOWNLOADED")
	f.slot(slot.Open{Now: domain.At(now.Add(time.Minute))})
	f.pass(early, "READY")
	f.slot(slot.End{Now: domain.At(now.Add(time.Hour)), Files: 1})
	late := f.arrive("b.txt", "other text")
	f.pass(late, "SKIPPED slot_closed")
	f.pass(early, "READY") // it goes on
	why := domain.Reason{Class: domain.ClassWait, Code: "requested", Message: "it counts"}
	f.slot(slot.Open{Now: domain.At(now.Add(time.Hour)), Until: domain.At(now.Add(2 * time.Hour)), Reason: &why})
	f.do(late, domain.ReopenFile{Reason: why}) // O3
	f.pass(late, "READY")
}

// TestSlotByName: a file whose dataset makes slots from the names of its groups waits until its
// slot is there; a pass makes it if no poll has, once; a name that gives no window makes none, and
// the file waits until an operator gives its group one. A slot that exists stays as it is.
func TestSlotByName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hash := f.arrive("a.txt", "text")
	f.rules.Slots = &setting.SlotRule{Layout: "20060102", LengthSeconds: 60}
	f.pass(hash, "DOWNLOADED")
	if sum, err := f.Once(t.Context()); err != nil || sum.Waits[eligible.CodeSlotMissing] != 1 {
		t.Errorf("a name without a time: %+v, %v", sum, err)
	}
	id := slot.NewID("nights", "one")
	if slots, err := f.files.Slots().States(t.Context(), []slot.ID{id}); err != nil || len(slots) > 0 {
		t.Errorf("%+v, %v", slots, err)
	}
	f.rules.Slots.Layout = "one" // as if the name said a time: the year is missing, and out of bounds
	f.pass(hash, "DOWNLOADED")
	now := domain.At(f.clock.Now())
	f.slot(slot.Add{Dataset: "nights", Group: "one", Opens: now, Closes: domain.At(now.Add(time.Hour))})
	f.slot(slot.Open{Now: now})
	f.pass(hash, "READY")

	night := f.arriveIn("20260501", "b.txt", "more text")
	f.rules.Slots = &setting.SlotRule{Layout: "20060102", OffsetSeconds: 12 * 60 * 60, LengthSeconds: 60}
	for range 2 {
		f.pass(night, "DOWNLOADED")
	}
	id = slot.NewID("nights", "20260501")
	f.rules.Slots.LengthSeconds = 3600
	f.pass(night, "DOWNLOADED")
	made, err := f.files.Slots().States(t.Context(), []slot.ID{id})
	if s := made[id]; err != nil || s.State != domain.SlotPending || s.Version != 1 || s.Opens != now || s.Closes.Sub(now.Time) != time.Minute || s.Reason == nil || s.Reason.Code != slot.CodeFromName {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := f.files.Slots().Slot(t.Context(), id, slot.Open{Now: now}, eventstore.Meta{Actor: "daemon/sweeper"}); err != nil {
		t.Fatal(err)
	}
	f.pass(night, "READY")
}

// TestCompanionOfFile: a file waits for its companion.
func TestCompanionOfFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.rules.Companions = []setting.Companion{{Of: "*.txt", Needs: "{stem}.xml"}}
	waits := f.arrive("a.txt", "text")
	f.pass(waits, "DOWNLOADED")
	if sum, err := f.Once(t.Context()); err != nil || sum.Waits[eligible.CodeCompanionMissing] != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	f.arrive("a.xml", "<a/>")
	f.pass(waits, "READY")
}

// TestSkippedFile is scenario Failure 2: a file that its dataset does not take is skipped.
func TestSkippedFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.rules.Names = []string{"*.xml"}
	f.pass(f.arrive("a.txt", "text"), "SKIPPED name_excluded")
}

// TestDamagedFile: a file whose local copy is damaged or gone after it has waited is sent
// back; what is damaged is put away.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.rules.MinFiles = 2
	hash := f.arrive("a.txt", "text")
	f.pass(hash, "DOWNLOADED")
	all, err := filepath.Glob(filepath.Join(f.dir, "*"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := os.WriteFile(all[0], []byte("tent"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.rules.MinFiles = 0
	f.pass(hash, "DOWNLOADING_FAILED digest_mismatch")
	if left, _ := filepath.Glob(filepath.Join(f.dir, "*")); len(left) != 1 || !strings.HasSuffix(left[0], ".damaged") {
		t.Errorf("left %v", left)
	}
	gone := f.arrive("b.txt", "other")
	if err := os.Remove(filepath.Join(f.dir, "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa")); err != nil {
		t.Fatal(err)
	}
	f.pass(gone, "DOWNLOADING_FAILED local_copy_missing")
	f.pass(f.arrive("c.fits", "<html>"), "DOWNLOADING_FAILED format_mismatch")
}

// TestDamagedFileIsFetchedAgain: a damaged file is fetched as often as its profile says.
func TestDamagedFileIsFetchedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const name, content = "d.fits", "<html>"
	sum := sha256.Sum256([]byte(content))
	hash, digest := spec(name).Hash(), hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(f.dir, digest), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f.do(hash, domain.DiscoverFile{Spec: spec(name)})
	f.do(hash, domain.StartDownload{Worker: "w", Limits: f.limits("tides")})
	f.do(hash, domain.FinishDownload{Fence: 2, Size: int64(len(content)), SHA256: digest})
	f.pass(hash, "DOWNLOADING_FAILED format_mismatch")
}
