package zklive

import (
	"bytes"
	"sort"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// image is a part of the tree: persistent nodes and their data. It is a pure
// function of a state, so that a transition's effect on the tree is the
// difference of two images, and a damaged or lost tree can be drawn again.
type image map[string][]byte

// jobImage gives the nodes of a job, its queue entry, its batch's reference and the
// working space promised to it.
// The claims node is left out: it counts and belongs to no state.
func (p paths) jobImage(j domain.Job) image {
	if j.State == domain.JobNone || j.State == domain.JobDeleted {
		return image{}
	}
	dir := p.job(j.ID)
	img := image{
		dir:                    {},
		dir + "/configuration": encode(j.Configuration),
		dir + "/identifiers":   encode(j.Identifiers),
		dir + "/metadata":      encode(j.Metadata),
		dir + "/status":        encode(jobStatusOf(j)),
		dir + "/priority":      encode(j.Priority),
		dir + "/space_needed":  encode(j.SpaceNeeded),
	}
	if j.Promised() {
		img[p.promise(j.ID)] = encode(j.SpaceNeeded)
	}
	for _, node := range []string{p.queued(j), p.referred(j)} {
		if node != "" {
			img[node] = []byte{}
		}
	}
	return img
}

// queued gives a job's queue entry, "" = it has none.
func (p paths) queued(j domain.Job) string {
	if entry := j.QueueEntry(); entry != "" {
		return string(p) + "/jobs/states/" + string(j.State) + "/" + entry
	}
	return ""
}

// referred gives the reference of a job's batch, "" = there is none.
func (p paths) referred(j domain.Job) string {
	if sub := j.State.Sub(); sub != domain.SubNone {
		return p.ref(j.Configuration.BatchID, sub, j.ID)
	}
	return ""
}

// batchImage gives the nodes of a batch without its references to jobs. A
// deleted batch keeps its nodes until they are removed in bounded steps.
func (p paths) batchImage(b domain.Batch) image {
	if b.State == domain.BatchNone {
		return image{}
	}
	dir := p.batch(b.ID)
	img := image{
		dir:                 {},
		dir + "/submission": encode(b.Submission),
		dir + "/status":     encode(batchStatusOf(b)),
	}
	if b.Listing != nil {
		img[p.progress(b.ID)] = encode(progress{Listing: *b.Listing, NextRow: b.NextRow})
	}
	if b.Report != nil {
		img[p.statusReport(b.ID)] = encode(b.Report)
	}
	if b.NextRow > 0 || hasStates(b.State) {
		img.add(p.statesImage(b.ID))
	}
	return img
}

// statesImage gives the directories that come with a batch's first job, or with
// its start when it has none.
func (p paths) statesImage(id domain.BatchID) image {
	img := image{p.states(id): {}}
	for _, s := range domain.Subs {
		img[p.sub(id, s)] = []byte{}
	}
	return img
}

func hasStates(s domain.BatchState) bool {
	switch s {
	case domain.BatchProcessing, domain.BatchReporting, domain.BatchCompleted, domain.BatchFailed, domain.BatchUpdateReporting:
		return true
	}
	return false
}

func (img image) add(other image) {
	for path, data := range other {
		img[path] = data
	}
}

// difference is what leads from one image to another. Creates stand parents
// first, deletes children first.
type difference struct {
	create, set, del []string
}

func diff(before, after image) difference {
	var d difference
	for path, data := range after {
		old, there := before[path]
		switch {
		case !there:
			d.create = append(d.create, path)
		case !bytes.Equal(old, data):
			d.set = append(d.set, path)
		}
	}
	for path := range before {
		if _, there := after[path]; !there {
			d.del = append(d.del, path)
		}
	}
	depth := func(s string) int { return strings.Count(s, "/") }
	sort.Slice(d.create, func(i, k int) bool {
		a, b := d.create[i], d.create[k]
		return depth(a) < depth(b) || depth(a) == depth(b) && a < b
	})
	sort.Strings(d.set)
	sort.Slice(d.del, func(i, k int) bool {
		a, b := d.del[i], d.del[k]
		return depth(a) > depth(b) || depth(a) == depth(b) && a < b
	})
	return d
}
