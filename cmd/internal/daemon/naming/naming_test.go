package naming_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/naming"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/minter"
	"github.com/accession-ingest/accession/projections/projtest"
)

// flaky are records whose next results are not kept.
type flaky struct {
	*record.Records
	unconfirmed, unbound int
}

var errAway = errors.New("away")

func (f *flaky) ConfirmIdentifier(ctx context.Context, job domain.JobID, name string) error {
	if f.unconfirmed > 0 {
		f.unconfirmed--
		return errAway
	}
	return f.Records.ConfirmIdentifier(ctx, job, name)
}

func (f *flaky) BindLocalID(ctx context.Context, within record.Scope, localIDs []string, primary string, job domain.JobID) (string, error) {
	if f.unbound > 0 {
		f.unbound--
		return "", errAway
	}
	return f.Records.BindLocalID(ctx, within, localIDs, primary, job)
}

// bench is a job, with a service that makes its identifier known.
type bench struct {
	*naming.Task
	t      *testing.T
	server *minter.Server
	flaky  *flaky
	kept   []domain.IdentifyJob
	lost   int // how many identifiers are not written to the job
}

func newBench(t *testing.T, kind string) *bench {
	t.Helper()
	b := &bench{t: t, flaky: &flaky{Records: record.New(projtest.DB(t))}}
	p := profile.Defaults()
	p.Name, p.Collection, p.Owner = "maps", "maps", "Harbour Office"
	p.Identifier = profile.Identifier{Scheme: mint.ARK, NAAN: "99999", Shoulder: "fk4", Minter: kind, Target: "https://files.test/objects/{id}"}
	shoulder := "ark:/99999/fk4"
	if kind == service.DataCite {
		p.Identifier.Scheme, p.Identifier.NAAN, p.Identifier.Prefix = mint.DOI, "", "10.5072"
		shoulder = "10.5072/fk4"
	}
	b.server = minter.New(t, minter.Options{DataCite: kind == service.DataCite, Shoulder: shoulder, User: "apitest", Password: "s3cret"})
	p.Identifier.URL, p.Fetch.Allow = b.server.URL(), []string{"127.0.0.1/32"}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	client, err := fetch.NewClient(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	of := func(p profile.Profile) (*fetch.Client, error) {
		policy, err := fetch.PolicyOf(p.Fetch.Allow, 0, 0)
		return client.With(policy), err
	}
	job := domain.Job{ID: "jid0000000042"}
	job.Identifiers.LocalID = []string{"tide-1"}
	job.Metadata = domain.Metadata{ErcWho: "A creator", ErcWhat: "Tides", ErcWhen: "2026"}
	b.Task = &naming.Task{Records: b.flaky, Profile: p, Job: job, Client: of, Installation: "north", Clock: time.Now,
		Account: service.Credentials{User: "apitest", Password: "s3cret"},
		Keep: func(_ context.Context, cmd domain.IdentifyJob) error {
			if b.lost > 0 {
				b.lost--
				return errAway
			}
			b.kept = append(b.kept, cmd)
			return nil
		}}
	return b
}

// made checks how many identifiers the service has made, and how many requests it had.
func (b *bench) made(made, requests int) {
	b.t.Helper()
	if _, n := b.server.Records(); n != made || len(b.server.Requests()) != requests {
		b.t.Errorf("%d are made by %q, want %d by %d", n, b.server.Requests(), made, requests)
	}
}

func (b *bench) fails(want error) {
	b.t.Helper()
	if err := b.Identify(b.t.Context()); !errors.Is(err, want) {
		b.t.Errorf("%v, want %v", err, want)
	}
}

// TestRegisteredOnce: whatever fails between the steps, a service makes one identifier for a
// job, the one that was reserved; it is asked until it was heard, and never again. What it
// refuses is no name of the object.
// Shows: P5
func TestRegisteredOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{service.EZID, service.DataCite} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, kind)
			b.server.Fail(minter.Fault{Status: 401, Body: "error: unauthorized"})
			var refused *service.Error
			if err := b.Identify(t.Context()); !errors.As(err, &refused) || reason.Of(err, "").Code != service.CodeUnauthorized {
				t.Fatal(err)
			}
			if known, err := b.flaky.LookupLocalID(t.Context(), record.Scope{Owner: b.Profile.Owner, Collection: "maps"}, []string{"tide-1"}); err != nil || known != "" || len(b.kept) != 0 {
				t.Errorf("a name that the service refuses is that of %q (%v), and the job's: %+v", known, err, b.kept)
			}
			b.made(0, 1)
			b.server.Fail(minter.Fault{Lose: true})
			if err := b.Identify(t.Context()); !errors.As(err, &refused) || !refused.Temporary {
				t.Errorf("the answer is lost: %v", err)
			}
			b.made(1, 2)
			b.flaky.unconfirmed = 1 // the worker dies before it keeps that the name is made
			b.fails(errAway)
			b.made(1, 4)
			b.flaky.unbound = 1
			b.fails(errAway)
			b.made(1, 6)
			b.lost = 1 // the name is kept: the service is not asked again
			b.fails(errAway)
			if err := b.Identify(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.made(1, 6)
			if len(b.kept) != 1 || !b.kept[0].Minted || !mint.MadeFor(b.kept[0].Identifiers.Primary, "jid0000000042") {
				t.Fatalf("the job is named %+v", b.kept)
			}
			b.Job.Identifiers = b.kept[0].Identifiers
			name := b.kept[0].Identifiers.Primary
			records, _ := b.server.Records()
			if r := records[strings.TrimPrefix(name, "doi:")]; r == nil || !strings.Contains(r["_target"]+r["url"], "https://files.test/objects/"+name) {
				t.Errorf("%s is %v", name, r)
			}
			if err := b.Identify(t.Context()); err != nil || len(b.kept) != 1 {
				t.Errorf("again: %v, %d", err, len(b.kept))
			}
			b.made(1, 6)
		})
	}
}

// TestNameOfAnotherMinter: a name that was reserved before the profile got its service is not
// given to a service that could not make it.
func TestNameOfAnotherMinter(t *testing.T) {
	t.Parallel()
	b := newBench(t, service.DataCite)
	if _, err := b.flaky.ReserveIdentifier(t.Context(), "jid0000000042", "ark:/99999/fk400001fx"); err != nil {
		t.Fatal(err)
	}
	if err := b.Identify(t.Context()); reason.Of(err, "").Code != mint.CodeMinterInvalid || !strings.Contains(err.Error(), "submit the object again") {
		t.Errorf("%v", err)
	}
	b.made(0, 0)
}
