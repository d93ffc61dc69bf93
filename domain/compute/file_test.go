package compute_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
)

// TestAttemptOf: the key of an attempt parses back exactly, and no other one does.
func TestAttemptOf(t *testing.T) {
	t.Parallel()
	hash := domain.FileHash(strings.Repeat("0a", 32))
	a := compute.Attempt{Hash: hash, Number: 12}
	if got, is := compute.AttemptOf(a.Key()); !is || got != a || !compute.Reserved(a.Key()) {
		t.Errorf("%+v, %t", got, is)
	}
	for _, key := range []string{"", "k", "file/", "file/" + string(hash), "file/" + string(hash) + "/0", "file/" + string(hash) + "/01", "file/" + string(hash) + "/1 ", string(hash) + "/1", "file/A/1"} {
		if got, is := compute.AttemptOf(key); is {
			t.Errorf("%q is %+v", key, got)
		}
	}
}
