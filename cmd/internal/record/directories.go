package record

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// The outcomes of a poll of an open directory.
const (
	PollComplete  = "complete"  // it was read as a whole
	PollUnchanged = "unchanged" // its server says so
	PollFailed    = "failed"    // nothing of it counts
	PollPostponed = "postponed" // its server asks to wait, or others use it
)

// Poll is the last poll of an open directory. The numbers are of the last that was complete.
type Poll struct {
	Begun, Ended, Complete time.Time // zero = never
	Next                   time.Time
	Outcome, Error         string

	Directories, Files, Fresh, Known, Changed, Gone int64
	// OutBy counts what was left out, by pattern, age, size and link.
	OutBy map[string]int64

	Version int64 // of the discovery's setting
	URL     string
	// ETag and Modified are those of the listing, "" and zero = it is asked for as a whole.
	ETag     string
	Modified time.Time

	// Host is the server whose pause the end of the poll changes, "" = none: it has asked to be
	// left alone for HostPause, or, 0, answers again.
	Host      string
	HostPause time.Duration
}

func pollOf(d pgdb.RecordDiscovery) Poll {
	return Poll{Begun: orZero(d.BegunAt), Ended: orZero(d.EndedAt), Complete: orZero(d.CompleteAt), Next: d.NextAt.UTC(), Outcome: d.Outcome, Error: d.Error,
		Directories: d.Directories, Files: d.Files, Fresh: d.Fresh, Known: d.Known, Changed: d.Changed, Gone: d.Gone,
		OutBy:   map[string]int64{"pattern": d.OutByPattern, "age": d.OutByAge, "size": d.OutBySize, "link": d.OutByLink},
		Version: d.Version, URL: d.Url, ETag: d.Etag, Modified: orZero(d.Modified)}
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// LeadDiscovery makes this process the only one that polls open directories, until release is
// called; false when another one is.
func (r *Records) LeadDiscovery(ctx context.Context) (release func(), leads bool, err error) {
	return r.leads.take(ctx, "accession discover")
}

// DuePolls returns which of some discoveries are to be polled now, given the versions of their
// settings: those whose time has come, and those that are new or were changed. The value says
// whether an operator has asked for the poll.
func (r *Records) DuePolls(ctx context.Context, versions map[string]int64) (due map[string]bool, err error) {
	rows, err := r.q.DiscoveryTimes(ctx)
	due = map[string]bool{}
	for name := range versions {
		due[name] = false
	}
	for _, row := range rows {
		switch version, set := versions[row.Name]; {
		case !set:
		case version == row.Version && !row.Due:
			delete(due, row.Name)
		default:
			due[row.Name] = row.Asked
		}
	}
	return due, wrap(err, "find which directories are due of", "all")
}

// BeginPoll notes that a poll begins, and returns what is known of the one before. Begun is now.
func (r *Records) BeginPoll(ctx context.Context, name string) (Poll, error) {
	row, err := change("poll/begin", func() (pgdb.RecordDiscovery, error) { return r.q.BeginPoll(ctx, name) })
	return pollOf(row), wrap(err, "begin the poll", name)
}

// EndPoll notes how a poll ended. The next one comes after the pause, or at once if it was asked
// for meanwhile.
func (r *Records) EndPoll(ctx context.Context, name string, p Poll, pause time.Duration) error {
	var err error
	switch p.Outcome {
	case PollComplete:
		_, err = change("poll/complete", func() (none struct{}, err error) {
			return none, r.q.CompletePoll(ctx, pgdb.CompletePollParams{Name: name, Version: p.Version, Url: p.URL, Seconds: pause.Seconds(),
				Directories: p.Directories, Files: p.Files, Fresh: p.Fresh, Known: p.Known, Changed: p.Changed, Gone: p.Gone,
				OutByPattern: p.OutBy["pattern"], OutByAge: p.OutBy["age"], OutBySize: p.OutBy["size"], OutByLink: p.OutBy["link"],
				Etag: p.ETag, Modified: orNull(p.Modified), Host: p.Host})
		})
	case PollUnchanged:
		_, err = change("poll/unchanged", func() (none struct{}, err error) {
			return none, r.q.UnchangedPoll(ctx, pgdb.UnchangedPollParams{Name: name, Seconds: pause.Seconds(), Host: p.Host})
		})
	default:
		_, err = change("poll/postpone", func() (none struct{}, err error) {
			return none, r.q.PostponePoll(ctx, pgdb.PostponePollParams{Name: name, Version: p.Version, Url: p.URL, Outcome: p.Outcome, Error: p.Error, Seconds: pause.Seconds(),
				Host: p.Host, HostSeconds: p.HostPause.Seconds()})
		})
	}
	return wrap(err, "end the poll", name)
}

// AskPoll has a directory polled now.
func (r *Records) AskPoll(ctx context.Context, name string) error {
	_, err := change("poll/ask", func() (struct{}, error) { return struct{}{}, r.q.AskPoll(ctx, name) })
	return wrap(err, "ask for the poll", name)
}

// Polled is the last poll of a directory, and how many files are kept of it.
type Polled struct {
	Poll
	Listed  int64 // that are listed now
	Gone    int64 // that are listed no more
	Altered int64 // that have changed at their source
}

// LastPoll returns the last poll of a directory, nil = there was none.
func (r *Records) LastPoll(ctx context.Context, name string) (*Polled, error) {
	d, err := r.q.Discovery(ctx, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // as documented
	}
	p := Polled{Listed: d.Listed, Gone: d.Vanished, Altered: d.Altered,
		Poll: pollOf(pgdb.RecordDiscovery{Name: d.Name, Version: d.Version, Url: d.Url, NextAt: d.NextAt, BegunAt: d.BegunAt, EndedAt: d.EndedAt, CompleteAt: d.CompleteAt,
			Outcome: d.Outcome, Error: d.Error, Directories: d.Directories, Files: d.Files, Fresh: d.Fresh, Known: d.Known, Changed: d.Changed, Gone: d.Gone,
			OutByPattern: d.OutByPattern, OutByAge: d.OutByAge, OutBySize: d.OutBySize, OutByLink: d.OutByLink, Etag: d.Etag, Modified: d.Modified})}
	return &p, wrap(err, "read the last poll", name)
}

// Listed is a file as an open directory lists it.
type Listed struct {
	Path     string          `json:"path"`
	Hash     domain.FileHash `json:"raw_file_hash"`
	URL      string          `json:"url"`
	Size     *int64          `json:"size"` // bytes, nil = not said
	Modified *time.Time      `json:"modified"`
}

// KnownListed returns as which file each of some paths of a discovery is known.
func (r *Records) KnownListed(ctx context.Context, discovery string, paths []string) (map[string]domain.FileHash, error) {
	rows, err := r.q.ListedPaths(ctx, pgdb.ListedPathsParams{Discovery: discovery, Paths: paths})
	known := make(map[string]domain.FileHash, len(rows))
	for _, row := range rows {
		known[row.Path] = domain.FileHash(row.RawFileHash)
	}
	return known, wrap(err, "read what was listed of", discovery)
}

// KeepListed keeps what a poll lists of some files that are known, and returns how many have
// changed.
func (r *Records) KeepListed(ctx context.Context, discovery string, begun time.Time, all []Listed) (changed int64, err error) {
	rows, err := json.Marshal(all)
	if err != nil {
		return 0, wrap(err, "keep what was listed of", discovery)
	}
	is, err := change("listing/keep", func() ([]bool, error) {
		return r.q.KeepListed(ctx, pgdb.KeepListedParams{Discovery: discovery, BegunAt: begun, Rows: rows})
	})
	for _, one := range is {
		if one {
			changed++
		}
	}
	return changed, wrap(err, "keep what was listed of", discovery)
}

// NoteGone notes which files a complete poll has not listed, and returns how many that are.
func (r *Records) NoteGone(ctx context.Context, discovery string, begun time.Time) (int64, error) {
	n, err := change("listing/gone", func() (int64, error) {
		return r.q.NoteGone(ctx, pgdb.NoteGoneParams{Discovery: discovery, BegunAt: begun})
	})
	return n, wrap(err, "note what has gone of", discovery)
}
