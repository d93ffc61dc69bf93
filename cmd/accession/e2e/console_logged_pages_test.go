package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// lastingBatch is a batch as it was.
type lastingBatch struct {
	id                           string
	submission                   domain.Submission
	move                         domain.BatchMove
	kind                         domain.SubmissionType
	reason                       *domain.Reason
	submitted, started, reported time.Time
	listed                       *int64
	life, walk, reports          []string
}

// batchOf returns a batch as its events say, as of a moment.
func batchOf(events []domain.Recorded, now time.Time) *lastingBatch {
	b := &lastingBatch{id: events[0].Aggregate.ID}
	var since time.Time
	for _, r := range events {
		m, _ := domain.MoveOfBatch(r.Data)
		b.move = m
		switch d := r.Data.(type) {
		case *domain.BatchSubmitted:
			b.submission, b.kind, b.submitted = d.Submission, d.Submission.Type, r.Time.Time
		case *domain.BatchListed:
			b.listed, b.kind = new(int64(d.Listing.Rows)), cmp.Or(d.Listing.Type, b.kind)
		case *domain.BatchReport:
			b.reported = r.Time.Time
			kind := "first"
			if m.From == domain.BatchUpdateReporting {
				kind = "update"
			}
			b.reports = append(b.reports, cells(len(b.reports)+1, kind, spaced(m.To), d.Report.Successful, d.Report.Failed, len(d.Report.NewlySuccessfulJobs), moment(r.Time.Time)))
		}
		if r.Type == domain.EventBatchStarted {
			b.started = r.Time.Time
			if b.listed == nil {
				b.listed = new(int64) // its manifest is invalid: there is nothing to list
			}
		}
		if !slices.Contains([]domain.EventType{domain.EventBatchReported, domain.EventBatchUpdateRequested, domain.EventBatchRepaired, domain.EventBatchFreed}, r.Type) {
			b.reason = m.Reason
		}
		b.life = append(b.life, cells(moment(r.Stored), strings.NewReplacer(".", " ", "_", " ").Replace(string(r.Type)), spaced(m.From), spaced(m.To), r.Actor, why(m.Reason), r.Seq))
		if m.From == m.To {
			continue
		}
		if m.From != "" {
			b.walk = append(b.walk, spaced(m.From)+"|"+span(r.Stored.Sub(since).Seconds()))
		}
		since = r.Stored
	}
	if s := b.move.To; s != domain.BatchCompleted && s != domain.BatchFailed && s != domain.BatchDeleted {
		b.walk = append(b.walk, spaced(s)+"|"+span(now.Sub(since).Seconds()))
	}
	return b
}

// sum counts the jobs of a batch: also those that its manifest lists and that are not made yet.
func (b *lastingBatch) sum(jobs []*lastingJob) summed {
	unmade := 0
	if b.listed != nil {
		unmade = max(int(*b.listed)-len(jobs), 0)
	}
	return sumOfJobs(jobs, unmade)
}

// filled are facts that have a value.
func filled(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all[pairs[i]] = pairs[i+1]
		}
	}
	return all
}

// withRows are the tables that have rows.
func withRows(named map[string][]string) map[string][]string {
	maps.DeleteFunc(named, func(_ string, rows []string) bool { return len(rows) == 0 })
	return named
}

// overview is what the overview says of what a submitter has deposited, "" = of all.
func (l logged) overview(submitter string) looked {
	jobs := l.jobs(func(j *lastingJob) bool { return submitter == "" || j.made.Configuration.Submitter == submitter })
	ofJob := map[domain.JobID]bool{}
	var failures []failedOnce
	type group struct {
		jobs, files, bytes int64
		since              time.Time
	}
	groups := map[[2]string]*group{}
	for _, j := range jobs {
		ofJob[domain.JobID(j.id)] = true
		failures = append(failures, j.failures...)
		key := [2]string{j.collection, string(j.move.To)}
		if groups[key] == nil {
			groups[key] = &group{since: j.since}
		}
		g := groups[key]
		g.jobs++
		if j.files != nil {
			g.files, g.bytes = g.files+*j.files, g.bytes+*j.bytes
		}
		if j.since.Before(g.since) {
			g.since = j.since
		}
	}
	for _, f := range l.files(func(f *lastingFile) bool { return ofJob[f.found.JobID] }) {
		failures = append(failures, f.failures...)
	}
	order := append(slices.Clone(domain.JobStates), domain.JobDeleted) // that of its ways
	states := map[string][]string{}
	for _, key := range slices.SortedFunc(maps.Keys(groups), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(slices.Index(order, domain.JobState(a[1])), slices.Index(order, domain.JobState(b[1]))))
	}) {
		g := groups[key]
		states["Jobs by collection and state"] = append(states["Jobs by collection and state"], cells(key[0], spaced(key[1]), g.jobs, g.files, sized(g.bytes), moment(g.since)))
	}
	states["Failed attempts by reason"] = reasonsOf(failures)
	states["Batches by depositor"] = l.submitters(submitter)
	sum := sumOfJobs(jobs, 0)
	return looked{Parts: [][]string{sum.legend()}, Sums: []string{sum.said()}, Tables: withRows(states)}
}

