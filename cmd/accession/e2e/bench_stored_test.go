//go:build !race

package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/cputime"
	"github.com/accession-ingest/accession/internal/testkit/webserver"
)

// BenchmarkStored measures bytes from their URLs, which nginx serves, to the stored object: one
// large file, and 64 files of one object in parallel. They are fetched, digested, stored, synced
// and read back. of-curl is the rate beside that of curl to disk and sha256sum of what it wrote,
// as many at once, which sync nothing.
func BenchmarkStored(b *testing.B) {
	for _, c := range []struct {
		name         string
		files, bytes int
	}{{"1x1GiB", 1, 1 << 30}, {"64x16MiB", 64, 16 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				storeFiles(b, c.files, c.bytes)
			}
		})
	}
}

func storeFiles(b *testing.B, files, bytes int) {
	b.Helper()
	in := newForProcesses(b, "parallel: 64", "listen_ops=127.0.0.1:0")
	dir := b.TempDir()
	at := webserver.List(b, "nginx", dir)
	var rows []string
	for i := range files {
		name := fmt.Sprintf("file-%d.dat", i)
		f, err := os.Create(filepath.Join(dir, name))
		in.must(err)
		_, err = io.CopyN(f, rand.NewChaCha8([32]byte{byte(i)}), int64(bytes))
		in.must(err)
		in.must(f.Close())
		rows = append(rows, fmt.Sprintf("%s/%s | | | | | %s", at, name, name))
	}
	in.must(os.WriteFile(filepath.Join(dir, "object.checkm"), checkm("mrt-ingest-manifest", "", rows...), 0o600))
	in.must(os.Chmod(filepath.Join(dir, "object.checkm"), 0o644))

	to, begun := b.TempDir(), time.Now()
	curl := exec.Command("sh", "-ec", `seq 0 $(($1 - 1)) | xargs -P 64 -I{} sh -ec 'curl -sfo "$1/{}" "$2/file-{}.dat"; sha256sum "$1/{}" > "$1/{}.sha256"' sh "$2" "$3"`,
		"sh", fmt.Sprint(files), to, at)
	if out, err := curl.CombinedOutput(); err != nil {
		b.Fatalf("curl: %v\n%s", err, out)
	}
	ofCurl := time.Since(begun)
	in.must(os.RemoveAll(to))

	s := in.serve()
	s.until(200, "ok")
	pid := s.cmd.Process.Pid
	before, begun := cputime.Now(b, pid), time.Now()
	b.ResetTimer()
	in.submit(app.Deposit{Payload: at + "/object.checkm", Type: domain.TypeObjectManifest})
	in.each(0, domain.EventJobProcessed, 1)
	took := time.Since(begun)
	cost := cputime.Now(b, pid).Since(before)
	mib := float64(files) * float64(bytes) / (1 << 20)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(mib/took.Seconds(), "MiB/s")
	b.ReportMetric(ofCurl.Seconds()/took.Seconds(), "of-curl")
	b.ReportMetric(float64(cost.Ours.Microseconds())/1000/mib, "ours-ms/MiB")
	b.ReportMetric(float64(highest(pid))/(1<<20), "highest-MiB")
	s.stop()
}
