package e2e

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// TestFilesOfABucket: what begins so in a bucket is found, downloaded and deposited like what web
// servers have, its type found out by its content; of other buckets nothing is, though the key may
// read them; the secret is seen nowhere.
func TestFilesOfABucket(t *testing.T) {
	t.Parallel()
	server := bucket.Rclone(t, "sky", "closed")
	server.Put("sky", "night/20261120_a.fits", []byte("SIMPLE  = T"))
	server.Put("sky", "night/more/20261121_ä b.txt", []byte("hours"))
	server.Put("sky", "day/c.txt", []byte("noon"))
	server.Put("closed", "night/d.txt", []byte("not for all"))
	in := newInstallation(t, "s3_endpoint="+server.URL, "s3_access_key="+bucket.AccessKey, "s3_secret_key="+bucket.SecretKey, "ready_interval=100ms")
	in.editProfile("allow: [127.0.0.1/32]", "allow: [127.0.0.1/32, 's3://sky/night/']")
	p := newPolledAt(t, in, "s3://sky/night/", "--recursive")
	service := in.serveInProcess(run.RoleDaemons, run.RoleDownload, run.RoleReady)
	if last := p.polled(); last.Outcome != "complete" || last.New != 2 || last.Directories != 2 {
		t.Errorf("%+v", last)
	}
	p.reaches("more/20261121_ä b.txt", domain.FileReady)
	p.went("more/20261121_ä b.txt", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY")
	if got := p.content("more/20261121_ä b.txt"); got != "hours" {
		t.Errorf("%q", got)
	}

	server.Put("sky", "night/20261122_e.txt", []byte("new"))
	if last := p.asked(); last.Outcome != "complete" || last.New != 1 || last.Known != 2 || last.Gone != 0 {
		t.Errorf("%+v", last)
	}
	p.reaches("20261122_e.txt", domain.FileReady)
	in.says(0, []string{"discover", "add", "s3://closed/night/", "--name", "closed", "--dataset", "nights", "--reason", "a mistake"})
	in.shown()
	p.must(p.poller.Once(p.ctx()))
	in.says(0, []string{"discover", "show", "closed"}, "the bucket is closed to this collection", "s3://BUCKET/PREFIX in fetch.allow")

	server.Put("sky", "night/box", zipOf(t, map[string]string{"of a box.txt": "night\n"}))
	for at, want := range map[string]string{"s3://sky/night/20261120_a.fits": "completed", "s3://sky/night/box": "completed", "s3://sky/day/c.txt": "closed to this collection", "s3://sky/night/none": "404"} {
		code, out, errs := in.call("submit", "--profile", "test", "--submitter", "ana", "--watch", at)
		if !strings.Contains(out+errs, want) {
			t.Errorf("%s: exit code %d, want %q\n%s%s", at, code, want, out, errs)
		}
	}
	in.shown()
	if n := in.count("select count(*) from accession.file where path = 'of a box.txt' and status = 'PROCESSED'"); n != 1 {
		t.Errorf("what is in the container without an ending was stored %d times", n)
	}
	if strings.Contains(service.log.String(), bucket.SecretKey) || strings.Contains(service.log.String(), "X-Amz-Signature") {
		t.Error("the log has a secret")
	}
}

// TestObjectsInBuckets: the object store of an installation and the replicas of a profile are
// buckets of a service of its own. Deposits of files, and of URLs, are stored there in both
// layouts, are read and exported; what a bucket has lost comes back from the other one; the key is
// seen nowhere.
func TestObjectsInBuckets(t *testing.T) {
	t.Parallel()
	server := bucket.Rclone(t, "archive", "copies")
	in := newInstallation(t, "store="+server.Location("archive", "own"))
	in.editProfile("fetch:", "replicas: ['"+server.Location("copies", "")+"']\nfetch:")
	in = in.with()
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.String() + "\n")) }))
	file := filepath.Join(t.TempDir(), "tide ä.txt")
	in.must(os.WriteFile(file, []byte("low\n"), 0o600))
	deposit := func(payload, mode string) string {
		t.Helper()
		batch := in.submit(app.Deposit{Payload: payload, LocalIDs: []string{"tides"}, Title: "Tides", Mode: mode})
		run := in.serve()
		run.works()
		jobs := in.rest(batch).Jobs
		run.stop()
		in.shown()
		if len(jobs) != 1 || jobs[0].Status != string(domain.JobCompleted) {
			t.Fatalf("%+v", jobs)
		}
		if strings.Contains(run.log.String(), bucket.SecretKey) {
			t.Error("the log has the key")
		}
		return jobs[0].PrimaryIdentifier
	}
	object := deposit(file, "add")
	in.editProfile("fetch:", "layout: ocfl\nfetch:")
	in = in.with()
	deposit(base+"/high.txt", "update")
	in.serveInProcess("relay", "projector")
	in.says(0, words("verify --deep"), "no differences")
	out := filepath.Join(t.TempDir(), "out")
	for version, want := range map[string]string{"1": "low\n", "2": "/high.txt\n"} {
		to := filepath.Join(out, version)
		in.says(0, []string{"object", "export", object, "--version", version, "--dir", to}, "version "+version)
		if !slices.Contains(slices.Collect(maps.Values(in.content(to))), want) {
			t.Errorf("version %s has %v", version, in.content(to))
		}
	}
	var first, second string
	in.must(in.db.QueryRow(t.Context(), "select max(key) filter (where version = 1), max(key) filter (where version = 2) from record.object_file where kind = 'producer'").Scan(&first, &second))
	server.Remove("archive", "own/"+first)
	server.Remove("copies", second)
	in.says(20, words("verify"))
	in.says(0, words("verify --repair --yes"))
	in.says(0, words("verify --deep"), "no differences")
}