// reasonsOf are the rows of failed attempts by reason, the most frequent first.
func reasonsOf(failures []failedOnce) (rows []string) {
	type key struct {
		kind, in    string
		class, code string
	}
	of := map[key][]failedOnce{}
	for _, f := range failures {
		k := key{f.kind, f.in, string(f.reason.Class), string(f.reason.Code)}
		of[k] = append(of[k], f)
	}
	keys := slices.SortedFunc(maps.Keys(of), func(a, b key) int {
		return cmp.Or(cmp.Compare(len(of[b]), len(of[a])), cmp.Compare(a.kind, b.kind), cmp.Compare(a.in, b.in), cmp.Compare(a.code, b.code))
	})
	for _, k := range keys {
		unresolved := 0
		slices.SortFunc(of[k], func(a, b failedOnce) int { // the last first; of several at once that of the first job
			return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.job, b.job), cmp.Compare(a.of, b.of), cmp.Compare(a.number, b.number))
		})
		for _, f := range of[k] {
			if f.unresolved() {
				unresolved++
			}
		}
		last := of[k][0]
		rows = append(rows, cells(why(&domain.Reason{Class: last.reason.Class, Code: last.reason.Code, Message: last.reason.Message}), k.kind, spaced(k.in), len(of[k]), unresolved, moment(last.at)))
	}
	return rows
}

