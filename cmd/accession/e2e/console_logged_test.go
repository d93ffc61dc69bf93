package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
)

// logged is what the log has up to an event, by the things that its events are about. What pages say of
// that moment is counted here from these events alone, without the code that pages are made with.
type logged struct {
	last domain.Recorded
	of   map[domain.Kind]map[string][]domain.Recorded
}

// loggedTo returns what the log has up to a sequence.
func loggedTo(log []domain.Recorded, seq uint64) logged {
	l := logged{of: map[domain.Kind]map[string][]domain.Recorded{}}
	for _, r := range log {
		if r.Seq > seq {
			break
		}
		of := l.of[r.Aggregate.Kind]
		if of == nil {
			of = map[string][]domain.Recorded{}
			l.of[r.Aggregate.Kind] = of
		}
		of[r.Aggregate.ID] = append(of[r.Aggregate.ID], r)
		l.last = r
	}
	return l
}

// failedOnce is an attempt that failed.
type failedOnce struct {
	kind, job, of   string // of is the id of the job or file
	number, attempt int
	in              string
	reason          *domain.Reason
	file            string
	at              time.Time
	outcome, by     string // by is who had it go on, "" = it did not
}

// row is what a table of failed attempts says of it.
func (f failedOnce) row() string {
	return cells(f.job, f.attempt, spaced(f.in), why(f.reason), short(f.file), moment(f.at), strings.ReplaceAll(f.outcome, "_", " "), f.by)
}

// unresolved reports whether nothing has been done about it.
func (f failedOnce) unresolved() bool {
	return (f.outcome == "open" || f.outcome == "given_up") && f.by == ""
}

// lastingJob is a job as it was.
type lastingJob struct {
	id                    string
	made                  *domain.JobCreated
	madeAt, since         time.Time
	completed             *time.Time
	move                  domain.JobMove
	collection, primary   string
	reason                *domain.Reason
	files, bytes, version *int64
	states, walk          []string
	failures              []failedOnce
}

// jobOf returns a job as its events say, as of a moment.
func jobOf(events []domain.Recorded, now time.Time) *lastingJob {
	j := &lastingJob{id: events[0].Aggregate.ID}
	for _, r := range events {
		m, _ := domain.MoveOfJob(r.Data)
		j.collection, j.move = cmp.Or(m.Collection, j.collection), m
		if r.Type != domain.EventJobReprioritised && r.Type != domain.EventJobRepaired {
			j.reason = m.Reason
		}
		switch d := r.Data.(type) {
		case *domain.JobCreated:
			j.made, j.madeAt, j.primary = d, r.Time.Time, d.Identifiers.Primary
		case *domain.JobIdentified:
			j.primary = d.Identifiers.Primary
		case *domain.JobEstimated:
			j.files, j.bytes = new(int64(d.Files)), &d.Bytes
		case *domain.JobDownloaded:
			j.files, j.bytes = new(int64(d.Files)), &d.Bytes
		case *domain.JobProcessed:
			j.version = new(int64(d.Object.Version))
		case *domain.JobDone:
			j.completed = &r.Time.Time
		}
		if m.From == m.To {
			continue
		}
		after := 0.0
		if m.From != domain.JobNone {
			after = max(r.Time.Sub(j.since).Seconds(), 0)
			j.walk = append(j.walk, spaced(m.From)+"|"+span(after))
		}
		j.since = r.Time.Time
		j.states = append(j.states, cells(spaced(m.To), moment(j.since), span(after), r.Actor, why(m.Reason), r.Seq))
		j.attempts(r, m)
	}
	if s := j.move.To; s.Worked() || s == domain.JobHeld {
		j.walk = append(j.walk, spaced(s)+"|"+span(now.Sub(j.since).Seconds()))
	}
	return j
}

// attempts notes that one failed, or what became of the last that did.
func (j *lastingJob) attempts(r domain.Recorded, m domain.JobMove) {
	var last *failedOnce
	if n := len(j.failures); n > 0 {
		last = &j.failures[n-1]
	}
	outcome := ""
	switch m.To {
	case domain.JobFailed:
		outcome = "failed_again"
		n := len(j.failures) + 1
		defer func() {
			j.failures = append(j.failures, failedOnce{kind: "job", job: j.id, of: j.id, number: n, attempt: n, in: string(m.From), reason: m.Reason, file: j.made.Configuration.FileName, at: r.Time.Time, outcome: "open"})
		}()
	case domain.JobCompleted:
		outcome = "succeeded"
	case domain.JobDeleted:
		if outcome = "deleted"; r.Data.(*domain.JobDeletion).WithBatch != nil && *r.Data.(*domain.JobDeletion).WithBatch {
			outcome = "abandoned"
		}
	default:
		if m.From == domain.JobFailed {
			last.by = string(r.Actor)
		}
	}
	if last != nil && outcome != "" && last.outcome == "open" {
		last.outcome = outcome
	}
}

