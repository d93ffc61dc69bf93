package e2e

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	oracle "github.com/accession-ingest/accession/internal/testkit/model"
)

// model is what the rows that a scene has taken must have left, by the tables of
// effects.
type model struct {
	batches map[domain.BatchID]*batchModel
	jobs    map[domain.JobID]*jobModel
	files   map[domain.FileHash]*fileModel
}

type batchModel struct {
	status  string
	version int64
	code    string // of its reason, "" = it has none
	gone    bool

	submission string // data of the node
	rows       int    // listed
	first      string // id of the first job
	made       int    // rows that have their job
	states     bool   // the directory of references is there
	report     string // data of status-report, "" = none
	reports    []string
	counts     map[string]int
}

type jobModel struct {
	batch   domain.BatchID
	status  string
	last    string
	retries int
	version int64
	code    string
	cleaned bool
	gone    bool
	sub     string
	counted string
	size    int64 // what its files need, from the next row on that finds it out
	space   int64 // what is known of it

	configuration, identifiers, metadata string // data of the nodes
	attempts                             []string
}

type fileModel struct {
	status    string
	version   int64
	downloads int
	processes int
	code      string
	fetched   bool  // its digest is known
	stored    bool  // its result is
	begun     int64 // milliseconds: when the log took the event that started the last download,
	worked    int64 // and the last processing
	failures  []string
	open      bool // the last of them is not settled
}

func newModel() model {
	return model{map[domain.BatchID]*batchModel{}, map[domain.JobID]*jobModel{}, map[domain.FileHash]*fileModel{}}
}

// line is the state of a job or batch as its status node and its table have it.
func (b *batchModel) line() string { return fmt.Sprintf("%s v%d %s", b.status, b.version, b.code) }

func (j *jobModel) line() string {
	cleaned := ""
	if j.cleaned {
		cleaned = " cleaned"
	}
	return fmt.Sprintf("%s last=%s retries=%d v%d %s%s", j.status, j.last, j.retries, j.version, j.code, cleaned)
}

func (f *fileModel) line() string {
	return fmt.Sprintf("%s v%d downloads=%d processes=%d fetched=%t stored=%t begun=%d worked=%d %s",
		f.status, f.version, f.downloads, f.processes, f.fetched, f.stored, f.begun, f.worked, f.code)
}

// tree returns the nodes below /batches and /jobs.
func (m model) tree() map[string]string {
	t := map[string]string{"/batches": "", "/jobs": "", "/jobs/states": ""}
	for _, s := range []string{"pending", "held", "estimating", "provisioning", "downloading", "processing", "recording", "notify", "failed", "completed"} {
		t["/jobs/states/"+s] = ""
	}
	for id, b := range m.batches {
		if b.gone {
			continue
		}
		d := "/batches/" + string(id)
		t[d], t[d+"/submission"], t[d+"/status"] = "", b.submission, b.line()
		if b.rows > 0 {
			t[d+"/progress"] = fmt.Sprintf("rows=%d first=%s next=%d", b.rows, b.first, b.made)
		}
		if b.states {
			t[d+"/states"], t[d+"/states/batch-processing"], t[d+"/states/batch-failed"], t[d+"/states/batch-completed"] = "", "", "", ""
		}
		if b.report != "" {
			t[d+"/status-report"] = b.report
		}
	}
	for id, j := range m.jobs {
		if j.gone {
			continue
		}
		d := "/jobs/" + string(id)
		t[d], t[d+"/status"] = "", j.line()
		parts := map[string]string{"/configuration": j.configuration, "/identifiers": j.identifiers, "/metadata": j.metadata,
			"/priority": "5", "/space_needed": strconv.FormatInt(j.size, 10)}
		for name, data := range parts {
			if j.cleaned { // its status holds them
				t[d+"/status"+name] = data
			} else {
				t[d+name] = data
			}
		}
		t["/batches/"+string(j.batch)+"/states/"+j.sub+"/"+string(id)] = ""
		if !j.cleaned {
			t[d+"/claims"], t["/jobs/states/"+j.status+"/05-"+string(id)] = "claims", ""
		}
	}
	return t
}

// step is a row to be taken, written ROW, ROW/CODE with the code of its reason, or
// ROW/CODE/uncounted if it gives an attempt back.
type step struct {
	row, code string
	uncounted bool
}

