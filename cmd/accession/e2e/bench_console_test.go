//go:build !race

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/cputime"
)

// BenchmarkConsole measures the pages of the console with 10,000 and 1,000,000 jobs in the tables and
// ten times as many files (ACCESSION_BENCH_JOBS chooses another number, ACCESSION_BENCH_FILES how many
// files of each), ten jobs to a batch, but a tenth of all in one; one in a hundred has failed. Of each page: the median and the 99th percentile of the time until its first byte comes, and
// until its last, its bytes on the wire, and the statements that PostgreSQL is sent for it. Then 200
// pages follow live, and are read again as the script does, while jobs are held and released.
func BenchmarkConsole(b *testing.B) {
	chosen := func(name string) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(name), "0"))
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	sizes := []int{10_000, 1_000_000}
	if jobs := chosen("ACCESSION_BENCH_JOBS"); jobs > 0 {
		sizes = []int{jobs}
	}
	for _, jobs := range sizes {
		b.Run(strconv.Itoa(jobs), func(b *testing.B) { benchPages(b, jobs, cmp.Or(chosen("ACCESSION_BENCH_FILES"), 10)) })
	}
}

// crowdedConsole is a console over full tables.
type crowdedConsole struct {
	*installation
	b       *testing.B
	served  *service // by a process of its own
	url     string
	counted string // where a process answers whose statements are counted
	meter   *statements
	jobs    int
	waits   domain.BatchID
	waiting []domain.JobID // of it, which are held and released
}

