package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/store/description"
	"github.com/accession-ingest/accession/domain"
)

// A course is how one object, or one in each row, comes to be: its deposits in their order.
type course struct {
	kind   domain.SubmissionType
	naming string   // own, local, or none: how the deposits name it
	modes  []string // of its deposits
	n      int      // which course
	ids    []domain.BatchID
}

// modesOf are the courses of a naming: an object is made, updated and made anew; one is made by an
// update, which needs a name.
func modesOf(naming string) [][]string {
	if naming == "none" {
		return [][]string{{"add", "update", "add"}}
	}
	return [][]string{{"add", "update", "add"}, {"update"}}
}

// rows is how many objects a deposit of it has.
func (c *course) rows() int {
	if c.kind.Batch() {
		return 2
	}
	return 1
}

// names says by what deposit i names the object of a row: the update gives one of its local ids.
func (c *course) names(row, i int) (primary string, local []string) {
	switch c.naming {
	case "own":
		return fmt.Sprintf("ark:/99999/fk4own%dx%d", c.n, row), nil
	case "local":
		local = []string{fmt.Sprintf("shelf %d/%d", c.n, row), fmt.Sprintf("drawer %d/%d", c.n, row)}
		return "", local[:2-i%2]
	}
	return "", nil
}

func (c *course) title(row, i int) string {
	return fmt.Sprintf("Course %d, row %d, deposit %d", c.n, row, i)
}

// files are those that deposit i brings to the object of a row, by name.
func (c *course) files(row, i int) map[string]string {
	all := map[string]string{}
	for _, name := range [][]string{{"sheets/kept.txt", "changed.txt"}, {"changed.txt", "new.txt"}, {"last.txt"}}[i] {
		all[name] = fmt.Sprintf("%s of %s\n", name, c.title(row, i))
	}
	if p := c.kind.PayloadType(); p == domain.TypeFile { // its name is that of its URL
		name := []string{"kept.txt", "new.txt", "last.txt"}[i]
		all = map[string]string{name: fmt.Sprintf("%s of %s\n", name, c.title(row, i))}
		if c.kind == domain.TypeMetadata {
			all[name] = recordsHead + "<record><identifier>" + c.title(row, i) + "</identifier><titles><title>A title</title></titles></record></records>\n"
		}
	}
	return all
}

// content returns what the depositor's server has of deposit i at a path: the payload of a row, or
// one of its files.
func (c *course) content(t testing.TB, base string, row, i int, path string) []byte {
	files, here := c.files(row, i), fmt.Sprintf("%s/%d/%d/%d/", base, c.n, row, i)
	line := func(url string, data []byte, name string) string {
		sum := sha256.Sum256(data)
		return fmt.Sprintf("%s | sha256 | %x | %d | | %s", url, sum, len(data), name)
	}
	switch path {
	case "box":
		return zipOf(t, files)
	case "object":
		var rows []string
		for _, name := range slices.Sorted(maps.Keys(files)) {
			rows = append(rows, line(here+"f/"+name, []byte(files[name]), name))
		}
		return checkm("mrt-ingest-manifest", "", rows...)
	case "batch":
		var rows []string
		for row := range c.rows() {
			primary, local := c.names(row, i)
			name, data := c.payload(t, base, row, i)
			rows = append(rows, fmt.Sprintf("%s | %s | %s | Ana | %s | 2026", line(fmt.Sprintf("%s/%d/%d/%d/%s", base, c.n, row, i, name), data, ""),
				primary, strings.Join(local, "; "), c.title(row, i)))
		}
		profile := map[domain.SubmissionType]string{domain.TypeBatchManifest: "mrt-batch-manifest",
			domain.TypeContainerBatchManifest: "mrt-container-batch-manifest", domain.TypeFileBatchManifest: "mrt-single-file-batch-manifest"}[c.kind]
		return checkm(profile, batchColumns, rows...)
	}
	return []byte(files[strings.TrimPrefix(path, "f/")])
}

// payload returns the path and the content of what one job of deposit i is made from.
func (c *course) payload(t testing.TB, base string, row, i int) (path string, data []byte) {
	switch c.kind.PayloadType() {
	case domain.TypeContainer:
		path = "box"
	case domain.TypeObjectManifest:
		path = "object"
	default:
		path = "f/" + slices.Collect(maps.Keys(c.files(row, i)))[0]
	}
	return path, c.content(t, base, row, i, path)
}

// deposit is what is submitted as deposit i.
func (c *course) deposit(t testing.TB, base string, i int) app.Deposit {
	d := app.Deposit{Profile: "test", Submitter: "tester", Type: c.kind, Mode: c.modes[i], Creator: "Ana", Date: "2026", Title: c.title(0, i)}
	path, data := "batch", c.content(t, base, 0, i, "batch")
	if !c.kind.Batch() {
		d.Primary, d.LocalIDs = c.names(0, i)
		path, data = c.payload(t, base, 0, i)
	}
	sum := sha256.Sum256(data)
	d.Payload, d.Digest = fmt.Sprintf("%s/%d/0/%d/%s", base, c.n, i, path), "sha256:"+hex.EncodeToString(sum[:])
	return d
}

