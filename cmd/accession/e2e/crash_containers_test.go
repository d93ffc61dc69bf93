//go:build !race

package e2e

import (
	"strings"
)

// unpacks: a container is unpacked once, and a bad one refused once, whichever process died.
func unpacks(o *crashInstallation, point string) {
	what, status, files := "box", "completed", 2
	if strings.HasPrefix(point, "daemon/downloading/discard-container/") {
		what, status, files = "bad-box", "failed", 0
	}
	id := o.deposit(what)
	o.dies(point, nil, "serve")
	o.finish(id)
	job := o.jobOf(id)
	if n := o.count("select count(*) from accession.job where id = $1 and status = $2", job, status); n != 1 {
		o.t.Errorf("%s: %s is not %s", point, job, status)
	}
	if n := o.count("select count(*) from accession.file where job_id = $1", job); n != files+1 {
		o.t.Errorf("%s: %s has %d files, want %d and its container", point, job, n, files)
	}
	const of = " from accession.event e join accession.file f on f.raw_file_hash = e.aggregate_id where f.job_id = $1 and e.type = $2"
	if n := o.count("select count(distinct f.path)"+of, job, "file.processed"); n != files {
		o.t.Errorf("%s: %d files were processed, want %d", point, n, files)
	}
	if n := o.count("select count(*)"+of, job, "file.processed"); n != files {
		o.t.Errorf("%s: the files were processed %d times", point, n)
	}
	if n := o.count("select count(*) from accession.event where aggregate_id = $1 and type in ('job.processed', 'job.failed')", job); n != 1 {
		o.t.Errorf("%s: the job went on %d times", point, n)
	}
	if n := o.count("select count(*) from record.object_file f join accession.job j on j.primary_identifier = f.primary_identifier where j.id = $1 and f.name in ('a.txt', 'b/c.txt')", job); n != files {
		o.t.Errorf("%s: %d files are stored, want %d", point, n, files)
	}
}