func benchPages(b *testing.B, jobs, files int) {
	c := newCrowdedConsole(b, jobs, files)
	sessions := map[string]string{}
	for _, user := range []string{"olga", "user0"} {
		sessions[user] = c.session(c.url, user)
	}
	client := &wired{}
	client.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DialContext: client.dial}}
	for _, page := range c.pages(sessions) {
		session := sessions[page.as]
		var first, whole []time.Duration
		var bytes, asked int64
		b.Run("page="+page.name, func(b *testing.B) {
			if first == nil {
				for range 3 {
					c.read(client.Client, c.url+page.path, session)
				}
				before := client.bytes.Load()
				for begun := time.Now(); len(first) < 100 && (len(first) < 10 || time.Since(begun) < time.Minute); {
					f, w := c.read(client.Client, c.url+page.path, session)
					first, whole = append(first, f), append(whole, w)
				}
				bytes = (client.bytes.Load() - before) / int64(len(first))
				c.read(client.Client, c.counted+page.path, session) // which prepares the statements
				was := c.meter.n.Load()
				c.read(client.Client, c.counted+page.path, session)
				asked = c.meter.n.Load() - was
				slices.Sort(first)
				slices.Sort(whole)
			}
			b.ResetTimer()
			for range b.N {
				c.read(client.Client, c.url+page.path, session)
			}
			ms := func(all []time.Duration, percent int) float64 { return all[len(all)*percent/100].Seconds() * 1000 }
			b.ReportMetric(ms(first, 50), "first-p50-ms")
			b.ReportMetric(ms(first, 99), "first-p99-ms")
			b.ReportMetric(ms(whole, 99), "whole-p99-ms")
			b.ReportMetric(float64(bytes), "bytes")
			b.ReportMetric(float64(asked), "statements")
			b.ReportMetric(float64(len(first)), "reads")
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("followers=0", func(b *testing.B) { c.follow(b, 0) })
	b.Run("followers=200", func(b *testing.B) { c.follow(b, 200) })
}

func newCrowdedConsole(b *testing.B, jobs, files int) *crowdedConsole {
	b.Helper()
	in := newInstallation(b, "listen_http=127.0.0.1:0", "postgres_conns=8")
	c := &crowdedConsole{installation: in, b: b, jobs: jobs}
	for i := range 5 {
		in.says(0, []string{"user", "add", fmt.Sprint("rita", i)})
		in.says(0, []string{"user", "grant", fmt.Sprint("rita", i), "reader", "--all"})
		in.withPassword(fmt.Sprint("rita", i), password)
	}
	in.says(0, []string{"user", "add", "olga"})
	in.says(0, []string{"user", "grant", "olga", "admin", "--all"})
	in.withPassword("olga", password)
	in.says(0, []string{"user", "add", "user0"}) // whose are a thousandth of all
	in.says(0, []string{"user", "grant", "user0", "depositor", "--collection", "test"})
	in.withPassword("user0", password)
	stop := in.serveInProcess().stop
	in.rest(in.depositFor("test", "tester", goodServer(b)+"/batch.checkm", domain.TypeBatchManifest))
	in.says(0, []string{"queue", "pause", "pending", "--reason", "jobs wait", "--yes"})
	waiting := in.depositFor("test", "tester", webServer(b, rowsThatFail(20))+"/rows.checkm", domain.TypeFileBatchManifest)
	waitFor(b, "the jobs that wait", func() bool {
		return in.count("select count(*) from accession.job where batch_id = $1 and status = 'pending'", waiting) == 20
	})
	rows, err := in.db.Query(b.Context(), "select id from accession.job where batch_id = $1", waiting)
	in.must(err)
	for rows.Next() {
		var id domain.JobID
		in.must(rows.Scan(&id))
		c.waiting = append(c.waiting, id)
	}
	in.must(rows.Err())
	c.waits = waiting
	stop()
	in.says(0, []string{"dataset", "add", "nights", "--profile", "test", "--reason", "to look at it"})
	in.says(0, []string{"discover", "add", goodServer(b) + "/none/", "--dataset", "nights", "--reason", "to look at it"})
	in.says(0, []string{"slot", "add", "nights", "20261127", "--from", "2126-11-27T18:00Z", "--to", "2126-11-28T09:00Z"})
	in.says(0, []string{"compute", "submit", "--dataset", "nights", "--input", "https://data.example.org/a.nc"})
	list := filepath.Join(b.TempDir(), "shelf.txt")
	in.must(os.WriteFile(list, []byte("ark:/99999/none\n"), 0o600))
	in.says(0, []string{"query", "submit", "--submitter", "ana", list})
	// All begin now: a process does not start beside tables that are ahead of the tree.
	in.serveInProcess(run.RoleRelay, run.RoleProjector)
	c.served = in.serve("--roles", "http")
	waitFor(b, "the process", func() bool { return peopleAt.MatchString(c.served.log.String()) })
	c.url = in.doorOf(c.served).url
	c.meter = newStatements(b, in.cfg.Postgres)
	cfg := in.cfg
	in.cfg.Postgres = c.meter.url
	c.counted = in.doorOf(in.serveInProcess(run.RoleHTTP)).url
	in.cfg = cfg
	in.shown()
	in.crowd(crowded{jobs: jobs, files: files, large: jobs / 10})
	return c
}

// session returns the cookie of a user who has signed in.
func (c *crowdedConsole) session(at, user string) string {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(at+"/console/sign-in", url.Values{"name": {user}, "password": {password}})
	c.must(err)
	c.must(res.Body.Close())
	session, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
	return session
}

// sent sends a form, and returns where its answer leads.
func (c *crowdedConsole) sent(path, session, media string, form io.Reader) string {
	r, err := http.NewRequestWithContext(c.b.Context(), http.MethodPost, c.url+"/console/"+path, form)
	c.must(err)
	r.Header.Set("Cookie", session)
	r.Header.Set("Content-Type", media)
	res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	c.must(err)
	text, err := io.ReadAll(res.Body)
	c.must(err)
	c.must(res.Body.Close())
	to, is := strings.CutPrefix(res.Header.Get("Location"), "/console/")
	if !is {
		c.b.Fatalf("%s: %s %s", path, res.Status, text)
	}
	return to
}

// readPage is a page that a user reads.
type readPage struct{ name, path, as string }

// pages are all pages of the console, and some of them as they are chosen most; and as a depositor has
// them, whose lists have a condition of their own.
func (c *crowdedConsole) pages(sessions map[string]string) (all []readPage) {
	one := func(sql string) (id string) {
		c.must(c.db.QueryRow(c.b.Context(), sql).Scan(&id))
		return id
	}
	middle := c.jobs/4 + 30 // which is not rare
	job, batch, large := fmt.Sprintf("jid%010d", 1000+middle), fmt.Sprintf("bid%010d", 1000+middle/10), "bid0000001000"
	file := one("select raw_file_hash from accession.file where job_id = '" + job + "' limit 1")
	object := url.PathEscape(fmt.Sprintf("ark:/99999/crowd%d", middle))
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	for name, value := range map[string]string{"profile": "test", "type": "file"} {
		c.must(parts.WriteField(name, value))
	}
	part, err := parts.CreateFormFile("file", "letter.txt")
	c.must(err)
	_, err = part.Write([]byte("a letter"))
	c.must(err)
	c.must(parts.Close())
	deposit := c.sent("new", sessions["user0"], parts.FormDataContentType(), &form) // no process takes it from where it is
	bulk := c.sent("jobs/all?verb=priority&to=7&state=pending&batch="+string(c.waits), sessions["olga"], "application/x-www-form-urlencoded", strings.NewReader("reason=they+wait"))
	moment := "?at=" + one("select max(seq)::text from accession.event")
	past := one("select id from accession.batch where status = 'completed' and submitter = 'tester' limit 1")
	for _, p := range [][2]string{
		{"sign-in", "sign-in"}, {"overview", ""}, {"batches", "batches"}, {"batches/failed", "batches?state=failed"}, {"batches/sorted", "batches?collection=rare&sort=-title"},
		{"batch", "batches/" + batch}, {"batch/large", "batches/" + large}, {"jobs", "jobs"}, {"jobs/failed", "jobs?state=failed"}, {"jobs/of-large", "jobs?batch=" + large},
		{"jobs/sorted", "jobs?collection=rare&sort=title"}, {"job", "jobs/" + job}, {"files", "files"}, {"files/of-large", "files?batch=" + large}, {"files/by-path", "files?job=" + job + "&sort=path"}, {"file", "files/" + file},
		{"failures", "failures"}, {"events", "events"}, {"queues", "queues"}, {"reports", "reports"}, {"reports/batch", "reports/batch?batch=" + batch}, {"reports/failures", "reports/failures"},
		{"new", "new"}, {"more", "more"}, {"directories", "directories"}, {"datasets", "datasets"}, {"slots", "slots"}, {"compute", "compute"}, {"objects", "objects"}, {"withdrawals", "withdrawals"},
		{"workers", "workers"}, {"deposits", "deposits"}, {"poison", "poison"}, {"queries", "queries"}, {"people", "people"}, {"keys", "keys"}, {"audit", "audit"},
		{"directory", "directories/nights"}, {"dataset", "datasets/nights"}, {"slot", "slots/" + one("select id from accession.slot limit 1")},
		{"entry", "compute/" + one("select id from accession.compute_entry limit 1")}, {"query", "queries/" + one("select id from accession.query limit 1")},
		{"object", "objects/" + object}, {"version", "objects/" + object + "/versions/1"}, {"person", "people/olga"}, {"bulk", "bulk"}, {"servers", "servers"},
		{"action", "jobs/" + string(c.waiting[0]) + "/do/hold"}, {"to-all", "jobs/all?state=failed&verb=requeue"},
		{"profiles", "profiles"}, {"profile", "profiles/test"}, {"new-user", "new-user"}, {"deposit", deposit}, {"bulk-action", bulk},
		{"overview/then", moment}, {"batch/then", "batches/" + past + moment}, {"job/then", "jobs/" + string(c.waiting[0]) + moment}, {"file/then", "files/" + one("select raw_file_hash from accession.file where batch_id = '"+past+"' limit 1") + moment},
	} {
		all = append(all, readPage{p[0], "/console/" + p[1], "olga"})
	}
	own := "jid0000001001" // in the large batch
	for _, p := range [][2]string{
		{"overview", ""}, {"batches", "batches"}, {"batches/failed", "batches?state=failed"}, {"batches/sorted", "batches?sort=-title"}, {"batch/large", "batches/" + large}, {"jobs", "jobs"}, {"jobs/failed", "jobs?state=failed"},
		{"jobs/of-large", "jobs?batch=" + large}, {"job", "jobs/" + own}, {"files", "files"}, {"files/of-large", "files?batch=" + large}, {"failures", "failures"}, {"events", "events"}, {"objects", "objects"}, {"queries", "queries"},
		{"deposits", "deposits"}, {"deposit", deposit}, {"new", "new"}, {"more", "more"},
	} {
		all = append(all, readPage{"depositor/" + p[0], "/console/" + p[1], "user0"})
	}
	return all
}

// read reads a page, and returns how long it takes until its first byte and until its last.
func (c *crowdedConsole) read(client *http.Client, at, session string) (first, whole time.Duration) {
	r, err := http.NewRequestWithContext(c.b.Context(), http.MethodGet, at, http.NoBody)
	c.must(err)
	r.Header.Set("Cookie", session)
	begun := time.Now()
	res, err := client.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Since(begun) }})))
	c.must(err)
	_, err = io.Copy(io.Discard, res.Body)
	c.must(err)
	c.must(res.Body.Close())
	if res.StatusCode != http.StatusOK {
		c.b.Fatalf("%s: %s", at, res.Status)
	}
	return first, time.Since(begun)
}

