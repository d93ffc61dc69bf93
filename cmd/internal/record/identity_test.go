package record_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
)

func open(t *testing.T) *record.Records { return record.New(projtest.DB(t)) }

func code(err error) domain.Code {
	var e *record.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// each runs do for 0 to n-1 at the same time.
func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// TestOneNameForAJob: however many workers reserve at once, with whatever names,
// a job has one.
func TestOneNameForAJob(t *testing.T) {
	t.Parallel()
	r, ctx, job := open(t), context.Background(), domain.NewJobID(1)
	names := make([]string, 100)
	each(len(names), func(i int) {
		id, err := r.ReserveIdentifier(ctx, job, fmt.Sprintf("ark:/99999/n%d", i))
		if err != nil || id.Done {
			t.Errorf("%v %v", id, err)
		}
		names[i] = id.Name
	})
	if len(slices.Compact(names)) != 1 {
		t.Fatalf("several names: %v", names)
	}
	if err := r.ConfirmIdentifier(ctx, job, "ark:/99999/other"); code(err) != record.CodeNotFound {
		t.Errorf("confirming another name: %v", err)
	}
	if err := r.ConfirmIdentifier(ctx, job, names[0]); err != nil {
		t.Fatal(err)
	}
	if id, err := r.ReserveIdentifier(ctx, job, "ark:/99999/late"); err != nil || id != (record.Identifier{Name: names[0], Done: true}) {
		t.Errorf("after it is confirmed: %v %v", id, err)
	}
}

// TestOneJobForAName: of several jobs that reserve one name, one gets it.
func TestOneJobForAName(t *testing.T) {
	t.Parallel()
	r := open(t)
	got := make([]int, 20)
	each(len(got), func(i int) {
		_, err := r.ReserveIdentifier(context.Background(), domain.NewJobID(int64(i+1)), "ark:/99999/x")
		if err == nil {
			got[i] = 1
		}
		if err != nil && code(err) != record.CodeIdentifierTaken {
			t.Error(err)
		}
	})
	slices.Sort(got)
	if got[len(got)-2] != 0 || got[len(got)-1] != 1 {
		t.Fatalf("want one job to have it: %v", got)
	}
}

// TestVersions: jobs that reserve at once get 1 to n, each one, and keep theirs.
func TestVersions(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), context.Background()
	const jobs = 60
	versions := make([]int, jobs)
	reserve := func(i int) {
		v, err := r.ReserveVersion(ctx, domain.NewJobID(int64(i+1)), "ark:/99999/x")
		if err != nil {
			t.Error(err)
		}
		versions[i] = v
	}
	each(jobs, reserve)
	first := slices.Clone(versions)
	each(jobs, reserve)
	if !slices.Equal(first, versions) {
		t.Fatalf("a job's version changed: %v, then %v", first, versions)
	}
	slices.Sort(versions)
	for i, v := range versions {
		if v != i+1 {
			t.Fatalf("versions have a hole or a double: %v", versions)
		}
	}
	same := make([]int, 50)
	each(len(same), func(i int) {
		var err error
		if same[i], err = r.ReserveVersion(ctx, domain.NewJobID(1000), "ark:/99999/y"); err != nil {
			t.Error(err)
		}
	})
	if slices.Max(same) != 1 || slices.Min(same) != 1 {
		t.Errorf("one job got several versions: %v", same)
	}
	if _, err := r.ReserveVersion(ctx, domain.NewJobID(1000), "ark:/99999/x"); code(err) != record.CodeIdentifierMismatch {
		t.Errorf("a version of another object: %v", err)
	}
}

