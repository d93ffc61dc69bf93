//go:build !race

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/testkit/cputime"
	"github.com/accession-ingest/accession/internal/testkit/webserver"
)

// BenchmarkDirectory has one process discover and download a directory of 20,000 files of
// 1 KiB, which nginx lists, and a worker of the compute queue process them, each with a
// command. `wget -m` mirrors the same directory in the same run; of-wget is its time beside
// that of discovery and download, wget-MiB the most memory that it had.
func BenchmarkDirectory(b *testing.B) {
	const files = 20_000
	for range b.N {
		dir := b.TempDir()
		content := []byte(strings.Repeat("spectrum ", 114)[:1024])
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("20261120_%05d.dat", i)), append(fmt.Appendf(nil, "%05d", i), content[5:]...), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		at := webserver.List(b, "nginx", dir) + "/"
		mirrored, ofWget := mirror(b, at, files)

		in := newForProcesses(b, "attempts: 3", "zookeeper_session_timeout=10s", "postgres_conns=16", "zookeeper_heap=6 GiB",
			"listen_ops=127.0.0.1:0", "ready_interval=500ms")
		rules := filepath.Join(b.TempDir(), "rules.json")
		in.must(os.WriteFile(rules, []byte(`{"process":{"priority":200}}`), 0o600))
		in.run("dataset", "add", "nights", "--profile", "test", "--group-pattern", "^([0-9]+)_", "--rules", rules, "--reason", "the survey begins")
		s := in.serve()
		s.until(200, "ok")
		in.run("discover", "add", at, "--dataset", "nights", "--every", "24h", "--reason", "the survey begins")
		before, begun := cputime.Now(b, s.cmd.Process.Pid), time.Now()
		b.ResetTimer()
		last := in.each(0, domain.EventFileReady, files)
		fetched := time.Since(begun)
		cost := cputime.Now(b, s.cmd.Process.Pid).Since(before)
		worker := in.command("compute", "worker", "--profile", "test", "--parallel", "4", "--exec", "wc -c < {in} > {out}")
		begun = time.Now()
		in.must(worker.Start())
		in.each(last, domain.EventFileProcessed, files)
		processed := time.Since(begun)
		in.must(worker.Process.Signal(os.Interrupt))
		_ = worker.Wait() // it was interrupted
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(files/fetched.Seconds(), "downloaded/s")
		b.ReportMetric(files/processed.Seconds(), "processed/s")
		b.ReportMetric(mirrored.Seconds()/fetched.Seconds(), "of-wget")
		b.ReportMetric(cputime.Per(cost.Ours, files)/1000, "ours-ms/file")
		b.ReportMetric(float64(highest(s.cmd.Process.Pid))/(1<<20), "highest-MiB")
		b.ReportMetric(float64(ofWget)/(1<<20), "wget-MiB")
		s.stop()
	}
}

// mirror returns how long wget takes for a directory, and the most bytes of memory that it has.
func mirror(b *testing.B, at string, files int) (took time.Duration, memory int64) {
	b.Helper()
	to, begun := b.TempDir(), time.Now()
	wget := exec.Command("wget", "--mirror", "--no-parent", "--no-host-directories", "--quiet", "--directory-prefix", to, at)
	var said bytes.Buffer
	wget.Stdout, wget.Stderr = &said, &said
	if err := wget.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- wget.Wait() }()
	// The kernel counts in the most memory of an ended process what its parent had when it began.
	sample := time.NewTicker(20 * time.Millisecond)
	defer sample.Stop()
	for running := true; running; {
		select {
		case <-sample.C:
			memory = max(memory, highest(wget.Process.Pid))
		case err := <-ended:
			if running = false; err != nil {
				b.Fatalf("wget: %v\n%s", err, said.Bytes())
			}
		}
	}
	took = time.Since(begun)
	if got, err := filepath.Glob(filepath.Join(to, "*.dat")); err != nil || len(got) != files {
		b.Fatalf("wget has fetched %d files, %v", len(got), err)
	}
	return took, memory
}

// each returns the sequence with which so many events of a type have come after another.
func (in *installation) each(after uint64, kind domain.EventType, n int) uint64 {
	in.t.Helper()
	for r, err := range in.log.Read(in.ctx(), eventstore.ReadOptions{From: after + 1, Follow: true}) {
		in.must(err)
		if r.Type == kind {
			n--
		}
		if n == 0 {
			return r.Seq
		}
	}
	in.t.Fatalf("%d more of %s did not come", n, kind)
	return 0
}

// highest returns the most bytes of memory that a process has had, 0 = it has ended.
func highest(pid int) (bytes int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if n, err := fmt.Sscanf(line, "VmHWM: %d kB", &bytes); n == 1 && err == nil {
			return bytes << 10
		}
	}
	return 0
}