// wired is a client that counts the bytes that come to it.
type wired struct {
	*http.Client
	bytes atomic.Int64
}

func (w *wired) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return &countedConn{conn, w}, err
}

type countedConn struct {
	net.Conn
	of *wired
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.bytes.Add(int64(n))
	return n, err
}

// follow has so many pages follow live for a while, and be read again as their script does while events
// come: a moment after the first, and no longer than a fifth of the time. What the script reads once
// more when no more come is left out: they come until the end. Meanwhile jobs are held and released.
func (c *crowdedConsole) follow(b *testing.B, followers int) {
	const while, pause = 20 * time.Second, 100 * time.Millisecond
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * followers}}
	kinds := []struct{ path, follow string }{{"", "kind=batch,job,setting"}, {"batches", "kind=batch,job,file"}, {"jobs", "kind=batch,job,file"}, {"batches/" + fmt.Sprintf("bid%010d", 1000+c.jobs/20), "batch=" + fmt.Sprintf("bid%010d", 1000+c.jobs/20)},
		{"jobs/" + string(c.waiting[0]), "job=" + string(c.waiting[0])}}
	sessions := make([]string, 5)
	for i := range sessions {
		sessions[i] = c.session(c.url, fmt.Sprint("rita", i))
	}
	var reads, events atomic.Int64
	var open, all sync.WaitGroup
	open.Add(followers)
	for i := range followers {
		kind, session := kinds[i%len(kinds)], sessions[i/len(kinds)%len(sessions)]
		came := make(chan struct{}, 1)
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/console/stream?"+kind.follow, http.NoBody)
			c.should(err)
			r.Header.Set("Cookie", session)
			res, err := client.Do(r)
			open.Done()
			if err != nil || res.StatusCode != http.StatusOK {
				b.Errorf("a page cannot follow: %v %+v", err, res)
				return
			}
			defer res.Body.Close()
			for lines := bufio.NewScanner(res.Body); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "data: ") {
					events.Add(1)
					select {
					case came <- struct{}{}:
					default:
					}
				}
			}
		})
		all.Go(func() {
			var took time.Duration
			for ctx.Err() == nil {
				select {
				case <-ctx.Done():
					return
				case <-came:
				}
				select {
				case <-ctx.Done():
					return
				case <-time.After(max(300*time.Millisecond, 4*took)):
				}
				begun := time.Now()
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/console/"+kind.path, http.NoBody)
				c.should(err)
				r.Header.Set("Cookie", session)
				res, err := client.Do(r)
				if err != nil {
					continue // the end
				}
				if _, err = io.Copy(io.Discard, res.Body); err == nil && res.StatusCode == http.StatusOK {
					reads.Add(1)
				} else if ctx.Err() == nil {
					b.Errorf("a page is not read again: %s %v", res.Status, err)
				}
				_ = res.Body.Close() // it was read
				took = time.Since(begun)
			}
		})
	}
	open.Wait()
	pid := c.served.cmd.Process.Pid
	before, begun := cputime.Now(b, pid), time.Now()
	n, most := 0, int64(0)
	for ; n%2 != 0 || time.Since(begun) < while; n++ {
		var err error
		if job := c.waiting[n/2%len(c.waiting)]; n%2 == 0 {
			_, err = c.app.HoldJob(b.Context(), job, "a pause")
		} else {
			_, err = c.app.ReleaseJob(b.Context(), job, "it goes on")
		}
		c.must(err)
		most = max(most, resident(pid))
		<-time.After(pause)
	}
	cost, took := cputime.Now(b, pid).Since(before), time.Since(begun)
	stop()
	all.Wait()
	client.CloseIdleConnections()
	b.ReportMetric(cost.Ours.Seconds()/took.Seconds(), "processors")
	b.ReportMetric(cost.Postgres.Seconds()/took.Seconds(), "postgres-processors")
	b.ReportMetric(float64(most)/(1<<20), "MiB")
	b.ReportMetric(float64(n)/took.Seconds(), "changes/s")
	b.ReportMetric(float64(events.Load())/took.Seconds(), "events/s")
	b.ReportMetric(float64(reads.Load())/took.Seconds(), "pages/s")
	b.ReportMetric(0, "ns/op")
}

