// Package groups makes one deposit of each complete group of a dataset.
//
// # Promises
//
// A group becomes one batch, however often the process is killed: first it is kept, with its
// files and the manifest of what is deposited, that the group is complete; then the batch is made
// by the ordinary way of deposits, under the idempotency key of the group; then it is kept which
// batch that is; and last its files are processed (F11, F12), with the batch as their result. What
// was cut off is continued from what is kept. A file that becomes known after its group was found
// complete is in no deposit, and is reported as late.
package groups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/group"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Name is the name of the daemon as an actor, and as the worker of the files.
const Name = "groups"

// Settings reads a setting as it is now; [eventstore.Live] is one.
type Settings interface {
	Setting(ctx context.Context, kind domain.SettingKind, name string) (eventstore.Loaded[domain.Setting], error)
}

// Depositor makes deposits of groups, in one process at a time. All fields are required.
type Depositor struct {
	App      *app.App // whose actor deposits
	Files    *files.Handler
	Settings Settings
	Tables   query.DB
	Records  *record.Records
	Interval time.Duration // of Run, from the end of a pass to the next; above 0
	Log      *slog.Logger
}

// atOnce is how many groups that are complete are looked at in a pass.
const atOnce = 100

// Run makes a pass at once and after each interval, until ctx ends.
func (d *Depositor) Run(ctx context.Context) error {
	failed := false
	for {
		err := d.Once(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			d.Log.Warn("deposits of groups cannot be made now; it is tried again", "error", err)
		}
		failed = err != nil
		select {
		case <-time.After(d.Interval):
		case <-ctx.Done():
			return nil
		}
	}
}

// Once ends what earlier passes have begun, and looks which groups are complete, unless another
// process does.
func (d *Depositor) Once(ctx context.Context) error {
	release, leads, err := d.Records.LeadGroups(ctx)
	if err != nil || !leads {
		return err
	}
	defer release()
	if err := d.open(ctx); err != nil {
		return err
	}
	set, err := query.SettingsOfKind(ctx, d.Tables, domain.SettingDiscovery)
	if err != nil {
		return err
	}
	polled := map[string][]string{} // the discoveries of each dataset that are polled
	for _, s := range set {
		if !s.Discovery.Paused {
			polled[s.Discovery.Dataset] = append(polled[s.Discovery.Dataset], s.Name)
		}
	}
	for _, s := range set {
		if s.Discovery.Deposit == nil || s.Discovery.Paused {
			continue
		}
		if err := d.discovery(ctx, s.Name, polled[s.Discovery.Dataset]); err != nil {
			return err
		}
	}
	return d.open(ctx)
}

// discovery decides about the groups of the dataset of a discovery.
func (d *Depositor) discovery(ctx context.Context, name string, polled []string) error {
	is, err := d.Settings.Setting(ctx, domain.SettingDiscovery, name)
	if err != nil || is.State.Discovery == nil || is.State.Discovery.Deposit == nil || is.State.Discovery.Paused {
		return err
	}
	of, err := d.Settings.Setting(ctx, domain.SettingDataset, is.State.Discovery.Dataset)
	if err != nil || of.State.Dataset == nil {
		return err
	}
	p := pass{Depositor: d, discovery: name, dataset: is.State.Discovery.Dataset, rule: *is.State.Discovery.Deposit, polled: polled}
	p.processed = of.State.Dataset.Rules != nil && of.State.Dataset.Rules.Process != nil
	for after, more := "", true; more; {
		var found []query.UndecidedGroup
		if found, more, err = query.UndecidedGroups(ctx, d.Tables, p.dataset, after); err != nil || len(found) == 0 {
			return err
		}
		after = found[len(found)-1].GroupName
		if err := p.page(ctx, found); err != nil {
			return err
		}
	}
	return nil
}

// pass is one look at the groups of a dataset.
type pass struct {
	*Depositor
	discovery, dataset string
	rule               setting.GroupDeposit
	polled             []string // discoveries of the dataset
	processed          bool     // workers process its files before
}

const (
	waitsForPoll   = "its directory is being read, or could not be read as a whole"
	waitsForTables = "the tables are behind the log"
)

// filesAtOnce is how many files of groups are read at once, and those of one group more.
const filesAtOnce = 2 * setting.MaxGroupFiles

