package projtest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// The dataset of [Directory], and the directory of its files.
const (
	DirectoryDataset = "nights"
	directoryURL     = "https://data.test/nights/"
)

// directoryFile is a file of an open directory.
type directoryFile struct {
	path, result string
	byVersion    bool
	size         int64 // as listed at its discovery
	commands     []func(domain.File) domain.FileCommand
	// What its directory lists now: the bytes, 0 = nothing of it; whether it has gone since, and
	// whether it has changed.
	listed        int64
	gone, changed bool
}

var directoryLimits = domain.Limits{Max: 1, Timeout: time.Hour}

func directoryFiles() []directoryFile {
	type step = func(domain.File) domain.FileCommand
	begin := func(domain.File) domain.FileCommand {
		return domain.StartDownload{Worker: "w1", Limits: directoryLimits}
	}
	end := func(f domain.File) domain.FileCommand {
		return domain.FinishDownload{Fence: f.Fence, Size: 7, SHA256: strings.Repeat("ab", 32)}
	}
	ready := func(domain.File) domain.FileCommand { return domain.ReadyFile{} }
	held := []step{begin, end, ready}
	processed := slices.Concat(held, []step{func(domain.File) domain.FileCommand { return domain.StartProcessing{Worker: "w2"} },
		func(f domain.File) domain.FileCommand { return domain.FinishProcessing{Fence: f.Fence} }})
	old := domain.Reason{Class: domain.ClassContent, Code: "too_old", Message: "it was modified 9 days ago"}
	return []directoryFile{
		{path: "n1/a.fits", result: "processed", size: 7, commands: processed, listed: 7},
		{path: "n1/b.fits", result: "held", size: 7, commands: held, listed: 7},
		{path: "n1/c.fits", result: "missing", size: 7, listed: 7},
		{path: "n1/d.fits", result: "missing", size: 7, listed: 7, commands: []step{begin, func(f domain.File) domain.FileCommand {
			return domain.FailDownload{Fence: f.Fence, Limits: directoryLimits, Reason: domain.Reason{Class: domain.ClassContent, Code: "http_status", Message: "https://data.test answered 404 Not Found"}}
		}}},
		{path: "n2/e.fits", result: "extra", size: 7, commands: held, listed: 7, gone: true},
		{path: "n2/f.fits", result: "changed", size: 7, commands: processed, listed: 9, changed: true},
		{path: "n2/g.fits", result: "changed", size: 7, commands: held, listed: 7, changed: true},
		{path: "n2/h.fits", result: "skipped", size: 7, listed: 7, commands: []step{begin, end, func(domain.File) domain.FileCommand { return domain.SkipFile{Reason: old} }}},
		{path: "n3/i.fits", result: "gone", size: 7, listed: 7, gone: true},
		{path: "n3/j.fits", result: "replaced", byVersion: true, size: 7, commands: processed},
		{path: "n3/j.fits", result: "missing", byVersion: true, size: 8, listed: 8},
		{path: "n3/k.fits", result: "extra", size: 7, commands: held},
	}
}

func (f directoryFile) spec() domain.FileSpec {
	return domain.FileSpec{Source: directoryURL, Path: f.path, ByVersion: f.byVersion, URL: directoryURL + f.path, Size: f.size, Collection: "maps", Profile: "maps",
		Dataset: DirectoryDataset, Group: f.path[:2], Host: "data.test"}
}

// Directory has the files of an open directory of which each is reconciled differently: do
// gives a command about a file, made of its state.
func Directory(do func(hash domain.FileHash, cmd func(domain.File) domain.FileCommand)) {
	for _, f := range directoryFiles() {
		hash := f.spec().Hash()
		do(hash, func(domain.File) domain.FileCommand { return domain.DiscoverFile{Spec: f.spec()} })
		for _, cmd := range f.commands {
			do(hash, cmd)
		}
	}
}

// Directory adds a dataset and the files of its open directory to the story.
func (s *Story) Directory() {
	s.T.Helper()
	dec, err := domain.DecideSetting(domain.Setting{Kind: domain.SettingDataset, Name: DirectoryDataset},
		domain.SettingValue{Dataset: &domain.Dataset{Collection: "maps", Profile: "maps", ByVersion: true}}, "the survey begins")
	if err != nil {
		s.T.Fatal(err)
	}
	s.record(dec.Events, "")
	Directory(func(hash domain.FileHash, cmd func(domain.File) domain.FileCommand) { s.File(hash, cmd(s.Files[hash])) })
}

// Listings keeps what the directory lists of the files of [Directory] at a time, and returns
// the result of each by its path, those of one path in the order of their discovery.
func Listings(t testing.TB, db query.DB, at time.Time) map[string][]string {
	t.Helper()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Exec(context.Background(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("insert into record.discovery (name, url, next_at, outcome) values ('nights', $1, $2, 'complete')", directoryURL, at)
	exec("insert into record.group_deposit (dataset, group_name, discovery, waits, waits_at) values ('nights', 'n2', 'nights', 'no file *.done is listed', $1)", at)
	results := map[string][]string{}
	for _, f := range directoryFiles() {
		results[f.path] = append(results[f.path], f.result)
		if f.listed == 0 {
			continue
		}
		var gone, changed *time.Time
		if f.gone {
			gone = &at
		}
		if f.changed {
			changed = &at
		}
		exec("insert into record.directory_listing values ('nights', $1, $2, $3, $4, null, $5, $5, $6, $7)", f.path, string(f.spec().Hash()), directoryURL+f.path, f.listed, at, changed, gone)
	}
	return results
}
