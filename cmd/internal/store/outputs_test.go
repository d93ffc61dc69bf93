package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// outputsKit has the outputs of an entry that is claimed with its version 2.
type outputsKit struct {
	Outputs
	*testing.T
	claim OutputClaim
}

func newOutputsKit(t *testing.T) *outputsKit {
	t.Helper()
	return &outputsKit{testWork(t, t.TempDir()).Outputs(), t, OutputClaim{compute.NewID(1), 2, "holder"}}
}

func (k *outputsKit) put(name, text string) (entry.Output, error) {
	return k.Put(k.claim, name, strings.NewReader(text), func() error { return nil })
}

func (k *outputsKit) has(want ...string) {
	k.Helper()
	all, err := k.Close(k.claim)
	var got []string
	for _, o := range all {
		f, err := k.Open(k.claim.Entry, k.claim.Version, o)
		if err != nil {
			k.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || digestOf(string(text)) != o.SHA256 || int64(len(text)) != o.Size {
			k.Errorf("%+v is %q, %v", o, text, err)
		}
		got = append(got, o.Name+"="+string(text))
	}
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		k.Errorf("the outputs are %q, %v; want %q", got, err, want)
	}
}

// The newest output of each name counts, the same again is one, and a closed claim takes only
// what it has.
func TestOutputsOfAClaim(t *testing.T) {
	t.Parallel()
	k := newOutputsKit(t)
	for _, text := range []string{"one", "two", "two", "one"} {
		if o, err := k.put("a", text); err != nil || o != (entry.Output{Name: "a", Size: 3, SHA256: digestOf(text)}) {
			t.Errorf("%+v, %v", o, err)
		}
	}
	if _, err := k.put("b.nc", "more"); err != nil {
		t.Error(err)
	}
	k.has("a=one", "b.nc=more")
	k.has("a=one", "b.nc=more") // it is closed once
	if o, err := k.put("a", "one"); err != nil || o.Size != 3 {
		t.Errorf("the same again, when it is closed: %+v, %v", o, err)
	}
	for name, text := range map[string]string{"a": "two", "c": "one"} {
		if _, err := k.put(name, text); CodeOf(err) != CodeConflict {
			t.Errorf("%s=%s, when it is closed: %v", name, text, err)
		}
	}
	k.has("a=one", "b.nc=more")
	if _, err := k.Open(k.claim.Entry, 3, entry.Output{Name: "a", Size: 3, SHA256: digestOf("one")}); CodeOf(err) != CodeNotFound {
		t.Errorf("of another claim: %v", err)
	}
}

// What is refused leaves nothing.
func TestOutputsThatAreRefused(t *testing.T) {
	t.Parallel()
	k, no := newOutputsKit(t), errors.New("no")
	if _, err := k.Put(k.claim, "a", strings.NewReader("one"), func() error { return no }); !errors.Is(err, no) || CodeOf(err) != CodeBroken {
		t.Errorf("the lease has ended: %v", err)
	}
	if _, err := k.Put(k.claim, "a", iotest.ErrReader(no), func() error { return nil }); !errors.Is(err, no) {
		t.Errorf("a content that ends early: %v", err)
	}
	for _, name := range []string{"", "..", "a/b", ".a"} {
		if _, err := k.put(name, "one"); CodeOf(err) != CodeBadName {
			t.Errorf("%q: %v", name, err)
		}
	}
	for n := range entry.MaxOutputs {
		if _, err := k.put(fmt.Sprint("a", n), "one"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.put("b", "one"); CodeOf(err) != CodeTooMany {
		t.Errorf("one too many: %v", err)
	}
	files, err := fs.ReadDir(k.root.FS(), "outputs/eid0000000001/2-holder.open")
	if err != nil || len(files) != entry.MaxOutputs {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}

// A claim is closed while an output is being written: it is not one of its outputs.
func TestOutputsThatComeLate(t *testing.T) {
	t.Parallel()
	k := newOutputsKit(t)
	if _, err := k.put("a", "one"); err != nil {
		t.Fatal(err)
	}
	_, err := k.Put(k.claim, "b", strings.NewReader("two"), func() error {
		k.has("a=one")
		return nil
	})
	if CodeOf(err) != CodeConflict {
		t.Errorf("%v", err)
	}
	k.has("a=one")
	if files, err := fs.ReadDir(k.root.FS(), "outputs/eid0000000001/2-holder"); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// The outputs of a claim go without those of another one, and the directory of an entry goes
// with the last.
func TestOutputsAreRemoved(t *testing.T) {
	t.Parallel()
	k := newOutputsKit(t)
	if _, err := k.put("a", "one"); err != nil {
		t.Fatal(err)
	}
	k.claim.Version = 4
	if _, err := k.put("a", "two"); err != nil {
		t.Fatal(err)
	}
	k.has("a=two")
	for n, want := range []string{"2", "4"} {
		ids, err := k.Entries()
		if err != nil || len(ids) != 1 {
			t.Fatalf("%v, %v", ids, err)
		}
		claims, err := k.Claims(ids[0])
		if err != nil || len(claims) != 2-n || fmt.Sprint(claims[0].Version) != want || claims[0].Open == (n == 1) || claims[0].Modified.IsZero() {
			t.Fatalf("%+v, %v", claims, err)
		}
		if err := k.Remove(ids[0], claims[0]); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := k.Entries(); err != nil || len(ids) != 0 {
		t.Errorf("%v, %v", ids, err)
	}
	if left, err := os.ReadDir(k.root.Name() + "/outputs"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