// page decides about some groups. How often it asks the servers does not depend on how many
// groups wait: what the tables have of all of them is read at once, and the log is only asked
// about a group that is complete by that.
func (p *pass) page(ctx context.Context, all []query.UndecidedGroup) error {
	begun, whole, err := query.DirectoriesRead(ctx, p.Tables, p.polled)
	if err != nil {
		return err
	}
	var waits []record.GroupWait
	wait := func(g query.UndecidedGroup, why string) {
		waits = append(waits, record.GroupWait{Group: g.GroupName, Waits: why})
	}
	var settled []query.UndecidedGroup
	for _, g := range all {
		switch {
		case g.Moving > 0:
			wait(g, fmt.Sprintf("%d of its files are under way, such as %s", g.Moving, g.Path))
		case !whole:
			wait(g, waitsForPoll)
		case g.Files > setting.MaxGroupFiles:
			wait(g, fmt.Sprintf("it has %d files, and a deposit has at most %d", g.Files, setting.MaxGroupFiles))
		default:
			settled = append(settled, g)
		}
	}
	for len(settled) > 0 {
		n, files := 0, int64(0)
		for n < len(settled) && files < filesAtOnce {
			files += settled[n].Files
			n++
		}
		why, err := p.decideAll(ctx, settled[:n], begun)
		if err != nil {
			return err
		}
		for i, g := range settled[:n] {
			if why[i] != "" {
				wait(g, why[i])
			}
		}
		settled = settled[n:]
	}
	return p.Records.KeepGroupWaits(ctx, p.dataset, p.discovery, waits)
}

// decideAll decides about groups no file of which is under way, and returns what each waits for; "" =
// for nothing. The last poll of their directories began at a time.
func (p *pass) decideAll(ctx context.Context, all []query.UndecidedGroup, begun time.Time) (waits []string, err error) {
	names := make([]string, len(all))
	for i, g := range all {
		names[i] = g.GroupName
	}
	found, err := query.GroupFiles(ctx, p.Tables, p.dataset, names, p.polled, begun)
	if err != nil {
		return nil, err
	}
	of := map[string][]query.GroupFile{}
	for _, f := range found {
		of[f.GroupName] = append(of[f.GroupName], f)
	}
	waits = make([]string, len(all))
	for i, g := range all {
		if waits[i], err = p.decide(ctx, g, of[g.GroupName]); err != nil {
			return nil, err
		}
	}
	return waits, nil
}

// decide keeps that a group is complete, or returns what it waits for; "" = for nothing.
func (p *pass) decide(ctx context.Context, g query.UndecidedGroup, found []query.GroupFile) (waits string, err error) {
	if len(found) == 0 {
		return "", nil
	}
	if !found[0].Whole {
		return waitsForPoll, nil
	}
	facts := p.facts(domain.SlotState(g.Slot), found)
	made := group.Decide(p.rule, facts)
	if made.Cause == "" {
		return made.Waits, nil
	}
	same, err := p.sameInLog(ctx, &facts, g.GroupName, found)
	if err != nil {
		return "", err
	}
	if !same {
		return waitsForTables, nil
	}
	if made = group.Decide(p.rule, facts); made.Cause == "" {
		return made.Waits, nil
	}
	deposit := record.GroupDeposit{Dataset: p.dataset, Group: g.GroupName, Discovery: p.discovery, Cause: made.Cause, Profile: p.rule.Profile, Submitter: p.rule.Submitter, Type: domain.TypeObjectManifest}
	if p.rule.Each {
		deposit.Type = domain.TypeFileBatchManifest
	}
	text, err := manifestOf(p.rule.Each, found, made.Parts)
	if err != nil {
		return "no manifest can be made of its files: " + err.Error(), nil //nolint:nilerr // the group waits, and says why
	}
	deposit.Manifest = string(text)
	rows := make([]record.GroupFile, len(found))
	for i, f := range found {
		rows[i] = record.GroupFile{Hash: domain.FileHash(f.RawFileHash), Path: f.Path, Part: made.Parts[i]}
	}
	p.Log.Info("a group is complete", "dataset", p.dataset, "group", g.GroupName, "cause", made.Cause, "files", len(found))
	return "", p.Records.DecideGroup(ctx, deposit, rows)
}

// facts returns what the tables have of a group.
func (p *pass) facts(slot domain.SlotState, found []query.GroupFile) group.Facts {
	f := group.Facts{Slot: slot, Processed: p.processed, Quiet: time.Duration(1<<63 - 1)}
	for _, file := range found {
		f.Files = append(f.Files, group.File{Path: file.Path, State: domain.FileState(file.Status), Gone: file.Gone, Changed: file.Changed, Replaced: file.Replaced})
		f.Quiet = min(f.Quiet, time.Duration(file.QuietSeconds*float64(time.Second)))
	}
	return f
}

// sameInLog reports whether the log has the files of a group as the tables have them, and takes
// the state of its slot from the log.
func (p *pass) sameInLog(ctx context.Context, f *group.Facts, name string, found []query.GroupFile) (bool, error) {
	hashes := make([]domain.FileHash, len(found))
	for i, file := range found {
		hashes[i] = domain.FileHash(file.RawFileHash)
	}
	in, err := p.Files.FromLog(ctx, hashes)
	if err != nil {
		return false, err
	}
	for i, file := range found {
		if in[hashes[i]].Version != file.Version {
			return false, nil
		}
	}
	id := slot.NewID(p.dataset, name)
	slots, err := p.Files.Slots().States(ctx, []slot.ID{id})
	f.Slot = slots[id].State
	return true, err
}

