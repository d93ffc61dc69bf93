package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// identifiers writes a list that asks for a finished deposit of one file by identifiers of
// every kind, for what is not known, and for what is wrong; it returns the list and what
// it is answered in CSV.
func (in *installation) identifiers() (list string, answers []string) {
	const content = "tide tables of 1923"
	payload := filepath.Join(in.t.TempDir(), "tides.txt")
	in.must(os.WriteFile(payload, []byte(content), 0o600))
	id := in.submit(app.Deposit{Payload: payload, LocalIDs: []string{"shelf 9"}, Title: "Tides"})
	v := in.rest(id)
	if v.Status != "completed" || len(v.Jobs) != 1 {
		in.t.Fatalf("%+v", v)
	}
	in.shown()
	job := v.Jobs[0]
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	list = filepath.Join(in.t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("# shelf\r\n"+strings.Join([]string{string(id), job.ID, job.PrimaryIdentifier, "shelf 9", digest, "local:none", "digest:none"}, "\r\n")), 0o600))
	about := string(id) + "," + job.ID + "," + job.PrimaryIdentifier + ",1,Tides,"
	return list, []string{
		"2," + string(id) + ",batch,found,batch,completed," + string(id) + ",,,,Tides,tides.txt,",
		"3," + job.ID + ",job,found,job,completed," + about + "tides.txt,",
		"4," + job.PrimaryIdentifier + ",primary,found,object,current," + about,
		"4," + job.PrimaryIdentifier + ",primary,found,job,completed," + about + "tides.txt,",
		"5,shelf 9,local,found,object,current," + about,
		"5,shelf 9,local,found,job,completed," + about + "tides.txt,",
		"6," + digest + ",digest,found,file,current," + about + "tides.txt,",
		"6," + digest + ",digest,found,batch,completed," + string(id) + ",",
		"7,local:none,local,not found,",
		`8,digest:none,,wrong,`, "not a digest; write the 64 hex digits",
	}
}

// TestQueryAnswer: a list of identifiers is answered in every format, from a file and from
// the standard input; a list that cannot be answered is refused before any answer.
func TestQueryAnswer(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serveInProcess()
	list, answers := in.identifiers()
	in.says(0, []string{"query", "answer", list, "--format", "csv"}, answers...)
	in.says(0, []string{"query", "answer", list}, "shelf 9", "current", "not found", "not a digest")
	in.says(0, []string{"query", "answer", list, "-o", "json"}, `"facts":{"lines":7,"wrong":1}`, `"outcome":"found","about":"object","status":"current"`)
	out := filepath.Join(t.TempDir(), "answers.csv")
	in.says(0, []string{"query", "answer", list, "--format", "csv", "--out", out})
	written, err := os.ReadFile(out)
	in.must(err)
	for _, row := range answers {
		if !strings.Contains(string(written), row) {
			t.Errorf("the file has no %q:\n%s", row, written)
		}
	}
	for name, says := range map[string]string{strings.Repeat("x\n", 100_001): "line 100001: the list is too large", "# none\n": "asks for nothing"} {
		in.must(os.WriteFile(list, []byte(name), 0o600))
		in.says(2, []string{"query", "answer", list}, says)
	}
	in.says(2, []string{"query", "answer", filepath.Join(t.TempDir(), "none")}, "no such file")
}

// TestQueriesAreServedInTurn: a list is kept, waits for its turn, is answered as `query
// answer` does, and its answers are kept.
func TestQueriesAreServedInTurn(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serveInProcess()
	list, answers := in.identifiers()
	in.says(0, []string{"queue", "suspend", "query", "--reason", "test"})
	in.says(0, []string{"query", "submit", list, "--submitter", "ana"}, "qid0000000001 received, of ana, 7 lines")
	in.says(0, []string{"query", "submit", list, "--submitter", "ben"}, "qid0000000002 received, of ben, 7 lines")
	in.says(3, []string{"query", "report", "qid0000000001"}, "is received, not answered")
	in.agree()
	in.says(0, []string{"queue", "resume", "query", "--reason", "test"})
	for _, id := range []string{"qid0000000001", "qid0000000002"} {
		in.says(0, []string{"query", "show", id, "--watch"}, id+" answered", "7 lines = 5 found + 1 not found + 1 wrong")
		in.says(0, []string{"query", "report", id, "--format", "csv"}, answers...)
		in.says(0, []string{"query", "report", id, "-o", "json"}, `"query_id":"`+id+`"`, `"found":5,"not_found":1`)
	}
	in.shown()
	in.says(0, []string{"query", "ls", "--submitter", "ben"}, "qid0000000002", "answered", "list.txt")
	in.says(4, []string{"query", "show", "qid0000000009"}, "there is no query")
	for query, want := range map[string]int{
		"select count(*) from report.query where status = 'answered' and found = 5 and processor = 'default' and seconds_waiting >= 0 and seconds_running >= 0": 2,
		"select count(*) from report.event where kind = 'query' and type in ('query.received', 'query.grabbed', 'query.answered')":                              6,
	} {
		if got := in.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	in.agree()
}

// Operators park what waits of a user by the time of its reception, or by name, and let it
// wait again; the board and the settings count what is parked.
func TestQueriesAreParkedByUser(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	list := filepath.Join(t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	in.says(0, words("queue suspend query --reason test"))
	ask := func(user string) (id string) {
		t.Helper()
		id, _, _ = strings.Cut(in.says(0, words("query submit "+list+" --submitter "+user)), " ")
		return id
	}
	first, second := ask("ana"), ask("ana")
	between := time.Now().UTC().Format(time.RFC3339Nano)
	last, bens := ask("ana"), ask("ben")
	in.says(2, words("query park --reason x"), "no users and no queries are named")
	in.says(2, words("query park --user ana"), "needs a reason")
	in.says(2, words("query park ana --reason x"), "is not an id")
	in.says(0, words("query park --user ana --received-before "+between+" --reason x --dry-run"), "ana: 2 would be parked", "of 3 looked at")
	in.says(0, words("query park --user ana --received-before "+between+" --reason x"), "ana: 2 parked", "of 3 looked at")
	in.says(0, words("query park "+bens+" --reason x"), "ben: 1 parked")
	in.serveInProcess()
	in.shown()
	in.says(0, words("queue board query"), "1 waiting, 0 running, 3 parked", "suspended")
	in.says(0, words("queue show query"), "3 deposits are parked")
	in.says(0, words("query unpark --user ana,ben --received-after "+between+" --reason y"), "ben: 1 unparked", "1 unparked of 3 looked at")
	in.says(0, words("query unpark "+first+" --user ana --reason y"), "ana: 1 unparked", "of 2 looked at")
	in.says(0, words("query show "+second), "parked")
	in.says(0, words("queue resume query --reason test"))
	for _, id := range []string{first, last, bens} {
		in.says(0, words("query show --watch "+id), "answered")
	}
	in.shown()
	in.says(0, words("queue board query"), "3 grabbed in", "1 parked")
	in.says(0, words("queue suspend query --reason test"))
	in.says(0, words("query unpark --user ana --reason y"), "ana: 1 unparked", "of 1 looked at")
	in.says(0, words("queue resume query --reason test"))
	in.says(0, words("query show --watch "+second), "answered")
	in.shown()
	in.agree()
}