// submitters are the rows of those who have deposited, or of one of them.
func (l logged) submitters(only string) (rows []string) {
	batches := map[string][]*lastingBatch{}
	for _, events := range l.of[domain.KindBatch] {
		if b := batchOf(events, l.last.Stored); only == "" || b.submission.Submitter == only {
			batches[b.submission.Submitter] = append(batches[b.submission.Submitter], b)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(batches)) {
		all, completed, failed := summed{}, 0, 0
		for _, b := range batches[name] {
			switch b.move.To {
			case domain.BatchCompleted:
				completed++
			case domain.BatchFailed:
				failed++
			}
			sum := b.sum(l.jobs(func(j *lastingJob) bool { return string(j.made.Configuration.BatchID) == b.id }))
			for i, n := range all.n {
				sum.n[i] += n
			}
			all = sum
		}
		rows = append(rows, cells(name, len(batches[name]), completed, failed, all.said()))
	}
	return rows
}

// rowsOfFiles are the rows of files on the page of their job.
func rowsOfFiles(files []*lastingFile) (rows []string) {
	for _, f := range files {
		rows = append(rows, cells(short(f.found.Path), spaced(f.move.To), moment(f.since), sized(f.size()), f.move.DownloadAttempts, f.move.ProcessingAttempts, moment(f.foundAt), why(f.move.Reason)))
	}
	return rows
}

// batch is what the page of a batch says, if there was one.
func (l logged) batch(id string) (w looked, was bool) {
	if len(l.of[domain.KindBatch][id]) == 0 {
		return w, false
	}
	const most = 50
	b := batchOf(l.of[domain.KindBatch][id], l.last.Stored)
	jobs := l.jobs(func(j *lastingJob) bool { return string(j.made.Configuration.BatchID) == id })
	files := l.files(func(f *lastingFile) bool { return string(f.found.BatchID) == id })
	deleted := map[domain.JobID]bool{}
	var failures, rows []string
	for _, j := range jobs {
		deleted[domain.JobID(j.id)] = j.move.To == domain.JobDeleted
		for _, f := range j.failures {
			failures = append(failures, f.row())
		}
		m := j.made
		rows = append(rows, cells(j.id, spaced(j.move.To), moment(j.since), short(cmp.Or(m.Metadata.ErcWhat, m.Configuration.FileName)), short(j.primary), j.files, sizedOr(j.bytes), j.move.RetryCount, why(j.reason)))
	}
	var there, bytes int64
	for _, f := range files {
		if bytes += f.move.Size; f.sha256 != "" {
			there += f.move.Size
		}
	}
	w.State, w.Why = spaced(b.move.To), wholly(b.reason)
	if b.listed != nil {
		sum := b.sum(jobs)
		w.Parts, w.Sums = append(w.Parts, sum.legend()), append(w.Sums, sum.said())
	}
	if len(files) > 0 {
		sum := sumOfFiles(files, deleted)
		w.Parts, w.Sums = append(w.Parts, sum.legend()), append(w.Sums, sum.said())
	}
	if bytes > 0 {
		w.Parts = append(w.Parts, []string{"downloaded|" + sized(there), "to come|" + sized(bytes-there)})
		var said []string
		for i, n := range []int64{there, bytes - there} {
			if n > 0 {
				said = append(said, sized(n)+[]string{" downloaded", " to come"}[i])
			}
		}
		w.Sums = append(w.Sums, "bytes: "+strings.Join(said, ", "))
	}
	w.Parts, w.Sums = append(w.Parts, b.walk), append(w.Sums, saidOf(b.walk))
	if n := len(failures); n > most {
		w.Notes = append(w.Notes, fmt.Sprintf("These are the first of %d, in the order of their jobs.", n))
	}
	if n := len(rows); n > most {
		w.Notes = append(w.Notes, fmt.Sprintf("These are the first of %d.", n))
	}
	w.Tables = withRows(map[string][]string{"Failed attempts": failures[:min(len(failures), most)], "Jobs": rows[:min(len(rows), most)], "Life": b.life, "Reports": b.reports})
	s, until := b.submission, ""
	if !b.reported.IsZero() {
		until = span(b.reported.Sub(b.submitted).Seconds())
	}
	w.Facts = filled("Batch", id, "Depositor", s.Submitter, "Profile", s.ProfileName, "Type", string(b.kind), "File", s.FileName, "Files", fmt.Sprint(len(files)), "Size", sized(bytes), "Downloaded", sized(there),
		"Submitted", moment(b.submitted), "Begun", moment(b.started), "Reported", moment(b.reported), "Until the report", until)
	return w, true
}

// job is what the page of a job says, if there was one.
func (l logged) job(id string) (w looked, was bool) {
	if len(l.of[domain.KindJob][id]) == 0 {
		return w, false
	}
	const most = 20
	j := jobOf(l.of[domain.KindJob][id], l.last.Stored)
	files := l.files(func(f *lastingFile) bool { return string(f.found.JobID) == id })
	w.State, w.Since, w.Why = spaced(j.move.To), moment(j.since), wholly(j.reason)
	w.Parts, w.Sums = [][]string{j.walk}, []string{saidOf(j.walk)}
	if len(files) > 0 {
		w.Sums = append(w.Sums, sumOfFiles(files, map[domain.JobID]bool{domain.JobID(id): j.move.To == domain.JobDeleted}).said())
	}
	var failures []string
	for _, f := range j.failures {
		failures = append(failures, f.row())
	}
	w.Tables = withRows(map[string][]string{"States": j.states, "Files": rowsOfFiles(files[:min(len(files), most)]), "Failed attempts": failures})
	completed := ""
	if j.completed != nil {
		completed = moment(*j.completed)
	}
	f := j.made.Configuration
	w.Facts = filled("Job", id, "Batch", string(f.BatchID), "Collection", j.collection, "Profile", f.ProfileName, "Depositor", f.Submitter, "File", f.FileName, "Payload", f.PayloadURL, "Type", string(f.PayloadType), "Identifier", j.primary,
		"Priority", fmt.Sprint(j.move.Priority), "Requeued", fmt.Sprint(j.move.RetryCount), "Created", moment(j.madeAt), "Completed", completed, "Version of the object", cells(j.version))
	return w, true
}

// file is what the page of a file says, if there was one.
func (l logged) file(id string) (w looked, was bool) {
	if len(l.of[domain.KindFile][id]) == 0 {
		return w, false
	}
	f := l.fileOf(id)
	w.State, w.Since, w.Why = spaced(f.move.To), moment(f.since), wholly(f.move.Reason)
	var failures []string
	for _, failed := range f.failures {
		failures = append(failures, failed.row())
	}
	w.Tables = withRows(map[string][]string{"Life": f.life, "Failed attempts": failures})
	s, digest, submitter := f.found, "", ""
	if s.DigestValue != "" {
		digest = s.DigestAlgorithm + ":" + s.DigestValue
	}
	if events := l.of[domain.KindJob][string(s.JobID)]; len(events) > 0 {
		submitter = jobOf(events, l.last.Stored).made.Configuration.Submitter
	}
	w.Facts = filled("Path", s.Path, "Source", s.Source, "URL", s.URL, "Job", string(s.JobID), "Batch", string(s.BatchID), "Collection", s.Collection, "Dataset", s.Dataset, "Group", s.Group, "Depositor", submitter,
		"Size", sized(f.size()), "Changed at its source", moment(s.Modified.Time), "Digest as deposited", digest, "SHA-256", f.sha256, "Found", moment(f.foundAt), "Worker", f.worker, "Hash", id)
	return w, true
}
