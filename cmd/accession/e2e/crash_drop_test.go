package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/drop"
)

// dropsAFile: a process dies while a file is accepted into the drop folder, or while the
// deposit leaves it. What was accepted becomes one batch, and nothing else does.
func dropsAFile(o *crashInstallation, point string) {
	o.n++
	file := filepath.Join(o.dir, "dropped-"+o.number()+".txt")
	o.must(os.WriteFile(file, []byte(o.number()), 0o600))
	submit := []string{"submit", "--profile", "test", "--submitter", "ana", "--drop", file}
	accepted := 1
	operation := strings.TrimPrefix(point[:strings.LastIndexByte(point, '/')], "drop/")
	switch operation {
	case "accept/undo":
		blocked := filepath.Join(o.dir, "drop", "user-ana")
		o.must(os.MkdirAll(filepath.Dir(blocked), 0o700))
		o.must(os.RemoveAll(blocked))
		o.must(os.WriteFile(blocked, nil, 0o600))
		o.dies(point, nil, submit...)
		o.must(os.Remove(blocked))
		accepted = 0
	case "left/remove":
		old := filepath.Join(o.dir, "drop", "aside", "old")
		o.must(os.MkdirAll(old, 0o700))
		long := time.Now().Add(-48 * time.Hour)
		o.must(os.Chtimes(old, long, long))
		o.dies(point, nil, "serve")
		accepted = 0
	case "old/remove":
		o.run(submit...)
		d := o.inFolder()[0]
		o.run("drop", "rm", "--yes", "--reason", "a wrong file", d.ID)
		o.dies(point, nil, "serve", "--set=failed_retention=1ms")
		accepted = 0
	case "discard/make", "discard/make-aside", "discard/write", "discard/rename":
		o.discarded(point, submit)
		accepted = 0
	case "refuse/write", "refuse/rename", "again/write", "again/rename", "again/remove":
		o.refused(point, submit)
	default:
		if strings.HasPrefix(operation, "remove/") {
			o.run(submit...)
			o.dies(point, nil, "serve")
			o.emptied()
			o.discarded(point, submit)
		} else {
			o.dies(point, nil, submit...)
			o.run(submit...)
			accepted = len(o.inFolder())
		}
	}
	o.emptied()
	if n := o.count(`select count(*) from accession.batch where file_name = $1`, filepath.Base(file)); n != accepted {
		o.t.Errorf("%d batches of %d deposits that were accepted, after a death at %s", n, accepted, point)
	}
}

// refused: a deposit is refused since the profile is away, and accepted once it is back.
func (o *crashInstallation) refused(point string, submit []string) {
	o.t.Helper()
	o.finish() // a batch that is reported without its profile has no address
	o.run(submit...)
	profile, err := os.ReadFile(o.profileFile())
	o.must(err)
	o.must(os.WriteFile(o.profileFile(), []byte(strings.Replace(string(profile), "name: test", "name: away", 1)), 0o600))
	again := strings.HasPrefix(point, "drop/again/")
	if !again {
		o.dies(point, nil, "serve")
	}
	s := o.serve()
	s.works()
	var d drop.Deposit
	waitFor(o.t, "the deposit to be refused", func() bool {
		for _, d = range o.inFolder() {
			if d.Refused != nil {
				return true
			}
		}
		return false
	})
	s.stop()
	o.must(os.WriteFile(o.profileFile(), profile, 0o600))
	if again {
		o.dies(point, nil, "drop", "retry", d.ID)
	}
	o.run("drop", "retry", d.ID)
}

// discarded: an operator removes a deposit. It is shown as removed once it is, with the reason.
func (o *crashInstallation) discarded(point string, submit []string) {
	o.t.Helper()
	o.run(submit...)
	d := o.inFolder()[0]
	o.dies(point, nil, "drop", "rm", "--yes", "--reason", "a wrong file", d.ID)
	if len(o.inFolder()) > 0 {
		o.says(0, []string{"drop", "show", d.ID, "--submitter", "ana"}, "waits in the drop folder")
		o.run("drop", "rm", "--yes", "--reason", "a wrong file", d.ID)
	}
	o.says(0, []string{"drop", "show", d.ID, "--submitter", "ana"}, "was removed", "a wrong file")
}

// inFolder returns what is in the drop folder.
func (o *crashInstallation) inFolder() (all []drop.Deposit) {
	o.t.Helper()
	folder, err := o.app.Open.Drop(false)
	o.must(err)
	for d, err := range folder.All(o.t.Context()) {
		o.must(err)
		all = append(all, d)
	}
	return all
}

// emptied serves until the drop folder is empty and its batches are at rest.
func (o *crashInstallation) emptied() {
	o.t.Helper()
	s := o.serve()
	s.works()
	waitFor(o.t, "an empty drop folder", func() bool { return len(o.inFolder()) == 0 })
	o.still()
	s.stop()
}
