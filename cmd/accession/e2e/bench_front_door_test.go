//go:build !race

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// clientOfMany keeps a connection for each of many senders.
func clientOfMany() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
}

// exchange sends a request, reads its answer to the end and returns its length.
func exchange(ctx context.Context, c *http.Client, method, url, key string, body io.Reader, length int64) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, err
	}
	r.ContentLength = length
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s", method, url, res.Status)
	}
	return n, err
}

// shared has so many workers do something n times.
func shared(b *testing.B, workers, n int, do func(ctx context.Context, i int64) error) {
	b.Helper()
	var begun atomic.Int64
	g, ctx := errgroup.WithContext(b.Context())
	for range workers {
		g.Go(func() error {
			for {
				i := begun.Add(1)
				if i > int64(n) {
					return nil
				}
				if err := do(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDeposits measures deposits of 1 KiB that are accepted over HTTP, beside files of
// 1 KiB that as many writers write, sync and rename in the same file system, each in a
// directory that is synced too. of-bare compares the rates of one run.
func BenchmarkDeposits(b *testing.B) {
	content := bytes.Repeat([]byte("a deposit of 1 K"), 64)
	for _, senders := range []int{1, 16} {
		bare := 0.0
		b.Run(fmt.Sprintf("senders=%d/bare", senders), func(b *testing.B) {
			dir := b.TempDir()
			shared(b, senders, 64, func(_ context.Context, i int64) error { return syncedFile(dir, fmt.Sprint("warm", i), content) })
			b.ResetTimer()
			shared(b, senders, b.N, func(_ context.Context, i int64) error { return syncedFile(dir, fmt.Sprint(i), content) })
			bare = float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(bare, "files/s")
			b.ReportMetric(0, "ns/op")
		})
		b.Run(fmt.Sprintf("senders=%d/http", senders), func(b *testing.B) {
			in := newInstallation(b, "listen_http=127.0.0.1:0", "waiting_limit=1000000", "log_level=warn")
			key := in.keyOf("ana", "depositor", "--collection", "test")
			in.set("log_level=info")
			d, c := in.doorOf(in.serveInProcess(run.RoleHTTP)), clientOfMany()
			deposit := func(ctx context.Context, i int64) error {
				_, err := exchange(ctx, c, http.MethodPost, fmt.Sprintf("%s/v1/uploads?profile=test&name=f%d.txt", d.url, i), key, bytes.NewReader(content), int64(len(content)))
				return err
			}
			shared(b, senders, 64, deposit)
			b.ResetTimer()
			shared(b, senders, b.N, deposit)
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "deposits/s")
			b.ReportMetric(rate/bare, "of-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// syncedFile writes a file under another name, syncs it, renames it and syncs the directory.
func syncedFile(dir, name string, content []byte) (err error) {
	f, err := os.Create(filepath.Join(dir, name+".part"))
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// BenchmarkReads measures reads over HTTP with 1,000,000 jobs in the tables, ten to a batch,
// each with a file and an object: requests per second by four clients, and the 99th
// percentile of one client alone, in milliseconds. Of a thousand things one is rare: by
// another user, of another profile and collection, with a reason of its own.
func BenchmarkReads(b *testing.B) {
	jobs := 1_000_000
	if text := os.Getenv("ACCESSION_BENCH_JOBS"); text != "" {
		var err error
		if jobs, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	in := newInstallation(b, "listen_http=127.0.0.1:0", "postgres_conns=8")
	ana, rita := in.keyOf("ana", "depositor", "--collection", "test"), in.keyOf("rita", "reader", "--all")
	stop := in.serveInProcess().stop
	in.rest(in.depositFor("test", "tester", goodServer(b)+"/batch.checkm", domain.TypeBatchManifest))
	stop()
	d, c := in.doorOf(in.serveInProcess(run.RoleHTTP)), clientOfMany()
	in.crowd(crowded{jobs: jobs, files: 1, large: 10}) // now: a process does not start beside tables that are ahead of the tree
	middle := jobs / 2
	id := map[string]string{"BATCH": fmt.Sprintf("bid%010d", 1000+middle/10), "JOB": fmt.Sprintf("jid%010d", 1000+middle), "OBJECT": fmt.Sprintf("ark:%%2F99999%%2Fcrowd%d", middle)}
	var hash string
	in.must(in.db.QueryRow(b.Context(), "select raw_file_hash from accession.file where job_id = $1", id["JOB"]).Scan(&hash))
	id["FILE"] = hash
	for _, read := range []struct{ who, path string }{
		{rita, "/v1/batches"},
		{rita, "/v1/batches?state=failed"},
		{rita, "/v1/batches?submitter=rare"},
		{rita, "/v1/batches?profile=rare"},
		{rita, "/v1/batches?collection=rare"},
		{rita, "/v1/batches?code=rare"},
		{rita, "/v1/batches?host=rare.example.org"},
		{rita, "/v1/batches?since=2026-01-01T00:00:00Z"},
		{ana, "/v1/batches"},
		{rita, "/v1/batches/BATCH"},
		{rita, "/v1/batches/BATCH/report"},
		{rita, "/v1/jobs"},
		{rita, "/v1/jobs?batch=BATCH"},
		{rita, "/v1/jobs?state=failed"},
		{rita, "/v1/jobs?submitter=rare"},
		{rita, "/v1/jobs?profile=rare"},
		{rita, "/v1/jobs?collection=rare"},
		{rita, "/v1/jobs?code=rare"},
		{rita, "/v1/jobs?host=rare.example.org"},
		{rita, "/v1/jobs?state=completed&host=rare.example.org"},
		{rita, "/v1/jobs?since=2099-01-01T00:00:00Z"},
		{ana, "/v1/jobs"},
		{rita, "/v1/jobs/JOB"},
		{rita, "/v1/files"},
		{rita, "/v1/files?job=JOB"},
		{rita, "/v1/files?submitter=rare"},
		{rita, "/v1/files?collection=rare"},
		{rita, "/v1/files?code=rare"},
		{rita, "/v1/files?host=rare.example.org"},
		{ana, "/v1/files"},
		{rita, "/v1/files/FILE"},
		{rita, "/v1/objects"},
		{rita, "/v1/objects?collection=rare"},
		{rita, "/v1/objects?submitter=rare"},
		{rita, "/v1/objects?title=rare"},
		{rita, "/v1/objects?file=rare.txt"},
		{ana, "/v1/objects"},
		{rita, "/v1/objects/OBJECT"},
		{rita, "/v1/objects/OBJECT/versions/0/files"},
		{rita, "/v1/collections"},
		{rita, "/v1/queues"},
		{rita, "/v1/deposit-queues/metadata/board"},
		{rita, "/v1/status"},
		{rita, "/v1/queries"},
		{rita, "/v1/uploads"},
	} {
		who := map[string]string{ana: "ana", rita: "rita"}[read.who]
		b.Run(who+strings.ReplaceAll(read.path, "/", "_"), func(b *testing.B) {
			path := read.path
			for name, is := range id {
				path = strings.ReplaceAll(path, name, is)
			}
			one := func(ctx context.Context, _ int64) error {
				_, err := exchange(ctx, c, http.MethodGet, d.url+path, read.who, http.NoBody, 0)
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
			shared(b, 4, b.N, one)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// crowded is how many there are of what is copied.
type crowded struct {
	jobs  int // ten to a batch
	files int // of each job
	large int // jobs of the first batch
}

// crowd copies what the one deposit has left in the tables, until there are so many jobs and files
// more, as many objects as jobs, and a callback about each job. One of a thousand is rare.
func (in *installation) crowd(c crowded) {
	in.t.Helper()
	jobs := c.jobs
	rare := func(many, few string) string {
		return fmt.Sprintf("case when n between %d and %d then '%s' else %s end", jobs/2, jobs/2+jobs/1000, few, many)
	}
	id := func(kind, n string) string { return fmt.Sprintf("'%s' || lpad((1000 + %s)::text, 10, '0')", kind, n) }
	ofBatch := fmt.Sprintf("(case when n < %d then 0 else n/10 end)", c.large)
	ofJob, batch := id("jid", "n"), id("bid", ofBatch)
	ark, user := "'ark:/99999/crowd' || n", rare("'user' || n/10 % 1000", "rare")
	state := func(completed, failed string) string {
		return fmt.Sprintf("case when n/10 %% 100 = 0 then '%s' else '%s' end", failed, completed)
	}
	url := rare("'files.example.org'", "rare.example.org")
	about := func(more ...string) []string {
		return append([]string{"submitter", user, "profile_name", rare("'test'", "rare"), "collection", rare("'test'", "rare"),
			"reason_code", rare("'not_found'", "rare")}, more...)
	}
	each := fmt.Sprintf("generate_series(0, %d) n", jobs-1)
	batches := fmt.Sprintf("(select n from generate_series(0, %d, 10) n where n = 0 or n >= %d) s", jobs-1, c.large)
	files := fmt.Sprintf("(select f, f / %d as n from generate_series(0, %d) f) s", c.files, jobs*c.files-1)
	sum := func(of string) []string {
		return []string{"files_listed", of, "files_processed", of, "files_downloaded", of, "files_in_progress", "0", "bytes_listed", of + " * 64", "bytes_downloaded", of + " * 64"}
	}
	ofLarge := fmt.Sprintf("(case when n = 0 then %d else 10 end)", c.large)
	copies := func(table, from, numbers string, columns ...string) {
		in.t.Helper()
		rows, err := in.db.Query(in.t.Context(), "select column_name::text from information_schema.columns where table_schema || '.' || table_name = $1 and is_generated = 'NEVER'", table)
		in.must(err)
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		in.must(err)
		values := make([]string, len(all))
		for i, name := range all {
			values[i] = "old." + name
			for k := 0; k < len(columns); k += 2 {
				if columns[k] == name {
					values[i] = columns[k+1]
				}
			}
		}
		in.fill(table, fmt.Sprintf("insert into %s (%s) select %s from (select * from %s where %s limit 1) old, %s", table, strings.Join(all, ","), strings.Join(values, ","), table, from, numbers))
	}
	copies("accession.batch", "status = 'completed'", batches, about("id", id("bid", "n/10"), "status", state("completed", "failed"), "rows_listed", ofLarge, "submitted_at", "old.submitted_at - (1000000 - n) * interval '1 minute'")...)
	copies("accession.job", "status = 'completed'", each, about("id", ofJob, "batch_id", batch, "status", state("completed", "failed"), "manifest_row", "n % 10",
		"primary_identifier", ark, "host", url, "created_at", "old.created_at - (1000000 - n) * interval '1 minute'")...)
	copies("accession.job_transition", "to_status = 'completed'", each, "job_id", ofJob, "batch_id", batch)
	copies("accession.file", "true", files, about("raw_file_hash", "md5('a' || f) || md5('b' || f)", "job_id", ofJob, "batch_id", batch, "source", ofJob, "seq", "1000 + f", "host", url, "path", "'part/letter' || f || '.txt'")...)
	copies("accession.file_count", "id like 'jid%'", each, append(sum(strconv.Itoa(c.files)), "id", ofJob)...)
	copies("accession.file_count", "id like 'bid%'", batches, append(sum(ofLarge+" * "+strconv.Itoa(c.files)), "id", id("bid", "n/10"))...)
	copies("record.object", "true", each, "primary_identifier", ark, "collection", rare("'test'", "rare"), "erc_what", rare("'Letter ' || n % 1000", "rare"))
	copies("record.object_version", "true", each, "primary_identifier", ark, "job_id", ofJob, "batch_id", batch, "submitter", user, "profile_name", rare("'test'", "rare"))
	copies("record.object_file", "kind = 'producer'", each, "primary_identifier", ark, "name", rare("'part/letter' || n || '.txt'", "part/rare.txt"), "sha256", "md5('a' || n) || md5('b' || n)")
	in.fill("record.delivery", fmt.Sprintf("insert into record.delivery (key, channel, about, batch_id, job_id, recipients, state, attempts, last_error, last_attempt_at, delivered_at) "+
		"select 'crowd/' || n, 'callback', 'job', %s, %s, array['https://callbacks.example.org/' || n], %s, 1, '', now(), now() from %s", batch, ofJob, state("delivered", "failed"), each))
	_, err := in.db.Exec(in.t.Context(), "vacuum analyze")
	in.must(err)
}

// fill inserts many rows into a table without its indexes, which are made again afterwards: that
// takes a fraction of the time.
func (in *installation) fill(table, insert string) {
	in.t.Helper()
	begun, ctx := time.Now(), in.t.Context()
	rows, err := in.db.Query(ctx, `select case when c.oid is null then format('drop index %s', i.indexrelid::regclass) else format('alter table %s drop constraint %I', i.indrelid::regclass, c.conname) end,
		case when c.oid is null then pg_get_indexdef(i.indexrelid) else format('alter table %s add constraint %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) end
		from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u') where i.indrelid = $1::text::regclass and not exists (select from pg_constraint f where f.contype = 'f' and f.conindid = i.indexrelid)`, table)
	in.must(err)
	type index struct{ Drop, Make string }
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	in.must(err)
	c, err := in.db.Acquire(ctx)
	in.must(err)
	defer c.Release()
	run := func(sql string) {
		in.t.Helper()
		if _, err := c.Exec(ctx, sql); err != nil {
			in.t.Fatalf("%s: %v", sql, err)
		}
	}
	run("set maintenance_work_mem = '512MB'")
	for _, i := range all {
		run(i.Drop)
	}
	run(insert)
	filled := time.Since(begun)
	for _, i := range all {
		run(i.Make)
	}
	run("reset maintenance_work_mem")
	in.t.Logf("%s: %v, %v of it for %d indexes; %d MiB", table, time.Since(begun).Round(time.Millisecond), (time.Since(begun) - filled).Round(time.Millisecond), len(all), in.count("select pg_total_relation_size($1::text::regclass) >> 20", table))
}

// BenchmarkContent measures 64 MiB in and out over HTTP, beside nginx on the same machine,
// which stores what PUT sends and sends what is stored. of-nginx compares the rates of one
// run. The service reads and compares a file twice when it comes and once when it goes.
func BenchmarkContent(b *testing.B) {
	const size = 64 << 20
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{9}).Read(content)
	c := clientOfMany()
	nginx, rates := nginxServer(b), map[string]float64{}
	measure := func(name string, do func(ctx context.Context, i int64) error) {
		b.Run(name, func(b *testing.B) {
			shared(b, 1, 2, do)
			b.ResetTimer()
			shared(b, 1, b.N, do)
			rate := float64(b.N) * size / b.Elapsed().Seconds()
			b.ReportMetric(rate/(1<<20), "MiB/s")
			way, of, _ := strings.Cut(name, "/")
			if of == "nginx" {
				rates[way] = rate
			} else if rates[way] > 0 {
				b.ReportMetric(rate/rates[way], "of-nginx")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	in := newInstallation(b, "listen_http=127.0.0.1:0")
	ana := in.keyOf("ana", "depositor", "--collection", "test")
	stop := in.serveInProcess().stop
	server := webServer(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }))
	in.rest(in.depositFor("test", "ana", server+"/large.bin", domain.TypeFile))
	stop()
	d := in.doorOf(in.serveInProcess(run.RoleHTTP))
	measure("in/nginx", func(ctx context.Context, i int64) error {
		_, err := exchange(ctx, c, http.MethodPut, fmt.Sprintf("%s/f%d", nginx, i%4), "", bytes.NewReader(content), size)
		return err
	})
	measure("in/accession", func(ctx context.Context, i int64) error {
		_, err := exchange(ctx, c, http.MethodPost, fmt.Sprintf("%s/v1/uploads?profile=test&name=f%d.bin", d.url, i), ana, bytes.NewReader(content), size)
		return err
	})
	whole := func(url, key string) func(ctx context.Context, i int64) error {
		return func(ctx context.Context, _ int64) error {
			n, err := exchange(ctx, c, http.MethodGet, url, key, http.NoBody, 0)
			if err == nil && n != size {
				err = fmt.Errorf("%d bytes", n)
			}
			return err
		}
	}
	measure("out/nginx", whole(nginx+"/f1", ""))
	measure("out/accession", whole(d.url+"/v1/objects/"+strings.ReplaceAll(in.object(), "/", "%2F")+"/versions/0/files/large.bin", ana))
}
