package domain_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
)

// anyFileCommand draws a command; fences are those of running attempts as often
// as old ones.
func anyFileCommand(t *rapid.T, f domain.File, l domain.Limits, now domain.Time) domain.FileCommand {
	why := anyReason.Draw(t, "why")
	fence := rapid.SampledFrom([]int64{f.Fence, f.Fence, f.Version, 2}).Draw(t, "fence")
	return rapid.SampledFrom([]domain.FileCommand{
		domain.DiscoverFile{Spec: theSpec}, domain.StartDownload{Worker: "w", Limits: l, Now: now},
		domain.FinishDownload{Fence: fence, Size: 3, SHA256: digest}, domain.FileAlreadyThere{Size: 3, SHA256: digest},
		domain.FailDownload{Fence: fence, Reason: why, Limits: l}, domain.FailDownload{Fence: fence, Reason: why, Limits: l, Uncounted: true},
		domain.FailProcessing{Fence: fence, Reason: why, Limits: l, Uncounted: true}, domain.FailValidation{Reason: why, Limits: l},
		domain.SkipFile{Reason: why}, domain.ReadyFile{}, domain.ReadyFile{Slot: domain.SlotDone},
		domain.StartProcessing{Worker: "w"}, domain.FinishProcessing{Fence: fence, Output: theOutput},
		domain.FailProcessing{Fence: fence, Reason: why, Limits: l}, domain.AuditFailed{Reason: why, Limits: l},
		domain.RetryProcessing{Limits: l, Now: now}, domain.RecoverFile{Now: now, Limits: domain.FileLimits{Download: l, Processing: l}},
		domain.ReopenFile{Reason: why}, domain.AbandonFile{Reason: why},
	}).Draw(t, "command")
}

// TestFileWalks: whatever is asked in whatever order, histories are legal and
// numbered without hole, no attempt beyond the maximum begins, nobody sees a
// failed file with its attempts used up, and folding from nothing gives the state.
// Shows: P2
func TestFileWalks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := domain.Limits{Max: rapid.IntRange(1, 4).Draw(t, "max"), Timeout: time.Second,
			Delay: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "delay")}
		now := domain.File{Hash: theFile}
		clock := noon
		var events []domain.Recorded
		started := map[string]int{}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			clock = domain.At(clock.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond))
			cmd := anyFileCommand(t, now, l, clock)
			dec, err := domain.DecideFile(now, cmd)
			if err != nil {
				var refused *domain.Refused
				if !errors.As(err, &refused) || len(dec.Events) > 0 {
					t.Fatalf("%T: %v with %d events", cmd, err, len(dec.Events))
				}
				continue
			}
			if len(dec.Events) == 0 || len(dec.Rows) != len(dec.Events) {
				t.Fatalf("%T: rows %v for %d events", cmd, dec.Rows, len(dec.Events))
			}
			for k, e := range dec.Events {
				m, _ := domain.MoveOfFile(e.Data)
				if row, ok := domain.FileRow(m.From, m.To); !ok || row.Row != dec.Rows[k] || row.Event != e.Type || e.Version != int64(len(events))+1 {
					t.Fatalf("%T: %s number %d from %s to %s as %s after %d events", cmd, e.Type, e.Version, m.From, m.To, dec.Rows[k], len(events))
				}
				r := recorded(e)
				r.CommandID, r.Stored = fmt.Sprint(i), clock.Time
				if now, err = domain.EvolveFile(now, r); err != nil {
					t.Fatalf("%T: %v", cmd, err)
				}
				events = append(events, r)
				switch dec.Rows[k] {
				case "F2", "F6":
					started["download"]++
				case "F11":
					started["processing"]++
				case "O1", "O3":
					started["download"] = 0
				case "O2":
					started["processing"] = 0
				}
				if d, ok := e.Data.(*domain.FileFailed); ok && d.Uncounted {
					started[map[string]string{"F5": "download", "F13": "processing"}[dec.Rows[k]]]--
				}
			}
			if now.DownloadAttempts != started["download"] || now.ProcessingAttempts != started["processing"] {
				t.Fatalf("counted %d and %d attempts, started %v", now.DownloadAttempts, now.ProcessingAttempts, started)
			}
			if now.DownloadAttempts > l.Max || now.ProcessingAttempts > l.Max {
				t.Fatalf("%d and %d attempts of %d", now.DownloadAttempts, now.ProcessingAttempts, l.Max)
			}
			if now.State == domain.FileDownloadingFailed && now.DownloadAttempts >= l.Max || now.State == domain.FileProcessingFailed && now.ProcessingAttempts >= l.Max {
				t.Fatalf("%s after %d and %d attempts of %d", now.State, now.DownloadAttempts, now.ProcessingAttempts, l.Max)
			}
		}
		var folded domain.File
		for i, e := range events {
			var err error
			if folded, err = domain.EvolveFile(folded, e); err != nil {
				t.Fatalf("event %d: %v", i+1, err)
			}
		}
		if len(events) > 0 && !reflect.DeepEqual(folded, now) {
			t.Fatalf("folded %+v\ndecided %+v", folded, now)
		}
	})
}

// TestLateWorker: whoever was timed out is refused, also after an operator has
// set the count of attempts back.
// Shows: P5
func TestLateWorker(t *testing.T) {
	t.Parallel()
	once := domain.Limits{Max: 1, Timeout: time.Minute}
	f := domain.File{Hash: theFile}
	do := func(cmd domain.FileCommand) {
		t.Helper()
		dec, err := domain.DecideFile(f, cmd)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range dec.Events {
			if f, err = domain.EvolveFile(f, stored(e)); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(domain.DiscoverFile{Spec: theSpec})
	do(domain.StartDownload{Worker: "slow", Limits: once})
	late := domain.FinishDownload{Fence: f.Fence, Size: 9, SHA256: digest}
	do(domain.RecoverFile{Now: lateOne, Limits: domain.FileLimits{Download: once, Processing: once}})
	if f.State != domain.FileIgnore {
		t.Fatalf("after the only attempt it is %s", f.State)
	}
	_, err := domain.DecideFile(f, late)
	refusal(t, err, domain.CodeIllegal)
	do(domain.ReopenFile{Reason: waits})
	do(domain.StartDownload{Worker: "other", Limits: once})
	if f.DownloadAttempts != 1 {
		t.Fatalf("attempt %d", f.DownloadAttempts)
	}
	_, err = domain.DecideFile(f, late)
	refusal(t, err, domain.CodeFenced)
}
