package audit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// History is what the log says about stored versions, idempotency keys, and profiles that are
// set.
type History struct {
	jobs  map[domain.JobID]*version
	names map[string]string // of profiles and submitters, each once
	keys  map[ofKey]record.Command
	// queries are the keys of queries, set what profiles are set to.
	queries map[ofKey]record.QueryCommand
	set     map[string]domain.Profile
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{jobs: map[domain.JobID]*version{}, names: map[string]string{}, keys: map[ofKey]record.Command{}, queries: map[ofKey]record.QueryCommand{}, set: map[string]domain.Profile{}}
}

// version is a version of an object that a job has stored; before that it has no object.
type version struct {
	record.Stored
	batch              domain.BatchID
	profile, submitter string
	digest             string // SHA-256 of the storage manifest
	key                string // of the storage manifest, "" = that of Accession's own layout
	minted             bool   // its identifier was minted for the job
	recorded           bool   // the inventory has it
	highest            bool   // of the recorded versions of its object
	files              int
	bytes              int64
}

// unsent returns what waits in the outbox of the events that a History observes. They are
// read before the log, because events only move from the one to the other.
func unsent(ctx context.Context, live consistency.State) (all []domain.Recorded, err error) {
	for e, err := range consistency.Unsent(ctx, live) {
		if err != nil {
			return nil, err
		}
		switch e.Type {
		case domain.EventBatchSubmitted, domain.EventQueryReceived, domain.EventJobCreated, domain.EventJobIdentified, domain.EventJobProcessed, domain.EventJobRecorded:
			all = append(all, e)
		}
	}
	return all, nil
}

// late takes events that were unsent before the log was read, which may have them since.
func (h *History) late(all []domain.Recorded) {
	for _, r := range all {
		if r.Type != domain.EventJobCreated || h.jobs[domain.JobID(r.Aggregate.ID)] == nil {
			h.Observe(r)
		}
	}
}

// Observe takes an event. Those of a job must come in their order; one that comes twice
// changes nothing, but for its creation.
func (h *History) Observe(r domain.Recorded) {
	if d, ok := r.Data.(*domain.BatchSubmitted); ok {
		h.keyed(domain.BatchID(r.Aggregate.ID), d.Submission)
	}
	if d, ok := r.Data.(*domain.QueryReceived); ok {
		h.keyedQuery(domain.QueryID(r.Aggregate.ID), d)
	}
	if d, ok := r.Data.(*domain.SettingChanged); ok && d.Kind == domain.SettingProfile {
		h.sets(d)
	}
	if r.Aggregate.Kind != domain.KindJob {
		return
	}
	id := domain.JobID(r.Aggregate.ID)
	switch d := r.Data.(type) {
	case *domain.JobCreated:
		h.jobs[id] = &version{Stored: record.Stored{Job: id}, batch: r.BatchID,
			profile: h.once(d.Configuration.ProfileName), submitter: h.once(d.Configuration.Submitter)}
	case *domain.JobIdentified:
		if v := h.jobs[id]; v != nil {
			v.minted = v.minted || d.Minted
		}
	case *domain.JobProcessed:
		if v := h.jobs[id]; v != nil {
			v.VersionID = record.VersionID{Object: d.Object.Primary, Version: d.Object.Version}
			v.digest, v.files, v.bytes = d.Object.ManifestSHA256, d.Object.Files, d.Object.Bytes
			if strings.HasPrefix(d.Object.ManifestKey, store.OCFLPrefix) {
				v.key = d.Object.ManifestKey
			}
		}
	}
	if v := h.jobs[id]; v != nil && r.Type == domain.EventJobRecorded {
		v.recorded = true
	}
}

// once returns the name, one copy for all that have it.
func (h *History) once(name string) string {
	had, known := h.names[name]
	if !known {
		had = strings.Clone(name)
		h.names[had] = had
	}
	return had
}

// stored returns the versions that were stored, by object and number.
func (h *History) stored() (all []*version) {
	for _, v := range h.jobs {
		if v.Object != "" {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *version) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Version, b.Version))
	})
	object := ""
	for _, v := range slices.Backward(all) {
		if v.recorded && v.Object != object {
			v.highest, object = true, v.Object
		}
	}
	return all
}

// object returns the version as processing has named it.
func (v *version) object() domain.StoredObject {
	return domain.StoredObject{Primary: v.Object, Version: v.Version, ManifestKey: v.manifestKey(), ManifestSHA256: v.digest, Files: v.files, Bytes: v.bytes}
}

func (v *version) manifestKey() string {
	return cmp.Or(v.key, store.ManifestKey(v.Object, v.Version))
}

func (v *version) subject() string { return v.Job.Aggregate().String() }