// manifestOf returns the manifest of the files that are deposited. A process that makes it again
// from the same files makes the same.
func manifestOf(each bool, found []query.GroupFile, parts []group.Part) ([]byte, error) {
	profile := manifest.MrtIngest
	if each {
		profile = manifest.MrtSingleFileBatch
	}
	m := &manifest.Manifest{Version: "0.7", Profile: profile, Fields: profile.Fields(), Prefixes: []manifest.Prefix{
		{Name: "mrt:", URI: "http://merritt.cdlib.org/terms#"}, {Name: "nfo:", URI: "http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#"}}}
	for i, f := range found {
		if parts[i] == group.Deposited {
			m.Rows = append(m.Rows, manifest.Row{FileURL: f.Url, HashAlgorithm: manifest.SHA256, HashValue: f.Sha256, Size: f.Size, FileName: manifest.NormalName(f.Path)})
		}
	}
	return m.Format()
}

// open brings groups that were found complete to their end.
func (d *Depositor) open(ctx context.Context) error {
	groups, err := d.Records.OpenGroups(ctx, atOnce)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.Batch == "" {
			if g.Batch, err = d.deposit(ctx, g); err != nil {
				return err
			}
		}
		if g.Batch == "" {
			continue
		}
		if err := d.process(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// Key returns the idempotency key under which a group of a dataset is deposited.
func Key(dataset, name string) string { return "group:" + string(slot.NewID(dataset, name)) }

// deposit makes the batch of a group and keeps which it is; "" = it is refused now, which is
// kept. The error is one that may go away.
func (d *Depositor) deposit(ctx context.Context, g record.GroupDeposit) (domain.BatchID, error) {
	dir, err := os.MkdirTemp("", "accession-group-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is removed with the temporary directory
	file := filepath.Join(dir, "group.checkm")
	if err := crash.Around("groups/manifest/write", func() error { return os.WriteFile(file, []byte(g.Manifest), 0o600) }); err != nil {
		return "", err
	}
	got, err := d.App.Submit(ctx, app.Deposit{Profile: g.Profile, Submitter: g.Submitter, Payload: file, Type: g.Type, Key: Key(g.Dataset, g.Group),
		Title: g.Dataset + " " + g.Group, Slot: string(slot.NewID(g.Dataset, g.Group)), Received: g.Decided})
	if fault, known := errors.AsType[*app.Error](err); known && fault.Kind != app.Unavailable {
		d.Log.Warn("no batch can be made of a group; it is tried again", "dataset", g.Dataset, "group", g.Group, "error", err)
		return "", d.Records.GroupRefused(ctx, g.Dataset, g.Group, err.Error())
	}
	if err != nil {
		return "", fmt.Errorf("deposit the group %s of the dataset %s: %w", g.Group, g.Dataset, err)
	}
	d.Log.Info("a group was deposited", "dataset", g.Dataset, "group", g.Group, "batch", got.Batch)
	return got.Batch, d.Records.GroupBatched(ctx, g.Dataset, g.Group, got.Batch)
}

// process ends the files of a group whose batch is made, and the group when none is left. Files
// that workers have processed are at their end.
func (d *Depositor) process(ctx context.Context, g record.GroupDeposit) error {
	hashes, err := d.Records.GroupFiles(ctx, g.Dataset, g.Group)
	if err != nil {
		return err
	}
	open := false
	for some := range slices.Chunk(hashes, files.MaxEvents/2) {
		left, err := d.some(ctx, g, some)
		if err != nil {
			return err
		}
		open = open || left
	}
	if open {
		return nil
	}
	return d.Records.GroupEnded(ctx, g.Dataset, g.Group)
}

// some processes some files of a group, and reports whether one of them has to be looked at again.
func (d *Depositor) some(ctx context.Context, g record.GroupDeposit, hashes []domain.FileHash) (open bool, err error) {
	for _, step := range []struct {
		from domain.FileState
		cmd  func(domain.File) domain.FileCommand
	}{
		{domain.FileReady, func(domain.File) domain.FileCommand { return domain.StartProcessing{Worker: Name} }},
		{domain.FileProcessing, func(f domain.File) domain.FileCommand {
			return domain.FinishProcessing{Fence: f.Fence, Output: &domain.FileOutput{Key: string(g.Batch), SHA256: f.SHA256, Size: f.Size}}
		}},
	} {
		is, err := d.Files.FromLog(ctx, hashes)
		if err != nil {
			return false, err
		}
		var asks []files.Request
		for _, h := range hashes {
			if f := is[h]; f.State == step.from && (f.State == domain.FileReady || f.Worker == Name) {
				asks = append(asks, files.Request{Hash: h, Command: step.cmd(f)})
			}
		}
		if len(asks) == 0 {
			continue
		}
		if err := crash.Around("groups/files/process", func() error {
			_, err := d.Files.All(ctx, asks, eventstore.Meta{Actor: domain.DaemonActor(Name), TraceParent: eventstore.NewTrace().Parent()})
			return err
		}); err != nil {
			return false, err
		}
	}
	is, err := d.Files.FromLog(ctx, hashes)
	for _, f := range is {
		open = open || f.State == domain.FileReady || f.State == domain.FileProcessing || f.State == domain.FileProcessingFailed
	}
	return open, err
}
