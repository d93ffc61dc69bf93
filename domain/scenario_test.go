package domain_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// TestScenarios plays the stories in testdata/scenarios: it decides and applies each
// command (a line that begins with >), and compares what comes of it with the indented
// lines below. With -update it writes these lines.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(words) []string{"batch": playBatch(), "job": playJob(), "file": playFile()} {
		path := filepath.Join("testdata", "scenarios", name+".txt")
		had, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for line := range strings.Lines(string(had)) {
			if strings.HasPrefix(line, "  ") {
				continue
			}
			got.WriteString(line)
			if command, ok := strings.CutPrefix(line, "> "); ok {
				for _, outcome := range play(wordsIn(command)) {
					got.WriteString("  " + outcome + "\n")
				}
			}
		}
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got.String() != string(had) {
			t.Errorf("%s does not show what the rules do, which is:\n%s", path, got.String())
		}
	}
}

// words are a command's name and what is given with it, as name=value or a name alone.
type words struct {
	command string
	given   map[string]string
}

func wordsIn(line string) words {
	command, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
	w := words{command, map[string]string{}}
	for _, word := range strings.Fields(rest) {
		name, value, _ := strings.Cut(word, "=")
		w.given[name] = value
	}
	return w
}

func (w words) has(name string) bool { _, ok := w.given[name]; return ok }

func (w words) number(name string) int {
	n, _ := strconv.Atoi(w.given[name])
	return n
}

// facts returns the facts that a line gives: hold, processing=, failed=, completed=, batch=.
func (w words) facts() domain.Facts {
	f := domain.Facts{Batch: domain.BatchState(w.given["batch"]), Collection: "maps",
		Processing: w.number("processing"), Failed: w.number("failed"), Completed: w.number("completed")}
	if w.has("hold") {
		f.CollectionHold = &onHold
	}
	return f
}

// told returns the lines for a decision: its events with the state after each, or the
// refusal.
func told(err error, events []domain.Event, rows []string, apply func(domain.Event) (string, error)) (lines []string) {
	if err != nil {
		return []string{"refused: " + strings.ReplaceAll(err.Error(), string(theFile), theSpec.Path)}
	}
	for i, e := range events {
		state, err := apply(e)
		if err != nil {
			return append(lines, "broken: "+err.Error())
		}
		row := "–"
		if i < len(rows) && rows[i] != "" {
			row = rows[i]
		}
		lines = append(lines, fmt.Sprintf("%d %s (%s) → %s", e.Version, e.Type, row, state))
	}
	return lines
}

func playBatch() func(words) []string {
	b := domain.Batch{ID: theBatch}
	return func(w words) []string {
		b.NextRow = max(b.NextRow, w.number("made"))
		cmd, ok := map[string]domain.BatchCommand{
			"submit":         domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Submitter: "ana", Type: domain.TypeBatchManifest}},
			"hold":           domain.HoldBatch{Reason: waits},
			"release":        domain.ReleaseBatch{},
			"list":           domain.ListBatch{Listing: domain.Listing{Rows: w.number("rows"), FirstJID: theJob}},
			"start":          domain.StartBatch{},
			"begin report":   domain.BeginReport{},
			"finish report":  domain.FinishReport{Report: domain.Report{Failed: w.number("failed"), Successful: w.number("completed")}},
			"request update": domain.RequestUpdate{},
			"delete":         domain.DeleteBatch{},
		}[w.command]
		if !ok {
			return []string{"there is no such command in scenario_test.go"}
		}
		d, err := domain.DecideBatch(b, cmd, w.facts())
		return told(err, d.Events, []string{d.Row}, func(e domain.Event) (string, error) {
			b, err = domain.EvolveBatch(b, recorded(e))
			return string(b.State), err
		})
	}
}

func playJob() func(words) []string {
	j := domain.Job{ID: theJob}
	return func(w words) []string {
		cmd, ok := map[string]domain.JobCommand{
			"create":    domain.CreateJob{Configuration: domain.Configuration{BatchID: theBatch}, Priority: domain.PriorityDefault},
			"hold":      domain.HoldJob{Reason: waits},
			"release":   domain.ReleaseJob{},
			"accept":    domain.AcceptJob{},
			"estimate":  domain.EstimateJob{Files: 2, Bytes: 4096, Priority: domain.PriorityDefault},
			"provision": domain.ProvisionJob{},
			"download":  domain.DownloadJob{Files: 2, Bytes: 4096, Priority: domain.PriorityDefault},
			"process":   domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/1/a", Version: 1, ManifestKey: "k", ManifestSHA256: digest, Files: 2, Bytes: 4096}},
			"record":    domain.RecordJob{},
			"complete":  domain.CompleteJob{Callback: "none"},
			"fail":      domain.FailJob{Reason: broken},
			"requeue":   domain.RequeueJob{},
			"clean up":  domain.CleanJob{},
			"delete":    domain.DeleteJob{},
		}[w.command]
		if !ok {
			return []string{"there is no such command in scenario_test.go"}
		}
		d, err := domain.DecideJob(j, cmd, w.facts())
		return told(err, d.Events, []string{d.Row}, func(e domain.Event) (string, error) {
			j, err = domain.EvolveJob(j, recorded(e))
			return string(j.State), err
		})
	}
}

// playFile decides at noon and as many seconds as at= says.
func playFile() func(words) []string {
	f := domain.File{Hash: theFile}
	return func(w words) []string {
		now := domain.At(noon.Add(time.Duration(w.number("at")) * time.Second))
		fence := f.Fence
		if w.has("fence") {
			fence = int64(w.number("fence"))
		}
		cmd, ok := map[string]domain.FileCommand{
			"discover":          domain.DiscoverFile{Spec: theSpec},
			"start download":    domain.StartDownload{Worker: w.given["worker"], Limits: three, Now: now},
			"finish download":   domain.FinishDownload{Fence: fence, Size: 9, SHA256: digest},
			"fail download":     domain.FailDownload{Fence: fence, Reason: broken, Limits: three},
			"skip":              domain.SkipFile{Reason: broken},
			"make ready":        domain.ReadyFile{},
			"start processing":  domain.StartProcessing{Worker: w.given["worker"]},
			"finish processing": domain.FinishProcessing{Fence: fence, Output: theOutput},
			"sweep":             domain.RecoverFile{Now: now, Limits: limits},
			"reopen":            domain.ReopenFile{Reason: broken},
		}[w.command]
		if !ok {
			return []string{"there is no such command in scenario_test.go"}
		}
		d, err := domain.DecideFile(f, cmd)
		return told(err, d.Events, d.Rows, func(e domain.Event) (string, error) {
			r := recorded(e)
			r.Stored = now.Time
			f, err = domain.EvolveFile(f, r)
			return string(f.State), err
		})
	}
}
