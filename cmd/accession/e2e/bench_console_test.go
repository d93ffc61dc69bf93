//go:build !race

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// BenchmarkConsole measures pages of the console with 10,000 and 1,000,000 jobs in the tables, ten
// to a batch, of which one in a hundred has failed: pages per second, the median and the 99th
// percentile of the time to the whole page, in milliseconds, and its bytes.
func BenchmarkConsole(b *testing.B) {
	sizes := []int{10_000, 1_000_000}
	if text := os.Getenv("ACCESSION_BENCH_JOBS"); text != "" {
		jobs, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		sizes = []int{jobs}
	}
	for _, jobs := range sizes {
		b.Run(strconv.Itoa(jobs), func(b *testing.B) { benchPages(b, jobs) })
	}
}

func benchPages(b *testing.B, jobs int) {
	in := newInstallation(b, "listen_http=127.0.0.1:0", "postgres_conns=8")
	in.says(0, []string{"user", "add", "olga"})
	in.says(0, []string{"user", "grant", "olga", "operator", "--all"})
	in.withPassword("olga", password)
	stop := in.serveInProcess().stop
	in.rest(in.depositFor("test", "tester", goodServer(b)+"/batch.checkm", domain.TypeBatchManifest))
	stop()
	d, c := in.doorOf(in.serveInProcess(run.RoleHTTP)), clientOfMany()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := c.PostForm(d.url+"/console/sign-in", url.Values{"name": {"olga"}, "password": {password}})
	in.must(err)
	in.must(res.Body.Close())
	session, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
	in.crowd(jobs)
	middle := jobs / 2
	var hash string
	job := fmt.Sprintf("jid%010d", 1000+middle)
	in.must(in.db.QueryRow(b.Context(), "select raw_file_hash from accession.file where job_id = $1", job).Scan(&hash))
	for _, page := range []string{"", "batches", "batches?state=failed", fmt.Sprintf("batches/bid%010d", 1000+middle/10), "jobs", "jobs?state=failed", "jobs/" + job, "files", "files/" + hash, "failures", "queues", "servers", "objects", "events"} {
		name, _, _ := strings.Cut(page, "/")
		if name != page {
			name += "/one"
		}
		b.Run("page="+name, func(b *testing.B) {
			var bytes int64
			one := func(ctx context.Context, _ int64) error {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/console/"+page, http.NoBody)
				if err != nil {
					return err
				}
				r.Header.Set("Cookie", session)
				res, err := c.Do(r)
				if err != nil {
					return err
				}
				bytes, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close() // it was read
				if err == nil && res.StatusCode != http.StatusOK {
					err = fmt.Errorf("%s: %s", page, res.Status)
				}
				return err
			}
			shared(b, 1, 3, one)
			var took []time.Duration
			for first := time.Now(); len(took) < 10 || len(took) < 100 && time.Since(first) < 3*time.Second; {
				begun := time.Now()
				in.must(one(b.Context(), 0))
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ResetTimer()
			shared(b, 1, b.N, one)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
			b.ReportMetric(float64(bytes), "bytes")
			b.ReportMetric(0, "ns/op")
		})
	}
}
