package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/replica"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/store/ocfl"
	"github.com/accession-ingest/accession/domain"
)

// Stores opens the object stores of an installation.
type Stores interface {
	// ProfileStore returns the store that a profile names; that of the installation for
	// one that is not known any more.
	ProfileStore(ctx context.Context, profile string) (*store.Store, error)
	// AllStores returns every store that a profile names, and that of the installation.
	AllStores(ctx context.Context) ([]*store.Store, error)
	// At returns the store at a location that a profile names as a replica.
	At(ctx context.Context, location string) (*store.Store, error)
}

// Profiles has the profiles by name.
type Profiles interface {
	Get(name string) (profile.Profile, error)
}

// Config says what to compare, and how.
type Config struct {
	Servers  consistency.Config
	Records  *record.Records
	Stores   Stores
	Profiles Profiles
	Replicas replica.Keeper
	// Range limits the check to some objects.
	Range Range
	// Deep reads every byte of every stored file, at most Rate bytes per second; 0 = as
	// fast as it goes.
	Deep bool
	Rate int64
}

// Range is a part of the objects: from one identifier to another, both included;
// "" = no limit.
type Range struct{ From, To string }

func (s Range) has(object string) bool {
	return object >= s.From && (s.To == "" || object <= s.To)
}

func (s Range) all() bool { return s == Range{} }

// Report is what a check found.
type Report struct {
	Findings []consistency.Finding
	Versions int   // stored versions that were compared
	Rows     int   // versions in the inventory
	Files    int   // stored files that were looked up
	Read     int64 // bytes read to compare digests
	// Last is the last object in the order of identifiers that was compared with all
	// those before it; after an interruption a check continues from it.
	Last string
}

const (
	defaultWait   = 10 * time.Second
	versionsAPage = 256
	parallel      = 16
	pollEvery     = 50 * time.Millisecond
)

// checker is one check.
type checker struct {
	Config
	pace *pace
	size int // of a page
	// corrupt is called with what is corrupt in the store, paged after each page of
	// versions; nil = no calls.
	corrupt func(corruptFile)
	paged   func(context.Context, []*version) error
	// pending is called with a replica that is to be made, or made again because of what was
	// found; nil = a finding says so.
	pending func(ctx context.Context, v record.Replicated, location, found string) error
	files   atomic.Int64
	read    atomic.Int64
	// described are the objects whose inventories have a finding.
	described sync.Map

	mu     sync.Mutex
	report Report
}

// Check compares the versions that the history says are stored with the records and the
// stores. With an error the report has what was found before it.
func Check(ctx context.Context, cfg Config, h *History) (Report, error) {
	c := newChecker(cfg)
	err := c.versions(ctx, c.selected(h))
	if err == nil {
		err = c.unexplained(ctx, h)
	}
	if err == nil && c.Range.all() {
		err = c.keys(ctx, h)
	}
	if err == nil && c.Range.all() {
		err = c.profiles(ctx, h)
	}
	if err == nil && c.Range.all() {
		err = c.results(ctx)
	}
	if err == nil && c.Range.all() {
		err = c.listings(ctx)
	}
	c.report.Files, c.report.Read = int(c.files.Load()), c.read.Load()
	return c.report, err
}

func newChecker(cfg Config) *checker {
	cfg.Servers.Wait = cmp.Or(cfg.Servers.Wait, defaultWait)
	return &checker{Config: cfg, pace: newPace(cfg.Rate), size: versionsAPage}
}

// selected returns the stored versions in the range, in their order.
func (c *checker) selected(h *History) []*version {
	return slices.DeleteFunc(h.stored(), func(v *version) bool { return !c.Range.has(v.Object) })
}

// isCorrupt keeps that a stored file is not what it should be. mend copies it back from a
// replica, nil = there is none.
func (c *checker) isCorrupt(v *version, f store.StoredFile, is wrong, mend func(context.Context) error) {
	c.found(consistency.NewFinding(is.code, v.subject(), f.Key, is.want, is.got, mend))
	if c.corrupt != nil {
		c.corrupt(corruptFile{record.Corrupt{VersionID: v.VersionID, Kind: string(f.Kind), Name: f.Name, Key: f.Key, Job: v.Job, Code: is.code, Found: is.got}, mend})
	}
}

// wrong says what is wrong with what is stored under a key.
type wrong struct {
	code      domain.Code
	want, got string
}

func (c *checker) found(f ...consistency.Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Findings = append(c.report.Findings, f...)
}

func (c *checker) progress(doing string, done, total int) {
	if c.Servers.Progress != nil {
		c.Servers.Progress(consistency.Progress{Doing: doing, Done: done, Total: total})
	}
}