// unnamed reports whether deposit i is an update that does not name its object.
func (c *course) unnamed(i int) bool { return c.naming == "none" && c.modes[i] == "update" }

// TestEveryKindOfDeposit makes every deposit there is: each type that is added or updates, with an
// identifier of its own, with local ids, and without a name. All are submitted at once. Each
// object has the versions of its deposits in their order, and these the files that they must
// have, in the store and in the tables; an update that names no object is refused where it is
// submitted, and as a row by a report.
// Shows: P1 P4 P17
func TestEveryKindOfDeposit(t *testing.T) {
	t.Parallel()
	in := newPatient(t)
	in.takeRecords()
	var courses []*course
	for _, kind := range domain.SubmissionTypes {
		for _, naming := range []string{"own", "local", "none"} {
			for _, modes := range modesOf(naming) {
				courses = append(courses, &course{kind: kind, naming: naming, modes: modes, n: len(courses)})
			}
		}
	}
	var base string
	base = webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n, row, i int
		parts := strings.SplitN(r.URL.Path, "/", 5)
		if _, err := fmt.Sscan(strings.Join(parts[1:4], " "), &n, &row, &i); err != nil {
			t.Error(err)
		}
		_, _ = w.Write(courses[n].content(t, base, row, i, parts[4]))
	}))
	in.serveInProcess()
	for _, c := range courses {
		for i := range c.modes {
			s, err := in.app.Submit(in.ctx(), c.deposit(t, base, i))
			if refused := c.unnamed(i) && !c.kind.Batch(); refused != (err != nil) || refused && !strings.Contains(err.Error(), "an update must name its object") {
				t.Fatalf("%s by %s, deposit %d: %v", c.kind, c.naming, i, err)
			}
			c.ids = append(c.ids, s.Batch)
		}
	}
	minted := 0
	for _, c := range courses {
		minted += in.followed(c)
	}
	if n := in.count("select count(*) from record.identifier where state = 'done'"); n != minted {
		t.Errorf("%d identifiers were minted, want %d", n, minted)
	}
	if n := in.count("select count(*) from record.identifier"); n != minted {
		t.Errorf("%d identifiers are reserved, want %d", n, minted)
	}
	in.agree()
	in.says(0, words("verify"))
}

// followed checks what a course has come to, and returns how many identifiers were minted for it.
func (in *installation) followed(c *course) (minted int) {
	in.t.Helper()
	type object struct {
		primary  string
		versions []string // a line for each file of the depositor
	}
	objects := make([]object, c.rows())
	for i, id := range c.ids {
		if id == "" {
			continue
		}
		v := in.rest(id)
		if c.unnamed(i) {
			in.refusedRows(c, v)
			continue
		}
		rows := int64(c.rows())
		if v.Status != string(domain.BatchCompleted) || v.RowsListed == nil || *v.RowsListed != rows || v.JobsCompleted != rows || len(v.Jobs) != int(rows) ||
			len(v.ReportsMade) != 1 || len(v.ReportsMade[0].SuccessfulJobs) != int(rows) || len(v.Retries) != 0 || len(v.Warnings) != 0 {
			in.t.Errorf("%s by %s, deposit %d: %+v", c.kind, c.naming, i, v)
			return minted
		}
		mails := in.mails(id)
		if len(mails) != 1 || !strings.Contains(mails[0], fmt.Sprintf("Listed %[1]d, completed %[1]d, failed 0, deleted 0.", rows)) {
			in.t.Errorf("%s by %s, deposit %d: mails %q", c.kind, c.naming, i, mails)
		}
		for row, j := range v.Jobs {
			primary, local := c.names(row, i)
			o := &objects[row]
			if i == 0 || c.naming == "none" {
				o.primary, o.versions = j.PrimaryIdentifier, nil
				if c.naming != "own" {
					minted++
				}
			}
			number := len(o.versions) + 1
			if j.Status != string(domain.JobCompleted) || deref(j.LastSuccessfulStatus) != "notify" || j.RetryCount != 0 || j.ErcWhat != c.title(row, i) || j.ErcWho != "Ana" || j.ErcWhen != "2026" ||
				j.PrimaryIdentifier != o.primary || primary != "" && o.primary != primary || !strings.HasPrefix(o.primary, "ark:/99999/fk4") || !slices.Equal(j.LocalID, local) {
				in.t.Errorf("%s by %s, deposit %d, row %d: %s %q, local ids %q", c.kind, c.naming, i, row, j.Status, j.PrimaryIdentifier, j.LocalID)
			}
			files := c.files(row, i)
			if c.modes[i] == "update" && number > 1 { // and those that it does not bring
				for name, text := range c.files(row, i-1) {
					if files[name] == "" {
						files[name] = text
					}
				}
			}
			in.holds(j, files)
			o.versions = append(o.versions, j.ID)
			in.hasVersion(c, j, number, files, c.files(row, i))
		}
	}
	for row, o := range objects {
		last := len(c.modes) - 1
		_, local := c.names(row, last)
		const current = "select count(*) from record.object where primary_identifier = $1 and owner = 'The tests' and collection = 'test' and current_version = $2 " +
			"and erc_what = $3 and erc_who = 'Ana' and erc_when = '2026' and local_id = $4"
		if n := in.count(current, o.primary, len(o.versions), c.title(row, last), append([]string{}, local...)); n != 1 {
			in.t.Errorf("%s by %s: the object %s is not as its last deposit has it", c.kind, c.naming, o.primary)
		}
		_, all := c.names(row, 0)
		if n := in.count("select count(*) from record.local_id where primary_identifier = $1", o.primary); n != len(all) && last > 0 || last == 0 && n != len(local) {
			in.t.Errorf("%s by %s: %d local ids lead to %s", c.kind, c.naming, n, o.primary)
		}
	}
	return minted
}

