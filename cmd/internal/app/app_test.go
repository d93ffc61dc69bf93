package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/intake"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

const manifests = "../../../domain/manifest/testdata/"

func TestWhatAPayloadIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keep := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, empty, long := keep("letter", "Dear all,\n"), keep("empty", ""), keep("long", strings.Repeat("x", 70<<10))
	for payload, want := range map[string]domain.SubmissionType{
		"https://example.org/a/tide.csv":         "", // what is there says it
		"https://example.org/a/tide.ZIP?x=y":     "",
		"https://example.org/a/tide.tar.gz":      "",
		"https://example.org/":                   "",
		"https://example.org/v1.2":               "",
		"https://example.org/x.checkm":           "",
		"https://example.org/x.bin?name=y.zip":   "",
		keep("box.zip", "PK\x05\x06"):            domain.TypeContainer,
		keep("box.bin", "PK\x05\x06"):            domain.TypeContainer,
		plain:                                    domain.TypeFile,
		empty:                                    domain.TypeFile,
		long:                                     domain.TypeFile,
		manifests + "object.checkm":              domain.TypeObjectManifest,
		manifests + "object-crlf-bom.checkm":     domain.TypeObjectManifest,
		manifests + "batch-of-manifests.checkm":  domain.TypeBatchManifest,
		manifests + "batch-of-files.checkm":      domain.TypeFileBatchManifest,
		manifests + "batch-of-containers.checkm": domain.TypeContainerBatchManifest,
		manifests + "broken-no-profile.checkm":   domain.TypeObjectManifest, // and is reported as broken
	} {
		got, err := guess(payload, !strings.Contains(payload, "://"))
		if err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", payload, got, err, want)
		}
	}
	for payload, says := range map[string]string{
		keep("letter.checkm", "Dear all,\n"):        "does not begin as one",
		keep("empty.CHECKM", ""):                    "does not begin as one",
		keep("plain.zip", "Dear all,\n"):            "does not begin as one",
		manifests + "broken-unknown-profile.checkm": "is not known",
		manifests + "no-such-file":                  "no such file",
	} {
		_, err := guess(payload, !strings.Contains(payload, "://"))
		var e *Error
		if !errors.As(err, &e) || e.Hint == "" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

func TestQuestionsAreCheckedAsAWhole(t *testing.T) {
	t.Parallel()
	_, _, err := Deposit{Payload: "ftp://h/x", Mode: "sideways", Digest: "md5", Type: "odd"}.check()
	var e *Error
	if !errors.As(err, &e) || e.Kind != Invalid {
		t.Fatal(err)
	}
	for _, want := range []string{"no profile", "no submitter", "sideways", "ALGORITHM:HEX", "neither http nor https", `type "odd"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	sub, local, err := Deposit{Profile: "p", Submitter: "s", Payload: "https://h/x.txt", Digest: "SHA-1:" + strings.Repeat("AB", 20)}.check()
	if err != nil || local || sub.DigestAlgorithm != "sha1" || sub.DigestValue != strings.Repeat("ab", 20) || sub.SubmissionMode != "add" {
		t.Errorf("%+v, %v, %v", sub, local, err)
	}
}

// Each local id of an object counts once, in the order of the depositor, however it came.
func TestLocalIDsAreDistinct(t *testing.T) {
	t.Parallel()
	given := []string{"b", "a", "b", "c", "a"}
	sub, _, err := Deposit{Profile: "p", Submitter: "s", Payload: "https://h/x.txt", LocalIDs: given}.check()
	if err != nil || !slices.Equal(sub.LocalIDs, []string{"b", "a", "c"}) || len(given) != 5 {
		t.Errorf("%q, %v", sub.LocalIDs, err)
	}
}

// TestTextsAreSmallAndPlain: what would not fit into an event, or steer a terminal,
// is refused with the field's name.
// Shows: P15
func TestTextsAreSmallAndPlain(t *testing.T) {
	t.Parallel()
	good := Deposit{Profile: "p", Submitter: "s", Payload: "https://h/x.txt", Title: strings.Repeat("é", intake.MaxText/2), Creator: "Ana", Date: "1923"}
	sub, _, err := good.check()
	if err != nil || sub.FileName != "x.txt" {
		t.Fatalf("%+v, %v", sub, err)
	}
	for says, change := range map[string]func(*Deposit){
		"the title has 100000 bytes, more than 4096":        func(d *Deposit) { d.Title = strings.Repeat("x", 100_000) },
		"the creator has 4097 bytes":                        func(d *Deposit) { d.Creator = strings.Repeat("x", intake.MaxText+1) },
		"the date holds a control character":                func(d *Deposit) { d.Date = "19\x1b[2J23" },
		"the title holds a line break, U+000A":              func(d *Deposit) { d.Title = "a\nb" },
		"the submitter is not UTF-8":                        func(d *Deposit) { d.Submitter = "\xff" },
		"the creator holds a bidirectional control, U+202E": func(d *Deposit) { d.Creator = "a\u202eb" },
		"the title holds an invisible character, U+200B":    func(d *Deposit) { d.Title = "a\u200bb" },
		"the payload's URL has":                             func(d *Deposit) { d.Payload += strings.Repeat("x", intake.MaxText) },
		"the texts of the deposit have":                     func(d *Deposit) { d.Creator = strings.Repeat("x", intake.MaxText) },
		`the file name "a\ab" holds a control character`:    func(d *Deposit) { d.Payload = "dir/a\ab" },
	} {
		d := good
		change(&d)
		_, _, err := d.check()
		var e *Error
		if !errors.As(err, &e) || e.Kind != Invalid || !strings.Contains(err.Error(), says) || len(err.Error()) > 300 {
			t.Errorf("want …%s…, got %v", says, err)
		}
	}
}

// TestUpdatesNameTheirObject: without an identifier an update would be a new object, and
// many objects have none in common.
func TestUpdatesNameTheirObject(t *testing.T) {
	t.Parallel()
	for _, typ := range domain.SubmissionTypes {
		for _, mode := range []string{"add", "update"} {
			for _, d := range []Deposit{{}, {Primary: "ark:/99999/fk4x"}, {LocalIDs: []string{"a", "b"}}} {
				d.Profile, d.Submitter, d.Payload, d.Type, d.Mode = "p", "s", "https://h/x", typ, mode
				sub, _, err := d.check()
				named := d.Primary != "" || d.LocalIDs != nil
				ok, hint := named || mode == "add", "--local-id"
				if typ.Batch() {
					ok, hint = !named, "primaryIdentifier"
				}
				var e *Error
				if ok != (err == nil) || err != nil && (!errors.As(err, &e) || e.Kind != Invalid || !strings.Contains(e.Hint, hint)) {
					t.Errorf("%+v: %v", d, err)
				}
				if ok && (sub.Primary != d.Primary || len(sub.LocalIDs) != len(d.LocalIDs)) {
					t.Errorf("%+v became %+v", d, sub)
				}
			}
		}
	}
}

func TestErrorsAreSortedByWhatCanBeDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		kind Kind
	}{
		{&domain.Refused{}, Refused},
		{&profile.NotFoundError{Name: "x"}, NotFound},
		{&eventstore.Error{Op: "load", Err: eventstore.ErrNotFound}, NotFound},
		{query.ErrNotFound, NotFound},
		{&eventstore.Error{Op: "commit", Err: eventstore.ErrFull, Hint: "wait"}, Full},
		{eventstore.ErrLocked, Refused},
		{eventstore.ErrConflict, Refused},
		{eventstore.ErrUnknown, Unavailable},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, Unavailable},
		{context.DeadlineExceeded, Unavailable},
		{eventstore.ErrBroken, Failed},
		{errors.New("odd"), Failed},
		{&Error{Kind: Invalid, Err: errors.New("x")}, Invalid},
	} {
		var e *Error
		if err := explain("test", fmt.Errorf("below: %w", c.err)); !errors.As(err, &e) || e.Kind != c.kind {
			t.Errorf("%v is %v, want %s", c.err, err, c.kind)
		}
	}
	if explain("test", nil) != nil || NoAnswer("zookeeper", nil, "") != nil {
		t.Error("no error became one")
	}
	// The innermost use case says what was being done.
	inner := missing(fmt.Errorf("below: %w", eventstore.ErrNotFound), "look elsewhere", "there is no %s", "ship")
	outer := explain("sail", explain("load", inner))
	var e *Error
	if !errors.As(outer, &e) || e.What != "load" || e.Kind != NotFound || e.Hint != "look elsewhere" || outer.Error() != "load: there is no ship" {
		t.Errorf("%+v", outer)
	}
	if odd := errors.New("odd"); !errors.Is(missing(odd, "", ""), odd) || missing(nil, "", "") != nil {
		t.Error("another error became one about something missing")
	}
	err := NoAnswer("zookeeper", &eventstore.Error{Op: "open", Err: errors.New("a\n\tb"), Hint: "twice"}, "once")
	if err.Error() != "zookeeper: open: a b" {
		t.Error(err)
	}
}

// resources opens what one fake has, which embeds the ports for what it lacks.
func resources(fake any) Resources {
	return Resources{LiveState: fake.(LiveState), EventLog: fake.(EventLog), Tables: fake.(Tables), Effects: fake.(Effects)}
}

// After an error, no query is run.
func TestQueriesEndWithTheFirstError(t *testing.T) {
	t.Parallel()
	odd, ran := errors.New("odd"), 0
	fails := func(context.Context, query.Reader, int) (string, error) { ran++; return "", odd }
	r := &reading{}
	ask(t.Context(), r, fails, 1)
	if got := ask(t.Context(), r, fails, 2); got != "" || ran != 1 || !errors.Is(r.err, odd) {
		t.Errorf("%q, %d queries, %v", got, ran, r.err)
	}
}

func TestPagesAreCut(t *testing.T) {
	t.Parallel()
	if rows, more := page(2, []int{1, 2, 3}); len(rows) != 2 || !more {
		t.Errorf("%v, %v", rows, more)
	}
	if rows, more := page(2, []int(nil)); rows == nil || len(rows) != 0 || more {
		t.Errorf("%v, %v", rows, more)
	}
}
