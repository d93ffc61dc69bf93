package people

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/crypto/argon2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestOneHashForEveryName: an attempt to sign in computes one hash, of the same cost, whether or
// not there is a user of that name, and whether or not that user has a password: its time does
// not say which names there are.
func TestOneHashForEveryName(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), projtest.DB(t)
	if _, err := record.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	const password = "correct horse battery"
	root, cost := By{Name: "root", Via: "machine", Address: "here"}, Cost{MemoryKiB: 64, Passes: 1, Lanes: 1}
	var costs []Cost
	p := &People{Records: record.New(db), Cost: cost, idKey: func(password, salt []byte, passes, memory uint32, lanes uint8, size uint32) []byte {
		costs = append(costs, Cost{MemoryKiB: int32(memory), Passes: int32(passes), Lanes: int32(lanes)})
		return argon2.IDKey(password, salt, passes, memory, lanes, size)
	}}
	for _, name := range []string{"ana", "ben", "cy"} {
		if _, err := p.Add(ctx, root, name, Profile{}, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ana", "cy"} {
		if _, err := p.SetPassword(ctx, root, name, password, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Disable(ctx, root, "cy", false, ""); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]Credential{
		"a right password": {Name: "ana", Password: password}, "a wrong one": {Name: "ana", Password: "wrong"}, "none": {Name: "ana"},
		"a user without a password": {Name: "ben", Password: password}, "an unknown name": {Name: "dora", Password: password},
		"a user who is disabled": {Name: "cy", Password: password}, "such a user with a wrong password": {Name: "cy", Password: "wrong"},
	} {
		costs = nil
		_, _, err := p.Authenticate(ctx, c, "192.0.2.1")
		if what == "a right password" && err != nil {
			t.Error(err)
		}
		if fault, ok := errors.AsType[*app.Error](err); what != "a right password" && (!ok || fault.Kind != app.Unauthenticated || err.Error() != "sign in: the name and password, key or session are not valid") {
			t.Errorf("%s: %v", what, err)
		}
		if len(costs) != 1 || costs[0] != cost {
			t.Errorf("%s: hashes of the costs %v, want one of %v", what, costs, cost)
		}
	}
}

// TestPasswordsHashedAtOnce: a crowd of passwords takes the memory of two: the next one waits, and
// is given up with its request.
func TestPasswordsHashedAtOnce(t *testing.T) {
	t.Parallel()
	for range 2 {
		hashing <- struct{}{} // a password that is being hashed
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&People{}).hash(ctx, "correct horse battery", make([]byte, saltSize), Cost{MemoryKiB: 8, Passes: 1, Lanes: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a third is hashed: %v", err)
	}
	for range 2 {
		<-hashing
	}
	if sum, err := (&People{}).hash(t.Context(), "correct horse battery", make([]byte, saltSize), Cost{MemoryKiB: 8, Passes: 1, Lanes: 1}); err != nil || len(sum) != hashSize {
		t.Errorf("%d bytes, %v", len(sum), err)
	}
}
