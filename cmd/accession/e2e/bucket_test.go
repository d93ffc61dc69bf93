package e2e

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// TestFilesOfABucket: what begins so in a bucket is found, downloaded and deposited like what web
// servers have; of other buckets nothing is, though the key may read them; the secret is seen
// nowhere.
func TestFilesOfABucket(t *testing.T) {
	t.Parallel()
	server := bucket.Serve(t, false, "sky", "closed")
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

	for at, want := range map[string]string{"s3://sky/night/20261120_a.fits": "completed", "s3://sky/day/c.txt": "closed to this collection", "s3://sky/night/none": "404"} {
		code, out, errs := in.call("submit", "--profile", "test", "--submitter", "ana", "--watch", at)
		if !strings.Contains(out+errs, want) {
			t.Errorf("%s: exit code %d, want %q\n%s%s", at, code, want, out, errs)
		}
	}
	if strings.Contains(service.log.String(), bucket.SecretKey) || strings.Contains(service.log.String(), "X-Amz-Signature") {
		t.Error("the log has a secret")
	}
}