// lastingFile is a file as it was.
type lastingFile struct {
	id       string
	found    domain.FileSpec
	foundAt  time.Time
	foundSeq uint64
	since    time.Time
	move     domain.FileMove
	worker   string // that has it
	sha256   string
	life     []string
	failures []failedOnce
}

// fileOf returns a file as its events say. Attempts that are undecided end with a job that is deleted.
func (l logged) fileOf(id string) *lastingFile {
	f := &lastingFile{id: id}
	for _, r := range l.of[domain.KindFile][id] {
		m, _ := domain.MoveOfFile(r.Data)
		at, had, after := domain.At(r.Stored).Time, f.worker, 0.0
		if f.worker = ""; len(f.life) > 0 {
			after = max(at.Sub(f.since).Seconds(), 0)
		}
		switch d := r.Data.(type) {
		case *domain.FileFound:
			f.found, f.foundAt, f.foundSeq = d.File, at, r.Seq
		case *domain.FileStarted:
			f.worker = d.Worker
		case *domain.FileFetched:
			f.sha256 = d.SHA256
		case *domain.FileFailed:
			if m.To == domain.FileDownloadingFailed {
				f.sha256 = ""
			}
		}
		f.attempts(r, m, at)
		f.move, f.since = m, at
		f.life = append(f.life, cells(spaced(m.To), moment(at), span(after), r.Actor, had+f.worker, m.DownloadAttempts, m.ProcessingAttempts, why(m.Reason), r.Seq))
	}
	if job := l.of[domain.KindJob][string(f.found.JobID)]; len(job) > 0 && jobOf(job, l.last.Stored).move.To == domain.JobDeleted {
		for i, failed := range f.failures {
			if failed.outcome == "open" || failed.outcome == "given_up" {
				f.failures[i].outcome = "deleted"
			}
		}
	}
	return f
}

// attempts notes that one failed, or what became of the last that did.
func (f *lastingFile) attempts(r domain.Recorded, m domain.FileMove, at time.Time) {
	var last *failedOnce
	if n := len(f.failures); n > 0 && f.failures[n-1].outcome != "succeeded" {
		last = &f.failures[n-1]
	}
	switch m.To {
	case domain.FileDownloadingFailed, domain.FileProcessingFailed:
		if last != nil {
			last.outcome = "failed_again"
		}
		f.failures = append(f.failures, failedOnce{kind: "file", job: string(f.found.JobID), of: f.id, number: len(f.failures), attempt: m.Reason.Attempt, in: string(m.From), reason: m.Reason, file: f.found.Path, at: at, outcome: "open"})
	case domain.FileIgnore, domain.FileAbandoned:
		if last != nil {
			last.outcome = "given_up"
		}
	case domain.FileDownloaded, domain.FileProcessed:
		if last != nil && m.From != domain.FileSkipped {
			last.outcome = "succeeded"
		}
	case domain.FileDiscovered, domain.FileReady, domain.FileDownloading:
		if last != nil && slices.Contains([]domain.FileState{domain.FileDownloadingFailed, domain.FileProcessingFailed, domain.FileIgnore, domain.FileAbandoned, domain.FileSkipped}, m.From) {
			last.outcome, last.by = "open", string(r.Actor)
		}
	}
}

// size is that of the file, or else what its source says.
func (f *lastingFile) size() int64 { return max(f.move.Size, f.found.Size) }

// jobs and files return those of a batch, of a submitter, or "" = of all, in the order of lists.
func (l logged) jobs(of func(*lastingJob) bool) (all []*lastingJob) {
	for _, id := range slices.Sorted(maps.Keys(l.of[domain.KindJob])) {
		if j := jobOf(l.of[domain.KindJob][id], l.last.Stored); j.made != nil && of(j) {
			all = append(all, j)
		}
	}
	return all
}

func (l logged) files(of func(*lastingFile) bool) (all []*lastingFile) {
	for id := range l.of[domain.KindFile] {
		if f := l.fileOf(id); of(f) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *lastingFile) int { return cmp.Compare(a.foundSeq, b.foundSeq) })
	return all
}