// versions compares versions, a page at a time.
func (c *checker) versions(ctx context.Context, all []*version) error {
	doing := "comparing stored objects"
	if c.Deep {
		doing = "reading stored objects"
	}
	for page := range slices.Chunk(all, c.size) {
		stored := make([]record.Stored, len(page))
		for i, v := range page {
			stored[i] = v.Stored
		}
		kept, err := c.Records.Kept(ctx, stored)
		if err != nil {
			return err
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(parallel)
		for i, v := range page {
			g.Go(func() error { return c.version(gctx, v, kept[i]) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		c.report.Versions += len(page)
		c.report.Last = page[len(page)-1].Object
		if c.paged != nil {
			if err := c.paged(ctx, page); err != nil {
				return err
			}
		}
		c.progress(doing, c.report.Versions, len(all))
	}
	return nil
}

// version compares one version with what is kept of it and what is stored.
func (c *checker) version(ctx context.Context, v *version, kept record.Kept) error {
	objects, err := c.Stores.ProfileStore(ctx, v.profile)
	if err != nil {
		return err
	}
	m, is, err := readManifest(ctx, objects, v)
	if err != nil {
		return err
	}
	files := m.Files
	if is != nil {
		c.isCorrupt(v, store.StoredFile{Kind: "manifest", Name: "manifest.json", Key: v.manifestKey()}, *is,
			c.fromReplica(ctx, objects, v, kept, store.Blob{Key: v.manifestKey(), Size: -1, SHA256: v.digest}))
		files = storedFiles(kept.Files) // what the inventory says is better than nothing
	}
	if kept.Withdrawal != "" {
		files = nil
	}
	for _, f := range files {
		is, err := c.file(ctx, objects, f)
		gone := false
		if err == nil && is != nil {
			gone, err = c.Records.Withdrawn(ctx, v.Object) // meanwhile
		}
		if err != nil {
			return err
		}
		if is != nil && !gone {
			c.isCorrupt(v, f, *is, c.fromReplica(ctx, objects, v, kept, store.Blob{Key: f.Key, Size: f.Size, SHA256: f.SHA256}))
		}
	}
	c.kept(v, m, kept)
	if err := c.inventories(ctx, objects, v, kept); err != nil {
		return err
	}
	if kept.Withdrawal != "" {
		return c.withdrawn(ctx, objects, v, kept)
	}
	return c.replicas(ctx, objects, v, kept)
}

// inventories compares what describes an object of OCFL with its newest version. What is
// wrong for all of its versions is found once.
func (c *checker) inventories(ctx context.Context, objects *store.Store, v *version, kept record.Kept) error {
	faults, err := objects.OCFLFaults(ctx, v.Object, v.manifestKey(), v.digest)
	if store.CodeOf(err) == store.CodeMismatch {
		var mend func(context.Context) error
		if at := c.withCopy(ctx, v, kept, store.Blob{Key: v.manifestKey(), Size: -1}); at != nil {
			mend = func(ctx context.Context) error { return objects.CopyInventories(ctx, at, v.Object, v.manifestKey()) }
		}
		c.found(consistency.NewFinding(consistency.OCFLInventoryWrong, v.subject(), v.manifestKey(), "its version in the inventory of its object", err.Error(), mend))
		return nil
	}
	if err != nil || len(faults) == 0 {
		return err
	}
	if _, again := c.described.LoadOrStore(v.Object, true); !again {
		c.found(consistency.NewFinding(consistency.OCFLInventoryWrong, v.subject(), strings.Join(faults, ", "), "what the newest version of "+v.Object+" says", "something else, or nothing",
			func(ctx context.Context) error { return objects.SettleOCFL(ctx, v.Object) }))
	}
	return nil
}

// readManifest reads the storage manifest of a version, which must be the one in the
// log. With a finding there is none.
func readManifest(ctx context.Context, objects *store.Store, v *version) (store.StorageManifest, *wrong, error) {
	m, digest, err := objects.ReadManifest(ctx, v.manifestKey())
	is := func(code domain.Code, got string) *wrong { return &wrong{code, "SHA-256 " + v.digest, got} }
	switch store.CodeOf(err) {
	case "":
	case store.CodeNotFound:
		return store.StorageManifest{}, is(consistency.ManifestMissing, "nothing"), nil
	case store.CodeMismatch:
		return store.StorageManifest{}, is(consistency.ManifestCorrupt, "what is not a storage manifest"), nil
	default:
		return m, nil, err
	}
	if digest != v.digest {
		return store.StorageManifest{}, is(consistency.ManifestCorrupt, "SHA-256 "+digest), nil
	}
	return m, nil, nil
}

// file compares a stored file with its manifest: that it is there, its size, and with
// Deep its digest.
func (c *checker) file(ctx context.Context, objects *store.Store, f store.StoredFile) (*wrong, error) {
	c.files.Add(1)
	code, got, err := CheckFile(ctx, objects, f, c.Deep, c.pace.through(ctx, &c.read))
	if err != nil || code == "" {
		return nil, err
	}
	return &wrong{code, fmt.Sprintf("%d bytes, SHA-256 %s", f.Size, f.SHA256), got}, nil
}

func storedFiles(list []record.File) []store.StoredFile {
	files := make([]store.StoredFile, len(list))
	for i, f := range list {
		files[i] = store.StoredFile{Kind: store.FileKind(f.Kind), Name: f.Name, Key: f.Key, Size: f.Size, SHA256: f.SHA256, MimeType: f.MimeType}
	}
	return files
}

// unexplained finds what no job explains: versions and objects in the inventory, and
// files in the stores.
func (c *checker) unexplained(ctx context.Context, h *History) error {
	if !c.Range.all() {
		return nil
	}
	if err := c.unexplainedRows(ctx, h); err != nil {
		return err
	}
	return c.unexplainedFiles(ctx, h)
}

func (c *checker) unexplainedRows(ctx context.Context, h *History) error {
	wait := time.Now().Add(c.Servers.Wait) // for all of them together
	for after := domain.JobID(""); ; {
		rows, err := c.Records.VersionsAfter(ctx, after, versionsAPage)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			after = row.Job
			if v := h.jobs[row.Job]; v != nil && v.VersionID == row.VersionID {
				continue
			}
			explained, err := c.explained(ctx, row, wait)
			if err != nil {
				return err
			}
			if !explained {
				c.found(consistency.NewFinding(consistency.VersionUnexplained, row.Job.Aggregate().String(), "object_version", "nothing", describe(row.VersionID), nil))
			}
		}
		c.report.Rows += len(rows)
		c.progress("reading the inventory", c.report.Rows, 0)
	}
	recorded := map[string]bool{} // objects; if a version is missing that is a finding already
	for _, v := range h.jobs {
		recorded[v.Object] = recorded[v.Object] || v.recorded
	}
	for after := ""; ; {
		objects, err := c.Records.EmptyObjects(ctx, after, versionsAPage)
		if err != nil || len(objects) == 0 {
			return err
		}
		for _, o := range objects {
			if recorded[o] {
				continue
			}
			c.found(consistency.NewFinding(consistency.VersionUnexplained, "", "object", "nothing", o+", which has no version", nil))
		}
		after = objects[len(objects)-1]
	}
}

// explained reports whether the log says by now that the job has stored the version; it
// may have come to the log after the check began, or be on its way there.
func (c *checker) explained(ctx context.Context, row record.Version, until time.Time) (bool, error) {
	for {
		events, err := events(ctx, c.Servers.Log, row.Job)
		if err != nil {
			return false, err
		}
		now := NewHistory()
		for _, e := range events {
			now.Observe(e)
		}
		if v := now.jobs[row.Job]; v != nil && v.VersionID == row.VersionID {
			return true, nil
		}
		if !time.Now().Before(until) {
			return false, nil
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// unexplainedFiles lists the stores for files of versions that no job has stored or
// reserved.
func (c *checker) unexplainedFiles(ctx context.Context, h *History) error {
	stores, err := c.Stores.AllStores(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, v := range h.jobs {
		if v.Object != "" {
			known[store.VersionPrefix(v.Object, v.Version)] = true
			known[store.OCFLRoot(v.Object)] = true
		}
	}
	for _, f := range ocfl.StorageRoot() {
		known[store.OCFLPrefix+f.Name] = true
	}
	suspects := map[string]int{} // files of a version
	n := 0
	for _, s := range stores {
		for _, prefix := range objectsPrefixes {
			for o, err := range s.List(ctx, prefix) {
				if err != nil {
					return err
				}
				if n++; n%1000 == 0 {
					c.progress("listing stored objects", n, 0)
				}
				if prefix := versionPrefix(o.Key); !known[prefix] {
					suspects[prefix]++
				}
			}
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	// Reserved before the first file was stored.
	reserved, err := c.Records.Reservations(ctx)
	if err != nil {
		return err
	}
	for _, id := range reserved {
		delete(suspects, store.VersionPrefix(id.Object, id.Version))
		delete(suspects, store.OCFLRoot(id.Object))
	}
	for _, prefix := range slices.Sorted(maps.Keys(suspects)) {
		c.found(consistency.NewFinding(consistency.StoredUnexplained, "", prefix, "nothing", fmt.Sprintf("%d files", suspects[prefix]), nil))
	}
	return nil
}

func describe(id record.VersionID) string {
	if id.Object == "" {
		return "nothing"
	}
	return fmt.Sprintf("version %d of %s", id.Version, id.Object)
}