// hasVersion checks the inventory of the version that a job has made, and the lives of the files
// that the deposit brought.
func (in *installation) hasVersion(c *course, j app.JobRow, number int, files, brought map[string]string) {
	in.t.Helper()
	var want, got []string
	for name, text := range files {
		sum := sha256.Sum256([]byte(text))
		_, comes := brought[name]
		want = append(want, fmt.Sprintf("producer %s %d %x brought %v", name, len(text), sum, comes))
	}
	slices.Sort(want)
	rows, err := in.db.Query(in.ctx(), "select v.primary_identifier, v.version, kind, name, size, sha256, not exists "+
		"(select from record.object_file o where o.primary_identifier = f.primary_identifier and o.key = f.key and o.version < f.version), v.files "+
		"from record.object_version v join record.object_file f using (primary_identifier, version) where job_id = $1 and batch_id = $2 and profile_name = 'test' and submitter = 'tester'", j.ID, j.BatchID)
	in.must(err)
	system, n := map[string]bool{}, 0
	for rows.Next() {
		var primary, kind, name, sha string
		var version, all int
		var size int64
		var fresh bool
		in.must(rows.Scan(&primary, &version, &kind, &name, &size, &sha, &fresh, &all))
		if n++; primary != j.PrimaryIdentifier || version != number || all != len(files)+2 {
			in.t.Errorf("%s by %s: %s is version %d of %s with %d files, want %d of %s with %d", c.kind, c.naming, j.ID, version, primary, all, number, j.PrimaryIdentifier, len(files)+2)
		}
		if kind == string(store.KindProducer) {
			got = append(got, fmt.Sprintf("%s %s %d %s brought %v", kind, name, size, sha, fresh))
		} else {
			system[name] = true
		}
	}
	in.must(rows.Err())
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || n != len(files)+2 || !system[description.ERCName] || !system[description.DublinCoreName] {
		in.t.Errorf("%s by %s: version %d of %s, with %v (-want +got):\n%s", c.kind, c.naming, number, j.PrimaryIdentifier, system, diff)
	}
	if c.kind.PayloadType() == domain.TypeContainer {
		in.membersLived(j.ID, "box", brought)
		return
	}
	for name, text := range brought {
		sum := sha256.Sum256([]byte(text))
		const lived = "select count(*) from accession.file where job_id = $1 and path = $2 and status = 'PROCESSED' and size = $3 and sha256 = $4 and download_attempts = 1 and processing_attempts = 1"
		if n := in.count(lived, j.ID, name, len(text), hex.EncodeToString(sum[:])); n != 1 {
			in.t.Errorf("%s by %s: %s of %s is not processed", c.kind, c.naming, name, j.ID)
		}
	}
	if n := in.count("select count(*) from accession.file where job_id = $1", j.ID); n != len(brought) {
		in.t.Errorf("%s by %s: %s has %d files, want %d", c.kind, c.naming, j.ID, n, len(brought))
	}
}

// refusedRows checks a batch of which each row is an update that names no object. A container may
// name it within.
func (in *installation) refusedRows(c *course, v app.BatchReportView) {
	in.t.Helper()
	code, says := domain.CodeRowFault, "line "
	if c.kind == domain.TypeContainerBatchManifest {
		code, says = reason.CodeIdentifierMissing, "mrt-erc.txt"
	}
	if v.Status != string(domain.BatchFailed) || v.JobsFailed != int64(c.rows()) || *v.RowsListed != int64(c.rows()) {
		in.t.Errorf("%s without names: %+v", c.kind, v.BatchSummary)
	}
	for _, j := range v.Jobs {
		m := deref(j.ReasonMessage)
		if deref(j.ReasonCode) != string(code) || deref(j.ReasonClass) != string(domain.ClassContent) || !strings.Contains(m, "an update must name its object") || !strings.Contains(m, says) {
			in.t.Errorf("%s without names: %s failed with %s, %s", c.kind, j.ID, deref(j.ReasonCode), m)
		}
		if n := in.count("select count(*) from record.object_version where job_id = $1", j.ID); n != 0 {
			in.t.Errorf("%s without names: %s has made a version", c.kind, j.ID)
		}
	}
	in.reported(domain.BatchID(v.ID), in.mails(domain.BatchID(v.ID))[0])
}