// resident returns the bytes of memory that a process has, 0 = it has ended.
func resident(pid int) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var all, pages int64
	_, _ = fmt.Sscan(string(data), &all, &pages) // of one that has ended nothing
	return pages * int64(os.Getpagesize())
}

// statements stands between a process and PostgreSQL and counts the statements it is sent, without
// those that begin and end transactions.
type statements struct {
	url string
	n   atomic.Int64
}

func newStatements(b *testing.B, to string) *statements {
	b.Helper()
	at, err := url.Parse(to)
	if err != nil {
		b.Fatal(err)
	}
	server := at.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	at.Host = l.Addr().String()
	q := at.Query()
	q.Set("sslmode", "disable")
	at.RawQuery = q.Encode()
	s := &statements{url: at.String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			postgres, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(client, postgres) // until one of both ends
				_ = client.Close()
			}()
			go func() {
				s.forward(postgres, client)
				_ = postgres.Close()
			}()
		}
	}()
	return s
}

// forward sends on what a client says, message by message.
func (s *statements) forward(to io.Writer, from io.Reader) {
	in, head := bufio.NewReader(from), 0 // the first message has no type
	for {
		message := make([]byte, head+4)
		if _, err := io.ReadFull(in, message); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(message[head:])-4)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		if head == 1 && (message[0] == 'E' || message[0] == 'Q' && !slices.ContainsFunc([]string{"begin", "commit", "rollback"}, func(word string) bool {
			return bytes.HasPrefix(bytes.ToLower(body), []byte(word))
		})) {
			s.n.Add(1)
		}
		if _, err := to.Write(slices.Concat(message, body)); err != nil {
			return
		}
		head = 1
	}
}
