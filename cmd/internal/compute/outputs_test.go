package compute

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// What a command leaves in its directory are outputs of the entry; what cannot be that is a
// failure, which counts, and leaves no entry with half of them.
func TestOutputsOfCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exec string
		says string // the reason, "" = the outputs are kept
	}{
		"two":         {exec: `echo 1 > {out}; printf one > {outputs}/a.txt; printf two > "$ACCESSION_OUTPUTS/b"`},
		"a directory": {exec: `echo 1 > {out}; mkdir {outputs}/d`, says: "is no file"},
		"a link":      {exec: `echo 1 > {out}; ln -s /etc/hostname {outputs}/l`, says: "is no file"},
		"a bad name":  {exec: `echo 1 > {out}; printf one > "$ACCESSION_OUTPUTS/a b"`, says: "is no name of an output"},
		"large":       {exec: `echo 1 > {out}; head -c 101 /dev/zero > {outputs}/a`, says: "upload_limit allows 100"},
		"many":        {exec: `echo 1 > {out}; cd {outputs}; for n in $(seq 101); do : > $n; done`, says: "100 are the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.exec)
			e := b.once("d")
			if c.says != "" {
				if e.State != entry.Pending || e.Attempt != 1 || e.Reason.Code != CodeResultInvalid || !strings.Contains(e.Reason.Message, c.says) {
					t.Errorf("%+v because of %+v", e, e.Reason)
				}
				return
			}
			if e.State != entry.Successful {
				t.Fatalf("%+v because of %+v", e, e.Reason)
			}
			var got []string
			kept := b.kept.of[e.ID]
			for _, o := range kept.Outputs {
				f, err := b.w.Outputs.Open(e.ID, e.Version-1, o)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(f)
				_ = f.Close()
				if err != nil || int64(len(text)) != o.Size {
					t.Errorf("%+v: %q, %v", o, text, err)
				}
				got = append(got, o.Name+"="+string(text))
			}
			if all := strings.Join(got, " "); all != "a.txt=one b=two" || kept.Claim != e.Version-1 {
				t.Errorf("%q of the claim %d; the entry is %+v", all, kept.Claim, e)
			}
		})
	}
}

// The leader removes outputs of claims that have ended without a result and of entries that are
// purged, and no others.
func TestOutputsThatNoEntryHas(t *testing.T) {
	t.Parallel()
	b := newBench(t, `printf one > {outputs}/a; [ "$ACCESSION_ATTEMPT" != 1 ] && echo 1 > {out}`)
	l := &Leader{Handler: b.Handler, Outputs: b.w.Outputs, Retention: time.Hour, Log: slog.New(slog.DiscardHandler)}
	left := func(id compute.ID, want ...int64) {
		t.Helper()
		if err := l.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		claims, err := l.Outputs.Claims(id)
		if err != nil || len(claims) != len(want) {
			t.Fatalf("%+v are left, %v; want those of %v", claims, err, want)
		}
		for i, c := range claims {
			if c.Version != want[i] {
				t.Errorf("%+v are left, want those of %v", claims, want)
			}
		}
	}
	put := func(id compute.ID, version int64, name string) {
		t.Helper()
		if _, err := l.Outputs.Put(store.OutputClaim{Entry: id, Version: version, Holder: "them"}, name, strings.NewReader("two"), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}

	e := b.once("d") // without a result
	if e.State != entry.Pending {
		t.Fatalf("%+v", e)
	}
	put(e.ID, e.Version-1, "late")
	left(e.ID)
	put(e.ID, e.Version+1, "early") // of a claim that this process does not see yet
	left(e.ID, e.Version+1)
	b.w.next(t.Context())
	at, err := b.Store.LoadEntry(t.Context(), e.ID)
	if err != nil || at.State.State != entry.Successful {
		t.Fatalf("%+v, %v", at.State, err)
	}
	result := at.State.Version - 1
	put(e.ID, result, "late") // of another holder: not closed
	put(e.ID, result-2, "later")
	left(e.ID, result)
	put(compute.NewID(77), 2, "a") // of an entry that is to be restored
	left(compute.NewID(77), 2)

	now := time.Now().Add(59 * time.Minute)
	b.Handler.Clock = func() time.Time { return now }
	end := func() {
		t.Helper()
		if err := l.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	end()
	left(compute.NewID(77), 2)
	now = now.Add(2 * time.Minute)
	left(e.ID, result) // it is there
	left(compute.NewID(77))
	now = at.State.Modified.Add(61 * time.Minute)
	end()
	now = time.Now().Add(61 * time.Minute)
	left(e.ID)
	if ids, err := l.Outputs.Entries(); err != nil || len(ids) > 0 {
		t.Errorf("%v, %v", ids, err)
	}
}
