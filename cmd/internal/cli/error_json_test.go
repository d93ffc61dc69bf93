package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/problem"
)

// TestErrorsAreJSON: with -o json, wherever it stands, an error is one object on one line,
// and the exit code is that of the text.
func TestErrorsAreJSON(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"batch ls --cursor ??? -o json", "job ls --batch nine -o json", "-o json job show nine", "file ls --nothing --output=json", "-ojson batchs", "file ls --state LOST --output json",
	} {
		args := strings.Fields(line)
		code, out, errs := call(t, nowhere(t), args...)
		var e problem.Problem
		if err := json.Unmarshal([]byte(errs), &e); err != nil || strings.Count(errs, "\n") != 1 || out != "" {
			t.Fatalf("accession %s: %v\n%s%s", line, err, out, errs)
		}
		if code != 2 || e.Code != "invalid" || e.Status != 400 || e.Title != "Bad Request" || e.Exit != 2 || e.Detail == "" || e.Hint == "" {
			t.Errorf("accession %s: exit code %d, %+v", line, code, e)
		}
	}
	if code, _, errs := call(t, nowhere(t), "job", "ls", "--batch", "nine"); code != 2 || !strings.HasPrefix(errs, "accession: ") {
		t.Errorf("exit code %d without -o json:\n%s", code, errs)
	}
}

// TestVersionFlag: --version is the command of that name.
func TestVersionFlag(t *testing.T) {
	t.Parallel()
	_, want, _ := call(t, nil, "version")
	if code, out, errs := call(t, nil, "--version"); code != 0 || out != want || errs != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