// sumOfJobs counts jobs as the sums of pages do; unmade are those that a manifest lists and that are not
// made yet.
func sumOfJobs(jobs []*lastingJob, unmade int) summed {
	n := map[domain.JobState]int{}
	for _, j := range jobs {
		switch s := j.move.To; s {
		case domain.JobCompleted, domain.JobHeld, domain.JobFailed, domain.JobDeleted:
			n[s]++
		default:
			unmade++
		}
	}
	return summed{"jobs", []string{"completed", "in progress", "held", "failed", "deleted"}, []int64{int64(n[domain.JobCompleted]), int64(unmade), int64(n[domain.JobHeld]), int64(n[domain.JobFailed]), int64(n[domain.JobDeleted])}}
}

// sumOfFiles is the same of files, those of deleted jobs apart.
func sumOfFiles(files []*lastingFile, deleted map[domain.JobID]bool) summed {
	n := make([]int64, 5)
	for _, f := range files {
		switch s := f.move.To; {
		case deleted[f.found.JobID]:
			n[4]++
		case s == domain.FileProcessed:
			n[0]++
		case s == domain.FileSkipped:
			n[2]++
		case s == domain.FileIgnore || s == domain.FileAbandoned:
			n[3]++
		default:
			n[1]++
		}
	}
	return summed{"files", []string{"processed", "in progress", "skipped", "given up", "deleted"}, n}
}

// summed is a sum with its parts.
type summed struct {
	what  string
	names []string
	n     []int64
}

// said is what a bar says of it, and legend its parts.
func (s summed) said() string {
	var parts []string
	for i, name := range s.names {
		if s.n[i] > 0 {
			parts = append(parts, separated(s.n[i])+" "+name)
		}
	}
	return s.what + ": " + cmp.Or(strings.Join(parts, ", "), "none")
}

func (s summed) legend() (parts []string) {
	for i, name := range s.names {
		parts = append(parts, fmt.Sprint(name, "|", s.n[i]))
	}
	return parts
}

// saidOf is what the bar of a walk says, of which parts are the legend.
func saidOf(walk []string) string {
	var parts []string
	for _, p := range walk {
		name, text, _ := strings.Cut(p, "|")
		parts = append(parts, text+" "+name)
	}
	return "time in each state: " + cmp.Or(strings.Join(parts, ", "), "none")
}

// cells joins those of a row as they are read from a page.
func cells(of ...any) string {
	all := make([]string, len(of))
	for i, c := range of {
		switch v := c.(type) {
		case *int64:
			if v != nil {
				all[i] = strconv.FormatInt(*v, 10)
			}
		default:
			all[i] = fmt.Sprint(c)
		}
	}
	return strings.Join(all, "|")
}

// short is a text as tables show it.
func short(s string) string {
	if runes := []rune(text.Line(s)); len(runes) > 160 {
		return string(runes[:160]) + "…"
	}
	return text.Line(s)
}

// spaced is the name of a state as people read it.
func spaced[S ~string](s S) string { return strings.ReplaceAll(string(s), "_", " ") }

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// why is a reason as tables show it: what happened, its code, and who must act; wholly is one as the
// page of its thing does.
func why(r *domain.Reason) string { return said(r, short) }

func wholly(r *domain.Reason) string { return said(r, text.Line) }

func said(r *domain.Reason, message func(string) string) string {
	if r == nil || r.Message == "" {
		return ""
	}
	code := string(r.Code)
	switch r.Class {
	case domain.ClassContent:
		code += ", for the depositor"
	case domain.ClassCancelled:
	case domain.ClassWait:
		code += ", tried again by itself"
	default:
		code += ", for operators"
	}
	return message(r.Message) + " (" + code + ")"
}

// separated is a number as people read it.
func separated(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return separated(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// sized is a number of bytes as people read it, below a gibibyte, without separators.
func sized(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprint(n, " B")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}

// sizedOr is sized of a number that may not be known.
func sizedOr(n *int64) string {
	if n == nil {
		return ""
	}
	return sized(*n)
}

// span is a time as people read it, below a day.
func span(seconds float64) string {
	switch s := int(seconds); {
	case seconds < 0:
		return "0 s"
	case seconds < 10:
		return fmt.Sprintf("%.1f s", seconds)
	case s < 60:
		return fmt.Sprint(s, " s")
	case s < 3600:
		return fmt.Sprint(s/60, " min ", s%60, " s")
	default:
		return fmt.Sprint(s/3600, " h ", s%3600/60, " min")
	}
}
