package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// TestDirectoryKilledAtEachStep: the command that deposits a directory dies while it packs, while
// it sends, and while the deposit is accepted; then it is run again. There is one deposit of each
// directory, with all its files: without an idempotency key where the first was not yet accepted,
// and with one wherever it died.
// Shows: P1 P19
func TestDirectoryKilledAtEachStep(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 2, timeout: 5s")
	deposits, want := 0, map[string]string{"letter.txt": "Dear all,\n", "maps/north.txt": "north\n"}
	directory := func(name string) (dir string) {
		t.Helper()
		dir = filepath.Join(t.TempDir(), name)
		for file, text := range want {
			at := filepath.Join(dir, file)
			in.must(os.MkdirAll(filepath.Dir(at), 0o700))
			in.must(os.WriteFile(at, []byte(text), 0o600))
		}
		return dir
	}
	submit := func(key, dir string) []string {
		args := []string{"submit", "--profile", "test", "--submitter", "tester", "--title", filepath.Base(dir), "--watch=false"}
		if key != "" {
			args = append(args, "--idempotency-key", key)
		}
		return append(args, dir)
	}
	again := func(what string, args []string) {
		t.Helper()
		deposits++
		in.run(args...)
		if all, err := in.live.Batches(in.ctx()); err != nil || len(all) != deposits {
			t.Fatalf("%s: %d deposits of %d directories, %v", what, len(all), deposits, err)
		}
	}
	for _, point := range []string{"store/put/create/after", "store/put/sync/before", "store/put/sync/after", "zklive/ids/reserve/after", "zklive/deliver/multi/before"} {
		args := submit("", directory(strings.ReplaceAll(point, "/", "-")))
		in.killedAt(point, args...)
		again(point, args)
	}
	for _, point := range []string{"store/put/sync/after", "record/command/keep/after", "zklive/deliver/multi/before", "zklive/deliver/multi/after", "record/deposit/keep/before", "record/deposit/keep/after"} {
		args := submit(point, directory("key-"+strings.ReplaceAll(point, "/", "-")))
		in.killedAt(point, args...)
		again(point, args)
	}
	packing := submit("packing", directory("packing")) // under a key: it may be faster than what kills it
	in.must(os.Truncate(filepath.Join(packing[len(packing)-1], "letter.txt"), large))
	in.diesPacking(packing)
	again("while it packs", packing)

	s := in.serve()
	in.reach(domain.EventBatchCompleted, deposits)
	s.stop()
	in.shown()
	const files = "select count(*) from record.object_version v join record.object_file f using (primary_identifier, version) where kind = 'producer'"
	if n := in.count(files); n != deposits*len(want) {
		t.Errorf("%d files are stored of %d directories", n, deposits)
	}
	if n := in.count(files+" and name = 'letter.txt' and size = $1", large); n != 1 {
		t.Errorf("%d large files are stored", n)
	}
	if n := in.count("select count(distinct erc_what) from record.object"); n != deposits {
		t.Errorf("%d directories are stored, of %d", n, deposits)
	}
	in.says(0, words("verify"))
}

// large is as many bytes as take a moment to pack.
const large = 64 << 20

// diesPacking runs a command that packs a directory, and kills it when a part is packed.
func (in *installation) diesPacking(args []string) {
	in.t.Helper()
	for range 20 {
		temporary := in.t.TempDir()
		c := in.command(args...)
		c.Env = append(c.Env, "TMPDIR="+temporary)
		in.must(c.Start())
		ended := make(chan struct{})
		go func() { _ = c.Wait(); close(ended) }()
		packed := func() (size int64) {
			all, err := filepath.Glob(filepath.Join(temporary, "accession-submit-*", "*.tar"))
			in.must(err)
			if len(all) == 0 {
				return 0
			}
			info, err := os.Stat(all[0])
			if err != nil {
				return 0 // it is removed at the end
			}
			return info.Size()
		}
		tick := time.NewTicker(time.Millisecond)
		for alive := true; alive && packed() == 0; {
			select {
			case <-ended:
				alive = false
			case <-tick.C:
			}
		}
		tick.Stop()
		_ = c.Process.Kill()
		<-ended
		if size := packed(); size > 0 && size < large {
			return
		}
	}
	in.t.Fatal("it was never killed while it packed")
}