// TestLocalIDs: names lead to one object, whoever binds them at the same time.
func TestLocalIDs(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), context.Background()
	owner, another := record.Scope{Owner: "owner", Collection: "maps"}, record.Scope{Owner: "another", Collection: "maps"}
	if got, err := r.LookupLocalID(ctx, owner, []string{"a"}); got != "" || err != nil {
		t.Fatalf("nothing is bound yet: %q %v", got, err)
	}
	got := make([]string, 40)
	each(len(got), func(i int) {
		ids := []string{"a", fmt.Sprintf("b%d", i), "a"}
		if i%2 == 0 {
			slices.Reverse(ids)
		}
		var err error
		if got[i], err = r.BindLocalID(ctx, owner, ids, fmt.Sprintf("ark:/99999/%d", i), domain.NewJobID(int64(i+1))); err != nil {
			t.Error(err)
		}
	})
	for i := range got {
		if got[i] != got[0] {
			t.Fatalf("they lead to different objects: %v", got)
		}
		if p, err := r.LookupLocalID(ctx, owner, []string{fmt.Sprintf("b%d", i)}); p != got[0] || err != nil {
			t.Fatalf("b%d leads to %q: %v", i, p, err)
		}
	}
	if p, err := r.BindLocalID(ctx, another, []string{"a"}, "ark:/99999/z", domain.NewJobID(99)); p != "ark:/99999/z" || err != nil {
		t.Errorf("another owner's name: %q %v", p, err)
	}
	charts := record.Scope{Owner: "owner", Collection: "charts"}
	if p, err := r.BindLocalID(ctx, charts, []string{"a"}, "ark:/99999/w", domain.NewJobID(95)); p != "ark:/99999/w" || err != nil {
		t.Errorf("the owner's name in another collection: %q %v", p, err)
	}
	if _, err := r.BindLocalID(ctx, owner, []string{"c"}, "ark:/99999/c", domain.NewJobID(98)); err != nil {
		t.Fatal(err)
	}
	_, err := r.BindLocalID(ctx, owner, []string{"new", "c", "a"}, "ark:/99999/n", domain.NewJobID(97))
	if code(err) != record.CodeIdentifierMismatch {
		t.Errorf("names of two objects: %v", err)
	}
	if _, err := r.LookupLocalID(ctx, owner, []string{"a", "c"}); code(err) != record.CodeIdentifierMismatch {
		t.Errorf("names of two objects: %v", err)
	}
	if p, _ := r.LookupLocalID(ctx, owner, []string{"new"}); p != "" {
		t.Errorf("a refused binding left %q behind", p)
	}
	if p, err := r.BindLocalID(ctx, owner, nil, "ark:/99999/q", domain.NewJobID(96)); p != "ark:/99999/q" || err != nil {
		t.Errorf("no names: %q %v", p, err)
	}
}

// TestUseIdentifier: an object is of the first collection that uses its identifier,
// however many use it at once; a name that jobs mint is one job's.
//
// Shows: P10
func TestUseIdentifier(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), context.Background()
	use := func(job int64, primary, collection string, how ...func(*record.Use)) domain.Code {
		u := record.Use{Job: domain.NewJobID(job), Primary: primary, Collection: collection, Fresh: true}
		for _, h := range how {
			h(&u)
		}
		return code(r.UseIdentifier(ctx, u))
	}
	minted, known := func(u *record.Use) { u.Minted = true }, func(u *record.Use) { u.Fresh = false }

	got := make([]domain.Code, 30)
	each(len(got), func(i int) { got[i] = use(int64(i), "ark:/99999/fk4x", fmt.Sprint("c", i%3)) })
	refused := 0
	for _, c := range got {
		if c == record.CodeIdentifierForeign {
			refused++
		}
	}
	if refused != 20 {
		t.Errorf("%d of 30 were refused, want the 20 of the other collections: %v", refused, got)
	}
	for i, c := range got {
		if again := use(int64(100+i), "ark:/99999/fk4x", fmt.Sprint("c", i%3), known); again != c {
			t.Errorf("later: %q, then %q", c, again)
		}
	}
	for _, c := range []struct {
		name string
		got  domain.Code
		want domain.Code
	}{
		{"nothing is there", use(1, "ark:/99999/fk4y", "maps", known), record.CodeNotFound},
		{"minted", use(1, "ark:/99999/fk4y", "maps", minted), ""},
		{"minted, once more", use(1, "ark:/99999/fk4y", "maps", minted), ""},
		{"given to the collection", use(2, "ark:/99999/fk4y", "maps", known), ""},
		{"minted by another", use(2, "ark:/99999/fk4y", "maps", minted), record.CodeIdentifierTaken},
		{"given to another collection", use(2, "ark:/99999/fk4y", "charts", known), record.CodeIdentifierForeign},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}

// TestCollectionOfTheInventory: an object without a row of its own is of the collection
// that the inventory has.
func TestCollectionOfTheInventory(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	r, ctx := record.New(db), context.Background()
	if _, err := db.Exec(ctx, `insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id)
		values ('ark:/99999/fk4old', 'o', 'maps', 1, '', '', '', '{}')`); err != nil {
		t.Fatal(err)
	}
	for collection, want := range map[string]domain.Code{"charts": record.CodeIdentifierForeign, "maps": ""} {
		for _, fresh := range []bool{true, false} {
			err := r.UseIdentifier(ctx, record.Use{Job: domain.NewJobID(9), Primary: "ark:/99999/fk4old", Collection: collection, Fresh: fresh})
			if code(err) != want {
				t.Errorf("%s: %v", collection, err)
			}
		}
	}
}