func steps(words string) []step {
	var all []step
	for _, w := range strings.Fields(words) {
		row, code, _ := strings.Cut(w, "/")
		code, uncounted := strings.CutSuffix(code, "/uncounted")
		all = append(all, step{row, code, uncounted})
	}
	return all
}

func (b *batchModel) take(s step) {
	b.version++
	if s.row == "listed" {
		return
	}
	e := oracle.BatchRows[s.row]
	b.status, b.gone = e.Status, e.Gone
	if !e.Keeps {
		b.code = s.code
	}
	if s.row == "B3" {
		b.states = true
	}
}

func (m model) takeJob(id domain.JobID, s step) {
	j := m.jobs[id]
	j.version++
	if stays(s.row) {
		if j.code = s.code; s.row == "identified" {
			j.identifiers = strings.Replace(j.identifiers, `"primary":""`, `"primary":"ark"`, 1)
		}
		return
	}
	e, b := oracle.JobRows[s.row], m.batches[j.batch]
	if e.Size {
		j.space = j.size
	}
	if e.Last != "" {
		j.last = e.Last
	}
	if e.Again {
		j.retries++
	}
	if j.counted != "" {
		b.counts[j.counted]--
	} else {
		b.made++
		b.states = true
	}
	b.counts[e.Count]++
	from := j.status
	j.cleaned = e.Cleaned || e.Gone && j.cleaned // that its entry had gone before stays known
	j.status, j.code, j.sub, j.counted, j.gone = e.Status, s.code, e.Sub, e.Count, e.Gone
	switch {
	case e.Retry == oracle.Opens:
		j.settle("failed_again")
		j.attempts = append(j.attempts, from+" "+s.code+" open")
	case e.Retry == oracle.Resumes:
		j.attempts[len(j.attempts)-1] += " > " + e.Status
	case e.Retry != "" && from != "completed":
		j.settle(e.Retry)
	}
}

func (j *jobModel) settle(outcome string) {
	if n := len(j.attempts); n > 0 {
		j.attempts[n-1] = strings.Replace(j.attempts[n-1], " open", " "+outcome, 1)
	}
}

func (f *fileModel) take(s step, at int64) {
	e, from := oracle.FileRows[s.row], f.status
	switch s.row {
	case "F2", "F6":
		f.begun = at
	case "F3", "F4":
		f.fetched = true
	case "F8":
		f.fetched = false
	case "F11":
		f.worked = at
	case "F12":
		f.stored = true
	case "F16":
		f.stored = false
	}
	f.version++
	f.status, f.code = e.Status, e.Code
	if e.Code == "?" {
		f.code = s.code
	}
	f.downloads, f.processes = counted(f.downloads, e.Downloads), counted(f.processes, e.Processes)
	switch {
	case s.uncounted && e.Back == oracle.Downloads:
		f.downloads--
	case s.uncounted && e.Back == oracle.Processes:
		f.processes--
	}
	last := len(f.failures) - 1
	settle := func(outcome string) {
		if f.open {
			words := strings.SplitN(f.failures[last], " ", 4)
			words[2] = outcome
			f.failures[last] = strings.Join(words, " ")
		}
	}
	switch e.Retry {
	case oracle.Opens:
		settle("failed_again")
		f.failures, f.open = append(f.failures, from+" "+f.code+" open"), true
	case oracle.Resumes:
		settle("open")
		f.failures[last] = strings.Join(strings.SplitN(f.failures[last], " ", 4)[:3], " ") + " > " + e.Status
	case oracle.Succeeds:
		settle("succeeded")
		f.open = false
	case oracle.GivesUp:
		settle("given_up")
	}
}

func counted(attempts int, effect string) int {
	switch effect {
	case "+1":
		return attempts + 1
	case "0":
		return 0
	}
	return attempts
}

// rowsOfEffects names all rows that are described here.
func rowsOfEffects() map[string]bool {
	all := map[string]bool{}
	for row := range oracle.BatchRows {
		all[row] = true
	}
	for row := range oracle.JobRows {
		all[row] = true
	}
	for row := range oracle.FileRows {
		all[row] = true
	}
	return all
}

// stays reports whether it is no row, and leaves a job in its state.
func stays(event string) bool {
	_, ok := oracle.JobStays[event]
	return ok
}
